// Power series of long digits in loops, term by term or in blocks (D. M. Smith, Math. Comp.
// 52(185), 1989): the terms k to k + m - 1 are
//
//   c_k + row (factor_1 t + ... + factor_(m - 1) t^(m - 1))
//
// with integer factors, so that a block takes two products, that and t^m times what follows, in
// place of m, and two carries. t, ..., t^m are formed once.
#pragma once
#include "mdqr/elementary/fixed.hpp"

MDQR_BEGIN

// The powers of t up to t^Block, |t| < 2^-Bits.
template <class T, int F, int Bits, int Block> struct powers {
    T digit[Block][F + 1]; // of t, t^2, ...

    MDQR_FN static constexpr int first_of(int power) { return (Bits * power + 22) / digit_bits; }

    MDQR_FN explicit powers(const fixed<T, F>& t) {
        const padded<T, F> factor(t.digit, first_of(1), F);
        for (int i = 0; i <= F; ++i)
            digit[0][i] = t.digit[i];
        for (int j = 1; j < Block; ++j) {
            T sum[F + 2 + sums_at_once];
            for (T& word : sum)
                word = broadcast<T>(0.0);
            const int from = first_of(j) + first_of(1);
            add_products(sum, from, F + 1, digit[j - 1], first_of(j), F, factor, first_of(1), F);
            carry_together(sum, from > 0 ? from - 1 : 0, F + 1);
            for (int i = 0; i <= F; ++i)
                digit[j][i] = sum[i];
        }
    }
};

template <class Series, int F> struct looped_horner {
    using steps = horner<Series, F>;
    static constexpr int block = Series::block;
    static constexpr int count = (steps::terms() + block - 1) / block;
    template <class T> using powers_of = powers<T, F, Series::bits, block>;

    // += the terms behind the first of block b, for digits from `first` to `last`.
    template <class T>
    MDQR_CALL static void add_block(T* sum, int first, int last, const powers_of<T>& t, int b) {
        const int top = (Series::row_zeros(b) + 21) / digit_bits;
        const int end = last - top < F ? last - top : F;
        if (end < 0)
            return;
        padded<T, F> inner(0, end);
        T* const digit = inner.digit + padded<T, F>::origin;
        for (int i = 0; i <= end; ++i) {
            T s = broadcast<T>(0.0);
            for (int j = 1; j < block; ++j)
                s = exact_fma(broadcast<T>(Series::factor(b, j)), t.digit[j - 1][i], s);
            digit[i] = s;
        }
        carry_together(digit, 0, end);
        add_products(sum, first, last, Series::row(b), top, last < F ? last : F, inner, 0, end);
    }

    template <class T> MDQR_CALL static fixed<T, F> evaluate(const powers_of<T>& t) {
        constexpr int first_of_step = powers_of<T>::first_of(block);
        static_assert(block * (count - 1) < Series::rows,
                      "mdqr: the table of coefficients is too short");
        const padded<T, F> step(t.digit[block - 1], first_of_step, F);
        fixed<T, F> p;
        for (T& digit : p.digit) // those before the first of the series
            digit = broadcast<T>(0.0);
        for (int b = count - 1; b >= 0; --b) {
            const int k = b * block, from = steps::first(k);
            const int to = steps::last(k) < from ? from : steps::last(k);
            T sum[F + 2 + sums_at_once];
            for (int i = from; i <= to + sums_at_once; ++i)
                sum[i] = broadcast<T>(i <= to + 1 ? Series::coefficient(k, i) : 0.0);
            if constexpr (block > 1)
                add_block(sum, from, to + 1, t, b);
            if (b < count - 1) {
                const int next = steps::first(k + block);
                const int end = steps::last(k + block) < next ? next : steps::last(k + block);
                add_products(sum, from, to + 1, p.digit, next, end, step, first_of_step, F);
            }
            carry_together(sum, from, to + 1);
            for (int i = from; i <= to; ++i)
                p.digit[i] = sum[i];
        }
        return p;
    }
};

MDQR_END
