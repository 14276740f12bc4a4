// log, log2, log10, log1p: x = 2^k m, m (j1 / 64) (1 + j2 / 2^12) (1 + j3 / 2^18) = 1 + t with |t|
// < 2^-18.9, logarithms of the three factors from tables, and the series of log(1 + t) / t.
#pragma once
#include "mdqr/elementary/wide.hpp"

MDQR_BEGIN

MDQR_BLOCK_SERIES(log, 18);

// log(x) = k ln 2 + rest. Where x is near 1, near(x) has the relative accuracy that rest lacks.
template <class T, int N> struct logarithm {
    fixed<T, last_digit<N>> rest;
    T k;
    mask_t<T> is_near;
    wide<T, N> near;
};

template <class T, int F> MDQR_FN fixed<T, F> log_tables(T j1, T j2, T j3) {
    const fixed<T, F> a = row_of<T, F>(log_64_table, one_sum(j1, broadcast<T>(-45.0)));
    const fixed<T, F> b = row_of<T, F>(log_4096_table, one_sum(j2, broadcast<T>(48.0)));
    return plus(plus(a, b), row_of<T, F>(log_2_18_table, one_sum(j3, broadcast<T>(34.0))));
}

// For finite x > 0. `above` is x - 1, relatively accurate where x is near 1.
template <class T, int N> MDQR_CALL logarithm<T, N> log_of(wide<T, N> x, const wide<T, N>& above) {
    constexpr int F = last_digit<N>;
    const T one = broadcast<T>(1.0);
    const T far =
        select(x.limb[0] < broadcast<T>(0x1p-900), broadcast<T>(200.0),
               select(x.limb[0] > broadcast<T>(0x1p900), broadcast<T>(-200.0), broadcast<T>(0.0)));
    x = scaled(x, to_the(far));
    logarithm<T, N> r;
    r.k = exponent_of(x.limb[0]);
    r.k = select(one_prod(x.limb[0], to_the(-r.k)) > broadcast<T>(0x1.6a09e667f3bcdp0),
                 one_sum(r.k, one), r.k);
    x = scaled(x, to_the(-r.k));
    r.k = one_sum(r.k, -far);
    const T m = x.limb[0];
    const T j1 = nearest(broadcast<T>(64.0) / m);
    const T c = one_prod(m, one_prod(j1, broadcast<T>(0x1p-6)));
    const T j2 = nearest(one_prod(one_sum(one / c, -one), broadcast<T>(0x1p12)));
    const T d = one_prod(c, fma(j2, broadcast<T>(0x1p-12), one));
    const T j3 = nearest(one_prod(one_sum(one / d, -one), broadcast<T>(0x1p18)));
    // The product of the factors has 37 bits: three digits.
    const T factor = one_prod(one_prod(j1, one_sum(j2, broadcast<T>(0x1p12))),
                              one_sum(j3, broadcast<T>(0x1p18)));
    T f[3], left = one_prod(factor, broadcast<T>(0x1p-36));
    static_for<0, 3>([&](auto i) MDQR_LAMBDA {
        f[i] = nearest(left);
        left = one_prod(one_sum(left, -f[i]), broadcast<T>(0x1p24));
    });
    fixed<T, F> t = to_fixed<F, 1>(x);
    multiply_digits<0, F, 0, 2, F>(t.digit, t.digit, f);
    t.digit[0] = one_sum(t.digit[0], -one);
    const fixed<T, F> series = horner<log_coefficients, F>::evaluate(minus(t));
    r.rest = multiply_small<1>(t, series);
    r.rest = plus(r.rest, minus(log_tables<T, F>(j1, j2, j3)));
    carry<0, F>(r.rest.digit);
    const T zero = broadcast<T>(0.0);
    r.is_near = (j1 == broadcast<T>(64.0)) & (j2 == zero) & (j3 == zero) & (r.k == zero);
    if (any(r.is_near))
        r.near = mul_network(above, to_limbs<N + 1>(series));
    else
        r.near = spread<T, N + 1>(0.0);
    return r;
}

template <class T, int N> MDQR_CALL logarithm<T, N> log_of(const wide<T, N>& x) {
    return log_of<T, N>(x, add_network(x, spread<T, N + 1>(-1.0)));
}

template <class T, int N> MDQR_FN wide<T, N> natural(const logarithm<T, N>& l) {
    constexpr int F = last_digit<N>;
    fixed<T, F> y = l.rest;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        y.digit[i] = exact_fma(l.k, broadcast<T>(ln2_table[i]), y.digit[i]);
    carry<0, F>(y.digit);
    return select(l.is_near, l.near, to_limbs<N + 1>(y));
}

template <class T, int N> MDQR_FN wide<T, N> binary(const logarithm<T, N>& l) {
    constexpr int F = last_digit<N>;
    const fixed<T, F> factor = constant<T, F>(inverse_ln2_table);
    fixed<T, F> y = multiply(l.rest, factor);
    y.digit[0] = one_sum(y.digit[0], l.k);
    const wide<T, N> r = to_limbs<N + 1>(y);
    if (!any(l.is_near))
        return r;
    return select(l.is_near, mul_network(l.near, to_limbs<N + 1>(factor)), r);
}

template <class T, int N> MDQR_FN wide<T, N> decimal(const logarithm<T, N>& l) {
    constexpr int F = last_digit<N>;
    return mul_network(natural(l), to_limbs<N + 1>(constant<T, F>(inverse_ln10_table)));
}

// One in place of what is not finite and positive, and the results for that: `pole` at 0.
template <class T> MDQR_FN mask_t<T> log_regular(T x) {
    return (x > broadcast<T>(0.0)) & (x < broadcast<T>(infinity()));
}
template <class T, int N> MDQR_FN md<T, N> log_special(T x, mask_t<T> regular, const md<T, N>& r) {
    const T zero = broadcast<T>(0.0);
    const T negative = select(x < zero, broadcast<T>(not_a_number()), x);
    const T special = select(x == zero, broadcast<T>(-infinity()), negative);
    return select(regular, r, from_double<T, N>(special));
}

template <class T, int N, class F> MDQR_FN md<T, N> log_by(const md<T, N>& x, F finish) {
    const mask_t<T> regular = log_regular(x.limb[0]);
    const md<T, N> safe = select(regular, x, spread<T, N>(1.0));
    return log_special(x.limb[0], regular,
                       narrow<T, N>(finish(log_of<T, N>(with_limbs<N + 1>(safe)))));
}

template <class T, int N> MDQR_FN md<T, N> log(const md<T, N>& x) {
    return log_by(x, [](const logarithm<T, N>& l) { return natural(l); });
}
template <class T, int N> MDQR_FN md<T, N> log2(const md<T, N>& x) {
    return log_by(x, [](const logarithm<T, N>& l) { return binary(l); });
}
template <class T, int N> MDQR_FN md<T, N> log10(const md<T, N>& x) {
    return log_by(x, [](const logarithm<T, N>& l) { return decimal(l); });
}

template <class T, int N> MDQR_FN wide<T, N> log1p_wide(const wide<T, N>& x) {
    return natural(log_of<T, N>(add_network(x, spread<T, N + 1>(1.0)), x));
}

template <class T, int N> MDQR_FN md<T, N> log1p(const md<T, N>& x) {
    const mask_t<T> finite = abs(x.limb[0]) < broadcast<T>(infinity());
    const md<T, N> ordinary = select(finite, x, spread<T, N>(0.0));
    const T above = select(finite, add_network(ordinary, spread<T, N>(1.0)).limb[0], x.limb[0]);
    const mask_t<T> regular = log_regular(above);
    const md<T, N> safe = select(regular, x, spread<T, N>(0.0));
    const md<T, N> r =
        log_special(above, regular, narrow<T, N>(log1p_wide<T, N>(with_limbs<N + 1>(safe))));
    return select(negligible(x), x, r);
}

MDQR_END
