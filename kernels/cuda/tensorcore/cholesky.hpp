// The triangle of CholeskyQR and its inverse, in float64 by one block: Gauss-Jordan elimination of
// A^T A, whose rows end as those of R, and on the left of the diagonal as those of the inverse.
#pragma once
#include "tensorcore/gram.hpp"

MDQR_BEGIN

inline constexpr int side = 16, cells = panel_columns / side;
// A column of which less than `least` of its square is left depends on others as far as float32 can
// tell: it becomes zero. Of pivots, for diagonals between 1/4 and 1: from `one_pass` on, errors of
// 2^-53 in A^T A are below those of float32 in Q; for less another pass is made. Columns with a
// pivot below `late` wait for it: to eliminate by them too would square a condition that float64
// cannot hold squared. What the others leave of them is their column of Q then.
inline constexpr double least = 0x1p-43, one_pass = 0x1p-23, late = 0x1p-16;
inline constexpr double never = 0x1p1000, smallest = 0x1p-1000;
inline constexpr int most_passes = 3;
// The squares of the lengths of columns of the inverse tell the condition also where no pivot does.
// Beyond `fine` Q is not orthonormal after this pass, beyond `sound` perhaps not after another
// either; and pivots are rounding errors then, and the inverse is none to the accuracy of float32.
inline constexpr double fine = 0x1p20, sound = 0x1p43;

struct triangle_task {
    const double* gram;
    double* inverse; // element (i, j) is inverse[i + 128 j]
    float_matrix r;
    double* limits; // squares of the lengths of columns that become zero, from pass to pass
    i64* again;     // becomes `turn` if another pass is wanted
    int turn;       // 1, 2, ...
    bool joins;     // r is what this pass multiplies from the left
    i64 floor;      // squares of lengths below two to it become zero too
    bool reflects;  // Q must be near an orthonormal one
    i64* breakdown; // set if it may not be, or without `reflects` if Q R may not be A
    MDQR_FN bool is_last() const { return turn == most_passes; }
};

struct cell_block {
    double x[cells][cells]; // element (y + 16 a, x + 16 b) of the thread (x, y)
};

// All rows as they are when their turn comes; of each, its scale, what its pivot must reach for it
// to eliminate (in the end whether it is late), and the reciprocal of its length.
inline constexpr int row_stride = panel_columns + 1;
struct cholesky_shared {
    double *rows, *scale, *limit, *inverse;
    MDQR_FN explicit cholesky_shared(double* start)
        : rows(start), scale(start + panel_columns * row_stride), limit(scale + panel_columns),
          inverse(limit + panel_columns) {}
};

// A power of two near the reciprocal of the root; 0 for zero columns.
MDQR_FN double column_scale(double square) {
    if (!(square > 0.0) || !(square < 0x1p1000))
        return square == 0.0 ? 0.0 : square - square + 1.0;
    const i64 exponent = (bits(square) >> 52) - 1022;
    return power_of_two(-((exponent + (exponent > 0 ? 1 : 0)) / 2));
}

MDQR_FN void read_cells(cell_block& g, const triangle_task& p, const cholesky_shared& s) {
    const int x = thread_index() % side, y = thread_index() / side;
    for (int i = thread_index(); i < panel_columns; i += gram_threads) {
        const double square = p.gram[i * (panel_columns + 1)], scale = column_scale(square);
        const double shortest = power_of_two(p.floor);
        const double limit = p.turn > 1                  ? p.limits[i]
                             : shortest > least * square ? shortest
                                                         : least * square;
        // Lengths tell what depends on others; pivots are differences, and rounding errors where it
        // matters.
        const bool dead = square == 0.0 || square < limit;
        const double end = limit * scale * scale > smallest ? limit * scale * scale : smallest;
        p.limits[i] = limit;
        s.scale[i] = scale;
        s.limit[i] = dead ? never : p.is_last() ? end : late;
    }
    sync_threads();
    static_for<0, cells>([&](auto a) MDQR_LAMBDA {
        static_for<0, cells>([&](auto b) MDQR_LAMBDA {
            const int i = y + side * a, j = x + side * b;
            g.x[a][b] = p.gram[i * panel_columns + j] * s.scale[i] * s.scale[j];
        });
    });
}

// To the last bit but one or two, for positive numbers.
MDQR_FN double reciprocal(double x) {
    double r = near_reciprocal(x);
    static_for<0, 2>([&](auto) MDQR_LAMBDA { r = fma(r, fma(-x, r, 1.0), r); });
    return r;
}

// Subtract multiples of row k = 16 A + turn from the rows behind it.
template <int A>
MDQR_FN void eliminate(cell_block& g, const double* row, int turn, double reciprocal) {
    const int x = thread_index() % side, y = thread_index() / side;
    const bool has_pivot = x == turn; // in cells (., A)
    double values[cells];
    static_for<0, cells>([&](auto b) MDQR_LAMBDA { values[b] = row[x + side * b]; });
    values[A] = has_pivot ? 1.0 : values[A];
    static_for<A, cells>([&](auto a) MDQR_LAMBDA {
        if (a > A || y > turn) {
            const double factor = row[y + side * a] * reciprocal;
            g.x[a][A] = has_pivot ? 0.0 : g.x[a][A];
            static_for<0, cells>(
                [&](auto b) MDQR_LAMBDA { g.x[a][b] = fma(-factor, values[b], g.x[a][b]); });
        }
    });
}

// Rows A * 16 to + 15. Roots and divisions of what a row ends as wait until all are done: here they
// would stand between each row and the next.
template <int A> MDQR_FN void eliminate_rows(cell_block& g, const cholesky_shared& s) {
    const int x = thread_index() % side;
    for (int y = 0; y < side; ++y) {
        const int k = side * A + y;
        double* const row = s.rows + k * row_stride;
        if (thread_index() / side == y)
            static_for<0, cells>([&](auto b) MDQR_LAMBDA { row[x + side * b] = g.x[A][b]; });
        sync_threads();
        const double pivot = row[k];
        eliminate<A>(g, row, y, pivot < s.limit[k] ? 0.0 : reciprocal(pivot));
    }
}

// Set the words that say what becomes of column k by its row of the inverse. `limit` is what its
// pivot must reach: without it nothing is left of the column, which breaks an orthonormal one down.
MDQR_FN void judge(const triangle_task& p, const double* row, int k, double pivot, double limit) {
    double square = 1.0;
    for (int j = 0; j < k; ++j)
        square = fma(row[j], row[j], square);
    const bool skipped = pivot < limit;
    const double left = !skipped ? pivot : p.reflects ? 0.0 : limit;
    if (!(square <= (p.reflects && p.is_last() ? fine : sound) * left))
        *p.breakdown = 1;
    if (p.reflects && !(square <= fine * left))
        *p.again = p.turn;
}

// Rows become those of the triangle on the right; the inverse, whose columns they are on the left,
// leaves.
MDQR_FN void finish_rows(const triangle_task& p, const cholesky_shared& s) {
    const int t = thread_index();
    if (t < panel_columns) {
        const double pivot = s.rows[t * row_stride + t];
        const bool skipped = pivot < s.limit[t];
        const bool is_late = skipped && s.limit[t] < never && !p.is_last();
        s.inverse[t] = is_late ? 1.0 : skipped ? 0.0 : 1.0 / sqrt(pivot);
        if (is_late || (!skipped && pivot < one_pass))
            *p.again = p.turn;
        if (t < p.r.columns && !is_late)
            judge(p, s.rows + t * row_stride, t, pivot, s.limit[t]);
        // In the unit of what this pass makes; columns of length 1 are never below.
        p.limits[t] = is_late ? p.limits[t] * s.scale[t] * s.scale[t] : 0.0;
        s.limit[t] = is_late ? 1.0 : 0.0;
    }
    sync_threads();
    for (int e = t; e < panel_columns * panel_columns; e += gram_threads) {
        const int k = e / panel_columns, j = e % panel_columns;
        double& cell = s.rows[k * row_stride + j];
        const double scale = s.scale[j], factor = s.inverse[k];
        const double left = j == k ? 1.0 : cell;
        p.inverse[e] = j <= k && factor != 0.0 ? scale * left * factor : 0.0;
        const bool is_late = s.limit[k] != 0.0;
        const bool none = j < k || factor == 0.0 || scale == 0.0 || (is_late && j > k);
        cell = none ? 0.0 : (is_late ? 1.0 : cell * factor) / scale;
    }
    sync_threads();
}

// The triangle of this pass times that of the passes before. A column needs only itself, and its
// upper elements first.
MDQR_FN void multiply_triangles(const triangle_task& p, const cholesky_shared& s) {
    const int j = thread_index();
    if (j < p.r.columns)
        for (int i = 0; i <= j; ++i) {
            double sum = 0.0;
            for (int k = i; k <= j; ++k)
                sum = fma(s.rows[i * row_stride + k], double(p.r.at(k, j)), sum);
            p.r.at(i, j) = float(sum);
        }
}

MDQR_FN void factor_gram(const triangle_task& p, double* start) {
    const cholesky_shared shared(start);
    cell_block g;
    read_cells(g, p, shared);
    static_for<0, cells>([&](auto a) MDQR_LAMBDA { eliminate_rows<a.value>(g, shared); });
    sync_threads();
    finish_rows(p, shared);
    if (p.joins)
        multiply_triangles(p, shared);
    else
        for (int e = thread_index(); e < panel_columns * panel_columns; e += gram_threads) {
            const int i = e % panel_columns, j = e / panel_columns;
            if (i <= j && p.r.has(i, j))
                p.r.at(i, j) = float(shared.rows[i * row_stride + j]);
        }
}

MDQR_END
