// Products with few columns and residuals, as sums along rows: digits of B, partial sums, elements.
#include "device.hpp"

#include "matvec_finish.hpp"

MDQR_BEGIN

#if MDQR_CARRY_SAVE
MDQR_FN void negate_imaginary(md<double, limbs>&) {}
MDQR_FN void negate_imaginary(cmd<double, limbs>& x) { x.im = neg(x.im); }

MDQR_FN void sum_row(const matvec_arguments& p, i64 item, i64 row, i64 j, i64 split, i64 first,
                     i64 step, row_sums& sums) {
    for (i64 t = first; t < p.end_of(split); t += step) {
        number x = load_as<number>(p.a.to, p.a.at(item, row, t));
        number y = load_as<number>(p.b.to, p.b.at(item, j, t));
        if (p.conj_a)
            negate_imaginary(x);
        if (p.conj_b)
            negate_imaginary(y);
        sums.add(x, y);
    }
    sums.fold();
}

// Limbs of a part together.
struct join {
    template <class F> MDQR_FN void operator()(const row_sums& sums, F f) const {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            constexpr int at = 3 * part.value;
            double word[3] = {sums.get<at>(), sums.get<at + 1>(), sums.get<at + 2>()};
            f(word, index<3>{}, index<at>{}, [](double* x, const double* y) MDQR_LAMBDA {
                const md<double, 2> a{{x[0], x[1]}}, b{{y[0], y[1]}};
                const md<double, 2> sum = add_network(a, b);
                x[0] = sum.limb[0];
                x[1] = sum.limb[1];
                x[2] = one_sum(x[2], y[2]);
            });
        });
    }
};

#else
// Sums of this thread: row `row` of A times column j of B, every `step`th term from `first` on.
MDQR_FN void sum_row(const matvec_arguments& p, i64 item, i64 row, i64 j, i64 split, i64 first,
                     i64 step, row_sums& sums) {
    const i64 end = p.end_of(split);
    double peak = 0.0;
    for (i64 t = first; t < end; t += step)
        peak = larger_size(p.a.to, p.a.at(item, row, t), peak);
    const i64 e = joint_exponent<R>(peak, shared_memory());
    if (thread_index() / 32 == 0 && thread_index() % lanes_along == 0)
        p.a_exponent[split * p.elements() + (item * p.m + row) * p.n + j] = e;
    const row_factors factor(e);
    const double sign = p.conj_a ? -1.0 : 1.0;
    if (e != not_finite)
        for (i64 t = first; t < end; t += step)
            sums.add(p.a.to, p.a.at(item, row, t), sign, factor.first, factor.second,
                     p.vector_at(p.b_item(item), j, t));
    sums.carry();
}

MDQR_FN void put_digits(const matvec_arguments& p, i64 item, i64 j, i64 t,
                        const row_factors& factor) {
    static_for<0, parts>([&](auto part) MDQR_LAMBDA {
        double limb[limbs], digit[D];
        const double sign = part == 1 && p.conj_b ? -1.0 : 1.0;
        load_scaled(p.b.to, p.b.at(item, j, t) + part * p.b.to.imag, sign * factor.first,
                    factor.second, limb);
        to_digits<D, limbs>(limb, digit);
        double* to = p.vector_at(item, j, t) + part * row_sums::vector_words;
        static_for<0, D>([&](auto i) MDQR_LAMBDA { to[i] = digit[i]; });
        to[D] = raised(abs(limb[0]));
    });
}

// Word by word.
struct join {
    template <class F> MDQR_FN void operator()(const row_sums& sums, F f) const {
        static_for<0, row_sums::words>([&](auto i) MDQR_LAMBDA {
            double word[1] = {sums.get<i.value>()};
            f(word, index<1>{}, i, [](double* x, const double* y) MDQR_LAMBDA {
                x[0] = row_sums::joined<decltype(i)::value>(x[0], y[0]);
            });
        });
    }
};
#endif

// The sums of all threads of a row, one word after the other.
MDQR_FN void put_joined(const matvec_arguments& p, i64 item, i64 row, i64 j, i64 split,
                        const row_sums& sums) {
    const int warp = thread_index() / 32, in_warp = thread_index() % 32 / lanes_along;
    const i64 flat = (item * p.m + row) * p.n + j;
    join()(sums, [&](double* word, auto count, auto first, auto joined) MDQR_LAMBDA {
        for (int mask = 1; mask < lanes_along; mask *= 2) {
            double other[count.value];
            static_for<0, count.value>([&](auto w)
                                           MDQR_LAMBDA { other[w] = shuffle_xor(word[w], mask); });
            joined(word, other);
        }
        double* shared = shared_memory();
        sync_threads();
        if (thread_index() % lanes_along == 0)
            static_for<0, count.value>([&](auto w) MDQR_LAMBDA {
                shared[(w * matvec_warps + warp) * R + in_warp] = word[w];
            });
        sync_threads();
        if (warp != 0 || thread_index() % lanes_along != 0)
            return;
        for (int other_warp = 1; other_warp < matvec_warps; ++other_warp) {
            double other[count.value];
            static_for<0, count.value>([&](auto w) MDQR_LAMBDA {
                other[w] = shared[(w * matvec_warps + other_warp) * R + in_warp];
            });
            joined(word, other);
        }
        if (row < p.m)
            static_for<0, count.value>([&](auto w) MDQR_LAMBDA {
                p.sums[(split * row_sums::words + first.value + w.value) * p.elements() + flat] =
                    word[w];
            });
    });
}

MDQR_END

#if !MDQR_CARRY_SAVE
// Grid: b_items * n * splits * pieces, where `pieces` blocks share a split.
MDQR_KERNEL(mdqr_vectors, mdqr::matvec_arguments, mdqr::matvec_threads) {
    using namespace mdqr;
    const i64 pieces = blocks_x() / (p.b_items * p.n * p.splits);
    const i64 piece = block_x() % pieces, split = block_x() / pieces % p.splits;
    const i64 column = block_x() / pieces / p.splits, item = column / p.n, j = column % p.n;
    const i64 first = split * p.split_terms + thread_index(), end = p.end_of(split);
    double peak = 0.0;
    for (i64 t = first; t < end; t += matvec_threads)
        peak = larger_size(p.b.to, p.b.at(item, j, t), peak);
    const i64 f = joint_exponent<1>(peak, shared_memory());
    if (piece == 0 && thread_index() == 0)
        p.b_exponent_at(split, item, j) = f;
    const row_factors factor(f);
    if (f != not_finite)
        for (i64 t = first + piece * matvec_threads; t < end; t += pieces * matvec_threads)
            put_digits(p, item, j, t, factor);
}

#endif

// Grid: items * groups * n * splits; a group is R rows.
MDQR_KERNEL(mdqr_matvec, mdqr::matvec_arguments, mdqr::matvec_threads) {
    using namespace mdqr;
    const i64 groups = (p.m + R - 1) / R;
    const i64 split = block_x() % p.splits, j = block_x() / p.splits % p.n;
    const i64 group = block_x() / p.splits / p.n;
    const i64 item = group / groups, row = group % groups * R + thread_index() % 32 / lanes_along;
    const i64 first =
        split * p.split_terms + thread_index() / 32 * lanes_along + thread_index() % lanes_along;
    // Rows behind the last one repeat it.
    const i64 used = row < p.m ? row : p.m - 1;
    if (block_x() == 0 && thread_index() == 0)
        *p.count = 0;
    row_sums sums;
    sum_row(p, item, used, j, split, first, matvec_warps * lanes_along, sums);
    put_joined(p, item, row, j, split, sums);
}

// Grid: one thread an element.
MDQR_KERNEL(mdqr_matvec_finish, mdqr::matvec_arguments, 128) {
    using namespace mdqr;
    const i64 flat = block_x() * 128 + thread_index();
    if (flat < p.elements())
        finish_element(finished(p, flat));
}
