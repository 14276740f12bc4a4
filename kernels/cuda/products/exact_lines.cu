// Exponents and magnitudes of lines, of any limb count, real or complex: see products/exact.hpp.
#include "device/floats.hpp"
#include "products/exact.hpp"

MDQR_BEGIN

// A block scans so many lines, and a lane asks for so many entries before it looks at the first.
inline constexpr int line_threads = 256, scanned = line_threads / 32, ahead = 4;

// Each may be null.
struct scanned_lines {
    lines_view x;
    const i64* shift;
    i64 *top, *exponent; // of the lines; the same, and 0 for lines of zeros
};

struct scan_arguments {
    scanned_lines of[2]; // of the left and of the right operand
    i64 sign;            // of the shifts
    i64* words;          // see Extents in _backend/exact.py; may be null
};

inline constexpr int word_limbs = 0, word_top = 2, word_span = 4;

// Exponents in 32 bits, with shifts cut to 26: of zeros they are below, of what is not finite
// above.
inline constexpr int far = 1 << 28, most_shift = 1 << 26;

MDQR_FN int field_of_words(unsigned high) { return int(high >> 20 & 0x7ffu); }

// As `exponents_above` and `lowest_bits`, which are of lanes with 64 bits.
MDQR_FN int exponent_above(double x) {
    const int field = field_of_words(unsigned(bits(x) >> 32));
    const int e = field == 0x7ff ? far : (field > 0 ? field : 1) - 1022;
    return x == 0.0 ? -far : e;
}
MDQR_FN int lowest_bit(double x) {
    const unsigned high = unsigned(bits(x) >> 32), low = unsigned(bits(x));
    const int field = field_of_words(high), unit = (field > 0 ? field : 1) - 1075;
    const unsigned top = (high & 0xfffffu) | (field > 0 ? 0x100000u : 0u);
    const unsigned word = low != 0 ? low : top;
    const int place = int(word_of(float(word & (0u - word))) >> 23) - (low != 0 ? 127 : 95);
    return x == 0.0 ? far : unit + place;
}
MDQR_FN i64 wide(int e) {
    return e < -far / 2 ? absent_exponent : e > far / 2 ? non_finite_exponent : i64(e);
}

struct exponent_range {
    int top = -far, bottom = far, held = 0;
    MDQR_FN void join(int t, int b, int limbs) {
        top = t > top ? t : top;
        bottom = b < bottom ? b : bottom;
        held = limbs > held ? limbs : held;
    }
};

MDQR_FN int shift_of(const scanned_lines& p, i64 sign, i64 j) {
    const i64 e = p.shift && j < p.x.terms ? sign * p.shift[j] : 0;
    return int(e < -most_shift ? -most_shift : e > most_shift ? most_shift : e);
}

// Entries j, j + stride and so on; of Tops alone what lies above. Limbs do not overlap,
// and zeros come last: the first one has the largest bit, the last one that is not 0 the lowest.
template <bool Tops>
MDQR_FN void scan_entries(const scanned_lines& p, i64 sign, i64 i, i64 j, i64 stride,
                          exponent_range& found) {
    for (int part = 0; part < (p.x.of.imag ? 2 : 1); ++part) {
        const double* x = p.x.at(i, j) + part * p.x.of.imag;
        double first[ahead] = {}, last[ahead] = {};
        int held[ahead] = {};
        for (int l = 0; l < p.x.of.held; ++l, x += p.x.of.plane) {
            double v[ahead];
            static_for<0, ahead>([&](auto e) MDQR_LAMBDA {
                v[e] = j + e.value * stride < p.x.terms ? x[e.value * stride * p.x.step] : 0.0;
            });
            static_for<0, ahead>([&](auto e) MDQR_LAMBDA {
                first[e] = l == 0 ? v[e] : first[e];
                last[e] = v[e] == 0.0 ? last[e] : v[e];
                held[e] = v[e] == 0.0 ? held[e] : l + 1;
            });
        }
        static_for<0, ahead>([&](auto e) MDQR_LAMBDA {
            const int shift = shift_of(p, sign, j + e.value * stride);
            const int top = exponent_above(first[e]) + shift;
            if (Tops)
                found.join(top, far, 0);
            else
                found.join(top, lowest_bit(last[e]) + shift, held[e]);
        });
    }
}

MDQR_FN void put_line(const scanned_lines& p, i64* words, i64 i, const exponent_range& found) {
    const i64 top = wide(found.top);
    const bool is_zero = top == absent_exponent;
    if (p.top)
        p.top[i] = top;
    if (p.exponent)
        p.exponent[i] = is_zero ? 0 : top;
    if (!words)
        return;
    atomic_max(words + word_limbs, found.held);
    atomic_max(words + word_top, top - absent_exponent);
    atomic_max(words + word_span, is_zero ? 0 : top - found.bottom);
}

// A warp a line: doubles hold the exponents.
template <bool Tops> MDQR_FN void scan_by_line(const scanned_lines& p, i64 sign, i64* words) {
    const int lane = thread_index() % 32;
    const i64 i = block_x() * scanned + thread_index() / 32;
    exponent_range found;
    for (i64 j = lane; i < p.x.lines && j < p.x.terms; j += 32 * ahead)
        scan_entries<Tops>(p, sign, i, j, 32, found);
    for (int mask = 16; mask > 0; mask /= 2) {
        const double t = shuffle_xor(double(found.top), mask);
        const double b = shuffle_xor(double(found.bottom), mask);
        const double held = shuffle_xor(double(found.held), mask);
        found.join(int(t), int(b), int(held));
    }
    if (lane == 0 && i < p.x.lines)
        put_line(p, words, i, found);
}

// Eight neighbours a line each: a sector of memory has four.
template <bool Tops> MDQR_FN void scan_by_term(const scanned_lines& p, i64 sign, i64* words) {
    constexpr int groups = line_threads / scanned;
    const int line = thread_index() % scanned, group = thread_index() / scanned;
    const i64 i = block_x() * scanned + line;
    exponent_range found;
    for (i64 j = group; i < p.x.lines && j < p.x.terms; j += groups * ahead)
        scan_entries<Tops>(p, sign, i, j, groups, found);
    exponent_range* all = reinterpret_cast<exponent_range*>(shared_memory());
    all[thread_index()] = found;
    sync_threads();
    if (group > 0 || i >= p.x.lines)
        return;
    for (int g = 1; g < groups; ++g) {
        const exponent_range& other = all[scanned * g + line];
        found.join(other.top, other.bottom, other.held);
    }
    put_line(p, words, i, found);
}

struct balance_arguments {
    const i64 *left, *right; // what is largest in the columns of both
    i64 terms;
    i64 *shift, *most; // most: the largest size
};

MDQR_FN i64 balance(const balance_arguments& p, i64 j) {
    const i64 a = p.left[j], b = p.right[j];
    return smaller_ints<double>(a, b) < absent_exponent / 2 ? 0 : (b - a) >> 1;
}

struct magnitude_arguments {
    lines_view x;
    const i64 *exponent, *shift; // shift: null for none
    residue_bytes out;
    i64 planes; // the second one says where there are magnitudes
};

// Four steps of one line: magnitudes cut to 7 bits, and 1 where there is one.
MDQR_FN void put_magnitudes(const magnitude_arguments& p, i64 i, i64 j0) {
    int size[4] = {}, is_there[4] = {};
    const int power = 7 - (i < p.x.lines ? int(p.exponent[i]) : 0);
    double first, second;
    power_factors(power, first, second);
    static_for<0, 4>([&](auto s) MDQR_LAMBDA {
        const i64 j = j0 + s;
        if (i < p.x.lines && j < p.x.terms) {
            const double* x = p.x.at(i, j);
            double v = abs(x[0]);
            if (p.x.of.imag) {
                const double w = abs(x[p.x.of.imag]);
                v = v < w ? w : v;
            }
            if (p.shift)
                power_factors(power + int(p.shift[j]), first, second);
            size[s] = int(floor_magnitude(v, first, second));
            is_there[s] = v == 0.0 ? 0 : 1;
        }
    });
    *p.out.four(0, i, j0) = joined_bytes(size);
    if (p.planes > 1)
        *p.out.four(1, i, j0) = joined_bytes(is_there);
}

struct least_arguments {
    const int *sums, *counts;  // of magnitudes, and of terms that are not 0: null for all
    i64 rows, columns, across; // without padding, and with it
    i64* most;                 // how far the least is below `most_magnitude`
};

inline constexpr int most_magnitude = 1 << 30;

MDQR_FN int least_of_row(const least_arguments& p, i64 i) {
    int found = most_magnitude;
    for (i64 j = thread_index(); j < p.columns; j += ahead * line_threads) {
        int sum[ahead];
        static_for<0, ahead>([&](auto e) MDQR_LAMBDA {
            const i64 k = j + e.value * line_threads, at = i * p.across + k;
            const bool counts = k < p.columns && !(p.counts && p.counts[at] == 0);
            sum[e] = counts ? p.sums[at] : most_magnitude;
        });
        static_for<0, ahead>([&](auto e) MDQR_LAMBDA { found = sum[e] < found ? sum[e] : found; });
    }
    return found;
}

MDQR_END

MDQR_KERNEL(mdqr_exact_scan, mdqr::scan_arguments, mdqr::line_threads) {
    using namespace mdqr;
    const scanned_lines& lines = p.of[block_y()];
    if (p.words && lines.x.is_by_line())
        scan_by_line<false>(lines, p.sign, p.words + block_y());
    else if (p.words)
        scan_by_term<false>(lines, p.sign, p.words + block_y());
    else if (lines.x.is_by_line())
        scan_by_line<true>(lines, p.sign, nullptr);
    else
        scan_by_term<true>(lines, p.sign, nullptr);
}

MDQR_KERNEL(mdqr_exact_balance, mdqr::balance_arguments, mdqr::line_threads) {
    using namespace mdqr;
    const i64 j = block_x() * line_threads + thread_index();
    i64 size = 0;
    if (j < p.terms) {
        const i64 shift = p.shift[j] = balance(p, j);
        size = shift < 0 ? -shift : shift;
    }
    for (int mask = 16; mask > 0; mask /= 2)
        size = larger_ints<double>(size, i64(shuffle_xor(double(size), mask)));
    if (thread_index() % 32 == 0)
        atomic_max(p.most, size);
}

MDQR_KERNEL(mdqr_exact_magnitudes, mdqr::magnitude_arguments, mdqr::line_threads) {
    using namespace mdqr;
    // Neighbours in memory go to neighbouring threads: the fours of a line, or eight lines.
    const i64 across = p.out.terms / 4, lines = p.x.is_by_line() ? 1 : scanned;
    const i64 place = block_x() * line_threads + thread_index();
    const i64 four = place / lines % across,
              line = place / (lines * across) * lines + place % lines;
    if (line < p.out.lines)
        put_magnitudes(p, line, 4 * four);
}

MDQR_KERNEL(mdqr_exact_least, mdqr::least_arguments, mdqr::line_threads) {
    using namespace mdqr;
    int found = most_magnitude;
    for (i64 i = block_x(); i < p.rows; i += blocks_x()) {
        const int other = least_of_row(p, i);
        found = other < found ? other : found;
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        const int other = int(shuffle_xor(double(found), mask));
        found = other < found ? other : found;
    }
    if (thread_index() % 32 == 0)
        atomic_max(p.most, most_magnitude - found);
}
