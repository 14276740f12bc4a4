// What series of dozens of terms need: loops over the terms of one length, since unrolled they
// would be too much code, and quotients by small integers.
#pragma once
#include "mdqr/elementary/wide.hpp"

MDQR_BEGIN

// The sum of `horner`, without its limit to the size of t: |t| <= 1 where `Series::bits` is 0.
template <class Series, int F> struct long_horner {
    using rows = horner<Series, F>;

    // The first row of which no digit before G counts.
    MDQR_FN static constexpr int begin(int g) {
        int k = 0;
        while (k < rows::terms() && rows::first(k) < g)
            ++k;
        return k;
    }

    template <int G, class T> MDQR_STEP static void step(T* p, const T* t, int k) {
        T sum[F + 2];
        MDQR_UNROLL
        for (int i = G; i <= F + 1; ++i) {
            T s = broadcast<T>(Series::coefficient(k, i));
            MDQR_UNROLL
            for (int j = i > F ? i - F : 0; j <= (i - G < F ? i - G : F); ++j)
                s = exact_fma(t[j], p[i - j], s);
            sum[i] = s;
        }
        carry<G, F + 1>(sum);
        MDQR_UNROLL
        for (int i = G; i <= F; ++i)
            p[i] = sum[i];
    }

    template <class T> MDQR_FN static fixed<T, F> evaluate(const fixed<T, F>& t) {
        if constexpr (has_long_digits(F)) {
            return rows::evaluate(t);
        } else {
            constexpr int last = rows::terms() - 1;
            static_assert(last < Series::rows, "mdqr: the table of coefficients is too short");
            fixed<T, F> p;
            MDQR_UNROLL
            for (int i = 0; i <= F; ++i)
                p.digit[i] = broadcast<T>(Series::coefficient(last, i));
            static_for_down<F, 0>([&](auto g) MDQR_LAMBDA {
                constexpr int from = begin(g.value), to = g.value == F ? last : begin(g.value + 1);
                for (int k = to - 1; k >= from; --k)
                    step<g.value>(p.digit, t.digit, k);
            });
            return p;
        }
    }
};

// x / m for integers 0 < m <= 2^16, from digit G on: half a unit of the last digit is cut off.
template <int G, int F, class T> MDQR_FN void divide_by(T* r, const T* x, double m) {
    const T divisor = broadcast<T>(m), inverse = broadcast<T>(1.0 / m);
    T rest = broadcast<T>(0.0);
    MDQR_UNROLL
    for (int i = G; i <= F; ++i) {
        const T d = exact_fma(rest, broadcast<T>(two_to_the<digit_bits>), x[i]);
        r[i] = nearest(one_prod(d, inverse));
        rest = exact_fma(-r[i], divisor, d);
    }
}

// x 2^-e in [1, 2) up to rounding, for x in [1, 2^22], and k + e for k.
template <class T, int F> MDQR_FN fixed<T, F> halved(const fixed<T, F>& x, T& k) {
    const T e = exponent_of(leading(x)), factor = to_the(-e);
    k = one_sum(k, e);
    fixed<T, F> r;
    T below = broadcast<T>(0.0);
    MDQR_UNROLL
    for (int i = 0; i <= F; ++i) {
        const T part = one_prod(x.digit[i], factor), whole = nearest(part);
        r.digit[i] = one_sum(whole, below);
        below = one_prod(one_sum(part, -whole), broadcast<T>(two_to_the<digit_bits>));
    }
    if constexpr (has_long_digits(F)) // that sums of so many products are exact
        carry<0, F>(r.digit);
    return r;
}

MDQR_END
