// Trigonometric arguments: x = quadrant pi / 2 + r 2^-down with |r 2^-down| <= pi / 4 up to
// rounding, r relatively accurate.
#pragma once
#include "mdqr/elementary/wide.hpp"

MDQR_BEGIN

template <class T, int N> struct angle {
    wide<T, N> r;
    T quadrant; // an integer
    T down;     // 0 but for many limbs, where r 2^-down has not all of them
};

// Payne and Hanek, SIGNUM Newsletter 18(1), 1983: x 2 / pi modulo 4 takes only those digits of
// 2 / pi whose products with a limb are no multiples of 2^24. Digits go on to 2^-(117 N + 170): N
// limbs come no nearer to a multiple of pi / 2 than about 2^-(64 N), the number of their values,
// and 53 N + 61 bits remain.
template <int N, int M> MDQR_COLD angle<double, N> reduce_large(const md<double, M>& x) {
    constexpr int F = last_digit<N>, last = (117 * N + 170) / digit_bits + 1, rows = 130;
    static_assert(last + 1023 / digit_bits < rows, "mdqr: the table of 2 / pi is too short");
    double sum[last + F + 4];
    for (int i = 0; i < last + F + 4; ++i)
        sum[i] = 0.0;
    for (int l = 0; l < M; ++l) {
        if (x.limb[l] == 0.0)
            continue;
        const int e = exponent(x.limb[l]) + 48 * digit_bits; // not negative
        const int top = e / digit_bits - 48;
        double rest = scale(x.limb[l], -digit_bits * top);
        for (int i = 0; i < 4; ++i) {
            const double d = nearest(rest);
            rest = one_prod(one_sum(rest, -d), 0x1p24);
            for (int at = i - top > 0 ? i - top : 0; at <= last && at + top - i < rows; ++at)
                sum[at] = exact_fma(d, two_over_pi_table[at + top - i], sum[at]);
        }
    }
    carry<0, last>(sum);
    int first = 1;
    while (first < last && sum[first] == 0.0)
        ++first;
    fixed<double, F + 2> fraction;
    for (int i = 0; i <= F + 2; ++i)
        fraction.digit[i] = sum[first + i];
    const md<double, N + 1> turn = to_limbs<N + 1>(fraction);
    angle<double, N> r;
    const int down = digit_bits * first;
    r.down = has_powers<N> && first > 3 ? down : 0.0;
    r.r = mul_network(turn, to_limbs<N + 1>(constant<double, F + 1>(half_pi_table)));
    for (int l = 0; l <= N && r.down == 0.0; ++l)
        r.r.limb[l] = scale(r.r.limb[l], -down);
    r.quadrant = one_sum(sum[0], one_prod(nearest(one_prod(sum[0], 0.25)), -4.0));
    return r;
}

// For finite x.
template <int N, class T, int M> MDQR_CALL angle<T, N> reduce(const md<T, M>& x) {
    constexpr int F = last_digit<N>;
    const T zero = broadcast<T>(0.0);
    const mask_t<T> large = !(abs(x.limb[0]) < broadcast<T>(0x1p20));
    const md<T, M> safe = select(large, spread<T, M>(0.0), x);
    angle<T, N> a;
    a.quadrant = nearest(one_prod(safe.limb[0], broadcast<T>(0x1.45f306dc9c883p-1)));
    const fixed<T, F> whole = to_fixed<F, 21>(safe);
    fixed<T, F + 1> r;
    MDQR_UNROLL
    for (int i = 0; i <= F + 1; ++i)
        r.digit[i] =
            exact_fma(-a.quadrant, broadcast<T>(half_pi_table[i]), i <= F ? whole.digit[i] : zero);
    carry<0, F + 1>(r.digit);
    const mask_t<T> unreduced = a.quadrant == zero;
    a.r = select(unreduced, with_limbs<N + 1>(safe), to_limbs<N + 1>(r));
    // Cancellation leaves too few digits, or the quotient has too many.
    const mask_t<T> lost = (abs(a.r.limb[0]) < broadcast<T>(0x1p-20)) & !unreduced;
    md<T, N + 3> packed = with_limbs<N + 3>(a.r);
    packed.limb[N + 1] = a.quadrant;
    fix_up(
        large | lost, packed,
        [](const md<double, M>& v) {
            const angle<double, N> exact = reduce_large<N>(v);
            md<double, N + 3> p = with_limbs<N + 3>(exact.r);
            p.limb[N + 1] = exact.quadrant;
            p.limb[N + 2] = exact.down;
            return p;
        },
        x);
    a.r = with_limbs<N + 1>(packed);
    a.quadrant = packed.limb[N + 1];
    a.down = packed.limb[N + 2];
    return a;
}

// x = quadrant / 2 + r, |r| <= 1/4, exactly.
template <class T, int N> MDQR_FN angle<T, N> reduce_halves(const md<T, N>& x) {
    T v[N + 1];
    static_for<0, N>([&](auto l) MDQR_LAMBDA {
        const T limb = select(abs(x.limb[l]) < broadcast<T>(0x1p54), x.limb[l], broadcast<T>(0.0));
        const T turns = nearest(one_prod(limb, broadcast<T>(0x1p-30)));
        const T rest = fma(turns, broadcast<T>(-0x1p30), limb);
        v[l] = fma(nearest(one_prod(rest, broadcast<T>(0.5))), broadcast<T>(-2.0), rest);
    });
    v[N] = broadcast<T>(0.0);
    const md<T, N + 1> rest = renormalize<N + 1, N + 1>(v);
    angle<T, N> a;
    a.quadrant = nearest(one_prod(rest.limb[0], broadcast<T>(2.0)));
    a.down = broadcast<T>(0.0);
    a.r = add_network(rest, from_double<T, N + 1>(one_prod(a.quadrant, broadcast<T>(-0.5))));
    return a;
}

// pi x = quadrant pi / 2 + r: exact but for the product.
template <class T, int N> MDQR_CALL angle<T, N> reduce_pi(const md<T, N>& x) {
    constexpr int F = last_digit<N>;
    angle<T, N> a = reduce_halves(x);
    a.r = mul_network(scaled(a.r, broadcast<T>(2.0)),
                      to_limbs<N + 1>(constant<T, F + 1>(half_pi_table)));
    return a;
}

MDQR_END
