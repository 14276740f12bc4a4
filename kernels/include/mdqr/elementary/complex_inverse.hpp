// arcsin, arccos, arctan, arcsinh, arccosh, arctanh of complex numbers. Kahan, "Branch cuts for
// complex elementary functions", in The State of the Art in Numerical Analysis, 1987: by square
// roots of 1 - z and 1 + z, whose signed zeros tell the side of a cut.
#pragma once
#include "mdqr/elementary/complex_circular.hpp"

MDQR_BEGIN

// sqrt(a + i b), by the sign bit of b below the cut.
template <class T, int N>
MDQR_CALL wide_pair<T, N> sqrt_of_parts(const wide<T, N>& a, const wide<T, N>& b) {
    const T zero = broadcast<T>(0.0);
    const T large = select(abs(b.limb[0]) > abs(a.limb[0]), b.limb[0], a.limb[0]);
    T e;
    normalised(md<T, 1>{large}, e);
    const T half = nearest(one_prod(e, broadcast<T>(0.5)));
    const T down = one_prod(half, broadcast<T>(-2.0));
    const wide<T, N> x = magnitude(times_power(a, down)), y = times_power(b, down);
    const wide<T, N> modulus = sqrt_wide(add_network(mul_network(x, x), mul_network(y, y)));
    const wide<T, N> p = sqrt_wide(scaled(add_network(x, modulus), broadcast<T>(0.5)));
    const mask_t<T> vanishes = large == zero;
    const wide<T, N> divisor = select(vanishes, spread<T, N + 1>(1.0), p);
    const wide<T, N> q = scaled(divide_wide(y, divisor), broadcast<T>(0.5));
    const mask_t<T> left = a.limb[0] < zero, below = has_sign(b.limb[0]);
    wide_pair<T, N> r{select(left, magnitude(q), p), select(left, select(below, neg(p), p), q)};
    r.re = times_power(r.re, half);
    r.im = times_power(r.im, half);
    return r;
}

// Finite parts in N + 1 limbs, scaled by 2^-200 where 1 +- z is +- z.
template <class T, int N> struct scaled_parts {
    wide<T, N> x, y, below, above; // z, 1 - x, 1 + x
    T k;
};

template <class T, int N> MDQR_FN mask_t<T> irregular(const cmd<T, N>& z) {
    return !(finite(z.re.limb[0]) & finite(z.im.limb[0]));
}

template <class T, int N>
MDQR_CALL scaled_parts<T, N> parts_of(const cmd<T, N>& z, mask_t<T> undefined) {
    const wide<T, N> one = spread<T, N + 1>(1.0), half = spread<T, N + 1>(0.5);
    scaled_parts<T, N> p;
    p.x = select(undefined, half, with_limbs<N + 1>(z.re));
    p.y = select(undefined, half, with_limbs<N + 1>(z.im));
    const mask_t<T> far =
        (abs(p.x.limb[0]) > broadcast<T>(0x1p900)) | (abs(p.y.limb[0]) > broadcast<T>(0x1p900));
    p.k = select(far, broadcast<T>(200.0), broadcast<T>(0.0));
    p.x = scaled(p.x, to_the(-p.k));
    p.y = scaled(p.y, to_the(-p.k));
    p.below = add_network(one, neg(p.x));
    p.above = add_network(one, p.x);
    return p;
}

// arcsinh(u 2^k) with its sign, k = 0 where u is not large.
template <class T, int N> MDQR_CALL wide<T, N> arcsinh_signed(const wide<T, N>& u, T k) {
    wide<T, N> r = arcsinh_wide<T, N>(magnitude(u));
    const mask_t<T> far = k > broadcast<T>(0.0);
    if (any(far)) {
        const wide<T, N> more =
            mul_network(wide_constant<T, N>(ln2_table), from_double<T, N + 1>(k));
        r = select(far, add_network(r, more), r);
    }
    return select(u.limb[0] < broadcast<T>(0.0), neg(r), r);
}

// a b - c d
template <class T, int M>
MDQR_CALL md<T, M> cross(const md<T, M>& a, const md<T, M>& b, const md<T, M>& c,
                         const md<T, M>& d) {
    return add_network(mul_network(a, b), neg(mul_network(c, d)));
}

// A multiple of pi / 4, rounded.
template <int N> MDQR_COLD md<double, N> quarters_of_pi(double count) {
    fixed<double, last_digit<N> + 1> x = constant<double, last_digit<N> + 1>(half_pi_table);
    for (int i = 0; i <= last_digit<N> + 1; ++i)
        x.digit[i] = one_prod(x.digit[i], count);
    carry<0, last_digit<N> + 1>(x.digit);
    return narrow<double, N>(scaled(to_limbs<N + 1>(x), 0.5));
}

// The angle of a direction with infinite parts, from 0 to pi, in quarters of pi.
MDQR_FN double infinite_direction(double x, double y) {
    if (abs(x) != infinity())
        return 2.0;
    if (abs(y) != infinity())
        return x > 0.0 ? 0.0 : 4.0;
    return x > 0.0 ? 1.0 : 3.0;
}

template <int N> MDQR_FN md<double, N> signed_limbs(const md<double, N>& x, double sign) {
    return copysign(1.0, sign) < 0.0 ? neg(x) : x;
}

// C99, annex G.6.1 and G.6.2, where a part is not finite.
template <int N> MDQR_COLD cmd<double, N> arccos_undefined(const cmd<double, N>& z) {
    const double x = z.re.limb[0], y = z.im.limb[0], nan = not_a_number();
    if (is_nan(x) || is_nan(y)) {
        const bool infinite = abs(x) == infinity() || abs(y) == infinity();
        cmd<double, N> r = leading_parts<N>(nan, infinite ? copysign(infinity(), -y) : nan);
        if (x == 0.0)
            r.re = quarters_of_pi<N>(2.0);
        return r;
    }
    return {quarters_of_pi<N>(infinite_direction(x, y)),
            from_double<double, N>(copysign(infinity(), -y))};
}
template <int N> MDQR_COLD cmd<double, N> arcsinh_undefined(const cmd<double, N>& z) {
    const double x = z.re.limb[0], y = z.im.limb[0], nan = not_a_number();
    if (is_nan(x) || is_nan(y)) {
        const bool infinite = abs(x) == infinity() || abs(y) == infinity();
        return leading_parts<N>(infinite ? copysign(infinity(), x) : nan, y == 0.0 ? y : nan);
    }
    return {from_double<double, N>(copysign(infinity(), x)),
            signed_limbs(quarters_of_pi<N>(infinite_direction(abs(x), y)), y)};
}
template <int N> MDQR_COLD cmd<double, N> arccosh_undefined(const cmd<double, N>& z) {
    const double x = z.re.limb[0], y = z.im.limb[0], nan = not_a_number();
    if (is_nan(x) || is_nan(y)) {
        const bool infinite = abs(x) == infinity() || abs(y) == infinity();
        cmd<double, N> r = leading_parts<N>(infinite ? infinity() : nan, nan);
        if (x == 0.0)
            r.im = quarters_of_pi<N>(2.0);
        return r;
    }
    return {from_double<double, N>(infinity()),
            signed_limbs(quarters_of_pi<N>(infinite_direction(x, y)), y)};
}
template <int N> MDQR_COLD cmd<double, N> arctanh_undefined(const cmd<double, N>& z) {
    const double x = z.re.limb[0], y = z.im.limb[0], nan = not_a_number();
    const bool pole = abs(x) == 1.0 && y == 0.0;
    if (pole)
        return leading_parts<N>(copysign(infinity(), x), y);
    const double re =
        abs(x) == infinity() || abs(y) == infinity() || x == 0.0 ? copysign(0.0, x) : nan;
    if (is_nan(y) || (is_nan(x) && abs(y) != infinity()))
        return leading_parts<N>(re, nan);
    return {from_double<double, N>(re), signed_limbs(quarters_of_pi<N>(2.0), y)};
}

template <class T, int N> MDQR_FN md<T, N> angle_limbs(const scaled_wide<T, N>& a) {
    return scale_lanes(narrow<T, N>(a.r), a.k);
}

template <class T, int N> MDQR_FN cmd<T, N> arcsinh(const cmd<T, N>& z) {
    // arcsin(w) = arcsin(i z) = i arcsinh(z)
    const mask_t<T> undefined = irregular(z);
    const cmd<T, N> w = i_times(z);
    const scaled_parts<T, N> p = parts_of(w, undefined);
    const wide_pair<T, N> s = sqrt_of_parts<T, N>(p.below, neg(p.y));
    const wide_pair<T, N> t = sqrt_of_parts<T, N>(p.above, p.y);
    const scaled_wide<T, N> a = atan2_wide<T, N>(p.x, cross(s.re, t.re, s.im, t.im));
    const md<T, N> h = narrow<T, N>(arcsinh_signed<T, N>(cross(s.re, t.im, s.im, t.re), p.k));
    cmd<T, N> r{h, angle_limbs<T, N>(a)};
    const T zero = broadcast<T>(0.0);
    r.re.limb[0] = select(r.re.limb[0] == zero, signed_as(zero, z.re.limb[0]), r.re.limb[0]);
    r.im = select(has_sign(z.im.limb[0]), neg(r.im), r.im);
    fix_up(undefined, r, [](const cmd<double, N>& v) { return arcsinh_undefined(v); }, z);
    return select(negligible(z), z, r);
}

template <class T, int N> MDQR_FN cmd<T, N> arcsin(const cmd<T, N>& z) {
    return over_i(arcsinh(i_times(z)));
}

template <class T, int N> MDQR_FN cmd<T, N> arccos(const cmd<T, N>& z) {
    const mask_t<T> undefined = irregular(z);
    const scaled_parts<T, N> p = parts_of(z, undefined);
    const wide_pair<T, N> s = sqrt_of_parts<T, N>(p.below, neg(p.y));
    const wide_pair<T, N> t = sqrt_of_parts<T, N>(p.above, p.y);
    scaled_wide<T, N> a = atan2_wide<T, N>(s.re, t.re);
    a.r = scaled(a.r, broadcast<T>(2.0));
    const md<T, N> h = narrow<T, N>(arcsinh_signed<T, N>(cross(t.re, s.im, t.im, s.re), p.k));
    cmd<T, N> r{angle_limbs<T, N>(a), h};
    const T zero = broadcast<T>(0.0);
    r.im.limb[0] = select(r.im.limb[0] == zero, signed_as(zero, -z.im.limb[0]), r.im.limb[0]);
    fix_up(undefined, r, [](const cmd<double, N>& v) { return arccos_undefined(v); }, z);
    return r;
}

template <class T, int N> MDQR_FN cmd<T, N> arccosh(const cmd<T, N>& z) {
    const mask_t<T> undefined = irregular(z);
    const scaled_parts<T, N> p = parts_of(z, undefined);
    const wide_pair<T, N> s = sqrt_of_parts<T, N>(neg(p.below), p.y);
    const wide_pair<T, N> t = sqrt_of_parts<T, N>(p.above, p.y);
    scaled_wide<T, N> a = atan2_wide<T, N>(s.im, t.re);
    a.r = scaled(a.r, broadcast<T>(2.0));
    const md<T, N> h = narrow<T, N>(arcsinh_signed<T, N>(cross(s.re, t.re, neg(s.im), t.im), p.k));
    cmd<T, N> r{h, angle_limbs<T, N>(a)};
    r.im = select(has_sign(z.im.limb[0]), neg(r.im), r.im);
    fix_up(undefined, r, [](const cmd<double, N>& v) { return arccosh_undefined(v); }, z);
    return r;
}

// log1p(4 x / ((1 - x)^2 + y^2)) / 4 + i atan2(2 y, (1 - x)(1 + x) - y^2) / 2 for x >= 0.
template <class T, int N> MDQR_FN cmd<T, N> arctanh(const cmd<T, N>& z) {
    const T zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    const mask_t<T> pole = (abs(z.re.limb[0]) == one) & (z.im.limb[0] == zero) &
                           (abs(z.re.limb[N > 1 ? 1 : 0]) == broadcast<T>(N > 1 ? 0.0 : 1.0));
    const mask_t<T> undefined = irregular(z) | pole;
    const wide<T, N> half = spread<T, N + 1>(0.5), unit = spread<T, N + 1>(1.0);
    wide<T, N> x = magnitude(select(undefined, half, with_limbs<N + 1>(z.re)));
    wide<T, N> y = select(undefined, half, with_limbs<N + 1>(z.im));
    const wide<T, N> far_below = add_network(unit, neg(x)), far_above = add_network(unit, x);
    // Large parts are scaled by 2^-e; small distances from 1 likewise.
    const T large = select(abs(y.limb[0]) > x.limb[0], abs(y.limb[0]), x.limb[0]);
    T e;
    normalised(md<T, 1>{large}, e);
    const mask_t<T> far = large > broadcast<T>(0x1p480);
    e = select(far, e, zero);
    x = times_power(x, -e);
    y = times_power(y, -e);
    const wide<T, N> below = times_power(far_below, -e), above = times_power(far_above, -e);
    const T gap = select(abs(y.limb[0]) > abs(below.limb[0]), y.limb[0], below.limb[0]);
    // Before limbs of the squares leave the range.
    const mask_t<T> close = abs(gap) < broadcast<T>(N > 8 ? 0x1p-50 : 0x1p-240);
    T closeness;
    normalised(md<T, 1>{gap}, closeness);
    closeness = select(close, closeness, zero);
    const wide<T, N> b = times_power(below, -closeness), c = times_power(y, -closeness);
    const wide<T, N> distance = add_network(mul_network(b, b), mul_network(c, c));
    const wide<T, N> u =
        times_power(divide_wide(scaled(x, broadcast<T>(4.0)), distance), clamped(-e, -1900.0, 0.0));
    const T one_there = to_the(clamped(one_sum(closeness, closeness), -1000.0, 0.0));
    logarithm<T, N> l = log_of<T, N>(add_network(u, from_double<T, N + 1>(one_there)), u);
    l.k = fma(closeness, broadcast<T>(-2.0), l.k);
    l.is_near = l.is_near & !close;
    const md<T, N> re = narrow<T, N>(scaled(natural(l), broadcast<T>(0.25)));
    const wide<T, N> turned = times_power(scaled(c, broadcast<T>(2.0)), clamped(-e, -1900.0, 0.0));
    scaled_wide<T, N> a = atan2_wide<T, N>(turned, cross(b, above, c, y));
    a.r = scaled(a.r, broadcast<T>(0.5));
    cmd<T, N> r{re, angle_limbs<T, N>(a)};
    r.re = select(has_sign(z.re.limb[0]), neg(r.re), r.re);
    r.im = select(has_sign(z.im.limb[0]), neg(r.im), r.im);
    fix_up(undefined, r, [](const cmd<double, N>& v) { return arctanh_undefined(v); }, z);
    return select(negligible(z), z, r);
}

template <class T, int N> MDQR_FN cmd<T, N> arctan(const cmd<T, N>& z) {
    return over_i(arctanh(i_times(z)));
}

MDQR_END
