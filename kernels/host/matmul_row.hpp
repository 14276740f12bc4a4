// Digit sums with the lanes along k, for products with one row on the scalar side: matrix times vector, dot products.
// Every sum is exact, so the result is that of the tile with lanes along the rows.
#pragma once
#include "level.hpp"

#include "matmul_engine.hpp"
#include "matmul_operand.hpp"

MDQR_BEGIN

template <int D> struct row_engine {
    static constexpr int L = lanes<lane>;
    // Vectors of k between two carries; the packed row of S stays in L1 or L2.
    static constexpr int chunk = chunk_limit<D> < 64 ? chunk_limit<D> / 8 * 8 : 64;
    static constexpr int pack_words(bool is_complex) { return chunk * D * L * (is_complex ? 2 : 1); }

    // Digits of `count` elements from k on: [vector][part][digit][lane].
    template <int N>
    static void pack_row(const operand& s, const double* from, ptrdiff_t count, lane first, lane second, int parts,
                         double* to) {
        for (ptrdiff_t k = 0; k < count; k += L)
            for (int part = 0; part < parts; ++part, to += D * L) {
                lane digit[D];
                load_digits<N>(s, from + k * s.step, count - k, part, first, second, digit);
                static_for<0, D>([&](auto i) MDQR_LAMBDA { store(to + i * L, digit[i]); });
            }
    }

    // Add row p (elements from `from` on) times the packed row to the states of its lane: parts * (D + 1) words.
    template <int N>
    static void add_row(const operand& p, const double* from, ptrdiff_t count, lane first, lane second, int parts,
                        const double* packed, double* state, ptrdiff_t part_words) {
        ints_t<lane> word[2][D + 1];
        const i64 h_bits = bits(digit_split), l_bits = bits(digit_rest);
        const ptrdiff_t terms = (count + L - 1) / L * parts;
        static_for<0, D>([&](auto i) MDQR_LAMBDA {
            const i64 bias = i64(u64(digit_bias<D, D>(i, h_bits, l_bits)) * u64(terms));
            word[0][i + 1] = word[1][i + 1] = zero_ints() - bias;
        });
        for (ptrdiff_t k = 0; k < count; k += L, packed += parts * D * L) {
            lane a[D];
            load_digits<N>(p, from + k * p.step, count - k, 0, first, second, a);
            multiply(a, packed, false, word[0]);
            if (parts == 1) continue;
            multiply(a, packed + D * L, false, word[1]);
            load_digits<N>(p, from + k * p.step, count - k, 1, first, second, a);
            multiply(a, packed + D * L, true, word[0]);
            multiply(a, packed, false, word[1]);
        }
        for (int part = 0; part < parts; ++part) {
            word[part][0] = zero_ints();
            carry_words<D>(word[part]);
            i64 total[D + 1];
            double* to = state + part * part_words;
            for (int i = 0; i <= D; ++i) total[i] = bits(to[i * L]) + sum_of_lanes(word[part][i]);
            carry_words<D>(total);
            for (int i = 0; i <= D; ++i) to[i * L] = from_bits(total[i]);
        }
    }

  private:
    MDQR_FN static ints_t<lane> zero_ints() { return bits(broadcast<lane>(0.0)); }

    template <int N>
    MDQR_FN static void load_digits(const operand& x, const double* from, ptrdiff_t count, int part, lane first,
                                    lane second, lane* digit) {
        const lane signed_first = part == 1 ? first * broadcast<lane>(x.sign) : first;
        load_words<digit_engine<D>, N>(x, from + part * x.imag, x.step, count, signed_first, second, digit);
    }

    __attribute__((noinline)) static void multiply(const lane* a, const double* packed, bool negative, ints_t<lane>* word) {
        lane b[D];
        const lane sign = broadcast<lane>(negative ? -1.0 : 1.0);
        static_for<0, D>([&](auto i) MDQR_LAMBDA { b[i] = load<lane>(packed + i * L) * sign; });
        digit_multiply_add<D, D, D>(a, b, word + 1);
    }

    MDQR_FN static i64 sum_of_lanes(ints_t<lane> x) {
        double y[L];
        store(y, from_bits(x));
        i64 sum = 0;
        for (int i = 0; i < L; ++i) sum += bits(y[i]);
        return sum;
    }
};

MDQR_END
