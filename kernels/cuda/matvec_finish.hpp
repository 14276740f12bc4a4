// From partial sums along rows to the elements of a product or a residual.
#pragma once
#include "matvec_arguments.hpp"

MDQR_BEGIN

struct finished {
    const matvec_arguments& p;
    const i64 flat, item, i, j;

    MDQR_FN finished(const matvec_arguments& p, i64 flat)
        : p(p), flat(flat), item(flat / p.n / p.m), i(flat / p.n % p.m), j(flat % p.n) {}

    MDQR_FN double get(i64 split, int words, int word) const {
        return p.sums[(split * words + word) * p.elements() + flat];
    }
    MDQR_FN i64 exponent(i64 split) const {
        const i64 e = p.a_exponent[split * p.elements() + flat];
        const i64 f = p.b_exponent_at(split, p.b_item(item), j);
        return e == not_finite || f == not_finite ? not_finite : e + f;
    }
    MDQR_FN void leave() const { p.list[atomic_add(p.count, 1)] = flat; }
};

#if MDQR_CARRY_SAVE
// False if the sum is not finite, or its terms may have underflowed.
MDQR_FN bool limbs_of(const finished& at, number& r) {
    double largest = 0.0;
    bool finite = true;
    for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
        md<double, limbs> total = from_double<double, limbs>(0.0);
        double size = 0.0;
        for (i64 s = 0; s < at.p.splits; ++s) {
            md<double, limbs> x = from_double<double, limbs>(0.0);
            static_for<0, 2>(
                [&](auto l) MDQR_LAMBDA { x.limb[l] = at.get(s, row_sums::words, 3 * part + l); });
            total = add_network(total, x);
            size = one_sum(size, at.get(s, row_sums::words, 3 * part + 2));
        }
        clear_negative_zeros(total);
        value = total;
        finite = finite && is_finite(total.limb[0]) && is_finite(size);
        largest = size > largest ? size : largest;
    });
    return finite && (largest == 0.0 || largest >= 0x1p-900);
}

#else
// True if the digits serve the element: the sizes of all splits in the scale of the largest.
MDQR_FN bool digits_serve(const finished& at) {
    i64 top = -4000;
    for (i64 s = 0; s < at.p.splits; ++s)
        top = at.exponent(s) > top ? at.exponent(s) : top;
    if (top == not_finite)
        return false;
    double size[parts] = {}, largest = 0.0;
    for (i64 s = 0; s < at.p.splits; ++s)
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            const double x = at.get(s, row_sums::words, part * (D + 2) + D + 1);
            size[part] = one_sum(size[part], scale(x, int(at.exponent(s) - top)));
            // A zero by underflow is none.
            size[part] = size[part] == 0.0 && x != 0.0 ? 0x1p-1074 : size[part];
        });
    static_for<0, parts>(
        [&](auto part) MDQR_LAMBDA { largest = size[part] > largest ? size[part] : largest; });
    return largest == 0.0 || largest >= two_to(-used_span);
}

// acc += sign * the words of one part, of all splits.
MDQR_FN void add_words(superacc& acc, const finished& at, int part, i64 sign) {
    for (i64 s = 0; s < at.p.splits; ++s) {
        const int e = int(at.exponent(s)) + 4;
        for (int w = 0; w <= D; ++w) {
            const i64 word = bits(at.get(s, row_sums::words, part * (D + 2) + w));
            if (word != 0)
                acc.add_scaled(sign * word, e - 51 * w);
        }
    }
}

#endif

#if MDQR_RESIDUAL
MDQR_FN void finish_element(const finished& at) {
    if (!digits_serve(at))
        return at.leave();
    superacc acc;
    number r;
    for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
        acc.clear();
        add_words(acc, at, part, -1);
        at.p.terms.add_to(acc, at.item, at.i, at.j, part);
        acc.round(value.limb);
    });
    store_number(at.p.out.to, at.p.out.at(at.item, at.i, at.j), r);
}
#else
#if !MDQR_CARRY_SAVE
MDQR_FN bool limbs_of(const finished& at, number& r) {
    if (!digits_serve(at))
        return false;
    if (at.p.splits == 1) {
        for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
            i64 word[D + 1];
            static_for<0, D + 1>([&](auto w) MDQR_LAMBDA {
                word[w] = bits(at.get(0, row_sums::words, part * (D + 2) + w));
            });
            carry_words<D>(word);
            value = times_power(from_words<D, limbs, double>(word), at.exponent(0) + 2);
        });
        return true;
    }
    superacc acc;
    for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
        acc.clear();
        add_words(acc, at, part, 1);
        acc.round(value.limb);
    });
    return true;
}
#endif

MDQR_FN void finish_element(const finished& at) {
    number r;
    if (!limbs_of(at, r))
        return at.leave();
    put_result(at.p.c, at.p.out, at.item, at.i, at.j, at.p.subtract != 0, r);
}
#endif

MDQR_END
