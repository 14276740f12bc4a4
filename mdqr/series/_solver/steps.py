"""Steps along paths in float64: approximants that predict, and distances of other paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._precision import PRECISIONS
from mdqr.series._systems.system import System

# Singular values of Toeplitz matrices below this part of the largest are rounding errors.
_LEAST = 1e-12


class Predictor(NamedTuple):
    """Pade approximants ``(..., n)``: numerators ``(..., n, L + 1)``, denominators, and errors."""

    numerator: np.ndarray
    denominator: np.ndarray
    missed: np.ndarray

    @classmethod
    def of(cls, c: np.ndarray, L: int, M: int) -> Predictor:
        """Return the approximants ``[L/M]`` of series ``(..., n, d)``, d > L + M + 1.

        Where denominators are not unique that of the least norm is taken.
        """
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
        """Return the moduli of the nearest poles, ``(...)``."""
        *batch, size = self.denominator.shape
        if size == 1:
            return np.full(batch[:-1], np.inf)
        # The eigenvalues are the reciprocals of the poles.
        companion = np.zeros_like(self.denominator, shape=(*batch, size - 1, size - 1))
        companion[..., 0, :] = -self.denominator[..., 1:]
        companion[..., np.arange(1, size - 1), np.arange(size - 2)] = 1.0
        largest = abs(np.linalg.eigvals(companion)).max(axis=(-2, -1))
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
        exponents, _ = system.float64(0.0)
        self._series = system.coefficients(PRECISIONS[0]).to_numpy()
        every = np.arange(len(exponents))
        given = _Terms(every, system.term_equations[:, None], np.ones(len(every)), exponents)
        self._first = _Terms.derived(given)
        self._second = _Terms.derived(self._first)

    def __call__(self, x: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the distances at points ``(paths, n)`` for values of the parameter."""
        coefficients = np.polynomial.polynomial.polyval(t, self._series.T).T
        jacobian, hessians = (terms.at(x, coefficients) for terms in (self._first, self._second))
        curvature = np.linalg.norm(np.linalg.norm(hessians, 2, axis=(-2, -1)), axis=-1)
        least = np.linalg.svd(jacobian, compute_uv=False).min(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(curvature > 0, 2 * least / curvature, np.inf)
