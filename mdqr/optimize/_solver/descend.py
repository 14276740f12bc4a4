"""From a starting point into the basin of a minimum: Levenberg and Marquardt's method.

Residuals and Jacobians are evaluated in dd, or far from the minimum in float64 where the function
takes such arrays; steps are computed in float64 with the columns of the
Jacobian scaled to unit norm (J. J. More 1978), and sums compared in dd: a step that gains less
than 1e-16 of the sum would else look like none. Parameters at a bound whose gradient points
outwards are held there, and steps are projected on the box (C. Kanzow, N. Yamashita, M. Fukushima
2004). Parameters in which the model is linear are not damped, and solved for at each point that is
tried (variable projection, G. Golub and V. Pereyra 1973; L. Kaufman 1975).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.optimize._model.points import leading, norms_of, sizes_of
from mdqr.optimize._solver.problem import Point, Problem

_FIRST_ATTEMPT = 1e-2  # gain of the sum, relative to it, at which Newton's method is tried
_FIRST_IN_DOUBLES = 1e-12
_LATER = 1e-3
_SMALL = 2.0**-48
_RANK = 1e-13
_LARGEST_DAMPING = 1e40
# Gains that are predicted, relative to the sum, at which no shorter step is tried.
_NO_GAIN, _NO_GAIN_IN_DOUBLES = 2.0**-100, 2.0**-44


class Rule(NamedTuple):
    """A rule of damping: H. B. Nielsen's by the ratio of gains, or fixed factors.

    The damping is multiplied by `less` after a step that gains, and by `more` after one that does
    not.
    """

    by_ratio: bool
    start: float = 1e-3
    less: float = 0.1
    more: float = 8.0


class Descent:
    """One run of the method; iterating gives the points at which Newton's method is worth a try.

    From a float64 array, all is evaluated in float64: steps that cost little, of which more are
    made before Newton's.
    """

    def __init__(
        self, problem: Problem, x: MDArray | np.ndarray, rule: Rule, linear: list[int], most: int
    ) -> None:
        self._problem, self._rule, self._linear, self._most = problem, rule, linear, most
        self._sizes = sizes_of(x)
        self._damping, self._growth = rule.start, 2.0
        self._norms = np.zeros(x.shape[0])
        self._start, self._rough = x, isinstance(x, np.ndarray)
        self.steps = 0
        self.point: Point | None = None

    def __iter__(self) -> Iterator[Point]:
        start = self._reached(self._start)
        if start is None:
            return
        point, threshold = start, _FIRST_IN_DOUBLES if self._rough else _FIRST_ATTEMPT
        self._keep(point)
        while self.steps < self._most:
            self.steps += 1
            system = _Linearised(self._problem, point, self._norms, self._linear)
            self._norms = system.norms
            found = self._step(system, point)
            if found is None:
                break
            new, gain = found
            point = self.point = new
            self._keep(point)
            if gain < threshold:
                yield self._in_dd(point)
                threshold = gain * _LATER
        self.point = self._in_dd(point)
        yield self.point

    def _keep(self, point: Point) -> None:
        if not self._rough:
            self._problem.keep(point)

    def _in_dd(self, point: Point) -> Point:
        """Return a point evaluated in dd."""
        if not self._rough:
            return point
        exact = point_at(self._problem, mdqr.array(point.x, precision=mdqr.dd), point.sizes)
        if np.isfinite(leading(exact.r)).all():
            self._problem.keep(exact)
        return exact

    def _step(self, system: _Linearised, point: Point) -> tuple[Point, float] | None:
        """Return the next point and the relative gain of the sum; None where no step gains."""
        problem, cost = self._problem, float(point.cost)
        while self._damping < _LARGEST_DAMPING:
            reach = point.x + system.step(self._damping)
            x = problem.box.clip(reach)
            moved = leading(x - point.x)
            if not np.any(np.abs(moved) > _SMALL * self._sizes * 2.0**-50):
                return None
            predicted = system.gain(moved)
            new = self._reached(x)
            gain = -1.0
            if new is not None:
                gain = float(point.cost - new.cost) / cost if cost else 0.0
            ratio = gain / predicted if predicted > 0 else -1.0
            if gain > 0 and (not self._rule.by_ratio or ratio > 1e-4) and new is not None:
                self._relax(ratio)
                self._sizes = sizes_of(new.x, self._sizes)
                return new, gain
            # A step that bounds cut off may predict no gain where a shorter one does.
            is_whole = not np.any(leading(x - reach) != 0)
            if is_whole and predicted <= (_NO_GAIN_IN_DOUBLES if self._rough else _NO_GAIN):
                return None
            self._tighten()
        return None

    def _relax(self, ratio: float) -> None:
        if self._rule.by_ratio:
            factor = max(self._rule.less, 1.0 - (2.0 * min(ratio, 1.5) - 1.0) ** 3)
            self._damping *= factor if ratio < 1.0 else self._rule.less
            self._growth = 2.0
        else:
            self._damping *= self._rule.less
        self._damping = max(self._damping, 1e-30)

    def _tighten(self) -> None:
        self._damping *= self._growth if self._rule.by_ratio else self._rule.more
        self._growth *= 2.0

    def _reached(self, x: Any) -> Point | None:
        """Return a point with its linear parameters solved for, or None if it is not finite."""
        problem = self._problem
        r, jacobian = self._evaluated(x, counted=True)
        if jacobian is not None and self._linear:
            solved = self._solved(x, r, jacobian)
            if solved is not None:
                x = solved
                r, jacobian = self._evaluated(x, counted=False)
        if jacobian is None:
            return None
        return Point(x, r, jacobian, problem.loss.cost(r, problem.function.scale), self._sizes)

    def _evaluated(self, x: Any, *, counted: bool) -> tuple[Any, np.ndarray | None]:
        """Return residuals and their Jacobian in float64, None where one is not finite."""
        problem = self._problem
        if counted:
            problem.count()
        if self._rough:
            near, jacobian = problem.derivatives.in_doubles(x, self._sizes)
            finite = np.isfinite(near).all() and np.isfinite(jacobian).all()
            return near, jacobian if finite else None
        unit = max(problem.unit, x.precision.eps)
        if problem.function.takes(x.shape[0] + 1):
            r, jacobian = problem.derivatives.near(x, None, self._sizes, unit)
        else:
            r = problem.function.at(x, x.precision)
            if not np.isfinite(r.limbs[0]).all():
                problem.undefined = True
                return r, None
            r, jacobian = problem.derivatives.near(x, r, self._sizes, unit)
        if not np.isfinite(r.limbs[0]).all():
            problem.undefined = True
            return r, None
        return r, jacobian if np.isfinite(jacobian).all() else None

    def _solved(self, x: Any, r: Any, jacobian: np.ndarray) -> Any:
        """Return the point with its linear parameters at their minimum."""
        a = jacobian[:, self._linear]
        norms = norms_of(a)
        change = np.linalg.lstsq(a / norms, -leading(r), rcond=_RANK)[0] / norms
        if not np.isfinite(change).all():
            return None
        x = x.copy()
        x[self._linear] = x[self._linear] + change
        return x


def point_at(problem: Problem, x: MDArray, sizes: np.ndarray) -> Point:
    """Return a point in dd that is not counted."""
    unit = max(problem.unit, x.precision.eps)
    r, jacobian = problem.derivatives.near(x, None, sizes, unit)
    return Point(x, r, jacobian, problem.loss.cost(r, problem.function.scale), sizes)


class _Linearised:
    """The least-squares problem of a step, in float64 and reduced by a QR factorisation."""

    def __init__(
        self, problem: Problem, point: Point, before: np.ndarray, linear: list[int]
    ) -> None:
        r, a = _with_loss(problem, point)
        norms = norms_of(a)
        self.norms = norms = np.maximum(norms, before)
        if problem.x_scale is not None:
            norms = 1.0 / problem.x_scale
        self._free = _free(problem, point, a, r)
        self._scale = norms[self._free]
        columns = a[:, self._free] / self._scale
        reduced: np.ndarray = np.asarray(np.linalg.qr(np.column_stack([columns, r]), mode="r"))
        k = columns.shape[1]
        self._R, self._right = reduced[:, :k], reduced[:, k]
        self._damped = np.ones(self._free.size)
        self._damped[linear] = 0.0
        self._svd = None if linear else np.linalg.svd(self._R, full_matrices=False)
        self._total = float(r @ r)
        self._all, self._r = a, r

    def step(self, damping: float) -> np.ndarray:
        """Return the damped step."""
        step = np.zeros(self._free.size)
        if self._svd is not None:
            u, s, vh = self._svd
            squares = s * s + damping
            kept = squares > _RANK * _RANK * np.max(squares, initial=0.0)
            factors = np.divide(s, squares, out=np.zeros_like(s), where=kept)
            solution = -vh.T @ (factors * (u.T @ self._right))
        else:
            weights = np.sqrt(damping) * self._damped[self._free]
            rows = np.vstack([self._R, np.diag(weights)])
            right = np.concatenate([self._right, np.zeros(weights.size)])
            solution = np.linalg.lstsq(rows, -right, rcond=_RANK)[0]
        step[self._free] = solution / self._scale
        return step

    def gain(self, step: np.ndarray) -> float:
        """Return the gain of the linear model, relative to the sum of squares."""
        if not self._total:
            return 0.0
        change = self._all @ step
        return float(-(change @ (change + 2.0 * self._r))) / self._total


def _with_loss(problem: Problem, point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return residuals and Jacobian of squares with the gradient of the loss."""
    r, a = point.r, point.jacobian
    weighted, curvature = problem.loss.weights(r, problem.function.scale)
    if curvature is None:
        return leading(r), a
    w, c, near = leading(weighted), leading(curvature), leading(r)
    first = np.divide(w, near, out=np.ones_like(w), where=near != 0)
    # Triggs' correction, and no negative curvatures, as in SciPy.
    root = np.sqrt(np.maximum(c, 2.0**-52 * first))
    return w / root, a * root[:, None]


def _free(problem: Problem, point: Point, a: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the mask of parameters that may move: not those that the gradient holds at a bound."""
    mask = problem.box.mask(point.x)
    gradient = a.T @ r
    return ~(((mask < 0) & (gradient > 0)) | ((mask > 0) & (gradient < 0)))
