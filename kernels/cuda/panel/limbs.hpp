// The scalars of a column in limbs, where there are few: every thread makes its factor from the
// sums alone, without another barrier of the block. The formulas are those of panel/reflect.hpp.
#pragma once
#include "panel/columns.hpp"

MDQR_BEGIN

// 1 / sqrt(s) for s between 1/16 and 1/4, 1 / d for d between 1/16 and 1; the error of the double
// is taken off once.
template <int N> MDQR_FN md<double, N> reciprocal_root(const md<double, N>& s) {
    static_assert(N <= 2);
    const double y = quick_reciprocal_root(s.limb[0]);
    md<double, N> r = from_double<double, N>(y);
    if constexpr (N == 2) {
        md<double, N> square;
        two_prod(y, y, square.limb[0], square.limb[1]);
        const md<double, N> near_one = multiply(s, square);
        const double e = one_sum(one_sum(1.0, -near_one.limb[0]), -near_one.limb[1]);
        fast_two_sum(y, one_prod(one_prod(y, e), fma(e, 0.375, 0.5)), r.limb[0], r.limb[1]);
    }
    return r;
}
template <int N> MDQR_FN md<double, N> reciprocal_of(const md<double, N>& d) {
    static_assert(N <= 2);
    const double x = quick_reciprocal(d.limb[0]);
    md<double, N> r = from_double<double, N>(x);
    if constexpr (N == 2) {
        const double e = fma(-d.limb[1], x, fma(-d.limb[0], x, 1.0));
        fast_two_sum(x, one_prod(x, fma(e, e, e)), r.limb[0], r.limb[1]);
    }
    return r;
}

template <int N>
MDQR_FN md<double, N> times_real(const md<double, N>& x, const md<double, N>& factor) {
    return multiply(x, factor);
}
template <int N>
MDQR_FN cmd<double, N> times_real(const cmd<double, N>& x, const md<double, N>& factor) {
    return {multiply(x.re, factor), multiply(x.im, factor)};
}
MDQR_FN number opposite_if(bool negative, const number& x) { return negative ? opposite(x) : x; }

// The number with these digits, once carries are taken: of two that follow each other the second is
// at most a unit of the first.
template <int N> MDQR_FN void set_from_words(md<double, N>& x, const double* sums) {
    static_assert(N <= 2 && D == 3);
    words<D> loaded;
    static_for<0, D>([&](auto k) MDQR_LAMBDA { loaded.w[k] = bits(load_past_cache(sums + k)); });
    const digits<D> d = normalised(loaded);
    double h, l;
    fast_two_sum(one_prod(d.d[0], two_to(-51)), one_prod(d.d[1], two_to(-102)), h, l);
    l = fma(d.d[2], two_to(-153), l);
    if constexpr (N == 1)
        x.limb[0] = one_sum(h, l);
    else
        fast_two_sum(h, l, x.limb[0], x.limb[1]);
}
template <int N> MDQR_FN void set_from_words(cmd<double, N>& x, const double* sums) {
    set_from_words(x.re, sums);
    set_from_words(x.im, sums + D);
}

// What the barrier of column j has brought for column c.
struct column_sums {
    real_number s;
    number alpha, sum, row;
};
MDQR_FN column_sums gather_limbs(const panel_block& q, int j, int c) {
    column_sums r;
    if (q.alone()) {
        number s;
        set_planes(s, [&](int l) MDQR_LAMBDA { return q.shared.sums(j)[l]; });
        r.s = real_part(s);
        set_planes(r.alpha, [&](int l) MDQR_LAMBDA { return q.shared.row(j)[l]; });
        set_planes(r.sum, [&](int l) MDQR_LAMBDA { return q.shared.sums(c)[l]; });
        set_planes(r.row, [&](int l) MDQR_LAMBDA { return q.shared.row(c)[l]; });
        return r;
    }
    const double* sums = reinterpret_cast<const double*>(q.exchange.sums_of(j));
    const double* row = q.exchange.row_of(j);
    set_from_words(r.s, sums + j * total_digits);
    set_from_words(r.sum, sums + c * total_digits);
    set_planes(r.alpha,
               [&](int l) MDQR_LAMBDA { return load_past_cache(row + j * scalar_words + l); });
    set_planes(r.row,
               [&](int l) MDQR_LAMBDA { return load_past_cache(row + c * scalar_words + l); });
    return r;
}

MDQR_FN bool is_identity(const panel_block& q, int j) {
    const double* below =
        reinterpret_cast<const double*>(q.exchange.sums_of(j)) + q.exchange.column_digits(q.w);
    bool identity =
        bits(q.alone() ? q.shared.memory[panel_shared::below] : load_past_cache(below)) == 0;
    if (parts == 2) {
        const double im = q.alone()
                              ? q.shared.row(j)[limbs]
                              : load_past_cache(q.exchange.row_of(j) + j * scalar_words + limbs);
        identity = identity && im == 0.0;
    }
    return identity;
}

// 1 / (alpha - beta), alpha - beta = +-difference + i im alpha.
template <int N>
MDQR_FN md<double, N> make_inverse(const md<double, N>& difference, const md<double, N>&,
                                   bool negative) {
    const md<double, N> inverse = reciprocal_of(difference);
    return negative ? neg(inverse) : inverse;
}
template <int N>
MDQR_FN cmd<double, N> make_inverse(const md<double, N>& difference, const cmd<double, N>& alpha,
                                    bool negative) {
    const md<double, N> q =
        reciprocal_of(plus(multiply(difference, difference), multiply(alpha.im, alpha.im)));
    const md<double, N> re = multiply(difference, q);
    return {negative ? neg(re) : re, neg(multiply(alpha.im, q))};
}

MDQR_FN double square_of(const number& x) {
    double sum = one_prod(limbs_of<0>(x)[0], limbs_of<0>(x)[0]);
    if (parts == 2)
        sum = fma(limbs_of<parts - 1>(x)[0], limbs_of<parts - 1>(x)[0], sum);
    return sum;
}

MDQR_FN void leave_column(const panel_block& q, int j, int c, const column_sums& g) {
    if (c == q.w) {
        q.shared.set_scalar(panel_shared::tau, zero_number());
        return;
    }
    shrink_column(q, j, c, true, {0.0, square_of(g.row), 0.0, 0.0, 0.0});
    q.shared.set_factor(c, zero_number());
    if (c >= j && q.owns(j))
        write_row(q, j, c);
}

MDQR_FN void make_factor(const panel_block& q, int j, int c, const column_sums& g) {
    number alpha = g.alpha;
    const real_number re = real_part(alpha), root = reciprocal_root(g.s);
    const bool negative = re.limb[0] < 0.0;
    const real_number size = negative ? neg(re) : re;
    if (c == q.w) {
        number tau = opposite_if(negative, times_real(alpha, root));
        real_part(tau) = plus(from_double<double, limbs>(1.0), multiply(size, root));
        q.shared.set_scalar(panel_shared::tau, tau);
        return;
    }
    const int e = q.shared.power(c);
    const number inverse = make_inverse(plus(multiply(g.s, root), size), alpha, negative);
    const number r = times_real(opposite_if(!negative, g.sum), root);
    const number f = plus(r, opposite(g.row));
    number factor = multiply(inverse, f);
    if (c < j)
        factor = conjugate(f);
    factor = c == j ? inverse : divided_by_power(factor, -e);
    q.shared.set_factor(c, factor);
    if (c >= j && q.makes_t())
        write_r(q, j, c, r, e);
    shrink_column(q, j, c, false,
                  {root.limb[0], square_of(g.row), square_of(g.sum), g.s.limb[0], size.limb[0]});
}

// The reflector of column j from the sums; returns whether H = I.
MDQR_FN bool reflect(const panel_block& q, int j) {
    const bool identity = is_identity(q, j);
    const int c = q.thread;
    if (c <= q.w) {
        const column_sums g = gather_limbs(q, j, c < q.w ? c : j);
        if (identity)
            leave_column(q, j, c, g);
        else
            make_factor(q, j, c, g);
    }
    return identity;
}

MDQR_END
