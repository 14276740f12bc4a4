// QR of a panel of at most 32 columns, communication avoiding (J. Demmel, L. Grigori, M. Hoemmen,
// J. Langou 2012), with modified Gram-Schmidt in its blocks: one launch a panel.
#include "tensorcore_caqr.hpp"

MDQR_BEGIN

// Up to 256 rows of a level give 32 rows of the next; five levels have room for 2^23 rows.
inline constexpr int most_levels = 6;

struct caqr_arguments {
    float_matrix a, r; // r: as many rows as columns
    float* tree;       // the triangles of all levels but the last, one level behind the other
    i64* meetings;     // zero
    i64 blocks;        // of the launch
};

struct caqr_levels {
    float_matrix level[most_levels];
    int count;
};

MDQR_FN i64 blocks_of(const float_matrix& x) { return (x.rows + block_rows - 1) / block_rows; }

MDQR_FN caqr_levels levels_of(const caqr_arguments& p) {
    caqr_levels all;
    all.level[0] = p.a;
    all.count = 1;
    float* next = p.tree;
    for (i64 blocks = blocks_of(p.a); blocks > 1; ++all.count) {
        const i64 rows = block_columns * blocks;
        all.level[all.count] = {next, rows, rows, p.a.columns};
        next += rows * p.a.columns;
        blocks = blocks_of(all.level[all.count]);
    }
    return all;
}

MDQR_FN float_matrix rows_of(const float_matrix& x, i64 first, i64 most) {
    const i64 left = x.rows - first;
    return {x.data + first, x.column, left < most ? left : most, x.columns};
}

MDQR_END

// Grid: `blocks`, cooperative if more than one.
MDQR_KERNEL(mdqr_tensorcore_caqr, mdqr::caqr_arguments, mdqr::caqr_threads, 2) {
    using namespace mdqr;
    const caqr_shared shared(shared_floats());
    const caqr_levels all = levels_of(p);
    i64 meeting = 0;
    for (int l = 0; l < all.count; ++l) {
        const float_matrix& x = all.level[l];
        const bool last = l + 1 == all.count;
        for (i64 b = block_x(); b < blocks_of(x); b += p.blocks)
            factor_block(shared, rows_of(x, b * block_rows, block_rows),
                         last ? p.r : rows_of(all.level[l + 1], b * block_columns, block_columns),
                         last);
        if (!last)
            sync_blocks(p.meetings, p.blocks, ++meeting);
    }
    for (int l = all.count - 2; l >= 0; --l) {
        const float_matrix& x = all.level[l];
        sync_blocks(p.meetings, p.blocks, ++meeting);
        for (i64 b = block_x(); b < blocks_of(x); b += p.blocks)
            multiply_block(shared, rows_of(x, b * block_rows, block_rows),
                           rows_of(all.level[l + 1], b * block_columns, block_columns));
    }
}
