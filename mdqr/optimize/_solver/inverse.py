"""The inverse of a Hessian, and steps with it at many points.

C. G. Broyden's update corrects steps by the gradients there, in the form that keeps the steps alone
(C. T. Kelley 1995, 7.3): with the inverse B and steps s, ``z = -B g``, then for each earlier step
``z += s[j+1] (w[j] z) / (w[j] s[j])``. The last of these terms has the new step itself. Weights w
are the gradients, so that directions are orthogonal with respect to the Hessian.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning
from mdqr._limbs.scaling import powers_of_two
from mdqr.linalg import LinAlgError, cholesky, inv
from mdqr.optimize._model.points import leading, times_powers

_MOST = 12
_LARGEST = 0.25  # factor of a correction
_WELL = 2.0**26  # size of an inverse that float64 has with half of its digits


class Inverse(NamedTuple):
    """The inverse of a Hessian whose rows and columns are scaled by powers of two.

    `change` is by how much that changes, at the most, over the change of x in its sizes; `second`
    and `turned` are of the derivatives there: see `Curvature`.
    """

    values: MDArray
    near: np.ndarray
    scale: np.ndarray
    second: np.ndarray
    turned: np.ndarray
    change: float

    def times(self, gradient: MDArray) -> MDArray:
        """Return the inverse times a gradient."""
        scaled = times_powers(gradient, self.scale)
        return times_powers(self.values.astype(gradient.precision) @ scaled, self.scale)

    def ratios(self, other: Inverse) -> np.ndarray:
        """Return the diagonal over the diagonal of another inverse."""
        near = self.near.diagonal() / other.near.diagonal()
        return np.asarray(near * (self.scale / other.scale) ** 2)

    def moduli_times(self, gradient: np.ndarray) -> np.ndarray:
        """Return the moduli of the inverse times a float64 vector."""
        return np.asarray((np.abs(self.near) @ (gradient * self.scale)) * self.scale)


class Secant:
    """Steps since the Hessian was made."""

    def __init__(self) -> None:
        self._steps: list[MDArray] = []
        self._weights: list[np.ndarray] = []

    def corrected(self, z: MDArray, gradient: MDArray) -> MDArray:
        """Return the step instead of ``z = -B g``, and remember it."""
        precision = z.precision
        for j, following in enumerate([*self._steps[1:], None]):
            factor = self._factor(j, z) if self._steps else 0.0
            if abs(factor) > _LARGEST or not np.isfinite(factor):
                self._steps, self._weights = [], []
                break
            if following is not None:
                z = z + following.astype(precision) * factor
            elif factor:
                z = z * (1.0 / (1.0 - factor))
        if len(self._steps) < _MOST:
            w = leading(gradient)
            self._steps.append(z)
            self._weights.append(w / (np.max(np.abs(w), initial=0.0) or 1.0))
        return z

    def _factor(self, j: int, z: MDArray) -> float:
        w = self._weights[j]
        length = float(w @ leading(self._steps[j]))
        return float(w @ leading(z)) / length if length else np.inf


def inverted(h: MDArray, *, rough: bool) -> MDArray | None:
    """Return the inverse of a matrix with a diagonal near one, None if it is not definite.

    That of float64 will do for a rough one. A step of G. Schulz's iteration squares its error.
    """
    n, near = h.shape[0], leading(h)
    near = (near + near.T) * 0.5
    try:
        np.linalg.cholesky(near)
        found = np.linalg.inv(near)
        size = n * n * np.max(np.abs(found), initial=1.0)
        if rough and size < _WELL**0.5:
            return mdqr.array(found, precision=mdqr.d)
        if size < _WELL:
            return _improved(h, found)
    except np.linalg.LinAlgError:
        pass
    h = (h + h.T) * 0.5
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            cholesky(h)
            return inv(h)
    except LinAlgError:
        return None


def _improved(h: MDArray, rough: np.ndarray) -> MDArray:
    first = mdqr.array(rough, precision=mdqr.d)
    return first + first @ (np.eye(len(rough)) - h @ first)


def with_unit_diagonal(h: MDArray) -> tuple[MDArray | None, np.ndarray]:
    """Return a matrix with a diagonal near 1, and the powers of two that did it."""
    index = np.arange(h.shape[0])
    diagonal = leading(h[index, index])
    if not np.all(diagonal > 0) or not np.isfinite(diagonal).all():
        return None, diagonal
    scale = powers_of_two(-0.5 * np.log2(diagonal))
    return times_powers(times_powers(h, scale[:, None]), scale), scale
