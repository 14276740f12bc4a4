// T of a panel: T[:j, j] = -tau T[:j, :j] V^H v, T[j, j] = tau.
#pragma once
#include "panel/update.hpp"

MDQR_BEGIN

MDQR_FN number get_t(const panel_arguments& p, i64 item, int i, int c) {
    return load_as<number>(p.t.to, p.t.at(item, i, c));
}

#if MDQR_LIMBS <= 2
MDQR_FN number row_of_triangle(const panel_block& q, int i, int j, const lane_groups& by) {
    number sum = zero_number();
    for (int c = i + by.lane; i < j && c < j; c += by.lanes)
        multiply_add(sum, get_t(q.p, q.item, i, c), q.shared.factor(c));
    sum = group_sum(sum, by.lanes);
    normalise(sum);
    return sum;
}
#else
// The exponent of a number, no_exponent where it counts as zero.
MDQR_FN int exponent_of(const number& x) {
    double peak = abs(limbs_of<0>(x)[0]);
    if (parts == 2)
        peak = larger(abs(limbs_of<parts - 1>(x)[0]), peak);
    return peak < 0x1p-900 ? no_exponent : exponent(peak);
}

// The sum over a group of lanes of T[i, c] factor(c): digits relative to the largest term, since
// the terms may lie far apart.
MDQR_FN number row_of_triangle(const panel_block& q, int i, int j, const lane_groups& by) {
    const int end = i < j ? j : 0;
    int largest = 2 * no_exponent;
    for (int c = i + by.lane; c < end; c += by.lanes) {
        const int e = exponent_of(get_t(q.p, q.item, i, c)) + exponent_of(q.shared.factor(c));
        largest = e > largest ? e : largest;
    }
    largest = group_maximum(largest, by.lanes);
    product_sum exact;
    for (int c = i + by.lane; c < end; c += by.lanes) {
        const number t = get_t(q.p, q.item, i, c), f = q.shared.factor(c);
        const int e = exponent_of(t);
        if (e + exponent_of(f) < largest - 900 || largest < no_exponent / 2)
            continue;
        // |t| 2^(-e - 2) < 1 / 2, and the sum of 128 products is below 1 / 2.
        exact.add(half_as_digits(conjugate(times_power(t, power_of_two(-e - 1)))),
                  half_as_digits(times_power(f, power_of_two(e - largest - 7))));
    }
    const product_sum::sums total = exact.combined(by.lanes);
    number_in_digits sum;
    static_for<0, parts>([&](auto p) MDQR_LAMBDA { sum.part[p] = as_digits(total.part[p]); });
    return largest < no_exponent / 2 ? zero_number() : to_number(sum, largest + 10);
}
#endif

MDQR_FN void extend_triangle(const panel_block& q, int j) {
    const number tau = q.shared.scalar(panel_shared::tau);
    if (q.thread == 0) {
        store_number(q.p.t.to, q.p.t.at(q.item, j, j), tau);
        store_number(q.p.tau.to, q.p.tau.at(q.item, 0, j), tau);
    }
    if (j == 0)
        return;
    const lane_groups by(q.thread, lane_groups::shift_of(q.threads, j));
    const int i = by.group;
    const number sum = row_of_triangle(q, i, j, by);
    if (i < j && by.lane == 0)
        store_number(q.p.t.to, q.p.t.at(q.item, i, j), sum);
}

MDQR_FN void clear_triangle(const panel_block& q) {
    for (int k = q.thread; k < q.w * q.w; k += q.threads)
        store_number(q.p.t.to, q.p.t.at(q.item, k / q.w, k % q.w), zero_number());
}

// NaN from column `first` on.
MDQR_FN void fill_triangle_with_nan(const panel_block& q, int first) {
    for (int k = q.thread; k < q.w * q.w; k += q.threads) {
        const int i = k / q.w, c = k % q.w;
        if (c >= first && i <= c)
            store_number(q.p.t.to, q.p.t.at(q.item, i, c), not_numbers());
        if (c >= first && i == c)
            store_number(q.p.tau.to, q.p.tau.at(q.item, 0, c), not_numbers());
    }
}

MDQR_END
