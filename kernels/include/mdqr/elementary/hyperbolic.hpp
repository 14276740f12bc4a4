// sinh, cosh, tanh by exp and expm1; arcsinh, arccosh, arctanh by log1p, in N + 1 limbs.
#pragma once
#include "mdqr/elementary/exp.hpp"
#include "mdqr/elementary/log.hpp"
#include "mdqr/elementary/quotient.hpp"

MDQR_BEGIN

template <class T, int M> MDQR_FN md<T, M> magnitude(const md<T, M>& x) {
    return select(x.limb[0] < broadcast<T>(0.0), neg(x), x);
}
// The limbs of r with the sign of x.
template <class T, int N> MDQR_FN md<T, N> with_sign(const md<T, N>& r, T x) {
    return select(x < broadcast<T>(0.0), neg(r), r);
}

// sinh(x) = sinh 2^(k - up) and cosh(x) = cosh 2^k for 0 <= x < 800; up is 0 but for many limbs.
template <class T, int N> struct hyperbola {
    wide<T, N> sinh, cosh;
    T k, up;
};

template <class T, int N, int M> MDQR_CALL hyperbola<T, N> hyperbola_of(const md<T, M>& x) {
    constexpr int F = last_digit<N>;
    const exponential<T, F> e = exp_of<F>(x);
    const T least = clamped(one_prod(e.k, broadcast<T>(-2.0)), -1000.0, 0.0);
    const wide<T, N> grows = to_limbs<N + 1>(e.value);
    const wide<T, N> falls = scaled(to_limbs<N + 1>(inverse<false>(e.value)), to_the(least));
    hyperbola<T, N> h{add_network(grows, neg(falls)), add_network(grows, falls),
                      one_sum(e.k, broadcast<T>(-1.0)), broadcast<T>(0.0)};
    const mask_t<T> small = x.limb[0] < broadcast<T>(0.25);
    if (any(small)) {
        md<T, M> given = select(small, x, spread<T, M>(0.0));
        if constexpr (has_powers<N>) {
            const mask_t<T> tiny =
                (x.limb[0] > broadcast<T>(0.0)) & (x.limb[0] < broadcast<T>(0x1p-60));
            T exponent;
            const md<T, M> unit = normalised(given, exponent);
            h.up = select(tiny, -exponent, h.up);
            given = select(tiny, unit, given);
        }
        const wide<T, N> above = less_one<T, N>(e, given).r, one = spread<T, N + 1>(1.0);
        const wide<T, N> there = has_powers<N> ? times_power(above, -h.up) : above;
        h.sinh =
            select(small, add_network(above, divide_wide(above, add_network(there, one))), h.sinh);
    }
    return h;
}

template <class T, int N> MDQR_FN md<T, N> sinh(const md<T, N>& x) {
    const mask_t<T> beyond = !(abs(x.limb[0]) < broadcast<T>(800.0));
    const hyperbola<T, N> h = hyperbola_of<T, N>(magnitude(exp_argument(x, beyond)));
    md<T, N> r = with_sign(scale_lanes(narrow<T, N>(h.sinh), one_sum(h.k, -h.up)), x.limb[0]);
    r = select(beyond, from_double<T, N>(one_prod(x.limb[0], broadcast<T>(infinity()))), r);
    return select(negligible(x), x, r);
}

template <class T, int N> MDQR_FN md<T, N> cosh(const md<T, N>& x) {
    const mask_t<T> beyond = !(abs(x.limb[0]) < broadcast<T>(800.0));
    const hyperbola<T, N> h = hyperbola_of<T, N>(magnitude(exp_argument(x, beyond)));
    const md<T, N> r = scale_lanes(narrow<T, N>(h.cosh), h.k);
    const T size = abs(x.limb[0]);
    return select(beyond, from_double<T, N>(one_sum(size, broadcast<T>(infinity()))), r);
}

// tanh(x) for 0 <= x; beyond 20 (N + 1) it is 1.
template <class T, int N, int M> MDQR_FN wide<T, N> tanh_wide(const md<T, M>& x) {
    const mask_t<T> flat = !(x.limb[0] < broadcast<T>(20.0 * (N + 1)));
    const md<T, M> twice = scaled(select(flat, spread<T, M>(20.0 * (N + 1)), x), broadcast<T>(2.0));
    const scaled_wide<T, N> e = less_one<T, N>(exp_of<last_digit<N>>(twice), twice);
    const wide<T, N> above = scaled(e.r, to_the(e.k));
    return divide_wide(above, add_network(above, spread<T, N + 1>(2.0)));
}

template <class T, int N> MDQR_FN md<T, N> tanh(const md<T, N>& x) {
    const md<T, N> r = with_sign(narrow<T, N>(tanh_wide<T, N>(magnitude(x))), x.limb[0]);
    const T nan = x.limb[0];
    return select(negligible(x) | !(nan == nan), x, r);
}

// log(1 + u), or log(2 u) where u is so large that it stands for 2 u.
template <class T, int N> MDQR_CALL wide<T, N> log_above(const wide<T, N>& u, mask_t<T> doubled) {
    logarithm<T, N> l = log_of<T, N>(select(doubled, u, add_network(u, spread<T, N + 1>(1.0))), u);
    l.k = one_sum(l.k, select(doubled, broadcast<T>(1.0), broadcast<T>(0.0)));
    return natural(l);
}

// For finite a >= 0: log1p(a + a^2 / (1 + sqrt(1 + a^2))).
template <class T, int N> MDQR_FN wide<T, N> arcsinh_wide(const wide<T, N>& a) {
    const mask_t<T> large = a.limb[0] >= broadcast<T>(0x1p480);
    const wide<T, N> one = spread<T, N + 1>(1.0), x = select(large, one, a);
    const wide<T, N> square = mul_network(x, x);
    const wide<T, N> root = sqrt_wide(add_network(one, square));
    const wide<T, N> u = add_network(x, divide_wide(square, add_network(one, root)));
    return log_above<T, N>(select(large, a, u), large);
}

template <class T, int N> MDQR_FN md<T, N> arcsinh(const md<T, N>& x) {
    const mask_t<T> as_it_is = negligible(x) | !(abs(x.limb[0]) < broadcast<T>(infinity()));
    const wide<T, N> a = with_limbs<N + 1>(magnitude(select(as_it_is, spread<T, N>(1.0), x)));
    const md<T, N> r = narrow<T, N>(arcsinh_wide<T, N>(a));
    return select(as_it_is, x, with_sign(r, x.limb[0]));
}

// For finite a >= 1, given above = a - 1: log1p(above + sqrt(above (a + 1))).
template <class T, int N>
MDQR_FN wide<T, N> arccosh_wide(const wide<T, N>& a, const wide<T, N>& above) {
    const mask_t<T> large = a.limb[0] >= broadcast<T>(0x1p480);
    const wide<T, N> one = spread<T, N + 1>(1.0), x = select(large, one, above);
    const wide<T, N> root = sqrt_of_product(x, add_network(x, spread<T, N + 1>(2.0)));
    return log_above<T, N>(select(large, a, add_network(x, root)), large);
}

template <class T, int N> MDQR_FN md<T, N> arccosh(const md<T, N>& x) {
    const wide<T, N> given = with_limbs<N + 1>(x);
    const wide<T, N> above = add_network(given, spread<T, N + 1>(-1.0));
    const mask_t<T> regular = (x.limb[0] >= broadcast<T>(1.0)) &
                              (x.limb[0] < broadcast<T>(infinity())) &
                              (above.limb[0] >= broadcast<T>(0.0));
    const wide<T, N> one = spread<T, N + 1>(1.0);
    const md<T, N> r = narrow<T, N>(arccosh_wide<T, N>(
        select(regular, given, one), select(regular, above, spread<T, N + 1>(0.0))));
    const T special =
        select(x.limb[0] == broadcast<T>(infinity()), x.limb[0], broadcast<T>(not_a_number()));
    return select(regular, r, from_double<T, N>(special));
}

// For 0 <= a < 1: log1p(2 a / (1 - a)) / 2; 1 - a may be as small as the last limb.
template <class T, int N> MDQR_FN wide<T, N> arctanh_wide(const wide<T, N>& a, wide<T, N> below) {
    const mask_t<T> tiny = below.limb[0] < broadcast<T>(0x1p-500);
    const T zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    below = scaled(below, select(tiny, broadcast<T>(0x1p500), one));
    const wide<T, N> u = divide_wide(scaled(a, broadcast<T>(2.0)), below);
    const T one_there = select(tiny, broadcast<T>(0x1p-500), one);
    logarithm<T, N> l = log_of<T, N>(add_network(u, from_double<T, N + 1>(one_there)), u);
    l.k = one_sum(l.k, select(tiny, broadcast<T>(500.0), zero));
    l.is_near = l.is_near & !tiny;
    return scaled(natural(l), broadcast<T>(0.5));
}

template <class T, int N> MDQR_FN md<T, N> arctanh(const md<T, N>& x) {
    const wide<T, N> a = with_limbs<N + 1>(magnitude(x)), one = spread<T, N + 1>(1.0);
    const wide<T, N> below = add_network(one, neg(a));
    const T zero = broadcast<T>(0.0);
    const mask_t<T> inside = abs(x.limb[0]) <= broadcast<T>(1.0);
    const mask_t<T> regular = inside & (below.limb[0] > zero) & !negligible(x);
    const wide<T, N> half = spread<T, N + 1>(0.5);
    md<T, N> r =
        narrow<T, N>(arctanh_wide<T, N>(select(regular, a, half), select(regular, below, half)));
    const T pole = select(inside & (below.limb[0] == zero), broadcast<T>(infinity()),
                          broadcast<T>(not_a_number()));
    r = with_sign(select(regular, r, from_double<T, N>(pole)), x.limb[0]);
    return select(negligible(x), x, r);
}

MDQR_END
