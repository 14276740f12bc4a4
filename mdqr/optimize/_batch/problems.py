"""The problems of a batch, their residuals and differences."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._precision import Precision
from mdqr.optimize._batch.algebra import Floats
from mdqr.optimize._model.noise import EXPECTED, GOLDEN, ORDER


class Derivatives(NamedTuple):
    """Residuals ``(B, m)`` and their derivatives ``(n, B, m)`` at a point of each problem."""

    r: MDArray
    jacobian: MDArray


class Noise(NamedTuple):
    """Rounding errors of each residual, ``(B, m)``, and relative to the values, ``(B,)``."""

    absolute: Floats
    unit: Floats


class Problems:
    """Residuals of a batch as a function of parameters ``(n, B)``.

    Parameters
    ----------
    name : str
        The public function, for messages.
    values : callable
        Called as ``values(parameters, rows, precision)`` with parameters ``(n, k, B, 1)`` of k
        points a problem; returns the values of the caller's function, ``(k, B, m)``.
    residuals : callable
        Called as ``residuals(values, rows, precision)``; returns residuals of that shape.
    separable : bool
        If values of some of the problems, `rows`, can be computed alone.
    like : MDArray
        An array that lives where the problems do.
    """

    def __init__(
        self,
        name: str,
        values: Callable[[MDArray, Any, Precision], Any],
        residuals: Callable[[MDArray, Any, Precision], MDArray],
        *,
        separable: bool,
        like: MDArray,
        precision: Precision,
    ) -> None:
        self.name, self._values, self._residuals = name, values, residuals
        self.separable, self.precision = separable, precision
        self.xp: ModuleType = for_block(like.limbs).xp
        self.rows: Any = None  # the problems that are worked on, None for all
        self.scale: Any = None  # powers of two ``(B,)``, None for ones
        self.unit = 0.0  # rounding errors in dd, relative to the values; 0 for few units of eps
        self.nfev = 0
        self.is_complex = False

    def at(self, points: MDArray) -> MDArray:
        """Return the residuals ``(k, B, m)`` at points ``(n, k, B)``."""
        precision = points.precision
        found = self._values(points[..., None], self.rows, precision)
        if not isinstance(found, MDArray):
            found = mdqr.array(found, precision=precision)
        if found.ndim != 3 or found.shape[:2] != points.shape[1:]:
            raise ValueError(
                f"{self.name}: of a batch, parameters have shape {points.shape[1:]} and an axis of "
                f"length 1, and the function must broadcast; it returned shape {found.shape}"
            )
        r = self._residuals(found.astype(precision), self.rows, precision)
        if r.is_complex:
            self.is_complex = True
            r = mdqr.concatenate([r.real, r.imag], axis=-1)
        if self.scale is not None:
            scale = self.scale if self.rows is None else self.scale[self.rows]
            r = r * scale[:, None]
        return r

    def moved(self, x: MDArray, moves: Floats) -> MDArray:
        """Return points ``(n, k, B)``: x moved by ``(n, k, B)``."""
        return x[:, None] + moves

    def derivatives(self, x: MDArray, steps: Floats) -> Derivatives:
        """Return residuals and Jacobians by forward differences over steps ``(n, B)``."""
        n, batch = x.shape
        moves = self.xp.zeros((n, n + 1, batch))
        for j in range(n):
            moves[j, j + 1] = steps[j]
        points = self.moved(x, moves)
        values = self.at(points)
        r = values[0]
        lengths = mdqr.stack([points[j, j + 1] for j in range(n)]) - x
        return Derivatives(r, (values[1:] - r) / lengths[..., None])

    def second(self, x: MDArray, r: MDArray, steps: Floats) -> tuple[MDArray, np.ndarray]:
        """Return second derivatives ``(pairs, B, m)`` of pairs ``j <= k``, and the pairs."""
        n, batch = x.shape
        first, other = np.triu_indices(n)
        moves = self.xp.zeros((n, n + first.size, batch))
        for j in range(n):
            moves[j, j] = steps[j]
        for place, (j, k) in enumerate(zip(first.tolist(), other.tolist(), strict=True), start=n):
            moves[j, place] += steps[j]
            moves[k, place] += steps[k]
        values = self.at(self.moved(x, moves)) - r
        single, double = values[:n], values[n:]
        found = mdqr.stack(
            [
                (double[p] - single[j] - single[k]) / (steps[j] * steps[k])[:, None]
                for p, (j, k) in enumerate(zip(first.tolist(), other.tolist(), strict=True))
            ]
        )
        return found, np.stack([first, other])

    def noise(self, x: MDArray, sizes: Floats) -> Noise:
        """Return the rounding errors of the function, by a table of differences.

        Those of a function of few digits are seen in dd.
        """
        x = x.astype(mdqr.dd) if self.unit else x
        xp, eps = self.xp, x.precision.eps
        n, h = x.shape[0], 2.0 ** -(x.precision.bits // ORDER + 20)
        lean = 1.0 + np.round(2.0**40 * (GOLDEN * (1.0 + np.arange(n)) % 1.0)) / 2.0**40
        count = xp.asarray(np.arange(ORDER + 1.0))
        moves = count[None, :, None] * (h * sizes * xp.asarray(lean)[:, None])[:, None]
        r = self.at(self.moved(x, moves))
        difference = r
        for _ in range(ORDER):
            difference = difference[1:] - difference[:-1]
        rough = xp.abs(difference.limbs[0][0])
        slope = xp.abs((r[ORDER] - r[0]).limbs[0]) / (ORDER * h)
        size = xp.abs(r.limbs[0]).max(axis=0) + slope
        largest = size.max(axis=-1)
        unit = xp.where(
            largest > 0, rough.max(axis=-1) / 16.0 / xp.where(largest > 0, largest, 1.0), 0.0
        )
        unit = xp.where(xp.isfinite(unit), xp.maximum(unit, eps), eps)
        floor = xp.where(unit > EXPECTED * eps, unit, eps)[:, None] * size
        return Noise(xp.maximum(rough / 4.0, 4.0 * floor), unit)
