// power and cbrt: exp(y log|x|) with both in N + 1 limbs, so that |y log x| < 2^10 costs 10 of the
// 40 bits that they have more than the result.
#pragma once
#include "mdqr/elementary/exp.hpp"
#include "mdqr/elementary/log.hpp"
#include "mdqr/number/rounding.hpp"

MDQR_BEGIN

enum class parity { fraction, odd, even };

template <int N> MDQR_FN parity parity_of(const md<double, N>& y) {
    bool odd = false;
    for (int i = 0; i < N; ++i) {
        const double limb = y.limb[i];
        if (!(abs(limb) < 0x1p53))
            continue;
        const double whole = floor(limb);
        if (whole != limb)
            return parity::fraction; // the limbs below are less than what is missing
        odd = odd != (floor(0.5 * whole) != 0.5 * whole);
    }
    return odd ? parity::odd : parity::even;
}

// C99, annex F.9.4.4: where x or y is zero, infinite or NaN, and where x is 1.
template <int N> MDQR_COLD double power_special(const md<double, N>& x, const md<double, N>& y) {
    const double a = x.limb[0], b = y.limb[0];
    const double above = sub(from_double<double, N>(abs(a)), from_double<double, N>(1.0)).limb[0];
    double beyond = above; // of the sign of |x| - 1
    if (N > 1 && above == 0.0)
        beyond = a < 0.0 ? -x.limb[N > 1] : x.limb[N > 1];
    if (b == 0.0 || (a == 1.0 && beyond == 0.0))
        return 1.0;
    if (is_nan(a) || is_nan(b))
        return not_a_number();
    if (abs(b) == infinity())
        return beyond == 0.0 ? 1.0 : (beyond > 0.0) == (b > 0.0) ? infinity() : 0.0;
    const double size = (a == 0.0) == (b < 0.0) ? infinity() : 0.0;
    return parity_of(y) == parity::odd ? copysign(size, a) : size;
}

// exp(y l) of N limbs for finite y and l, the result in range or not.
template <class T, int N> MDQR_FN md<T, N> exp_of_product(const wide<T, N>& l, wide<T, N> y) {
    const T size = one_prod(l.limb[0], y.limb[0]);
    const mask_t<T> beyond = !(abs(size) < broadcast<T>(800.0));
    y = select(beyond, spread<T, N + 1>(0.0), y);
    const exponential<T, last_digit<N>> e = exp_of<last_digit<N>>(mul_network(l, y));
    md<T, N> r = scale_lanes(narrow<T, N>(to_limbs<N + 1>(e.value)), e.k);
    exp_beyond(r, size, beyond, 0.0);
    return r;
}

template <class T, int N> MDQR_FN md<T, N> power(const md<T, N>& x, const md<T, N>& y) {
    const T zero = broadcast<T>(0.0), infinite = broadcast<T>(infinity());
    const T a = abs(x.limb[0]), b = abs(y.limb[0]);
    const mask_t<T> regular = (a > zero) & (a < infinite) & (b > zero) & (b < infinite);
    const md<T, N> one = spread<T, N>(1.0);
    const md<T, N> base = select(regular, select(x.limb[0] < zero, neg(x), x), one);
    const md<T, N> exponent = select(regular, y, one);
    // A logarithm that a large exponent makes ordinary is normalised, so that its limbs are in
    // range.
    const wide<T, N> wide_base = with_limbs<N + 1>(base);
    wide<T, N> above = add_network(wide_base, spread<T, N + 1>(-1.0));
    wide<T, N> factor = with_limbs<N + 1>(exponent);
    const mask_t<T> tiny = abs(above.limb[0]) < broadcast<T>(all_normal<N + 1>);
    if (any(tiny)) {
        T k;
        const wide<T, N> unit = normalised(above, k);
        above = select(tiny, unit, above);
        factor = times_power(factor, select(tiny, k, zero));
    }
    md<T, N> r = exp_of_product<T, N>(natural(log_of<T, N>(wide_base, above)), factor);
    fix_up((x.limb[0] < zero) & regular, r,
           [](const md<double, N>& s, const md<double, N>& v) {
               const parity p = parity_of(v);
               if (p == parity::fraction)
                   return from_double<double, N>(not_a_number());
               return p == parity::odd ? neg(s) : s;
           },
           r, y);
    fix_up(
        !regular, r,
        [](const md<double, N>& u, const md<double, N>& v) {
            return from_double<double, N>(power_special(u, v));
        },
        x, y);
    return r;
}

template <class T, int N> MDQR_FN md<T, N> cbrt(const md<T, N>& x) {
    const T zero = broadcast<T>(0.0), a = abs(x.limb[0]);
    const mask_t<T> regular = (a > zero) & (a < broadcast<T>(infinity()));
    const md<T, N> base = select(regular, select(x.limb[0] < zero, neg(x), x), spread<T, N>(1.0));
    const wide<T, N> l = natural(log_of<T, N>(with_limbs<N + 1>(base)));
    const md<T, N> r =
        exp_of_product<T, N>(l, to_limbs<N + 1>(constant<T, last_digit<N> + 1>(third_table)));
    return select(regular, select(x.limb[0] < zero, neg(r), r), x);
}

MDQR_END
