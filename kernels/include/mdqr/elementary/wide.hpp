// Between fixed-point digits, N + 1 limbs and results of N limbs.
#pragma once
#include "mdqr/number/contract.hpp"
#include "mdqr/elementary/fixed.hpp"

MDQR_BEGIN

// r 2^k
template <class T, int N> struct scaled_wide {
    wide<T, N> r;
    T k;
};

// Of so many limbs a small number has not all in the range of doubles: it is r 2^-up where a result
// that is not small needs them.
template <int N> inline constexpr bool has_powers = N > 8;

template <class T, int N> MDQR_FN md<T, N> spread(double x) {
    return from_double<T, N>(broadcast<T>(x));
}

template <int M, class T, int N> MDQR_FN md<T, M> with_limbs(const md<T, N>& x) {
    md<T, M> r;
    static_for<0, M>([&](auto i) MDQR_LAMBDA {
        if constexpr (i < N)
            r.limb[i] = x.limb[i];
        else
            r.limb[i] = broadcast<T>(0.0);
    });
    return r;
}

// Exponents of normal values as integers: 2^e <= |x| < 2^(e + 1).
template <class T> MDQR_FN T exponent_of(T x) {
    return from_ints<T>(((bits(abs(x)) >> 52) & 0x7ffLL) - 1023LL);
}
// 2^e for -1022 <= e <= 1023.
template <class T> MDQR_FN T to_the(T e) { return from_bits((to_ints(e) + 1023LL) << 52); }

template <class T> MDQR_FN T clamped(T x, double low, double high) {
    const T a = broadcast<T>(low), b = broadcast<T>(high);
    return select(x < a, a, select(x > b, b, x));
}

// x = r 2^e with 1 <= |r| < 2; zero stays zero.
template <class T, int M> MDQR_FN md<T, M> normalised(const md<T, M>& x, T& e) {
    const T size = abs(x.limb[0]);
    const T zero = broadcast<T>(0.0), far = broadcast<T>(200.0);
    const T shift = select(size < broadcast<T>(0x1p-800), far,
                           select(size > broadcast<T>(0x1p800), -far, zero));
    const md<T, M> y = scaled(x, to_the(shift));
    const T top = clamped(exponent_of(y.limb[0]), -1022.0, 1022.0);
    e = one_sum(top, -shift);
    return scaled(y, to_the(-top));
}

// From N + 1 limbs to N. What lies 2^-(53 N + 14) below the leading limb is rounded away first:
// values that fit into N limbs of one run of digits come out exactly, without the far smaller error
// of the computation in a lower limb.
template <class T, int N> MDQR_CALL md<T, N> narrow(const wide<T, N>& x) {
    md<T, N> r;
    const T grid = from_bits(bits(abs(x.limb[0])) & 0x7ff0000000000000LL) *
                   broadcast<T>(two_to_the<-53 * N - 14>);
    const T magic = one_prod(grid, broadcast<T>(0x1.8p52));
    const T most = one_prod(grid, broadcast<T>(0x1p49));
    static_for<0, N>([&](auto i) MDQR_LAMBDA {
        const T limb = x.limb[i];
        const T rounded = one_sum(one_sum(limb, magic), -magic);
        r.limb[i] = select(abs(limb) < most, rounded, limb);
    });
    // A limb may have become half a unit of the one above.
    mask_t<T> tie = r.limb[0] < r.limb[0];
    static_for<0, N - 1>(
        [&](auto i) MDQR_LAMBDA { tie = tie | (one_sum(r.limb[i], r.limb[i + 1]) != r.limb[i]); });
    if (any(tie)) {
        md<T, N> again = r;
        r = renormalize<N, N>(again.limb);
    }
    clear_negative_zeros(r);
    return r;
}

// r 2^k for |r| < 2^60 and integers k of any size.
template <class T, int N> MDQR_CALL md<T, N> scale_lanes(md<T, N> r, T k) {
    constexpr double least = -940.0 + 53 * N, most = 960.0;
    const md<T, N> x = r;
    r = scaled(x, to_the(clamped(k, least, most)));
    const T zero = broadcast<T>(0.0);
    const mask_t<T> small = (abs(x.limb[0]) < broadcast<T>(0x1p-60)) & (k < zero);
    fix_up((k < broadcast<T>(least)) | (k > broadcast<T>(most)) | small, r,
           [](const md<double, N>& a, const md<double, 1>& e) {
               // Limbs that are not normalised make exponents that no int holds.
               return scale_result(a, int(clamped(e.limb[0], -0x1p20, 0x1p20)));
           },
           x, md<T, 1>{k});
    clear_negative_zeros(r);
    return r;
}

// x 2^k, |k| < 2000, where the result is in range or underflows to what does not count.
template <class T, int M> MDQR_FN md<T, M> times_power(const md<T, M>& x, T k) {
    const T half = nearest(one_prod(k, broadcast<T>(0.5)));
    return scaled(scaled(x, to_the(half)), to_the(one_sum(k, -half)));
}

// Where a function is x (1 + c x^j) and the second term does not count.
template <class T, int N> MDQR_FN mask_t<T> negligible(const md<T, N>& x) {
    return abs(x.limb[0]) < broadcast<T>(two_to_the<-53 * (N + 1)>);
}

MDQR_END
