// Renormalisation: from M overlapping doubles, roughly in order of magnitude, to N normalised
// limbs.
//
// Every step is an error-free transform, so that only the words cut off at the end are lost. The
// sweep is VecSum of Joldes, Marty, Muller and Popescu, "Arithmetic algorithms for extended
// precision using floating-point expansions", IEEE Trans. Computers 65(4), 2016. It is repeated
// until the words are normalised, which takes the place of their second, downward sweep and of its
// branch for zeros: normalised words stay as they are, a word rises over all zeros above it, and
// the chain of dependent operations is one addition a word instead of three.
#pragma once
#include "mdqr/number/eft.hpp"
#include "mdqr/number/md.hpp"

MDQR_BEGIN

// (v0 .. v_{M-1}) -> (total, errors), from the smallest word upwards; any order of magnitudes is
// exact.
template <int M, class T> MDQR_FN void sweep_up(T* v) {
    static_for_down<M - 2, 0>([&](auto i) MDQR_LAMBDA { two_sum(v[i], v[i + 1], v[i], v[i + 1]); });
}

// From the largest word downwards; exact where exponents descend or one of a pair is zero.
template <int M, class T> MDQR_FN void sweep_down(T* v) {
    static_for<0, M - 1>([&](auto i) MDQR_LAMBDA { fast_two_sum(v[i], v[i + 1], v[i], v[i + 1]); });
}

// True in the lanes where the first N words are not a normalised number or a zero hides a later
// word.
template <int M, int N, class T> MDQR_FN mask_t<T> not_normalised(const T* v) {
    mask_t<T> bad = v[0] != v[0] && v[0] == v[0];
    static_for<0, M - 1>([&](auto i) MDQR_LAMBDA {
        if constexpr (i < N) {
            // NaN never compares equal: leave it to the special-value branch.
            const T sum = one_sum(v[i], v[i + 1]);
            bad = bad | ((sum < v[i]) | (sum > v[i]));
        }
        bad = bad | ((v[i] == broadcast<T>(0.0)) & (v[i + 1] != broadcast<T>(0.0)));
    });
    return bad;
}

// First N limbs of the sum of M words in roughly descending order.
template <int M, int N, class T> MDQR_FN md<T, N> renormalize(T* v) {
    sweep_up<M>(v);
    sweep_up<M>(v);
    for (int pass = 0; pass < M; ++pass) {
        const mask_t<T> bad = not_normalised<M, N>(v);
        if (!any(bad))
            break;
        // Lanes that are done stay as they are: a result never depends on its neighbours.
        T w[M];
        static_for<0, M>([&](auto i) MDQR_LAMBDA { w[i] = v[i]; });
        sweep_up<M>(w);
        static_for<0, M>([&](auto i) MDQR_LAMBDA { v[i] = select(bad, w[i], v[i]); });
    }
    md<T, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = v[i]; });
    return r;
}

MDQR_END
