// sinh, cosh, tanh of complex numbers by the functions of their parts; sin, cos, tan by those of i
// z.
#pragma once
#include "mdqr/elementary/complex_exponential.hpp"

MDQR_BEGIN

// sinh and cosh of |x| times 2^-k, and the unit number of angle y; x not NaN, y finite.
template <class T, int N> struct circular_parts {
    hyperbola<T, N> of_x;
    unit_number<T, N> of_y;
};

template <class T, int N>
MDQR_CALL circular_parts<T, N> circular_of(const md<T, N>& x, const md<T, N>& y) {
    const growth<T, N> g = growth_of(magnitude(x));
    circular_parts<T, N> p{hyperbola_of<T, N>(g.x), unit_of<N>(y)};
    const wide<T, N> one = spread<T, N + 1>(1.0);
    p.of_x.sinh = select(g.far, one, p.of_x.sinh);
    p.of_x.cosh = select(g.far, one, p.of_x.cosh);
    p.of_x.k = one_sum(p.of_x.k, g.k);
    p.of_x.sinh = select(x.limb[0] < broadcast<T>(0.0), neg(p.of_x.sinh), p.of_x.sinh);
    return p;
}

// a 2^k b 2^l
template <class T, int M>
MDQR_FN md<T, M - 1> product_of(const md<T, M>& a, const md<T, M>& b, T k, T l) {
    return scale_lanes(narrow<T, M - 1>(mul_network(a, b)), one_sum(k, l));
}

template <class T, int N> MDQR_FN cmd<T, N> i_times(const cmd<T, N>& z) {
    return {neg(z.im), z.re};
}
template <class T, int N> MDQR_FN cmd<T, N> over_i(const cmd<T, N>& z) { return {z.im, neg(z.re)}; }

// C99, annex G.6.2: y is not finite or x is NaN.
template <int N> MDQR_COLD cmd<double, N> sinh_undefined(const cmd<double, N>& z) {
    const double x = z.re.limb[0], y = z.im.limb[0], nan = not_a_number();
    const double re = x == 0.0 ? x : abs(x) == infinity() ? infinity() : nan;
    return leading_parts<N>(re, is_nan(x) && y == 0.0 ? y : nan);
}
template <int N> MDQR_COLD cmd<double, N> cosh_undefined(const cmd<double, N>& z) {
    const double x = z.re.limb[0], y = z.im.limb[0], nan = not_a_number();
    const double im = is_nan(x) && y == 0.0 ? y : x == 0.0 ? 0.0 : nan;
    return leading_parts<N>(abs(x) == infinity() ? infinity() : nan, im);
}
template <int N> MDQR_COLD cmd<double, N> tanh_undefined(const cmd<double, N>& z) {
    const double x = z.re.limb[0], y = z.im.limb[0], nan = not_a_number();
    if (abs(x) == infinity())
        return leading_parts<N>(copysign(1.0, x), 0.0);
    return leading_parts<N>(x == 0.0 ? x : nan, is_nan(x) && y == 0.0 ? y : nan);
}

template <class T, int N> MDQR_FN cmd<T, N> sinh(const cmd<T, N>& z) {
    const mask_t<T> undefined = exp_undefined(z);
    const md<T, N> nothing = spread<T, N>(0.0);
    const md<T, N> x = select(undefined, nothing, z.re), y = select(undefined, nothing, z.im);
    const circular_parts<T, N> p = circular_of(x, y);
    cmd<T, N> r{product_of(p.of_x.sinh, p.of_y.re, one_sum(p.of_x.k, -p.of_x.up), p.of_y.re_power),
                product_of(p.of_x.cosh, p.of_y.im, p.of_x.k, p.of_y.im_power)};
    const T zero = broadcast<T>(0.0);
    r.re.limb[0] = select(x.limb[0] == zero, one_prod(x.limb[0], p.of_y.re.limb[0]), r.re.limb[0]);
    r.im.limb[0] = select(y.limb[0] == zero, y.limb[0], r.im.limb[0]);
    fix_up(undefined, r, [](const cmd<double, N>& w) { return sinh_undefined(w); }, z);
    return select(negligible(z), z, r);
}

template <class T, int N> MDQR_FN cmd<T, N> cosh(const cmd<T, N>& z) {
    const mask_t<T> undefined = exp_undefined(z);
    const md<T, N> nothing = spread<T, N>(0.0);
    const md<T, N> x = select(undefined, nothing, z.re), y = select(undefined, nothing, z.im);
    const circular_parts<T, N> p = circular_of(x, y);
    cmd<T, N> r{product_of(p.of_x.cosh, p.of_y.re, p.of_x.k, p.of_y.re_power),
                product_of(p.of_x.sinh, p.of_y.im, one_sum(p.of_x.k, -p.of_x.up), p.of_y.im_power)};
    const T zero = broadcast<T>(0.0);
    const mask_t<T> is_real = (x.limb[0] == zero) | (y.limb[0] == zero);
    const T sign =
        one_prod(signed_as(broadcast<T>(1.0), x.limb[0]),
                 signed_as(zero, select(y.limb[0] == zero, y.limb[0], p.of_y.im.limb[0])));
    r.im.limb[0] = select(is_real, sign, r.im.limb[0]);
    fix_up(undefined, r, [](const cmd<double, N>& w) { return cosh_undefined(w); }, z);
    return r;
}

// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y): nothing cancels, and the larger of the
// two squares is scaled to 1.
template <class T, int N> MDQR_FN cmd<T, N> tanh(const cmd<T, N>& z) {
    const mask_t<T> undefined = exp_undefined(z);
    const md<T, N> nothing = spread<T, N>(0.0);
    const md<T, N> x = select(undefined, nothing, z.re), y = select(undefined, nothing, z.im);
    const circular_parts<T, N> p = circular_of(x, y);
    const T k = p.of_x.k, zero = broadcast<T>(0.0);
    // Their exponents, the cosine divided by 2^k.
    const T of_sinh = one_sum(exponent_of(p.of_x.sinh.limb[0]), -p.of_x.up);
    const T down = one_sum(p.of_y.re_power, -k);
    const T of_cos = one_sum(exponent_of(p.of_y.re.limb[0]), down);
    const T e = clamped(select(of_cos > of_sinh, of_cos, of_sinh), -1000.0, 1000.0);
    const wide<T, N> s =
        times_power(p.of_x.sinh, clamped(one_sum(-e, -p.of_x.up), -1900.0, 1900.0));
    const wide<T, N> c = times_power(p.of_y.re, clamped(one_sum(down, -e), -1900.0, 1900.0));
    const wide<T, N> under = add_network(mul_network(s, s), mul_network(c, c));
    const T of_im = one_sum(one_sum(-k, -e), p.of_y.im_power);
    cmd<T, N> r{scale_lanes(narrow<T, N>(divide_wide(mul_network(s, p.of_x.cosh), under)), -e),
                scale_lanes(narrow<T, N>(divide_wide(mul_network(c, p.of_y.im), under)), of_im)};
    r.re.limb[0] = select(x.limb[0] == zero, x.limb[0], r.re.limb[0]);
    const T side = one_prod(signed_as(zero, p.of_y.re.limb[0]), p.of_y.im.limb[0]);
    r.im.limb[0] = select(r.im.limb[0] == zero, side, r.im.limb[0]);
    r.im.limb[0] = select(y.limb[0] == zero, y.limb[0], r.im.limb[0]);
    fix_up(undefined, r, [](const cmd<double, N>& w) { return tanh_undefined(w); }, z);
    return select(negligible(z), z, r);
}

template <class T, int N> MDQR_FN cmd<T, N> sin(const cmd<T, N>& z) {
    return over_i(sinh(i_times(z)));
}
template <class T, int N> MDQR_FN cmd<T, N> cos(const cmd<T, N>& z) { return cosh(i_times(z)); }
template <class T, int N> MDQR_FN cmd<T, N> tan(const cmd<T, N>& z) {
    return over_i(tanh(i_times(z)));
}

MDQR_END
