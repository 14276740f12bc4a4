"""One attempt after another, until one ends in a minimum with all its digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.optimize._model.derivatives import Given
from mdqr.optimize._model.noise import Noise, measure
from mdqr.optimize._model.points import leading, norms_of, sizes_of
from mdqr.optimize._solver.descend import Descent, Rule, point_at
from mdqr.optimize._solver.flat import dependent, is_flat
from mdqr.optimize._solver.linear import linear_parameters
from mdqr.optimize._solver.newton import Minimum, polish
from mdqr.optimize._solver.problem import Point, Problem, Stopped

_RATIO, _CAREFUL, _FIXED = Rule(True), Rule(True, 1.0), Rule(False)
_MOST_STEPS = 1000
NEARLY_ZERO = 2.0**-80  # of the sum of squares, relative to that at the start
_VALLEYS = 3  # that attempts end in before no more are made
# Singular values of directions of no effect, how far a point is left along these in sizes of x, and
# changes of the sum that are none.
_NO_EFFECT, _ASIDE, _LITTLE = 1e-8, 2.0**-7, 2.0**-40
_STARTS = 8

# SciPy's, and two of ours: a minimum that the Jacobian does not determine, and none.
STOPPED, LIMIT, FLAT, CONVERGED, NONE = -2, 0, 1, 3, -3


class Outcome(NamedTuple):
    """The end of a fit: a minimum, or the best point, with a status."""

    status: int
    minimum: Minimum | None
    point: Point
    steps: int
    linear: list[int]


def solve(problem: Problem, x0: MDArray) -> Outcome:
    """Return the minimum from a starting point in dd."""
    # Points that are tried and refused may be far away.
    with np.errstate(all="ignore"):
        return _solved(problem, x0)


def _solved(problem: Problem, x0: MDArray) -> Outcome:
    search = _Search(problem, x0)
    status = NONE
    try:
        for rough in (True, False) if _begins_in_doubles(problem, x0) else (False,):
            outcome, is_flat_there = search.run(rough=rough)
            if outcome is not None:
                return outcome
        status = FLAT if is_flat_there else NONE
    except Stopped as stop:
        status = stop.status
    steps, linear = search.steps, search.linear
    best = problem.best
    if best is None:
        best = first_point(problem, x0)
    last = problem.precision.next
    if status in (NONE, FLAT) and not problem.noisy and last > mdqr.qd:
        # Hessians from qd have half of its digits.
        found = polish(problem, best, _free(problem, best), first=last)
        if found is not None:
            return Outcome(CONVERGED, found, best, steps, linear)
    if status == NONE and _is_degenerate(problem, best, x0):
        status = FLAT
    return Outcome(status, None, best, steps, linear)


def _is_degenerate(problem: Problem, best: Point, x0: MDArray) -> bool:
    """Return True for a minimum to which steps converge slowly, as the Hessian is singular there.

    Sums of squares that go to zero have gradients that do so faster.
    """
    r = problem.function.at(x0, x0.precision)
    if bool(best.cost <= NEARLY_ZERO * problem.loss.cost(r, problem.function.scale)):
        return True
    if not _is_flat(problem, best) or contradicted(problem, best).size:
        return False
    return not _is_saddle(problem, best)


def _begins_in_doubles(problem: Problem, x0: MDArray) -> bool:
    """Return True if descents are made in float64 first."""
    plain = problem.derivatives.name == "differences" and problem.loss.rho is None
    if not plain or problem.box.bounded or problem.callback is not None:
        return False
    problem.function.try_doubles(x0)
    return problem.function.takes_doubles


class _Search:
    """Attempts from a starting point; `steps` are all of theirs, `linear` is of the last one."""

    def __init__(self, problem: Problem, x0: MDArray) -> None:
        self._problem, self._x0 = problem, x0
        self._noise = _measured(problem, x0)
        self.steps = 0
        self.linear: list[int] = []

    def run(self, *, rough: bool) -> tuple[Outcome | None, bool]:
        """Return the minimum that attempts find, in float64 if `rough`, or whether all are flat."""
        problem, valleys = self._problem, 0
        for start, rule, linear, most in attempts(problem, self._x0, self._noise):
            self.linear = linear
            begin = start.to_numpy() if rough else start
            descent = Descent(problem, begin, rule, linear, most)
            before = self.steps
            for point in descent:
                self.steps = before + descent.steps
                found = polish(problem, point, _free(problem, point))
                if found is not None:
                    return Outcome(CONVERGED, found, point, self.steps, linear), False
            self.steps = before + descent.steps
            valleys += descent.steps < most and _is_valley(problem, descent.point)
            if valleys == _VALLEYS:
                return None, True
        return None, False


def first_point(problem: Problem, x: MDArray) -> Point:
    """Return the starting point, where no other was reached."""
    return point_at(problem, x, sizes_of(x))


def _is_flat(problem: Problem, point: Point) -> bool:
    weighted, _ = problem.loss.weights(point.r, problem.function.scale)
    free = _free(problem, point)
    a = point.jacobian[:, free] * point.sizes[free]
    return is_flat(a, leading(point.r), leading(weighted))


def _is_valley(problem: Problem, point: Point | None) -> bool:
    """Return True for a minimum that several parameters share: no start finds another."""
    if point is None or not _is_flat(problem, point):
        return False
    if dependent(point.jacobian, point.sizes).size < 2 or contradicted(problem, point).size:
        return False
    return not _is_saddle(problem, point)


def _is_saddle(problem: Problem, point: Point) -> bool:
    """Return True if the sum falls on both sides along a direction of no effect.

    Exponentials that have become one are an example: the sum falls where they part.
    """
    free = _free(problem, point)
    a = point.jacobian[:, free] * point.sizes[free]
    if not (free.any() and np.isfinite(a).all()):
        return False
    norms = norms_of(a)
    _, s, vh = np.linalg.svd(a / norms)
    effects = np.append(s, np.zeros(vh.shape[0] - s.size))
    for v in vh[effects <= _NO_EFFECT * np.max(s)] / norms:
        move = np.zeros(free.size)
        move[free] = _ASIDE / np.max(np.abs(v)) * v * point.sizes[free]
        if max(_rise(problem, point, side) for side in (move, -move)) < 0:
            return True
    return False


def _rise(problem: Problem, point: Point, move: np.ndarray) -> float:
    """Return by how much the sum of squares rises with a move, relative to it, if not by little."""
    x = problem.box.clip(point.x + move)
    r = problem.function.at(x, x.precision)
    change = float(problem.loss.cost(r, problem.function.scale) - point.cost)
    return change if not abs(change) <= _LITTLE * float(point.cost) else 0.0


def contradicted(problem: Problem, point: Point) -> np.ndarray:
    """Return the parameters whose derivatives by the caller differences contradict."""
    if not isinstance(problem.derivatives, Given) or problem.derivatives.name != "jac":
        return np.zeros(0, dtype=int)
    jacobian = mdqr.array(point.jacobian, precision=point.x.precision)
    noise = measure(problem.function, point.x, point.sizes, problem.box, point.x.precision)
    # The Jacobian of a point is in float64.
    unit = max(noise.unit, mdqr.d.eps)
    wrong = problem.derivatives.deviation(point.x, jacobian, point.sizes, noise)
    effects = np.max(np.abs(point.jacobian), axis=0, initial=0.0) * point.sizes
    # A column may be the rounding errors of terms that cancel, about as large as the others.
    allowed = unit**0.5 * effects + unit * np.max(effects, initial=0.0)
    found = np.max(wrong, axis=0, initial=0.0) * point.sizes
    return np.flatnonzero(found > 2.0**10 * allowed)


def _measured(problem: Problem, x0: MDArray) -> Noise:
    """Measure the rounding errors of the function."""
    noise = measure(problem.function, x0, sizes_of(x0), problem.box, x0.precision)
    problem.noisy = noise.exceeds(x0.precision)
    problem.unit = noise.unit if problem.noisy else x0.precision.eps
    return noise


def attempts(
    problem: Problem, x0: MDArray, noise: Noise | None
) -> Iterator[tuple[MDArray, Rule, list[int], int]]:
    """Yield starting points, rules, the parameters that are solved for, and how many steps.

    Parameters that enter linearly are searched for where the noise of the function is given.
    """
    yield x0, _RATIO, problem.linear or [], 110
    linear: list[int] = []
    if noise is not None:
        r = problem.function.at(x0, x0.precision)
        linear = linear_parameters(problem, x0, r, sizes_of(x0), noise)
    if linear and not problem.linear:
        yield x0, _CAREFUL, linear, 60
    rng = np.random.default_rng(0)
    for k in range(_STARTS):
        # All parameters 1/4, 4, 1/16, 16 ... times as large, each but for a factor of its own.
        common = -((-1) ** k) * 2.0 * (1 + k // 2)
        factors = np.exp2(common + rng.uniform(-1.0, 1.0, x0.shape[0]))
        yield problem.box.clip(x0 * factors), _CAREFUL, linear, 25
    yield x0, _FIXED, [], 300
    yield x0, _RATIO, [], _MOST_STEPS


def _free(problem: Problem, point: Point) -> np.ndarray:
    """Return the mask of parameters that are not held at a bound."""
    mask = problem.box.mask(point.x)
    if not mask.any():
        return np.ones(mask.size, dtype=bool)
    weighted, _ = problem.loss.weights(point.r, problem.function.scale)
    gradient = point.jacobian.T @ leading(weighted)
    return ~(mask * gradient < 0)
