// Residues of lines as integers modulo all moduli in one pass over their limbs. -DMDQR_WORDS is the
// number of 32-bit words of a part of a number; MDQR_LIMBS is what the operand has.
#include "device/floats.hpp"
#include "device/matrix_step.hpp"
#include "products/exact.hpp"

MDQR_BEGIN

// A block takes so many steps of so many lines, a warp `span` of them at a time: their words times
// the residues of powers of 256 are a product of bytes, of `channels_at_once` channels.
inline constexpr int residue_threads = 128, tile_lines = 8, tile_terms = 64, span = 32;
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

// The words of one entry.
MDQR_FN void put_words(const residue_arguments& p, i64 i, i64 j, unsigned* to) {
    const bool within = i < p.x.lines && j < p.x.terms;
    double first = 0.0, second = 0.0;
    if (within)
        power_factors<double>(p.tau + (p.shift ? p.shift[j] : 0) - p.exponent[i], first, second);
    static_for<0, 1 + MDQR_COMPLEX>([&](auto part) MDQR_LAMBDA {
        double x[limbs];
        const double* from = p.x.at(i, j) + part * p.x.of.imag;
        static_for<0, limbs>([&](auto l)
                                 MDQR_LAMBDA { x[l] = within ? from[l * p.x.of.plane] : 0.0; });
        i64 word[MDQR_WORDS];
        to_words(x, first, second, word);
        static_for<0, MDQR_WORDS>([&](auto w) MDQR_LAMBDA {
            to[(part.value * MDQR_WORDS + w.value) * word_stride] = unsigned(word[w]);
        });
    });
}

// What a float holds with its integer as the last 22 bits: sums begin there, and are floats then.
inline constexpr float magic = 0x1.8p23f;
inline constexpr unsigned magic_word = 0x4b400000u;

struct alignas(16) channel {
    float modulus, inverse;
    int start; // the residue of words that are all zero
    int padding;
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

MDQR_FN void start_sums(int first, int second, sums_of_lane& sum) {
    static_for<0, 4>([&](auto q) MDQR_LAMBDA {
        sum[q][0] = sum[q][1] = first;
        sum[q][2] = sum[q][3] = second;
    });
}

MDQR_FN void add_products(const four_words* factor, const entry_words& word, int lane,
                          sums_of_lane& sum) {
    static_for<0, steps>([&](auto s) MDQR_LAMBDA {
        const four_words a = factor[32 * s.value + lane];
        static_for<0, 4>([&](auto q)
                             MDQR_LAMBDA { matrix_multiply_add(sum[q], a.at, word.at[s][q]); });
    });
}

MDQR_FN float as_float(int sum) { return float_of(unsigned(sum)) - magic; }

// x / m to the nearest integer, for |x| < 2^23: the quotient errs by less than 1 / (2 m).
MDQR_FN float turns_of(float x, const channel& by) { return fused(x, by.inverse, magic) - magic; }

// x modulo m, nearest to zero.
MDQR_FN float nearest_residue(float x, const channel& by) {
    return fused(-turns_of(x, by), by.modulus, x);
}

// The lowest bytes of four floats with their integers behind `magic`.
MDQR_FN int joined_bytes(const float* x) {
    const int r[4] = {int(word_of(x[0])), int(word_of(x[1])), int(word_of(x[2])),
                      int(word_of(x[3]))};
    return joined_bytes(r);
}

struct alignas(8) eight_bytes {
    int at[2];
};

MDQR_FN void put_bytes(const residue_arguments& p, i64 plane, i64 line, i64 term,
                       const float (&x)[8]) {
    *reinterpret_cast<eight_bytes*>(p.out.four(plane, line, term)) = {
        {joined_bytes(x), joined_bytes(x + 4)}};
}

// Residues behind `magic` of sums behind it: 128 is -128 modulo 256.
MDQR_FN void put_narrow(const residue_arguments& p, const channel& by, const sums_of_lane& sum,
                        int second, i64 plane, i64 line, i64 term) {
    float byte[8];
    static_for<0, 8>([&](auto e) MDQR_LAMBDA {
        const float x = float_of(unsigned(sum[e.value / 2][2 * second + e.value % 2]));
        byte[e] = fused(-turns_of(x - magic, by), by.modulus, x);
    });
    put_bytes(p, plane, line, term, byte);
}

// Two digits of opposite signs to the base 128, which reach 127 * 128, and their sum.
MDQR_FN void put_wide(const residue_arguments& p, const channel& by, const sums_of_lane& low,
                      const sums_of_lane& high, int second, i64 plane, i64 line, i64 term) {
    float byte[3][8];
    static_for<0, 8>([&](auto e) MDQR_LAMBDA {
        constexpr int q = e.value / 2;
        const int i = 2 * second + e.value % 2;
        const float upper = nearest_residue(as_float(high[q][i]), by);
        const float r = nearest_residue(fused(upper, 128.0f, as_float(low[q][i])), by);
        // Away from zero: no sum is halfway between two integers.
        const float away = r < 0.0f ? -127.0f / 256.0f : 127.0f / 256.0f;
        const float moved = fused(r, 1.0f / 128.0f, away) + magic, first = moved - magic;
        const float rest = fused(-128.0f, first, r);
        byte[0][e] = moved;
        byte[1][e] = rest + magic;
        byte[2][e] = first + rest + magic;
    });
    static_for<0, 3>([&](auto d)
                         MDQR_LAMBDA { put_bytes(p, plane + d.value, line, term, byte[d]); });
}

MDQR_FN void put_residues(const residue_arguments& p, const entry_words& word, int lane, i64 line,
                          i64 term) {
    const i64 tiles = (p.narrow + channels_at_once - 1) / channels_at_once;
    const i64 wide = (p.count - p.narrow + channels_at_once - 1) / channels_at_once;
    const channel* by = reinterpret_cast<const channel*>(p.table) + lane / 4;
    const four_words* factor = p.table + channels_at_once * (tiles + wide);
    const bool within = term < p.out.terms;
    for (i64 tile = 0; tile < tiles; ++tile, by += channels_at_once, factor += 32 * steps) {
        sums_of_lane sum;
        start_sums(by[0].start, by[8].start, sum);
        add_products(factor, word, lane, sum);
        static_for<0, 2>([&](auto second) MDQR_LAMBDA {
            const i64 c = channels_at_once * tile + 8 * second.value + lane / 4;
            if (within && c < p.narrow)
                put_narrow(p, by[8 * second.value], sum, second.value, c, line, term);
        });
    }
    for (i64 tile = 0; tile < wide; ++tile, by += channels_at_once, factor += 32 * steps) {
        sums_of_lane low, high;
        start_sums(by[0].start, by[8].start, low);
        start_sums(int(magic_word), int(magic_word), high);
        add_products(factor, word, lane, low);
        add_products(factor + 32 * steps * wide, word, lane, high);
        static_for<0, 2>([&](auto second) MDQR_LAMBDA {
            const i64 c = channels_at_once * tile + 8 * second.value + lane / 4;
            if (within && c < p.count - p.narrow)
                put_wide(p, by[8 * second.value], low, high, second.value, p.narrow + 3 * c, line,
                         term);
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
    const int lane = thread_index() % 32;
    for (int e = thread_index() / 32 * span; e < tile_entries; e += residue_threads) {
        const entry_words word = load_words(shared + e, lane);
        put_residues(p, word, lane, i0 + e / tile_terms, j0 + e % tile_terms + 8 * (lane % 4));
    }
}
