// Single elements of a product that the digits do not serve: the exact sum, or what IEEE makes of
// infinities and NaN.
#pragma once
#include "level.hpp"

#include "matmul_tile.hpp"
#include "mdqr/superacc.hpp"

MDQR_BEGIN

// acc += sign * (the real or imaginary part of) row p0 times row s0.
void add_exact_row(superacc& acc, const product_problem& x, ptrdiff_t item, ptrdiff_t p0,
                   ptrdiff_t s0, ptrdiff_t part, double sign);

// The sum of those terms that are not finite; the finite ones cannot change it.
double special_row(const product_problem& x, ptrdiff_t item, ptrdiff_t p0, ptrdiff_t s0,
                   ptrdiff_t part);

MDQR_END
