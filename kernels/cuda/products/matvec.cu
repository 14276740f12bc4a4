// Products with few columns and residuals, as sums along rows: partial sums.
#include "device/device.hpp"

#include "products/matvec_stage.hpp"

MDQR_BEGIN

// The sums of the threads of a row together, from lanes and then from warps; stored by `put`.
#if MDQR_CARRY_SAVE
MDQR_FN void join_lanes(row_sums& sums, double* word) {
    sums.fold();
    sums.get(word);
    for (int mask = 1; mask < lanes_along; mask *= 2) {
        double other[row_sums::words];
        static_for<0, row_sums::words>([&](auto w)
                                           MDQR_LAMBDA { other[w] = shuffle_xor(word[w], mask); });
        row_sums::join(word, other);
    }
}

// Word w of warp s and lane: shared[(w * matvec_warps + s) * 32 + lane].
MDQR_FN void join_warps(double* word, double* shared) {
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    sync_threads();
    static_for<0, row_sums::words>(
        [&](auto w) MDQR_LAMBDA { shared[(w * matvec_warps + warp) * 32 + lane] = word[w]; });
    for (int half = matvec_warps / 2; half > 0; half /= 2) {
        sync_threads();
        if (warp >= half)
            continue;
        double other[row_sums::words];
        static_for<0, row_sums::words>([&](auto w) MDQR_LAMBDA {
            other[w] = shared[(w * matvec_warps + warp + half) * 32 + lane];
        });
        row_sums::join(word, other);
        static_for<0, row_sums::words>(
            [&](auto w) MDQR_LAMBDA { shared[(w * matvec_warps + warp) * 32 + lane] = word[w]; });
    }
}
#else
MDQR_FN int larger(int a, int b) { return a > b ? a : b; }

MDQR_FN void join_lanes(row_sums& sums, double* word) {
    sums.carry();
    int top = sums.exponent();
    for (int mask = 1; mask < lanes_along; mask *= 2)
        top = larger(top, int(bits(shuffle_xor(from_bits(top), mask))));
    sums.raise_to(top);
    sums.get(word);
    static_for<0, row_sums::words>([&](auto w) MDQR_LAMBDA {
        for (int mask = 1; mask < lanes_along; mask *= 2)
            word[w] = row_sums::joined(w, word[w], shuffle_xor(word[w], mask));
    });
}

// The largest exponent of a row in any warp.
MDQR_FN int joint_top(int top, double* shared) {
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    sync_threads();
    shared[warp * 32 + lane] = from_bits(top);
    sync_threads();
    for (int s = 0; s < matvec_warps; ++s)
        top = larger(top, int(bits(shared[s * 32 + lane])));
    return top;
}
#endif

struct place {
    i64 item, row, j, split;
    MDQR_FN i64 element(const matvec_arguments& p) const { return (item * p.m + row) * p.n + j; }
    MDQR_FN double* words(const matvec_arguments& p) const {
        return p.sums + (split * p.elements() + element(p)) * row_sums::words;
    }
};

// Every lane holds the sums of the row: each stores some words.
MDQR_FN void put_row(const matvec_arguments& p, const place& at, const double* word, int exponent) {
    const int lane = thread_index() % 32;
    double* to = at.words(p);
    static_for<0, row_sums::words>([&](auto w) MDQR_LAMBDA {
        if (lane == w % 32)
            to[w] = word[w];
    });
    if (!MDQR_CARRY_SAVE && lane == 0)
        p.exponent[at.split * p.elements() + at.element(p)] = exponent;
}

// Every thread holds the sums of a warp for the row of its lane.
MDQR_FN void put_rows(const matvec_arguments& p, const place& at, row_sums& sums, i64 f,
                      double* shared) {
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    const bool mine = at.row < p.m && (lanes_along == 1 || lane == 0);
    double word[row_sums::words];
#if MDQR_CARRY_SAVE
    join_lanes(sums, word);
    join_warps(word, shared);
    if (warp == 0 && mine)
        static_for<0, row_sums::words>([&](auto w) MDQR_LAMBDA { at.words(p)[w] = word[w]; });
#else
    sums.carry();
    int top = sums.exponent();
    for (int mask = 1; mask < lanes_along; mask *= 2)
        top = larger(top, int(bits(shuffle_xor(from_bits(top), mask))));
    top = joint_top(top, shared);
    sums.raise_to(top);
    join_lanes(sums, word);
    // Eight words at a time, one for each warp to sum.
    static_for<0, (row_sums::words + matvec_warps - 1) / matvec_warps>([&](auto round) MDQR_LAMBDA {
        constexpr int first = round.value * matvec_warps;
        sync_threads();
        static_for<0, matvec_warps>([&](auto w) MDQR_LAMBDA {
            if constexpr (first + w.value < row_sums::words)
                shared[(w * matvec_warps + warp) * 32 + lane] = word[first + w.value];
        });
        sync_threads();
        if (first + warp < row_sums::words) {
            double sum = shared[warp * matvec_warps * 32 + lane];
            for (int s = 1; s < matvec_warps; ++s)
                sum = row_sums::joined(first + warp, sum,
                                       shared[(warp * matvec_warps + s) * 32 + lane]);
            if (mine)
                at.words(p)[first + warp] = sum;
        }
    });
    if (warp == 0 && mine)
        p.exponent[at.split * p.elements() + at.element(p)] =
            top == not_finite || f == not_finite ? not_finite : top + f;
#endif
}

// A row for each warp; group after group of rows.
MDQR_FN void sum_rows(const matvec_arguments& p, place at, i64 first, double* shared) {
    const i64 f = prepare(p, at.item, at.j, first, no_exponent, shared);
    const i64 start = at.row;
    for (i64 pass = 0; pass < p.passes; ++pass) {
        at.row = start + pass * rows_together + thread_index() / 32;
        if (at.row >= p.m)
            return;
        row_sums sums;
        add_stage(p, at.item, at.row, first, shared, sums);
        double word[row_sums::words];
        join_lanes(sums, word);
#if MDQR_CARRY_SAVE
        put_row(p, at, word, 0);
#else
        const int e = sums.exponent();
        put_row(p, at, word, e == not_finite || f == not_finite ? not_finite : e + int(f));
#endif
    }
}

// The warps divide the terms of the rows.
MDQR_FN void sum_terms(const matvec_arguments& p, place at, double* shared) {
    if (lanes_along == 1)
        at.row += thread_index() % 32;
    const i64 row = at.row < p.m ? at.row : p.m - 1;
    row_sums sums;
    i64 f = no_exponent;
    for (i64 s = 0; s < p.stages; ++s) {
        const i64 first = (at.split * p.stages + s) * p.stage_terms;
        if (first >= p.k && s > 0)
            break;
        sync_threads();
        const i64 larger = prepare(p, at.item, at.j, first, f, shared);
#if !MDQR_CARRY_SAVE
        if (s > 0 && larger > f && larger != not_finite)
            sums.shift(int(larger - f));
#endif
        f = larger;
        add_stage(p, at.item, row, first, shared, sums);
    }
    put_rows(p, at, sums, f, shared);
}

MDQR_FN void sum_tile(const matvec_arguments& p, i64 unit) {
    const i64 tile_rows = p.passes * rows_together, tiles = (p.m + tile_rows - 1) / tile_rows;
    const i64 j = unit % p.n, split = unit / p.n % p.splits;
    const i64 tile = unit / p.n / p.splits;
    if (unit == 0 && thread_index() == 0)
        *p.count = 0;
    const place at{tile / tiles, tile % tiles * tile_rows, j, split};
    if (layout == 0)
        sum_rows(p, at, split * p.stage_terms, block_memory(p.work));
    else
        sum_terms(p, at, block_memory(p.work));
}

MDQR_END

// Units: items * tiles * splits * n; a tile is passes * rows_together rows.
MDQR_KERNEL(mdqr_matvec, mdqr::matvec_arguments, mdqr::matvec_threads, mdqr::matvec_blocks) {
    using namespace mdqr;
    for_units(p.work, [&](i64 unit) MDQR_LAMBDA { sum_tile(p, unit); });
}
