// A block of the launch: its rows of a panel, and the sizes of what is left of the columns.
#pragma once
#include "panel/panel.hpp"

MDQR_BEGIN

struct panel_block {
    const panel_arguments& p;
    const int item, place, w, thread, threads; // place: among the blocks of the item
    const panel_shared shared;
    const panel_exchange exchange;
    const int column_shift; // log2 of the lanes of a column
    i64 column;             // doubles between two columns of the pivot
    int step = 0;
    // The block of rows at hand.
    int block, first, m_rows;
    panel_rows rows, pivot;
    double* digits; // of the pivot: digit k of row i at digits[k * rows.column + i]

    MDQR_FN panel_block(const panel_arguments& p, i64 item, i64 place)
        : p(p), item(int(item)), place(int(place)), w(int(p.columns)), thread(thread_index()),
          threads(thread_count()), shared(shared_memory(), w), exchange(p, item),
          column_shift(lane_groups::shift_of(threads, w)),
          column(p.in_shared ? shared_column(p.rows_a_block) : p.rows_a_block) {
        take(makes_rows() ? int(place) : int(p.blocks));
    }

    // Turn to a block of rows; to none behind the last.
    MDQR_FN void take(int which) {
        block = which;
        first = int(which * p.rows_a_block);
        m_rows = rows_of(p, which);
        const i64 words = column * (panel_shared::pivot_words + w * number_planes);
        double* memory = p.in_shared ? shared.pivot() + (in_turn ? which / takers() : 0) * words
                                     : exchange.pivot(p, which);
        pivot = {{memory, column, limbs * column, limbs}, 0, 1};
        digits = memory + number_planes * column;
        if (p.in_shared) {
            const i64 plane = column * w;
            memory += panel_shared::pivot_words * column;
            rows = {{memory, plane, limbs * plane, limbs}, column, 1};
        } else {
            rows = {p.h.to, p.h.column, p.h.row};
            rows.to.data += p.h.at(item, first, 0);
        }
    }
    // f() for every block of rows that this one has.
    template <class F> MDQR_FN void each_block_of_rows(F&& f) {
        if constexpr (in_turn) {
            if (makes_rows())
                for (int which = place; which < p.blocks; which += takers()) {
                    take(which);
                    f();
                }
        } else {
            f();
        }
    }
    // Turn to the block of rows with this row, if this block has it.
    MDQR_FN void take_row(int row) {
        const int which = in_turn ? int(row / p.rows_a_block) : 0;
        if (in_turn && makes_rows() && which % takers() == place)
            take(which);
    }
    MDQR_FN static int rows_of(const panel_arguments& p, i64 block) {
        const i64 left = p.rows - block * p.rows_a_block;
        return int(block == p.blocks || left < 0 ? 0
                   : left < p.rows_a_block       ? left
                                                 : p.rows_a_block);
    }
    // 8 lanes of a column and those of the next one meet different banks.
    MDQR_FN static i64 shared_column(i64 rows) { return (rows + 7) / 16 * 16 + 8; }

    // One group a column.
    MDQR_FN lane_groups by() const { return lane_groups(thread, column_shift); }
    MDQR_FN bool alone() const { return !in_turn && p.blocks == 1; }
    // Blocks of the launch that have rows of the item.
    MDQR_FN int takers() const { return int(!in_turn ? p.blocks : p.group == 1 ? 1 : p.group - 1); }
    MDQR_FN bool makes_rows() const { return place < takers(); }
    MDQR_FN bool makes_t() const {
        return in_turn ? place + 1 == p.group : alone() || !makes_rows();
    }
    MDQR_FN bool owns(int row) const { return row >= first && row < first + m_rows; }
    // The first row of this block among the panel's rows from `row` on.
    MDQR_FN int own_from(int row) const {
        return row <= first ? 0 : row - first < m_rows ? row - first : m_rows;
    }
    MDQR_FN void barrier() { sync_blocks(exchange.counter, alone() ? 1 : p.group, ++step); }

    // -- sizes of columns -------------------------------------------------------------------------

    // Sizes of the columns on the rows from `row` on, to all threads of all blocks; `get(c, i)` is
    // number (c, i) of this block.
    template <class Get> MDQR_FN void measure(int row, Get&& get) {
        const lane_groups by = this->by();
        const int c = by.group;
        column_size size{0.0, 0.0};
        each_block_of_rows([&]() MDQR_LAMBDA {
            size = size_of_rows(row, by, get);
            if (!alone() && c < w && by.lane == 0 && makes_rows()) {
                publish(exchange.column_size(c, block), size.exponent);
                publish(exchange.column_size(c, block) + 1, size.squares);
            }
        });
        if (!alone()) {
            barrier();
            size = sizes_of_blocks(c, by);
        }
        if (c < w && by.lane == 0) {
            const bool left = size.exponent > no_exponent && size.exponent < non_finite_exponent;
            shared.base(c) = size.exponent;
            shared.size(c) = shared.first(c) = left ? size.squares : 0.0;
        }
        sync_threads();
    }

private:
    // squares * 4^exponent, or one of the two marks in place of an exponent.
    struct column_size {
        double exponent, squares;
        MDQR_FN void add(double e, double x) {
            const bool higher = e > exponent;
            const double small = higher ? exponent : e, large = higher ? e : exponent;
            const double factor =
                large - small > 500.0 ? 0.0 : power_of_two(2 * int(small - large));
            squares = higher ? one_sum(one_prod(squares, factor), x)
                             : one_sum(squares, one_prod(x, factor));
            exponent = large;
        }
        // Over the lanes of a group; their exponents may be known to be the same.
        MDQR_FN void combine(int lanes, bool same) {
            for (int mask = lanes / 2; mask > 0; mask /= 2) {
                const double e = same ? exponent : shuffle_xor(exponent, mask);
                const double x = shuffle_xor(squares, mask);
                add(e, x);
            }
        }
    };
    // That of the block of rows at hand.
    template <class Get>
    MDQR_FN column_size size_of_rows(int row, const lane_groups& by, Get&& get) const {
        const int c = by.group, from = own_from(row), end = c < w ? m_rows : 0;
        double peak = 0.0;
        for (int i = from + by.lane; i < end; i += by.lanes)
            peak = peak_of(get(c, i), peak);
        const int e = part_exponent(group_peak(peak, by.lanes));
        double squares = 0.0;
        for (int i = from + by.lane; i < end; i += by.lanes)
            squares = one_sum(squares, square_of(get(c, i), usable_exponent(e)));
        column_size size{double(e), squares};
        size.combine(by.lanes, true);
        return size;
    }
    MDQR_FN column_size sizes_of_blocks(int c, const lane_groups& by) {
        column_size size{double(no_exponent), 0.0};
        const int blocks = c < w ? int(p.blocks) : 0;
        for (int b = by.lane; b < blocks; b += by.lanes) {
            const double* part = exchange.column_size(c, b);
            size.add(load_past_cache(part), load_past_cache(part + 1));
        }
        size.combine(by.lanes, false);
        return size;
    }

    // In double: limbs that cancelled may leave zeros on top.
    template <int N> MDQR_FN static double in_double(const md<double, N>& x) {
        double sum = 0.0;
        static_for_down<N - 1, 0>([&](auto l) MDQR_LAMBDA { sum = one_sum(sum, x.limb[l]); });
        return sum;
    }
    template <int N> MDQR_FN static double peak_of(const md<double, N>& x, double peak) {
        return larger(abs(in_double(x)), peak);
    }
    template <int N> MDQR_FN static double peak_of(const cmd<double, N>& x, double peak) {
        return peak_of(x.im, peak_of(x.re, peak));
    }
    template <int N> MDQR_FN static double square_of(const md<double, N>& x, int e) {
        const int half = -e / 2;
        const double y =
            one_prod(one_prod(in_double(x), power_of_two(half)), power_of_two(-e - half));
        return one_prod(y, y);
    }
    template <int N> MDQR_FN static double square_of(const cmd<double, N>& x, int e) {
        return one_sum(square_of(x.re, e), square_of(x.im, e));
    }
};

MDQR_END
