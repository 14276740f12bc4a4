// Complex operations; special values as NumPy's complex128 gives them in the leading limbs.
#pragma once
#include "mdqr/number/contract.hpp"

MDQR_BEGIN

template <class T, int N> MDQR_FN cmd<T, N> add(const cmd<T, N>& x, const cmd<T, N>& y) {
    return {add(x.re, y.re), add(x.im, y.im)};
}

template <class T, int N> MDQR_FN cmd<T, N> sub(const cmd<T, N>& x, const cmd<T, N>& y) {
    return {sub(x.re, y.re), sub(x.im, y.im)};
}

MDQR_FN int larger_exponent(double a, double b) {
    const int e = exponent(a), f = exponent(b);
    return e > f ? e : f;
}

// Where products leave the range and their sum does not, both factors are scaled so that the
// product commutes. The larger parts of x and y are above 2^-2 then, so that nothing that counts
// turns subnormal; the other part of r stays as it is.
template <int N>
MDQR_COLD cmd<double, N> mul_slow(const cmd<double, N>& x, const cmd<double, N>& y) {
    cmd<double, N> r{sub(mul(x.re, y.re), mul(x.im, y.im)), add(mul(x.re, y.im), mul(x.im, y.re))};
    const bool finite = is_finite(x.re.limb[0]) && is_finite(x.im.limb[0]) &&
                        is_finite(y.re.limb[0]) && is_finite(y.im.limb[0]);
    if (!finite)
        return r;
    const factor_powers e = powers_of_factors<N>(larger_exponent(x.re.limb[0], x.im.limb[0]),
                                                 larger_exponent(y.re.limb[0], y.im.limb[0]));
    const cmd<double, N> p{scale_operand(x.re, e.x), scale_operand(x.im, e.x)};
    const cmd<double, N> q{scale_operand(y.re, e.y), scale_operand(y.im, e.y)};
    if (!is_finite(r.re.limb[0]))
        r.re = scale_result(add_network(mul_network(p.re, q.re), neg(mul_network(p.im, q.im))),
                            e.x + e.y);
    if (!is_finite(r.im.limb[0]))
        r.im =
            scale_result(add_network(mul_network(p.re, q.im), mul_network(p.im, q.re)), e.x + e.y);
    return r;
}

// The sum of the sizes of all four products, which tells that they and their sums are in range.
template <class T, int N> MDQR_FN T product_size(const cmd<T, N>& x, const cmd<T, N>& y) {
    const T a = x.re.limb[0], b = x.im.limb[0], c = y.re.limb[0], d = y.im.limb[0];
    return one_sum(one_sum(abs(one_prod(a, c)), abs(one_prod(b, d))),
                   one_sum(abs(one_prod(a, d)), abs(one_prod(b, c))));
}

template <class T, int N> MDQR_FN cmd<T, N> mul(const cmd<T, N>& x, const cmd<T, N>& y) {
    cmd<T, N> r{add_in_range(mul_in_range(x.re, y.re), neg(mul_in_range(x.im, y.im))),
                add_in_range(mul_in_range(x.re, y.im), mul_in_range(x.im, y.re))};
    mask_t<T> is_apart = !(product_size(x, y) < broadcast<T>(0x1p1019));
    if constexpr (by_digits<N>)
        is_apart = is_apart | hides_exponent(x.re.limb[0]) | hides_exponent(x.im.limb[0]) |
                   hides_exponent(y.re.limb[0]) | hides_exponent(y.im.limb[0]);
    fix_up(
        is_apart, r,
        [](const cmd<double, N>& a, const cmd<double, N>& b) { return mul_slow(a, b); }, x, y);
    return r;
}

template <class T, int N> MDQR_FN cmd<T, N> sqr(const cmd<T, N>& x) { return mul(x, x); }

// Smith's division (CACM 5, 1962) in double, for the values that need no more: infinities, NaN,
// zero divisors.
MDQR_FN void divide_leading(double a, double b, double c, double d, double& re, double& im) {
    if (abs(c) >= abs(d)) {
        if (c == 0.0 && d == 0.0) {
            re = a / abs(c);
            im = b / abs(c);
            return;
        }
        const double ratio = d / c, factor = 1.0 / one_sum(c, one_prod(d, ratio));
        re = one_prod(one_sum(a, one_prod(b, ratio)), factor);
        im = one_prod(one_sum(b, -one_prod(a, ratio)), factor);
    } else {
        const double ratio = c / d, factor = 1.0 / one_sum(d, one_prod(c, ratio));
        re = one_prod(one_sum(one_prod(a, ratio), b), factor);
        im = one_prod(one_sum(one_prod(b, ratio), -a), factor);
    }
}

template <class T, int N> MDQR_FN cmd<T, N> div_network(const cmd<T, N>& x, const cmd<T, N>& y) {
    const md<T, N> norm = add_network(mul_network(y.re, y.re), mul_network(y.im, y.im));
    const md<T, N> re = add_network(mul_network(x.re, y.re), mul_network(x.im, y.im));
    const md<T, N> im = add_network(mul_network(x.im, y.re), neg(mul_network(x.re, y.im)));
    return {div_network(re, norm), div_network(im, norm)};
}

template <int N>
MDQR_COLD cmd<double, N> div_slow(const cmd<double, N>& x, const cmd<double, N>& y) {
    const double a = x.re.limb[0], b = x.im.limb[0], c = y.re.limb[0], d = y.im.limb[0];
    double re, im;
    const bool finite = is_finite(a) && is_finite(b) && is_finite(c) && is_finite(d);
    const int ey = larger_exponent(c, d);
    if (finite && (c != 0.0 || d != 0.0))
        divide_leading(a, b, scale(c, -ey), scale(d, -ey), re, im); // 1 / subnormal would overflow
    else
        divide_leading(a, b, c, d, re, im);
    const cmd<double, N> leading{from_double<double, N>(re), from_double<double, N>(im)};
    if (!finite || (c == 0.0 && d == 0.0) || (a == 0.0 && b == 0.0))
        return leading;
    const int ex = larger_exponent(a, b);
    const cmd<double, N> p{scale_operand(x.re, ex), scale_operand(x.im, ex)};
    const cmd<double, N> q{scale_operand(y.re, ey), scale_operand(y.im, ey)};
    cmd<double, N> r = div_network(p, q);
    r.re = scale_result(r.re, ex - ey);
    r.im = scale_result(r.im, ex - ey);
    sign_of_zero(r.re, re);
    sign_of_zero(r.im, im);
    return r;
}

template <class T, int N> MDQR_FN mask_t<T> out_of_range(const cmd<T, N>& x) {
    const T a = x.re.limb[0], b = x.im.limb[0];
    return (is_small<N>(a) & is_small<N>(b)) | is_large(a) | is_large(b);
}

template <class T, int N> MDQR_FN cmd<T, N> div(const cmd<T, N>& x, const cmd<T, N>& y) {
    cmd<T, N> r = div_network(x, y);
    clear_negative_zeros(r.re);
    clear_negative_zeros(r.im);
    const T zero = broadcast<T>(0.0);
    const mask_t<T> zeros = (r.re.limb[0] == zero) | (r.im.limb[0] == zero);
    fix_up(
        zeros | out_of_range(x) | out_of_range(y), r,
        [](const cmd<double, N>& a, const cmd<double, N>& b) { return div_slow(a, b); }, x, y);
    return r;
}

// The same way for 1 / (c + i d); NumPy's reciprocal differs from its division at 0 and in signs of
// zeros.
MDQR_FN void invert_leading(double c, double d, double& re, double& im) {
    if (abs(d) <= abs(c)) {
        const double ratio = d / c, norm = one_sum(c, one_prod(d, ratio));
        re = 1.0 / norm;
        im = -ratio / norm;
    } else {
        const double ratio = c / d, norm = one_sum(one_prod(c, ratio), d);
        re = ratio / norm;
        im = -1.0 / norm;
    }
}

template <int N>
MDQR_COLD cmd<double, N> reciprocal_slow(const cmd<double, N>& x, cmd<double, N> r) {
    const double c = x.re.limb[0], d = x.im.limb[0];
    double re, im;
    invert_leading(c, d, re, im);
    if (!is_finite(c) || !is_finite(d) || (c == 0.0 && d == 0.0))
        return {from_double<double, N>(re), from_double<double, N>(im)};
    sign_of_zero(r.re, re);
    sign_of_zero(r.im, im);
    return r;
}

template <class T, int N> MDQR_FN cmd<T, N> reciprocal(const cmd<T, N>& x) {
    const T zero = broadcast<T>(0.0);
    cmd<T, N> r = div(cmd<T, N>{from_double<T, N>(broadcast<T>(1.0)), from_double<T, N>(zero)}, x);
    const mask_t<T> regular = (abs(r.re.limb[0]) > zero) & (abs(r.im.limb[0]) > zero);
    fix_up(
        !regular, r,
        [](const cmd<double, N>& a, const cmd<double, N>& quotient) {
            return reciprocal_slow(a, quotient);
        },
        x, r);
    return r;
}

// C99 Annex G for operands that are not finite or zero.
MDQR_FN void sqrt_leading(double a, double b, double& re, double& im) {
    if (abs(b) == infinity()) {
        re = infinity();
        im = b;
    } else if (is_nan(a)) {
        re = im = not_a_number();
    } else if (abs(a) == infinity()) {
        const double other = is_nan(b) ? b : 0.0;
        re = a > 0.0 ? a : other;
        im = a > 0.0 ? (is_nan(b) ? b : copysign(0.0, b)) : copysign(infinity(), b);
    } else if (is_nan(b)) {
        re = im = b;
    } else {
        re = 0.0;
        im = b;
    }
}

template <int N> MDQR_COLD cmd<double, N> sqrt_complex(const cmd<double, N>& x) {
    const double a = x.re.limb[0], b = x.im.limb[0];
    if (!is_finite(a) || !is_finite(b) || (a == 0.0 && b == 0.0)) {
        double re, im;
        sqrt_leading(a, b, re, im);
        return {from_double<double, N>(re), from_double<double, N>(im)};
    }
    const int half = larger_exponent(a, b) >> 1;
    const md<double, N> p = scale_operand(x.re, 2 * half), q = scale_operand(x.im, 2 * half);
    const md<double, N> magnitude = a < 0.0 ? neg(p) : p;
    const md<double, N> larger = sqrt(scaled(add(magnitude, hypot(p, q)), 0.5));
    const md<double, N> smaller = div(q, scaled(larger, 2.0));
    cmd<double, N> r{larger, smaller};
    if (a < 0.0) {
        r.re = copysign(1.0, b) < 0.0 ? neg(smaller) : smaller;
        r.im = copysign(1.0, b) < 0.0 ? neg(larger) : larger;
    }
    return {scale_result(r.re, half), scale_result(r.im, half)};
}

template <class T, int N> MDQR_FN cmd<T, N> sqrt(const cmd<T, N>& x) {
    cmd<T, N> r = x;
    for (int i = 0; i < lanes<T>; ++i)
        set_lane_of(r, i, sqrt_complex(lane_of(x, i)));
    return r;
}

template <class T, int N> MDQR_FN md<T, N> abs(const cmd<T, N>& x) { return hypot(x.re, x.im); }

MDQR_END
