// exp, exp2, expm1: x = (n / 4096) ln 2 + r, |r| < 2^-13.5, two tables of 64 powers of two, and the
// series of (exp(r) - 1) / r.
#pragma once
#include "mdqr/elementary/wide.hpp"

MDQR_BEGIN

MDQR_BLOCK_SERIES(exp, 13);

// exp(x) = value 2^k, value in [1, 2] up to 2^-12; n = 0: x = r and series = expm1(x) / x.
template <class T, int F> struct exponential {
    fixed<T, F> value, series;
    T n, k;
};

template <class T, int F> MDQR_CALL exponential<T, F> exp_reduced(const fixed<T, F>& r, T n) {
    exponential<T, F> e;
    const ints_t<T> steps = to_ints(n);
    e.n = n;
    e.k = from_ints<T>(to_ints(
        nearest(one_prod(one_sum(n, broadcast<T>(-2047.5)), broadcast<T>(0x1p-12))))); // floor
    const T rest = from_ints<T>(steps & 4095LL);
    const T high = nearest(one_prod(one_sum(rest, broadcast<T>(-31.5)), broadcast<T>(0x1p-6)));
    const T low = fma(high, broadcast<T>(-64.0), rest);
    e.series = horner<exp_coefficients, F>::evaluate(r);
    e.value = multiply_small<1>(r, e.series);
    e.value.digit[0] = one_sum(e.value.digit[0], broadcast<T>(1.0));
    e.value = multiply(e.value, row_of<T, F>(exp2_64_table, high));
    e.value = multiply(e.value, row_of<T, F>(exp2_4096_table, low));
    return e;
}

// |x| < 1024.
template <int F, class T, int M> MDQR_FN exponential<T, F> exp_of(const md<T, M>& x) {
    const T n = nearest(one_prod(x.limb[0], broadcast<T>(0x1.71547652b82fep+12)));
    const fixed<T, F> whole = to_fixed<F, 10>(x);
    T rest[F + 2];
    MDQR_UNROLL
    for (int i = 0; i <= F + 1; ++i)
        rest[i] = exact_fma(-n, broadcast<T>(ln2_4096_table[i]),
                            i <= F ? whole.digit[i] : broadcast<T>(0.0));
    carry<0, F + 1>(rest);
    fixed<T, F> r;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        r.digit[i] = rest[i];
    return exp_reduced(r, n);
}

// The same for 2^x, |x| < 2048.
template <int F, class T, int M> MDQR_FN exponential<T, F> exp2_of(const md<T, M>& x) {
    const T n = nearest(one_prod(x.limb[0], broadcast<T>(4096.0)));
    fixed<T, F> r = to_fixed<F, 11>(x);
    r.digit[1] = exact_fma(n, broadcast<T>(-4096.0), r.digit[1]);
    carry<0, F>(r.digit);
    return exp_reduced(multiply_small<1>(r, constant<T, F>(ln2_table)), n);
}

// Zero in place of arguments whose result is 0, infinity or NaN.
template <class T, int N> MDQR_FN md<T, N> exp_argument(const md<T, N>& x, mask_t<T> beyond) {
    return select(beyond, spread<T, N>(0.0), x);
}
// The result for those.
template <class T, int N> MDQR_FN void exp_beyond(md<T, N>& r, T x, mask_t<T> beyond, double low) {
    const T zero = broadcast<T>(0.0);
    const T special =
        select(x > zero, broadcast<T>(infinity()), select(x < zero, broadcast<T>(low), x));
    r = select(beyond, from_double<T, N>(special), r);
}

template <class T, int N> MDQR_FN md<T, N> exp(const md<T, N>& x) {
    constexpr int F = last_digit<N>;
    const mask_t<T> beyond = !(abs(x.limb[0]) < broadcast<T>(800.0));
    const exponential<T, F> e = exp_of<F>(exp_argument(x, beyond));
    md<T, N> r = scale_lanes(narrow<T, N>(to_limbs<N + 1>(e.value)), e.k);
    exp_beyond(r, x.limb[0], beyond, 0.0);
    return r;
}

template <class T, int N> MDQR_FN md<T, N> exp2(const md<T, N>& x) {
    constexpr int F = last_digit<N>;
    const mask_t<T> beyond = !(abs(x.limb[0]) < broadcast<T>(1200.0));
    const exponential<T, F> e = exp2_of<F>(exp_argument(x, beyond));
    md<T, N> r = scale_lanes(narrow<T, N>(to_limbs<N + 1>(e.value)), e.k);
    exp_beyond(r, x.limb[0], beyond, 0.0);
    return r;
}

// Below -690 exp(x) - 1 is -1, and the powers of two are in range.
template <class T, int M> MDQR_FN md<T, M> not_below(const md<T, M>& x, double low) {
    return select(x.limb[0] < broadcast<T>(low), spread<T, M>(low), x);
}

// exp(x) - 1 from exp(x), x >= -690.
template <class T, int N, int M>
MDQR_CALL scaled_wide<T, N> less_one(const exponential<T, last_digit<N>>& e, const md<T, M>& x) {
    constexpr int F = last_digit<N>, words = (F + 2) / 2 + 1;
    T w[words];
    w[0] = -to_the(clamped(-e.k, -1000.0, 1000.0));
    to_words(w + 1, e.value);
    scaled_wide<T, N> result{renormalize<words, N + 1>(w), e.k};
    const mask_t<T> small = e.n == broadcast<T>(0.0);
    if (any(small))
        result.r =
            select(small, mul_network(with_limbs<N + 1>(x), to_limbs<N + 1>(e.series)), result.r);
    return result;
}

template <class T, int N> MDQR_FN md<T, N> expm1(const md<T, N>& x) {
    const mask_t<T> beyond = !(abs(x.limb[0]) < broadcast<T>(800.0));
    const md<T, N> safe = not_below(exp_argument(x, beyond), -690.0);
    const scaled_wide<T, N> e = less_one<T, N>(exp_of<last_digit<N>>(safe), safe);
    md<T, N> r = scale_lanes(narrow<T, N>(e.r), e.k);
    exp_beyond(r, x.limb[0], beyond, -1.0);
    return select(negligible(x), x, r);
}

MDQR_END
