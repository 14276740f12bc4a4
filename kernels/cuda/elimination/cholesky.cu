// The first rows of Cholesky factors, by a block for each piece of the columns behind the tile,
// which every block reduces for itself.
#include "elimination/team.hpp"

using namespace mdqr;

struct cholesky_arguments {
    matrix_view c, a; // (item, rows, columns)
    i64 rows, columns, width, pieces;
};

MDQR_BEGIN

// Entries of the tile in shared memory, those of the piece where the result goes.
struct row_entries {
    static constexpr bool along = true;
    matrix_view c;
    i64 item, rows, from;

    MDQR_FN planes tile() const {
        return {shared_memory(), rows * rows, limbs * rows * rows, limbs};
    }
    MDQR_FN i64 at(int j, i64 i) const { return c.at(item, j, from + i - rows); }
    MDQR_FN number get(int j, i64 i) const {
        return i < rows ? load_as<number>(tile(), j * rows + i) : load_as<number>(c.to, at(j, i));
    }
    MDQR_FN void put(int j, i64 i, const number& x) const {
        if (i < rows)
            store_number(tile(), j * rows + i, x);
        else
            store_number(c.to, at(j, i), x);
    }
    MDQR_FN number kept(int j, int i) const { return get(j, i); }
    MDQR_FN void exchange(int, int, i64) const {}
};

MDQR_END

MDQR_KERNEL(mdqr_cholesky_panel, cholesky_arguments, elimination_threads, 1) {
    const i64 item = block_x() / p.pieces, piece = block_x() % p.pieces;
    const i64 from = p.rows + piece * p.width, left = p.columns - from;
    const i64 length = p.rows + (left < p.width ? left : p.width);
    const row_entries entries{p.c, item, p.rows, from};
    for (i64 e = thread_index(); e < p.rows * length; e += thread_count()) {
        const i64 j = e / length, i = e % length, column = i < p.rows ? i : from + i - p.rows;
        entries.put(int(j), i, load_as<number>(p.a.to, p.a.at(item, j, column)));
    }
    sync_threads();
    reduce_definite(block_team<row_entries>{int(p.rows), length, entries});
    if (piece != 0)
        return;
    sync_threads();
    for (i64 e = thread_index(); e < p.rows * p.rows; e += thread_count()) {
        const int j = int(e / p.rows), i = int(e % p.rows);
        store_number(p.c.to, p.c.at(item, j, i), i < j ? zero_number() : entries.get(j, i));
    }
}
