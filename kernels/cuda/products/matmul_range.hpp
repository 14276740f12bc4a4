// What ends every product: its power of two, the addend, the store.
#pragma once
#include "device/views.hpp"

MDQR_BEGIN

inline constexpr int parts = MDQR_COMPLEX ? 2 : 1;
// Stands for the exponent of a row with infinities or NaN.
inline constexpr i64 not_finite = 1 << 20;

template <class F> MDQR_FN void for_parts(md<double, limbs>& x, F f) { f(x, 0); }
template <class F> MDQR_FN void for_parts(cmd<double, limbs>& x, F f) {
    f(x.re, 0);
    f(x.im, 1);
}

// r 2^t. Underflow rounds once: what the first factor cuts off is below 2^-1075 after the second.
template <int N> MDQR_FN md<double, N> times_power(md<double, N> r, i64 t) {
    // The limits only move what is certain to overflow or to vanish.
    const int e = t > 2046 ? 2046 : t < -1991 ? -1991 : int(t);
    const int head = e > 1023 ? 1023 : e < -1022 ? -969 : e;
    const double first = power_of_two(head), second = power_of_two(e - head);
    static_for<0, N>([&](auto i)
                         MDQR_LAMBDA { r.limb[i] = one_prod(one_prod(r.limb[i], first), second); });
    if (!is_finite(r.limb[0]))
        return from_double<double, N>(r.limb[0]);
    // Carries of limbs that turned subnormal may run up; normalised numbers stay as they are.
    if (abs(r.limb[0]) < all_normal<N>)
        r = renormalize<N, N>(r.limb);
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = one_sum(r.limb[i], 0.0); });
    return r;
}

// out = c + r, or c - r.
MDQR_FN void put_result(const matrix_view& c, const matrix_view& out, i64 item, i64 i, i64 j,
                        bool subtract, number r) {
    if (c.to.data != nullptr) {
        const number start = load_as<number>(c.to, c.at(item, i, j));
        r = subtract ? sub(start, r) : add(start, r);
    } else if (subtract) {
        for_parts(r, [&](md<double, limbs>& part, int)
                         MDQR_LAMBDA { part = sub(from_double<double, limbs>(0.0), part); });
    }
    store_number(out.to, out.at(item, i, j), r);
}

MDQR_END
