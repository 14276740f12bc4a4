// Comparison by the sign of the exact difference: normal forms are not unique, so limbs are not compared one by one.
#pragma once
#include "mdqr/contract.hpp"

MDQR_BEGIN

// -1, 0, 1 as the sign of x - y; 2 where a NaN makes them unordered.
template <int N> MDQR_FN int compare(const md<double, N>& x, const md<double, N>& y) {
    const double a = x.limb[0], b = y.limb[0];
    if (is_nan(a) || is_nan(b)) return 2;
    if (!is_finite(a) || !is_finite(b)) return a < b ? -1 : a > b ? 1 : 0;
    const double difference = sub(x, y).limb[0];
    return difference < 0.0 ? -1 : difference > 0.0 ? 1 : 0;
}

MDQR_END
