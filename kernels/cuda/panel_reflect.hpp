// What every block of a panel computes from the sums of a column; R and T.
//
// With x divided by its power of two, s = x^H x, y = 1 / sqrt s and beta = -+ 1 / y:
//   H = I - tau v v^H, v = x / (alpha - beta) with v_j = 1, tau = 1 - alpha / beta.
// For column c and u = x^H a_c, the row of the diagonal becomes r = u / beta, and the others get
// v f for f = r - a_jc = -conj(tau) v^H a_c. With vectors before j in place of columns behind it
// conj(f) = -tau v_c^H v, which T is made of. All sums that s, tau and alpha - beta are made of are
// of one sign, so that each has a small relative error, which is all that H needs to be unitary.
#pragma once
#include "panel_columns.hpp"

MDQR_BEGIN

// Sums and the row of the diagonal, to shared memory; returns whether H = I.
MDQR_FN bool gather(const panel_block& q, int j) {
    const panel_shared& shared = q.shared;
    if (!q.alone()) {
        const double* sums = reinterpret_cast<const double*>(q.exchange.sums_of(j));
        const int all = q.w * number_digits;
        for (int t = q.thread; t < all; t += q.threads) {
            const int k = t % D;
            const i64 word = bits(load_fresh(sums + t));
            const i64 next = k + 1 < D ? bits(load_fresh(sums + t + 1)) : 0;
            const i64 own = k > 0 ? carry_of(word) * (i64(1) << 51) : 0;
            shared.sums(0)[t] = to_double(word - own + carry_of(next));
            shared.row(0)[t] = load_fresh(q.exchange.row_of(j) + t);
        }
        if (q.thread == 0)
            shared.memory[panel_shared::below] = load_fresh(sums + all);
    }
    sync_threads();
    bool identity = bits(shared.memory[panel_shared::below]) == 0;
    if (parts == 2)
        identity = identity && is_zero(get_digits(shared.row(j), 1).part[parts - 1]);
    return identity;
}

MDQR_FN double square_of(const number_in_digits& x) {
    double sum = 0.0;
    static_for<0, parts>([&](auto p) MDQR_LAMBDA {
        const double y = leading(x.part[p]);
        sum = one_sum(sum, one_prod(y, y));
    });
    return sum;
}

// What the size of column c loses with the row of the diagonal; column j becomes v.
MDQR_FN void shrink_column(const panel_block& q, int j, int c, bool identity, double root) {
    const panel_shared& shared = q.shared;
    const number_in_digits row = get_digits(shared.row(c), 1);
    if (c != j) {
        double square = square_of(row);
        if (c > j && !identity)
            square = one_prod(square_of(get_digits(shared.sums(c), 1)), one_prod(root, root));
        const int e = shared.power(c) - int(shared.base(c));
        shared.size(c) = one_sum(shared.size(c), -one_prod(square, power_of_two(2 * e)));
        return;
    }
    const double s = leading(get_digits(shared.sums(j), 1).part[0]);
    const double alpha = square_of(row), re = abs(leading(row.part[0]));
    // |alpha - beta|^2.
    const double square =
        one_sum(one_sum(alpha, s), one_prod(one_prod(2.0, re), one_prod(s, root)));
    shared.base(j) = 0.0;
    shared.first(j) = identity ? 0.0 : s / square;
    shared.size(j) = identity ? 0.0 : one_sum(s, -alpha) / square;
}

// 8 y x for the digits y of root / 8.
MDQR_FN words<D> times_root(const digits<D>& root, const digits<D>& x, i64 factor) {
    return times(product<D>(root, x), factor);
}

// 1 / (8 (alpha - beta)) in digits to shared memory, and what is behind the factor of column j.
MDQR_CALL void make_inverse(const double* sums, const double* row, double* to) {
    const digits<D> s = get_digits(sums, 1).part[0];
    const number_in_digits alpha = get_digits(row, 1);
    const bool negative = leading(alpha.part[0]) < 0.0;
    const digits<D> size = negative_if(negative, alpha.part[0]);
    const words<D> norm = carried(times_root(reciprocal_root(s), s, 8));
    const digits<D> difference = settled(plus(norm, as_words(size)));
    number_in_digits inverse;
    if constexpr (parts == 1) {
        inverse.part[0] = negative_if(negative, reciprocal<3>(difference));
    } else {
        constexpr int im = parts - 1;
        const digits<D>& side = alpha.part[im];
        const digits<D> square =
            settled(plus(product<D>(difference, difference), product<D>(side, side)));
        const digits<D> q = reciprocal<5>(square);
        inverse.part[0] = negative_if(negative, settled(times(product<D>(difference, q), 4)));
        inverse.part[im] = negative_if(true, settled(times(product<D>(side, q), 4)));
    }
    static_for<0, number_digits>([&](auto k) MDQR_LAMBDA { to[k] = inverse.part[k / D].d[k % D]; });
}

template <int N> MDQR_FN void set_limbs(md<double, N>& x, const number_in_digits& d) {
    x = to_limbs<N>(d.part[0]);
}
template <int N> MDQR_FN void set_limbs(cmd<double, N>& x, const number_in_digits& d) {
    x = {to_limbs<N>(d.part[0]), to_limbs<N>(d.part[parts - 1])};
}
// The number that these digits are times 2^e, |e| <= 2000.
MDQR_CALL number to_number(number_in_digits d, int e) {
    number x;
    set_limbs(x, d);
    return divided_by_power(x, -e);
}

MDQR_FN number_in_digits multiply(const number_in_digits& x, const number_in_digits& y) {
    number_in_digits r;
    words<D> re = product<D>(x.part[0], y.part[0]);
    if constexpr (parts == 2) {
        constexpr int im = parts - 1;
        re = plus(re, product<D>(negative_if(true, x.part[im]), y.part[im]));
        r.part[im] =
            settled(plus(product<D>(x.part[0], y.part[im]), product<D>(x.part[im], y.part[0])));
    }
    r.part[0] = settled(re);
    return r;
}

MDQR_FN void write_r(const panel_block& q, int j, int c, const number_in_digits& r) {
    if (q.shared.exponent(c) == wild_exponent)
        return;
    number x = to_number(r, 0);
    if (c == j)
        x = from_real(real_part(x));
    x = scaled_back(x, q.shared.power(c) + int(q.shared.exponent(c)));
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

// Tau by the thread behind those of the columns.
MDQR_FN void make_tau(const panel_block& q, int j, const digits<D>& root, bool negative) {
    const number_in_digits alpha = get_digits(q.shared.row(j), 1);
    number_in_digits tau;
    static_for<0, parts>([&](auto p) MDQR_LAMBDA {
        words<D> part = times_root(root, negative_if(negative, alpha.part[p]), 2);
        if (p == 0)
            part.w[0] += top_word(-2);
        tau.part[p] = settled(part);
    });
    q.shared.set_scalar(panel_shared::tau, to_number(tau, 2));
}

// Column c of the row of the diagonal: R behind and on the diagonal, f elsewhere.
MDQR_FN number_in_digits make_factor(const panel_block& q, int j, int c, const digits<D>& root,
                                     bool negative) {
    const number_in_digits sum = get_digits(q.shared.sums(c), 1);
    number_in_digits r, f = get_digits(q.shared.row(c), 1);
    static_for<0, parts>([&](auto p) MDQR_LAMBDA {
        const words<D> part = carried(times_root(root, negative_if(!negative, sum.part[p]), 8));
        r.part[p] = as_digits(part);
        f.part[p] = settled(plus(part, as_words(negative_if(true, f.part[p]))));
    });
    if (c >= j && q.makes_t())
        write_r(q, j, c, r);
    return f;
}

// H = I: the row of the diagonal stays as it is, v = 0 and tau = 0.
MDQR_FN void leave_column(const panel_block& q, int j) {
    const int c = q.thread;
    if (c == q.w)
        q.shared.set_scalar(panel_shared::tau, zero_number());
    if (c >= q.w)
        return;
    shrink_column(q, j, c, true, 0.0);
    q.shared.set_factor(c, zero_number());
    if (c >= j && q.owns(j))
        write_row(q, j, c);
}

// The reflector of column j: factors of all columns that this block needs, to shared memory.
MDQR_FN void make_factors(const panel_block& q, int j) {
    const panel_shared& shared = q.shared;
    const int c = q.thread, e = c < q.w ? shared.power(c) : 0;
    const bool negative = leading(get_digits(shared.row(j), 1).part[0]) < 0.0;
    number_in_digits f;
    if (c <= q.w) {
        const digits<D> root = reciprocal_root(get_digits(shared.sums(j), 1).part[0]);
        if (c < q.w) {
            if (c >= j || q.makes_t())
                f = make_factor(q, j, c, root, negative);
            shrink_column(q, j, c, false, one_prod(8.0, leading(root)));
        } else if (q.makes_t()) {
            make_tau(q, j, root, negative);
        }
    } else if (q.makes_rows() && c == q.threads - 1) {
        make_inverse(shared.sums(j), shared.row(j), shared.memory + panel_shared::inverse);
    }
    sync_threads();
    if (c == 0 && q.alone())
        shared.memory[panel_shared::below] = 0.0;
    if (c >= q.w)
        return;
    const number_in_digits inverse = get_digits(shared.memory + panel_shared::inverse, 1);
    if (c > j && q.makes_rows())
        shared.set_factor(c, to_number(multiply(inverse, f), e + 3));
    else if (c == j && q.makes_rows())
        shared.set_factor(c, to_number(inverse, 3));
    else if (c < j && q.makes_t())
        shared.set_factor(c, conjugate(to_number(f, e)));
}

MDQR_END
