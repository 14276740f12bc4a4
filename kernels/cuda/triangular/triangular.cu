// Triangles of any order, a few right-hand sides: one launch for the whole substitution.
//
// A job is one right-hand side of one matrix; a group of blocks serves it (and then every
// `groups`-th after it). Tiles of 32 rows belong to the blocks of the group in turn. A block
// subtracts the known part of x from its rows, eight lanes a row, while other blocks still work on
// it: `out` is filled with `unset` first, every limb is its own message, no fence or counter lies
// between the row that is solved and the rows that wait. Blocks that are not next in line check
// one number only. With -DMDQR_GUARDED products have a guard bin (orders below 64).
#include "device/inline_networks.hpp"

#include "triangular/math.hpp"

using namespace mdqr;

struct solve_arguments {
    matrix_view out, a, b;
    i64 order, columns, jobs, unit, blocks; // blocks of a group
    i64* state;                             // a counter a group, then a mark a job; zeros
    workspace work;
};

MDQR_BEGIN

#if defined(MDQR_GUARDED)
inline constexpr bool guarded = true;
#else
inline constexpr bool guarded = false;
#endif
inline constexpr int lanes_of_row = 8, solve_threads = rows_of_tile * lanes_of_row;
// Columns whose numbers are fetched together where they are known to be there.
inline constexpr int columns_ahead = number_planes <= 4 ? 4 : 1;

// What a block keeps: divided rows, reciprocals [plane][row], sums [plane][row], sizes.
struct tile_memory {
    double* data;
    MDQR_FN divided_rows rows() const { return {data, rows_of_tile}; }
    MDQR_FN planes vector(int i) const {
        return {data + (rows_of_tile + i) * number_planes * rows_of_tile, rows_of_tile,
                limbs * rows_of_tile, limbs};
    }
    MDQR_FN double* sizes() const { return vector(2).data; }
};

// Where the rows of a tile lie.
struct tile_place {
    i64 first;
    int rows;
};
MDQR_FN tile_place place_of(const solve_arguments& p, i64 tile) {
    const i64 first = tile * rows_of_tile, left = p.order - first;
    return {first, int(left < rows_of_tile ? left : rows_of_tile)};
}

MDQR_FN system_view system_of(const solve_arguments& p, i64 job) {
    const i64 item = job / p.columns, column = job % p.columns;
    system_view v{p.out.to, p.a.to, p.b.to, p.out.row, p.a.row, p.a.column, p.b.row, p.unit != 0};
    v.out.data += p.out.at(item, 0, column);
    v.a.data += p.a.at(item, 0, 0);
    v.b.data += p.b.at(item, 0, column);
    return v;
}

MDQR_FN void fill_unset(const system_view& v, const tile_place& t) {
    for (int e = thread_index(); e < t.rows * number_planes; e += solve_threads) {
        const int row = e % t.rows, plane = e / t.rows;
        publish(reinterpret_cast<i64*>(v.out.data) + plane / limbs * v.out.imag +
                    plane % limbs * v.out.plane + (t.first + row) * v.out_row,
                unset);
    }
}

// Reciprocals of the diagonal and divided rows of the tile; true if one is out of range.
MDQR_FN bool divide_rows(const system_view& v, const tile_place& t, const tile_memory& memory) {
    const divided_rows c = memory.rows();
    const planes reciprocals = memory.vector(0);
    bool bad = false;
    if (thread_index() < rows_of_tile) {
        number r = number_of(1.0);
        if (!v.unit && thread_index() < t.rows) {
            number element;
            load_number(v.a, (t.first + thread_index()) * (v.a_row + v.a_column), element);
            bad = !is_sound_divisor(leading(element));
            r = inverse(element);
        }
        store_number(reciprocals, thread_index(), r);
    }
    sync_threads();
#pragma unroll 1
    for (int e = thread_index(); e < rows_of_tile * rows_of_tile; e += solve_threads) {
        const int i = e % rows_of_tile, j = e / rows_of_tile;
        number r = number_of(0.0);
        if (j < i && i < t.rows) {
            number element, reciprocal;
            load_number(v.a, (t.first + i) * v.a_row + (t.first + j) * v.a_column, element);
            load_number(reciprocals, i, reciprocal);
            r = opposite(product(reciprocal, element));
            bad = bad || !is_sound_coefficient(leading(element), leading(r));
        }
        store_number(c.to(), c.at(i, j), r);
    }
    return bad;
}

// What a thread knows of its row: b less the terms of the columns j = lane mod 8.
struct row_sum {
    number sum;
    int size; // exponent of the largest term
};

// `Count` columns from `first` on, eight apart.
template <int Count>
MDQR_FN void subtract_columns(const system_view& v, i64 row, i64 first, row_sum& r) {
    number a[Count], x[Count];
    static_for<0, Count>([&](auto q) MDQR_LAMBDA {
        load_number(v.a, row * v.a_row + (first + lanes_of_row * q) * v.a_column, a[q]);
    });
    static_for<0, Count>([&](auto q) MDQR_LAMBDA {
        await_number(v.out, (first + lanes_of_row * q) * v.out_row, x[q]);
    });
    static_for<0, Count>([&](auto q) MDQR_LAMBDA {
        r.size = larger_of(r.size, term_exponent(leading(a[q]), leading(x[q])));
        multiply_add<guarded>(r.sum, opposite(a[q]), x[q]);
    });
}

MDQR_FN void subtract_known(const system_view& v, i64 tile, i64 row, int lane, row_sum& r) {
#pragma unroll 1
    for (i64 before = 0; before < tile; ++before) {
        const i64 first = before * rows_of_tile;
        const bool is_next = before + 1 == tile;
        if (!is_next) {
            if (thread_index() == 0)
                await_limb(v.out.data + (first + rows_of_tile - 1) * v.out_row);
            sync_threads();
        }
        if (row < 0)
            continue;
        if (columns_ahead > 1 && !is_next)
            subtract_columns<columns_ahead>(v, row, first + lane, r);
        else
#pragma unroll 1
            for (int q = 0; q < rows_of_tile / lanes_of_row; ++q)
                subtract_columns<1>(v, row, first + q * lanes_of_row + lane, r);
        normalise(r.sum);
    }
}
static_assert(columns_ahead == 1 || columns_ahead * lanes_of_row == rows_of_tile, "a whole tile");

// The eight parts of a row together.
MDQR_FN void combine_row(row_sum r, int row, int lane, const tile_memory& memory) {
#pragma unroll 1
    for (int mask = 1; mask < lanes_of_row; mask *= 2) {
        r.sum = plus(r.sum, shuffle_xor(r.sum, mask));
        r.size = larger_of(r.size, int(shuffle_xor(double(r.size), mask)));
    }
    if (lane == 0) {
        store_number(memory.vector(1), row, r.sum);
        memory.sizes()[row] = double(r.size);
    }
}

// The rows of one tile; true in the threads that saw a number out of range.
MDQR_FN bool solve_tile(const system_view& v, i64 tile, const tile_place& t,
                        const tile_memory& memory) {
    const int row = thread_index() / lanes_of_row, lane = thread_index() % lanes_of_row;
    bool bad = divide_rows(v, t, memory);
    row_sum r{number_of(0.0), absent};
    if (lane == 0 && row < t.rows) {
        load_number(v.b, (t.first + row) * v.b_row, r.sum);
        r.size = term_exponent(leading(r.sum), 1.0);
    }
    subtract_known(v, tile, row < t.rows ? t.first + row : -1, lane, r);
    combine_row(r, row, lane, memory);
    sync_threads();
    if (warp_index() == 0) {
        const int i = lane_index();
        number s, reciprocal;
        load_number(memory.vector(1), i, s);
        load_number(memory.vector(0), i, reciprocal);
        normalise(s);
        s = product(s, reciprocal);
        const int found = int(memory.sizes()[i]);
        const int size = found == absent ? absent : found + quick_exponent(leading(reciprocal));
        substitute<guarded>(s, size, memory.rows(), t.rows, [&](const number& x, int largest) {
            publish_number(v.out, (t.first + i) * v.out_row, x);
            bad = bad || !is_sound(leading(x), largest);
        });
    }
    sync_threads();
    return bad;
}

// All jobs of the group by the fast operations; those that left the range are marked.
MDQR_FN void solve_jobs(const solve_arguments& p, i64 group, i64 groups, i64 member, i64 tiles) {
    const tile_memory memory{block_memory(p.work)};
#pragma unroll 1
    for (i64 job = group; job < p.jobs; job += groups) {
        const system_view v = system_of(p, job);
        bool bad = false;
#pragma unroll 1
        for (i64 tile = member; tile < tiles; tile += p.blocks)
            bad = solve_tile(v, tile, place_of(p, tile), memory) || bad;
        if (warp_any(bad) && lane_index() == 0)
            atomic_max(p.state + groups + job, 1);
    }
}

// The marked jobs again, by the operations of the contract.
MDQR_COLD void repeat_jobs(const solve_arguments& p, i64 group, i64 groups, i64 member, i64 tiles,
                           i64 step) {
    for (i64 job = group; job < p.jobs; job += groups) {
        if (load_word(p.state + groups + job) == 0)
            continue;
        const system_view v = system_of(p, job);
        for (i64 tile = member; tile < tiles; tile += p.blocks)
            fill_unset(v, place_of(p, tile));
        sync_blocks(p.state + group, p.blocks, ++step);
        for (i64 tile = member; tile < tiles; tile += p.blocks)
            if (warp_index() == 0) {
                const tile_place t = place_of(p, tile);
                substitute_slow(v, t.first, t.rows);
            }
    }
}

MDQR_END

MDQR_KERNEL(mdqr_solve_triangular, solve_arguments, solve_threads, 1) {
    const i64 group = block_x() / p.blocks, groups = blocks_x() / p.blocks,
              member = block_x() % p.blocks, tiles = (p.order + rows_of_tile - 1) / rows_of_tile;
    for (i64 job = group; job < p.jobs; job += groups)
        for (i64 tile = member; tile < tiles; tile += p.blocks)
            fill_unset(system_of(p, job), place_of(p, tile));
    sync_blocks(p.state + group, p.blocks, 1);
    solve_jobs(p, group, groups, member, tiles);
    sync_blocks(p.state + group, p.blocks, 2);
    repeat_jobs(p, group, groups, member, tiles, 2);
}
