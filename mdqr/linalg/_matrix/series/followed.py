"""Errors of products and sums of matrices, followed in float64 from measured rounding errors.

An exact matrix is ``X + E + F`` for a computed X: of E a float64 approximation is known, of F an
upper bound of the Frobenius norm. Rounding errors of a product are a residual in twice the limbs.
So bounds keep the cancellation of errors, which sums of norms do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._matrix.given import first_limbs, frobenius
from mdqr.linalg._matrix.series.plan import spectral_bound
from mdqr.linalg._shared.operands import square_of
from mdqr.linalg._spectral.disks import SLACK

# What underflow of limbs takes from an entry of a product, a thousandfold, for each of its terms.
LEAST = 2.0**-1064


class Followed(NamedTuple):
    """E, ``(batch, n, n)``, and bounds of the norms of F, ``(batch,)``."""

    known: np.ndarray
    rest: np.ndarray

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> Followed:
        """Return the errors of an exact matrix: zeros."""
        return cls(np.zeros(shape), np.zeros(shape[0]))

    def replaced(self, places: np.ndarray, other: Followed) -> Followed:
        """Return the errors with others at places of the batch."""
        known = self.known.astype(np.result_type(self.known, other.known))
        rest = self.rest.copy()
        known[places], rest[places] = other
        return Followed(known, rest)

    def entries(self) -> np.ndarray:
        """Return bounds of the errors of entries."""
        return np.asarray(SLACK * (abs(self.known) + self.rest[:, None, None]))


@np.errstate(all="ignore")
def product_errors(
    backend: Backend,
    x: tuple[MDArray, Followed],
    y: tuple[MDArray, Followed],
    result: MDArray,
    added: Sequence[tuple[MDArray, Followed]] = (),
) -> Followed:
    """Return the errors of a computed ``x @ y``, with a matrix added if one is given.

    A residual has errors of ``eps`` of itself, and ``(n + 8) eps**2`` of the moduli of all terms,
    up to fourfold in complex numbers. Products in float64 have errors of ``n + 8`` units of the
    product of moduli.
    """
    (a, of_a), (b, of_b) = x, y
    field, n, eps = a.is_complex, max(*a.shape[-2:], b.shape[-1]), a.precision.eps
    terms = [(-1, result._block), *((1, more._block) for more, _ in added)]
    lost = backend.residual(
        terms, planes.negate(a._block, field), b._block, kind=Kind(a.precision.limbs, field)
    )
    r, first, second = (first_limbs(z) for z in (a._like(lost), a, b))
    known = r + of_a.known @ second + first @ of_b.known
    norms = [spectral_bound(z) * (1 + 2.0**-40) + 2.0**-50 * frobenius(z) for z in (first, second)]
    sizes = [frobenius(z) for z in (first, second)]
    errors = [frobenius(of_a.known), frobenius(of_b.known)]
    rest = norms[0] * of_b.rest + of_a.rest * norms[1]
    rest = rest + (errors[0] + of_a.rest) * (errors[1] + of_b.rest)
    unit = (n + 8) * 2.0**-50
    rest = rest + unit * (errors[0] * sizes[1] + sizes[0] * errors[1] + frobenius(r))
    moduli = sizes[0] * sizes[1] + frobenius(first_limbs(result))
    for more, of_more in added:
        known, rest = known + of_more.known, rest + of_more.rest + 2.0**-50 * frobenius(known)
        moduli = moduli + frobenius(first_limbs(more))
    rest = rest + (8 * n + 64) * square_of(eps) * moduli + n**2 * LEAST
    return Followed(known, SLACK * rest)


@np.errstate(all="ignore")
def lost_by_sum(backend: Backend, *terms: tuple[int, MDArray]) -> np.ndarray:
    """Return bounds of the moduli of a sum of terms with signs: what rounding took from a sum."""
    x = terms[0][1]
    kind, (n, m) = Kind(x.precision.limbs, x.is_complex), x.shape[-2:]
    wide, tall = (kind.zeros(backend.xp, (len(x), *shape)) for shape in ((n, 1), (1, m)))
    lost = backend.residual([(sign, y._block) for sign, y in terms], wide, tall, kind=kind)
    r = abs(first_limbs(x._like(lost)))
    moduli = sum(abs(first_limbs(y)) for _, y in terms)
    return np.asarray(SLACK * (r + 72 * square_of(x.precision.eps) * moduli + LEAST))


@np.errstate(all="ignore")
def sum_errors(
    lost: np.ndarray,
    factors: np.ndarray,
    rounding: np.ndarray,
    powers: Sequence[tuple[np.ndarray, Followed]],
    eps: float,
) -> Followed:
    """Return the errors of a sum of powers, given as float64 matrices, with its coefficients.

    `lost` is the residual of the sum with rounded coefficients, `factors` these in float64, and
    `rounding` what they were rounded by.
    """
    known, rest = lost, 2.0**-50 * frobenius(lost)
    count = len(powers)
    for factor, less, (power, error) in zip(factors, rounding, powers, strict=True):
        size, of_error = frobenius(power), frobenius(error.known)
        known = known + factor * error.known + less * power
        rest = rest + abs(factor) * (error.rest + count * 2.0**-50 * of_error)
        rest = rest + (count * 2.0**-50 * abs(less)) * size
        rest = rest + (8 * count + 64) * square_of(eps) * abs(factor) * size
    return Followed(known, SLACK * (rest + power.shape[-1] ** 2 * count * LEAST))


def residual_of_sums(backend: Backend, factors: Block, flat: Block, found: Block) -> Block:
    """Return ``factors @ flat - found``, real blocks, rounded once."""
    kind = Kind(int(flat.shape[0]), False)
    return backend.residual([(-1, found)], planes.negate(factors, False), flat, kind=kind)
