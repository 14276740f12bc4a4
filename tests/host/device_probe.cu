// One kernel for each operation of the headers, at MDQR_LIMBS limbs: tests/host/test_headers.py
// reads registers and spills.
#include "mdqr/number/compare.hpp"
#include "mdqr/number/complex.hpp"
#include "mdqr/number/contract.hpp"
#include "mdqr/digits.hpp"
#include "mdqr/householder.hpp"
#include "mdqr/number/rounding.hpp"
#include "mdqr/superacc.hpp"

using real = mdqr::md<double, MDQR_LIMBS>;
using complex = mdqr::cmd<double, MDQR_LIMBS>;

__device__ real summed(const real& x, const real& y) {
    mdqr::superacc sum;
    sum.add(x.limb[0]);
    sum.add_product(x.limb[MDQR_LIMBS - 1], y.limb[0]);
    real r;
    sum.round(r.limb);
    return r;
}

__device__ real digit_product(real x, real y) {
    constexpr int D = mdqr::result_digits<MDQR_LIMBS>;
    double a[D], b[D];
    mdqr::to_digits<D, MDQR_LIMBS>(x.limb, a);
    mdqr::to_digits<D, MDQR_LIMBS>(y.limb, b);
    mdqr::i64 word[D + 1] = {};
    mdqr::digit_multiply_add<D, D, D>(a, b, word);
    mdqr::carry_words<D>(word);
    return mdqr::from_words<D, MDQR_LIMBS, double>(word);
}

#define PROBE(name, type, result, value)                                                           \
    extern "C" __global__ void name(const type* x, const type* y, result* r) { *r = value; }

PROBE(add_real, real, real, mdqr::add(*x, *y))
PROBE(sub_real, real, real, mdqr::sub(*x, *y))
PROBE(mul_real, real, real, mdqr::mul(*x, *y))
PROBE(div_real, real, real, mdqr::div(*x, *y))
PROBE(sqrt_real, real, real, mdqr::sqrt(*x))
PROBE(hypot_real, real, real, mdqr::hypot(*x, *y))
PROBE(floor_real, real, real, mdqr::floor(*x))
PROBE(rint_real, real, real, mdqr::rint(*x))
PROBE(compare_real, real, int, mdqr::compare(*x, *y))
PROBE(add_complex, complex, complex, mdqr::add(*x, *y))
PROBE(mul_complex, complex, complex, mdqr::mul(*x, *y))
PROBE(div_complex, complex, complex, mdqr::div(*x, *y))
PROBE(sqrt_complex, complex, complex, mdqr::sqrt(*x))
PROBE(abs_complex, complex, real, mdqr::abs(*x))
PROBE(reflector_real, real, real, mdqr::make_reflector(*x, *y).tau)
PROBE(reflector_complex, complex, complex, mdqr::make_reflector(*x, y->re).tau)
PROBE(superacc_real, real, real, summed(*x, *y))
PROBE(digits_real, real, real, digit_product(*x, *y))
