// Quotients and square roots of N + 1 limbs by Newton's iteration on digits: twice as many a step,
// the last step rounds.
#pragma once
#include "mdqr/elementary/wide.hpp"

MDQR_BEGIN

// r = 1 / x for x in [1, 4]: from H digits to L. 1 - x r begins at digit H.
template <int H, int L, class T> MDQR_STEP void refine_reciprocal(T* r, const T* x) {
    T e[L + 1];
    multiply_digits<0, L, 0, H, L>(e, x, r);
    MDQR_UNROLL
    for (int i = 0; i <= L; ++i)
        e[i] = -e[i];
    multiply_digits<0, H, H, L, L>(e, r, e);
    MDQR_UNROLL
    for (int i = 0; i <= L; ++i)
        r[i] = i <= H ? one_sum(r[i], e[i]) : e[i];
    carry<0, L>(r);
}

// r = 1 / sqrt(x) for x in [1, 4): r += r (1 - x r^2) / 2.
template <int H, int L, class T> MDQR_STEP void refine_inverse_root(T* r, const T* x) {
    T e[L + 1];
    multiply_digits<0, H, 0, H, L>(e, r, r);
    multiply_digits<0, L, 0, L, L>(e, x, e);
    // Halves of odd digits are 2^23 in the next one.
    T below = broadcast<T>(0.0);
    MDQR_UNROLL
    for (int i = H; i <= L; ++i) {
        const T half = one_prod(e[i], broadcast<T>(-0.5)), whole = nearest(half);
        e[i] = one_sum(whole, below);
        below = one_prod(one_sum(half, -whole), broadcast<T>(0x1p24));
    }
    multiply_digits<0, H, H, L, L>(e, r, e);
    MDQR_UNROLL
    for (int i = 0; i <= L; ++i)
        r[i] = i <= H ? one_sum(r[i], e[i]) : e[i];
    carry<0, L>(r);
}

template <int H, int F, bool Root, class T> MDQR_FN void refine(T* r, const T* x) {
    if constexpr (H < F) {
        constexpr int L = 2 * H < F ? 2 * H : F;
        if constexpr (Root)
            refine_inverse_root<H, L>(r, x);
        else
            refine_reciprocal<H, L>(r, x);
        refine<L, F, Root>(r, x);
    }
}

template <bool Root, class T, int F> MDQR_CALL fixed<T, F> inverse(const fixed<T, F>& x) {
    const T one = broadcast<T>(1.0), lead = leading(x);
    T rest = Root ? one / sqrt(lead) : one / lead;
    fixed<T, F> r;
    MDQR_UNROLL
    for (int i = 0; i <= 2; ++i) {
        r.digit[i] = nearest(rest);
        rest = one_prod(one_sum(rest, -r.digit[i]), broadcast<T>(0x1p24));
    }
    refine<2, F, Root>(r.digit, x.digit);
    return r;
}

// a / b: exponents of a and b within 900 of each other and of 0, or a = 0.
template <class T, int M> MDQR_CALL md<T, M> divide_wide(const md<T, M>& a, const md<T, M>& b) {
    constexpr int F = last_digit<M - 1>;
    const T ea = clamped(exponent_of(a.limb[0]), -1000.0, 1000.0);
    const T eb = clamped(exponent_of(b.limb[0]), -1000.0, 1000.0);
    const fixed<T, F> x = to_fixed<F, 1>(scaled(a, to_the(-ea)));
    const fixed<T, F> y = to_fixed<F, 1>(scaled(b, to_the(-eb)));
    const md<T, M> q = to_limbs<M>(
        multiply(x, inverse<false>(select(y.digit[0] < broadcast<T>(0.0), minus(y), y))));
    const T sign = select(y.digit[0] < broadcast<T>(0.0), broadcast<T>(-1.0), broadcast<T>(1.0));
    return times_power(scaled(q, sign), clamped(one_sum(ea, -eb), -2000.0, 2000.0));
}

// The root of a >= 0, exponent within 900.
template <class T, int M> MDQR_CALL md<T, M> sqrt_wide(const md<T, M>& a) {
    constexpr int F = last_digit<M - 1>;
    const mask_t<T> positive = a.limb[0] > broadcast<T>(0.0);
    const md<T, M> safe = select(positive, a, spread<T, M>(1.0));
    const T half = nearest(fma(exponent_of(safe.limb[0]), broadcast<T>(0.5), broadcast<T>(-0.25)));
    const fixed<T, F> x = to_fixed<F, 2>(scaled(safe, to_the(one_prod(half, broadcast<T>(-2.0)))));
    const md<T, M> r = scaled(to_limbs<M>(multiply(x, inverse<true>(x))), to_the(half));
    return select(positive, r, spread<T, M>(0.0));
}

// sqrt(a b) for 0 <= a < 2^900, which may be as small as doubles are, and b near 1.
template <class T, int M> MDQR_FN md<T, M> sqrt_of_product(const md<T, M>& a, const md<T, M>& b) {
    const T one = broadcast<T>(1.0);
    const mask_t<T> tiny = a.limb[0] < broadcast<T>(all_normal<M>);
    const md<T, M> up = scaled(a, select(tiny, broadcast<T>(0x1p500), one));
    return scaled(sqrt_wide(mul_network(up, b)), select(tiny, broadcast<T>(0x1p-250), one));
}

MDQR_END
