"""Verified bounds of factorisations into three matrices, by residuals in twice the limbs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.blocks import native_abs
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Kind
from mdqr.linalg._factor.backward_error import FactorErrors
from mdqr.linalg._shared.operands import precision_for, square_of

# More than float64 rounds off in moduli, their products and norms of them.
_SLACK = 1.0 + 2.0**-30
# What underflow takes from entries of products of matrices of at most 1, and from powers of two.
_LEAST, _SUBNORMAL = 2.0**-1040, 2.0**-1070
# More than a product of two numbers loses of all products of their limbs.
_UNDERFLOW = 2.0**-1064


class ErrorsOfThree(NamedTuple):
    """Bounds for matrices ``(batch, n, n)`` and factors ``a = left d right`` as they were returned.

    All have one precision, of two limbs or more; entries of `a` have a relative error of `unit`.
    """

    a: MDArray
    left: MDArray
    d: MDArray
    right: MDArray
    unit: float

    @np.errstate(all="ignore")
    def bounds(self) -> FactorErrors:
        """Return the bounds of Frobenius norms.

        With W the rounded product ``left d`` and V its rounding errors, ``a - left d right`` is
        ``a - [W V] [right; right]``, up to some ``eps**2`` of the moduli of all three.
        """
        backend, field, n = for_block(self.a._block), self.a.is_complex, self.a.shape[-1]
        kind = Kind(self.a.precision.limbs, field)
        power = scaling.top_exponents(self.a._block, field)
        a, d = (
            backend.ldexp(x._block, -power[:, None, None], is_complex=field)
            for x in (self.a, self.d)
        )
        left, right = self.left._block, self.right._block
        product = backend.matmul(left, d, kind=kind)
        lost = backend.residual([(-1, product)], planes.negate(left, field), d, kind=kind)
        wide = np.concatenate([product, lost], axis=-1)
        rest = backend.residual([(1, a)], wide, np.concatenate([right] * 2, axis=-2), kind=kind)
        of_a, of_left, of_d, of_right, of_rest = (
            native_abs(x, field) for x in (a, left, d, right, rest)
        )
        eps = precision_for(kind.limbs).eps
        terms = of_a + of_left @ of_d @ of_right
        few = (32 * n + 128) * square_of(eps)
        # Entries of the factors may be large, and multiply what underflows in the product and in d.
        back = backend.ldexp(d, power[:, None, None], is_complex=field)
        inexact = (back != self.d._block).any(axis=tuple(range(kind.lead)))
        lost_d = of_left @ np.where(inexact, _SUBNORMAL, 0.0) + n * _UNDERFLOW
        error = (1 + 2 * eps) * of_rest + few * terms + _LEAST + lost_d @ of_right
        found, size = (_SLACK**2 * scaling.norms(x, (-2, -1)) for x in (error, of_a))
        found = np.ldexp(found, power) + _SUBNORMAL
        data = np.ldexp(self.unit * _SLACK * size, power) + _SUBNORMAL
        found = np.where(np.isnan(found), np.inf, found)
        # The norm is the one from below.
        below = np.ldexp(size, power) / _SLACK**4
        return FactorErrors(found, np.full(found.shape, np.nan), below, data)
