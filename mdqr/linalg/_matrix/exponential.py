"""Exponentials by Taylor polynomials and squarings, with what is needed to bound their errors."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._convert.arrays import scalar_to_limbs
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._matrix.given import first_limbs, frobenius
from mdqr.linalg._matrix.plan import Plan, plan, spectral_bound, truncation
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.operands import taken
from mdqr.linalg._spectral.disks import SLACK

# What underflow of limbs takes from an entry of a product, a thousandfold, for each of its terms.
_LEAST = 2.0**-1064


class Exponential:
    """The exponentials of matrices ``(batch, n, n)``, real or complex, of two limbs or more.

    Parameters
    ----------
    a : MDArray
        The matrices, finite.
    backend : Backend
        Where they live.
    keep : bool
        Whether factors are kept for `error`.
    """

    def __init__(self, a: MDArray, backend: Backend, *, keep: bool) -> None:
        self._a, self._backend, self._keep, self._n = a, backend, keep, a.shape[-1]
        self._eps = a.precision.eps
        radius = self._radius(first_limbs(a))
        self.plan: Plan = plan(radius, a.precision.bits + 2)
        self._truncation = truncation(radius - self.plan.squarings, self.plan.degree)
        self._powers: list[MDArray] = []
        self._sums: list[tuple[MDArray, MDArray, MDArray]] = []
        self._squared: list[tuple[np.ndarray, MDArray]] = []
        self.value = self._squarings(self._polynomial())

    def _radius(self, a: np.ndarray) -> np.ndarray:
        """Return ``log2(max(norm(A**2)**(1/2), norm(A**3)**(1/3)))``, rounded up.

        First limbs are within ``2**-53`` of entries, products of n terms within n + 2 as much of
        products of moduli.
        """
        n = self._n
        with np.errstate(all="ignore"):
            top = np.abs(a).max(axis=(-2, -1), initial=0.0)
            unit = np.where(top > 0, top, 1.0)[:, None, None]
            near = a / unit
            size = frobenius(near)
            square = near @ near
            loss = (n + 4) * 2.0**-50
            second = spectral_bound(square) + loss * size**2
            third = spectral_bound(square @ near) + 2 * loss * size**3
            radius = np.maximum(np.log2(second) / 2, np.log2(third) / 3) + 2.0**-20
            return np.where(
                top > 0, np.maximum(radius, -(2.0**18)) + np.log2(unit[:, 0, 0]), -(2.0**20)
            )

    def _polynomial(self) -> MDArray:
        """Return the Taylor polynomial of ``A / 2**squarings``, by the scheme of the plan."""
        a, (width, rows, squarings) = self._a, self.plan
        backend, kind = self._backend, Kind(a.precision.limbs, a.is_complex)
        powers = backend.xp.asarray(-squarings)[:, None, None]
        base = a._like(backend.ldexp(a._block, powers, is_complex=a.is_complex))
        found = [a._like(kind.identity(backend.xp, a.shape)), base]
        for k in range(2, width + 1):
            found.append(matmul(found[k // 2], found[k - k // 2]))
        blocks = _combined(found, width, rows)
        value = blocks[-1]
        for block in blocks[-2::-1]:
            product = matmul(value, found[width])
            following = a._like(backend.binary("add", product._block, block._block, kind=kind))
            if self._keep:
                self._sums.append((value, product, following))
            value = following
        if self._keep:
            self._powers = found
        return value

    def _squarings(self, value: MDArray) -> MDArray:
        """Square each matrix as often as it was halved."""
        counts, lead = self.plan.squarings, planes.lead(value.is_complex)
        for k in range(int(counts.max(initial=0))):
            (places,) = np.nonzero(counts > k)
            is_whole = len(places) == len(counts)
            part = value if is_whole else value._like(taken(value._block, lead, (places,)))
            if self._keep:
                self._squared.append((places, part))
            squared = matmul(part, part)
            if is_whole:
                value = squared
                continue
            value = value.copy()
            index = planes.namespace(value._block).asarray(places)
            value._block[(*(slice(None),) * lead, index)] = squared._block
        return value

    @np.errstate(all="ignore")
    def error(self) -> np.ndarray:
        """Return bounds of the errors in the Frobenius norm.

        For computed X and Y with errors of norm e and f the product has an error of at most
        ``norm(X) f + e norm(Y) + e f + (n + 8) eps norm(X, F) norm(Y, F)``, norms without F being
        2-norms; a sum has an error of ``2 eps`` of its norm more. The polynomial of moduli bounds
        what the sums of powers and the rounding of the coefficients add.
        """
        n, eps, (width, rows, _) = self._n, self._eps, self.plan
        terms = [(spectral_bound(m), frobenius(m)) for m in map(first_limbs, self._powers)]
        # Halving is exact but for what underflows.
        least = n * n * _LEAST
        none = np.zeros(len(self._a))
        errors: list[np.ndarray] = [none, none + least]
        for k in range(2, width + 1):
            errors.append(
                self._product(terms[k // 2], errors[k // 2], terms[k - k // 2], errors[k - k // 2])
            )
        factors = [1 / math.factorial(k) for k in range(width * rows + 1)]
        sums: list[np.ndarray] = []
        for j in range(rows):
            last = width if j == rows - 1 else width - 1
            added = none + least
            for i in range(last + 1):
                unit = (width + 12) * eps * terms[i][1]
                added = added + factors[j * width + i] * (errors[i] + unit)
            sums.append(added)
        error = sums[-1]
        for (value, product, following), added in zip(self._sums, sums[-2::-1], strict=True):
            error = (
                self._product(self._norms(value), error, terms[width], errors[width])
                + added
                + 2 * eps * (frobenius(first_limbs(product)) + frobenius(first_limbs(following)))
            )
        error = error + math.sqrt(n) * self._truncation
        for places, part in self._squared:
            norms, known = self._norms(part), error[places]
            error = error.copy()
            error[places] = self._product(norms, known, norms, known)
        return np.where(np.isfinite(error), SLACK * error, np.inf)

    def _norms(self, x: MDArray) -> tuple[np.ndarray, np.ndarray]:
        native = first_limbs(x)
        size = frobenius(native)
        return spectral_bound(native) + 2.0**-50 * size, size

    def _product(
        self,
        x: tuple[np.ndarray, np.ndarray],
        of_x: np.ndarray,
        y: tuple[np.ndarray, np.ndarray],
        of_y: np.ndarray,
    ) -> np.ndarray:
        rounding = (self._n + 8) * self._eps * x[1] * y[1] + self._n**2 * _LEAST
        return SLACK * (x[0] * of_y + of_x * y[0] + of_x * of_y + rounding)


def _combined(powers: list[MDArray], width: int, rows: int) -> list[MDArray]:
    """Return the sums of `width` powers with their coefficients, one for each row of the scheme.

    All are one product of a matrix of coefficients and the powers as rows; the last sum has the
    power `width`, too.
    """
    x = powers[0]
    limbs, xp = x.precision.limbs, planes.namespace(x._block)
    last = MDArray._wrap(xp.asarray(_coefficients(width, rows, limbs)), x.precision, False)
    # Real and imaginary parts are columns of one real matrix.
    parts = [(p.real, p.imag) if x.is_complex else (p,) for p in powers[: width + 1]]
    block = xp.stack([xp.stack([part._block for part in pair], axis=1) for pair in parts], axis=1)
    flat = MDArray._wrap(block.reshape(limbs, width + 1, -1), x.precision, False)
    sums = matmul(last, flat)._block.reshape(limbs, rows, *block.shape[2:])
    return [
        x._like(_complex_block(sums[:, j]) if x.is_complex else sums[:, j, 0]) for j in range(rows)
    ]


def _complex_block(sums: Block) -> Block:
    """Return the block of complex values whose parts are an axis behind the limbs."""
    return planes.namespace(sums).ascontiguousarray(sums.swapaxes(0, 1))


@cache
def _coefficients(width: int, rows: int, limbs: int) -> np.ndarray:
    """Return reciprocals of factorials, rounded once, as a block ``(limbs, rows, width + 1)``."""
    found = np.zeros((limbs, rows, width + 1))
    for j in range(rows):
        for i in range(width + (j == rows - 1)):
            found[:, j, i] = scalar_to_limbs(Fraction(1, math.factorial(j * width + i)), limbs)[0]
    return found
