// The steps of a panel that a block does on its rows.
#pragma once
#include "panel/block.hpp"

MDQR_BEGIN

// Digits of all parts of the number 2 x.
struct number_in_digits {
    digits<D> part[parts];
};
// Of many limbs out of line: what a column takes should fit the instruction cache.
MDQR_CALL digits<D> half_as_digits_call(real_number x) { return half_as_digits<D, limbs>(x.limb); }
MDQR_FN digits<D> half_in_digits(const real_number& x) {
    if constexpr (limbs > 4)
        return half_as_digits_call(x);
    else
        return half_as_digits<D, limbs>(x.limb);
}
MDQR_FN number_in_digits half_as_digits(number x) {
    number_in_digits r;
    r.part[0] = half_in_digits(real_part(x));
    if constexpr (parts == 2)
        r.part[parts - 1] = half_in_digits(imaginary_part(x));
    return r;
}
// Digit k of the parts at data[k * stride].
MDQR_FN number_in_digits get_digits(const double* data, i64 stride) {
    number_in_digits r;
    static_for<0, total_digits>([&](auto k)
                                    MDQR_LAMBDA { r.part[k / D].d[k % D] = data[k * stride]; });
    return r;
}

// A sum of conj(x) y by one thread: exact in digits, or by limbs where there are few.
class product_sum {
public:
    struct sums {
        words<D> part[parts];
    };
    MDQR_FN product_sum() {
        static_for<0, parts>([&](auto p) MDQR_LAMBDA {
            static_for<0, D>([&](auto k) MDQR_LAMBDA { total.part[p].w[k] = 0; });
        });
    }
    MDQR_FN void add(const number_in_digits& x, const number_in_digits& y) {
        multiply_add(x.part[0], y.part[0], total.part[0]);
        if constexpr (parts == 2) {
            constexpr int im = parts - 1;
            multiply_add(x.part[im], y.part[im], total.part[0]);
            multiply_add(x.part[0], y.part[im], total.part[im]);
            multiply_add(negative_if(true, x.part[im]), y.part[0], total.part[im]);
        }
        if (++terms == chunk_limit<D> / parts)
            carry();
    }
    // The sums of the lanes of a group, in all of them.
    MDQR_FN sums combined(int lanes) {
        carry();
        sums r;
        static_for<0, parts>(
            [&](auto p) MDQR_LAMBDA { r.part[p] = carried(group_sum(total.part[p], lanes)); });
        return r;
    }

private:
    sums total;
    int terms = 0;

    MDQR_FN static void multiply_add(const digits<D>& x, const digits<D>& y, words<D>& sum) {
        digit_multiply_add<D, D, D>(x.d, y.d, sum.w);
    }
    // The patterns of the constants are taken off here, all at once.
    MDQR_FN void carry() {
        static_for<0, parts>([&](auto p) MDQR_LAMBDA {
            static_for<0, D>([&](auto k) MDQR_LAMBDA {
                const i64 bias = digit_bias<D, D>(k, bits(digit_split), bits(digit_rest));
                total.part[p].w[k] =
                    wrapping_add(total.part[p].w[k], i64(u64(0) - u64(bias) * u64(parts * terms)));
            });
            total.part[p] = carried(total.part[p]);
        });
        terms = 0;
    }
};

// -- on the way in --------------------------------------------------------------------------------

// Divide the columns by powers of two next to their largest elements; returns the first column that
// is not finite, or their number.
MDQR_FN int read_panel(panel_block& q) {
    const panel_arguments& p = q.p;
    q.measure(0, [&](int c, i64 i) MDQR_LAMBDA {
        return load_as<number>(p.a.to, p.a.at(q.item, q.first + i, c));
    });
    int first_non_finite = q.w;
    for (int c = q.w - 1; c >= 0; --c)
        first_non_finite = q.shared.base(c) == non_finite_exponent ? c : first_non_finite;
    const lane_groups by = q.by();
    const int c = by.group;
    if (c < q.w) {
        const int mark = int(q.shared.base(c)), e = usable_exponent(mark);
        q.each_block_of_rows([&]() MDQR_LAMBDA {
            for (int i = by.lane; i < q.m_rows; i += by.lanes) {
                const number x = load_as<number>(p.a.to, p.a.at(q.item, q.first + i, c));
                q.rows.put(c, i,
                           mark == non_finite_exponent ? zero_number() : divided_by_power(x, e));
            }
        });
    }
    sync_threads();
    for (int k = q.thread; k < q.w; k += q.threads) {
        q.shared.exponent(k) = q.shared.base(k) == no_exponent ? 0.0 : q.shared.base(k);
        q.shared.base(k) = 0.0;
        q.shared.set_power(k);
    }
    sync_threads();
    return first_non_finite;
}

// -- column j -------------------------------------------------------------------------------------

// Sizes shrink as rows are done; where one has lost too many bits, all are measured again.
MDQR_FN void refresh_sizes(panel_block& q, int j) {
    double& stale = q.shared.memory[panel_shared::stale];
    if (stale == 0.0)
        return;
    sync_threads();
    const lane_groups by = q.by();
    const int c = by.group;
    q.each_block_of_rows([&]() MDQR_LAMBDA {
        for (int i = q.own_from(j) + by.lane; c < q.w && i < q.m_rows; i += by.lanes) {
            number x = q.rows.get(c, i);
            normalise(x);
            q.rows.put(c, i, x);
        }
    });
    q.measure(j, [&](int c, i64 i) MDQR_LAMBDA { return q.rows.get(c, i); });
    for (int k = q.thread; k < q.w; k += q.threads) {
        q.shared.base(k) = usable_exponent(int(q.shared.base(k)));
        q.shared.set_power(k);
    }
    if (q.thread == 0)
        stale = 0.0;
    sync_threads();
}

// Column j, divided by its power of two, to the pivot.
MDQR_FN void make_pivot(const panel_block& q, int j) {
    const int e = q.shared.power(j);
    bool below = false;
    for (int i = q.own_from(j) + q.thread; i < q.m_rows; i += q.threads) {
        number x = q.rows.get(j, i);
        normalise(x);
        x = divided_by_power(x, e);
        q.pivot.put(0, i, x);
        each_plane(x, [&](int, double limb)
                          MDQR_LAMBDA { below = below || (limb != 0.0 && q.first + i > j); });
        if constexpr (sums_in_digits) {
            const number_in_digits d = half_as_digits(times_power(x, 2.0));
            static_for<0, total_digits>(
                [&](auto k) MDQR_LAMBDA { q.digits[k * q.column + i] = d.part[k / D].d[k % D]; });
        }
    }
    if (warp_any(below) && q.thread % warp_lanes == 0) {
        if (q.alone())
            q.shared.memory[panel_shared::below] = 1.0;
        else
            atomic_add(q.exchange.sums_of(j) + q.exchange.column_digits(q.w), 1);
    }
}

// Word k of element c on the row of the diagonal, to all that need it.
MDQR_FN void pass_on(const panel_block& q, int j, int c, int k, double word) {
    if (q.alone())
        q.shared.row(c)[k] = word;
    else
        publish(q.exchange.row_of(j) + c * scalar_words + k, word);
}

// Sums of column c, to the words that all blocks add to; the lanes share the work.
MDQR_FN void pass_on_sums(const panel_block& q, int j, int c, const product_sum::sums& total) {
    const lane_groups by = q.by();
    i64* to = q.exchange.sums_of(j) + c * total_digits;
    static_for<0, total_digits>([&](auto k) MDQR_LAMBDA {
        const i64 word = total.part[k / D].w[k % D];
        if ((k.value & (by.lanes - 1)) != by.lane)
            return;
        if (q.alone())
            q.shared.sums(c)[k] = to_double(word);
        else
            atomic_add(to + k, word);
    });
}

// Sums of conj(x_i) y_i over the rows from the diagonal on, x the pivot and y each column: the
// pivot itself, the vectors before it and the columns behind it. The elements on the row of the
// diagonal are passed on as well.
MDQR_FN void add_up_digits(const panel_block& q, int j) {
    const lane_groups by = q.by();
    const int c = by.group, end = c < q.w ? q.m_rows : 0;
    const int row = q.owns(j) ? j - q.first : -1;
    const int e = c < q.w && c != j ? q.shared.power(c) - 1 : -1;
    product_sum exact;
    for (int i = q.own_from(j) + by.lane; i < end; i += by.lanes) {
        const number y = divided_by_power(c == j ? q.pivot.get(0, i) : q.rows.get(c, i), e);
        const number_in_digits d = half_as_digits(y);
        if (i == row)
            static_for<0, total_digits>(
                [&](auto k) MDQR_LAMBDA { pass_on(q, j, c, k, d.part[k / D].d[k % D]); });
        exact.add(get_digits(q.digits + i, q.column), d);
    }
    const product_sum::sums total = exact.combined(by.lanes);
    if (c < q.w)
        pass_on_sums(q, j, c, total);
}

// The same by limbs.
MDQR_FN void add_up_limbs(const panel_block& q, int j) {
    const lane_groups by = q.by();
    const int c = by.group, end = c < q.w ? q.m_rows : 0;
    const int row = q.owns(j) ? j - q.first : -1;
    const int e = c < q.w && c != j ? q.shared.power(c) : 0;
    number sum[rows_at_once];
    static_for<0, rows_at_once>([&](auto k) MDQR_LAMBDA { sum[k] = zero_number(); });
    for (int i = q.own_from(j) + by.lane; i < end; i += rows_at_once * by.lanes) {
        static_for<0, rows_at_once>([&](auto k) MDQR_LAMBDA {
            const int at = i + k * by.lanes, used = at < end ? at : i;
            const number x = conjugate(q.pivot.get(0, used));
            const number y = c == j ? conjugate(x) : divided_by_power(q.rows.get(c, used), e);
            multiply_add(sum[k], at < end ? x : zero_number(), y);
            if (at == row)
                each_plane(y, [&](int l, double limb) MDQR_LAMBDA { pass_on(q, j, c, l, limb); });
        });
    }
    number all = sum[0];
    static_for<1, rows_at_once>([&](auto k) MDQR_LAMBDA { all = plus(all, sum[k]); });
    all = group_sum(all, by.lanes);
    if (c >= q.w)
        return;
    if (q.alone()) {
        if (by.lane == 0)
            each_plane(all, [&](int l, double limb) MDQR_LAMBDA { q.shared.sums(c)[l] = limb; });
        return;
    }
    const number_in_digits d = half_as_digits(times_power(all, 2.0));
    product_sum::sums total;
    static_for<0, parts>([&](auto p) MDQR_LAMBDA { total.part[p] = as_words(d.part[p]); });
    pass_on_sums(q, j, c, total);
}

// What is next to the row of the diagonal, as doubles: 1 / sqrt(s), squares of the element on the
// row and of the sum, s, and |re alpha|.
struct column_leads {
    double root, row, sum, s, size;
};
// What the size of column c loses with the row of the diagonal; column j becomes v.
MDQR_FN void shrink_column(const panel_block& q, int j, int c, bool identity,
                           const column_leads& x) {
    const panel_shared& shared = q.shared;
    if (c != j) {
        const bool changed = c > j && !identity;
        const double square = changed ? one_prod(x.sum, one_prod(x.root, x.root)) : x.row;
        const int e = shared.power(c) - int(shared.base(c));
        shared.size(c) = one_sum(shared.size(c), -one_prod(square, power_of_two(2 * e)));
    } else {
        // |alpha - beta|^2.
        const double square =
            one_sum(one_sum(x.row, x.s), one_prod(one_prod(2.0, x.size), one_prod(x.s, x.root)));
        const double inverse = identity ? 0.0 : quick_reciprocal(square);
        shared.base(j) = 0.0;
        shared.first(j) = identity ? 0.0 : one_prod(x.s, inverse);
        shared.size(j) = identity ? 0.0 : one_prod(one_sum(x.s, -x.row), inverse);
    }
    shared.set_power(c);
    if (shared.size(c) < one_prod(0x1p-24, shared.first(c)))
        shared.memory[panel_shared::stale] = 1.0;
}

// -- on the way out -------------------------------------------------------------------------------

// Element c on row j of R, for the column divided by 2^e.
MDQR_FN void write_r(const panel_block& q, int j, int c, const number& r, int e) {
    if (q.shared.exponent(c) == non_finite_exponent)
        return;
    number x = r;
    if (c == j)
        x = from_real(real_part(x));
    x = scaled_back(x, e + int(q.shared.exponent(c)));
    store_number(q.p.h.to, q.p.h.at(q.item, j, c), x);
}
// Where H = I the row stays as it is.
MDQR_FN void write_row(const panel_block& q, int j, int c) {
    number x = q.rows.get(c, j - q.first);
    if (c == j)
        x = from_real(real_part(x));
    x = scaled_back(x, int(q.shared.exponent(c)));
    store_number(q.p.h.to, q.p.h.at(q.item, j, c), x);
}

MDQR_FN number unit_lower(const number& x, int row, int c) {
    return row > c ? x : row == c ? from_real(from_double<double, limbs>(1.0)) : zero_number();
}

// The vectors; R was written row by row, and NaN is left from a column on that was not finite.
MDQR_FN void write_rows(const panel_block& q, int first_non_finite) {
    const panel_arguments& p = q.p;
    const lane_groups by = q.by();
    const int c = by.group;
    if (c >= q.w)
        return;
    const bool non_finite = q.shared.exponent(c) == non_finite_exponent;
    for (int i = by.lane; i < q.m_rows; i += by.lanes) {
        const int row = q.first + i;
        number x = q.rows.get(c, i);
        const bool bad = c >= first_non_finite && (non_finite || row >= first_non_finite);
        if (bad)
            x = not_numbers();
        if (p.v.to.data != nullptr)
            store_number(p.v.to, p.v.at(q.item, row, c), unit_lower(x, row, c));
        if (bad || row > c)
            store_number(p.h.to, p.h.at(q.item, row, c), x);
    }
}

MDQR_END
