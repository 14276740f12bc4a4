// Division: long division with N + 1 quotient digits; N digits err up to 13 times more, two for N =
// 2 by 8.8u^2.
#pragma once
#include "mdqr/number/add.hpp"
#include "mdqr/number/mul.hpp"

MDQR_BEGIN

// Operands finite, y nonzero, exponents within +-600, so that no product of limbs leaves the double
// range.
template <class T, int N> MDQR_CALL md<T, N> div_network(const md<T, N>& x, const md<T, N>& y) {
    if constexpr (N == 1) {
        return from_double<T, 1>(x.limb[0] / y.limb[0]);
    } else {
        T q[N + 1];
        md<T, N> rest = x;
        static_for<0, N>([&](auto k) MDQR_LAMBDA {
            q[k] = rest.limb[0] / y.limb[0];
            rest = add_network(rest, mul_double(y, -q[k]));
        });
        q[N] = rest.limb[0] / y.limb[0];
        return renormalize<N + 1, N>(q);
    }
}

MDQR_END
