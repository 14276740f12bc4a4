// Inverses of the diagonal blocks of float64 triangles, and the order of rows after interchanges.
#include "device/device.hpp"

MDQR_BEGIN

// A thread a column; see floats/triangles.py.
inline constexpr int most_width = 32, order_threads = 256;

#if MDQR_COMPLEX
struct number {
    double re, im;
};
MDQR_FN number less_product(number s, number a, number b) {
    return {fma(a.im, b.im, fma(-a.re, b.re, s.re)), fma(-a.im, b.re, fma(-a.re, b.im, s.im))};
}
MDQR_FN double magnitude(double x) { return x < 0.0 ? -x : x; }
// By the larger part of d, so that no square leaves the range.
MDQR_FN number quotient(number s, number d) {
    const bool turned = magnitude(d.im) > magnitude(d.re);
    const double large = turned ? d.im : d.re, small = turned ? d.re : d.im;
    const double ratio = small / large, size = fma(small, ratio, large);
    const double re = turned ? fma(s.re, ratio, s.im) : fma(s.im, ratio, s.re);
    const double im = turned ? fma(s.im, ratio, -s.re) : fma(-s.re, ratio, s.im);
    return {re / size, im / size};
}
MDQR_FN number unit(bool is_one) { return {is_one ? 1.0 : 0.0, 0.0}; }
#else
using number = double;
MDQR_FN number less_product(number s, number a, number b) { return fma(-a, b, s); }
MDQR_FN number quotient(number s, number d) { return s / d; }
MDQR_FN number unit(bool is_one) { return is_one ? 1.0 : 0.0; }
#endif

struct inverse_arguments {
    const number* r; // upper triangles: what lies below the diagonals is not read
    number* x;
    i64 order, width, count; // of a triangle, of its blocks, and how many of these there are
    i64 item, row;           // distances of triangles and of rows
    i64 units;               // the first so many triangles have ones on their diagonals
};

struct order_arguments {
    const i64* swaps; // row i is interchanged with row swaps[i], for i = 0, 1, ...
    i64* order;
    i64 rows;
};

struct column_arguments {
    const number* x;
    const i64* order;
    number* out; // column order[j] gets column j
    i64 rows, columns;
};

MDQR_END

// A block of threads a block: substitution from the last row on.
MDQR_KERNEL(mdqr_invert_blocks, mdqr::inverse_arguments, mdqr::most_width) {
    using namespace mdqr;
    number* r = reinterpret_cast<number*>(shared_memory());
    number* x = r + most_width * most_width;
    const int width = int(p.width), j = thread_index();
    const i64 triangle = block_x() / p.count, first = block_x() % p.count * p.width;
    const i64 at = triangle * p.item + first * (p.row + 1);
    const bool is_unit = triangle < p.units;
    for (int i = 0; i < width; ++i) {
        // Behind the order is an identity.
        const bool within = j < width && first + (i > j ? i : j) < p.order;
        const bool read = within && i <= j && !(is_unit && i == j);
        r[i * most_width + j] = read ? p.r[at + i * p.row + j] : unit(i == j);
    }
    sync_threads();
    if (j >= width)
        return;
    for (int i = width - 1; i >= 0; --i) {
        number sum = unit(i == j);
        for (int k = i + 1; k <= j; ++k)
            sum = less_product(sum, r[i * most_width + k], x[k * most_width + j]);
        x[i * most_width + j] = i <= j ? quotient(sum, r[i * most_width + i]) : unit(false);
    }
    for (int i = 0; i < width; ++i)
        p.x[at + i * p.row + j] = x[i * most_width + j];
}

// One thread interchanges: each step may need what the last one left.
MDQR_KERNEL(mdqr_row_order, mdqr::order_arguments, mdqr::order_threads) {
    using namespace mdqr;
    int *order = reinterpret_cast<int*>(shared_memory()), *swaps = order + p.rows;
    for (i64 i = thread_index(); i < p.rows; i += order_threads) {
        // Of matrices that are not finite they may be anything.
        const i64 place = p.swaps[i];
        order[i] = int(i);
        swaps[i] = int(place >= 0 && place < p.rows ? place : i);
    }
    sync_threads();
    if (thread_index() == 0)
        for (i64 i = 0; i < p.rows; ++i) {
            const int place = swaps[i], row = order[i];
            order[i] = order[place];
            order[place] = row;
        }
    sync_threads();
    for (i64 i = thread_index(); i < p.rows; i += order_threads)
        p.order[i] = order[i];
}

// A block a row.
MDQR_KERNEL(mdqr_put_columns, mdqr::column_arguments, mdqr::order_threads) {
    using namespace mdqr;
    const i64 start = block_x() * p.columns;
    for (i64 j = thread_index(); j < p.columns; j += order_threads)
        p.out[start + p.order[j]] = p.x[start + j];
}
