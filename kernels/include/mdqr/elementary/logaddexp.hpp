// logaddexp: log(exp(x) + exp(y)) = hi + log(1 + exp(lo - hi)), the larger of both being hi.
#pragma once
#include "mdqr/elementary/exp.hpp"
#include "mdqr/elementary/log.hpp"

MDQR_BEGIN

// Of what is not finite: NaN wins, then the larger.
template <class T, int N>
MDQR_FN md<T, N> larger_or_nan(const md<T, N>& x, const md<T, N>& y, mask_t<T> swap) {
    const T a = x.limb[0], b = y.limb[0];
    return select(a == a, select(b == b, select(swap, y, x), y), x);
}

template <class T, int N> MDQR_FN md<T, N> logaddexp(const md<T, N>& x, const md<T, N>& y) {
    const T zero = broadcast<T>(0.0), a = x.limb[0], b = y.limb[0];
    const wide<T, N> difference = add_network(with_limbs<N + 1>(x), with_limbs<N + 1>(neg(y)));
    // Differences of large numbers overflow, but not where the leading limbs are the same.
    const mask_t<T> swap = (a < b) | ((a == b) & (difference.limb[0] < zero));
    const wide<T, N> gap = select(swap, difference, neg(difference));
    // A NaN may be lost in the difference.
    const mask_t<T> alone = (!(gap.limb[0] > broadcast<T>(-800.0))) | (a != a) | (b != b);
    const wide<T, N> safe = select(alone, spread<T, N + 1>(0.0), gap);
    const exponential<T, last_digit<N>> e = exp_of<last_digit<N>>(safe);
    const wide<T, N> ratio = times_power(to_limbs<N + 1>(e.value), e.k);
    md<T, N> high = larger_or_nan(x, y, swap);
    high.limb[0] = one_sum(high.limb[0], zero); // -0 is +0
    const md<T, N> finite = select(alone, spread<T, N>(0.0), high);
    const wide<T, N> r = add_network(with_limbs<N + 1>(finite), log1p_wide<T, N>(ratio));
    return select(alone, high, narrow<T, N>(r));
}

MDQR_END
