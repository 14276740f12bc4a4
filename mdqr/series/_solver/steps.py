"""Steps along paths in float64: approximants that predict, and distances of other paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mdqr._precision import PRECISIONS
from mdqr.series._systems.system import System

# Singular values of Toeplitz matrices below this part of the largest are rounding errors.
_LEAST = 1e-12
# Rounding errors of a coefficient, in eps of larger ones.
_NOISE = 32.0
# Derivatives of so many paths are formed together that they have about so many entries.
_ENTRIES = 2**20


class Predictor(NamedTuple):
    """Pade approximants ``(..., n)``: numerators ``(..., n, L + 1)``, denominators, and errors."""

    numerator: np.ndarray
    denominator: np.ndarray
    missed: np.ndarray

    @classmethod
    def of(cls, c: np.ndarray, L: int, M: int, *, longest: float, eps: float) -> Predictor:
        """Return the approximants ``[L/M]`` of series ``(..., n, d)``, d > L + M + 1.

        Where denominators are not unique that of the least norm is taken. Terms that eps of those
        before hides, for values up to `longest`, count as zero: they may be rounding errors alone,
        of which approximants would make poles.
        """
        size = abs(c) * longest ** np.arange(c.shape[-1])
        c = np.where(size > _NOISE * eps * np.maximum.accumulate(size, axis=-1), c, 0.0)
        orders = L + np.arange(1, M + 1)[:, None] - np.arange(1, M + 1)
        a = c[..., np.maximum(orders, 0)] * (orders >= 0)
        inverse = np.linalg.pinv(a, rcond=_LEAST) if M else a
        q = -(inverse @ c[..., L + 1 : L + M + 1, None])[..., 0]
        q = np.concatenate([np.ones_like(q, shape=(*q.shape[:-1], 1)), q], axis=-1)
        product = np.zeros_like(c[..., : L + M + 2])
        for j in range(M + 1):
            product[..., j:] += q[..., j, None] * c[..., : L + M + 2 - j]
        return cls(product[..., : L + 1], q, product[..., L + M + 1])

    def one(self, i: int) -> Predictor:
        """Return those of one path."""
        return Predictor(*(part[i] for part in self))

    def __call__(self, t: float) -> np.ndarray:
        """Return their values; not finite at a pole."""
        with np.errstate(divide="ignore", invalid="ignore"):
            p, q = (
                np.polynomial.polynomial.polyval(t, np.moveaxis(part, -1, 0)) for part in self[:2]
            )
            return np.asarray(p / q)

    def radius(self) -> np.ndarray:
        """Return the moduli of the nearest poles, ``(...)``; NaN where numbers are not finite."""
        *batch, size = self.denominator.shape
        if size == 1:
            return np.full(batch[:-1], np.inf)
        # The eigenvalues are the reciprocals of the poles.
        companion = np.zeros_like(self.denominator, shape=(*batch, size - 1, size - 1))
        companion[..., 0, :] = -self.denominator[..., 1:]
        companion[..., np.arange(1, size - 1), np.arange(size - 2)] = 1.0
        largest = _finite(lambda some: abs(np.linalg.eigvals(some)).max(axis=(-2, -1)), companion)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / largest)

    def error(self) -> np.ndarray:
        """Return the norms of the first coefficients that approximants miss, ``(...)``."""
        return np.asarray(np.linalg.norm(self.missed, axis=-1))


class _Terms(NamedTuple):
    """Derivatives of terms: which term, to which entry, which factor and exponents."""

    term: np.ndarray
    entry: np.ndarray  # (many, axes)
    factor: np.ndarray
    powers: np.ndarray

    @classmethod
    def derived(cls, before: _Terms) -> _Terms:
        """Return the derivatives of terms along all variables."""
        row, variable = np.nonzero(before.powers)
        powers = before.powers[row]
        factor = before.factor[row] * powers[np.arange(len(row)), variable]
        powers = powers - np.eye(powers.shape[1], dtype=int)[variable]
        entry = np.column_stack([before.entry[row], variable])
        return cls(before.term[row], entry, factor, powers)

    def at(self, x: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return arrays ``(paths, n, ...)`` of the sums of the terms at points ``(paths, n)``."""
        n = x.shape[1]
        found = np.zeros((len(x), *(n,) * self.entry.shape[1]), dtype=complex)
        values = coefficients[:, self.term] * self.factor * (x[:, None] ** self.powers).prod(-1)
        np.add.at(found, (slice(None), *self.entry.T), values)
        return found


class Distances:
    """Estimates of the distance of the nearest other solution, in float64.

    ``2 sigma_min(J) / norm(sigma_max(H_1), ..., sigma_max(H_n))``, H_i the second derivatives.
    """

    def __init__(self, system: System) -> None:
        exponents = system._exponents
        self._series = system._rounded(PRECISIONS[0]).to_numpy()
        every = np.arange(len(exponents))
        given = _Terms(every, system._equation[:, None], np.ones(len(every)), exponents)
        self._first = _Terms.derived(given)
        self._second = _Terms.derived(self._first)

    def __call__(self, x: np.ndarray, t: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Return the distances at points ``(paths, n)``, scaled, for values of the parameter.

        The terms are those that were given times ``2**powers``, ``(paths, terms)``.
        They are NaN where derivatives are not finite.
        """
        n = x.shape[1]
        many = max(1, _ENTRIES // max(n**3, n * len(self._second.term)))
        parts = [slice(first, first + many) for first in range(0, len(x), many)]
        return np.concatenate([self._some(x[part], t[part], powers[part]) for part in parts])

    def _some(self, x: np.ndarray, t: np.ndarray, powers: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            coefficients = _polynomials(t, self._series) * 2.0**powers
            jacobian, hessians = (
                terms.at(x, coefficients) for terms in (self._first, self._second)
            )
            curvature = np.linalg.norm(_finite(_norms, hessians), axis=-1)
            least = _finite(_least, jacobian)
            found = np.where(curvature > 0, 2 * least / curvature, np.inf)
        return np.where(np.isnan(curvature + least), np.nan, found)


def _polynomials(t: np.ndarray, series: np.ndarray) -> np.ndarray:
    """Return the values ``(paths, terms)`` of polynomials in the parameter."""
    return np.asarray(np.polynomial.polynomial.polyval(t, series.T).T)


def _norms(matrices: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(matrices, 2, axis=(-2, -1)))


def _least(matrices: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.svd(matrices, compute_uv=False).min(axis=-1))


def _finite(function: Callable[[np.ndarray], np.ndarray], given: np.ndarray) -> np.ndarray:
    """Return a function of the paths that are finite, NaN for others: LAPACK would stop at one."""
    right = np.isfinite(given).all(axis=tuple(range(1, given.ndim)))
    if right.all():
        return function(given)
    some = function(given[right]) if right.any() else function(np.zeros_like(given[:1]))
    found = np.full((len(given), *some.shape[1:]), np.nan)
    if right.any():
        found[right] = some
    return found
