"""Exponentials by Taylor polynomials and squarings, with what is needed to bound their errors."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._precision import PRECISIONS
from mdqr.linalg._matrix.given import Keep, first_limbs, frobenius
from mdqr.linalg._matrix.series.followed import Followed, product_errors
from mdqr.linalg._matrix.series.plan import Plan, plan, spectral_bound, truncation
from mdqr.linalg._matrix.series.polynomial import Polynomial, norms, product_error
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.operands import taken
from mdqr.linalg._spectral.disks import SLACK


class Exponential:
    """The exponentials of matrices ``(batch, n, n)``, real or complex, of two limbs or more.

    Parameters
    ----------
    a : MDArray
        The matrices, finite.
    backend : Backend
        Where they live.
    keep : {"", "norms", "errors"}
        True to keep factors for `error`, which follows rounding errors with "errors".
    """

    def __init__(self, a: MDArray, backend: Backend, *, keep: Keep) -> None:
        self._a, self._backend, self._keep, self._n = a, backend, keep, a.shape[-1]
        self._eps = a.precision.eps
        radius = self._radius(first_limbs(a))
        # Errors that are followed are smaller than bounds: so should the omitted terms be.
        more = 12 if a.precision is PRECISIONS[-1] else 2
        self.plan: Plan = plan(radius, a.precision.bits + more)
        self._truncation = truncation(radius - self.plan.squarings, self.plan.degree)
        self._squared: list[tuple[np.ndarray, MDArray, MDArray]] = []
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
        powers = self._backend.xp.asarray(-squarings)[:, None, None]
        base = a._like(self._backend.ldexp(a._block, powers, is_complex=a.is_complex))
        self._taylor = Polynomial(
            self._backend, base, inverse_factorial, width, rows, keep=self._keep
        )
        return self._taylor.value

    def _squarings(self, value: MDArray) -> MDArray:
        """Square each matrix as often as it was halved."""
        counts, lead = self.plan.squarings, planes.lead(value.is_complex)
        for k in range(int(counts.max(initial=0))):
            (places,) = np.nonzero(counts > k)
            is_whole = len(places) == len(counts)
            part = value if is_whole else value._like(taken(value._block, lead, (places,)))
            squared = matmul(part, part)
            if self._keep:
                self._squared.append((places, part, squared))
            if is_whole:
                value = squared
                continue
            value = value.copy()
            index = planes.namespace(value._block).asarray(places)
            value._block[(*(slice(None),) * lead, index)] = squared._block
        return value

    @np.errstate(all="ignore")
    def error(self) -> np.ndarray:
        """Return bounds of the errors, in the Frobenius norm or of entries."""
        if self._keep == "errors":
            return self._followed()
        n, eps = self._n, self._eps
        error = self._taylor.error() + math.sqrt(n) * self._truncation
        for places, part, _ in self._squared:
            sizes, known = norms(part), error[places]
            error = error.copy()
            error[places] = product_error(n, eps, sizes, known, sizes, known)
        return np.where(np.isfinite(error), SLACK * error, np.inf)

    def _followed(self) -> np.ndarray:
        """Return bounds of the errors of entries, by errors that are followed."""
        error = self._taylor.errors()
        error = error._replace(rest=error.rest + math.sqrt(self._n) * self._truncation)
        for places, part, squared in self._squared:
            known = Followed(*(x[places] for x in error))
            found = product_errors(self._backend, (part, known), (part, known), squared)
            error = error.replaced(places, found)
        entries = error.entries()
        return np.where(np.isfinite(entries), entries, np.inf)


@cache
def inverse_factorial(k: int) -> Fraction:
    """Return the coefficient of a power in the series of exp."""
    return Fraction(1, math.factorial(k))


@np.errstate(all="ignore")
def growth(a: np.ndarray, *, both: bool = False) -> np.ndarray:
    """Return m with ``norm(expm(t a)) <= exp(t m)`` for all t from 0 to 1, also of -a if `both`.

    The largest eigenvalue of the Hermitian part.
    """
    size = frobenius(a)
    finite = np.isfinite(size)
    hermitian = np.where(finite[:, None, None], (a + a.swapaxes(-1, -2).conj()) / 2, 0)
    n = a.shape[-1]
    values = np.linalg.eigvalsh(hermitian) if n else np.zeros((len(a), 1))
    largest = (abs(values) if both else values).max(axis=-1)
    return np.where(finite, largest + n * 2.0**-44 * size, np.inf)


def added(errors: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return bounds of norms or of entries, with bounds of norms ``(batch,)`` added."""
    return np.asarray(errors + (norms if errors.ndim == 1 else norms[:, None, None]))


@np.errstate(all="ignore")
def moved(a: np.ndarray, d: np.ndarray, *, both: bool = False) -> np.ndarray:
    """Return ``d exp(m + d)``, bounds of ``norm(f(a + e) - f(a))`` for all e of norm d.

    f is exp; if `both`, cosh and sinh. For cos and sin give ``1j a``.
    """
    found = d * np.exp(growth(a, both=both) + d)
    return np.where(d == 0, 0.0, np.where(np.isnan(found), np.inf, SLACK**2 * found))
