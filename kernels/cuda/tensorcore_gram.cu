// CholeskyQR of a panel of at most 128 columns: its products with itself, their sum over the blocks
// of the launch, and the panel times the inverse of the triangle. Each looks first whether its pass
// is wanted.
#include "tensorcore_gram.hpp"

MDQR_BEGIN

struct gram_arguments {
    float_matrix a;
    double* partial;   // 128 x 128 a block
    const i64* wanted; // null: always
    i64 tiles_a_block;
};
struct gram_sum_arguments {
    const double* partial;
    double* gram;
    const i64* wanted; // null: always
    i64 blocks;
};
struct multiply_arguments {
    float_matrix a;
    const double* factor; // element (i, j) is factor[i + 128 j]
    const i64* wanted;    // null: always
    i64 tiles_a_block;
};

inline constexpr int sum_turns = 4, sum_threads = sum_turns * panel_columns, sum_ways = 8;

MDQR_END

MDQR_KERNEL(mdqr_tensorcore_gram, mdqr::gram_arguments, mdqr::gram_threads) {
    using namespace mdqr;
    if (p.wanted && *p.wanted == 0)
        return;
    double* const shared = shared_memory();
    gram_sums sums{};
    panel_tile tile;
    const i64 first = block_x() * p.tiles_a_block;
    read_tile(tile, p.a, first * tile_rows);
    for (i64 k = 0; k < p.tiles_a_block; ++k) {
        put_tile(tile, shared);
        sync_threads();
        if (k + 1 < p.tiles_a_block)
            read_tile(tile, p.a, (first + k + 1) * tile_rows);
        add_products(sums, shared);
        sync_threads();
    }
    put_products(sums, p.partial + block_x() * panel_columns * panel_columns);
}

// Grid: 128. Block i sums what the strip of column i has; a quarter of the threads sums a quarter
// of the parts. The order of the sum depends on the number of parts alone.
MDQR_KERNEL(mdqr_tensorcore_gram_sum, mdqr::gram_sum_arguments, mdqr::sum_threads) {
    using namespace mdqr;
    if (p.wanted && *p.wanted == 0)
        return;
    double* const shared = shared_memory();
    const int i = int(block_x()), j = thread_index() % panel_columns;
    const int turn = thread_index() / panel_columns;
    constexpr i64 step = panel_columns * panel_columns;
    double sum[sum_ways] = {};
    const bool gives = strip_gives(i, j);
    if (gives) {
        const double* const place = p.partial + i * panel_columns + j;
        i64 b = turn;
        for (; b + sum_turns * (sum_ways - 1) < p.blocks; b += sum_turns * sum_ways)
            static_for<0, sum_ways>(
                [&](auto w) MDQR_LAMBDA { sum[w] += place[(b + sum_turns * w) * step]; });
        for (; b < p.blocks; b += sum_turns)
            sum[0] += place[b * step];
    }
    shared[thread_index()] =
        ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    sync_threads();
    if (turn != 0 || !gives)
        return;
    double total = shared[j];
    for (int t = 1; t < sum_turns; ++t)
        total += shared[t * panel_columns + j];
    p.gram[i * panel_columns + j] = total;
    p.gram[j * panel_columns + i] = total;
}

MDQR_KERNEL(mdqr_tensorcore_multiply, mdqr::multiply_arguments, mdqr::gram_threads) {
    using namespace mdqr;
    if (p.wanted && *p.wanted == 0)
        return;
    double* const shared = shared_memory();
    double* const factor = shared + panel_columns * tile_stride;
    // The right half first: it needs all columns, which the left half then overwrites.
    for (int half = 1; half >= 0; --half) {
        for (int e = thread_index(); e < panel_columns * half_columns; e += gram_threads)
            factor[e / panel_columns * factor_stride + e % panel_columns] =
                p.factor[half * half_columns * panel_columns + e];
        for (i64 k = 0; k < p.tiles_a_block; ++k) {
            const i64 top = (block_x() * p.tiles_a_block + k) * tile_rows;
            panel_tile tile;
            read_tile(tile, p.a, top);
            sync_threads();
            put_tile(tile, shared);
            sync_threads();
            product_sums sums;
            multiply_tile(sums, shared, factor, half);
            put_product(sums, p.a, top, half);
        }
        sync_threads();
    }
}
