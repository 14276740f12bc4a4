// The elementary functions for one level (MDQR_LEVEL), limb count (MDQR_LIMBS) and field.
#pragma once
#include "level/maps.hpp"

#include "elementary/cores.hpp"
#include "level/networks.hpp"

#include <stdexcept>

MDQR_BEGIN

template <int N, bool complex>
void elementary_unary(unary_op op, const block_view& out, const block_view& x) {
    using number = lane_number<N, complex>;
    switch (op) {
#define MDQR_ELEMENTARY_UNARY_OP(name, kind)                                                       \
    case unary_op::name:                                                                           \
        if constexpr (has_form(operands::kind, complex))                                           \
            return map_unary<number>(out, x, [](const number& v) { return apply_##name(v); });     \
        else                                                                                       \
            throw std::invalid_argument(#name " is for real numbers");
#include "mdqr/operations.def"
    default:
        throw std::logic_error("not an elementary function");
    }
}

template <int N, bool complex>
void elementary_binary(binary_op op, const block_view& out, const block_view& x,
                       const block_view& y) {
    using number = lane_number<N, complex>;
    switch (op) {
#define MDQR_ELEMENTARY_BINARY_OP(name, kind)                                                      \
    case binary_op::name:                                                                          \
        if constexpr (has_form(operands::kind, complex))                                           \
            return map_binary<number>(                                                             \
                out, x, y, [](const number& a, const number& b) { return apply_##name(a, b); });   \
        else                                                                                       \
            throw std::invalid_argument(#name " is for real numbers");
#include "mdqr/operations.def"
    default:
        throw std::logic_error("not an elementary function");
    }
}

MDQR_END
