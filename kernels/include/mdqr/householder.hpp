// The elementary reflector H = I - tau v v^H with H^H (alpha, x)^T = (beta, 0)^T, beta real, v =
// (1, x / (alpha - beta)).
//
// As LAPACK's larfg: beta = -sign(re alpha) norm(alpha, x), so that alpha - beta does not cancel;
// tau = (beta - alpha) / beta; tau = 0 where x = 0 and alpha is real. The caller has divided the
// column by the power of two of its maximum, so that squares neither overflow nor vanish.
#pragma once
#include "mdqr/number/complex.hpp"

MDQR_BEGIN

template <class Number> struct reflector {
    Number tau, inverse; // inverse: 1 / (alpha - beta)
    md<double, Number::limbs> beta;
    bool is_identity;
};

// sigma = sum of |x_i|^2.
template <int N>
MDQR_FN reflector<md<double, N>> make_reflector(const md<double, N>& alpha,
                                                const md<double, N>& sigma) {
    using number = md<double, N>;
    const number zero = from_double<double, N>(0.0), one = from_double<double, N>(1.0);
    if (sigma.limb[0] == 0.0)
        return {zero, zero, alpha, true};
    number beta = sqrt(add(mul(alpha, alpha), sigma));
    if (!(alpha.limb[0] < 0.0))
        beta = neg(beta);
    const number difference = sub(alpha, beta);
    return {div(neg(difference), beta), div(one, difference), beta, false};
}

template <int N>
MDQR_FN reflector<cmd<double, N>> make_reflector(const cmd<double, N>& alpha,
                                                 const md<double, N>& sigma) {
    using number = md<double, N>;
    const number zero = from_double<double, N>(0.0);
    if (sigma.limb[0] == 0.0 && alpha.im.limb[0] == 0.0)
        return {{zero, zero}, {zero, zero}, alpha.re, true};
    const number rest = add(mul(alpha.im, alpha.im), sigma);
    number beta = sqrt(add(mul(alpha.re, alpha.re), rest));
    if (!(alpha.re.limb[0] < 0.0))
        beta = neg(beta);
    const number difference = sub(alpha.re, beta);
    // |alpha - beta| lies between 1 and 4 times the column's maximum: no scaling is needed for its
    // square.
    const number square = add(mul(difference, difference), mul(alpha.im, alpha.im));
    const cmd<double, N> inverse{div(difference, square), div(neg(alpha.im), square)};
    return {{div(neg(difference), beta), div(neg(alpha.im), beta)}, inverse, beta, false};
}

MDQR_END
