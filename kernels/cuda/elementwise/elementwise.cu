// Elementwise operations. One module holds one of them: -DMDQR_UNARY=sqrt, -DMDQR_BINARY=add,
// -DMDQR_COMPARE, -DMDQR_LDEXP or -DMDQR_RENORMALIZE.
#include "device/inline_networks.hpp"

#include "elementwise/map.hpp"
#include "elementwise/sums.hpp"

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
// Any number of doubles a value, held by x.
MDQR_FN void renormalize_part(const planes& out, i64 to, const planes& x, i64 from) {
    real_number quick;
    double behind;
    const auto term = [&](i64 l) MDQR_LAMBDA { return x.data[l * x.plane + from]; };
    if (short_sum(term, x.held, quick, behind)) {
        store_number(out, to, quick);
        return;
    }
    superacc sum;
    for (i64 l = 0; l < x.held; ++l)
        sum.add(term(l));
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
