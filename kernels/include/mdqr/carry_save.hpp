// Sums of products of double-doubles in carry-save limbs, a run of terms at a time.
//
// A product goes to s by two_sum, what that rounds off and the rest of the leading product to t,
// and each of the two cross products to a sum of its own: 12 operations. The sums do not change
// under x
// <-> y, so A^T A is symmetric to the last bit. A term of a complex sum has two products, for which
// there are two sums, added at the end in pairs that keep A^H A Hermitian: there the two products
// change places, and x and y.
//
// Errors of F products, in units of u^2 S with S = sum |x||y| over them and limbs |x1| <= u |x0|:
// x1 y1 dropped: 1. Cross sums stay below u S: 2 F. e + f, |f| <= u S and f = 0 at first: 1 + (F -
// 1). t, below u (1 + i) S after i + 1 products: (F - 1) + F (F - 1) / 2. Their sum at the end: 2 +
// (2 + F). Together 9 + 5 (F - 1) + F (F - 1) / 2. Of complex sums each of the two has M = F / 2,
// and the end takes M for the sum of both t, 1 + M for what s + s rounds off, 1 + 1 + 2 for the
// cross sums and 3 + M: 15 + 7 (M - 1) + M (M - 1) / 2.
#pragma once
#include "mdqr/number/add.hpp"

MDQR_BEGIN

// Of `products` in a run, of which a term has one or two.
MDQR_FN constexpr double carry_save_error(double products, int a_term) {
    const double n = products / a_term;
    return (a_term == 2 ? 15 + 7 * (n - 1) : 9 + 5 * (n - 1)) + n * (n - 1) / 2;
}

template <class T, int Products> class carry_save {
public:
    MDQR_FN void clear() {
        static_for<0, Products>(
            [&](auto i) MDQR_LAMBDA { s[i] = t[i] = left[i] = right[i] = broadcast<T>(0.0); });
    }

    MDQR_FN void add(const md<T, 2> (&x)[Products], const md<T, 2> (&y)[Products]) {
        static_for<0, Products>([&](auto i) MDQR_LAMBDA {
            T p, e, f;
            two_prod(x[i].limb[0], y[i].limb[0], p, e);
            two_sum(s[i], p, s[i], f);
            t[i] = one_sum(t[i], one_sum(e, f));
            left[i] = fma(x[i].limb[0], y[i].limb[1], left[i]);
            right[i] = fma(x[i].limb[1], y[i].limb[0], right[i]);
        });
    }

    // total += the sum, which begins anew.
    MDQR_FN void move_to(md<T, 2>& total) {
        T sum = s[0], rest = t[0], cross = one_sum(left[0], right[Products - 1]);
        if constexpr (Products == 2) {
            T error;
            two_sum(s[0], s[1], sum, error);
            rest = one_sum(one_sum(t[0], t[1]), error);
            cross = one_sum(cross, one_sum(right[0], left[1]));
        }
        md<T, 2> part;
        two_sum(sum, one_sum(rest, cross), part.limb[0], part.limb[1]);
        total = add_network(total, part);
        clear();
    }

private:
    T s[Products], t[Products], left[Products], right[Products];
};

MDQR_END
