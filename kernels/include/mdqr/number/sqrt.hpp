// Square root, digit by digit as by hand: with S the digits so far, x - (S + q)^2 = (x - S^2) - q
// (2 S + q). N + 1 digits.
#pragma once
#include "mdqr/number/add.hpp"
#include "mdqr/number/mul.hpp"

MDQR_BEGIN

// Operand positive with an exponent within +-300.
template <class T, int N> MDQR_CALL md<T, N> sqrt_network(const md<T, N>& x) {
    if constexpr (N == 1) {
        return from_double<T, 1>(sqrt(x.limb[0]));
    } else {
        T s[N + 1];
        s[0] = sqrt(x.limb[0]);
        const T twice = one_sum(s[0], s[0]);
        md<T, N> divisor = from_double<T, N>(s[0]); // 2 S + q
        md<T, N> rest = add_network(x, mul_double(divisor, -s[0]));
        static_for<1, N>([&](auto k) MDQR_LAMBDA {
            divisor.limb[k - 1] = one_sum(s[k - 1], s[k - 1]);
            s[k] = rest.limb[0] / twice;
            divisor.limb[k] = s[k];
            rest = add_network(rest, mul_double(divisor, -s[k]));
        });
        s[N] = rest.limb[0] / twice;
        return renormalize<N + 1, N>(s);
    }
}

MDQR_END
