// floor, ceil, rint: exact.
#pragma once
#include "mdqr/number/contract.hpp"

MDQR_BEGIN

MDQR_FN double floor(double x) {
    if (!(abs(x) < 0x1p52))
        return x;
    const double rounded = copysign(one_sum(one_sum(abs(x), 0x1p52), -0x1p52), x);
    return rounded > x ? one_sum(rounded, -1.0) : rounded;
}

// A limb matters only while all limbs above it are integers; the sum of the floors needs
// normalising.
template <int N> MDQR_FN md<double, N> floor(const md<double, N>& x) {
    double v[N];
    bool integers = true;
    static_for<0, N>([&](auto i) MDQR_LAMBDA {
        v[i] = integers ? floor(x.limb[i]) : 0.0;
        integers = integers && v[i] == x.limb[i];
    });
    if (!is_finite(x.limb[0]))
        return x;
    md<double, N> r = renormalize<N, N>(v);
    clear_negative_zeros(r);
    if (r.limb[0] == 0.0)
        r.limb[0] = copysign(0.0, x.limb[0]);
    return r;
}

template <int N> MDQR_FN md<double, N> ceil(const md<double, N>& x) { return neg(floor(neg(x))); }

// To the nearest integer, ties to even.
template <int N> MDQR_FN md<double, N> rint(const md<double, N>& x) {
    if (!is_finite(x.limb[0]))
        return x;
    const md<double, N> below = floor(x);
    const md<double, N> half = from_double<double, N>(0.5);
    const md<double, N> fraction = sub(x, below);
    const double side = sub(fraction, half).limb[0];
    const md<double, N> halved = scaled(below, 0.5);
    const bool odd = sub(floor(halved), halved).limb[0] != 0.0;
    md<double, N> r =
        side > 0.0 || (side == 0.0 && odd) ? add(below, from_double<double, N>(1.0)) : below;
    if (r.limb[0] == 0.0)
        r.limb[0] = copysign(0.0, x.limb[0]);
    return r;
}

MDQR_END
