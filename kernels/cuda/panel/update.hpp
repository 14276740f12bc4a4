// The second pass of a column over the rows.
//
// With many limbs, and with complex ones, products are formed of digits: half the operations, or a
// third. What a product loses is 2^(-51 D) of the norms of both columns, so that this is no more
// than roundings of the element only where x is not small; elsewhere limbs are multiplied.
#pragma once
#if MDQR_LIMBS <= 2
#include "panel/limbs.hpp"
#else
#include "panel/reflect.hpp"
#endif

MDQR_BEGIN

#if MDQR_LIMBS <= 2
MDQR_FN number plus_update(const panel_block& q, const number& y, int c, int i, int) {
    number r = y;
    multiply_add(r, q.pivot.get(0, i), q.shared.factor(c));
    return r;
}
#else
// Whether element i of the pivot is at least 2^-24 of its column.
MDQR_FN bool has_digits(const panel_block& q, int i) {
    double peak = abs(q.digits[i]);
    if (parts == 2)
        peak = larger(abs(q.digits[D * q.column + i]), peak);
    return peak >= two_to(51 - 24);
}

// y + x factor 2^e by digits of x and the factor, |x factor| < 1.
MDQR_CALL number add_digit_product(number y, const double* x, i64 stride, const double* factor,
                                   int e) {
    return plus(y, to_number(multiply_call(x, stride, get_digits(factor, 1)), e));
}

MDQR_FN number plus_update(const panel_block& q, const number& y, int c, int i, int e) {
    if (updates_by_digits && has_digits(q, i))
        return add_digit_product(y, q.digits + i, q.column, q.shared.sums(c), e);
    number r = y;
    multiply_add(r, q.pivot.get(0, i), q.shared.factor(c));
    return r;
}
#endif

// Columns behind j += x times their factors; v = x times its own in column j.
MDQR_FN void update(const panel_block& q, int j, bool identity) {
    const lane_groups by(q.thread, lane_groups::shift_of(q.threads, q.w - j, 8));
    const int c = j + by.group;
    if (c >= (identity ? j + 1 : q.w))
        return;
    const int e = updates_by_digits && !identity ? int(bits(q.shared.row(c)[0])) : 0;
    for (int i = q.own_from(j + 1) + by.lane; i < q.m_rows; i += rows_at_once * by.lanes) {
        number y[rows_at_once];
        static_for<0, rows_at_once>([&](auto k) MDQR_LAMBDA {
            const int at = i + k * by.lanes, used = at < q.m_rows ? at : i;
            y[k] = plus_update(q, c == j ? zero_number() : q.rows.get(c, used), c, used, e);
            if (c == j)
                normalise(y[k]);
        });
        static_for<0, rows_at_once>([&](auto k) MDQR_LAMBDA {
            if (i + k * by.lanes < q.m_rows)
                q.rows.put(c, i + k * by.lanes, y[k]);
        });
    }
}

MDQR_END
