// The arguments of a panel, its tree of blocks, and the messages between them.
#pragma once
#include "tensorcore/caqr.hpp"

MDQR_BEGIN

// 16 triangles a block: enough for 256 * 16^7 rows.
inline constexpr int most_levels = 8;

struct caqr_arguments {
    float_matrix a, r; // r: as many rows as columns
    operand_matrix low;
    float* tree;    // of each block of rows, and of each of the tree but the last, 32 x 32
    float* behind;  // of each block of rows, up to 32 x 96
    i64* words;     // zero: one a level, and two
    i64 rows;       // of a block, 128 or 256
    i64 blocks;     // of the launch
    workspace work; // of a block of rows
};

struct caqr_tree {
    i64 nodes[most_levels];
    float* place[most_levels]; // triangles on the way up, parts of Q on the way down
    int levels;
};

// Where the factorisation is.
struct caqr_step {
    i64 turn;   // counts from 1 on
    int first;  // column
    int width;  // columns that are factored
    int groups; // of 32 columns behind
};

MDQR_FN caqr_tree tree_of(const caqr_arguments& p) {
    caqr_tree t;
    float* next = p.tree;
    t.levels = 0;
    i64 nodes = (p.a.rows + p.rows - 1) / p.rows;
    for (bool more = true; more; nodes = (nodes + fan_in - 1) / fan_in) {
        t.nodes[t.levels] = nodes;
        t.place[t.levels++] = next;
        next += nodes * square_size;
        more = nodes > 1;
    }
    return t;
}

// One block alone needs no messages.
MDQR_FN void tell(const caqr_arguments& p, i64 word) {
    if (p.blocks > 1)
        signal(p.words + word);
    else
        sync_threads();
}
MDQR_FN void await(const caqr_arguments& p, i64 word, i64 goal) {
    if (p.blocks > 1)
        wait_for(p.words + word, goal);
}

MDQR_FN float_matrix rows_of(const caqr_arguments& p, i64 leaf) {
    const i64 top = leaf * p.rows, left = p.a.rows - top;
    return {p.a.data + top, p.a.column, left < p.rows ? left : p.rows, p.a.columns};
}

MDQR_END
