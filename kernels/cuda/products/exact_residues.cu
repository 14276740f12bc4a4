// Residues of lines as integers modulo all moduli in one pass over their limbs. -DMDQR_WORDS is the
// number of 32-bit words of a part of a number; MDQR_LIMBS is what the operand has.
#include "products/exact.hpp"

MDQR_BEGIN

// A block takes so many steps of so many lines; a thread four steps of a line.
inline constexpr int residue_threads = 128, tile_lines = 8, tile_terms = 64;
inline constexpr int tile_entries = tile_lines * tile_terms;
inline constexpr int words = MDQR_WORDS * (1 + MDQR_COMPLEX);

struct residue_arguments {
    lines_view x;
    const i64 *exponent, *shift;
    i64 tau, count, narrow;
    const four_words* table; // a row for each channel
    residue_bytes out;
};

// The words of one entry, `tile_entries` apart.
MDQR_FN void put_words(const residue_arguments& p, i64 i, i64 j, unsigned* to) {
    const bool within = i < p.x.lines && j < p.x.terms;
    double first = 0.0, second = 0.0;
    if (within)
        power_factors<double>(p.tau + p.shift[j] - p.exponent[i], first, second);
    static_for<0, 1 + MDQR_COMPLEX>([&](auto part) MDQR_LAMBDA {
        double x[limbs];
        const double* from = p.x.at(i, j) + part * p.x.of.imag;
        static_for<0, limbs>([&](auto l)
                                 MDQR_LAMBDA { x[l] = within ? from[l * p.x.of.plane] : 0.0; });
        i64 word[MDQR_WORDS];
        to_words(x, first, second, word);
        static_for<0, MDQR_WORDS>([&](auto w) MDQR_LAMBDA {
            to[(part.value * MDQR_WORDS + w.value) * tile_entries] = unsigned(word[w]);
        });
    });
}

struct alignas(16) channel {
    int modulus, start;
    float inverse; // of the modulus
    int padding;
};

// A row of the table: a channel, then the residues of the powers of 256, four bytes a word, padded;
// for wide moduli their lower digits, then the upper ones.
inline constexpr int factor_fours = (words + 3) / 4;

// += the words of four steps times the residues of the powers of 256.
MDQR_FN void add_dots(const four_words (&word)[words], const four_words* factor, int (&r)[4]) {
    static_for<0, factor_fours>([&](auto four) MDQR_LAMBDA {
        const four_words y = factor[four];
        static_for<0, 4>([&](auto k) MDQR_LAMBDA {
            constexpr int w = 4 * decltype(four)::value + k.value;
            if constexpr (w < words)
                static_for<0, 4>([&](auto s) MDQR_LAMBDA {
                    r[s] = dot_bytes(r[s], word[w].at[s], int(y.at[k]));
                });
        });
    });
}

MDQR_FN void put_residues(const residue_arguments& p, const four_words (&word)[words], i64 line,
                          i64 term) {
    const four_words* row = p.table;
    for (int c = 0; c < p.narrow; ++c, row += 1 + factor_fours) {
        const channel by = *reinterpret_cast<const channel*>(row);
        int r[4] = {by.start, by.start, by.start, by.start};
        add_dots(word, row + 1, r);
        // 128 is -128 modulo 256.
        static_for<0, 4>([&](auto s) MDQR_LAMBDA {
            r[s] = nearest_residue(r[s], float(by.modulus), by.inverse);
        });
        *p.out.four(c, line, term) = joined_bytes(r);
    }
    for (int c = int(p.narrow); c < p.count; ++c, row += 1 + 2 * factor_fours) {
        const channel by = *reinterpret_cast<const channel*>(row);
        int digit[3][4] = {{0, 0, 0, 0}, {by.start, by.start, by.start, by.start}, {0, 0, 0, 0}};
        add_dots(word, row + 1, digit[1]);
        add_dots(word, row + 1 + factor_fours, digit[0]);
        static_for<0, 4>([&](auto s) MDQR_LAMBDA {
            const int r = nearest_residue(digit[1][s] + digit[0][s] * 128, by.modulus, by.inverse);
            // Digits of opposite signs.
            const int size = ((r < 0 ? -r : r) + 127) >> 7;
            digit[0][s] = r < 0 ? -size : size;
            digit[1][s] = r - digit[0][s] * 128;
            digit[2][s] = digit[0][s] + digit[1][s];
        });
        const i64 plane = p.narrow + 3 * (c - p.narrow);
        static_for<0, 3>([&](auto d) MDQR_LAMBDA {
            *p.out.four(plane + d.value, line, term) = joined_bytes(digit[d]);
        });
    }
}

MDQR_END

MDQR_KERNEL(mdqr_exact_residues, mdqr::residue_arguments, mdqr::residue_threads) {
    using namespace mdqr;
    const i64 across = (p.out.terms + tile_terms - 1) / tile_terms;
    const i64 i0 = block_x() / across * tile_lines, j0 = block_x() % across * tile_terms;
    unsigned* shared = reinterpret_cast<unsigned*>(shared_memory());
    const bool by_line = p.x.is_by_line();
    for (int e = thread_index(); e < tile_entries; e += residue_threads) {
        const int i = by_line ? e / tile_terms : e % tile_lines;
        const int j = by_line ? e % tile_terms : e / tile_lines;
        put_words(p, i0 + i, j0 + j, shared + i * tile_terms + j);
    }
    sync_threads();
    const int at = 4 * thread_index();
    const i64 term = j0 + at % tile_terms;
    if (term >= p.out.terms)
        return;
    four_words word[words];
    static_for<0, words>([&](auto w) MDQR_LAMBDA {
        word[w] = *reinterpret_cast<const four_words*>(shared + w.value * tile_entries + at);
    });
    put_residues(p, word, i0 + at / tile_terms, term);
}
