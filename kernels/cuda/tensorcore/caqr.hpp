// Blocks of up to 256 rows of a panel of 128 columns, in shared memory if they fit: modified
// Gram-Schmidt of 32 columns, and products with them, by 256 threads.
//
// Gram-Schmidt: thread (w, l) holds its rows of column l in registers. Only the column at hand goes
// through shared memory; its products with all columns meet there once.
#pragma once
#include "tensorcore/formats.hpp"

MDQR_BEGIN

inline constexpr int caqr_warps = 8, caqr_threads = 32 * caqr_warps;
inline constexpr int block_rows = 256, block_columns = 32, panel_columns = 128;
// Strides whose columns (rows) start four banks apart, for words in fours.
inline constexpr int tile_stride = block_rows + 4, square_stride = block_columns + 4;
inline constexpr int behind_stride = panel_columns - block_columns + 4;
inline constexpr int square_size = block_columns * block_columns;
// Triangles of a block of the tree, at most, and rows of a thread.
inline constexpr int fan_in = 16, most_rows = fan_in * block_columns / caqr_warps;
inline constexpr int behind_size = block_columns * (panel_columns - block_columns);

// Whether the tile lies in shared memory, as all else does.
#if defined(MDQR_GLOBAL)
inline constexpr bool tile_in_shared = false;
#else
inline constexpr bool tile_in_shared = true;
#endif

// Sums alternate between two places, so that one barrier a sum is enough.
struct caqr_shared {
    float* tile;   // [128][260], column by column
    float* sums;   // [2][warps][32]
    float* pivots; // [warps][64]
    float* square; // [32][36], row by row: R of a block, and what its Q is multiplied by
    float* behind; // products with the columns behind, column by column; or R12, row by row
    MDQR_FN explicit caqr_shared(const workspace& work)
        : tile(reinterpret_cast<float*>(block_memory(work))),
          sums(tile_in_shared ? tile + panel_columns * tile_stride : shared_floats()),
          pivots(sums + 2 * caqr_threads), square(pivots + most_rows * caqr_warps),
          behind(square + block_columns * square_stride) {}
    MDQR_FN float* column(int j) const { return tile + j * tile_stride; }
};

struct alignas(16) float_quad {
    float x[4];
};
MDQR_FN float_quad& quad_at(float* x) { return *reinterpret_cast<float_quad*>(x); }

template <int Count> MDQR_FN void read_quads(float (&r)[Count], float* shared) {
    static_for<0, Count / 4>([&](auto c) MDQR_LAMBDA {
        const float_quad quad = quad_at(shared + 4 * c);
        static_for<0, 4>([&](auto e) MDQR_LAMBDA { r[4 * c + e] = quad.x[e]; });
    });
}
// The first Count of r.
template <int Count, int Size> MDQR_FN void write_quads(const float (&r)[Size], float* shared) {
    static_for<0, Count / 4>([&](auto c) MDQR_LAMBDA {
        float_quad quad;
        static_for<0, 4>([&](auto e) MDQR_LAMBDA { quad.x[e] = r[4 * c + e]; });
        quad_at(shared + 4 * c) = quad;
    });
}

// The sum of x over the warps, lane by lane.
MDQR_FN float sum_of_warps(float x, float* sums) {
    const int lane = thread_index() % 32;
    sums[thread_index()] = x;
    sync_threads();
    float part[caqr_warps];
    static_for<0, caqr_warps>([&](auto w) MDQR_LAMBDA { part[w] = sums[32 * w + lane]; });
    return ((part[0] + part[1]) + (part[2] + part[3])) +
           ((part[4] + part[5]) + (part[6] + part[7]));
}

template <int Count, int Size>
MDQR_FN float product_of(const float (&x)[Count], const float (&y)[Size]) {
    float sum[4] = {};
    static_for<0, Count>([&](auto i) MDQR_LAMBDA { sum[i % 4] = fused(x[i], y[i], sum[i % 4]); });
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// To the last bit but one or two.
MDQR_FN float reciprocal_root(float x) {
    const float y = near_reciprocal_root(x);
    return fused(y, fused(-0.5f * x * y, y, 0.5f), y);
}

// Columns `first` to `last`, of which the first Live rows of the thread are not zero. The column
// itself stays as it is; `mine` is what that of this lane is multiplied by in the end.
template <int Live, int Rows>
MDQR_FN void make_orthogonal(float (&a)[Rows], const caqr_shared& s, int first, int last,
                             float least, float& mine) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    float* const pivot = s.pivots + most_rows * warp;
    for (int k = first; k < last; ++k) {
        if (lane == k)
            write_quads<Live>(a, pivot);
        sync_warp();
        float v[Live];
        read_quads<Live>(v, pivot);
        const float sum = sum_of_warps(product_of(v, a), s.sums + (k % 2) * caqr_threads);
        const float length = shuffle(sum, k);
        const float inverse = length <= shuffle(least, k) ? 0.0f : reciprocal_root(length);
        const float factor = lane < k ? 0.0f : sum * inverse;
        if (warp == 0)
            s.square[k * square_stride + lane] = factor;
        if (lane == k)
            mine = inverse;
        const float step = lane > k ? -factor * inverse : 0.0f;
        static_for<0, Live>([&](auto i) MDQR_LAMBDA { a[i] = fused(step, v[i], a[i]); });
    }
}

// The columns become orthonormal, R goes to `square`. Those whose square of the length is not above
// `least` of their lane become zero. Of triangles, rows come in Parts: the first 32 / Parts of all,
// and so on, each zero in the columns before.
template <int Parts, int Rows>
MDQR_FN void gram_schmidt(float (&a)[Rows], const caqr_shared& s, int columns, float least) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    float mine = 0.0f;
    static_for<0, Parts>([&](auto part) MDQR_LAMBDA {
        constexpr int each = block_columns / Parts, end = each * (part.value + 1);
        constexpr int live = Rows / Parts * (part.value + 1);
        make_orthogonal<live>(a, s, end - each, columns < end ? columns : end, least, mine);
    });
    if (warp == 0)
        for (int k = columns; k < block_columns; ++k)
            s.square[k * square_stride + lane] = 0.0f;
    static_for<0, Rows>([&](auto i) MDQR_LAMBDA { a[i] *= mine; });
    sync_threads();
}

// What the square of the length of the column of this lane must exceed: the rounding level of
// float32 in it and in its part `above` (of this warp) that is already in R. In units u = 2^-24 of
// the length, that is up to 128 roundings of updates, 0.4 u each in root mean square: 4.5 u; as
// much by the departure of Q from orthonormality, 1/2 u in each of 128 directions; and sums of 32
// and 8 in chains, 2 u: 7 u together. 16 u is below what a matrix of condition 1e6 leaves of any
// column.
inline constexpr float rounding_level = 0x1p-40f;
template <int Rows>
MDQR_FN float least_square_of(const float (&a)[Rows], float above, const caqr_shared& s) {
    return rounding_level * sum_of_warps(product_of(a, a) + above, s.sums + caqr_threads);
}

// -- a tile of 8 Rows rows ---------------------------------------------------------------------

// All of them, without a way through registers.
template <int Rows>
MDQR_FN void copy_tile(const caqr_shared& s, const float_matrix& x, int first, int last) {
    constexpr int quads = caqr_warps * Rows / 4, step = caqr_threads / quads;
    const int i = 4 * (thread_index() % quads);
    for (int j = first + thread_index() / quads; j < last; j += step)
        copy_async(s.column(j) + i, &x.at(i, j));
    end_copies();
    wait_copies<0>();
    sync_threads();
}

// Columns `first` to `last` of x; what x does not have is zero.
template <int Rows>
MDQR_FN void load_tile(const caqr_shared& s, const float_matrix& x, int first, int last) {
    constexpr int rows = caqr_warps * Rows, step = caqr_threads / rows, turn = 16;
    const bool in_quads = x.column % 4 == 0 && reinterpret_cast<i64>(x.data) % 16 == 0;
    if (tile_in_shared && in_quads && x.rows == rows && last <= x.columns) {
        copy_tile<Rows>(s, x, first, last);
        return;
    }
    const int i = thread_index() % rows;
    for (int j0 = first + thread_index() / rows; j0 < last; j0 += turn * step) {
        float value[turn];
        static_for<0, turn>([&](auto c) MDQR_LAMBDA {
            const int j = j0 + c * step;
            value[c] = j < last && x.has(i, j) ? x.at(i, j) : 0.0f;
        });
        static_for<0, turn>([&](auto c) MDQR_LAMBDA {
            const int j = j0 + c * step;
            if (j < last)
                s.column(j)[i] = value[c];
        });
    }
    sync_threads();
}

// What load_tile will read, on its way while something else is done.
template <int Rows> MDQR_FN void prefetch_tile(const float_matrix& x, int first, int last) {
    constexpr int line = 32, lines = caqr_warps * Rows / line, step = caqr_threads / lines;
    const int i = line * (thread_index() % lines);
    for (int j = first + thread_index() / lines; j < last; j += step)
        if (x.has(i, j))
            prefetch(&x.at(i, j));
}

template <int Rows>
MDQR_FN void store_tile(const caqr_shared& s, const float_matrix& x, int first, int last) {
    constexpr int rows = caqr_warps * Rows, step = caqr_threads / rows;
    const int i = thread_index() % rows;
    for (int j = first + thread_index() / rows; j < last; j += step)
        if (x.has(i, j))
            x.at(i, j) = s.column(j)[i];
}

template <int Rows>
MDQR_FN void store_operand(const caqr_shared& s, const float_matrix& x, i64 top, int first,
                           const operand_matrix& y) {
    constexpr int rows = caqr_warps * Rows, step = caqr_threads / rows;
    const int i = thread_index() % rows;
    const float factor = float(power_of_two(y.exponent));
    with_format(y.format, [&](auto format) MDQR_LAMBDA {
        for (int j = first + thread_index() / rows; j < first + block_columns; j += step)
            if (x.has(i, j))
                put_operand<decltype(format)>(y, top + i, j, s.column(j)[i], factor);
    });
}

// The products of 32 columns from `first` on with the 32 Groups columns behind them: to `out`,
// column by column. A lane has a column, a warp every eighth column behind. Sums of 32 rows are
// added up: errors of one chain of 256 would be all that is left of a column that depends on
// others.
template <int Rows, int Groups>
MDQR_FN void multiply_transposed(const caqr_shared& s, int first, float* out) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    float* const q = s.column(first + lane);
    float* const x = s.column(first + block_columns + warp);
    constexpr int count = 4 * Groups, chain = 32;
    float sum[count] = {};
    for (int top = 0; top < caqr_warps * Rows; top += chain) {
        float part[count] = {};
#pragma unroll 2
        for (int i = top; i < top + chain; i += 4) {
            const float_quad y = quad_at(q + i);
            static_for<0, count>([&](auto c) MDQR_LAMBDA {
                const float_quad z = quad_at(x + c * (caqr_warps * tile_stride) + i);
                static_for<0, 4>([&](auto e)
                                     MDQR_LAMBDA { part[c] = fused(y.x[e], z.x[e], part[c]); });
            });
        }
        static_for<0, count>([&](auto c) MDQR_LAMBDA { sum[c] += part[c]; });
    }
    static_for<0, count>(
        [&](auto c) MDQR_LAMBDA { out[(warp + caqr_warps * c) * block_columns + lane] = sum[c]; });
}

// Rows 4 l to 4 l + 3, and 128 further on, of 4 Quads columns.
template <int Rows, int Quads> struct row_sums {
    float_quad x[Rows / 16][4 * Quads];
};

// Add 32 columns from q on times 32 rows of `factor`.
template <int Rows, int Quads>
MDQR_FN void add_product(row_sums<Rows, Quads>& sum, float* q, float* factor, int stride) {
    q += 4 * (thread_index() % 32);
#pragma unroll 2
    for (int k = 0; k < block_columns; ++k) {
        float_quad y[Rows / 16];
        float r[4 * Quads];
        static_for<0, Rows / 16>(
            [&](auto h) MDQR_LAMBDA { y[h] = quad_at(q + k * tile_stride + 128 * h); });
        read_quads<4 * Quads>(r, factor + k * stride);
        static_for<0, Rows / 16>([&](auto h) MDQR_LAMBDA {
            static_for<0, 4 * Quads>([&](auto c) MDQR_LAMBDA {
                static_for<0, 4>([&](auto e) MDQR_LAMBDA {
                    sum.x[h][c].x[e] = fused(y[h].x[e], r[c], sum.x[h][c].x[e]);
                });
            });
        });
    }
}
template <int Rows, int Quads, class F> MDQR_FN void each_quad(float* columns, F&& f) {
    columns += 4 * (thread_index() % 32);
    static_for<0, Rows / 16>([&](auto h) MDQR_LAMBDA {
        static_for<0, 4 * Quads>(
            [&](auto c) MDQR_LAMBDA { f(h, c, quad_at(columns + c * tile_stride + 128 * h)); });
    });
}

// 32 columns from `first` on, times `square`.
template <int Rows> MDQR_FN void multiply_by_square(const caqr_shared& s, int first) {
    const int column = 4 * (thread_index() / 32);
    row_sums<Rows, 1> sum{};
    add_product<Rows, 1>(sum, s.column(first), s.square + column, square_stride);
    sync_threads();
    each_quad<Rows, 1>(s.column(first + column),
                       [&](auto h, auto c, float_quad& place) MDQR_LAMBDA { place = sum.x[h][c]; });
    sync_threads();
}

// The 32 Groups columns behind those from `first` on, plus those times `behind`, row by row.
template <int Rows, int Groups> MDQR_FN void update_tile(const caqr_shared& s, int first) {
    const int column = 4 * Groups * (thread_index() / 32);
    float* const mine = s.column(first + block_columns + column);
    row_sums<Rows, Groups> sum;
    each_quad<Rows, Groups>(mine, [&](auto h, auto c, float_quad& place)
                                      MDQR_LAMBDA { sum.x[h][c] = place; });
    add_product<Rows, Groups>(sum, s.column(first), s.behind + column, behind_stride);
    each_quad<Rows, Groups>(mine, [&](auto h, auto c, float_quad& place)
                                      MDQR_LAMBDA { place = sum.x[h][c]; });
    sync_threads();
}

// -- 32 x 32 -----------------------------------------------------------------------------------

// `square`, row by row without gaps, to or from memory.
MDQR_FN void store_square(const caqr_shared& s, float* out) {
    for (int e = thread_index(); e < square_size; e += caqr_threads)
        out[e] = s.square[e / block_columns * square_stride + e % block_columns];
}
MDQR_FN void load_square(const caqr_shared& s, const float* x) {
    for (int e = thread_index(); e < square_size; e += caqr_threads)
        s.square[e / block_columns * square_stride + e % block_columns] = x[e];
    sync_threads();
}

// `square` becomes x times it.
MDQR_FN void multiply_square(const caqr_shared& s, float* x) {
    const int i = thread_index() / caqr_warps, j = 4 * (thread_index() % caqr_warps);
    float row[block_columns];
    read_quads<block_columns>(row, x + i * block_columns);
    float_quad sum{};
    static_for<0, block_columns>([&](auto k) MDQR_LAMBDA {
        const float_quad y = quad_at(s.square + k * square_stride + j);
        static_for<0, 4>([&](auto e) MDQR_LAMBDA { sum.x[e] = fused(row[k], y.x[e], sum.x[e]); });
    });
    sync_threads();
    quad_at(s.square + i * square_stride + j) = sum;
    sync_threads();
}

// out = square^T behind, of 32 Groups columns, column by column.
template <int Groups> MDQR_FN void multiply_behind(const caqr_shared& s, float* out) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    float p[block_columns];
    static_for<0, block_columns>([&](auto i)
                                     MDQR_LAMBDA { p[i] = s.square[i * square_stride + lane]; });
    for (int c = 0; c < 4 * Groups; ++c) {
        const int j = (warp + caqr_warps * c) * block_columns;
        float x[block_columns];
        read_quads<block_columns>(x, s.behind + j);
        out[j + lane] = product_of(p, x);
    }
}

MDQR_END
