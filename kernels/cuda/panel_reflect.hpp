// What every block of a panel computes again from the published sums of a column, and T.
#pragma once
#include "panel_columns.hpp"

MDQR_BEGIN

// The part of a block's sums of column j: x was divided by 2^e there, and is by 2^largest here.
struct column_scale {
    int own;     // exponent of this block's part
    int largest; // of all parts, and 0 where nothing is left
};

MDQR_FN int known_exponent(double e) { return usable_exponent(int(e)); }

// Exponents of all blocks' parts of column j, to shared memory, and the largest, to all threads; a
// part that is not finite was left as it is, as if its exponent were 0.
MDQR_FN column_scale combine_exponents(const panel_block& q, int e) {
    if (q.alone())
        return {usable_exponent(e), usable_exponent(e)};
    double* known = q.shared.block_exponents();
    if (q.thread < q.p.blocks)
        known[q.thread] = load_fresh(q.exchange.exponent(q.thread));
    sync_threads();
    int largest = no_exponent;
    for (int b = q.thread % warp_lanes; b < q.p.blocks; b += warp_lanes) {
        const int other = int(known[b]), used = other == wild_exponent ? 0 : other;
        largest = used > largest ? used : largest;
    }
    return {usable_exponent(e), usable_exponent(group_maximum(largest, warp_lanes))};
}

// The power by which a block's sums count; nothing is left where the exponent says so.
MDQR_FN double part_power(double exponent, int largest, int times) {
    const int e = int(exponent);
    return e == no_exponent ? 0.0 : small_power(times * (usable_exponent(e) - largest));
}

// Parts that a lane has on the way at a time: reading one takes as long as some hundred additions.
inline constexpr int parts_on_the_way = number_planes <= 4 ? 4 : number_planes <= 8 ? 2 : 1;

// The sum of the blocks' sums of column c by the lanes of a group.
MDQR_FN number combine_sums(const panel_block& q, int c, bool exists, int lane, int lanes,
                            int largest, int times) {
    number sum = zero_number();
    const int blocks = exists ? int(q.p.blocks) : 0;
    for (int b = lane; b < blocks; b += parts_on_the_way * lanes) {
        number part[parts_on_the_way];
        static_for<0, parts_on_the_way>([&](auto i) MDQR_LAMBDA {
            const int other = b + i.value * lanes;
            set_planes(part[i], [&](int l) MDQR_LAMBDA {
                return other < blocks ? load_fresh(q.exchange.sum(l, c, other)) : 0.0;
            });
        });
        static_for<0, parts_on_the_way>([&](auto i) MDQR_LAMBDA {
            const int other = b + i.value * lanes;
            if (other < blocks) {
                const double e = q.shared.block_exponents()[other];
                sum = plus(sum, times_power(part[i], part_power(e, largest, times)));
            }
        });
    }
    return group_sum(sum, lanes);
}

MDQR_FN number diagonal_row(const panel_block& q, int j, int c) {
    if (q.alone())
        return q.rows.get(c, j);
    number r;
    set_planes(r, [&](int l) MDQR_LAMBDA { return load_fresh(q.exchange.row(l, c)); });
    return r;
}

// The reflector of column j by the last warp, tau and 1 / (alpha - beta) to shared memory; beta to
// the diagonal.
MDQR_FN void make_scalars(const panel_block& q, int j, int largest) {
    const int lane = q.thread % warp_lanes;
    number squares = zero_number();
    if (!q.alone())
        squares = combine_sums(q, j, true, lane, warp_lanes, largest, 2);
    if (lane != 0)
        return;
    if (q.alone())
        squares = q.shared.sum(j);
    number alpha = diagonal_row(q, j, j);
    if (!q.alone()) {
        const double e = q.shared.block_exponents()[j / q.p.rows_a_block];
        alpha = times_power(alpha, small_power(known_exponent(e) - largest));
    }
    settle(real_part(squares));
    const panel_reflector r = make_panel_reflector(alpha, real_part(squares));
    q.shared.set_scalar(panel_shared::tau, r.tau);
    q.shared.set_scalar(panel_shared::inverse, r.inverse);
    if (q.owns(j))
        q.rows.put(j, j - q.first, from_real(scaled_back(r.beta, largest)));
}

// Sums of the columns that this block needs, by all other warps.
MDQR_FN void gather_sums(const panel_block& q, int j, int largest) {
    const int first = q.makes_rows() ? j + 1 : 0, end = q.makes_rows() ? q.w : j;
    const lane_groups by(q.thread, q.threads - warp_lanes, end - first);
    const int c = first + by.group;
    const number sum = combine_sums(q, c, c < end, by.lane, by.lanes, largest, 1);
    if (c < end && by.lane == 0)
        q.shared.set_sum(c, sum);
}

// z = v^H y for column c: with y = a_c behind j, -conj(tau) z is its factor in the update, and its
// element on row j is done; with y = v_c before j, conj(z) belongs to T.
MDQR_FN void make_factor(const panel_block& q, int j, int c) {
    const number y = diagonal_row(q, j, c);
    number z = y;
    multiply_add(z, conjugate(q.shared.scalar(panel_shared::inverse)), q.shared.sum(c));
    if (c < j) {
        q.shared.set_sum(c, conjugate(z));
        return;
    }
    z = opposite(multiply(conjugate(q.shared.scalar(panel_shared::tau)), z));
    q.shared.set_sum(c, z);
    if (q.owns(j))
        q.rows.put(c, j - q.first, plus(y, z));
}

MDQR_FN number get_t(const panel_arguments& p, i64 item, int i, int c) {
    return load_as<number>(p.t.to, p.t.at(item, i, c));
}

// T[:j, j] = -tau T[:j, :j] V^H v, T[j, j] = tau.
MDQR_FN void extend_triangle(const panel_block& q, int j) {
    const number tau = q.shared.scalar(panel_shared::tau);
    if (q.thread == 0) {
        store_number(q.p.t.to, q.p.t.at(q.item, j, j), tau);
        store_number(q.p.tau.to, q.p.tau.at(q.item, 0, j), tau);
    }
    if (j == 0)
        return;
    const lane_groups by(q.thread, q.threads, j);
    const int i = by.group;
    number sum = zero_number();
    for (int c = i + by.lane; i < j && c < j; c += by.lanes)
        multiply_add(sum, get_t(q.p, q.item, i, c), q.shared.sum(c));
    sum = group_sum(sum, by.lanes);
    if (i < j && by.lane == 0) {
        sum = opposite(multiply(tau, sum));
        settle(sum);
        store_number(q.p.t.to, q.p.t.at(q.item, i, j), sum);
    }
}

MDQR_FN void clear_triangle(const panel_block& q) {
    for (int k = q.thread; k < q.w * q.w; k += q.threads)
        store_number(q.p.t.to, q.p.t.at(q.item, k / q.w, k % q.w), zero_number());
}

// One column: two passes over the rows, one meeting.
MDQR_FN void reflect_column(panel_block& q, int j) {
    q.exchange.turn(j);
    int e = no_exponent;
    if (q.makes_rows()) {
        e = q.settle_column(j);
        q.add_up(j);
        if (!q.alone())
            q.publish_row(j, e);
    }
    q.meet();
    const column_scale scale = combine_exponents(q, e);
    if (q.thread >= q.threads - warp_lanes)
        make_scalars(q, j, scale.largest);
    else if (!q.alone())
        gather_sums(q, j, scale.largest);
    sync_threads();
    const bool needed = q.thread > j ? q.makes_rows() : q.makes_t();
    if (q.thread < q.w && q.thread != j && needed)
        make_factor(q, j, q.thread);
    const int skip = (q.w + warp_lanes - 1) / warp_lanes * warp_lanes;
    if (q.makes_rows() && q.thread >= skip)
        q.make_vector(j, skip, scale.own - scale.largest);
    sync_threads();
    if (q.makes_rows())
        q.update(j);
    if (q.makes_t())
        extend_triangle(q, j);
    sync_threads();
}

MDQR_END
