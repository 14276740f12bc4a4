// Maxima of the rows of an operand, for one level and all limb counts: see
// products/matmul_operand.hpp.
#include "level/level.hpp"

#include "products/matmul_operand.hpp"

MDQR_BEGIN

MDQR_FN ints_t<lane> larger_bits(ints_t<lane> peak, const double* p) {
    const ints_t<lane> b = bits(load<lane>(p)) & i64(0x7fffffffffffffffLL);
    return select_ints(b > peak, b, peak);
}
MDQR_FN u64 larger(u64 a, u64 b) { return a > b ? a : b; }

// peak[i] = the largest of itself and the magnitudes (as bits) in row i; k is contiguous.
static void scan_along_rows(const double* p, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t k,
                            u64* peak) {
    constexpr int L = lanes<lane>;
    for (ptrdiff_t i = 0; i < rows; ++i, p += row) {
        ints_t<lane> m = bits(broadcast<lane>(0.0));
        ptrdiff_t j = 0;
        for (; j + L <= k; j += L)
            m = larger_bits(m, p + j);
        double found[L];
        store(found, from_bits(m));
        for (int l = 0; l < L; ++l)
            peak[i] = larger(peak[i], u64(bits(found[l])));
        for (; j < k; ++j)
            peak[i] = larger(peak[i], magnitude_bits(p[j]));
    }
}

// The same where the rows are contiguous: some vectors of them at a time.
template <int V> static void scan_vectors(const double* p, ptrdiff_t step, ptrdiff_t k, u64* peak) {
    constexpr int L = lanes<lane>;
    ints_t<lane> m[V];
    for (int v = 0; v < V; ++v)
        m[v] = bits(broadcast<lane>(0.0));
    for (ptrdiff_t j = 0; j < k; ++j, p += step)
        static_for<0, V>([&](auto v) MDQR_LAMBDA { m[v] = larger_bits(m[v], p + v * L); });
    double found[L];
    for (int v = 0; v < V; ++v) {
        store(found, from_bits(m[v]));
        for (int l = 0; l < L; ++l)
            peak[v * L + l] = larger(peak[v * L + l], u64(bits(found[l])));
    }
}
static void scan_along_columns(const double* p, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t k,
                               u64* peak) {
    constexpr int L = lanes<lane>, V = 8;
    ptrdiff_t i = 0;
    for (; i + V * L <= rows; i += V * L)
        scan_vectors<V>(p + i, step, k, peak + i);
    for (; i + L <= rows; i += L)
        scan_vectors<1>(p + i, step, k, peak + i);
    for (; i < rows; ++i)
        for (ptrdiff_t j = 0; j < k; ++j)
            peak[i] = larger(peak[i], magnitude_bits(p[i + j * step]));
}

static void scan_plane(const double* p, ptrdiff_t row, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t k,
                       u64* peak) {
    if (step == 1)
        return scan_along_rows(p, row, rows, k, peak);
    if (row == 1)
        return scan_along_columns(p, step, rows, k, peak);
    for (ptrdiff_t i = 0; i < rows; ++i)
        for (ptrdiff_t j = 0; j < k; ++j)
            peak[i] = larger(peak[i], magnitude_bits(p[i * row + j * step]));
}

void scan_rows(const operand& x, ptrdiff_t item, ptrdiff_t r0, ptrdiff_t rows, ptrdiff_t k,
               row_scales& s) {
    for (ptrdiff_t i = 0; i < rows; ++i)
        s.peak_bits[i] = 0;
    scan_plane(x.at(item, r0, 0), x.row, x.step, rows, k, s.peak_bits);
    if (x.imag != 0)
        scan_plane(x.at(item, r0, 0) + x.imag, x.row, x.step, rows, k, s.peak_bits);
    s.all_finite = true;
    for (ptrdiff_t i = 0; i < rows; ++i) {
        s.finite[i] = s.peak_bits[i] < infinity_bits;
        s.all_finite = s.all_finite && s.finite[i];
        s.e[i] = s.finite[i] && s.peak_bits[i] != 0 ? exponent(from_bits(i64(s.peak_bits[i]))) : 0;
        const int t = -(s.e[i] + 1), half = t >> 1;
        s.first[i] = power_of_two(half);
        s.second[i] = power_of_two(t - half);
    }
}

void find_peaks(const operand& x, ptrdiff_t item, ptrdiff_t r0, ptrdiff_t rows, ptrdiff_t k,
                row_scales& s) {
    for (ptrdiff_t i = 0; i < rows; ++i) {
        const double* p = x.at(item, r0 + i, 0);
        s.peak[i] = 0;
        if (!s.finite[i] || s.peak_bits[i] == 0)
            continue;
        const u64 least = magnitude_bits(scale(1.0, s.e[i]));
        for (ptrdiff_t j = 0; j < k; ++j) {
            const double re = p[j * x.step], im = x.imag != 0 ? p[j * x.step + x.imag] : 0.0;
            if (magnitude_bits(re) >= least || magnitude_bits(im) >= least) {
                s.peak[i] = j;
                break;
            }
        }
    }
}

MDQR_END
