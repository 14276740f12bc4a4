// Modified Gram-Schmidt of 256 x 32 blocks by 128 threads, two rows each in registers.
//
// The column at hand is always the first of the registers: what is left moves one place down as it
// is updated, so that the loop over columns needs no dynamic index. Its products with itself and
// with all columns behind it are summed in one pass, hence one meeting of the threads a column.
#pragma once
#include "floats.hpp"

MDQR_BEGIN

inline constexpr int caqr_threads = 128, caqr_warps = caqr_threads / 32;
inline constexpr int block_rows = 256, block_columns = 32;
inline constexpr int triangle_stride = block_columns + 1, quarter = block_columns / 4;

struct alignas(16) float_quad {
    float x[4];
};

// Words of shared memory; sums alternate between two places, so that one meeting a column is
// enough.
struct caqr_shared {
    float* sums;     // [2][warps][32]
    float* factors;  // [warps][32]
    float* triangle; // [32][33]
    float* product;  // [32][32]
    MDQR_FN explicit caqr_shared(float* start)
        : sums(start), factors(start + 2 * caqr_warps * 32), triangle(factors + caqr_warps * 32),
          product(triangle + 32 * 36) {}
};
inline constexpr int caqr_words = 3 * caqr_warps * 32 + 32 * 36 + 32 * 32;

// Count words, a multiple of four, that all lanes read alike.
template <int Count> MDQR_FN void read_quads(float (&r)[Count], const float* shared) {
    static_for<0, Count / 4>([&](auto c) MDQR_LAMBDA {
        const float_quad quad = reinterpret_cast<const float_quad*>(shared)[c];
        for (int e = 0; e < 4; ++e)
            r[4 * c + e] = quad.x[e];
    });
}

struct two_rows {
    float x[2][block_columns];
};

// Rows `row`, `row + 128` of a block of `rows` rows and `columns` columns; the rest is zero.
MDQR_FN void read_rows(two_rows& a, const float_matrix& x) {
    const int t = thread_index();
    static_for<0, block_columns>([&](auto j) MDQR_LAMBDA {
        static_for<0, 2>([&](auto h) MDQR_LAMBDA {
            const int i = t + h * caqr_threads;
            a.x[h][j] = x.has(i, j) ? x.at(i, j) : 0.0f;
        });
    });
}

// Lane l gets the sum over the warp of p[l % Count].
template <int Count> MDQR_FN float sum_of_lanes(float (&p)[block_columns]) {
    const int lane = thread_index() % 32;
    static_for<0, 5>([&](auto step) MDQR_LAMBDA {
        constexpr int mask = 16 >> step;
        if constexpr (mask < Count) {
            static_for<0, mask>([&](auto i) MDQR_LAMBDA {
                const bool upper = (lane & mask) != 0;
                const float keep = upper ? p[i + mask] : p[i], send = upper ? p[i] : p[i + mask];
                p[i] = keep + shuffle_xor(send, mask);
            });
        } else {
            static_for<0, Count>([&](auto i) MDQR_LAMBDA { p[i] += shuffle_xor(p[i], mask); });
        }
    });
    return p[0];
}

// Lane l gets the sum over the block of p[l % Count]; `sums` has a word a thread.
template <int Count> MDQR_FN float sum_of_block(float (&p)[block_columns], float* sums) {
    const int lane = thread_index() % 32;
    sums[thread_index()] = sum_of_lanes<Count>(p);
    sync_threads();
    float sum = sums[lane];
    static_for<1, caqr_warps>([&](auto w) MDQR_LAMBDA { sum += sums[32 * w + lane]; });
    return sum;
}

// Lane l gets what the square of the length of column l must exceed: in units of its square at
// first, the noise of float32.
inline constexpr float noise = 0x1p-42f;
MDQR_FN float least_squares_of(const two_rows& a, const caqr_shared& s) {
    float p[block_columns];
    static_for<0, block_columns>(
        [&](auto j) MDQR_LAMBDA { p[j] = fused(a.x[1][j], a.x[1][j], a.x[0][j] * a.x[0][j]); });
    // The other half of the sums: the first column takes the first.
    return noise * sum_of_block<block_columns>(p, s.sums + caqr_threads);
}

// One column: `Live` columns are left at most, `k` are done.
template <int Live>
MDQR_FN void next_column(two_rows& a, const caqr_shared& s, const float_matrix& q, int k,
                         float least) {
    const int t = thread_index(), lane = t % 32, warp = t / 32;
    constexpr int count = Live > 16 ? 32 : Live > 8 ? 16 : 8;
    float p[block_columns];
    static_for<0, count>([&](auto j) MDQR_LAMBDA {
        p[j] = j < Live ? fused(a.x[1][0], a.x[1][j], a.x[0][0] * a.x[0][j]) : 0.0f;
    });
    const float sum = sum_of_block<count>(p, s.sums + (k % 2) * caqr_threads);
    const float square = shuffle(sum, 0);
    const float inverse = square <= shuffle(least, k) ? 0.0f : 1.0f / root(square);
    const float factor = sum * inverse;
    float* const factors = s.factors + 32 * warp;
    factors[lane] = factor;
    sync_warp();
    if (warp == 0 && k + lane < block_columns && lane < Live)
        s.triangle[k * triangle_stride + k + lane] = factor;
    float unit[2];
    static_for<0, 2>([&](auto h) MDQR_LAMBDA {
        const int i = t + h * caqr_threads;
        unit[h] = a.x[h][0] * inverse;
        if (i < q.rows)
            q.at(i, k) = unit[h];
    });
    float r[Live];
    read_quads<Live>(r, factors);
    static_for<1, Live>([&](auto j) MDQR_LAMBDA {
        a.x[0][j - 1] = fused(-unit[0], r[j], a.x[0][j]);
        a.x[1][j - 1] = fused(-unit[1], r[j], a.x[1][j]);
    });
    a.x[0][Live - 1] = a.x[1][Live - 1] = 0.0f;
}

template <int Live>
MDQR_FN void next_columns(two_rows& a, const caqr_shared& s, const float_matrix& q, int& k,
                          float least) {
    const i64 stop = block_columns - Live + 8;
    for (; k < stop && k < q.columns; ++k)
        next_column<Live>(a, s, q, k, least);
}

// x becomes its Q; its R, 32 rows and as many columns as x, goes to r. In the last block of a tree
// columns become zero if they depend on those before them as far as float32 can tell.
MDQR_FN void factor_block(const caqr_shared& s, const float_matrix& x, const float_matrix& r,
                          bool last) {
    two_rows a;
    read_rows(a, x);
    for (int i = thread_index(); i < block_columns * triangle_stride; i += caqr_threads)
        s.triangle[i] = 0.0f;
    const float least = last ? least_squares_of(a, s) : 0.0f;
    sync_threads();
    int k = 0;
    next_columns<32>(a, s, x, k, least);
    next_columns<24>(a, s, x, k, least);
    next_columns<16>(a, s, x, k, least);
    next_columns<8>(a, s, x, k, least);
    sync_threads();
    for (int e = thread_index(); e < block_columns * block_columns; e += caqr_threads) {
        const int i = e % block_columns, j = e / block_columns;
        if (r.has(i, j))
            r.at(i, j) = s.triangle[i * triangle_stride + j];
    }
    sync_threads();
}

// x becomes x p, p of 32 rows.
MDQR_FN void multiply_block(const caqr_shared& s, const float_matrix& x, const float_matrix& p) {
    for (int e = thread_index(); e < block_columns * block_columns; e += caqr_threads) {
        const int i = e % block_columns, j = e / block_columns;
        s.product[i * block_columns + j] = p.has(i, j) ? p.at(i, j) : 0.0f;
    }
    two_rows a;
    read_rows(a, x);
    sync_threads();
    // A quarter of the columns at a time, so that all stays in registers.
    for (int c = 0; c < block_columns; c += quarter) {
        float sum[2][quarter] = {};
        static_for<0, block_columns>([&](auto i) MDQR_LAMBDA {
            float y[quarter];
            read_quads<quarter>(y, s.product + i * block_columns + c);
            for (int j = 0; j < quarter; ++j) {
                sum[0][j] = fused(a.x[0][i], y[j], sum[0][j]);
                sum[1][j] = fused(a.x[1][i], y[j], sum[1][j]);
            }
        });
        static_for<0, quarter>([&](auto j) MDQR_LAMBDA {
            static_for<0, 2>([&](auto h) MDQR_LAMBDA {
                const i64 i = thread_index() + h * caqr_threads;
                if (x.has(i, c + j))
                    x.at(i, c + j) = sum[h][j];
            });
        });
    }
    sync_threads();
}

MDQR_END
