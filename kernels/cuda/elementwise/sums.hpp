// Sums of doubles rounded once to limbs, by words enough for nearly all.
#pragma once
#include "device/views.hpp"
#include "mdqr/superacc.hpp"

MDQR_BEGIN

// What these words drop does not change a limb.
inline constexpr int sum_words = limbs + 2 > 12 ? limbs + 2 : 12;

// True if v + w rounds to v whatever follows w that is below its last bit: no tie, all finite.
MDQR_FN bool is_rounded(double v, double w) {
    const double beyond = one_prod(w, 1.0 + 0x1p-52);
    return one_sum(v, w) == v && one_sum(v, beyond) == v;
}

// The sum of `count` doubles term(l), if the first words of it show how all limbs are rounded;
// `behind` is the double nearest to what they leave.
template <class Term>
MDQR_FN bool short_sum(const Term& term, i64 count, real_number& r, double& behind) {
    double v[sum_words] = {}, dropped = 0.0;
    for (i64 l = 0; l < count; ++l) {
        double e = term(l);
        static_for<0, sum_words>([&](auto k) MDQR_LAMBDA { two_sum(v[k], e, v[k], e); });
        dropped = one_sum(dropped, abs(e));
    }
    const auto found = renormalize<sum_words, limbs + 1>(v);
    // What lies behind the word below the last limb, and the next one, is less than its last bit.
    static_for<limbs + 2, sum_words>([&](auto k)
                                         MDQR_LAMBDA { dropped = one_sum(dropped, abs(v[k])); });
    const double last = found.limb[limbs], rest = one_prod(dropped, 2.0);
    // Of zeros the sign counts.
    bool good = found.limb[0] != 0.0 && one_sum(last, v[limbs + 1]) == last;
    good = good && one_sum(last, rest) == last && one_sum(last, -rest) == last;
    static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
        good = good && is_rounded(found.limb[l], found.limb[l + 1]);
        // Limbs that are zeros are positive.
        r.limb[l] = one_sum(found.limb[l], 0.0);
    });
    behind = last;
    return good;
}

MDQR_END
