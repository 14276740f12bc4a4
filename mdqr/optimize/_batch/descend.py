"""From the starting points of a batch into basins of minima: Levenberg and Marquardt's method.

As for one problem (`_solver/descend.py`): residuals in dd, steps in float64 with the columns of the
Jacobian scaled, damping by the ratio of gains, linear parameters solved for. Each problem has its
own damping and stops by itself; all are evaluated in one call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr.optimize._batch.algebra import Floats, chosen, damped_steps, norms_of, sizes_of
from mdqr.optimize._batch.problems import Problems

_SMALL = 2.0**-96  # gains that are predicted, relative to the sum, below which no step is tried


class Descent:
    """The points of the problems `rows`; `run` moves them on."""

    def __init__(
        self, problems: Problems, x: MDArray, rows: Any, linear: list[int], damping: float
    ) -> None:
        self._problems, self._xp, self.rows = problems, problems.xp, rows
        self._linear = linear
        xp, (n, batch) = self._xp, x.shape
        self._weights = [0.0 if j in linear else 1.0 for j in range(n)]
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

    def run(self, threshold: float, most: int) -> None:
        """Move each problem on until a step gains less than `threshold` of its sum, or none."""
        self.ready = self.stopped & False
        for _ in range(most):
            active = ~(self.stopped | self.ready)
            if not bool(active.any()):
                return
            self._problems.rows = self.rows
            self._step(active, threshold)

    def _step(self, active: Floats, threshold: float) -> None:
        xp = self._xp
        self._norms = xp.maximum(self._norms, norms_of(xp, self.jacobian))
        near = self.r.limbs[0]
        step = damped_steps(
            xp, self.jacobian / self._norms[..., None], near, self._damping, self._weights
        )
        step = xp.where(xp.isfinite(step) & active, step / self._norms, 0.0)
        change = (self.jacobian * step[..., None]).sum(axis=0)
        total = (near * near).sum(axis=-1)
        total = xp.where(total > 0, total, 1.0)
        predicted = -(change * (change + 2.0 * near)).sum(axis=-1) / total
        x, r, jacobian = self._reached(self.x + step)
        cost = (r * r).sum(axis=-1)
        gain = (self.cost - cost).limbs[0] / total
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
        hopeless = (predicted <= _SMALL) | (self._damping > 1e40)
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

    def _reached(self, x: MDArray) -> tuple[MDArray, MDArray, Floats]:
        """Return points with linear parameters solved for, residuals, and Jacobians in float64."""
        x, r, jacobian = x, *self._evaluated(x)
        if not self._linear:
            return x, r, jacobian
        xp, some = self._xp, jacobian[self._linear]
        norms = norms_of(xp, some)
        ones = [1.0] * len(self._linear)
        change = damped_steps(xp, some / norms[..., None], r.limbs[0], xp.zeros(x.shape[1]), ones)
        change = change / norms
        solved = x.copy()
        for place, j in enumerate(self._linear):
            solved[j] = x[j] + xp.where(xp.isfinite(change[place]), change[place], 0.0)
        return solved, *self._evaluated(solved)

    def _evaluated(self, x: MDArray) -> tuple[MDArray, Floats]:
        problems = self._problems
        unit = max(problems.unit, x.precision.eps)
        found = problems.derivatives(x, self.sizes * 2.0 ** round(0.5 * float(np.log2(unit))))
        problems.nfev += 1
        return found.r, found.jacobian.limbs[0]

    def _are_finite(self, r: MDArray, jacobian: Floats) -> Floats:
        xp = self._xp
        return xp.isfinite(r.limbs[0]).all(axis=-1) & xp.isfinite(jacobian).all(axis=(0, 2))
