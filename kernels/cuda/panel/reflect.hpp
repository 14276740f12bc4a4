// What every block of a panel computes from the sums of a column; R and T.
//
// With x divided by its power of two, s = x^H x, y = 1 / sqrt s and beta = -+ 1 / y:
//   H = I - tau v v^H, v = x / (alpha - beta) with v_j = 1, tau = 1 - alpha / beta.
// For column c and u = x^H a_c, the row of the diagonal becomes r = u / beta, and the others get
// v f for f = r - a_jc = -conj(tau) v^H a_c. With vectors before j in place of columns behind it
// conj(f) = -tau v_c^H v, which T is made of. All sums that s, tau and alpha - beta are made of are
// of one sign, so that each has a small relative error, which is all that H needs to be unitary.
#pragma once
#include "panel/columns.hpp"

MDQR_BEGIN

// Sums and the row of the diagonal, to shared memory; returns whether H = I.
MDQR_FN bool gather(const panel_block& q, int j) {
    const panel_shared& shared = q.shared;
    if (!q.alone()) {
        const double* sums = reinterpret_cast<const double*>(q.exchange.sums_of(j));
        const int all = q.w * total_digits;
        for (int t = q.thread; t < all; t += q.threads) {
            const int k = t % D;
            const i64 word = bits(load_past_cache(sums + t));
            const i64 next = k + 1 < D ? bits(load_past_cache(sums + t + 1)) : 0;
            const i64 carry = k > 0 ? carry_of(word) * (i64(1) << 51) : 0;
            shared.sums(0)[t] = to_double(word - carry + carry_of(next));
            shared.row(0)[t] = load_past_cache(q.exchange.row_of(j) + t);
        }
        if (q.thread == 0)
            shared.memory[panel_shared::below] = load_past_cache(sums + all);
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

MDQR_CALL words<D> product_call(digits<D> x, digits<D> y) { return product<D>(x, y); }
MDQR_FN words<D> full_product(const digits<D>& x, const digits<D>& y) {
    if constexpr (limbs > 4 && parts == 1)
        return product_call(x, y);
    else
        return product<D>(x, y);
}

// 8 y x for the digits y of root / 8.
MDQR_FN words<D> times_root(const digits<D>& root, const digits<D>& x, i64 factor) {
    return times(full_product(root, x), factor);
}

// 1 / (8 (alpha - beta)) in digits to shared memory, and what is behind the factor of column j.
MDQR_CALL void make_inverse(const double* sums, const double* row, double* to) {
    const digits<D> s = get_digits(sums, 1).part[0];
    const number_in_digits alpha = get_digits(row, 1);
    const bool negative = leading(alpha.part[0]) < 0.0;
    const digits<D> size = negative_if(negative, alpha.part[0]);
    const words<D> norm = carried(times_root(reciprocal_root(s), s, 8));
    const digits<D> difference = normalised(plus(norm, as_words(size)));
    number_in_digits inverse;
    if constexpr (parts == 1) {
        inverse.part[0] = negative_if(negative, reciprocal<3>(difference));
    } else {
        constexpr int im = parts - 1;
        const digits<D>& side = alpha.part[im];
        const digits<D> square =
            normalised(plus(full_product(difference, difference), full_product(side, side)));
        const digits<D> q = reciprocal<5>(square);
        inverse.part[0] = negative_if(negative, normalised(times(full_product(difference, q), 4)));
        inverse.part[im] = negative_if(true, normalised(times(full_product(side, q), 4)));
    }
    static_for<0, total_digits>([&](auto k) MDQR_LAMBDA { to[k] = inverse.part[k / D].d[k % D]; });
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

// The product with the number whose digit k lies at x[k * stride].
MDQR_CALL number_in_digits multiply_call(const double* at, i64 stride, number_in_digits y) {
    const number_in_digits x = get_digits(at, stride);
    number_in_digits r;
    words<D> re = full_product(x.part[0], y.part[0]);
    if constexpr (parts == 2) {
        constexpr int im = parts - 1;
        re = plus(re, full_product(negative_if(true, x.part[im]), y.part[im]));
        r.part[im] = normalised(
            plus(full_product(x.part[0], y.part[im]), full_product(x.part[im], y.part[0])));
    }
    r.part[0] = normalised(re);
    return r;
}

// Tau by the thread behind those of the columns.
MDQR_FN void make_tau(const panel_block& q, int j, const digits<D>& root, bool negative) {
    const number_in_digits alpha = get_digits(q.shared.row(j), 1);
    number_in_digits tau;
    static_for<0, parts>([&](auto p) MDQR_LAMBDA {
        words<D> part = times_root(root, negative_if(negative, alpha.part[p]), 2);
        if (p == 0)
            part.w[0] += top_word(-2);
        tau.part[p] = normalised(part);
    });
    q.shared.set_scalar(panel_shared::tau, to_number(tau, 2));
}

// Column c of the row of the diagonal: R behind and on the diagonal, f elsewhere, which takes the
// place of the element that nobody else needs.
MDQR_FN void make_factor(const panel_block& q, int j, int c, const digits<D>& root, bool negative,
                         int e) {
    const number_in_digits sum = get_digits(q.shared.sums(c), 1);
    number_in_digits r, f = get_digits(q.shared.row(c), 1);
    static_for<0, parts>([&](auto p) MDQR_LAMBDA {
        const words<D> part = carried(times_root(root, negative_if(!negative, sum.part[p]), 8));
        r.part[p] = as_digits(part);
        f.part[p] = normalised(plus(part, as_words(negative_if(true, f.part[p]))));
    });
    if (c >= j && q.makes_t())
        write_r(q, j, c, to_number(r, 0), e);
    if (c != j)
        static_for<0, total_digits>(
            [&](auto k) MDQR_LAMBDA { q.shared.row(c)[k] = f.part[k / D].d[k % D]; });
}

// H = I: the row of the diagonal stays as it is, v = 0 and tau = 0.
MDQR_FN void leave_column(const panel_block& q, int j) {
    const int c = q.thread;
    if (c == q.w)
        q.shared.set_scalar(panel_shared::tau, zero_number());
    if (c >= q.w)
        return;
    shrink_column(q, j, c, true, {0.0, square_of(get_digits(q.shared.row(c), 1)), 0.0, 0.0, 0.0});
    q.shared.set_factor(c, zero_number());
    if constexpr (updates_by_digits)
        static_for<0, total_digits>([&](auto k) MDQR_LAMBDA { q.shared.sums(c)[k] = 0.0; });
    if (c >= j && q.owns(j))
        write_row(q, j, c);
}

// The factor of column c in the update: these digits times 2^e. They take the place of the sums and
// of the row, which nobody needs any more.
MDQR_FN void set_update_factor(const panel_block& q, int c, const number_in_digits& f, int e) {
    q.shared.set_factor(c, to_number(f, e));
    if constexpr (updates_by_digits) {
        static_for<0, total_digits>(
            [&](auto k) MDQR_LAMBDA { q.shared.sums(c)[k] = f.part[k / D].d[k % D]; });
        q.shared.row(c)[0] = from_bits(e);
    }
}

// The reflector of column j: factors of all columns that this block needs, to shared memory.
MDQR_FN void make_factors(const panel_block& q, int j) {
    const panel_shared& shared = q.shared;
    const int c = q.thread, e = c < q.w ? shared.power(c) : 0;
    const bool negative = leading(get_digits(shared.row(j), 1).part[0]) < 0.0;
    if (c <= q.w) {
        const digits<D> root = reciprocal_root(get_digits(shared.sums(j), 1).part[0]);
        if (c < q.w) {
            const number_in_digits alpha = get_digits(shared.row(j), 1);
            shrink_column(q, j, c, false,
                          {one_prod(8.0, leading(root)), square_of(get_digits(shared.row(c), 1)),
                           square_of(get_digits(shared.sums(c), 1)),
                           leading(get_digits(shared.sums(j), 1).part[0]),
                           abs(leading(alpha.part[0]))});
            if (c >= j || q.makes_t())
                make_factor(q, j, c, root, negative, e);
        } else if (q.makes_t()) {
            make_tau(q, j, root, negative);
        }
    } else if (q.makes_rows() && c == q.threads - 1) {
        make_inverse(shared.sums(j), shared.row(j), shared.memory + panel_shared::inverse);
    }
    sync_threads();
    if (c >= q.w)
        return;
    const double* inverse = shared.memory + panel_shared::inverse;
    if (c >= j && q.makes_rows())
        set_update_factor(q, c,
                          c == j ? get_digits(inverse, 1)
                                 : multiply_call(inverse, 1, get_digits(shared.row(c), 1)),
                          c == j ? 3 : e + 3);
    else if (c < j && q.makes_t())
        shared.set_factor(c, conjugate(to_number(get_digits(shared.row(c), 1), e)));
}

// The reflector of column j from the sums; returns whether H = I.
MDQR_FN bool reflect(const panel_block& q, int j) {
    const bool identity = gather(q, j);
    if (identity)
        leave_column(q, j);
    else
        make_factors(q, j);
    return identity;
}

MDQR_END
