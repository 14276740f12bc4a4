"""From the starting points of a batch into basins of minima: Levenberg and Marquardt's method.

As for one problem (`_solver/descend.py`): residuals in dd, or float64 where the function takes
doubles, steps in float64 with the columns of the Jacobian scaled, damping by the ratio of gains,
linear parameters solved for. Each problem has its own damping and stops by itself; all are
evaluated in one call, and of functions that take some of the problems, those that go on.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr.optimize._batch.algebra import (
    EPS,
    FEWEST,
    Floats,
    chosen,
    damped_steps,
    leading,
    normal_steps,
    norms_of,
    put,
    sizes_of,
    taken,
)
from mdqr.optimize._batch.problems import Problems

# Gains that are predicted, relative to the sum, below which no step is tried.
_SMALL = {True: 2.0**-96, False: 2.0**-44}
_OF_PROBLEMS = (
    *("x", "r", "jacobian", "cost", "sizes", "steps", "stopped", "ready"),
    *("_damping", "_growth", "_norms"),
)


class Descent:
    """The points of the problems `rows`; `run` moves them on."""

    def __init__(
        self, problems: Problems, x: Any, rows: Any, linear: list[int], damping: float
    ) -> None:
        self._problems, self._xp, self.rows = problems, problems.module_of(x), rows
        self._linear = linear
        xp, (n, batch) = self._xp, x.shape
        self._weights = xp.asarray([0.0 if j in linear else 1.0 for j in range(n)])
        self._steps = damped_steps if isinstance(x, MDArray) else normal_steps
        self.sizes = sizes_of(xp, x)
        self._damping = xp.full(batch, damping)
        self._growth = xp.full(batch, 2.0)
        self._norms = xp.zeros((n, batch))
        self.steps = xp.zeros(batch, dtype=int)
        self.x, self.r, self.jacobian = self._reached(x)
        self.cost = (self.r * self.r).sum(axis=-1)
        finite = self._are_finite(self.r, self.jacobian)
        self.stopped = ~finite  # no step gains
        self.ready = finite & False  # for Newton's method

    def at_home(self) -> Descent:
        """Return a descent with arrays where the problems are."""
        xp = self._problems.xp
        if self._xp is xp:
            return self
        there = copy(self)
        for name in _OF_PROBLEMS:
            setattr(there, name, xp.asarray(getattr(self, name)))
        return there

    def run(self, threshold: float, most: int) -> None:
        """Move each problem on until a step gains less than `threshold` of its sum, or none."""
        self.ready = self.stopped & False
        self._move(threshold, most)

    def _move(self, threshold: float, most: int) -> None:
        divides = self._problems.separable
        for k in range(most):
            active = ~(self.stopped | self.ready)
            count, total = int(active.sum()), active.shape[0]
            if not count:
                return
            if divides and total > FEWEST and 2 * count <= total:
                (index,) = self._xp.nonzero(active)
                part = self._taken(index)
                part._move(threshold, most - k)
                self._put(index, part)
                return
            self._problems.rows = self.rows
            self._step(active, threshold)

    def _taken(self, index: Floats) -> Descent:
        """Return a descent of some of the problems."""
        part = copy(self)
        part.rows = index if self.rows is None else self.rows[index]
        for name in _OF_PROBLEMS:
            setattr(part, name, taken(name, getattr(self, name), index))
        return part

    def _put(self, index: Floats, part: Descent) -> None:
        """Put problems back."""
        for name in _OF_PROBLEMS:
            put(name, getattr(self, name), index, getattr(part, name))

    def _step(self, active: Floats, threshold: float) -> None:
        xp = self._xp
        self._norms = xp.maximum(self._norms, norms_of(xp, self.jacobian))
        near = leading(self.r)
        step = self._steps(
            xp, self.jacobian / self._norms[..., None], near, self._damping, self._weights
        )
        step = xp.where(xp.isfinite(step) & active, step / self._norms, 0.0)
        change = (self.jacobian * step[..., None]).sum(axis=0)
        total = (near * near).sum(axis=-1)
        total = xp.where(total > 0, total, 1.0)
        predicted = -(change * (change + 2.0 * near)).sum(axis=-1) / total
        x, r, jacobian = self._reached(self.x + step)
        cost = (r * r).sum(axis=-1)
        gain = leading(self.cost - cost) / total
        ratio = gain / xp.where(predicted > 0, predicted, 1.0)
        good = self._are_finite(r, jacobian) & (gain > 0) & (predicted > 0) & (ratio > 1e-4)
        good = good & active
        self.steps = self.steps + active
        self.x, self.cost = chosen(xp, good, x, self.x), chosen(xp, good, cost, self.cost)
        self.r = chosen(xp, good[:, None], r, self.r)
        self.jacobian = xp.where(good[:, None], jacobian, self.jacobian)
        self.sizes = xp.where(good, sizes_of(xp, self.x, self.sizes), self.sizes)
        self._adapt(good, active, ratio)
        self.ready = self.ready | (good & (gain < threshold))
        hopeless = (predicted <= _SMALL[isinstance(r, MDArray)]) | (self._damping > 1e40)
        self.stopped = self.stopped | (active & ~good & hopeless)

    def _adapt(self, good: Floats, active: Floats, ratio: Floats) -> None:
        """Change the damping by the ratio of gains (H. B. Nielsen 1999)."""
        xp = self._xp
        safe = xp.where(good, xp.minimum(ratio, 1.5), 1.0)
        less = xp.where(safe < 1.0, xp.maximum(0.1, 1.0 - (2.0 * safe - 1.0) ** 3), 0.1)
        changed = xp.where(
            good, xp.maximum(self._damping * less, 1e-30), self._damping * self._growth
        )
        self._damping = xp.where(active, changed, self._damping)
        grown = xp.where(good, 2.0, self._growth * 2.0)
        self._growth = xp.where(active, grown, self._growth)

    def _reached(self, x: Any) -> tuple[Any, Any, Floats]:
        """Return points with linear parameters solved for, residuals, and Jacobians in float64."""
        x, r, jacobian = x, *self._evaluated(x)
        if not self._linear:
            return x, r, jacobian
        xp, some = self._xp, jacobian[self._linear]
        norms = norms_of(xp, some)
        ones = xp.ones(len(self._linear))
        change = self._steps(xp, some / norms[..., None], leading(r), xp.zeros(x.shape[1]), ones)
        change = change / norms
        solved = x.copy()
        solved[self._linear] = x[self._linear] + xp.where(xp.isfinite(change), change, 0.0)
        return solved, *self._evaluated(solved)

    def _evaluated(self, x: Any) -> tuple[Any, Floats]:
        problems = self._problems
        unit = max(problems.unit, x.precision.eps) if isinstance(x, MDArray) else EPS
        found = problems.derivatives(x, self.sizes * 2.0 ** round(0.5 * float(np.log2(unit))))
        problems.nfev += 1
        return found.r, leading(found.jacobian)

    def _are_finite(self, r: Any, jacobian: Floats) -> Floats:
        xp = self._xp
        return xp.isfinite(leading(r)).all(axis=-1) & xp.isfinite(jacobian).all(axis=(0, 2))
