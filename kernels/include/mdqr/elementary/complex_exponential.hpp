// exp, exp2, expm1, log, log2, log10, log1p and power of complex numbers, by those of their parts
// in N + 1 limbs.
#pragma once
#include "mdqr/elementary/arctangent.hpp"
#include "mdqr/elementary/hyperbolic.hpp"
#include "mdqr/elementary/power.hpp"
#include "mdqr/elementary/trigonometric.hpp"

MDQR_BEGIN

template <class T, int N> struct wide_pair {
    wide<T, N> re, im;
};

template <class T> MDQR_FN mask_t<T> finite(T x) { return abs(x) < broadcast<T>(infinity()); }

// The sign bit of `sign` on the magnitude.
template <class T> MDQR_FN T signed_as(T magnitude, T sign) {
    return from_bits((bits(magnitude) & 0x7fffffffffffffffLL) |
                     (bits(sign) & ~0x7fffffffffffffffLL));
}

// cos(y) = re 2^re_power and sin(y) = im 2^im_power; the powers are 0 but for many limbs.
template <class T, int N> struct unit_number {
    wide<T, N> re, im;
    T re_power, im_power;
};

// For finite y.
template <int N, class T, int M> MDQR_CALL unit_number<T, N> unit_of(const md<T, M>& y) {
    const angle<T, N> a = reduce<N>(y);
    const sine_parts<T, N> p = sines_of(a);
    const scaled_wide<T, N> c = scaled_sine_of(p, one_sum(a.quadrant, broadcast<T>(1.0))),
                            s = scaled_sine_of(p, a.quadrant);
    unit_number<T, N> r{c.r, s.r, c.k, s.k};
    r.im = select(abs(y.limb[0]) < broadcast<T>(two_to_the<-53 * (N + 1)>), with_limbs<N + 1>(y),
                  r.im);
    return r;
}

template <class T, int N> MDQR_FN wide_pair<T, N> in_range(const unit_number<T, N>& u) {
    if constexpr (has_powers<N>)
        return {times_power(u.re, clamped(u.re_power, -1900.0, 0.0)),
                times_power(u.im, clamped(u.im_power, -1900.0, 0.0))};
    else
        return {u.re, u.im};
}

// Results that are told by leading limbs alone.
template <int N> MDQR_FN cmd<double, N> leading_parts(double re, double im) {
    return {from_double<double, N>(re), from_double<double, N>(im)};
}
template <class T, int N>
MDQR_FN cmd<T, N> select(mask_t<T> m, const cmd<T, N>& a, const cmd<T, N>& b) {
    return {select(m, a.re, b.re), select(m, a.im, b.im)};
}
template <class T, int N> MDQR_FN mask_t<T> negligible(const cmd<T, N>& z) {
    return negligible(z.re) & negligible(z.im);
}

// A real exponent for exp: its own, or one that overflows or underflows everything.
template <class T, int M> struct growth {
    md<T, M> x;
    T k;
    mask_t<T> far;
};
template <class T, int M> MDQR_FN growth<T, M> growth_of(const md<T, M>& x) {
    const T zero = broadcast<T>(0.0), far = broadcast<T>(5000.0);
    growth<T, M> g;
    g.far = !(abs(x.limb[0]) < broadcast<T>(800.0));
    g.x = select(g.far, spread<T, M>(0.0), x);
    g.k = select(g.far, select(x.limb[0] < zero, -far, far), zero);
    return g;
}

// exp(x + i y) for y finite and x not NaN; M limbs.
template <int N, class T, int M>
MDQR_CALL cmd<T, N> exp_of_parts(const md<T, M>& x, const md<T, M>& y) {
    const growth<T, M> g = growth_of(x);
    const exponential<T, last_digit<N>> e = exp_of<last_digit<N>>(g.x);
    const wide<T, N> size = to_limbs<N + 1>(e.value);
    const unit_number<T, N> u = unit_of<N>(y);
    const T k = one_sum(e.k, g.k);
    cmd<T, N> r{scale_lanes(narrow<T, N>(mul_network(size, u.re)), one_sum(k, u.re_power)),
                scale_lanes(narrow<T, N>(mul_network(size, u.im)), one_sum(k, u.im_power))};
    r.im.limb[0] = select(y.limb[0] == broadcast<T>(0.0), y.limb[0], r.im.limb[0]);
    return r;
}

// C99, annex G.6.3.1: y is not finite or x is NaN.
MDQR_FN void exp_leading(double x, double y, double& re, double& im) {
    re = im = not_a_number();
    if (x == -infinity())
        re = im = 0.0;
    else if (x == infinity())
        re = x;
    else if (y == 0.0)
        im = y;
}

template <class T, int N> MDQR_FN mask_t<T> exp_undefined(const cmd<T, N>& z) {
    return !(finite(z.im.limb[0]) & (z.re.limb[0] == z.re.limb[0]));
}

template <class T, int N> MDQR_FN cmd<T, N> exp(const cmd<T, N>& z) {
    const mask_t<T> undefined = exp_undefined(z);
    const md<T, N> zero = spread<T, N>(0.0);
    cmd<T, N> r = exp_of_parts<N>(select(undefined, zero, z.re), select(undefined, zero, z.im));
    fix_up(
        undefined, r,
        [](const cmd<double, N>& w) {
            double re, im;
            exp_leading(w.re.limb[0], w.im.limb[0], re, im);
            return leading_parts<N>(re, im);
        },
        z);
    return r;
}

template <class T, int N> MDQR_FN wide<T, N> wide_constant(const double* row) {
    return to_limbs<N + 1>(constant<T, last_digit<N> + 1>(row));
}

template <class T, int N> MDQR_FN cmd<T, N> exp2(const cmd<T, N>& z) {
    const mask_t<T> undefined = exp_undefined(z);
    const T x = select(undefined, broadcast<T>(0.0), z.re.limb[0]);
    // Beyond this size the product with ln 2 might overflow.
    const mask_t<T> far = !(abs(x) < broadcast<T>(0x1p20));
    const wide<T, N> ln2 = wide_constant<T, N>(ln2_table), zero = spread<T, N + 1>(0.0);
    const wide<T, N> re =
        select(far, from_double<T, N + 1>(x), select(undefined, zero, with_limbs<N + 1>(z.re)));
    const wide<T, N> im = select(undefined, zero, with_limbs<N + 1>(z.im));
    cmd<T, N> r = exp_of_parts<N>(select(far, re, mul_network(re, ln2)), mul_network(im, ln2));
    r.im.limb[0] = select(im.limb[0] == broadcast<T>(0.0), im.limb[0], r.im.limb[0]);
    fix_up(
        undefined, r,
        [](const cmd<double, N>& w) {
            double a, b;
            exp_leading(w.re.limb[0], w.im.limb[0], a, b);
            return leading_parts<N>(a, b);
        },
        z);
    return r;
}

// expm1(x) cos(y) - (1 - cos(y)) + i exp(x) sin(y).
template <class T, int N> MDQR_FN cmd<T, N> expm1(const cmd<T, N>& z) {
    const mask_t<T> undefined = exp_undefined(z);
    const T zero = broadcast<T>(0.0);
    md<T, N> x = select(undefined, spread<T, N>(0.0), z.re);
    const md<T, N> y = select(undefined, spread<T, N>(0.0), z.im);
    x = not_below(x, -690.0);
    const growth<T, N> g = growth_of(x);
    const exponential<T, last_digit<N>> e = exp_of<last_digit<N>>(g.x);
    const scaled_wide<T, N> m = less_one<T, N>(e, g.x);
    const wide<T, N> one = spread<T, N + 1>(1.0);
    const wide_pair<T, N> u = in_range(unit_of<N>(y));
    const mask_t<T> right = u.re.limb[0] > zero;
    const wide<T, N> close =
        divide_wide(mul_network(u.im, u.im), add_network(one, select(right, u.re, one)));
    const wide<T, N> rest = select(right, close, add_network(one, neg(u.re)));
    const wide<T, N> moved = times_power(rest, clamped(-e.k, -1900.0, 1900.0));
    const wide<T, N> re = select(g.far, u.re, add_network(mul_network(m.r, u.re), neg(moved)));
    const wide<T, N> im = mul_network(to_limbs<N + 1>(e.value), u.im);
    const T k = one_sum(e.k, g.k);
    cmd<T, N> r{scale_lanes(narrow<T, N>(re), k), scale_lanes(narrow<T, N>(im), k)};
    r.im.limb[0] = select(y.limb[0] == zero, y.limb[0], r.im.limb[0]);
    fix_up(
        undefined, r,
        [](const cmd<double, N>& w) {
            double a, b;
            exp_leading(w.re.limb[0], w.im.limb[0], a, b);
            return leading_parts<N>(w.re.limb[0] == -infinity() ? -1.0 : a, b);
        },
        z);
    return select(negligible(z), z, r);
}

// log|x + i y| for finite parts that are not both zero, given above = |x + i y|^2 - 1 where that is
// near 1 and its parts are of ordinary size.
template <class T, int N>
MDQR_CALL wide<T, N> log_modulus(wide<T, N> x, wide<T, N> y, const wide<T, N>& above) {
    const T zero = broadcast<T>(0.0);
    const T large = select(abs(y.limb[0]) > abs(x.limb[0]), y.limb[0], x.limb[0]);
    T e;
    normalised(md<T, 1>{large}, e);
    // Before limbs of the squares leave the range.
    e = select(abs(e) > broadcast<T>(N > 8 ? 50.0 : 200.0), e, zero);
    x = times_power(x, -e);
    y = times_power(y, -e);
    logarithm<T, N> l = log_of<T, N>(add_network(mul_network(x, x), mul_network(y, y)), above);
    l.k = fma(e, broadcast<T>(2.0), l.k);
    l.is_near = l.is_near & (e == zero);
    return scaled(natural(l), broadcast<T>(0.5));
}

// x^2 + y^2 - 1 near the unit circle, with the larger part p: (p - 1)(p + 1) + q^2.
template <class T, int N>
MDQR_FN wide<T, N> square_above_one(const wide<T, N>& x, const wide<T, N>& y) {
    const mask_t<T> steep = abs(y.limb[0]) > abs(x.limb[0]);
    const wide<T, N> p = magnitude(select(steep, y, x)), q = select(steep, x, y);
    const wide<T, N> one = spread<T, N + 1>(1.0);
    return add_network(mul_network(add_network(p, neg(one)), add_network(p, one)),
                       mul_network(q, q));
}

// log|z| and the angle of z, which is im 2^k with the sign of z's imaginary part; z not 0.
template <class T, int N> struct polar {
    wide<T, N> log;
    scaled_wide<T, N> angle;
};

template <class T, int N> MDQR_CALL polar<T, N> polar_of(const cmd<T, N>& z, mask_t<T> regular) {
    const wide<T, N> one = spread<T, N + 1>(1.0), zero = spread<T, N + 1>(0.0);
    const wide<T, N> x = select(regular, with_limbs<N + 1>(z.re), one);
    const wide<T, N> y = select(regular, with_limbs<N + 1>(z.im), zero);
    polar<T, N> p;
    p.log = log_modulus<T, N>(x, y, square_above_one<T, N>(x, y));
    p.angle =
        atan2_wide<T, N>(finite_direction<T, N>(z.im, z.re), finite_direction<T, N>(z.re, z.im));
    p.angle.r = select(has_sign(z.im.limb[0]), neg(p.angle.r), p.angle.r);
    return p;
}

template <class T, int N> MDQR_FN mask_t<T> log_regular(const cmd<T, N>& z) {
    const T zero = broadcast<T>(0.0);
    return finite(z.re.limb[0]) & finite(z.im.limb[0]) &
           !((z.re.limb[0] == zero) & (z.im.limb[0] == zero));
}

// (log, angle) with the special values of C99, annex G.6.3.2.
template <class T, int N>
MDQR_FN cmd<T, N> log_result(const cmd<T, N>& z, const wide<T, N>& re, const scaled_wide<T, N>& im,
                             mask_t<T> regular) {
    const T infinite = broadcast<T>(infinity()), a = abs(z.re.limb[0]), b = abs(z.im.limb[0]);
    const T sum = one_sum(a, b);
    const T special = select(sum == broadcast<T>(0.0), -infinite,
                             select((a == infinite) | (b == infinite), infinite, sum));
    cmd<T, N> r{select(regular, narrow<T, N>(re), from_double<T, N>(special)),
                scale_lanes(narrow<T, N>(im.r), im.k)};
    r.im.limb[0] = signed_as(r.im.limb[0], z.im.limb[0]);
    r.im = select(sum == sum, r.im, from_double<T, N>(sum));
    return r;
}

template <class T, int N> MDQR_FN cmd<T, N> log(const cmd<T, N>& z) {
    const mask_t<T> regular = log_regular(z);
    const polar<T, N> p = polar_of(z, regular);
    return log_result(z, p.log, p.angle, regular);
}

template <class T, int N> MDQR_FN cmd<T, N> log_to_base(const cmd<T, N>& z, const double* row) {
    const mask_t<T> regular = log_regular(z);
    polar<T, N> p = polar_of(z, regular);
    const wide<T, N> factor = wide_constant<T, N>(row);
    p.angle.r = mul_network(p.angle.r, factor);
    return log_result(z, mul_network(p.log, factor), p.angle, regular);
}
template <class T, int N> MDQR_FN cmd<T, N> log2(const cmd<T, N>& z) {
    return log_to_base(z, inverse_ln2_table);
}
template <class T, int N> MDQR_FN cmd<T, N> log10(const cmd<T, N>& z) {
    return log_to_base(z, inverse_ln10_table);
}

template <class T, int N> MDQR_FN cmd<T, N> log1p(const cmd<T, N>& z) {
    const wide<T, N> one = spread<T, N + 1>(1.0), x = with_limbs<N + 1>(z.re);
    const mask_t<T> ordinary = finite(z.re.limb[0]);
    const wide<T, N> above_one = select(ordinary, add_network(x, one), x);
    const cmd<T, N> moved{select(ordinary, narrow<T, N>(above_one), z.re), z.im};
    const mask_t<T> regular = log_regular(moved);
    const wide<T, N> u = select(regular, above_one, one);
    const wide<T, N> y = select(regular, with_limbs<N + 1>(z.im), spread<T, N + 1>(0.0));
    const wide<T, N> square =
        add_network(mul_network(select(regular, x, one), add_network(u, one)), mul_network(y, y));
    const wide<T, N> re = log_modulus<T, N>(u, y, square);
    scaled_wide<T, N> im = atan2_wide<T, N>(
        finite_direction<T, N>(z.im, moved.re),
        select(finite(z.im.limb[0]) & ordinary, above_one, finite_direction<T, N>(moved.re, z.im)));
    im.r = select(has_sign(z.im.limb[0]), neg(im.r), im.r);
    return select(negligible(z), z, log_result(moved, re, im, regular));
}

// Next to 1 the log and angle of z are divided by a power of two and w is multiplied by it, before
// their limbs leave the range.
template <class T, int N>
MDQR_CALL void normalise_next_to_one(polar<T, N>& p, wide_pair<T, N>& w, const cmd<T, N>& z) {
    const wide<T, N> one = spread<T, N + 1>(1.0), zero = spread<T, N + 1>(0.0);
    const T size = abs(z.im.limb[0]);
    const mask_t<T> close = (abs(z.re.limb[0]) <= broadcast<T>(2.0)) & (size < broadcast<T>(1.0));
    wide<T, N> u = add_network(select(close, with_limbs<N + 1>(z.re), zero), neg(one));
    const T gap = abs(u.limb[0]), large = select(size > gap, size, gap);
    const mask_t<T> tiny = (large < broadcast<T>(all_normal<N + 1>)) & (large > broadcast<T>(0.0));
    if (!any(tiny))
        return;
    T k;
    normalised(md<T, 1>{select(tiny, large, broadcast<T>(1.0))}, k);
    const wide<T, N> x = select(tiny, with_limbs<N + 1>(z.re), one);
    const wide<T, N> y = select(tiny, with_limbs<N + 1>(z.im), zero);
    u = times_power(select(tiny, u, zero), -k);
    const wide<T, N> v = times_power(y, -k);
    const wide<T, N> square = add_network(mul_network(x, x), mul_network(y, y));
    const wide<T, N> above = add_network(mul_network(u, add_network(x, one)), mul_network(v, y));
    const wide<T, N> log_size = scaled(natural(log_of<T, N>(square, above)), broadcast<T>(0.5));
    p.log = select(tiny, log_size, p.log);
    p.angle.k = one_sum(p.angle.k, -k);
    w.re = times_power(w.re, k);
    w.im = times_power(w.im, k);
}

// z^w = exp(w log z); 0^w is 0 for a positive real part of w, z^0 is 1.
template <class T, int N> MDQR_FN cmd<T, N> power(const cmd<T, N>& z, const cmd<T, N>& w) {
    const T zero = broadcast<T>(0.0);
    const mask_t<T> regular = log_regular(z);
    polar<T, N> p = polar_of(z, regular);
    wide_pair<T, N> v{with_limbs<N + 1>(w.re), with_limbs<N + 1>(w.im)};
    if constexpr (has_powers<N>)
        normalise_next_to_one(p, v, z);
    const wide<T, N> angle = times_power(p.angle.r, clamped(p.angle.k, -1900.0, 0.0));
    wide<T, N> re = add_network(mul_network(v.re, p.log), neg(mul_network(v.im, angle)));
    wide<T, N> im = add_network(mul_network(v.re, angle), mul_network(v.im, p.log));
    const mask_t<T> defined = finite(re.limb[0]) & finite(im.limb[0]) & regular;
    re = select(defined, re, spread<T, N + 1>(0.0));
    im = select(defined, im, spread<T, N + 1>(0.0));
    cmd<T, N> r = exp_of_parts<N>(re, im);
    fix_up(
        !(defined & ((w.re.limb[0] != zero) | (w.im.limb[0] != zero))), r,
        [](const cmd<double, N>& a, const cmd<double, N>& b) {
            if (b.re.limb[0] == 0.0 && b.im.limb[0] == 0.0)
                return leading_parts<N>(1.0, 0.0);
            const bool vanishes = a.re.limb[0] == 0.0 && a.im.limb[0] == 0.0 &&
                                  b.re.limb[0] > 0.0 && is_finite(b.re.limb[0]) &&
                                  is_finite(b.im.limb[0]);
            const double x = vanishes ? 0.0 : not_a_number();
            return leading_parts<N>(x, x);
        },
        z, w);
    return r;
}

MDQR_END
