// Residues of lines as integers modulo all moduli in one pass over their limbs. -DMDQR_WORDS is the
// number of 32-bit words of a part of a number; MDQR_LIMBS is what the operand has. A block takes
// fewer lines, -DMDQR_TILE_LINES, where a device has less shared memory than the words need.
#include "device/floats.hpp"
#include "device/matrix_step.hpp"
#include "products/exact.hpp"

MDQR_BEGIN

// A block takes so many steps of so many lines, a warp `span` of them at a time: their words times
// the residues of powers of 256 are a product of bytes, of `channels_at_once` channels.
#if !defined(MDQR_TILE_LINES)
#define MDQR_TILE_LINES 8
#endif
inline constexpr int residue_threads = 128, tile_lines = MDQR_TILE_LINES, tile_terms = 64;
inline constexpr int span = 32;
inline constexpr int tile_entries = tile_lines * tile_terms, channels_at_once = 16;
inline constexpr int words = MDQR_WORDS * (1 + MDQR_COMPLEX);
inline constexpr int steps = (words + 7) / 8; // of 32 bytes
// Lanes that read neighbouring words read from different banks.
inline constexpr int word_stride = tile_entries + 2;

struct residue_arguments {
    lines_view x;
    const i64 *exponent, *shift; // shift: null for none
    i64 tau, count, narrow;
    const four_words* table; // channels, those of 8 bits padded, then the factors
    residue_bytes out;
};

// The words of an entry at `from`, if it is within the lines.
MDQR_FN void put_words(const residue_arguments& p, const double* from, bool within, int power,
                       unsigned* to) {
    double first, second;
    power_factors(power, first, second);
    static_for<0, 1 + MDQR_COMPLEX>([&](auto part) MDQR_LAMBDA {
        double x[limbs];
        static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
            x[l] = within ? from[part * p.x.of.imag + l * p.x.of.plane] : 0.0;
        });
        i64 word[MDQR_WORDS];
        to_words(x, first, second, word);
        static_for<0, MDQR_WORDS>([&](auto w) MDQR_LAMBDA {
            to[(part.value * MDQR_WORDS + w.value) * word_stride] = unsigned(word[w]);
        });
    });
}

// All entries of a block: a thread goes down its column of a line, or along its line of terms.
MDQR_FN void put_block(const residue_arguments& p, i64 i0, i64 j0, unsigned* to) {
    const int t = thread_index();
    const bool by_line = p.x.is_by_line();
    const int di = by_line ? residue_threads / tile_terms : 0;
    const int dj = by_line ? 0 : residue_threads / tile_lines;
    i64 i = i0 + (by_line ? t / tile_terms : t % tile_lines);
    i64 j = j0 + (by_line ? t % tile_terms : t / tile_lines);
    const double* from = p.x.at(i, j);
    to += (i - i0) * tile_terms + j - j0;
    for (int e = t; e < tile_entries; e += residue_threads) {
        const bool within = i < p.x.lines && j < p.x.terms;
        const i64 power = within ? (p.shift ? p.shift[j] : 0) - p.exponent[i] : 0;
        put_words(p, from, within, int(p.tau + power), to);
        i += di;
        j += dj;
        from += di * p.x.line + dj * p.x.step;
        to += di * tile_terms + dj;
    }
}

// What a float holds with its integer as the last 22 bits: sums begin there, and are floats then.
inline constexpr float magic = 0x1.8p23f;
inline constexpr unsigned magic_word = 0x4b400000u;

struct alignas(16) channel {
    float modulus, inverse;
    unsigned start; // the residue of words that are all zero, of one byte behind a multiple of m
    unsigned divisor;
};

// Words of the 32 entries of a warp: of four times eight, each lane some of one of eight.
struct entry_words {
    unsigned at[steps][4][2];
};

// Entry 8 (l/4) + 2 q + l%2 for the columns l of four products q: a lane gets sums of neighbours.
MDQR_FN entry_words load_words(const unsigned* shared, int lane) {
    entry_words r;
    const int column = lane / 4, entry = 8 * (column / 2) + column % 2;
    static_for<0, steps>([&](auto s) MDQR_LAMBDA {
        static_for<0, 2>([&](auto half) MDQR_LAMBDA {
            const int w = 8 * s.value + 4 * half.value + lane % 4;
            // What is behind the words has the factor 0.
            const unsigned* from = shared + (w < words ? w : words - 1) * word_stride + entry;
            static_for<0, 4>([&](auto q) MDQR_LAMBDA { r.at[s][q][half] = from[2 * q.value]; });
        });
    });
    return r;
}

// Sums of channels l/4 (first two) and l/4 + 8 of a lane for entries 8 (l%4) + 2 q and the next.
using sums_of_lane = int[4][4];

// The same modulo m, near `start` again.
MDQR_FN int near_start(int sum, const channel& by) {
    const float turns = fused(float_of(unsigned(sum)), by.inverse, 0x1p23f);
    const float of_start = fused(float_of(by.start), by.inverse, 0x1p23f);
    return int(unsigned(sum) - (word_of(turns) - word_of(of_start)) * by.divisor);
}

// Sums of the bytes of 32 words stay within 22 bits. Of more, they are reduced halfway.
inline constexpr int reduced_at = words > 32 ? (steps + 1) / 2 : steps;

MDQR_FN void sum_products(const four_words* factor, const entry_words& word, unsigned first_start,
                          unsigned second_start, const channel& first, const channel& second,
                          sums_of_lane& sum) {
    int start[4] = {int(first_start), int(first_start), int(second_start), int(second_start)};
    static_for<0, steps>([&](auto s) MDQR_LAMBDA {
        const four_words a = factor[32 * s.value];
        if constexpr (s.value == reduced_at)
            static_for<0, 16>([&](auto e) MDQR_LAMBDA {
                int& x = sum[e.value / 4][e.value % 4];
                x = near_start(x, e.value % 4 < 2 ? first : second);
            });
        static_for<0, 4>([&](auto q) MDQR_LAMBDA {
            matrix_multiply_add(sum[q], a.at, word.at[s][q], s.value == 0 ? start : sum[q]);
        });
    });
}

MDQR_FN float as_float(int sum) { return float_of(unsigned(sum)) - magic; }

// x modulo m, nearest to zero, for |x| < 2^23: the quotient errs by less than 1 / (2 m).
MDQR_FN float nearest_residue(float x, const channel& by) {
    const float turns = fused(x, by.inverse, magic) - magic;
    return fused(-turns, by.modulus, x);
}

// The lowest byte of a sum modulo m. As a float the sum is M + s, M a multiple of m near 1.5 2^23;
// what its quotient has behind 2^23 is M / m + s / m to the nearest integer, and less than 1 / m
// beside it: m is 256, where nothing errs, or at most 253.
MDQR_FN int narrow_residue(int sum, const channel& by) {
    const float turns = fused(float_of(unsigned(sum)), by.inverse, 0x1p23f);
    return int(unsigned(sum) - word_of(turns) * by.divisor);
}

struct alignas(8) eight_bytes {
    int at[2];
};

// The lowest bytes of eight words.
MDQR_FN void put_bytes(signed char* to, const int (&low)[4], const int (&high)[4]) {
    *reinterpret_cast<eight_bytes*>(to) = {{joined_bytes(low), joined_bytes(high)}};
}

MDQR_FN void put_narrow(signed char* to, const channel& by, const sums_of_lane& sum, int second) {
    int byte[2][4];
    static_for<0, 8>([&](auto e) MDQR_LAMBDA {
        byte[e.value / 4][e.value % 4] =
            narrow_residue(sum[e.value / 2][2 * second + e.value % 2], by);
    });
    put_bytes(to, byte[0], byte[1]);
}

// Two digits of opposite signs to the base 128, which reach 127 * 128, and their sum; integers
// behind `magic`.
MDQR_FN void put_wide(signed char* to, i64 plane, const channel& by, const sums_of_lane& low,
                      const sums_of_lane& high, int second) {
    int byte[3][2][4];
    static_for<0, 8>([&](auto e) MDQR_LAMBDA {
        constexpr int q = e.value / 2, half = e.value / 4, at = e.value % 4;
        const int i = 2 * second + e.value % 2;
        const float upper = nearest_residue(as_float(high[q][i]), by);
        const float r = nearest_residue(fused(upper, 128.0f, as_float(low[q][i])), by);
        // Away from zero: no sum is halfway between two integers.
        const float away = r < 0.0f ? -127.0f / 256.0f : 127.0f / 256.0f;
        const float moved = fused(r, 1.0f / 128.0f, away) + magic, first = moved - magic;
        const float rest = fused(-128.0f, first, r);
        byte[0][half][at] = int(word_of(moved));
        byte[1][half][at] = int(word_of(rest + magic));
        byte[2][half][at] = int(word_of(first + rest + magic));
    });
    static_for<0, 3>([&](auto d)
                         MDQR_LAMBDA { put_bytes(to + d.value * plane, byte[d][0], byte[d][1]); });
}

// A lane puts bytes of channels lane / 4 and lane / 4 + 8 of each tile: of narrow ones to `to` plus
// the distance of their plane, if they are of a line.
MDQR_FN void put_residues(const residue_arguments& p, const entry_words& word, int lane,
                          signed char* to, bool within) {
    constexpr int half = channels_at_once / 2;
    const int row = lane / 4, narrow = int(p.narrow), wide = int(p.count) - narrow;
    const int tiles = (narrow + channels_at_once - 1) / channels_at_once;
    const int wide_tiles = (wide + channels_at_once - 1) / channels_at_once;
    const i64 plane = p.out.lines * p.out.terms;
    const channel* by = reinterpret_cast<const channel*>(p.table) + row;
    const four_words* factor = p.table + channels_at_once * (tiles + wide_tiles) + lane;
    signed char* at = to + row * plane;
    for (int c = row; c < row + channels_at_once * tiles;
         c += channels_at_once, at += channels_at_once * plane) {
        sums_of_lane sum;
        const channel first = by[0], second = by[half];
        sum_products(factor, word, first.start, second.start, first, second, sum);
        if (within && c < narrow)
            put_narrow(at, first, sum, 0);
        if (within && c + half < narrow)
            put_narrow(at + half * plane, second, sum, 1);
        by += channels_at_once;
        factor += 32 * steps;
    }
    at = to + (narrow + 3 * row) * plane;
    for (int c = row; c < row + channels_at_once * wide_tiles;
         c += channels_at_once, at += 3 * channels_at_once * plane) {
        sums_of_lane low, high;
        const channel first = by[0], second = by[half];
        sum_products(factor, word, first.start, second.start, first, second, low);
        sum_products(factor + 32 * steps * wide_tiles, word, magic_word, magic_word, first, second,
                     high);
        if (within && c < wide)
            put_wide(at, plane, first, low, high, 0);
        if (within && c + half < wide)
            put_wide(at + 3 * half * plane, plane, second, low, high, 1);
        by += channels_at_once;
        factor += 32 * steps;
    }
}

MDQR_END

MDQR_KERNEL(mdqr_exact_residues, mdqr::residue_arguments, mdqr::residue_threads) {
    using namespace mdqr;
    const i64 across = (p.out.terms + tile_terms - 1) / tile_terms;
    const i64 i0 = block_x() / across * tile_lines, j0 = block_x() % across * tile_terms;
    unsigned* shared = reinterpret_cast<unsigned*>(shared_memory());
    put_block(p, i0, j0, shared);
    sync_threads();
    // A warp takes its half of every second line.
    const int lane = thread_index() % 32, e0 = thread_index() / 32 * span;
    const i64 term = j0 + e0 % tile_terms + 8 * (lane % 4);
    signed char* to = p.out.data + (i0 + e0 / tile_terms) * p.out.terms + term;
    for (int e = e0; e < tile_entries; e += residue_threads) {
        const entry_words word = load_words(shared + e, lane);
        put_residues(p, word, lane, to, term < p.out.terms);
        to += residue_threads / tile_terms * p.out.terms;
    }
}
