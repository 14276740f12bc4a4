// gamma, lgamma. With x = m + t, |t| <= 1/2, 1 / gamma(1 + t) is its Taylor series (Abramowitz and
// Stegun 6.1.33), and the recurrence leads from 1 + t to x: factors w + i, w = 1 + t or 1 - t, by
// pairs (w + i) (w + n - 1 - i) = w (w + n - 1) + i (n - 1 - i), whose second term is an integer.
// From 128 on, lgamma is Stirling's series and its reflection.
#pragma once
#include "mdqr/elementary/log.hpp"
#include "mdqr/elementary/long_series.hpp"
#include "mdqr/elementary/power.hpp"
#include "mdqr/elementary/trigonometric.hpp"

MDQR_BEGIN

MDQR_SERIES(gamma, 1);
MDQR_SERIES(stirling, 0);

// gamma(x) is product 2^k / reciprocal for m >= 1; for m <= 0 its reciprocal is t reciprocal
// product 2^k, with the sign of (-1)^m.
template <class T, int N> struct gamma_parts {
    wide<T, N> t;
    T m, k;
    fixed<T, last_digit<N>> slope, reciprocal, product; // reciprocal = 1 + t slope
};

// For |x| < 2^11.
template <class T, int N> MDQR_CALL gamma_parts<T, N> gamma_parts_of(const md<T, N>& x) {
    constexpr int F = last_digit<N>;
    const T zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    gamma_parts<T, N> p;
    p.m = nearest(x.limb[0]);
    p.t = add_network(with_limbs<N + 1>(x), from_double<T, N + 1>(-p.m));
    const fixed<T, F> t = to_fixed<F, 1>(p.t);
    p.slope = long_horner<gamma_coefficients, F>::evaluate(t);
    p.reciprocal = multiply(t, p.slope);
    p.reciprocal.digit[0] = one_sum(p.reciprocal.digit[0], one);
    const mask_t<T> right = p.m >= one;
    const T n = select(right, one_sum(p.m, -one), -p.m);
    const T half = nearest(fma(n, broadcast<T>(0.5), broadcast<T>(-0.25))); // floor
    const T last = one_sum(one_sum(half, half), -one);
    fixed<T, F> w = select(right, t, minus(t));
    w.digit[0] = one_sum(w.digit[0], one);
    fixed<T, F> far = w, unit;
    far.digit[0] = one_sum(w.digit[0], one_sum(n, -one));
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        unit.digit[i] = i == 0 ? one : zero;
    p.k = zero;
    p.product = halved(select(n > one_sum(last, one), far, unit), p.k);
    far.digit[0] = one_sum(w.digit[0], last);
    const fixed<T, F> base = multiply(w, far);
    for (double i = 0.0; any(broadcast<T>(i) < half); i += 1.0) {
        const T at = broadcast<T>(i);
        fixed<T, F> pair = base;
        pair.digit[0] = one_sum(pair.digit[0], one_prod(at, one_sum(last, -at)));
        T k = p.k;
        const fixed<T, F> next = halved(multiply(p.product, pair), k);
        const mask_t<T> active = at < half;
        p.product = select(active, next, p.product);
        p.k = select(active, k, p.k);
    }
    return p;
}

// |gamma(x)|; something finite at poles.
template <class T, int N> MDQR_CALL scaled_wide<T, N> gamma_size(const gamma_parts<T, N>& p) {
    constexpr int F = last_digit<N>;
    const T zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    const mask_t<T> left = p.m < one;
    const fixed<T, F> twice = plus(p.reciprocal, p.reciprocal); // in [1, 4]
    fixed<T, F> divisor = twice;
    T k = zero;
    if (any(left)) {
        wide<T, N> t = normalised(p.t, k);
        t = select(t.limb[0] < zero, neg(t), t);
        t = select(t.limb[0] == zero, spread<T, N + 1>(1.0), t);
        k = one_sum(k, one_sum(p.k, -one));
        const fixed<T, F> size = multiply(multiply(twice, p.product), to_fixed<F, 1>(t));
        divisor = select(left, halved(size, k), twice);
    }
    const fixed<T, F> inverted = inverse<false>(divisor);
    return {to_limbs<N + 1>(select(left, inverted, multiply(p.product, inverted))),
            select(left, -k, one_sum(p.k, one))};
}

// Where gamma neither is regular nor has a pole at zero: C99, annex F.9.5.4.
template <int N> MDQR_COLD double gamma_special(const md<double, N>& x) {
    const double a = x.limb[0];
    if (is_nan(a) || a > 0.0)
        return a;
    if (a == -infinity() || parity_of(x) != parity::fraction)
        return not_a_number();
    return parity_of(floor(x)) == parity::odd ? -0.0 : 0.0;
}

template <class T> MDQR_FN mask_t<T> is_odd(T n) {
    const T half = one_prod(n, broadcast<T>(0.5));
    return nearest(half) != half;
}

template <class T, int N> MDQR_FN md<T, N> gamma(const md<T, N>& x) {
    const T a = x.limb[0], zero = broadcast<T>(0.0);
    // 172! overflows; -320 + 2^-1074 has a gamma function below 2^-1074.
    const mask_t<T> regular = (a > broadcast<T>(-320.0)) & (a < broadcast<T>(180.0));
    const gamma_parts<T, N> p = gamma_parts_of(select(regular, x, spread<T, N>(1.0)));
    const scaled_wide<T, N> size = gamma_size(p);
    const mask_t<T> left = p.m < broadcast<T>(1.0), below = p.t.limb[0] < zero;
    const mask_t<T> odd = is_odd(p.m);
    md<T, N> r = scale_lanes(narrow<T, N>(size.r), size.k);
    r = select(left & ((below & !odd) | (odd & !below)), neg(r), r);
    const T infinite = broadcast<T>(infinity());
    const T pole =
        select(p.m == zero, select(has_sign(a), -infinite, infinite), broadcast<T>(not_a_number()));
    r = select(left & (p.t.limb[0] == zero), from_double<T, N>(pole), r);
    fix_up(
        !regular, r,
        [](const md<double, N>& v) {
            const double special = gamma_special(v);
            return from_double<double, N>(special > 0.0 ? infinity() : special);
        },
        x);
    return r;
}

// log|sin(pi x)|; -infinity for integers.
template <class T, int N> MDQR_CALL wide<T, N> log_sinpi(const md<T, N>& x) {
    constexpr int F = last_digit<N>;
    const T zero = broadcast<T>(0.0);
    angle<T, N> a = reduce_halves(x);
    const mask_t<T> whole =
        a.quadrant == one_prod(broadcast<T>(2.0), nearest(one_prod(a.quadrant, broadcast<T>(0.5))));
    const mask_t<T> pole = whole & (a.r.limb[0] == zero);
    const wide<T, N> half_pi = to_limbs<N + 1>(constant<T, F + 1>(half_pi_table));
    sine_parts<T, N> p = sines_of<T, N>(mul_network(scaled(a.r, broadcast<T>(2.0)), half_pi));
    // Tiny ones are normalised, since their products underflow.
    const mask_t<T> tiny = whole & (abs(a.r.limb[0]) < broadcast<T>(all_normal<N + 1>));
    T k = zero;
    if (any(tiny)) {
        const wide<T, N> unit = normalised(a.r, k);
        p.r = select(tiny, mul_network(scaled(unit, broadcast<T>(2.0)), half_pi), p.r);
    }
    wide<T, N> sine = sine_of<T, N>(p, a.quadrant);
    sine = select(sine.limb[0] < zero, neg(sine), sine);
    logarithm<T, N> l = log_of<T, N>(select(pole, spread<T, N + 1>(1.0), sine));
    l.k = one_sum(l.k, select(tiny & !pole, k, zero));
    return select(pole, spread<T, N + 1>(-infinity()), natural(l));
}

// For finite |x| >= 128, with y = |x|:
//   log gamma(y) = y (log y - 1) - (log y) / 2 + log(2 pi) / 2 + series(1 / y)
//   log|gamma(-y)| = log pi - log|sin(pi y)| - log y - log gamma(y)
template <class T, int N> MDQR_CALL scaled_wide<T, N> lgamma_far(const md<T, N>& x) {
    constexpr int F = last_digit<N>;
    const T zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    const mask_t<T> left = x.limb[0] < zero;
    const wide<T, N> y = with_limbs<N + 1>(select(left, neg(x), x));
    const wide<T, N> l = natural(log_of<T, N>(y));
    // Near the overflow threshold everything is scaled down.
    const mask_t<T> huge = y.limb[0] > broadcast<T>(0x1p900);
    const T down = select(huge, broadcast<T>(0x1p-100), one);
    const T half = select(left, broadcast<T>(0.5), broadcast<T>(-0.5));
    const wide<T, N> main = mul_network(scaled(y, down), add_network(l, spread<T, N + 1>(-1.0)));
    const wide<T, N> bounded =
        select(y.limb[0] < broadcast<T>(0x1p500), y, spread<T, N + 1>(0x1p500));
    const fixed<T, F> ratio = to_fixed<F, 1>(divide_wide(spread<T, N + 1>(128.0), bounded));
    fixed<T, F> rest =
        multiply(ratio, long_horner<stirling_coefficients, F>::evaluate(multiply(ratio, ratio)));
    rest = plus(rest, constant<T, F>(half_log_2pi_table));
    wide<T, N> r = add_network(scaled(l, half), to_limbs<N + 1>(rest));
    r = add_network(main, scaled(r, down));
    if (any(left)) {
        const wide<T, N> log_pi = to_limbs<N + 1>(constant<T, F + 1>(log_pi_table));
        const wide<T, N> sine = log_sinpi(select(left, x, spread<T, N>(0.5)));
        const wide<T, N> numerator = scaled(add_network(log_pi, neg(sine)), down);
        wide<T, N> reflected = add_network(numerator, neg(r));
        reflected = select(abs(sine.limb[0]) < broadcast<T>(infinity()), reflected,
                           spread<T, N + 1>(infinity()));
        r = select(left, reflected, r);
    }
    T k;
    const wide<T, N> unit = normalised(r, k);
    return {select(huge, unit, r), select(huge, one_sum(k, broadcast<T>(100.0)), zero)};
}

// For |x| < 128: the logarithm of |gamma(x)|. Where that is near 1, for 1/2 <= x <= 5/2,
// gamma(1 + t) - 1 = -t slope / reciprocal and gamma(2 + t) - 1 = t (1 - slope) / reciprocal.
template <class T, int N> MDQR_CALL wide<T, N> lgamma_near(const md<T, N>& x) {
    constexpr int F = last_digit<N>;
    const T zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    const gamma_parts<T, N> p = gamma_parts_of(x);
    scaled_wide<T, N> size = gamma_size(p);
    wide<T, N> above = add_network(size.r, spread<T, N + 1>(-1.0));
    const mask_t<T> second = p.m == broadcast<T>(2.0), near = (p.m == one) | second;
    if (any(near)) {
        fixed<T, F> factor = minus(p.slope);
        factor.digit[0] = one_sum(factor.digit[0], select(second, one, zero));
        const fixed<T, F> inverted = inverse<false>(plus(p.reciprocal, p.reciprocal));
        factor = multiply(factor, plus(inverted, inverted));
        above = select(near, mul_network(p.t, to_limbs<N + 1>(factor)), above);
        size.r = select(near, add_network(above, spread<T, N + 1>(1.0)), size.r);
        size.k = select(near, zero, size.k);
    }
    logarithm<T, N> l = log_of<T, N>(size.r, above);
    l.is_near = l.is_near & (size.k == zero);
    l.k = one_sum(l.k, size.k);
    const mask_t<T> pole = (p.m < one) & (p.t.limb[0] == zero);
    return select(pole, spread<T, N + 1>(infinity()), natural(l));
}

template <class T, int N> MDQR_FN md<T, N> lgamma(const md<T, N>& x) {
    const T a = abs(x.limb[0]), infinite = broadcast<T>(infinity()), zero = broadcast<T>(0.0);
    const mask_t<T> far = !(a < broadcast<T>(128.0)), finite = a < infinite;
    scaled_wide<T, N> r{lgamma_near<T, N>(select(far, spread<T, N>(1.0), x)), zero};
    if (any(far)) {
        const scaled_wide<T, N> s = lgamma_far(select(far & finite, x, spread<T, N>(128.0)));
        r.r = select(far, s.r, r.r);
        r.k = select(far, s.k, zero);
    }
    const mask_t<T> regular = finite & (abs(r.r.limb[0]) < infinite);
    const wide<T, N> safe = select(regular, r.r, spread<T, N + 1>(0.0));
    md<T, N> result = scale_lanes(narrow<T, N>(safe), r.k);
    result.limb[0] = one_sum(result.limb[0], zero); // lgamma(1) is +0
    return select(regular, result, from_double<T, N>(select(a == a, infinite, a)));
}

MDQR_END
