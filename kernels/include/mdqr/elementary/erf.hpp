// erf, erfc. With c = j / 16 near |x| and |x| = c + s, exp(c^2) erfc(|x|) is its value at c, from a
// table, less 2 s / sqrt(pi) sum(t_k / (k + 1)), where sum(t_k v^k) = exp(-2 c s v - s^2 v^2):
//
//   (k + 1) t_{k + 1} = -2 c s t_k - 2 s^2 t_{k - 1},  |2 c s| < 1.71
//
// (the generating function of Hermite's polynomials, Abramowitz and Stegun 22.9.17, integrated).
#pragma once
#include "mdqr/elementary/exp.hpp"
#include "mdqr/elementary/long_series.hpp"

MDQR_BEGIN

// Of a sum with last digit F: terms k with begin[g] < k <= begin[g + 1] have no digit before g that
// counts, and begin[F + 1] is the last of all.
template <int F> struct erf_plan {
    int begin[F + 2] = {};
};

template <int F> MDQR_FN constexpr erf_plan<F> plan_erf() {
    erf_plan<F> plan;
    double before = 0.0, bound = 1.0; // of t_{k - 1} and t_k
    int k = 0;
    for (int g = 0; g <= F + 1; ++g) {
        const double least = power_of_two_constant(g <= F ? 21 - digit_bits * g : -24 * F - 4);
        while (before > least || bound > least) {
            const double next = (1.71 * bound + 0x1p-9 * before) / (k + 1);
            before = bound;
            bound = next;
            ++k;
        }
        plan.begin[g] = k;
    }
    return plan;
}

// a = 256 c s, b = 256 s^2, t_k, t_{k - 1} and the sum. One object, since NVVM 13.0 lays arrays of
// their own, passed to the same call, over one another.
template <class T, int F> struct erf_state {
    T a[F + 1], b[F + 1], t[F + 1], before[F + 1], sum[F + 1];
};

// From k to k + 1.
template <int G, class T, int F> MDQR_STEP void erf_term(erf_state<T, F>& e, int k) {
    T product[F + 2], part[F + 1];
    MDQR_UNROLL
    for (int i = G; i <= F + 1; ++i) {
        T s = broadcast<T>(0.0);
        MDQR_UNROLL
        for (int j = i > F ? i - F : 0; j <= (i - G < F ? i - G : F); ++j) {
            s = exact_fma(e.a[j], e.t[i - j], s);
            s = exact_fma(e.b[j], e.before[i - j], s);
        }
        product[i] = s;
    }
    carry<G, F + 1>(product);
    MDQR_UNROLL
    for (int i = G; i <= F; ++i)
        e.before[i] = e.t[i];
    divide_by<G, F>(e.t, product, -128.0 * (k + 1));
    divide_by<G, F>(part, e.t, k + 2.0);
    MDQR_UNROLL
    for (int i = G; i <= F; ++i)
        e.sum[i] = one_sum(e.sum[i], part[i]);
}

// erfc(x) = r 2^k for 0 <= x < 27.3; erf(x) = x ratio where x is near 0.
template <class T, int N> struct error_function {
    wide<T, N> r;
    T k;
    fixed<T, last_digit<N>> ratio;
    mask_t<T> is_near;
};

template <class T, int N> MDQR_CALL error_function<T, N> erfc_of(const md<T, N>& x) {
    constexpr int F = last_digit<N>;
    constexpr erf_plan<F> plan = plan_erf<F>();
    const T zero = broadcast<T>(0.0);
    const T j = nearest(one_prod(x.limb[0], broadcast<T>(16.0)));
    fixed<T, F> s = to_fixed<F, 9>(scaled(x, broadcast<T>(16.0))); // 16 (x - c)
    s.digit[0] = one_sum(s.digit[0], -j);
    const fixed<T, F> square = multiply(s, s);
    erf_state<T, F> e;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i) {
        e.a[i] = one_prod(s.digit[i], j);
        e.b[i] = square.digit[i];
        e.t[i] = e.sum[i] = broadcast<T>(i == 0 ? 1.0 : 0.0);
        e.before[i] = zero;
    }
    carry<0, F>(e.a);
    int k = 0;
    static_for<0, F + 1>([&](auto g) MDQR_LAMBDA {
        for (; k < plan.begin[g.value + 1]; ++k)
            erf_term<g.value>(e, k);
    });
    carry<0, F>(e.sum);
    fixed<T, F> sum;
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i)
        sum.digit[i] = e.sum[i];
    const fixed<T, F> slope = multiply(sum, constant<T, F>(eighth_over_root_pi_table));
    const fixed<T, F> value = plus(row_of<T, F>(erfc_16_table, j), minus(multiply(s, slope)));
    const T c = one_prod(j, broadcast<T>(0x1p-4));
    const exponential<T, F> factor = exp_of<F>(from_double<T, 1>(-one_prod(c, c)));
    return {to_limbs<N + 1>(multiply(factor.value, value)), factor.k,
            multiply(sum, constant<T, F>(two_over_root_pi_table)), j == zero};
}

// Where erfc(|x|) underflows, or there is no such number.
template <class T, int N> MDQR_FN mask_t<T> erf_beyond(const md<T, N>& x) {
    return !(abs(x.limb[0]) < broadcast<T>(27.3));
}
template <class T, int N> MDQR_FN error_function<T, N> erfc_of_size(const md<T, N>& x) {
    const md<T, N> safe = select(erf_beyond(x), spread<T, N>(1.0), x);
    return erfc_of(select(safe.limb[0] < broadcast<T>(0.0), neg(safe), safe));
}
// n - erfc(|x|).
template <class T, int N> MDQR_FN wide<T, N> less_erfc(double n, const error_function<T, N>& e) {
    return add_network(spread<T, N + 1>(n), neg(times_power(e.r, e.k)));
}

template <class T, int N> MDQR_FN md<T, N> erfc(const md<T, N>& x) {
    const T a = x.limb[0], zero = broadcast<T>(0.0);
    const error_function<T, N> e = erfc_of_size(x);
    const md<T, N> right = scale_lanes(narrow<T, N>(e.r), e.k);
    const md<T, N> r = select(a < zero, narrow<T, N>(less_erfc(2.0, e)), right);
    const T limit = select(a > zero, zero, select(a < zero, broadcast<T>(2.0), a));
    return select(erf_beyond(x), from_double<T, N>(limit), r);
}

template <class T, int N> MDQR_FN md<T, N> erf(const md<T, N>& x) {
    const T a = x.limb[0], zero = broadcast<T>(0.0), one = broadcast<T>(1.0);
    const error_function<T, N> e = erfc_of_size(x);
    wide<T, N> r = less_erfc(1.0, e);
    r = select(a < zero, neg(r), r);
    T k = zero;
    if (any(e.is_near)) {
        T exponent;
        const wide<T, N> relative =
            mul_network(normalised(with_limbs<N + 1>(x), exponent), to_limbs<N + 1>(e.ratio));
        r = select(e.is_near, relative, r);
        k = select(e.is_near, exponent, zero);
    }
    const T limit = select(a > zero, one, select(a < zero, -one, a));
    const md<T, N> regular = select(a == zero, x, scale_lanes(narrow<T, N>(r), k));
    return select(erf_beyond(x), from_double<T, N>(limit), regular);
}

MDQR_END
