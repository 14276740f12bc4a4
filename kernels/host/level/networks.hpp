// Long functions that several entry points of one level and limb count share: compiled once, in
// level/networks.cpp, not once in every file that calls them.
#pragma once
#include "level/level.hpp"

#include "mdqr/number/complex.hpp"

MDQR_BEGIN

// The inline forms of inner loops, out of line: thousands of instructions where there are many
// limbs.
template <int N>
__attribute__((noinline)) void multiply_add_call(md<lane, N>& a, const md<lane, N>& x,
                                                 const md<lane, N>& y) {
    a = add_fast(a, mul_fast(x, y));
}
template <int N>
__attribute__((noinline)) void multiply_call(md<lane, N>& r, const md<lane, N>& x,
                                             const md<lane, N>& y) {
    r = mul_fast(x, y);
}
template <int N> __attribute__((noinline)) void add_call(md<lane, N>& a, const md<lane, N>& b) {
    a = add_fast(a, b);
}
template <class T, int N> __attribute__((noinline)) void normalise_call(md<T, N>& x) {
    x = renormalize<N, N>(x.limb);
}
template <int N>
__attribute__((noinline)) md<double, N> scale_result_call(const md<double, N>& x, int e) {
    return scale_result(x, e);
}

#if !defined(MDQR_NETWORK)
#define MDQR_NETWORK extern template
#endif

#if MDQR_LIMBS > 1
using real_one = md<double, MDQR_LIMBS>;
using complex_one = cmd<double, MDQR_LIMBS>;
MDQR_NETWORK real_one mul_double(const real_one&, double);
MDQR_NETWORK real_one div_network(const real_one&, const real_one&);
MDQR_NETWORK real_one sqrt_network(const real_one&);
MDQR_NETWORK real_one add_slow(const real_one&, const real_one&);
MDQR_NETWORK real_one mul_slow(const real_one&, const real_one&);
MDQR_NETWORK real_one div_slow(const real_one&, const real_one&);
MDQR_NETWORK real_one sqrt_slow(const real_one&);
MDQR_NETWORK real_one scale_result_call(const real_one&, int);
MDQR_NETWORK complex_one div_slow(const complex_one&, const complex_one&);
MDQR_NETWORK complex_one mul_slow(const complex_one&, const complex_one&);
#if MDQR_HOST_LANES > 1
using real_lanes = md<lane, MDQR_LIMBS>;
MDQR_NETWORK real_lanes mul_double(const real_lanes&, lane);
MDQR_NETWORK real_lanes div_network(const real_lanes&, const real_lanes&);
#endif
#endif

#if MDQR_LIMBS > 2
MDQR_NETWORK real_one add_merged(const real_one&, const real_one&);
#if MDQR_HOST_LANES > 1
MDQR_NETWORK real_lanes add_merged(const real_lanes&, const real_lanes&);
#endif
#endif

#if MDQR_LIMBS > 9 // by_digits
MDQR_NETWORK real_one mul_digits(const real_one&, const real_one&);
MDQR_NETWORK real_one div_digits(const real_one&, const real_one&);
MDQR_NETWORK real_one sqrt_digits(const real_one&);
#if MDQR_HOST_LANES > 1
MDQR_NETWORK real_lanes mul_digits(const real_lanes&, const real_lanes&);
MDQR_NETWORK real_lanes div_digits(const real_lanes&, const real_lanes&);
MDQR_NETWORK real_lanes sqrt_digits(const real_lanes&);
#endif
#elif MDQR_LIMBS > 2
MDQR_NETWORK real_one mul_guarded(const real_one&, const real_one&);
#if MDQR_HOST_LANES > 1
MDQR_NETWORK real_lanes mul_guarded(const real_lanes&, const real_lanes&);
#endif
#endif

#if MDQR_LIMBS > 4
MDQR_NETWORK void multiply_add_call(md<lane, MDQR_LIMBS>&, const md<lane, MDQR_LIMBS>&,
                                    const md<lane, MDQR_LIMBS>&);
MDQR_NETWORK void multiply_call(md<lane, MDQR_LIMBS>&, const md<lane, MDQR_LIMBS>&,
                                const md<lane, MDQR_LIMBS>&);
MDQR_NETWORK void add_call(md<lane, MDQR_LIMBS>&, const md<lane, MDQR_LIMBS>&);
MDQR_NETWORK void normalise_call(real_one&);
#if MDQR_HOST_LANES > 1
MDQR_NETWORK void normalise_call(real_lanes&);
#endif
#endif

MDQR_END
