// Elementwise operations. One module holds one of them: -DMDQR_UNARY=sqrt, -DMDQR_BINARY=add,
// -DMDQR_COMPARE, -DMDQR_LDEXP or -DMDQR_RENORMALIZE.
#include "device/inline_networks.hpp"

#include "elementwise/map.hpp"
#include "mdqr/superacc.hpp"

MDQR_BEGIN

#if defined(MDQR_UNARY)
MDQR_KERNEL(mdqr_unary, unary_arguments, block_threads) {
    map_unary(p, [](const number& x) { return MDQR_JOIN(apply_, MDQR_UNARY)(x); });
}
#endif

#if defined(MDQR_BINARY)
MDQR_KERNEL(mdqr_binary, binary_arguments, block_threads) {
    map_binary(
        p, [](const number& x, const number& y) { return MDQR_JOIN(apply_, MDQR_BINARY)(x, y); });
}
#endif

#if defined(MDQR_COMPARE)
// The result is int8.
MDQR_KERNEL(mdqr_compare, binary_arguments, block_threads) {
    const i64 i = element_index();
    if (i >= p.all.size)
        return;
    const places where = find(i, p.all, p.out, p.x, p.y);
    const real_number x = load_as<real_number>(p.x.to, where.at[1]);
    const real_number y = load_as<real_number>(p.y.to, where.at[2]);
    reinterpret_cast<signed char*>(p.out.to.data)[where.at[0]] =
        static_cast<signed char>(compare(x, y));
}
#endif

#if defined(MDQR_LDEXP)
// y holds the exponents, int64.
MDQR_KERNEL(mdqr_ldexp, binary_arguments, block_threads) {
    const i64 i = element_index();
    if (i >= p.all.size)
        return;
    const places where = find(i, p.all, p.out, p.x, p.y);
    const real_number x = load_as<real_number>(p.x.to, where.at[1]);
    const i64 exponent = reinterpret_cast<const i64*>(p.y.to.data)[where.at[2]];
    store_number(p.out.to, where.at[0], ldexp(x, exponent));
}
#endif

#if defined(MDQR_RENORMALIZE)
// Sums of doubles in words enough for nearly all: what they drop does not change a limb.
inline constexpr int sum_words = limbs + 2 > 12 ? limbs + 2 : 12;

MDQR_FN double magnitude(double x) { return x < 0.0 ? -x : x; }

// True if v + w rounds to v whatever follows w that is below its last bit: no tie, all finite.
MDQR_FN bool is_rounded(double v, double w) {
    const double beyond = one_prod(w, 1.0 + 0x1p-52);
    return one_sum(v, w) == v && one_sum(v, beyond) == v;
}

// The sum of the doubles of a value, if the first words of it show how all limbs are rounded.
MDQR_FN bool short_sum(const planes& x, i64 from, real_number& r) {
    double v[sum_words] = {}, dropped = 0.0;
    for (i64 l = 0; l < x.held; ++l) {
        double e = x.data[l * x.plane + from];
        static_for<0, sum_words>([&](auto k) MDQR_LAMBDA { two_sum(v[k], e, v[k], e); });
        dropped = one_sum(dropped, magnitude(e));
    }
    const auto found = renormalize<sum_words, limbs + 1>(v);
    // What lies behind the word below the last limb, and the next one, is less than its last bit.
    static_for<limbs + 2, sum_words>(
        [&](auto k) MDQR_LAMBDA { dropped = one_sum(dropped, magnitude(v[k])); });
    const double last = found.limb[limbs], rest = one_prod(dropped, 2.0);
    // Of zeros the sign counts.
    bool good = found.limb[0] != 0.0 && one_sum(last, v[limbs + 1]) == last;
    good = good && one_sum(last, rest) == last && one_sum(last, -rest) == last;
    static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
        good = good && is_rounded(found.limb[l], found.limb[l + 1]);
        // Limbs that are zeros are positive.
        r.limb[l] = one_sum(found.limb[l], 0.0);
    });
    return good;
}

// Any number of doubles a value, held by x.
MDQR_FN void renormalize_part(const planes& out, i64 to, const planes& x, i64 from) {
    real_number quick;
    if (short_sum(x, from, quick)) {
        store_number(out, to, quick);
        return;
    }
    superacc sum;
    for (i64 l = 0; l < x.held; ++l)
        sum.add(x.data[l * x.plane + from]);
    real_number r;
    sum.round(r.limb);
    store_number(out, to, r);
}

MDQR_KERNEL(mdqr_renormalize, unary_arguments, block_threads) {
    const i64 i = element_index();
    if (i >= p.all.size)
        return;
    const places where = find(i, p.all, p.out, p.x);
    for (int part = 0; part <= MDQR_COMPLEX; ++part)
        renormalize_part(p.out.to, where.at[0] + part * p.out.to.imag, p.x.to,
                         where.at[1] + part * p.x.to.imag);
}
#endif

MDQR_END
