// Reciprocals and reciprocal square roots by Newton's iteration, for scalars on a critical path.
//
// Digit by digit, the division and root of the contract take thousands of dependent steps. Here a
// float64 seed doubles its precision a step; with y0 of N / 2 limbs and the residual e taken in N,
//   1 / d      = r0 (1 + e + e^2 + O(e^3)),          e = 1 - d r0,
//   1 / sqrt s = y0 (1 + e / 2 + 3 e^2 / 8 + O(e^3)), e = 1 - s y0^2.
// The second-order terms keep the constant of the error from being squared at every doubling; one
// double holds them. Residuals err by the products in them and u^N, corrections (|e| is a few
// u^(N/2)) by u^(N/2) of themselves: results err by a few u^N. Operands lie between 2^-300 and
// 2^300; infinities and NaN give NaN.
#pragma once
#include "mdqr/complex.hpp"

MDQR_BEGIN

template <int N> MDQR_FN void settle(md<double, N>& x) { x = renormalize<N, N>(x.limb); }
template <int N> MDQR_FN void settle(cmd<double, N>& x) {
    settle(x.re);
    settle(x.im);
}

// The first M limbs, or zeros behind the last.
template <int M, int N> MDQR_FN md<double, M> resized(const md<double, N>& x) {
    md<double, M> r;
    static_for<0, M>([&](auto i) MDQR_LAMBDA {
        if constexpr (i < N)
            r.limb[i] = x.limb[i];
        else
            r.limb[i] = 0.0;
    });
    return r;
}

// 1 - x for x near 1, with an error of u^N.
template <int N> MDQR_FN md<double, N> one_minus(const md<double, N>& x) {
    md<double, N> r = add_fast(from_double<double, N>(1.0), neg(x));
    settle(r);
    return r;
}

// x + x (first e + second e^2), for x of N / 2 limbs and |e| of some u^(N/2).
template <int N>
MDQR_FN md<double, N> corrected(const md<double, N / 2>& x, const md<double, N>& e, double first,
                                double second) {
    const double square = one_prod(second, one_prod(e.limb[0], e.limb[0]));
    const md<double, N / 2> factor =
        add_fast(scaled(resized<N / 2>(e), first), from_double<double, N / 2>(square));
    md<double, N> r = add_fast(resized<N>(x), resized<N>(mul_network(x, factor)));
    settle(r);
    return r;
}

template <int N> MDQR_FN md<double, N> newton_reciprocal(const md<double, N>& d) {
    if constexpr (N == 1) {
        return from_double<double, 1>(1.0 / d.limb[0]);
    } else {
        const md<double, N / 2> r = newton_reciprocal(resized<N / 2>(d));
        return corrected(r, one_minus(mul_network(d, resized<N>(r))), 1.0, 1.0);
    }
}

template <int N> MDQR_FN md<double, N> newton_reciprocal_sqrt(const md<double, N>& s) {
    if constexpr (N == 1) {
        return from_double<double, 1>(1.0 / sqrt(s.limb[0]));
    } else {
        const md<double, N / 2> y = newton_reciprocal_sqrt(resized<N / 2>(s));
        const md<double, N> wide = resized<N>(y);
        const md<double, N> e = one_minus(mul_network(s, mul_network(wide, wide)));
        return corrected(y, e, 0.5, 0.375);
    }
}

MDQR_END
