// How sums of products are formed in a tile: by carry-save limbs (N = 2) or by digits. Both take
// operands of at most 1 in magnitude, packed as [k][word][lane] (lanes) and [k][word] (scalars),
// and keep their state as [word][lane].
#pragma once
#include "level/level.hpp"

#include "products/matmul_operand.hpp"
#include "mdqr/carry_save.hpp"
#include "mdqr/digits.hpp"

MDQR_BEGIN

// Pairs i + j < D of so many digits.
MDQR_FN constexpr int pairs_of(int D, int DA, int DB) {
    int n = 0;
    for (int i = 0; i < DA && i < D; ++i)
        n += DB < D - i ? DB : D - i;
    return n;
}

// Exact sums of D x D digits.
template <int D> struct digit_engine {
    static constexpr int words = D, state_words = D + 1, L = lanes<lane>;
    static constexpr bool is_exact = true;
    static constexpr int lift = lifted<D>;
    template <int M> static constexpr int near = near_digits<D, M>;
    // A packed panel of lanes stays within 32 KB of L1.
    static constexpr int chunk = ((4096 / (D * L)) & ~7) < (chunk_limit<D> & ~7)
                                     ? ((4096 / (D * L)) & ~7)
                                     : (chunk_limit<D> & ~7);
    static_assert(chunk >= 8 && chunk <= chunk_limit<D>);
    // Terms of a block where there are few scalar rows, or lanes along k.
    static constexpr int few_terms = D < 9 ? 64 : 32;
    static_assert(few_terms <= chunk_limit<D>);

    int fold; // not used: digits do not round

    template <int M> MDQR_FN static int pack(lane* limb, lane* word) {
        int used = near<M>;
        if (to_digits<D, M>(limb, word))
            static_for<near<M>, D>([&](auto i) MDQR_LAMBDA {
                if (any(word[i] != broadcast<lane>(0.0)))
                    used = i + 1;
            });
        return used;
    }

    // state += the products of `terms` packed vectors of DA digits and as many scalars of DB
    // digits, or vectors of them. All pairs of a term one after the other: for all digits, or two.
    template <int DA, int DB, class B>
    __attribute__((noinline)) static void all_pairs(const double* a, const double* b, int terms,
                                                    double* state) {
        const i64 h_bits = bits(digit_split), l_bits = bits(digit_rest);
        ints_t<lane> word[D + 1];
        static_for<0, D>([&](auto i) MDQR_LAMBDA {
            const i64 bias = i64(u64(digit_bias<DA, DB>(i, h_bits, l_bits)) * u64(terms));
            word[i + 1] =
                wrapping_add(bits(load<lane>(state + (i + 1) * L)), i64(u64(0) - u64(bias)));
        });
        for (int t = 0; t < terms; ++t, a += D * L, b += D * lanes<B>) {
            lane x[DA];
            B y[DB];
            static_for<0, DA>([&](auto i) MDQR_LAMBDA { x[i] = load<lane>(a + i * L); });
            static_for<0, DB>([&](auto j) MDQR_LAMBDA { y[j] = load<B>(b + j * lanes<B>); });
            digit_multiply_add<D, DA, DB>(x, y, word + 1);
        }
        word[0] = bits(load<lane>(state));
        put_carried(word, state);
    }

    // The same, for any numbers of digits: two pairs at a time, over all terms.
    template <class B>
    __attribute__((noinline)) static void each_pair(const double* a, int digits_a, const double* b,
                                                    int digits_b, int terms, double* state) {
        ints_t<lane> word[D + 1];
        static_for<0, D + 1>([&](auto i)
                                 MDQR_LAMBDA { word[i] = bits(load<lane>(state + i * L)); });
        for (int j = 0; j < digits_b; ++j) {
            int i = 0;
            for (; i + 1 < digits_a && i + j + 2 < D; i += 2)
                add_pairs<B, 2>(a + i * L, b + j * lanes<B>, terms, word + 1 + i + j);
            for (; i < digits_a && i + j + 1 < D; ++i)
                add_pairs<B, 1>(a + i * L, b + j * lanes<B>, terms, word + 1 + i + j);
            if (i < digits_a && i + j < D)
                add_pairs<B, 0>(a + i * L, b + j * lanes<B>, terms, word + 1 + i + j);
        }
        put_carried(word, state);
    }

    // What costs least; words behind the used ones may be unset where two digits are used.
    template <class B>
    static void add(const double* a, int digits_a, const double* b, int digits_b, int terms,
                    double* state) {
        // Of more digits all pairs do not fit the registers.
        if constexpr (D <= 9) {
            const int most = pairs_of(D, digits_a, digits_b) * 6 / 5;
            if (digits_a <= 2 && pairs_of(D, 2, D) <= most)
                return all_pairs<2, D, B>(a, b, terms, state);
            if (digits_b <= 2 && pairs_of(D, D, 2) <= most)
                return all_pairs<D, 2, B>(a, b, terms, state);
            if (pairs_of(D, D, D) <= most)
                return all_pairs<D, D, B>(a, b, terms, state);
        }
        each_pair<B>(a, digits_a, b, digits_b, terms, state);
    }

    // One panel of lanes against `rows` scalar rows, `parts` of which have used[row / parts]
    // digits.
    void panel(const double* panel, int digits, const double* scalars, ptrdiff_t row_words,
               ptrdiff_t rows, const int* used, int parts, int terms, double* state) const {
        for (ptrdiff_t r = 0; r < rows; ++r, scalars += row_words, state += state_words * L)
            add<double>(panel, digits, scalars, used[r / parts], terms, state);
    }

    template <int N> MDQR_FN static md<lane, N> result(const double* state) {
        ints_t<lane> word[D + 1];
        static_for<0, D + 1>([&](auto i)
                                 MDQR_LAMBDA { word[i] = bits(load<lane>(state + i * L)); });
        return from_words<D, N, lane>(word);
    }

private:
    MDQR_FN static void put_carried(ints_t<lane>* word, double* state) {
        carry_words<D>(word);
        static_for<0, D + 1>([&](auto i) MDQR_LAMBDA { store(state + i * L, from_bits(word[i])); });
    }

    // word[0..Count] += products of the digits a[0..Count) and b; none is dropped but with Count 0,
    // the last diagonal.
    template <class B, int Count>
    MDQR_FN static void add_pairs(const double* a, const double* b, int terms, ints_t<lane>* word) {
        constexpr int pairs = Count > 0 ? Count : 1;
        const lane c = broadcast<lane>(digit_split), c2 = broadcast<lane>(digit_split + digit_rest);
        const u64 h_bias = u64(bits(digit_split)) * u64(terms),
                  l_bias = u64(bits(digit_rest)) * u64(terms);
        ints_t<lane> sum[Count + 1];
        static_for<0, Count + 1>([&](auto k) MDQR_LAMBDA {
            const u64 bias = (k < pairs ? h_bias : 0) + (k > 0 ? l_bias : 0);
            sum[k] = wrapping_add(word[k], i64(u64(0) - bias));
        });
#pragma GCC unroll 2
        for (int t = 0; t < terms; ++t, a += D * L, b += D * lanes<B>) {
            const lane y = as_lanes<lane>(load<B>(b));
            static_for<0, pairs>([&](auto i) MDQR_LAMBDA {
                const lane x = load<lane>(a + i * L), h = fma(x, y, c);
                sum[i] = wrapping_add(sum[i], bits(h));
                if constexpr (Count > 0)
                    sum[i + 1] = wrapping_add(sum[i + 1], bits(fma(x, y, one_sum(c2, -h))));
            });
        }
        static_for<0, Count + 1>([&](auto k) MDQR_LAMBDA { word[k] = sum[k]; });
    }
};

// N = 2. Runs of F terms (carry_save.hpp has their errors) are added to a running total (26
// operations), which errs by 3 u^2 each time but the first. `fold_length` takes the longest F <= 64
// for which all is below (K + 8) eps = 4 (K + 8) u^2 (complex: K terms are 2K real ones, and the
// modulus of the error is at most sqrt 2 times that of a part).
constexpr bool fold_is_safe(ptrdiff_t terms, int f, bool is_complex) {
    const double F = terms < f ? double(terms) : f, folds = double((terms + f - 1) / f);
    const double error = carry_save_error(F, is_complex ? 2 : 1) + 3 * (folds - 1);
    const double bound =
        is_complex ? 4 * (0.5 * double(terms) + 8) * 0.7071 : 4 * (double(terms) + 8);
    return error <= 0.999 * bound;
}
// An even number, which does not cut complex terms.
constexpr int fold_length(ptrdiff_t terms, bool is_complex) {
    int f = 64;
    while (f > 4 && !fold_is_safe(terms, f, is_complex))
        f -= is_complex ? 2 : 1;
    return f;
}

struct carry_save_engine {
    static constexpr int words = 2, state_words = 2, L = lanes<lane>;
    static constexpr bool is_exact = false;
    static constexpr int lift = 0;
    template <int M> static constexpr int near = 2;
    static constexpr int chunk = 256, few_terms = 128;

    int fold;

    template <int M> MDQR_FN static int pack(lane* limb, lane* word) {
        static_assert(M == 2);
        word[0] = limb[0];
        word[1] = limb[1];
        return 2;
    }

    // C scalar rows; a term has P products, which lie side by side.
    template <int C, int P>
    __attribute__((noinline)) static void run(const double* panel, const double* row,
                                              ptrdiff_t row_words, int products, int fold,
                                              double* state) {
        md<lane, 2> total[C];
        static_for<0, C>([&](auto c) MDQR_LAMBDA {
            total[c] = {{load<lane>(state + 2 * c * L), load<lane>(state + (2 * c + 1) * L)}};
        });
        carry_save<lane, P> sum[C];
        static_for<0, C>([&](auto c) MDQR_LAMBDA { sum[c].clear(); });
        for (int j = 0; j < products;) {
            const int end = products - j < fold ? products : j + fold;
            for (; j < end; j += P) {
                md<lane, 2> x[P];
                static_for<0, P>([&](auto i) MDQR_LAMBDA {
                    const double* at = panel + 2 * (j + i) * L;
                    x[i] = {{load<lane>(at), load<lane>(at + L)}};
                });
                static_for<0, C>([&](auto c) MDQR_LAMBDA {
                    md<lane, 2> y[P];
                    static_for<0, P>([&](auto i) MDQR_LAMBDA {
                        const double* at = row + c * row_words + 2 * (j + i);
                        y[i] = {{broadcast<lane>(at[0]), broadcast<lane>(at[1])}};
                    });
                    sum[c].add(x, y);
                });
            }
            static_for<0, C>([&](auto c) MDQR_LAMBDA { sum[c].move_to(total[c]); });
        }
        static_for<0, C>([&](auto c) MDQR_LAMBDA {
            store(state + 2 * c * L, total[c].limb[0]);
            store(state + (2 * c + 1) * L, total[c].limb[1]);
        });
    }

    void panel(const double* panel, int, const double* scalars, ptrdiff_t row_words, ptrdiff_t rows,
               const int*, int parts, int products, double* state) const {
        constexpr int C = 4;
        const auto some = parts == 2 ? run<C, 2> : run<C, 1>,
                   one = parts == 2 ? run<1, 2> : run<1, 1>;
        ptrdiff_t r = 0;
        for (; r + C <= rows; r += C, scalars += C * row_words, state += C * 2 * L)
            some(panel, scalars, row_words, products, fold, state);
        for (; r < rows; ++r, scalars += row_words, state += 2 * L)
            one(panel, scalars, row_words, products, fold, state);
    }

    template <int N> MDQR_FN static md<lane, N> result(const double* state) {
        static_assert(N == 2);
        return {{load<lane>(state), load<lane>(state + L)}};
    }
};

MDQR_END
