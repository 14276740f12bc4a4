// One kernel for each operation of the headers, at MDQR_LIMBS limbs: tests/test_headers.py reads
// registers and spills.
#include "mdqr/compare.hpp"
#include "mdqr/complex.hpp"
#include "mdqr/contract.hpp"
#include "mdqr/digits.hpp"
#include "mdqr/rounding.hpp"
#include "mdqr/superacc.hpp"

using real = mdqr::md<double, MDQR_LIMBS>;
using complex = mdqr::cmd<double, MDQR_LIMBS>;

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
