// Square root: N + 1 digits by columns, as the quotient of div.hpp: column k of x - s^2 holds x_k,
// the products -s_i s_j with i + j = k and i, j > 0, and the errors of column k - 1; its sum over
// 2 s_0 is digit k, at most S_k / 2 in units of u^k s_0, so that a product of digits is at most
// S_i S_j / 4. The remainder of digit 0 is at most 2 u x: S_1 <= 3, and with P_k for the sum of S_i
// S_j over i + j = k,
//     S_k <= 1 + (1 + d_{k-1}) S_{k-1} + (P_k + P_{k-1}) / 4,
// which is below that of quotients.
#pragma once
#include "mdqr/number/div.hpp"

MDQR_BEGIN

// Words of column k: of x, the remainder of digit k - 1, k / 2 products, (k - 1) / 2 product errors
// and the errors of the sum in column k - 1.
MDQR_FN constexpr int root_words(int k) { return 1 + k * (k + 1) / 2; }

// -s_i s_j, twice where i and j differ, as the factors of one product.
template <int I, int J, class T> MDQR_FN T root_factor(const T* s) {
    return I == J ? -s[I] : one_prod(broadcast<T>(-2.0), s[I]);
}

// Operand positive with an exponent within about +-600, as that of hypot is.
template <class T, int N> MDQR_CALL md<T, N> sqrt_network(const md<T, N>& x) {
    if constexpr (N == 1) {
        return from_double<T, 1>(sqrt(x.limb[0]));
    } else if constexpr (by_digits<N>) {
        return sqrt_digits(x);
    } else {
        static_assert(columns_suffice<N>, "mdqr: what is lost of so many columns has no bound");
        T s[N + 1];
        T errors[N], next_errors[N];
        T carries[root_words(N)], next_carries[root_words(N)];
        T lost = broadcast<T>(0.0); // errors of column N - 1
        s[0] = sqrt(x.limb[0]);
        T rest = fma(-s[0], s[0], x.limb[0]);
        const T twice = one_sum(s[0], s[0]), reciprocal = broadcast<T>(1.0) / twice;
        static_for<1, N>([&](auto k) MDQR_LAMBDA {
            constexpr int K = k.value, products = K / 2, words = root_words(K);
            T v[words];
            v[0] = x.limb[K];
            v[1] = rest;
            static_for<0, products>([&](auto i) MDQR_LAMBDA {
                constexpr int I = i.value + 1, J = K - I;
                two_prod(root_factor<I, J>(s), s[J], v[2 + i.value], next_errors[i]);
            });
            static_for<0, (K - 1) / 2>([&](auto i)
                                           MDQR_LAMBDA { v[2 + products + i.value] = errors[i]; });
            static_for<0, K*(K - 1) / 2>([&](auto i)
                                             MDQR_LAMBDA { v[1 + K + i.value] = carries[i]; });
            T sum;
            if constexpr (K < N - 1) {
                sum = tree_two_sum<words>(v, next_carries);
                static_for<0, products>([&](auto i) MDQR_LAMBDA { errors[i] = next_errors[i]; });
                static_for<0, words - 1>([&](auto i) MDQR_LAMBDA { carries[i] = next_carries[i]; });
            } else {
                if constexpr (products > 0)
                    lost = tree_sum<products>(next_errors);
                sum = tree_sum_and_lost<words>(v, lost);
            }
            s[K] = quotient_digit(sum, twice, reciprocal, rest);
        });
        // The last column is summed plainly.
        T v[2 + N / 2];
        v[0] = rest;
        v[1] = lost;
        static_for<0, N / 2>([&](auto i) MDQR_LAMBDA {
            constexpr int I = i.value + 1, J = N - I;
            v[2 + i.value] = one_prod(root_factor<I, J>(s), s[J]);
        });
        s[N] = one_prod(tree_sum<2 + N / 2>(v), reciprocal);
        return renormalize<N + 1, N>(s);
    }
}

MDQR_END
