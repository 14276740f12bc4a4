// From partial sums along rows to the elements of a product or a residual.
#include "products/matvec_arguments.hpp"

MDQR_BEGIN

// Lanes of an element, which divide the splits.
inline constexpr int finish_threads = 128, finish_lanes = 8;

struct finished {
    const matvec_arguments& p;
    const i64 flat, item, i, j;
    const int lane;

    MDQR_FN finished(const matvec_arguments& p, i64 flat)
        : p(p), flat(flat), item(flat / p.n / p.m), i(flat / p.n % p.m), j(flat % p.n),
          lane(thread_index() % finish_lanes) {}

    MDQR_FN double get(i64 split, int word) const {
        return p.sums[(split * p.elements() + flat) * row_sums::words + word];
    }
    MDQR_FN i64 exponent(i64 split) const { return p.exponent[split * p.elements() + flat]; }
    MDQR_FN void leave() const { p.list[atomic_add(p.count, 1)] = flat; }
};

#if MDQR_CARRY_SAVE
// The sums of all splits, in every lane; false if they are not finite, or terms may have
// underflowed.
MDQR_FN bool limbs_of(const finished& at, number& r) {
    double word[row_sums::words] = {}, other[row_sums::words];
    for (i64 s = at.lane; s < at.p.splits; s += finish_lanes) {
        static_for<0, row_sums::words>([&](auto w) MDQR_LAMBDA { other[w] = at.get(s, w); });
        row_sums::join(word, other);
    }
    for (int mask = 1; mask < finish_lanes; mask *= 2) {
        static_for<0, row_sums::words>([&](auto w)
                                           MDQR_LAMBDA { other[w] = shuffle_xor(word[w], mask); });
        row_sums::join(word, other);
    }
    double largest = 0.0;
    bool finite = true;
    for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
        const double size = word[3 * part + 2];
        value = {{word[3 * part], word[3 * part + 1]}};
        clear_negative_zeros(value);
        finite = finite && is_finite(value.limb[0]) && is_finite(size);
        largest = size > largest ? size : largest;
    });
    return finite && (largest == 0.0 || largest >= 0x1p-900);
}

#else
// The sums of all splits in the scale of the largest, in every lane.
struct joined_sums {
    i64 top = -4000;
    i64 word[parts][D + 1];
    double size[parts];

    MDQR_FN explicit joined_sums(const finished& at) {
        for (i64 s = at.lane; s < at.p.splits; s += finish_lanes)
            top = at.exponent(s) > top ? at.exponent(s) : top;
        for (int mask = 1; mask < finish_lanes; mask *= 2) {
            const i64 other = bits(shuffle_xor(from_bits(top), mask));
            top = other > top ? other : top;
        }
        static_for<0, parts>([&](auto part) MDQR_LAMBDA { sum_part(at, part); });
    }

    // True if the digits serve the element.
    MDQR_FN bool serve() const {
        double largest = 0.0;
        static_for<0, parts>(
            [&](auto part) MDQR_LAMBDA { largest = size[part] > largest ? size[part] : largest; });
        return top != not_finite && (largest == 0.0 || largest >= two_to(-used_span));
    }

private:
    MDQR_FN void sum_part(const finished& at, int part) {
        static_for<0, D + 1>([&](auto w) MDQR_LAMBDA { word[part][w] = 0; });
        size[part] = 0.0;
        for (i64 s = at.lane; s < at.p.splits; s += finish_lanes)
            add_split(at, part, s);
        static_for<0, D + 1>([&](auto w) MDQR_LAMBDA {
            for (int mask = 1; mask < finish_lanes; mask *= 2)
                word[part][w] += bits(shuffle_xor(from_bits(word[part][w]), mask));
        });
        for (int mask = 1; mask < finish_lanes; mask *= 2)
            size[part] = one_sum(size[part], shuffle_xor(size[part], mask));
        carry_words<D>(word[part]);
    }
    MDQR_FN void add_split(const finished& at, int part, i64 s) {
        i64 partial[D + 1];
        static_for<0, D + 1>([&](auto w)
                                 MDQR_LAMBDA { partial[w] = bits(at.get(s, part * (D + 2) + w)); });
        const double x = at.get(s, part * (D + 2) + D + 1);
        carry_words<D>(partial);
        const i64 by = at.exponent(s) == not_finite ? 0 : top - at.exponent(s);
        shift_words(partial, by);
        static_for<0, D + 1>([&](auto w) MDQR_LAMBDA { word[part][w] += partial[w]; });
        const double scaled = scale(x, by > 4000 ? -4000 : -int(by));
        // Below 2^51 after any number of splits.
        carry_words<D>(word[part]);
        // A zero by underflow is none.
        size[part] = one_sum(size[part], scaled == 0.0 && x != 0.0 ? 0x1p-1074 : scaled);
    }
};
#endif

#if MDQR_RESIDUAL
MDQR_FN void finish_element(const finished& at, bool exists) {
    const joined_sums sums(at);
    if (!exists || at.lane != 0)
        return;
    if (!sums.serve())
        return at.leave();
    superacc acc;
    number r;
    for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
        acc.clear();
        for (int w = 0; w <= D; ++w)
            if (sums.word[part][w] != 0)
                acc.add_scaled(-sums.word[part][w], int(sums.top) + 4 - 51 * w);
        at.p.terms.add_to(acc, at.item, at.i, at.j, part);
        acc.round(value.limb);
    });
    store_number(at.p.out.to, at.p.out.at(at.item, at.i, at.j), r);
}
#else
#if !MDQR_CARRY_SAVE
MDQR_FN bool limbs_of(const finished& at, number& r) {
    const joined_sums sums(at);
    if (!sums.serve())
        return false;
    for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
        value = times_power(from_words<D, limbs, double>(sums.word[part]), sums.top + 2);
    });
    return true;
}
#endif

MDQR_FN void finish_element(const finished& at, bool exists) {
    number r;
    const bool served = limbs_of(at, r);
    if (!exists || at.lane != 0)
        return;
    if (!served)
        return at.leave();
    put_result(at.p.c, at.p.out, at.item, at.i, at.j, at.p.subtract != 0, r);
}
#endif

MDQR_END

// Grid: finish_lanes threads an element.
MDQR_KERNEL(mdqr_matvec_finish, mdqr::matvec_arguments, mdqr::finish_threads) {
    using namespace mdqr;
    const i64 flat = (block_x() * finish_threads + thread_index()) / finish_lanes;
    finish_element(finished(p, flat < p.elements() ? flat : p.elements() - 1), flat < p.elements());
}
