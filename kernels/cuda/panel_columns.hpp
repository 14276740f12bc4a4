// The steps of a panel that a block does on its own rows.
#pragma once
#include "panel.hpp"

MDQR_BEGIN

struct panel_block {
    const panel_arguments& p;
    const i64 item, block, first;
    const int m_rows, w, thread, threads;
    const panel_shared shared;
    panel_exchange exchange;
    panel_rows rows;
    i64 step = 0;

    MDQR_FN panel_block(const panel_arguments& p, i64 item, i64 block)
        : p(p), item(item), block(block), first(block * p.rows_a_block), m_rows(rows_of(p, block)),
          w(int(p.columns)), thread(thread_index()), threads(thread_count()),
          shared(shared_memory(), w, int(p.blocks)), exchange(p, item) {
        if (p.in_shared) {
            const i64 column = shared_column(p.rows_a_block), plane = column * w;
            rows = {{shared.rows(), plane, limbs * plane, limbs}, column, 1};
        } else {
            rows = {p.h.to, p.h.column, p.h.row};
            rows.to.data += p.h.at(item, first, 0);
        }
    }
    MDQR_FN static int rows_of(const panel_arguments& p, i64 block) {
        const i64 left = p.rows - block * p.rows_a_block;
        return int(block == p.blocks || left < 0 ? 0
                   : left < p.rows_a_block       ? left
                                                 : p.rows_a_block);
    }
    // 8 lanes of a column and those of the next one meet different banks.
    MDQR_FN static i64 shared_column(i64 rows) { return (rows + 7) / 16 * 16 + 8; }

    MDQR_FN bool alone() const { return p.blocks == 1; }
    MDQR_FN bool makes_rows() const { return block < p.blocks; }
    MDQR_FN bool makes_t() const { return alone() || block == p.blocks; }
    MDQR_FN bool owns(int row) const { return row >= first && row < first + m_rows; }
    // The first own row of the panel's rows from `row` on.
    MDQR_FN int own_from(int row) const {
        return row <= first ? 0 : row - first < m_rows ? int(row - first) : m_rows;
    }
    MDQR_FN void meet() { sync_blocks(p.counter + item, alone() ? 1 : p.blocks + 1, ++step); }

    // -- on the way in ----------------------------------------------------------------------------

    // Exponents of the largest element of each column, to all threads of all blocks.
    MDQR_FN void find_column_exponents() {
        const lane_groups by(thread, threads, w);
        const int c = by.group;
        double peak = 0.0;
        for (int i = by.lane; c < w && i < m_rows; i += by.lanes) {
            const i64 at = p.a.at(item, first + i, c);
            peak = larger(abs(p.a.to.data[at]), peak);
            if (MDQR_COMPLEX)
                peak = larger(abs(p.a.to.data[at + p.a.to.imag]), peak);
        }
        peak = group_peak(peak, by.lanes);
        if (c < w && by.lane == 0 && makes_rows()) {
            const int e = part_exponent(peak);
            if (alone())
                shared.exponents()[c] = usable_exponent(e);
            else
                publish(exchange.column_exponent(c, block), double(e));
        }
        meet();
        if (!alone())
            combine_column_exponents(by);
        sync_threads();
    }
    MDQR_FN void combine_column_exponents(const lane_groups& by) {
        const int c = by.group;
        int e = no_exponent;
        for (i64 b = by.lane; c < w && b < p.blocks; b += by.lanes) {
            const int other = int(load_fresh(exchange.column_exponent(c, b)));
            e = other > e ? other : e;
        }
        e = group_maximum(e, by.lanes);
        if (c < w && by.lane == 0)
            shared.exponents()[c] = usable_exponent(e);
    }
    MDQR_FN void read_rows() {
        const lane_groups by(thread, threads, w);
        const int c = by.group;
        if (c >= w)
            return;
        const int e = int(shared.exponents()[c]);
        for (int i = by.lane; i < m_rows; i += by.lanes) {
            const number x = load_as<number>(p.a.to, p.a.at(item, first + i, c));
            rows.put(c, i, divided_by_power(x, e));
        }
    }

    // -- column j ---------------------------------------------------------------------------------

    // Normalise what is left of column j and divide it by the power of two of its largest element
    // here; returns its exponent. Fast sums leave zeros on top where a column cancels: leading
    // limbs must tell its size.
    MDQR_FN int settle_column(int j) {
        double peak = 0.0;
        for (int i = own_from(j) + thread; i < m_rows; i += threads) {
            number x = rows.get(j, i);
            settle(x);
            rows.put(j, i, x);
            peak = larger(size_of(x), peak);
        }
        peak = group_peak(peak, warp_lanes);
        double* scratch = shared.memory + panel_shared::scratch;
        if (thread % warp_lanes == 0)
            scratch[thread / warp_lanes] = peak;
        sync_threads();
        for (int k = 0; k < threads / warp_lanes; ++k)
            peak = larger(scratch[k], peak);
        const int e = part_exponent(peak);
        for (int i = own_from(j) + thread; i < m_rows; i += threads)
            rows.put(j, i, divided_by_power(rows.get(j, i), usable_exponent(e)));
        sync_threads();
        return e;
    }

    // Sums of conj(x_i) y_i over the rows below the diagonal, x the scaled column j and y each
    // column: itself, the vectors before it and the columns behind it.
    MDQR_FN void add_up(int j) {
        const lane_groups by(thread, threads, w);
        const int c = by.group;
        number sum = zero_number();
        for (int i = own_from(j + 1) + by.lane; c < w && i < m_rows; i += by.lanes)
            multiply_add(sum, conjugate(rows.get(j, i)), rows.get(c, i));
        sum = group_sum(sum, by.lanes);
        if (c >= w)
            return;
        if (alone()) {
            if (by.lane == 0)
                shared.set_sum(c, sum);
            return;
        }
        each_plane(sum, [&](int l, double limb) MDQR_LAMBDA {
            if (l % by.lanes == by.lane)
                publish(exchange.sum(l, c, block), limb);
        });
    }
    MDQR_FN void publish_row(int j, int e) {
        if (thread == 0)
            publish(exchange.exponent(block), double(e));
        if (!owns(j))
            return;
        const int i = int(j - first);
        for (int c = thread; c < w; c += threads)
            each_plane(rows.get(c, i),
                       [&](int l, double limb) MDQR_LAMBDA { publish(exchange.row(l, c), limb); });
    }

    // v = inverse x in place of x, by the threads from `skip` on.
    MDQR_FN void make_vector(int j, int skip, int below) {
        const number factor = times_power(shared.scalar(panel_shared::inverse), small_power(below));
        for (int i = own_from(j + 1) + thread - skip; i < m_rows; i += threads - skip) {
            number v = multiply(rows.get(j, i), factor);
            settle(v);
            rows.put(j, i, v);
        }
    }

    // Columns behind j += v times their factors.
    MDQR_FN void update(int j) {
        const int behind = w - 1 - j;
        if (behind == 0)
            return;
        const int lanes = threads / behind, c = j + 1 + thread / lanes;
        if (c >= w)
            return;
        const number factor = shared.sum(c);
        for (int i = own_from(j + 1) + thread % lanes; i < m_rows; i += lanes) {
            number y = rows.get(c, i);
            multiply_add(y, rows.get(j, i), factor);
            rows.put(c, i, y);
        }
    }

    // -- on the way out ---------------------------------------------------------------------------

    MDQR_FN void write_rows() {
        const lane_groups by(thread, threads, w);
        const int c = by.group;
        if (c >= w)
            return;
        const int e = int(shared.exponents()[c]);
        const bool all = p.in_shared || p.v.to.data != nullptr || first + m_rows < w;
        const int end = all ? m_rows : w > first ? int(w - first) : 0;
        for (int i = by.lane; i < end; i += by.lanes) {
            number x = rows.get(c, i);
            if (p.v.to.data != nullptr)
                store_number(p.v.to, p.v.at(item, first + i, c), unit_lower(x, int(first + i), c));
            if (first + i <= c)
                x = scaled_back(x, e);
            store_number(p.h.to, p.h.at(item, first + i, c), x);
        }
    }
    MDQR_FN static number unit_lower(const number& x, int row, int c) {
        return row > c ? x : row == c ? from_real(from_double<double, limbs>(1.0)) : zero_number();
    }
};

MDQR_END
