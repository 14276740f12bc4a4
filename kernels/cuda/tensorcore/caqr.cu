// QR of a panel of at most 128 columns, communication avoiding (J. Demmel, L. Grigori, M. Hoemmen,
// J. Langou 2012), with modified Gram-Schmidt in its blocks: one launch a panel.
//
// 32 columns at a time: a tree of blocks gives R11, products on the way give R12, and the columns
// behind are updated. A block of rows stays where it is worked on if there are enough
// multiprocessors for all; otherwise each takes several in turn, from memory and back.
#include "tensorcore/caqr.hpp"
#include "tensorcore/caqr_tree.hpp"

MDQR_BEGIN

// f(index<Groups>{}), nothing for no groups.
template <class F> MDQR_FN void with_groups(int groups, F&& f) {
    if (groups == 3)
        f(index<3>{});
    else if (groups == 2)
        f(index<2>{});
    else if (groups == 1)
        f(index<1>{});
}

// What of the columns at hand is in R already: the squares of the rows of this warp.
MDQR_FN float squares_above(const caqr_arguments& p, const caqr_step& at) {
    const int lane = thread_index() % 32;
    float sum = 0.0f;
    for (int i = thread_index() / 32; i < at.first; i += caqr_warps)
        if (lane < at.width) {
            const float x = p.r.at(i, at.first + lane);
            sum = fused(x, x, sum);
        }
    return sum;
}

template <int Parts, int Rows>
MDQR_FN void factor(const caqr_arguments& p, const caqr_shared& s, const caqr_step& at,
                    float (&a)[Rows], float* triangle, bool last) {
    const float least = last ? least_square_of<Rows>(a, squares_above(p, at), s) : 0.0f;
    gram_schmidt<Parts>(a, s, at.width, least);
    if (!last) {
        store_square(s, triangle);
        return;
    }
    for (int e = thread_index(); e < square_size; e += caqr_threads) {
        const int i = e % block_columns, j = e / block_columns;
        if (i < at.width && j < at.width)
            p.r.at(at.first + i, at.first + j) = s.square[i * square_stride + j];
    }
}

template <int Rows>
MDQR_FN void factor_leaf(const caqr_arguments& p, const caqr_shared& s, const caqr_tree& t,
                         const caqr_step& at, i64 leaf) {
    float* const mine = s.column(at.first + thread_index() % 32) + thread_index() / 32 * Rows;
    float a[Rows];
    read_quads<Rows>(a, mine);
    factor<1>(p, s, at, a, t.place[0] + leaf * square_size, t.levels == 1);
    write_quads<Rows>(a, mine);
    tell(p, 0);
}

// A block of up to Most triangles; each becomes the part of Q that belongs to it. Warp w has rows
// w, w + 8, w + 16 and w + 24 of them all.
template <int Most>
MDQR_FN void factor_triangles(const caqr_arguments& p, const caqr_shared& s, const caqr_tree& t,
                              const caqr_step& at, int level, i64 node) {
    constexpr int parts = block_columns / caqr_warps;
    const i64 first = node * fan_in, left = t.nodes[level - 1] - first;
    float* const mine = t.place[level - 1] + first * square_size + thread_index();
    float a[parts * Most];
    static_for<0, parts * Most>([&](auto i) MDQR_LAMBDA {
        constexpr int part = i.value / Most, child = i.value % Most;
        a[i] = child < left ? mine[child * square_size + part * caqr_threads] : 0.0f;
    });
    factor<parts>(p, s, at, a, t.place[level] + node * square_size, level + 1 == t.levels);
    static_for<0, parts * Most>([&](auto i) MDQR_LAMBDA {
        constexpr int part = i.value / Most, child = i.value % Most;
        if (child < left)
            mine[child * square_size + part * caqr_threads] = a[i];
    });
    tell(p, level);
}

// One copy for blocks of any number of rows: it takes the compiler long.
MDQR_CALL void factor_node(const caqr_arguments& p, caqr_shared s, const caqr_tree& t, caqr_step at,
                           int level, i64 node) {
    const i64 children = t.nodes[level - 1] - node * fan_in;
    if (children > fan_in / 2)
        factor_triangles<fan_in>(p, s, t, at, level, node);
    else if (children > fan_in / 4)
        factor_triangles<fan_in / 2>(p, s, t, at, level, node);
    else
        factor_triangles<fan_in / 4>(p, s, t, at, level, node);
}

// `square` becomes what Q of a block of rows is multiplied by.
MDQR_FN void load_product(const caqr_shared& s, const caqr_tree& t, i64 leaf) {
    i64 size = 1;
    for (int l = 2; l < t.levels; ++l)
        size *= fan_in;
    load_square(s, t.place[t.levels - 2] + leaf / size * square_size);
    for (int l = t.levels - 3; l >= 0; --l) {
        size /= fan_in;
        multiply_square(s, t.place[l] + leaf / size * square_size);
    }
}

// Block i of the launch sums the products with columns i, i + blocks, ... behind, of all leaves.
MDQR_FN void sum_products(const caqr_arguments& p, const caqr_shared& s, const caqr_step& at,
                          i64 leaves) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    constexpr int ways = 8;
    int turn = 0;
    for (i64 j = block_x(); j < block_columns * at.groups; j += p.blocks) {
        const float* const place = p.behind + j * block_columns + lane;
        float sum[ways] = {};
        for (i64 leaf = warp; leaf < leaves; leaf += ways * caqr_warps)
            static_for<0, ways>([&](auto w) MDQR_LAMBDA {
                const i64 mine = leaf + w * caqr_warps;
                sum[w] += mine < leaves ? place[mine * behind_size] : 0.0f;
            });
        const float half = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        const float all = sum_of_warps(half + ((sum[4] + sum[5]) + (sum[6] + sum[7])),
                                       s.sums + turn * caqr_threads);
        turn = 1 - turn;
        const i64 column = at.first + block_columns + j;
        if (warp == 0 && column < p.r.columns)
            p.r.at(at.first + lane, column) = all;
    }
}

// `behind` becomes -R12, row by row.
MDQR_FN void load_behind(const caqr_arguments& p, const caqr_shared& s, const caqr_step& at) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    for (int j = warp; j < block_columns * at.groups; j += caqr_warps) {
        const i64 column = at.first + block_columns + j;
        s.behind[lane * behind_stride + j] =
            column < p.r.columns ? -p.r.at(at.first + lane, column) : 0.0f;
    }
    sync_threads();
}

template <int Rows> struct caqr_panel {
    const caqr_arguments& p;
    const caqr_shared& s;
    const caqr_tree& t;
    bool stays; // one block of rows, from the beginning to the end

    MDQR_FN i64 leaves() const { return t.nodes[0]; }
    MDQR_FN int end(const caqr_step& at) const {
        return at.first + block_columns * (1 + at.groups);
    }
    MDQR_FN caqr_step before(const caqr_step& at) const {
        return {at.turn - 1, at.first - block_columns, block_columns, at.groups + 1};
    }

    MDQR_FN void inner(const caqr_step& at, i64 leaf) const {
        with_groups(at.groups, [&](auto groups) MDQR_LAMBDA {
            multiply_transposed<Rows, groups.value>(
                s, at.first, stays ? s.behind : p.behind + leaf * behind_size);
        });
        sync_threads();
    }

    MDQR_FN void load(i64 leaf, int first, int last) const {
        load_tile<Rows>(s, rows_of(p, leaf), first, last);
        if (leaf + p.blocks < leaves())
            prefetch_tile<Rows>(rows_of(p, leaf + p.blocks), first, last);
    }

    // A block of rows that does not stay comes once a step: what is left of the step before is done
    // first.
    MDQR_FN void factor_next(const caqr_step& at, i64 leaf) const {
        const float_matrix rows = rows_of(p, leaf);
        const bool begins = at.turn == 1;
        load(leaf, begins ? at.first : before(at).first, end(at));
        if (!begins) {
            finish(before(at), leaf);
            update(before(at));
        }
        factor_leaf<Rows>(p, s, t, at, leaf);
        sync_threads();
        store_tile<Rows>(s, rows, at.first, begins ? at.first + block_columns : end(at));
        inner(at, leaf);
    }

    // The blocks of rows, then the tree, from whose root on the way leads down again. Its blocks
    // belong to the last blocks of the launch, some of which have no rows.
    MDQR_FN void up(const caqr_step& at) const {
        if (stays && block_x() < leaves())
            factor_leaf<Rows>(p, s, t, at, block_x());
        if (!stays) {
            if (at.turn > 1)
                load_behind(p, s, before(at));
            for (i64 leaf = block_x(); leaf < leaves(); leaf += p.blocks)
                factor_next(at, leaf);
        }
        for (int level = 1; level < t.levels; ++level)
            for (i64 node = p.blocks - 1 - block_x(); node < t.nodes[level]; node += p.blocks) {
                await(p, level - 1, at.turn * t.nodes[level - 1]);
                factor_node(p, s, t, at, level, node);
            }
        if (stays && block_x() < leaves())
            inner(at, block_x());
    }

    // Without the rows themselves, unless they stay.
    MDQR_FN void down(const caqr_step& at) const {
        if (t.levels > 1)
            await(p, t.levels - 1, at.turn);
        for (i64 leaf = block_x(); leaf < leaves(); leaf += p.blocks) {
            float* const products = p.behind + leaf * behind_size;
            if (!stays)
                for (int e = thread_index(); e < square_size * at.groups; e += caqr_threads)
                    s.behind[e] = products[e];
            if (t.levels > 1) {
                load_product(s, t, leaf);
                with_groups(at.groups, [&](auto groups) MDQR_LAMBDA {
                    multiply_behind<groups.value>(s, products);
                });
            } else {
                for (int e = thread_index(); e < square_size * at.groups; e += caqr_threads)
                    products[e] = s.behind[e];
            }
            if (!stays)
                store_square(s, t.place[0] + leaf * square_size);
            if (at.groups)
                tell(p, t.levels);
            if (stays && t.levels > 1)
                multiply_by_square<Rows>(s, at.first);
            else
                sync_threads();
        }
    }

    MDQR_FN void store(const caqr_step& at, i64 leaf) const {
        const float_matrix rows = rows_of(p, leaf);
        store_tile<Rows>(s, rows, at.first, at.first + block_columns);
        store_operand<Rows>(s, rows, leaf * p.rows, at.first, p.low);
    }
    // Of rows that do not stay.
    MDQR_FN void finish(const caqr_step& at, i64 leaf) const {
        load_square(s, t.place[0] + leaf * square_size);
        multiply_by_square<Rows>(s, at.first);
        store(at, leaf);
        sync_threads();
    }
    MDQR_FN void update(const caqr_step& at) const {
        with_groups(at.groups,
                    [&](auto groups) MDQR_LAMBDA { update_tile<Rows, groups.value>(s, at.first); });
    }

    // Q leaves while messages are on their way.
    MDQR_FN void behind(const caqr_step& at) const {
        const bool has_rows = stays && block_x() < leaves();
        if (at.groups) {
            await(p, t.levels, at.turn * leaves());
            sum_products(p, s, at, leaves());
            tell(p, t.levels + 1);
        }
        if (has_rows)
            store(at, block_x());
        if (at.groups)
            await(p, t.levels + 1, at.turn * p.blocks);
        if (has_rows && at.groups) {
            load_behind(p, s, at);
            update(at);
        }
    }
    MDQR_FN void finish_last(const caqr_step& at) const {
        for (i64 leaf = block_x(); leaf < leaves(); leaf += p.blocks) {
            load(leaf, at.first, end(at));
            finish(at, leaf);
        }
    }
};

template <int Rows> MDQR_FN void factor_panel(const caqr_arguments& p) {
    const caqr_shared s(p.work);
    const caqr_tree t = tree_of(p);
    const caqr_panel<Rows> panel{p, s, t, t.nodes[0] <= p.blocks};
    const int count = int(p.a.columns + block_columns - 1) / block_columns;
    if (panel.stays && block_x() < panel.leaves())
        load_tile<Rows>(s, rows_of(p, block_x()), 0, count * block_columns);
    for (int k = 0; k < count; ++k) {
        const int first = k * block_columns, left = int(p.a.columns) - first;
        const caqr_step at{k + 1, first, left < block_columns ? left : block_columns,
                           count - 1 - k};
        panel.up(at);
        panel.down(at);
        panel.behind(at);
        if (!at.groups && !panel.stays)
            panel.finish_last(at);
    }
}

MDQR_END

// Grid: `blocks`, cooperative if more than one.
MDQR_KERNEL(mdqr_tensorcore_caqr, mdqr::caqr_arguments, mdqr::caqr_threads) {
    using namespace mdqr;
    if (p.rows == block_rows)
        factor_panel<block_rows / caqr_warps>(p);
    else
        factor_panel<block_rows / 2 / caqr_warps>(p);
}
