// Multiplication: partial products x_i y_j by bins i + j, every rounding error handed to the next
// bin.
//
// With a guard bin (Guard = 1) the result errs by little more than its truncation, u^N |x y|. With
// S_k for a bound of the words of bin k in units of u^k |x y|, and trees of depth d_k,
//     S_(k+1) <= 2 k + 3 + d_k S_k,
// and what is lost of bin N and beyond it is at most (2 N - 1 + d_N S_N) u^(N+1). Without the guard
// (Guard = 0, inner loops) errors up to 13.6 u^4 and 90 u^8 were found. Terms that swap under x <->
// y are added first, so products commute bitwise.
#pragma once
#include "mdqr/number/by_digits.hpp"

MDQR_BEGIN

// Words that bin k receives: k + 1 products, k product errors and the errors of the sums in bin k
// - 1.
MDQR_FN constexpr int product_bin_carries(int k) { return k == 0 ? 0 : (k - 1) * k; }
MDQR_FN constexpr int product_bin_words(int k) { return 2 * k + 1 + product_bin_carries(k); }

MDQR_FN constexpr int tree_depth(int words) {
    int depth = 0;
    while ((1 << depth) < words)
        ++depth;
    return depth;
}
// What is lost of a product with a guard bin, in units of u^(N+1).
MDQR_FN constexpr double product_bound(int N) {
    double bound = 1.0;
    for (int k = 0; k < N; ++k)
        bound = 2.0 * k + 3.0 + tree_depth(product_bin_words(k)) * bound;
    return 2.0 * N - 1.0 + tree_depth(product_bin_words(N)) * bound;
}

// Balanced tree of two_sums over v[0..n); the n - 1 errors go to err.
template <int N, class T> MDQR_FN T tree_two_sum(T* v, T* err) {
    if constexpr (N == 1) {
        return v[0];
    } else {
        static_for<0, N / 2>([&](auto i)
                                 MDQR_LAMBDA { two_sum(v[2 * i], v[2 * i + 1], v[i], err[i]); });
        if constexpr (N % 2 == 1)
            v[N / 2] = v[N - 1];
        return tree_two_sum<(N + 1) / 2>(v, err + N / 2);
    }
}

template <int N, class T> MDQR_FN T tree_sum(T* v) {
    if constexpr (N == 1) {
        return v[0];
    } else {
        static_for<0, N / 2>([&](auto i) MDQR_LAMBDA { v[i] = one_sum(v[2 * i], v[2 * i + 1]); });
        if constexpr (N % 2 == 1)
            v[N / 2] = v[N - 1];
        return tree_sum<(N + 1) / 2>(v);
    }
}

// The same sum; all errors together go to `lost`.
template <int N, class T> MDQR_FN T tree_sum_and_lost(T* v, T& lost) {
    if constexpr (N == 1) {
        return v[0];
    } else {
        T err[N / 2];
        static_for<0, N / 2>([&](auto i)
                                 MDQR_LAMBDA { two_sum(v[2 * i], v[2 * i + 1], v[i], err[i]); });
        if constexpr (N % 2 == 1)
            v[N / 2] = v[N - 1];
        lost = one_sum(lost, tree_sum<N / 2>(err));
        return tree_sum_and_lost<(N + 1) / 2>(v, lost);
    }
}

// Put the products x_i y_j, i + j = K, into v as adjacent mirror pairs; returns their number.
// Errors likewise into e.
template <int K, int N, bool Errors, class T>
MDQR_FN void product_diagonal(const md<T, N>& x, const md<T, N>& y, T* v, T* middle, T* e,
                              T* e_middle) {
    constexpr int first = K < N ? 0 : K - N + 1;
    static_for<first, (K + 1) / 2>([&](auto i) MDQR_LAMBDA {
        constexpr int slot = 2 * (i.value - first);
        if constexpr (Errors) {
            two_prod(x.limb[i], y.limb[K - i.value], v[slot], e[slot]);
            two_prod(x.limb[K - i.value], y.limb[i], v[slot + 1], e[slot + 1]);
        } else {
            v[slot] = one_prod(x.limb[i], y.limb[K - i.value]);
            v[slot + 1] = one_prod(x.limb[K - i.value], y.limb[i]);
        }
    });
    if constexpr (K % 2 == 0) {
        if constexpr (Errors)
            two_prod(x.limb[K / 2], y.limb[K / 2], *middle, *e_middle);
        else
            *middle = one_prod(x.limb[K / 2], y.limb[K / 2]);
    }
}

template <int Guard, class T, int N>
MDQR_FN md<T, N> mul_bins(const md<T, N>& x, const md<T, N>& y) {
    constexpr int B = N + Guard;
    static_assert(product_bound(N) <= 0x1p53, "mdqr: what is lost of so many bins has no bound");
    T bin[B];
    T errors[2 * N + 2],
        next_errors[2 * N + 2]; // product errors: mirror pairs, then the middle one
    T carries[product_bin_words(B)], next_carries[product_bin_words(B)];
    static_for<0, B - 1>([&](auto k) MDQR_LAMBDA {
        constexpr int K = k.value;
        constexpr int product_pairs = 2 * ((K + 1) / 2), error_pairs = 2 * (K / 2);
        constexpr int words = product_bin_words(K);
        T v[words];
        T middle = broadcast<T>(0.0), e_middle = broadcast<T>(0.0);
        product_diagonal<K, N, true>(x, y, v, &middle, next_errors, &e_middle);
        static_for<0, error_pairs>([&](auto i)
                                       MDQR_LAMBDA { v[product_pairs + i.value] = errors[i]; });
        constexpr int singles = product_pairs + error_pairs;
        // Of K + 1 products and K errors exactly one kind has a middle word.
        if constexpr (K % 2 == 0) {
            v[singles] = middle;
            next_errors[product_pairs] = e_middle;
        } else {
            v[singles] = errors[error_pairs];
        }
        static_for<0, product_bin_carries(K)>(
            [&](auto i) MDQR_LAMBDA { v[singles + 1 + i.value] = carries[i]; });
        bin[K] = tree_two_sum<words>(v, next_carries);
        static_for<0, words - 1>([&](auto i) MDQR_LAMBDA { carries[i] = next_carries[i]; });
        static_for<0, K + 1>([&](auto i) MDQR_LAMBDA { errors[i] = next_errors[i]; });
    });
    // The last bin is summed plainly.
    constexpr int K = B - 1;
    constexpr int first = K < N ? 0 : K - N + 1;
    constexpr int products = K - 2 * first + 1, errors_in = K, carries_in = product_bin_carries(K);
    constexpr int words = products + errors_in + carries_in;
    T v[words];
    T middle = broadcast<T>(0.0);
    product_diagonal<K, N, false>(x, y, v, &middle, errors, &middle);
    constexpr int product_pairs = 2 * (products / 2), error_pairs = 2 * (errors_in / 2);
    static_for<0, error_pairs>([&](auto i) MDQR_LAMBDA { v[product_pairs + i.value] = errors[i]; });
    constexpr int singles = product_pairs + error_pairs;
    if constexpr (products % 2 == 1)
        v[singles] = middle;
    if constexpr (errors_in % 2 == 1)
        v[singles + products % 2] = errors[error_pairs];
    constexpr int at = singles + products % 2 + errors_in % 2;
    static_for<0, carries_in>([&](auto i) MDQR_LAMBDA { v[at + i.value] = carries[i]; });
    bin[K] = tree_sum<words>(v);

    md<T, N> r;
    if constexpr (Guard == 1) {
        r = renormalize<B, N>(bin);
    } else {
        sweep_up<B>(bin);
        sweep_up<B>(bin);
        static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = bin[i]; });
    }
    return r;
}

// N = 2: DWTimesDW3 with symmetric cross terms (Joldes, Muller and Popescu 2017; bound here 6u^2 (1
// + 4u)).
template <class T> MDQR_FN md<T, 2> mul_double_double(const md<T, 2>& x, const md<T, 2>& y) {
    T p, e;
    two_prod(x.limb[0], y.limb[0], p, e);
    const T cross = one_sum(one_prod(x.limb[0], y.limb[1]), one_prod(x.limb[1], y.limb[0]));
    md<T, 2> r;
    fast_two_sum(p, one_sum(fma(x.limb[1], y.limb[1], e), cross), r.limb[0], r.limb[1]);
    return r;
}

template <class T, int N> MDQR_CALL md<T, N> mul_guarded(const md<T, N>& x, const md<T, N>& y) {
    return mul_bins<1>(x, y);
}

template <class T, int N> MDQR_FN md<T, N> mul_network(const md<T, N>& x, const md<T, N>& y) {
    if constexpr (N == 1)
        return from_double<T, 1>(one_prod(x.limb[0], y.limb[0]));
    else if constexpr (N == 2)
        return mul_double_double(x, y);
    else if constexpr (by_digits<N>)
        return mul_digits(x, y);
    else
        return mul_guarded(x, y);
}

// Without guard bin, for inner loops; operands finite and in range.
template <class T, int N> MDQR_FN md<T, N> mul_fast(const md<T, N>& x, const md<T, N>& y) {
    if constexpr (N <= 2 || by_digits<N>)
        return mul_network(x, y);
    else
        return mul_bins<0>(x, y);
}

// Times one double: every product word is kept, only the truncation is lost (u^N |x d|).
template <class T, int N> MDQR_CALL md<T, N> mul_double(const md<T, N>& x, T d) {
    T v[2 * N];
    T e[N];
    static_for<0, N>([&](auto i)
                         MDQR_LAMBDA { two_prod(x.limb[i], d, v[i == 0 ? 0 : 2 * i - 1], e[i]); });
    static_for<0, N - 1>([&](auto i) MDQR_LAMBDA { v[2 * i + 2] = e[i]; });
    v[2 * N - 1] = e[N - 1];
    return renormalize<2 * N, N>(v);
}

MDQR_END
