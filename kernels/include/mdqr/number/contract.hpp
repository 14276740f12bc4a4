// The operations of the contract: a network, one test for operands or results that need care, and
// the slow path.
//
// NaN and infinities follow IEEE 754 in limb 0 with +0 below; zeros keep IEEE's sign; where limbs
// or their products leave the range of doubles the operands are scaled by powers of two.
#pragma once
#include "mdqr/number/add.hpp"
#include "mdqr/number/div.hpp"
#include "mdqr/number/sqrt.hpp"

MDQR_BEGIN

template <class T, int N> MDQR_FN md<double, N> lane_of(const md<T, N>& x, int lane) {
    md<double, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = lane_get(x.limb[i], lane); });
    return r;
}

template <class T, int N>
MDQR_FN void set_lane_of(md<T, N>& x, int lane, const md<double, N>& value) {
    static_for<0, N>([&](auto i) MDQR_LAMBDA { lane_set(x.limb[i], lane, value.limb[i]); });
}

template <class T, int N> MDQR_FN cmd<double, N> lane_of(const cmd<T, N>& x, int lane) {
    return {lane_of(x.re, lane), lane_of(x.im, lane)};
}

template <class T, int N>
MDQR_FN void set_lane_of(cmd<T, N>& x, int lane, const cmd<double, N>& value) {
    set_lane_of(x.re, lane, value.re);
    set_lane_of(x.im, lane, value.im);
}

template <class R, class F, class... Operands>
MDQR_COLD R fixed_up(mask_t<typename R::lane> mask, R r, F slow, const Operands&... operands) {
    for (int i = 0; i < lanes<typename R::lane>; ++i)
        if (mask_get(mask, i))
            set_lane_of(r, i, slow(lane_of(operands, i)...));
    return r;
}

// Recompute the marked lanes of r by the slow path; the operands are copied so that they can stay
// in registers.
template <class R, class F, class... Operands>
MDQR_FN void fix_up(mask_t<typename R::lane> mask, R& r, F slow, const Operands&... operands) {
    if (any(mask))
        r = fixed_up(mask, r, slow, Operands(operands)...);
}

// +0 in place of -0 below limb 0.
template <class T, int N> MDQR_FN void clear_negative_zeros(md<T, N>& r) {
    static_for<1, N>([&](auto i)
                         MDQR_LAMBDA { r.limb[i] = one_sum(r.limb[i], broadcast<T>(0.0)); });
}

// An exact zero takes the sign that IEEE gives the same operation on the leading limbs, where that
// is a zero too.
template <class T, int N> MDQR_FN void sign_of_zero(md<T, N>& r, T leading) {
    const T zero = broadcast<T>(0.0);
    r.limb[0] = select(r.limb[0] == zero, select(leading == zero, leading, zero), r.limb[0]);
}

// Scale a result by 2^e: limbs that turn subnormal round, so that carries may run up; overflow
// gives infinity.
template <int N> MDQR_FN md<double, N> scale_result(md<double, N> r, int e) {
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = scale(r.limb[i], e); });
    if (!is_finite(r.limb[0]) || r.limb[0] == 0.0)
        return from_double<double, N>(r.limb[0]);
    if constexpr (N > 1)
        r = renormalize<N, N>(r.limb);
    clear_negative_zeros(r);
    return r;
}

// Scale an operand by 2^-e with e the exponent of its leading limb (or near it).
template <int N> MDQR_FN md<double, N> scale_operand(md<double, N> x, int e) {
    static_for<0, N>([&](auto i) MDQR_LAMBDA { x.limb[i] = scale(x.limb[i], -e); });
    return x;
}

// NaN is both.
template <class T> MDQR_FN mask_t<T> is_below(T leading, double least) {
    return !(abs(leading) >= broadcast<T>(least));
}
template <int N, class T> MDQR_FN mask_t<T> is_small(T leading) {
    constexpr double least = power_of_two_constant(-small_exponent<N>);
    return is_below(leading, least);
}
template <class T> MDQR_FN mask_t<T> is_large(T leading) {
    return !(abs(leading) <= broadcast<T>(0x1p300));
}
template <class T, int N> MDQR_FN mask_t<T> out_of_range(const md<T, N>& x) {
    // Digits scale their operands: only the quotient needs to be in range.
    if constexpr (by_digits<N>)
        return is_below(x.limb[0], 0x1p-700) | is_large(x.limb[0]);
    else
        return is_small<N>(x.limb[0]) | is_large(x.limb[0]);
}

template <int N> MDQR_COLD md<double, N> add_slow(const md<double, N>& x, const md<double, N>& y) {
    const double leading = one_sum(x.limb[0], y.limb[0]);
    if (!is_finite(x.limb[0]) || !is_finite(y.limb[0]))
        return from_double<double, N>(leading);
    return scale_result(add_network(scale_operand(x, 4), scale_operand(y, 4)), 4);
}

// Where leading limbs stay below 2^1020.
template <class T, int N> MDQR_FN md<T, N> add_in_range(const md<T, N>& x, const md<T, N>& y) {
    md<T, N> r = add_network(x, y);
    if constexpr (N > 1) {
        const T leading = one_sum(x.limb[0], y.limb[0]);
        // A NaN is not sorted: it may be among the words that fill up a power of two.
        if constexpr (merge_words(2 * N) != 2 * N)
            r.limb[0] = select(leading == leading, r.limb[0], leading);
        sign_of_zero(r, leading);
        clear_negative_zeros(r);
    }
    return r;
}

template <class T, int N> MDQR_FN md<T, N> add(const md<T, N>& x, const md<T, N>& y) {
    md<T, N> r = add_in_range(x, y);
    if constexpr (N > 1)
        fix_up(
            !(abs(r.limb[0]) < broadcast<T>(0x1p1020)), r,
            [](const md<double, N>& a, const md<double, N>& b) { return add_slow(a, b); }, x, y);
    return r;
}

template <class T, int N> MDQR_FN md<T, N> sub(const md<T, N>& x, const md<T, N>& y) {
    return add(x, neg(y));
}

// The powers of two by which the factors of a product near 2^1024 are divided. The smaller one is
// above 2^-4: while its last limb allows it, both by the same power, which no limb of the product
// tells; else to about 1.
struct factor_powers {
    int x, y;
};
template <int N> MDQR_FN factor_powers powers_of_factors(int exponent_x, int exponent_y) {
    if constexpr (520 + 4 + 53 * N <= 1074)
        return {520, 520};
    else
        return {exponent_x, exponent_y};
}

// Digits begin at the exponent of the leading limb, which a subnormal one does not tell.
template <class T> MDQR_FN mask_t<T> hides_exponent(T leading) {
    return is_below(leading, 0x1p-1022) & !(leading == broadcast<T>(0.0));
}
template <class T, int N> MDQR_FN mask_t<T> hide_exponents(const md<T, N>& x, const md<T, N>& y) {
    return hides_exponent(x.limb[0]) | hides_exponent(y.limb[0]);
}

template <int N> MDQR_COLD md<double, N> mul_slow(const md<double, N>& x, const md<double, N>& y) {
    const double a = x.limb[0], b = y.limb[0];
    if (!is_finite(a) || !is_finite(b) || a == 0.0 || b == 0.0)
        return from_double<double, N>(one_prod(a, b));
    const factor_powers e = powers_of_factors<N>(exponent(a), exponent(b));
    return scale_result(mul_network(scale_operand(x, e.x), scale_operand(y, e.y)), e.x + e.y);
}

template <class T, int N> MDQR_FN md<T, N> mul_in_range(const md<T, N>& x, const md<T, N>& y) {
    md<T, N> r = mul_network(x, y);
    if constexpr (N > 1) {
        sign_of_zero(r, one_prod(x.limb[0], y.limb[0]));
        clear_negative_zeros(r);
    }
    return r;
}

template <class T, int N> MDQR_FN md<T, N> mul(const md<T, N>& x, const md<T, N>& y) {
    md<T, N> r = mul_in_range(x, y);
    mask_t<T> is_apart = !(abs(one_prod(x.limb[0], y.limb[0])) < broadcast<T>(0x1p1020));
    if constexpr (by_digits<N>)
        is_apart = is_apart | hide_exponents(x, y);
    if constexpr (N > 1)
        fix_up(
            is_apart, r,
            [](const md<double, N>& a, const md<double, N>& b) { return mul_slow(a, b); }, x, y);
    return r;
}

template <class T, int N> MDQR_FN md<T, N> sqr(const md<T, N>& x) { return mul(x, x); }

template <int N> MDQR_COLD md<double, N> div_slow(const md<double, N>& x, const md<double, N>& y) {
    const double a = x.limb[0], b = y.limb[0];
    if (!is_finite(a) || !is_finite(b) || a == 0.0 || b == 0.0)
        return from_double<double, N>(a / b);
    const int ex = exponent(a), ey = exponent(b);
    return scale_result(div_network(scale_operand(x, ex), scale_operand(y, ey)), ex - ey);
}

template <class T, int N> MDQR_FN md<T, N> div(const md<T, N>& x, const md<T, N>& y) {
    md<T, N> r = div_network(x, y);
    if constexpr (N == 1)
        return r;
    clear_negative_zeros(r);
    fix_up(
        out_of_range(x) | out_of_range(y), r,
        [](const md<double, N>& a, const md<double, N>& b) { return div_slow(a, b); }, x, y);
    return r;
}

template <int N> MDQR_COLD md<double, N> sqrt_slow(const md<double, N>& x) {
    const double a = x.limb[0];
    if (!is_finite(a) || a <= 0.0)
        return from_double<double, N>(sqrt(a));
    const int half = exponent(a) >> 1;
    return scale_result(sqrt_network(scale_operand(x, 2 * half)), half);
}

template <class T, int N> MDQR_FN md<T, N> sqrt(const md<T, N>& x) {
    md<T, N> r = sqrt_network(x);
    if constexpr (N == 1)
        return r;
    clear_negative_zeros(r);
    fix_up(
        out_of_range(x) | (x.limb[0] < broadcast<T>(0.0)), r,
        [](const md<double, N>& a) { return sqrt_slow(a); }, x);
    return r;
}

template <int N>
MDQR_COLD md<double, N> hypot_slow(const md<double, N>& x, const md<double, N>& y) {
    const double a = abs(x.limb[0]), b = abs(y.limb[0]);
    if (a == infinity() || b == infinity())
        return from_double<double, N>(infinity());
    if (is_nan(a) || is_nan(b))
        return from_double<double, N>(not_a_number());
    const double larger = a > b ? a : b;
    if (larger == 0.0)
        return from_double<double, N>(0.0);
    const int e = exponent(larger);
    const md<double, N> p = scale_operand(x, e), q = scale_operand(y, e);
    return scale_result(sqrt_network(add_network(mul_network(p, p), mul_network(q, q))), e);
}

// sqrt(x^2 + y^2) without overflow on the way; the error is that of the three operations, at most 2
// eps.
template <class T, int N> MDQR_FN md<T, N> hypot(const md<T, N>& x, const md<T, N>& y) {
    md<T, N> r = sqrt_network(add_network(mul_network(x, x), mul_network(y, y)));
    clear_negative_zeros(r);
    const mask_t<T> both_small = is_small<N>(x.limb[0]) & is_small<N>(y.limb[0]);
    const mask_t<T> one_large = is_large(x.limb[0]) | is_large(y.limb[0]);
    fix_up(
        both_small | one_large, r,
        [](const md<double, N>& a, const md<double, N>& b) { return hypot_slow(a, b); }, x, y);
    return r;
}

// x 2^e with one rounding a limb.
template <int N> MDQR_FN md<double, N> ldexp(const md<double, N>& x, i64 e) {
    if (!is_finite(x.limb[0]))
        return x;
    const int bounded = e > 5000 ? 5000 : e < -5000 ? -5000 : int(e);
    return scale_result(x, bounded);
}

MDQR_END
