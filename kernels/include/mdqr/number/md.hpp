// The numbers: N limbs, largest first, and pairs of them for complex values.
#pragma once
#include "mdqr/number/lane.hpp"

MDQR_BEGIN

template <class T, int N> struct md {
    T limb[N];
    using lane = T;
    static constexpr int limbs = N;
};

template <class T, int N> struct cmd {
    md<T, N> re, im;
    using lane = T;
    static constexpr int limbs = N;
};

// Numbers from 2^-small_exponent<N> to 2^300 have products whose words that count in N limbs are
// far from the ends of the range.
template <int N> MDQR_FN constexpr int find_small_exponent() {
    constexpr int exponent = (1074 - 53 * N) / 2 - 25;
    static_assert(exponent >= 64, "mdqr: the last of so many limbs of a product underflows");
    return exponent < 300 ? exponent : 300;
}
template <int N> inline constexpr int small_exponent = find_small_exponent<N>();

// What is left of a number by a power of two is normalised from there on: limbs that follow each
// other without a gap did not turn subnormal.
template <int N>
inline constexpr double all_normal =
    power_of_two_constant(53 * N + 522 <= 1022 ? -500 : 53 * N - 1022);

template <class T, int N> MDQR_FN md<T, N> from_double(T x) {
    md<T, N> r;
    r.limb[0] = x;
    static_for<1, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = broadcast<T>(0.0); });
    return r;
}

template <class T, int N> MDQR_FN md<T, N> neg(const md<T, N>& x) {
    md<T, N> r;
    r.limb[0] = -x.limb[0];
    // 0 - x keeps the lower limbs of zeros, infinities and NaN at +0.
    static_for<1, N>([&](auto i)
                         MDQR_LAMBDA { r.limb[i] = one_sum(broadcast<T>(0.0), -x.limb[i]); });
    return r;
}

template <class T, int N>
MDQR_FN md<T, N> select(mask_t<T> m, const md<T, N>& a, const md<T, N>& b) {
    md<T, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = select(m, a.limb[i], b.limb[i]); });
    return r;
}

// Multiply by a power of two that is exact for every limb, or rounds only what turns subnormal.
template <class T, int N> MDQR_FN md<T, N> scaled(const md<T, N>& x, T factor) {
    md<T, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = one_prod(x.limb[i], factor); });
    return r;
}

MDQR_END
