// Columns of Gaussian elimination with partial pivoting, by a block for each matrix.
#include "elimination/team.hpp"

using namespace mdqr;

struct lu_arguments {
    matrix_view a; // (item, rows, columns), changed
    i64 rows, columns, first, last;
    i64 *places, apart; // rows that pivots came from, by item and column
};

MDQR_BEGIN

// Column j is `first` + j of the matrix, and its entry i row `first` + i.
struct column_entries {
    static constexpr bool along = false;
    matrix_view a;
    i64 item, first, columns;
    i64* places;

    MDQR_FN i64 at(i64 i, i64 column) const { return a.at(item, first + i, column); }
    MDQR_FN number get(int j, i64 i) const { return load_as<number>(a.to, at(i, first + j)); }
    MDQR_FN void put(int j, i64 i, const number& x) const {
        store_number(a.to, at(i, first + j), x);
    }
    MDQR_FN number kept(int j, int c) const { return get(c, j); }
    MDQR_FN double size(int j, i64 i) const {
        const double* p = a.to.data + at(i, first + j);
        return parts == 2 ? one_sum(abs(*p), abs(p[a.to.imag])) : abs(*p);
    }

    // Bring the first of the largest entries of column j to row j.
    MDQR_FN void exchange(int j, int steps, i64 length) const {
        const i64 place = first_largest(j, length);
        if (thread_index() == 0)
            places[j] = first + place;
#pragma unroll 1
        for (i64 c = thread_index(); c < columns; c += thread_count()) {
            const number top = load_as<number>(a.to, at(j, c));
            number x = load_as<number>(a.to, at(place, c));
            store_number(a.to, at(place, c), top);
            if (c >= first + j && c < first + steps)
                finish_entry(x);
            store_number(a.to, at(j, c), x);
        }
        sync_threads();
    }

private:
    // No number is larger than another that is NaN, nor is NaN larger than one.
    MDQR_FN static void take_larger(double& most, i64& place, double size, i64 other) {
        if (size > most || (size == most && other < place)) {
            most = size;
            place = other;
        }
    }
    MDQR_FN i64 first_largest(int j, i64 length) const {
        double most = -1.0;
        i64 place = j;
        for (i64 i = j + thread_index(); i < length; i += thread_count())
            if (const double s = size(j, i); s > most) {
                most = s;
                place = i;
            }
        for (int mask = warp_size / 2; mask > 0; mask /= 2) {
            const double s = shuffle_xor(most, mask);
            const i64 other = i64(shuffle_xor(double(place), mask));
            take_larger(most, place, s, other);
        }
        double* found = shared_memory();
        const int warp = thread_index() / warp_size;
        if (thread_index() % warp_size == 0) {
            found[2 * warp] = most;
            found[2 * warp + 1] = double(place);
        }
        sync_threads();
        most = -1.0;
        place = j;
        for (int w = 0; w < thread_count() / warp_size; ++w)
            take_larger(most, place, found[2 * w], i64(found[2 * w + 1]));
        return place;
    }
};

MDQR_END

MDQR_KERNEL(mdqr_lu_panel, lu_arguments, elimination_threads, 1) {
    const i64 item = block_x();
    const column_entries entries{p.a, item, p.first, p.columns,
                                 p.places + item * p.apart + p.first};
    eliminate(block_team<column_entries>{int(p.last - p.first), p.rows - p.first, entries});
}
