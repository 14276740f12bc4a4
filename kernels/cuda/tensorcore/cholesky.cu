// CholeskyQR of a panel of at most 128 columns, one launch a panel: its products with itself in
// parts, their sum, the triangle and its inverse by the first block, and the panel times the
// inverse; again as long as a pass loses what float32 holds.
#include "tensorcore/cholesky.hpp"

MDQR_BEGIN

struct cholesky_arguments {
    float_matrix a, r;
    operand_matrix low;
    double* partial; // 128 x 128 a part
    double* gram;
    double* inverse;
    double* limits; // 128
    i64* words;     // zero, four
    i64 parts, tiles_a_part;
    i64 blocks; // of the launch
    i64 floor;
    i64 reflects;
    i64* breakdown;
    i64 done; // a and r are Q and R already
    workspace work;
};

inline constexpr int sum_turns = gram_threads / panel_columns, sum_ways = 8;
enum : i64 { parts_done, sums_done, triangle_done, again_word };

MDQR_FN void multiply_parts(const cholesky_arguments& p, double* shared) {
    for (i64 part = block_x(); part < p.parts; part += p.blocks) {
        gram_sums sums{};
        panel_tile tile;
        const i64 first = part * p.tiles_a_part;
        read_tile(tile, p.a, first * tile_rows);
        for (i64 k = 0; k < p.tiles_a_part; ++k) {
            put_tile(tile, shared);
            sync_threads();
            if (k + 1 < p.tiles_a_part)
                read_tile(tile, p.a, (first + k + 1) * tile_rows);
            add_products(sums, shared);
            sync_threads();
        }
        put_products(sums, p.partial + part * panel_columns * panel_columns);
    }
}

// Column i of the sums; half of the threads sums half of the parts. The order of the sum depends on
// the number of parts alone.
MDQR_FN void sum_column(const cholesky_arguments& p, double* shared, int i) {
    const int j = thread_index() % panel_columns, turn = thread_index() / panel_columns;
    constexpr i64 step = panel_columns * panel_columns;
    double sum[sum_ways] = {};
    const bool gives = strip_gives(i, j);
    if (gives) {
        const double* const place = p.partial + i * panel_columns + j;
        i64 b = turn;
        for (; b + sum_turns * (sum_ways - 1) < p.parts; b += sum_turns * sum_ways)
            static_for<0, sum_ways>(
                [&](auto w) MDQR_LAMBDA { sum[w] += place[(b + sum_turns * w) * step]; });
        for (; b < p.parts; b += sum_turns)
            sum[0] += place[b * step];
    }
    sync_threads();
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

MDQR_FN void multiply_by_inverse(const cholesky_arguments& p, double* shared, i64 part, bool last) {
    double* const factor = shared + panel_columns * tile_stride;
    // The right half first: it needs all columns, which the left half then overwrites.
    for (int half = 1; half >= 0; --half) {
        for (int e = thread_index(); e < panel_columns * half_columns; e += gram_threads)
            factor[e / panel_columns * factor_stride + e % panel_columns] =
                p.inverse[half * half_columns * panel_columns + e];
        for (i64 k = 0; k < p.tiles_a_part; ++k) {
            const i64 top = (part * p.tiles_a_part + k) * tile_rows;
            panel_tile tile;
            read_tile(tile, p.a, top);
            sync_threads();
            put_tile(tile, shared);
            sync_threads();
            product_sums sums;
            multiply_tile(sums, shared, factor, half);
            put_product(sums, p.a, top, half);
            if (last)
                put_rounded(sums, p.a, p.low, top, half);
        }
        sync_threads();
    }
}

// Says whether another pass is wanted.
MDQR_FN bool cholesky_pass(const cholesky_arguments& p, double* shared, int turn) {
    multiply_parts(p, shared);
    signal(p.words + parts_done);
    wait_for(p.words + parts_done, turn * p.blocks);
    for (i64 i = block_x(); i < panel_columns; i += p.blocks)
        sum_column(p, shared, int(i));
    signal(p.words + sums_done);
    i64* const again = p.words + again_word;
    if (block_x() == 0) {
        wait_for(p.words + sums_done, turn * p.blocks);
        const bool joins = turn > 1 || p.done != 0;
        factor_gram({p.gram, p.inverse, p.r, p.limits, again, turn, joins, p.floor, p.reflects != 0,
                     p.breakdown},
                    shared);
        signal(p.words + triangle_done);
    }
    wait_for(p.words + triangle_done, turn);
    const bool more = turn < most_passes && load_word(again) == turn;
    for (i64 part = block_x(); part < p.parts; part += p.blocks)
        multiply_by_inverse(p, shared, part, !more);
    return more;
}

MDQR_END

// Grid: `blocks`, cooperative.
MDQR_KERNEL(mdqr_tensorcore_cholesky, mdqr::cholesky_arguments, mdqr::gram_threads) {
    using namespace mdqr;
    double* const shared = block_memory(p.work);
    if (cholesky_pass(p, shared, 1) && cholesky_pass(p, shared, 2))
        cholesky_pass(p, shared, 3);
}
