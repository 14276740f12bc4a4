// From the sums over the diagonals to the elements of a product.
#pragma once
#include "products/matmul_tile.hpp"
#include "products/matmul_range.hpp"

MDQR_BEGIN

struct matmul_arguments {
    sliced a, b;
    matrix_view c, out; // values; c.to.data null: no addend
    i64 subtract;
    i64 items, m, n; // n in values
    i64 tiles_m, tiles_n;
    i64 splits, split_quads; // quads of a block
    double* sums;            // of the splits: [split][tile][sum_words + 1][BM * BN]
    i64 *list, *count;       // elements for the exact accumulator
    workspace work;          // of the finished words
};

inline constexpr int tile_size = BM * BN;
inline constexpr int tile_words = (sum_words + 1) * tile_size;
// Shared memory, in doubles: the stages, afterwards the finished words; the parked sums behind.
// With -DMDQR_GLOBAL the finished words lie in global memory.
inline constexpr int staged = stages * stage_words / 2;
#if defined(MDQR_GLOBAL)
inline constexpr int parked_at = staged;
#else
inline constexpr int parked_at = staged > KW* tile_words ? staged : KW * tile_words;
#endif

MDQR_FN tile_place tile_at(const matmul_arguments& p, i64 tile) {
    const i64 tn = tile % p.tiles_n, tm = tile / p.tiles_n % p.tiles_m;
    return {tile / p.tiles_n / p.tiles_m, tm * BM, tn * BN};
}

// The words of one sum, in a row of partial sums `distance` apart.
MDQR_FN void add_up(const double* from, int partials, i64 distance, double* word) {
    static_for<0, sum_words + 1>([&](auto w) MDQR_LAMBDA { word[w] = from[w * tile_size]; });
    for (int i = 1; i < partials; ++i)
        static_for<0, sum_words + 1>([&](auto w) MDQR_LAMBDA {
            word[w] = one_sum(word[w], from[i * distance + w * tile_size]);
        });
}

// The limbs of a sum in units of alpha beta. Words are integers of at most 2^52; as `from_words` of
// digits.hpp: two sweeps do for nearly all sums.
MDQR_FN md<double, limbs> limbs_of(double* word) {
    const double magic = digit_rest * two_to(44);
    static_for_down<sum_words - 1, 1>([&](auto i) MDQR_LAMBDA {
        const double part = one_sum(one_sum(word[i], magic), -magic);
        word[i] = one_sum(word[i], -part);
        word[i - 1] = fma(part, two_to(-44), word[i - 1]);
    });
    double v[sum_words], w[sum_words - 1];
    static_for<0, sum_words>(
        [&](auto i) MDQR_LAMBDA { v[i] = one_prod(word[i], two_to(pair_exponent(i.value))); });
    static_for<0, sum_words - 1>([&](auto i) MDQR_LAMBDA { w[i] = v[i + 1]; });
    sweep_up<sum_words - 1>(w);
    sweep_down<sum_words - 1>(w);
    bool bad = v[0] != 0.0;
    static_for<0, limbs>([&](auto i) MDQR_LAMBDA { bad = bad || one_sum(w[i], w[i + 1]) != w[i]; });
    if (bad)
        return renormalize<sum_words, limbs>(v);
    md<double, limbs> r;
    static_for<0, limbs>([&](auto i) MDQR_LAMBDA { r.limb[i] = w[i]; });
    return r;
}

MDQR_FN bool is_served(i64 e, i64 f, double magnitude) {
    return e != not_finite && f != not_finite &&
           (magnitude == 0.0 || magnitude >= two_to(-slice_span));
}

// Every element of a tile from its partial sums, one thread an element.
MDQR_FN void finish_tile(const matmul_arguments& p, const tile_place& at, const double* sums,
                         int partials, i64 distance) {
    for (int t = thread_index() * parts; t < tile_size; t += tile_threads * parts) {
        const i64 i = at.row + t / BN, j = (at.column + t % BN) / parts;
        if (i >= p.m || j >= p.n)
            continue;
        const i64 e = p.a.exponent[p.a.item_of(at.item) * p.a.rows + i];
        const i64 f = p.b.exponent[p.b.item_of(at.item) * p.b.rows + j * parts];
        number r;
        double size = 0.0;
        for_parts(r, [&](md<double, limbs>& part, int which) MDQR_LAMBDA {
            double word[sum_words + 1];
            add_up(sums + t + which, partials, distance, word);
            size = word[sum_words] > size ? word[sum_words] : size;
            part = limbs_of(word);
        });
        if (!is_served(e, f, size)) {
            p.list[atomic_add(p.count, 1)] = (at.item * p.m + i) * p.n + j;
            continue;
        }
        for_parts(r, [&](md<double, limbs>& part, int)
                         MDQR_LAMBDA { part = times_power(part, e + f + 2); });
        put_result(p.c, p.out, at.item, i, j, p.subtract != 0, r);
    }
}

MDQR_END
