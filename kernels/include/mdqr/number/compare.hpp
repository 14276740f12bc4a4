// Comparison by the sign of the exact difference: normal forms are not unique, so limbs are not
// compared one by one.
#pragma once
#include "mdqr/number/contract.hpp"

MDQR_BEGIN

// -1, 0, 1 as the sign of x - y, 2 where a NaN makes them unordered; from the leading limbs of x, y
// and x - y.
MDQR_FN int order(double x, double y, double difference) {
    if (is_nan(x) || is_nan(y))
        return 2;
    if (!is_finite(x) || !is_finite(y))
        return x < y ? -1 : x > y ? 1 : 0;
    return difference < 0.0 ? -1 : difference > 0.0 ? 1 : 0;
}

template <int N> MDQR_FN int compare(const md<double, N>& x, const md<double, N>& y) {
    return order(x.limb[0], y.limb[0], sub(x, y).limb[0]);
}

MDQR_END
