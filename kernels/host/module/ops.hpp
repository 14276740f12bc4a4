// The operations of the elementwise and reduction entry points, the same at every level.
#pragma once

namespace mdqr_host {

enum class unary_op {
#define MDQR_UNARY_OP(name, kind) name,
#include "mdqr/operations.def"
};
enum class binary_op {
#define MDQR_BINARY_OP(name, kind) name,
#include "mdqr/operations.def"
};
enum class reduce_op {
#define MDQR_REDUCE_OP(name, operation, start) name,
#include "mdqr/operations.def"
};

// The kinds of operations.def.
enum class operands { number, real, complex, planes };
constexpr bool has_form(operands kind, bool complex) {
    return kind == operands::number || kind == (complex ? operands::complex : operands::real);
}

} // namespace mdqr_host
