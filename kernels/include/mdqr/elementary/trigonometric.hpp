// sin, cos, tan, sinpi, cospi: |r| = j / 64 + s, |s| <= 2^-7, sines and cosines of j / 64 from
// tables, and the series of sin(s) / s and cos(s) in -s^2.
#pragma once
#include "mdqr/elementary/quotient.hpp"
#include "mdqr/elementary/reduction.hpp"

MDQR_BEGIN

MDQR_BLOCK_SERIES(sin, 14);
MDQR_BLOCK_SERIES(cos, 14);

// Of r 2^-down, |r 2^-down| < 0.8: the sine of its size is table_sin cos + table_cos sin; where
// is_near, the sine is r ratio 2^-down.
template <class T, int N> struct sine_parts {
    fixed<T, last_digit<N>> sin, cos, table_sin, table_cos, ratio;
    wide<T, N> r;
    T down;
    mask_t<T> is_near;
};

template <class T, int N> MDQR_CALL sine_parts<T, N> sines_of(const wide<T, N>& r) {
    constexpr int F = last_digit<N>;
    sine_parts<T, N> p;
    p.r = r;
    p.down = broadcast<T>(0.0);
    const T j = nearest(one_prod(abs(r.limb[0]), broadcast<T>(64.0)));
    fixed<T, F> s = to_fixed<F, 1>(r);
    s = select(r.limb[0] < broadcast<T>(0.0), minus(s), s);
    s.digit[1] = exact_fma(j, broadcast<T>(-0x1p18), s.digit[1]);
    carry<0, F>(s.digit);
    fixed<T, F> t;
    multiply_digits<1, F, 1, F, F>(t.digit, s.digit, s.digit);
    const auto argument = horner<sin_coefficients, F>::argument(minus(t));
    p.ratio = horner<sin_coefficients, F>::evaluate(argument);
    p.cos = horner<cos_coefficients, F>::evaluate(argument);
    p.sin = multiply_small<1>(s, p.ratio);
    p.table_sin = row_of<T, F>(sin_64_table, j);
    p.table_cos = row_of<T, F>(cos_64_table, j);
    p.is_near = j == broadcast<T>(0.0);
    return p;
}

template <class T, int N> MDQR_FN sine_parts<T, N> sines_of(const angle<T, N>& a) {
    if constexpr (has_powers<N>) {
        sine_parts<T, N> p = sines_of<T, N>(scaled(a.r, to_the(clamped(-a.down, -1022.0, 0.0))));
        p.r = a.r;
        p.down = a.down;
        return p;
    } else {
        return sines_of<T, N>(a.r);
    }
}

// sin(r + quadrant pi / 2), without the factor 2^-down of what is near.
template <class T, int N> MDQR_CALL wide<T, N> sine_of(const sine_parts<T, N>& p, T quadrant) {
    constexpr int F = last_digit<N>;
    const T zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    const ints_t<T> q = to_ints(quadrant);
    const mask_t<T> is_cosine = from_ints<T>(q & 1LL) != zero;
    const mask_t<T> negative = from_ints<T>(q & 2LL) != zero;
    const fixed<T, F> a = multiply(select(is_cosine, p.table_cos, p.table_sin), p.cos);
    const fixed<T, F> b =
        multiply_small<1>(p.sin, select(is_cosine, minus(p.table_sin), p.table_cos));
    wide<T, N> y = to_limbs<N + 1>(plus(a, b));
    const T sign_of_r = select(p.r.limb[0] < zero, -one, one);
    y = scaled(y, select(is_cosine, one, sign_of_r));
    const mask_t<T> relative = p.is_near & !is_cosine;
    if (any(relative))
        y = select(relative, mul_network(p.r, to_limbs<N + 1>(p.ratio)), y);
    return scaled(y, select(negative, -one, one));
}

// The same as r 2^k.
template <class T, int N>
MDQR_FN scaled_wide<T, N> scaled_sine_of(const sine_parts<T, N>& p, T quadrant) {
    const T zero = broadcast<T>(0.0);
    const mask_t<T> is_cosine = from_ints<T>(to_ints(quadrant) & 1LL) != zero;
    return {sine_of<T, N>(p, quadrant), select(p.is_near & !is_cosine, -p.down, zero)};
}
template <class T, int N> MDQR_FN md<T, N> narrow_sine_of(const angle<T, N>& a, T quadrant) {
    const sine_parts<T, N> p = sines_of(a);
    if constexpr (has_powers<N>) {
        const scaled_wide<T, N> s = scaled_sine_of(p, quadrant);
        return scale_lanes(narrow<T, N>(s.r), s.k);
    } else {
        return narrow<T, N>(sine_of<T, N>(p, quadrant));
    }
}

template <class T, int N> MDQR_FN md<T, N> nan_unless_finite(const md<T, N>& r, T x) {
    const T nothing = one_sum(x, -x); // NaN for infinities and NaN
    return select(nothing == nothing, r, from_double<T, N>(nothing));
}
template <class T, int N> MDQR_FN md<T, N> zero_unless_finite(const md<T, N>& x) {
    return select(abs(x.limb[0]) < broadcast<T>(infinity()), x, spread<T, N>(0.0));
}

template <class T, int N> MDQR_FN md<T, N> sin(const md<T, N>& x) {
    const angle<T, N> a = reduce<N>(zero_unless_finite(x));
    const md<T, N> r = narrow_sine_of(a, a.quadrant);
    return select(negligible(x), x, nan_unless_finite(r, x.limb[0]));
}

template <class T, int N> MDQR_FN md<T, N> cos(const md<T, N>& x) {
    const angle<T, N> a = reduce<N>(zero_unless_finite(x));
    const T quadrant = one_sum(a.quadrant, broadcast<T>(1.0));
    return nan_unless_finite(narrow_sine_of(a, quadrant), x.limb[0]);
}

template <class T, int N> MDQR_FN scaled_wide<T, N> tan_wide(const angle<T, N>& a) {
    const sine_parts<T, N> p = sines_of(a);
    const scaled_wide<T, N> s = scaled_sine_of(p, a.quadrant),
                            c = scaled_sine_of(p, one_sum(a.quadrant, broadcast<T>(1.0)));
    return {divide_wide(s.r, c.r), one_sum(s.k, -c.k)};
}

template <class T, int N> MDQR_FN md<T, N> tan(const md<T, N>& x) {
    const scaled_wide<T, N> t = tan_wide<T, N>(reduce<N>(zero_unless_finite(x)));
    md<T, N> r = narrow<T, N>(t.r);
    if constexpr (has_powers<N>)
        r = scale_lanes(r, t.k);
    return select(negligible(x), x, nan_unless_finite(r, x.limb[0]));
}

template <class T, int N> MDQR_FN md<T, N> sinpi(const md<T, N>& x) {
    const angle<T, N> a = reduce_pi(zero_unless_finite(x));
    md<T, N> r = narrow<T, N>(sine_of<T, N>(sines_of<T, N>(a.r), a.quadrant));
    const T zero = broadcast<T>(0.0);
    // C23: the zero of an integer has its sign.
    const T signed_zero = from_bits(bits(x.limb[0]) & ~0x7fffffffffffffffLL);
    r.limb[0] = select(r.limb[0] == zero, signed_zero, r.limb[0]);
    return nan_unless_finite(r, x.limb[0]);
}

template <class T, int N> MDQR_FN md<T, N> cospi(const md<T, N>& x) {
    const angle<T, N> a = reduce_pi(zero_unless_finite(x));
    const T quadrant = one_sum(a.quadrant, broadcast<T>(1.0));
    md<T, N> r = narrow<T, N>(sine_of<T, N>(sines_of<T, N>(a.r), quadrant));
    const T zero = broadcast<T>(0.0);
    r.limb[0] = select(r.limb[0] == zero, zero, r.limb[0]);
    return nan_unless_finite(r, x.limb[0]);
}

MDQR_END
