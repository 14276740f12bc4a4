// Products of sliced matrices on the FP64 tensor cores; see products/slices.hpp and
// products/matmul_tile.hpp.
#include "device/device.hpp"

#include "products/matmul_finish.hpp"

MDQR_BEGIN

// This thread's 4 sums into [word][element] of its part of the terms.
MDQR_FN void put_sums(const tile_sums& sums, double* to) {
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    const int behind = warp / (WM * WN), wm = warp / WN % WM, wn = warp % WN;
    double* at = to + behind * tile_words + (16 * wm + lane / 4) * BN + 8 * wn + 2 * (lane % 4);
    static_for<0, 4>([&](auto c) MDQR_LAMBDA {
        double* element = at + c.value / 2 * 8 * BN + c.value % 2;
        static_for<0, sum_words>(
            [&](auto w) MDQR_LAMBDA { element[w * tile_size] = sums.word<w.value>(c); });
        element[sum_words * tile_size] = sums.magnitude(c);
    });
}

// One part of the terms of a tile; `tiles` are all.
MDQR_FN void multiply_tile(const matmul_arguments& p, i64 unit, i64 tiles) {
    const i64 tile = unit / p.splits, split = unit % p.splits;
    const tile_place at = tile_at(p, tile);
    double* const words = block_memory(p.work);
    const i64 first = split * p.split_quads, end = first + p.split_quads;
    {
        tile_sums sums(shared_memory() + parked_at);
        accumulate(sums, tile_loader(p.a, p.b, at), int(first),
                   int(end < p.a.quads ? end : p.a.quads));
        put_sums(sums, words);
    }
    sync_threads();
    if (p.splits == 1) {
        finish_tile(p, at, words, KW, tile_words);
        return;
    }
    double* to = p.sums + (split * tiles + tile) * tile_words;
    for (int t = thread_index(); t < tile_words; t += tile_threads) {
        double sum = words[t];
        static_for<1, KW>([&](auto w)
                              MDQR_LAMBDA { sum = one_sum(sum, words[w * tile_words + t]); });
        to[t] = sum;
    }
}

MDQR_END

// Units: items * tiles_m * tiles_n * splits.
MDQR_KERNEL(mdqr_matmul, mdqr::matmul_arguments, MDQR_TILE_BOUNDS) {
    using namespace mdqr;
    for_units(p.work,
              [&](i64 unit) MDQR_LAMBDA { multiply_tile(p, unit, p.work.units / p.splits); });
}

// Grid: items * tiles_m * tiles_n.
MDQR_KERNEL(mdqr_matmul_finish, mdqr::matmul_arguments, mdqr::tile_threads) {
    using namespace mdqr;
    finish_tile(p, tile_at(p, block_x()), p.sums + block_x() * tile_words, int(p.splits),
                blocks_x() * tile_words);
}
