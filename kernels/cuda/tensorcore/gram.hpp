// Panels of at most 128 columns on the FP64 tensor cores: A^T A, and A X with X upper triangular.
//
// float32 entries are exact in float64, so that A^T A has errors of 2^-53: what a Cholesky
// factorisation makes of it holds for condition numbers up to some 10^6.
#pragma once
#include "device/matrix_step.hpp"
#include "tensorcore/formats.hpp"

MDQR_BEGIN

inline constexpr int gram_threads = 256, gram_warps = gram_threads / 32;
inline constexpr int panel_columns = 128, tile_rows = 64;
// Columns of a tile in shared memory lie 4 doubles apart modulo 16: no two lanes meet in a bank.
inline constexpr int tile_stride = tile_rows + 4, factor_stride = panel_columns + 4;
inline constexpr int tile_reads = tile_rows * panel_columns / gram_threads;

struct panel_tile {
    float x[tile_reads];
};

// Thread t reads row t % 64 of every fourth column; what lies outside is zero.
MDQR_FN void read_tile(panel_tile& tile, const float_matrix& a, i64 top) {
    const i64 i = top + thread_index() % tile_rows;
    static_for<0, tile_reads>([&](auto k) MDQR_LAMBDA {
        const i64 j = thread_index() / tile_rows + k * (gram_threads / tile_rows);
        tile.x[k] = a.has(i, j) ? a.at(i, j) : 0.0f;
    });
}
MDQR_FN void put_tile(const panel_tile& tile, double* shared) {
    const int i = thread_index() % tile_rows;
    static_for<0, tile_reads>([&](auto k) MDQR_LAMBDA {
        const int j = thread_index() / tile_rows + k * (gram_threads / tile_rows);
        shared[j * tile_stride + i] = double(tile.x[k]);
    });
}

// Warp s has rows 16 s to 16 s + 15 of A^T A, and of its columns `groups` times 8 from 16 s on,
// around the end: together they meet every pair once or twice.
inline constexpr int strip_rows = 16, group_columns = 8;
inline constexpr int column_groups = panel_columns / group_columns, most_groups = 10;
MDQR_FN int groups_of(int strip) { return strip < gram_warps / 2 ? most_groups : most_groups - 2; }
MDQR_FN int group_at(int strip, int c) { return (2 * strip + c) % column_groups; }
// Whether the strip of column i has the product with column j.
MDQR_FN bool strip_has(int i, int j) {
    const int strip = i / strip_rows, group = j / group_columns;
    return (group - 2 * strip + column_groups) % column_groups < groups_of(strip);
}
// Whether that is the one to use, of pairs that two strips have.
MDQR_FN bool strip_gives(int i, int j) { return strip_has(i, j) && (i <= j || !strip_has(j, i)); }

struct alignas(16) double_pair {
    double x[2];
};
struct gram_sums {
    double x[most_groups][4];
};

MDQR_FN void add_products(gram_sums& sums, const double* shared) {
    const int lane = thread_index() % 32, strip = thread_index() / 32;
    const double* const mine = shared + lane % 4;
    const int column = lane / 4;
    for (int k = 0; k < tile_rows; k += 4) {
        const double* const rows = mine + k;
        const double a0 = rows[(strip_rows * strip + column) * tile_stride];
        const double a1 = rows[(strip_rows * strip + column + 8) * tile_stride];
        static_for<0, most_groups>([&](auto c) MDQR_LAMBDA {
            if (c < most_groups - 2 || strip < gram_warps / 2) {
                const int j = group_columns * group_at(strip, c) + column;
                matrix_multiply_add(sums.x[c], a0, a1, rows[j * tile_stride]);
            }
        });
    }
}

// out[i][j] of a 128 x 128 matrix for the pairs of this warp.
MDQR_FN void put_products(const gram_sums& sums, double* out) {
    const int lane = thread_index() % 32, strip = thread_index() / 32;
    static_for<0, most_groups>([&](auto c) MDQR_LAMBDA {
        if (c < groups_of(strip))
            static_for<0, 2>([&](auto h) MDQR_LAMBDA {
                const int i = strip_rows * strip + lane / 4 + 8 * h;
                const int j = group_columns * group_at(strip, c) + 2 * (lane % 4);
                const double_pair pair = {{sums.x[c][2 * h], sums.x[c][2 * h + 1]}};
                *reinterpret_cast<double_pair*>(out + i * panel_columns + j) = pair;
            });
    });
}

// Half the columns of A X: warp w has rows 32 (w % 2) to + 31 and 16 columns.
inline constexpr int half_columns = panel_columns / 2;
struct product_sums {
    double x[2][2][4];
};

MDQR_FN void multiply_tile(product_sums& sums, const double* tile, const double* factor, int half) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    const int row = 32 * (warp % 2) + lane / 4, column = 16 * (warp / 2) + lane / 4;
    const int depth = half_columns * half + 16 * (warp / 2) + 16;
    static_for<0, 2>([&](auto a) MDQR_LAMBDA {
        static_for<0, 2>([&](auto b) MDQR_LAMBDA {
            static_for<0, 4>([&](auto e) MDQR_LAMBDA { sums.x[a][b][e] = 0.0; });
        });
    });
    for (int k = lane % 4; k < depth; k += 4) {
        double x[2][2], y[2];
        static_for<0, 2>([&](auto a) MDQR_LAMBDA {
            x[a][0] = tile[k * tile_stride + row + 16 * a];
            x[a][1] = tile[k * tile_stride + row + 16 * a + 8];
            y[a] = factor[(column + 8 * a) * factor_stride + k];
        });
        static_for<0, 2>([&](auto a) MDQR_LAMBDA {
            static_for<0, 2>([&](auto b) MDQR_LAMBDA {
                matrix_multiply_add(sums.x[a][b], x[a][0], x[a][1], y[b]);
            });
        });
    }
}

// f(i, j, x) for the entries of half a tile that a has.
template <class F>
MDQR_FN void each_product(const product_sums& sums, const float_matrix& a, i64 top, int half,
                          F&& f) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    static_for<0, 2>([&](auto r) MDQR_LAMBDA {
        static_for<0, 2>([&](auto c) MDQR_LAMBDA {
            static_for<0, 4>([&](auto e) MDQR_LAMBDA {
                const i64 i = top + 32 * (warp % 2) + 16 * r + lane / 4 + 8 * (e / 2);
                const i64 j =
                    half_columns * half + 16 * (warp / 2) + 8 * c + 2 * (lane % 4) + e % 2;
                if (a.has(i, j))
                    f(i, j, float(sums.x[r][c][e]));
            });
        });
    });
}
MDQR_FN void put_product(const product_sums& sums, const float_matrix& a, i64 top, int half) {
    each_product(sums, a, top, half, [&](i64 i, i64 j, float x) MDQR_LAMBDA { a.at(i, j) = x; });
}
MDQR_FN void put_rounded(const product_sums& sums, const float_matrix& a, const operand_matrix& low,
                         i64 top, int half) {
    const float factor = float(power_of_two(low.exponent));
    with_format(low.format, [&](auto format) MDQR_LAMBDA {
        each_product(sums, a, top, half, [&](i64 i, i64 j, float x) MDQR_LAMBDA {
            put_operand<decltype(format)>(low, i, j, x, factor);
        });
    });
}

MDQR_END
