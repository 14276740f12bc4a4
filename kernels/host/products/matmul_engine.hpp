// How sums of products are formed in a tile: by carry-save limbs (N = 2) or by digits. Both take
// operands of at most 1 in magnitude, packed as [k][word][lane] (lanes) and [k][word] (scalars),
// and keep their state as [word][lane].
#pragma once
#include "level/level.hpp"

#include "products/matmul_operand.hpp"
#include "mdqr/digits.hpp"

MDQR_BEGIN

template <int D> struct row_engine; // products/matmul_row.hpp

// Exact sums of D x D digits.
template <int D> struct digit_engine {
    static constexpr int words = D, state_words = D + 1;
    static constexpr bool is_exact = true;
    static constexpr int row_words(bool is_complex) {
        return row_engine<D>::pack_words(is_complex);
    }
    // A packed panel of lanes stays within 32 KB of L1.
    static constexpr int chunk = ((4096 / (D * lanes<lane>)) & ~7) < (chunk_limit<D> & ~7)
                                     ? ((4096 / (D * lanes<lane>)) & ~7)
                                     : (chunk_limit<D> & ~7);
    static_assert(chunk >= 8 && chunk <= chunk_limit<D>);

    int fold; // not used: digits do not round
    bool short_lanes, short_scalars;

    template <int M> MDQR_FN static void pack(lane* limb, lane* word) {
        to_digits<D, M>(limb, word);
    }

    // True if digits 2.. of a packed vector are all zero.
    MDQR_FN static bool is_short(const lane* word) {
        ints_t<lane> rest = bits(word[2 < D ? 2 : 0]);
        static_for<3, D>([&](auto i) MDQR_LAMBDA { rest = rest | bits(word[i]); });
        return !any((rest & 0x7fffffffffffffffLL) != 0);
    }

    template <int DP, int DS>
    __attribute__((noinline)) static void run(const double* panel, const double* row, int k,
                                              double* state) {
        const i64 h_bits = bits(digit_split), l_bits = bits(digit_rest);
        constexpr int L = lanes<lane>;
        ints_t<lane> word[D + 1];
        static_for<0, D>([&](auto i) MDQR_LAMBDA {
            const i64 bias = i64(u64(digit_bias<DP, DS>(i, h_bits, l_bits)) * u64(k));
            word[i + 1] =
                wrapping_add(bits(load<lane>(state + (i + 1) * L)), i64(u64(0) - u64(bias)));
        });
        for (int j = 0; j < k; ++j) {
            lane a[DP];
            static_for<0, DP>([&](auto i)
                                  MDQR_LAMBDA { a[i] = load<lane>(panel + (j * D + i) * L); });
            digit_multiply_add<D, DP, DS>(a, row + j * D, word + 1);
        }
        word[0] = bits(load<lane>(state));
        carry_words<D>(word);
        static_for<0, D + 1>([&](auto i) MDQR_LAMBDA { store(state + i * L, from_bits(word[i])); });
    }

    // One panel of lanes against `rows` scalar rows.
    void panel(const double* panel, const double* scalars, ptrdiff_t row_words, ptrdiff_t rows,
               int k, double* state) const {
        for (ptrdiff_t r = 0; r < rows;
             ++r, scalars += row_words, state += state_words * lanes<lane>) {
            if (short_lanes)
                run<2, D>(panel, scalars, k, state);
            else if (short_scalars)
                run<D, 2>(panel, scalars, k, state);
            else
                run<D, D>(panel, scalars, k, state);
        }
    }

    template <int N> MDQR_FN static md<lane, N> result(const double* state) {
        ints_t<lane> word[D + 1];
        static_for<0, D + 1>(
            [&](auto i) MDQR_LAMBDA { word[i] = bits(load<lane>(state + i * lanes<lane>)); });
        return from_words<D, N, lane>(word);
    }
};

// The packed words of `count` elements from p on, `stride` apart. Out of line: it is long, and
// called at several places.
template <class Engine, int N>
__attribute__((noinline)) void load_words(const operand& x, const double* p, ptrdiff_t stride,
                                          ptrdiff_t count, lane first, lane second, lane* word) {
    lane limb[N];
    if constexpr (Engine::is_exact) {
        if (x.limbs == 1) {
            gather_scaled<1>(x, p, stride, count, first, second, limb);
            Engine::template pack<1>(limb, word);
            return;
        }
    }
    gather_scaled<N>(x, p, stride, count, first, second, limb);
    Engine::template pack<N>(limb, word);
}

// N = 2. A term adds its leading product to s by two_sum and everything else to t in working
// precision (12 operations); after `fold` terms (s, t) is normalised and added to the running total
// (26 operations).
//
// Errors in units of u^2 sum |a||b|, over F terms: a1 b1 dropped 1; two fma 2 + 3; with S the sum
// of F terms the errors of the two_sums are at most u S, so their addition to the cross terms errs
// by 3 + (F - 1), and t, which is below u (3 + i) S after i + 1 terms, rounds by 3 (F - 1) + F (F -
// 1) / 2 in all. Each addition to the total errs by 3; the first is exact. `fold_length` takes the
// longest F <= 64 for which this is below (K + 8) eps = 4 (K + 8) u^2 (complex: K terms are 2K real
// ones, and the modulus of the error is at most sqrt 2 times that of a part).
constexpr bool fold_is_safe(ptrdiff_t terms, int f, bool is_complex) {
    const double F = terms < f ? double(terms) : f, folds = double((terms + f - 1) / f);
    const double error = 9 + 4 * (F - 1) + F * (F - 1) / 2 + 3 * (folds - 1);
    const double bound =
        is_complex ? 4 * (0.5 * double(terms) + 8) * 0.7071 : 4 * (double(terms) + 8);
    return error <= 0.999 * bound;
}
constexpr int fold_length(ptrdiff_t terms, bool is_complex) {
    int f = 64;
    while (f > 4 && !fold_is_safe(terms, f, is_complex))
        --f;
    return f;
}

MDQR_FN void carry_save_term(lane& s, lane& t, lane x0, lane x1, lane y0, lane y1) {
    lane p, e, f;
    two_prod(x0, y0, p, e);
    two_sum(s, p, s, f);
    t = one_sum(t, one_sum(fma(x1, y0, fma(x0, y1, e)), f));
}
MDQR_FN void carry_save_fold(lane s, lane t, md<lane, 2>& total) {
    md<lane, 2> part;
    two_sum(s, t, part.limb[0], part.limb[1]);
    total = add_network(total, part);
}

struct carry_save_engine {
    static constexpr int words = 2, state_words = 2;
    static constexpr bool is_exact = false;
    static constexpr int row_words(bool) { return 0; }
    static constexpr int chunk = 256;

    int fold;
    bool short_lanes, short_scalars; // not used: zero limbs cost little here

    template <int M> MDQR_FN static void pack(lane* limb, lane* word) {
        static_assert(M == 2);
        word[0] = limb[0];
        word[1] = limb[1];
    }
    MDQR_FN static bool is_short(const lane*) { return false; }

    template <int C>
    __attribute__((noinline)) static void run(const double* panel, const double* row,
                                              ptrdiff_t row_words, int k, int fold, double* state) {
        constexpr int L = lanes<lane>;
        md<lane, 2> total[C];
        static_for<0, C>([&](auto c) MDQR_LAMBDA {
            total[c].limb[0] = load<lane>(state + 2 * c * L);
            total[c].limb[1] = load<lane>(state + (2 * c + 1) * L);
        });
        for (int j = 0; j < k;) {
            const int end = k - j < fold ? k : j + fold;
            lane s[C], t[C];
            static_for<0, C>([&](auto c) MDQR_LAMBDA { s[c] = t[c] = broadcast<lane>(0.0); });
            for (; j < end; ++j) {
                const lane x0 = load<lane>(panel + 2 * j * L),
                           x1 = load<lane>(panel + (2 * j + 1) * L);
                static_for<0, C>([&](auto c) MDQR_LAMBDA {
                    const lane y0 = broadcast<lane>(row[c * row_words + 2 * j]);
                    const lane y1 = broadcast<lane>(row[c * row_words + 2 * j + 1]);
                    carry_save_term(s[c], t[c], x0, x1, y0, y1);
                });
            }
            static_for<0, C>([&](auto c) MDQR_LAMBDA { carry_save_fold(s[c], t[c], total[c]); });
        }
        static_for<0, C>([&](auto c) MDQR_LAMBDA {
            store(state + 2 * c * L, total[c].limb[0]);
            store(state + (2 * c + 1) * L, total[c].limb[1]);
        });
    }

    void panel(const double* panel, const double* scalars, ptrdiff_t row_words, ptrdiff_t rows,
               int k, double* state) const {
        constexpr int C = 4;
        ptrdiff_t r = 0;
        for (; r + C <= rows; r += C, scalars += C * row_words, state += C * 2 * lanes<lane>)
            run<C>(panel, scalars, row_words, k, fold, state);
        for (; r < rows; ++r, scalars += row_words, state += 2 * lanes<lane>)
            run<1>(panel, scalars, row_words, k, fold, state);
    }

    template <int N> MDQR_FN static md<lane, N> result(const double* state) {
        static_assert(N == 2);
        return {{load<lane>(state), load<lane>(state + lanes<lane>)}};
    }
};

MDQR_END
