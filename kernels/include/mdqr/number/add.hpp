// Addition. `add_network`: relative to the result, also under cancellation. `add_fast`: relative to
// the operands.
#pragma once
#include "mdqr/number/renormalize.hpp"

MDQR_BEGIN

// Order-preserving keys: the magnitude first, then the sign, so that sorting is unique and the sum
// commutes bitwise.
template <class T> MDQR_FN void compare_exchange(T& a, T& b) {
    const mask_t<T> swap = (abs(a) < abs(b)) | ((abs(a) == abs(b)) & (a < b));
    const T large = select(swap, b, a);
    b = select(swap, a, b);
    a = large;
}

// Sort a bitonic sequence of M = 2^k words by decreasing magnitude (Batcher 1968).
template <int M, class T> MDQR_FN void bitonic_merge(T* v) {
    if constexpr (M > 1) {
        static_for<0, M / 2>([&](auto i) MDQR_LAMBDA { compare_exchange(v[i], v[i + M / 2]); });
        bitonic_merge<M / 2>(v);
        bitonic_merge<M / 2>(v + M / 2);
    }
}

// The power of two that holds so many words.
MDQR_FN constexpr int merge_words(int words) {
    return words <= 1 ? 1 : 2 * merge_words((words + 1) / 2);
}

// Certified addition of Joldes, Marty, Muller and Popescu (2016): merge by magnitude, renormalise.
// Only the truncation is lost, u^N.
template <class T, int N> MDQR_CALL md<T, N> add_merged(const md<T, N>& x, const md<T, N>& y) {
    constexpr int words = merge_words(2 * N);
    T v[words];
    static_for<0, N>([&](auto i) MDQR_LAMBDA {
        v[i] = x.limb[i];
        v[words - 1 - i] = y.limb[i];
    });
    static_for<N, words - N>([&](auto i) MDQR_LAMBDA { v[i] = broadcast<T>(0.0); });
    bitonic_merge<words>(v);
    return renormalize<2 * N, N>(v);
}

// N = 2: AccurateDWPlusDW (algorithm 6 of Joldes, Muller and Popescu, ACM TOMS 44(2), 2017): 3u^2.
template <class T> MDQR_FN md<T, 2> add_double_double(const md<T, 2>& x, const md<T, 2>& y) {
    T s, e, t, f;
    two_sum(x.limb[0], y.limb[0], s, e);
    two_sum(x.limb[1], y.limb[1], t, f);
    fast_two_sum(s, one_sum(e, t), s, e);
    md<T, 2> r;
    fast_two_sum(s, one_sum(e, f), r.limb[0], r.limb[1]);
    return r;
}

template <class T, int N> MDQR_FN md<T, N> add_network(const md<T, N>& x, const md<T, N>& y) {
    if constexpr (N == 1)
        return from_double<T, 1>(one_sum(x.limb[0], y.limb[0]));
    else if constexpr (N == 2)
        return add_double_double(x, y);
    else
        return add_merged(x, y);
}

// Triangle of two_sums with one guard word: |error| <= u^N (|x| + |y|). For inner loops; operands
// finite and in range.
template <class T, int N> MDQR_FN md<T, N> add_fast(const md<T, N>& x, const md<T, N>& y) {
    if constexpr (N <= 2) {
        return add_network(x, y);
    } else {
        T v[N + 1];
        T carry[N];
        static_for<0, N>([&](auto k) MDQR_LAMBDA {
            T s, e;
            two_sum(x.limb[k], y.limb[k], s, e);
            static_for<0, k.value>([&](auto i) MDQR_LAMBDA { two_sum(s, carry[i], s, carry[i]); });
            v[k] = s;
            carry[k] = e;
        });
        T guard = carry[0];
        static_for<1, N>([&](auto i) MDQR_LAMBDA { guard = one_sum(guard, carry[i]); });
        v[N] = guard;
        // Upwards: after cancellation words need not descend, as fast_two_sum wants.
        sweep_up<N + 1>(v);
        sweep_up<N + 1>(v);
        md<T, N> r;
        static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = v[i]; });
        return r;
    }
}

MDQR_END
