// A function of each element.
#pragma once
#include "level/elements.hpp"

#include "module/entries.hpp"

#include <type_traits>

MDQR_BEGIN

using mdqr_host::has_form;
using mdqr_host::operands;

template <int N, bool complex>
using lane_number = std::conditional_t<complex, cmd<lane, N>, md<lane, N>>;

template <class Number, class Out = Number, class F>
void map_unary(const block_view& out, const block_view& x, F f) {
    const block_view* const operand[2] = {&out, &x};
    for_each_group<2>(operand, [&](const group* g, int count, ptrdiff_t) {
        element_io<Out>::store(out, g[0], count, f(element_io<Number>::load(x, g[1])));
    });
}

template <class Number, class F>
void map_binary(const block_view& out, const block_view& x, const block_view& y, F f) {
    const block_view* const operand[3] = {&out, &x, &y};
    for_each_group<3>(operand, [&](const group* g, int count, ptrdiff_t) {
        using io = element_io<Number>;
        io::store(out, g[0], count, f(io::load(x, g[1]), io::load(y, g[2])));
    });
}

// The same one number at a time, for what branches.
template <int N, class F> void map_scalar(const block_view& out, const block_view& x, F f) {
    map_unary<md<lane, N>>(out, x, [&](md<lane, N> v) {
        for (int i = 0; i < host_lanes; ++i) {
            md<double, N> one;
            for (int l = 0; l < N; ++l)
                one.limb[l] = lane_get(v.limb[l], i);
            one = f(one);
            for (int l = 0; l < N; ++l)
                lane_set(v.limb[l], i, one.limb[l]);
        }
        return v;
    });
}

// The elementary functions, host/elementary/.
template <int N, bool complex>
void elementary_unary(unary_op op, const block_view& out, const block_view& x);
template <int N, bool complex>
void elementary_binary(binary_op op, const block_view& out, const block_view& x,
                       const block_view& y);

MDQR_END
