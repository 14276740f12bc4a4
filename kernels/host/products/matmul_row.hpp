// Sums with the lanes along k, for products with one row on the scalar side: matrix times vector,
// dot products. Digit sums are exact, so the result is that of the tile with lanes along the rows.
// Carry-save sums are not: they take this way for single dot products alone, with 8 virtual lanes
// (element k goes to lane k mod 8) and a fixed tree.
#pragma once
#include "level/level.hpp"

#include "products/matmul_engine.hpp"
#include "products/matmul_operand.hpp"

MDQR_BEGIN

template <int D> struct row_engine {
    static constexpr int L = lanes<lane>;
    // Vectors of k between two carries; the packed row of S stays in L1 or L2.
    static constexpr int chunk = chunk_limit<D> < 64 ? chunk_limit<D> / 8 * 8 : 64;
    static constexpr int pack_words(bool is_complex) {
        return chunk * D * L * (is_complex ? 2 : 1);
    }

    // Digits of `count` elements from k on: [vector][part][digit][lane].
    template <int N>
    static void pack_row(const operand& s, const double* from, ptrdiff_t count, lane first,
                         lane second, int parts, double* to) {
        for (ptrdiff_t k = 0; k < count; k += L)
            for (int part = 0; part < parts; ++part, to += D * L) {
                lane digit[D];
                load_digits<N>(s, from + k * s.step, count - k, part, first, second, digit);
                static_for<0, D>([&](auto i) MDQR_LAMBDA { store(to + i * L, digit[i]); });
            }
    }

    // Add row p (elements from `from` on) times the packed row to the states of its lane: parts *
    // (D + 1) words.
    template <int N>
    static void add_row(const operand& p, const double* from, ptrdiff_t count, lane first,
                        lane second, int parts, const double* packed, double* state,
                        ptrdiff_t part_words) {
        ints_t<lane> word[2][D + 1];
        for (int i = 0; i <= D; ++i)
            word[0][i] = word[1][i] = bits(broadcast<lane>(0.0));
        ptrdiff_t full = 0, brief = 0; // products of D and of 2 digits added to each word
        for (ptrdiff_t k = 0; k < count; k += L, packed += parts * D * L) {
            for (int part = 0; part < parts; ++part) {
                lane a[D];
                load_digits<N>(p, from + k * p.step, count - k, part, first, second, a);
                const bool is_brief = (D > 5 || p.limbs == 1) && digit_engine<D>::is_short(a);
                ++(is_brief ? brief : full);
                multiply(a, packed + part * D * L, part == 1, is_brief, word[0]);
                if (parts == 2)
                    multiply(a, packed + (1 - part) * D * L, false, is_brief, word[1]);
            }
        }
        for (int part = 0; part < parts; ++part)
            add_words(word[part], full, brief, state + part * part_words);
    }

private:
    // Take the constants off, and add the lanes to one lane of a state.
    static void add_words(ints_t<lane>* word, ptrdiff_t full, ptrdiff_t brief, double* state) {
        const i64 h_bits = bits(digit_split), l_bits = bits(digit_rest);
        for (int i = 0; i < D; ++i) {
            const u64 bias = u64(digit_bias<D, D>(i, h_bits, l_bits)) * u64(full) +
                             u64(digit_bias<2, D>(i, h_bits, l_bits)) * u64(brief);
            word[i + 1] = wrapping_add(word[i + 1], i64(u64(0) - bias));
        }
        carry_words<D>(word);
        i64 total[D + 1];
        for (int i = 0; i <= D; ++i)
            total[i] = bits(state[i * L]) + sum_of_lanes(word[i]);
        carry_words<D>(total);
        for (int i = 0; i <= D; ++i)
            state[i * L] = from_bits(total[i]);
    }

    template <int N>
    MDQR_FN static void load_digits(const operand& x, const double* from, ptrdiff_t count, int part,
                                    lane first, lane second, lane* digit) {
        const lane signed_first = part == 1 ? first * broadcast<lane>(x.sign) : first;
        load_words<digit_engine<D>, N>(x, from + part * x.imag, x.step, count, signed_first, second,
                                       digit);
    }

    __attribute__((noinline)) static void multiply(const lane* a, const double* packed,
                                                   bool negative, bool is_brief,
                                                   ints_t<lane>* word) {
        lane b[D];
        const lane sign = broadcast<lane>(negative ? -1.0 : 1.0);
        static_for<0, D>([&](auto i) MDQR_LAMBDA { b[i] = load<lane>(packed + i * L) * sign; });
        if (is_brief)
            digit_multiply_add<D, 2, D>(a, b, word + 1);
        else
            digit_multiply_add<D, D, D>(a, b, word + 1);
    }

    MDQR_FN static i64 sum_of_lanes(ints_t<lane> x) {
        double y[L];
        store(y, from_bits(x));
        i64 sum = 0;
        for (int i = 0; i < L; ++i)
            sum += bits(y[i]);
        return sum;
    }
};

// Dot products for N = 2. With T = ceil(K / 8) terms a lane the error is that of T terms (see
// carry_save_engine) plus 3 * 3 u^2 for the tree, which is within (K + 8) eps for all K.
struct carry_save_dot {
    static constexpr int L = lanes<lane>, vectors = 8 / L;

    lane s[vectors], t[vectors];
    md<lane, 2> total[vectors];

    carry_save_dot() {
        for (int v = 0; v < vectors; ++v)
            s[v] = t[v] = total[v].limb[0] = total[v].limb[1] = broadcast<lane>(0.0);
    }

    MDQR_FN void add(int v, const lane* x, const lane* y, lane sign) {
        carry_save_term(s[v], t[v], x[0] * sign, x[1] * sign, y[0], y[1]);
    }

    MDQR_FN void fold() {
        for (int v = 0; v < vectors; ++v) {
            carry_save_fold(s[v], t[v], total[v]);
            s[v] = t[v] = broadcast<lane>(0.0);
        }
    }

    md<double, 2> result() {
        fold();
        md<double, 2> x[8];
        for (int i = 0; i < 8; ++i)
            x[i] = lane_of(total[i / L], i % L);
        for (int half = 4; half > 0; half /= 2)
            for (int i = 0; i < half; ++i)
                x[i] = add_network(x[i], x[i + half]);
        return x[0];
    }

    // The dot product of row p and row s (their elements from `from_p` and `from_s` on), real and
    // imaginary part.
    static void run(const operand& p, const double* from_p, const lane* scale_p, const operand& q,
                    const double* from_q, const lane* scale_q, ptrdiff_t count, int parts,
                    md<double, 2>* part) {
        carry_save_dot sum[2];
        const lane plus = broadcast<lane>(1.0), minus = broadcast<lane>(-1.0);
        const lane sign_p = broadcast<lane>(p.sign), sign_q = broadcast<lane>(q.sign);
        const ptrdiff_t steps = fold_length((count + 7) / 8 * parts, parts == 2) / parts;
        for (ptrdiff_t k = 0, step = 1; k < count; k += 8, ++step) {
            for (int v = 0; v < vectors && k + v * L < count; ++v) {
                const ptrdiff_t at = k + v * L, rest = count - at;
                lane a[2], b[2], c[2], d[2];
                gather_scaled<2>(p, from_p + at * p.step, p.step, rest, scale_p[0], scale_p[1], a);
                gather_scaled<2>(q, from_q + at * q.step, q.step, rest, scale_q[0], scale_q[1], c);
                sum[0].add(v, a, c, plus);
                if (parts == 1)
                    continue;
                gather_scaled<2>(p, from_p + at * p.step + p.imag, p.step, rest,
                                 scale_p[0] * sign_p, scale_p[1], b);
                gather_scaled<2>(q, from_q + at * q.step + q.imag, q.step, rest,
                                 scale_q[0] * sign_q, scale_q[1], d);
                sum[0].add(v, b, d, minus);
                sum[1].add(v, a, d, plus);
                sum[1].add(v, b, c, plus);
            }
            if (step % steps == 0)
                for (int i = 0; i < parts; ++i)
                    sum[i].fold();
        }
        for (int i = 0; i < parts; ++i)
            part[i] = sum[i].result();
    }
};

MDQR_END
