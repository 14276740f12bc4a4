"""Polynomials of matrices by the scheme of Paterson and Stockmeyer, and bounds of their errors."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._convert.arrays import scalar_to_limbs
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._matrix.given import Keep, first_limbs, frobenius
from mdqr.linalg._matrix.series.followed import (
    LEAST,
    Followed,
    product_errors,
    residual_of_sums,
    sum_errors,
)
from mdqr.linalg._matrix.series.plan import spectral_bound
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._spectral.disks import SLACK

# Bounds of 2-norms and Frobenius norms of matrices.
Norms = tuple[np.ndarray, np.ndarray]


class Polynomial:
    """A polynomial of degree ``width * rows`` of matrices ``(batch, n, n)``.

    Parameters
    ----------
    backend : Backend
        Where they live.
    base : MDArray
        The matrices.
    coefficient : callable
        Returns the coefficient of a power as a fraction.
    width, rows : int
        Powers up to `width` are computed, and as many sums of them as `rows`.
    keep : {"", "norms", "errors"}
        The factors that are kept: none, or those for `error` or for `errors`.
    """

    def __init__(
        self,
        backend: Backend,
        base: MDArray,
        coefficient: Callable[[int], Fraction],
        width: int,
        rows: int,
        *,
        keep: Keep,
    ) -> None:
        self._backend = backend
        self._coefficient, self._width, self._rows = coefficient, width, rows
        kind = Kind(base.precision.limbs, base.is_complex)
        powers = [base._like(kind.identity(backend.xp, base.shape)), base]
        for k in range(2, width + 1):
            powers.append(matmul(powers[k // 2], powers[k - k // 2]))
        self._powers = powers if keep else []
        self._sums: list[tuple[MDArray, MDArray, MDArray]] = []
        blocks = _combined(backend, powers, coefficient, width, rows)
        self._blocks = blocks if keep == "errors" else []
        value = blocks[-1]
        for block in blocks[-2::-1]:
            product = matmul(value, powers[width])
            following = base._like(backend.binary("add", product._block, block._block, kind=kind))
            if keep:
                self._sums.append((value, product, following))
            value = following
        self.value = value

    def error(self) -> np.ndarray:
        """Return bounds of the rounding errors in the Frobenius norm.

        The polynomial of moduli bounds what the sums of powers and the rounding of the coefficients
        add to the errors of products; a sum has an error of ``2 eps`` of its norm.
        """
        width, rows, eps = self._width, self._rows, self.value.precision.eps
        n, none = self.value.shape[-1], np.zeros(len(self.value))
        terms = [(spectral_bound(m), frobenius(m)) for m in map(first_limbs, self._powers)]
        least = n * n * LEAST
        errors: list[np.ndarray] = [none, none + least]
        for k in range(2, width + 1):
            i, j = k // 2, k - k // 2
            errors.append(product_error(n, eps, terms[i], errors[i], terms[j], errors[j]))
        sums: list[np.ndarray] = []
        for j in range(rows):
            last = width if j == rows - 1 else width - 1
            added = none + least
            for i in range(last + 1):
                unit = (width + 12) * eps * terms[i][1]
                added = added + abs(float(self._coefficient(j * width + i))) * (errors[i] + unit)
            sums.append(added)
        error = sums[-1]
        for (value, product, following), added in zip(self._sums, sums[-2::-1], strict=True):
            error = (
                product_error(n, eps, norms(value), error, terms[width], errors[width])
                + added
                + 2 * eps * (frobenius(first_limbs(product)) + frobenius(first_limbs(following)))
            )
        return error

    def errors(self) -> Followed:
        """Return the rounding errors."""
        backend, width = self._backend, self._width
        powers, none, n = self._powers, Followed.none(self.value.shape), self.value.shape[-1]
        # Limbs of the scaled base may underflow.
        following = [none, none._replace(rest=none.rest + n * n * LEAST)]
        for k in range(2, width + 1):
            one, other = ((powers[j], following[j]) for j in (k // 2, k - k // 2))
            following.append(product_errors(backend, one, other, powers[k]))
        blocks = list(zip(self._blocks, self._errors_of_sums(following), strict=True))
        value, error = blocks[-1]
        for given, (_, _, result) in zip(blocks[-2::-1], self._sums, strict=True):
            last = powers[width], following[width]
            error = product_errors(backend, (value, error), last, result, [given])
            value = result
        return error

    def _errors_of_sums(self, of_powers: list[Followed]) -> list[Followed]:
        """Return the errors of the sums of powers, one for each row of the scheme."""
        x, width, rows = self.value, self._width, self._rows
        limbs = x.precision.limbs
        flat = _flat(self._powers, width)
        factors = _coefficients(self._coefficient, width, rows, limbs)
        found = planes.namespace(flat).concatenate([_flat([s], 0) for s in self._blocks], axis=1)
        lost = residual_of_sums(self._backend, planes.namespace(flat).asarray(factors), flat, found)
        less = _rounding(self._coefficient, width, rows, limbs)
        powers = [(first_limbs(p), e) for p, e in zip(self._powers, of_powers, strict=True)]
        return [
            sum_errors(
                first_limbs(_unflat(x, lost[:, j])), factors[0, j], less[j], powers, x.precision.eps
            )
            for j in range(rows)
        ]


def norms(x: MDArray) -> Norms:
    """Return bounds of the 2-norms and Frobenius norms."""
    native = first_limbs(x)
    size = frobenius(native)
    return spectral_bound(native) + 2.0**-50 * size, size


def product_error(
    n: int, eps: float, x: Norms, of_x: np.ndarray, y: Norms, of_y: np.ndarray
) -> np.ndarray:
    """Return bounds of the errors of computed products, in the Frobenius norm.

    For computed X and Y with errors of norm e and f these are at most ``norm(X) f + e norm(Y) + e f
    + (n + 8) eps norm(X, F) norm(Y, F)``, norms without F being 2-norms.
    """
    rounding = (n + 8) * eps * x[1] * y[1] + n**2 * LEAST
    return np.asarray(SLACK * (x[0] * of_y + of_x * y[0] + of_x * of_y + rounding))


def _combined(
    backend: Backend,
    powers: list[MDArray],
    coefficient: Callable[[int], Fraction],
    width: int,
    rows: int,
) -> list[MDArray]:
    """Return the sums of `width` powers with their coefficients, one for each row of the scheme.

    All are one product of a matrix of coefficients and the powers as rows; the last sum has the
    power `width`, too.
    """
    x = powers[0]
    limbs, xp = x.precision.limbs, planes.namespace(x._block)
    factors = xp.asarray(_coefficients(coefficient, width, rows, limbs))
    # Not through residues, which take longer for so few rows.
    found = backend.matmul(factors, _flat(powers, width), kind=Kind(limbs, False))
    return [_unflat(x, found[:, j]) for j in range(rows)]


def _flat(powers: list[MDArray], last: int) -> Block:
    """Return matrices as rows of one real block; their parts follow each other."""
    x, limbs = powers[0], powers[0].precision.limbs
    xp = planes.namespace(x._block)
    block = xp.empty((limbs, last + 1, 1 + x.is_complex, *x.shape))
    for k, power in enumerate(powers[: last + 1]):
        block[:, k] = power._block.swapaxes(0, 1) if x.is_complex else power._block[:, None]
    return block.reshape(limbs, last + 1, -1)


def _unflat(x: MDArray, row: Block) -> MDArray:
    """Return a row of `_flat` as matrices like x."""
    parts = row.reshape(len(row), 1 + x.is_complex, *x.shape)
    if not x.is_complex:
        return x._like(parts[:, 0])
    return x._like(planes.namespace(row).ascontiguousarray(parts.swapaxes(0, 1)))


@cache
def _coefficients(
    coefficient: Callable[[int], Fraction], width: int, rows: int, limbs: int
) -> np.ndarray:
    """Return the coefficients, rounded once, as a block ``(limbs, rows, width + 1)``."""
    found = np.zeros((limbs, rows, width + 1))
    for j in range(rows):
        for i in range(width + (j == rows - 1)):
            found[:, j, i] = scalar_to_limbs(coefficient(j * width + i), limbs)[0]
    return found


@cache
def _rounding(
    coefficient: Callable[[int], Fraction], width: int, rows: int, limbs: int
) -> np.ndarray:
    """Return coefficients less their rounded values, float64 ``(rows, width + 1)``."""
    rounded, found = _coefficients(coefficient, width, rows, limbs), np.zeros((rows, width + 1))
    for j in range(rows):
        for i in range(width + (j == rows - 1)):
            known = sum(map(Fraction, rounded[:, j, i].tolist()), Fraction(0))
            found[j, i] = float(coefficient(j * width + i) - known)
    return found
