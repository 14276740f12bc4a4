// arctan, arctan2, arcsin, arccos. With P / Q the smaller over the larger of |y|, |x| and c = j /
// 64 near it, atan(P / Q) = atan(c) + atan((P - c Q) / (Q + c P)): atan(c) from a table, the rest
// by its series.
#pragma once
#include "mdqr/elementary/quotient.hpp"

MDQR_BEGIN

MDQR_BLOCK_SERIES(atan, 14);

template <class T> MDQR_FN mask_t<T> has_sign(T x) { return bits(x) < 0; }

// atan2(|y|, x) = r 2^e, 0 <= r 2^e <= pi; for numbers that are finite, zeros included.
template <class T, int N>
MDQR_CALL scaled_wide<T, N> atan2_wide(const wide<T, N>& y, const wide<T, N>& x) {
    constexpr int F = last_digit<N>;
    const T zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    const mask_t<T> steep = abs(y.limb[0]) > abs(x.limb[0]);
    T ep, eq;
    wide<T, N> p = normalised(select(steep, x, y), ep), q = normalised(select(steep, y, x), eq);
    p = select(p.limb[0] < zero, neg(p), p);
    q = select(q.limb[0] < zero, neg(q), q);
    const mask_t<T> vanishes = p.limb[0] == zero;
    p = select(vanishes, spread<T, N + 1>(1.0), p);
    q = select(q.limb[0] == zero, spread<T, N + 1>(1.0), q);
    const T d = select(vanishes, broadcast<T>(-3000.0), one_sum(ep, -eq));
    const T ratio = one_prod(p.limb[0] / q.limb[0], to_the(clamped(d, -1000.0, 1.0)));
    const T j = nearest(one_prod(ratio, broadcast<T>(64.0)));
    const mask_t<T> near = j == zero;
    p = scaled(p, select(near, one, to_the(clamped(d, -1000.0, 1.0))));
    const fixed<T, F> P = to_fixed<F, 1>(p), Q = to_fixed<F, 1>(q);
    const T c = one_prod(j, broadcast<T>(0x1p18));
    fixed<T, F> over = P, under = Q;
    MDQR_UNROLL
    for (int i = 1; i <= F; ++i) {
        over.digit[i] = exact_fma(-c, Q.digit[i - 1], P.digit[i]);
        under.digit[i] = exact_fma(c, select(near, zero, P.digit[i - 1]), Q.digit[i]);
    }
    carry<0, F>(over.digit);
    carry<0, F>(under.digit);
    const fixed<T, F> t = multiply(over, inverse<false>(under));
    const wide<T, N> t_limbs = to_limbs<N + 1>(t);
    fixed<T, F> s = t;
    if (any(near))
        s = select(near, to_fixed<F, 1>(scaled(t_limbs, to_the(clamped(d, -1000.0, 1.0)))), t);
    fixed<T, F> square;
    multiply_digits<1, F, 1, F, F>(square.digit, s.digit, s.digit);
    const fixed<T, F> series = horner<atan_coefficients, F>::evaluate(minus(square));
    fixed<T, F> angle = plus(row_of<T, F>(atan_64_table, j), multiply_small<1>(s, series));
    const mask_t<T> left = has_sign(x.limb[0]);
    // pi / 2 - angle, pi / 2 + angle or pi - angle.
    const T sign = select(steep, select(left, one, -one), select(left, -one, one));
    const T quarters = select(steep, one, select(left, broadcast<T>(2.0), zero));
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        angle.digit[i] =
            exact_fma(quarters, broadcast<T>(half_pi_table[i]), one_prod(sign, angle.digit[i]));
    carry<0, F>(angle.digit);
    scaled_wide<T, N> r{to_limbs<N + 1>(angle), zero};
    const mask_t<T> relative = near & (quarters == zero);
    if (any(relative)) {
        r.r = select(relative, mul_network(t_limbs, to_limbs<N + 1>(series)), r.r);
        r.k = select(relative, select(vanishes, zero, d), zero);
        r.r = select(relative & vanishes, spread<T, N + 1>(0.0), r.r);
    }
    return r;
}

// One where infinite and both are, zero where the other one is; signs stay.
template <class T, int N>
MDQR_FN wide<T, N> finite_direction(const md<T, N>& x, const md<T, N>& other) {
    const T infinite = broadcast<T>(infinity()), one = broadcast<T>(1.0), zero = broadcast<T>(0.0);
    const mask_t<T> here = abs(x.limb[0]) == infinite, there = abs(other.limb[0]) == infinite;
    const T size = select(here, one, zero);
    wide<T, N> r = with_limbs<N + 1>(x);
    const wide<T, N> substitute = from_double<T, N + 1>(select(has_sign(x.limb[0]), -size, size));
    const mask_t<T> regular = abs(x.limb[0]) < infinite;
    r = select(regular & !there, r, substitute);
    return r;
}

template <class T, int N> MDQR_FN md<T, N> arctan2(const md<T, N>& y, const md<T, N>& x) {
    const scaled_wide<T, N> a =
        atan2_wide<T, N>(finite_direction<T, N>(y, x), finite_direction<T, N>(x, y));
    md<T, N> r = scale_lanes(narrow<T, N>(a.r), a.k);
    r = select(has_sign(y.limb[0]), neg(r), r);
    const T nan = one_sum(abs(x.limb[0]), abs(y.limb[0]));
    return select(nan == nan, r, from_double<T, N>(nan));
}

template <class T, int N> MDQR_FN md<T, N> arctan(const md<T, N>& x) {
    return select(negligible(x), x, arctan2(x, spread<T, N>(1.0)));
}

// sqrt(1 - x^2) for |x| <= 1, and whether x is beyond; x in N + 1 limbs.
template <class T, int M> MDQR_FN md<T, M> cosine_from_sine(const md<T, M>& x, mask_t<T>& beyond) {
    const md<T, M> one = spread<T, M>(1.0);
    const md<T, M> below = add_network(one, neg(x)), above = add_network(one, x);
    // Sums of NaN have it in any limb.
    beyond = !((abs(x.limb[0]) <= broadcast<T>(1.0)) & (below.limb[0] >= broadcast<T>(0.0)) &
               (above.limb[0] >= broadcast<T>(0.0)));
    const mask_t<T> right = x.limb[0] > broadcast<T>(0.0);
    const md<T, M> small = select(right, below, above), large = select(right, above, below);
    return sqrt_of_product(select(beyond, one, small), select(beyond, one, large));
}

template <class T, int N> MDQR_FN md<T, N> arcsin(const md<T, N>& x) {
    mask_t<T> beyond;
    const wide<T, N> sine = with_limbs<N + 1>(x), cosine = cosine_from_sine(sine, beyond);
    const scaled_wide<T, N> a =
        atan2_wide<T, N>(select(beyond, spread<T, N + 1>(1.0), sine), cosine);
    md<T, N> r = scale_lanes(narrow<T, N>(a.r), a.k);
    r = select(x.limb[0] < broadcast<T>(0.0), neg(r), r);
    r = select(beyond, spread<T, N>(not_a_number()), r);
    return select(negligible(x), x, r);
}

template <class T, int N> MDQR_FN md<T, N> arccos(const md<T, N>& x) {
    mask_t<T> beyond;
    const wide<T, N> cosine = with_limbs<N + 1>(x), sine = cosine_from_sine(cosine, beyond);
    const scaled_wide<T, N> a =
        atan2_wide<T, N>(sine, select(beyond, spread<T, N + 1>(1.0), cosine));
    const md<T, N> r = scale_lanes(narrow<T, N>(a.r), a.k);
    return select(beyond, spread<T, N>(not_a_number()), r);
}

MDQR_END
