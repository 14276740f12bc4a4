// Division: N + 1 quotient digits by columns; N digits err up to 13 times more, two for N = 2 by
// 8.8u^2.
//
// Column k of x - q y holds the words of size u^k x: x_k, the products -q_i y_j with i + j = k, and
// the errors of column k - 1. Their sum over y_0 is digit k, whose remainder is one double and goes
// to the next column, as do all rounding errors, so that only what is beyond column N is lost. With
// S_k for a bound of the words of a column in units of u^k x, and trees of depth d_k,
//     S_k <= 1 + (1 + d_{k-1}) S_{k-1} + sum_{i<k} S_i + sum_{i<k-1} S_i,
// what is lost is at most S_(N+1) u^(N+1), for N = 8 2^25 u^9, and the error that of cutting N + 1
// words to N limbs.
#pragma once
#include "mdqr/number/mul.hpp"

MDQR_BEGIN

// Words of column k: of x, the remainder of digit k - 1, k products, k - 1 product errors and the
// errors of the sum in column k - 1.
MDQR_FN constexpr int quotient_words(int k) { return 1 + k * (k + 1); }

// S_k.
MDQR_FN constexpr double quotient_bound(int k) {
    double bound = 1.0, before = 0.0; // S_i, and the sum of those before it
    for (int i = 1; i <= k; ++i) {
        const int depth = i > 1 ? tree_depth(quotient_words(i - 1)) : 0;
        const double next = 1.0 + (1.0 + depth) * bound + (before + bound) + before;
        before += bound;
        bound = next;
    }
    return bound;
}
// With what cutting leaves, u^N, within the contract.
template <int N> inline constexpr bool columns_suffice = N == 1 || quotient_bound(N + 1) <= 0x1p53;

// The digit sum / y by the reciprocal of y, and its remainder: the nearest double, but next to
// ties, so that the remainder is one double.
template <class T> MDQR_FN T quotient_digit(T sum, T y, T reciprocal, T& rest) {
    const T near = one_prod(sum, reciprocal);
    const T digit = fma(fma(-near, y, sum), reciprocal, near);
    rest = fma(-digit, y, sum);
    return digit;
}

// Operands finite, y nonzero, exponents of both and of the quotient within about +-600, so that no
// product of limbs overflows, and what underflows is far below the last limb.
template <class T, int N> MDQR_CALL md<T, N> div_network(const md<T, N>& x, const md<T, N>& y) {
    if constexpr (N == 1) {
        return from_double<T, 1>(x.limb[0] / y.limb[0]);
    } else if constexpr (by_digits<N>) {
        return div_digits(x, y);
    } else {
        static_assert(columns_suffice<N>, "mdqr: what is lost of so many columns has no bound");
        T q[N + 1];
        T errors[N], next_errors[N];
        T carries[quotient_words(N)], next_carries[quotient_words(N)];
        T lost = broadcast<T>(0.0); // errors of column N - 1
        const T reciprocal = broadcast<T>(1.0) / y.limb[0];
        T rest;
        q[0] = quotient_digit(x.limb[0], y.limb[0], reciprocal, rest);
        static_for<1, N>([&](auto k) MDQR_LAMBDA {
            constexpr int K = k.value, words = quotient_words(K);
            T v[words];
            v[0] = x.limb[K];
            v[1] = rest;
            static_for<0, K>([&](auto i) MDQR_LAMBDA {
                two_prod(-q[i], y.limb[K - i.value], v[2 + i], next_errors[i]);
            });
            static_for<0, K - 1>([&](auto i) MDQR_LAMBDA { v[2 + K + i.value] = errors[i]; });
            static_for<0, K*(K - 1)>([&](auto i)
                                         MDQR_LAMBDA { v[1 + 2 * K + i.value] = carries[i]; });
            T sum;
            if constexpr (K < N - 1) {
                sum = tree_two_sum<words>(v, next_carries);
                static_for<0, K>([&](auto i) MDQR_LAMBDA { errors[i] = next_errors[i]; });
                static_for<0, words - 1>([&](auto i) MDQR_LAMBDA { carries[i] = next_carries[i]; });
            } else {
                lost = tree_sum<K>(next_errors);
                sum = tree_sum_and_lost<words>(v, lost);
            }
            q[K] = quotient_digit(sum, y.limb[0], reciprocal, rest);
        });
        // The last column is summed plainly.
        T v[N + 1];
        v[0] = rest;
        v[1] = lost;
        static_for<1, N>([&](auto i)
                             MDQR_LAMBDA { v[1 + i] = one_prod(-q[i], y.limb[N - i.value]); });
        q[N] = one_prod(tree_sum<N + 1>(v), reciprocal);
        return renormalize<N + 1, N>(q);
    }
}

MDQR_END
