// Exponents and magnitudes of lines, of any limb count, real or complex: see products/exact.hpp.
#include "products/exact.hpp"

MDQR_BEGIN

// A block scans so many lines.
inline constexpr int line_threads = 256, scanned = line_threads / 32;

struct scan_arguments {
    lines_view x;
    const i64* shift;
    i64 *top, *exponent; // of the lines; the same, and 0 for lines of zeros
    i64* extents;        // the largest top, and the largest distance to a lowest bit
};

struct exponent_range {
    i64 top = absent_exponent, bottom = non_finite_exponent;
    MDQR_FN void join(i64 t, i64 b) {
        top = larger_ints<double>(top, t);
        bottom = smaller_ints<double>(bottom, b);
    }
};

MDQR_FN void scan_entry(const scan_arguments& p, i64 i, i64 j, exponent_range& found) {
    const i64 shift = p.shift[j];
    for (int part = 0; part < (p.x.of.imag ? 2 : 1); ++part) {
        const double* x = p.x.at(i, j) + part * p.x.of.imag;
        for (int l = 0; l < p.x.of.held; ++l) {
            const double v = x[l * p.x.of.plane];
            found.join(l == 0 ? exponents_above(v) + shift : absent_exponent,
                       lowest_bits(v) + shift);
        }
    }
}

MDQR_FN void put_line(const scan_arguments& p, i64 i, const exponent_range& found) {
    const bool is_zero = found.top < absent_exponent / 2; // with shifts
    p.top[i] = found.top;
    p.exponent[i] = is_zero ? 0 : found.top;
    atomic_max(p.extents, found.top);
    atomic_max(p.extents + 1, is_zero ? 0 : found.top - found.bottom);
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
        found.join(i64(t), i64(b));
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
    i64* all = reinterpret_cast<i64*>(shared_memory());
    all[2 * thread_index()] = found.top;
    all[2 * thread_index() + 1] = found.bottom;
    sync_threads();
    if (group > 0 || i >= p.x.lines)
        return;
    for (int g = 1; g < groups; ++g)
        found.join(all[2 * (scanned * g + line)], all[2 * (scanned * g + line) + 1]);
    put_line(p, i, found);
}

struct magnitude_arguments {
    lines_view x;
    const i64 *exponent, *shift;
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
            power_factors<double>(7 + p.shift[j] - p.exponent[i], first, second);
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
    i64* most; // minus the least
};

MDQR_END

MDQR_KERNEL(mdqr_exact_scan, mdqr::scan_arguments, mdqr::line_threads) {
    using namespace mdqr;
    if (p.x.is_by_line())
        scan_by_line(p);
    else
        scan_by_term(p);
}

MDQR_KERNEL(mdqr_exact_magnitudes, mdqr::magnitude_arguments, mdqr::line_threads) {
    using namespace mdqr;
    const i64 four = block_x() * line_threads + thread_index(), across = p.out.terms / 4;
    if (four < p.out.lines * across)
        put_magnitudes(p, four / across, four % across * 4);
}

MDQR_KERNEL(mdqr_exact_least, mdqr::least_arguments, mdqr::line_threads) {
    using namespace mdqr;
    int found = 1 << 30;
    for (i64 e = block_x() * line_threads + thread_index(); e < p.size;
         e += blocks_x() * line_threads)
        if (p.sums[p.size + e] != 0 && p.sums[e] < found)
            found = p.sums[e];
    for (int mask = 16; mask > 0; mask /= 2) {
        const int other = int(shuffle_xor(double(found), mask));
        found = other < found ? other : found;
    }
    if (thread_index() % 32 == 0)
        atomic_max(p.most, -i64(found));
}
