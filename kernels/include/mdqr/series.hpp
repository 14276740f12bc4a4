// One order of a product of power series, v_k = sum of l_j r_{k-j}, the same limbs everywhere.
//
// The inner terms, 0 < j < k, know nothing of order k: term j goes to virtual lane (j - 1) mod 8,
// and the lanes are combined as ((0+4)+(2+6)) + ((1+5)+(3+7)). The ends, l_0 r_k and l_k r_0, are
// added to that sum one after the other, so that products of products need only their ends again
// where order k changes.
//
// A product errs by 2 eps at most and a sum by less than eps: k / 8 + 5 sums meet a term (complex:
// k / 4 + 7), which is within (k + 9) eps of the sum of the moduli for all k.
#pragma once
#include "mdqr/number/complex.hpp"

MDQR_BEGIN

inline constexpr int series_lanes = 8;

template <class T, int N> MDQR_CALL md<T, N> series_sum_call(const md<T, N>& x, const md<T, N>& y) {
    return add_fast(x, y);
}
template <class T, int N> MDQR_FN md<T, N> series_sum(const md<T, N>& x, const md<T, N>& y) {
    if constexpr (N <= 2)
        return add_network(x, y);
    else
        return series_sum_call(x, y);
}
template <class T, int N> MDQR_FN cmd<T, N> series_sum(const cmd<T, N>& x, const cmd<T, N>& y) {
    return {series_sum(x.re, y.re), series_sum(x.im, y.im)};
}

template <class T, int N>
MDQR_FN void add_series_term(md<T, N>& sum, const md<T, N>& x, const md<T, N>& y) {
    sum = series_sum(sum, mul_network(x, y));
}
template <class T, int N>
MDQR_FN void add_series_term(cmd<T, N>& sum, const cmd<T, N>& x, const cmd<T, N>& y) {
    add_series_term(sum.re, x.re, y.re);
    add_series_term(sum.re, neg(x.im), y.im);
    add_series_term(sum.im, x.re, y.im);
    add_series_term(sum.im, x.im, y.re);
}

// The factors of one series at both ends.
template <class Number> struct series_ends {
    Number first, last;
};

// f(part, x, y) for the real products of the ends in their order.
template <int N, class F>
MDQR_FN void for_end_pair(const md<double, N>& x, const md<double, N>& y, F f) {
    f(0, x, y);
}
template <int N, class F>
MDQR_FN void for_end_pair(const cmd<double, N>& x, const cmd<double, N>& y, F f) {
    f(0, x.re, y.re);
    f(0, neg(x.im), y.im);
    f(1, x.re, y.im);
    f(1, x.im, y.re);
}
template <class Number, class F>
MDQR_FN void for_end_terms(const series_ends<Number>& left, const series_ends<Number>& right,
                           bool is_first, F f) {
    for_end_pair(left.first, right.last, f);
    if (!is_first) // of order 0 both ends are one
        for_end_pair(left.last, right.first, f);
}

// A number of the contract.
template <int N> MDQR_FN void finish_order(md<double, N>& x) {
    if constexpr (N > 2)
        x = renormalize<N, N>(x.limb);
    if constexpr (N > 1) {
        if (!is_finite(x.limb[0]))
            x = from_double<double, N>(x.limb[0]);
        clear_negative_zeros(x);
    }
}
template <int N> MDQR_FN void finish_order(cmd<double, N>& x) {
    finish_order(x.re);
    finish_order(x.im);
}

// Real and imaginary parts.
template <class Number> inline constexpr int number_parts = 1;
template <int N> inline constexpr int number_parts<cmd<double, N>> = 2;

MDQR_END
