// Exponents and magnitudes of lines, of any limb count, real or complex: see products/exact.hpp.
#include "products/exact.hpp"

MDQR_BEGIN

// A block scans so many lines.
inline constexpr int line_threads = 256, scanned = line_threads / 32;

// Each may be null; `words` are the first ones of an operand, see Extents in _backend/exact.py.
struct scan_arguments {
    lines_view x;
    const i64* shift;
    i64 sign;            // of the shifts
    i64 *top, *exponent; // of the lines; the same, and 0 for lines of zeros
    i64* words;
};

inline constexpr int word_limbs = 0, word_top = 2, word_span = 4;

struct exponent_range {
    i64 top = absent_exponent, bottom = non_finite_exponent, held = 0;
    MDQR_FN void join(i64 t, i64 b, i64 limbs) {
        top = larger_ints<double>(top, t);
        bottom = smaller_ints<double>(bottom, b);
        held = larger_ints<double>(held, limbs);
    }
};

MDQR_FN void scan_entry(const scan_arguments& p, i64 i, i64 j, exponent_range& found) {
    const i64 shift = p.shift ? p.sign * p.shift[j] : 0;
    for (int part = 0; part < (p.x.of.imag ? 2 : 1); ++part) {
        const double* x = p.x.at(i, j) + part * p.x.of.imag;
        for (int l = 0; l < p.x.of.held; ++l) {
            const double v = x[l * p.x.of.plane];
            found.join(l == 0 ? exponents_above(v) + shift : absent_exponent,
                       lowest_bits(v) + shift, v == 0.0 ? 0 : l + 1);
        }
    }
}

MDQR_FN void put_line(const scan_arguments& p, i64 i, const exponent_range& found) {
    const bool is_zero = found.top < absent_exponent / 2; // with shifts
    if (p.top)
        p.top[i] = found.top;
    if (p.exponent)
        p.exponent[i] = is_zero ? 0 : found.top;
    if (!p.words)
        return;
    atomic_max(p.words + word_limbs, found.held);
    atomic_max(p.words + word_top, found.top - absent_exponent);
    atomic_max(p.words + word_span, is_zero ? 0 : found.top - found.bottom);
}

// A warp a line: doubles hold the exponents.
MDQR_FN void scan_by_line(const scan_arguments& p) {
    const int lane = thread_index() % 32;
    const i64 i = block_x() * scanned + thread_index() / 32;
    exponent_range found;
    for (i64 j = lane; i < p.x.lines && j < p.x.terms; j += 32)
        scan_entry(p, i, j, found);
    for (int mask = 16; mask > 0; mask /= 2) {
        const double t = shuffle_xor(double(found.top), mask);
        const double b = shuffle_xor(double(found.bottom), mask);
        const double held = shuffle_xor(double(found.held), mask);
        found.join(i64(t), i64(b), i64(held));
    }
    if (lane == 0 && i < p.x.lines)
        put_line(p, i, found);
}

// Eight neighbours a line each: a sector of memory has four.
MDQR_FN void scan_by_term(const scan_arguments& p) {
    constexpr int groups = line_threads / scanned;
    const int line = thread_index() % scanned, group = thread_index() / scanned;
    const i64 i = block_x() * scanned + line;
    exponent_range found;
    for (i64 j = group; i < p.x.lines && j < p.x.terms; j += groups)
        scan_entry(p, i, j, found);
    exponent_range* all = reinterpret_cast<exponent_range*>(shared_memory());
    all[thread_index()] = found;
    sync_threads();
    if (group > 0 || i >= p.x.lines)
        return;
    for (int g = 1; g < groups; ++g) {
        const exponent_range& other = all[scanned * g + line];
        found.join(other.top, other.bottom, other.held);
    }
    put_line(p, i, found);
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
};

// Four steps of one line: magnitudes cut to 7 bits, and 1 where there is one.
MDQR_FN void put_magnitudes(const magnitude_arguments& p, i64 i, i64 j0) {
    int size[4] = {}, is_there[4] = {};
    static_for<0, 4>([&](auto s) MDQR_LAMBDA {
        const i64 j = j0 + s;
        if (i < p.x.lines && j < p.x.terms) {
            const double* x = p.x.at(i, j);
            double v = abs(x[0]);
            if (p.x.of.imag) {
                const double w = abs(x[p.x.of.imag]);
                v = v < w ? w : v;
            }
            double first, second;
            const i64 shift = p.shift ? p.shift[j] : 0;
            power_factors<double>(7 + shift - p.exponent[i], first, second);
            size[s] = int(floor_magnitude(v, first, second));
            is_there[s] = v == 0.0 ? 0 : 1;
        }
    });
    *p.out.four(0, i, j0) = joined_bytes(size);
    *p.out.four(1, i, j0) = joined_bytes(is_there);
}

struct least_arguments {
    const int* sums; // (2, size): of magnitudes, and of terms that are not 0
    i64 size;
    i64* most; // how far the least is below `most_magnitude`
};

inline constexpr int most_magnitude = 1 << 30;

MDQR_END

MDQR_KERNEL(mdqr_exact_scan, mdqr::scan_arguments, mdqr::line_threads) {
    using namespace mdqr;
    if (p.x.is_by_line())
        scan_by_line(p);
    else
        scan_by_term(p);
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
    const i64 four = block_x() * line_threads + thread_index(), across = p.out.terms / 4;
    if (four < p.out.lines * across)
        put_magnitudes(p, four / across, four % across * 4);
}

MDQR_KERNEL(mdqr_exact_least, mdqr::least_arguments, mdqr::line_threads) {
    using namespace mdqr;
    int found = most_magnitude;
    for (i64 e = block_x() * line_threads + thread_index(); e < p.size;
         e += blocks_x() * line_threads)
        if (p.sums[p.size + e] != 0 && p.sums[e] < found)
            found = p.sums[e];
    for (int mask = 16; mask > 0; mask /= 2) {
        const int other = int(shuffle_xor(double(found), mask));
        found = other < found ? other : found;
    }
    if (thread_index() % 32 == 0)
        atomic_max(p.most, most_magnitude - found);
}
