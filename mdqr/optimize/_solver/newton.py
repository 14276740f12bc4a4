"""From the basin of a minimum to all its digits: Newton's method on the gradient.

The gradient is ``J^T r``, the Hessian ``J^T J + sum_i r_i r_i''`` (weighted for other losses):
Gauss and Newton's method without the second term gains few digits a step where residuals are
large. Each stage evaluates the function in more limbs. The Hessian, whose errors only slow the
convergence, is made again where that costs less than the steps that it saves, and of many values
in the precision of the first stage.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._limbs.scaling import norms
from mdqr._precision import Precision
from mdqr.optimize._model.derivatives import Curvature, Jacobian
from mdqr.optimize._model.noise import Noise, measure, underflow
from mdqr.optimize._model.points import leading, sizes_of, times_powers
from mdqr.optimize._solver.inverse import Inverse, Secant, inverted, with_unit_diagonal
from mdqr.optimize._solver.problem import Point, Problem

_MOST_STEPS = 40
_SLOW = 2.0**-4  # factor of the error in a step that a new Hessian is to improve
_BASIN = 2.0**-30
_FELL = 2.0**-4
_CHANGE = 4.0  # of a Hessian with a diagonal of ones, at the least, over that of x
_WIDER = 16.0  # how many error bounds away the Hessian is looked at again
_FAR = 2.0**-30  # an error of x, relative to it, about that of second differences in dd


class Minimum(NamedTuple):
    """A minimum: `error` bounds the errors of x by an estimate, `history` has relative steps.

    `doubt` are norms of the errors of the columns of the Jacobian.
    """

    x: MDArray
    r: MDArray
    jacobian: MDArray
    gradient: MDArray
    free: np.ndarray
    inverse: Inverse
    error: np.ndarray
    doubt: np.ndarray
    history: list[float]
    noise: Noise
    sizes: np.ndarray


class _Place(NamedTuple):
    """A point of the iteration, with bounds of errors of the gradient and of the Jacobian."""

    r: MDArray
    jacobian: MDArray
    gradient: MDArray
    errors: np.ndarray
    wrong: np.ndarray


def stages(problem: Problem) -> list[tuple[Precision, bool]]:
    """Return precisions in which the function is evaluated, and whether differences are central."""
    last = problem.precision.next
    first = min(mdqr.qd, last)
    found = [(first, False)]
    if problem.noisy:
        return [*found, (first, True)]
    if last > first:
        found.append((last, False))
    return [*found, (last, True)] if last is problem.precision else found


def polish(
    problem: Problem, point: Point, free: np.ndarray, first: Precision | None = None
) -> Minimum | None:
    """Return the minimum in whose basin a point lies, or None if it is in none.

    Without `first`, the precision of the first stage is qd.
    """
    iteration = _Iteration(problem, point, free)
    ladder = stages(problem)
    if first is not None:
        ladder = [(first, False), *[stage for stage in ladder if stage[0] > first or stage[1]]]
    for k, (precision, central) in enumerate(ladder):
        if not iteration.run(precision, central, last=k == len(ladder) - 1):
            return None
    return iteration.minimum(point)


class _Iteration:
    """Newton's iteration through the stages."""

    def __init__(self, problem: Problem, point: Point, free: np.ndarray) -> None:
        self._problem, self._free = problem, free
        self._x = point.x
        self._sides = np.where(free, 0, problem.box.mask(point.x))
        self._sizes = point.sizes
        self._inverse: Inverse | None = None
        self._place: _Place | None = None
        self._noise = Noise(np.zeros(point.r.shape[0]), 0.0)
        self._measured: Precision | None = None
        self._step = self._before = np.zeros(0)
        self._secant = Secant()
        self._way, self._moves = 0.0, 0
        # Precision and rounding errors of the first stage; what a step multiplies the error by; and
        # the error, relative to x, that is expected.
        self._first: tuple[Precision, Noise] | None = None
        self._rate, self._error = 0.0, 1.0
        self.history: list[float] = []

    def run(self, precision: Precision, central: bool, *, last: bool) -> bool:
        """Iterate until steps are within rounding errors; return False if they do not shrink."""
        p = self._problem.precision
        # A parameter at a bound has the digits of the bound.
        self._x = self._problem.box.held(self._x.astype(precision), self._sides)
        self._measure(precision)
        end = 2.0 ** -(p.bits + 8)
        target = end if last else max(self._noise.unit**0.5 * 2.0**8, 2.0**-400)
        previous, age = np.inf, 0
        for _ in range(_MOST_STEPS):
            self._place = place = self._evaluated(precision, central)
            if not np.isfinite(place.errors).all():
                return False
            if self._inverse is None or self._pays(target if self._problem.noisy else end):
                self._inverse, self._way, self._rate = self._inverted(place), 0.0, 0.0
                age, self._secant = 0, Secant()
            if self._inverse is None:
                return False
            step = self._secant.corrected(self._inverse.times(-place.gradient), place.gradient)
            before, self._step = self._step, leading(step)
            self._before = np.abs(before)
            size = float(np.max(np.abs(self._step) / self._sizes[self._free], initial=0.0))
            grows = size > self._basin and size > 0.5 * previous
            if not np.isfinite(size) or grows or (size > 0.5 and self._goes_far()):
                return False
            self.history.append(size)
            stays = size < self._basin and size > 0.25 * previous
            # The first step makes residuals that depend on each other fit, whatever its size.
            noise = self._moves > 0 and self._is_noise()
            if size <= target or noise or (stays and age == 1):
                if self._is_definite():
                    return True
                self._inverse = None
                continue
            # A new Hessian is as wrong as x.
            self._rate = max(self._rate, size / previous) if age else self._least_rate(size)
            previous, self._error = size, size * self._rate
            self._way += size
            if not self._moved(step):
                return False
            age += 1
            if not last and (stays or self._error <= target):
                return True
            if stays:
                self._inverse = None
        return self._inverse is not None and size < self._basin

    def _least_rate(self, error: float) -> float:
        """Return the factor of the error in a step if the Hessian is made at such an error."""
        assert self._first is not None
        unit = mdqr.dd.eps if self._is_far() else self._first[1].unit
        return float(max(error, unit ** (1 / 3)))

    def _pays(self, target: float) -> bool:
        """Return True if a new Hessian costs less than the steps that it saves."""
        if self._error <= target:
            return False
        if self._rate > _SLOW:
            return True
        bits = np.log2(self._error / target)
        steps = -bits / np.log2(self._rate)
        fewer = -bits / np.log2(min(self._least_rate(self._error), 0.5))
        return bool(steps - fewer > (1.0 if self._is_far() else 2.0 + 0.5 * self._step.size))

    def _measure(self, precision: Precision) -> None:
        """Measure rounding errors, of a function with few digits where these can be seen."""
        problem, before = self._problem, self._measured
        if before is not None and self._noise.exceeds(before):
            return
        seen = mdqr.dd if problem.noisy else precision
        x = self._x.astype(seen)
        self._noise = measure(problem.function, x, self._sizes, problem.box, seen)
        self._measured = seen
        if self._first is None:
            self._first = precision, self._noise

    def _is_definite(self) -> bool:
        """Return True if the Hessian is positive definite here, and not only where it was made.

        Along a valley of minima its smallest eigenvalue goes to zero with the gradient.
        """
        assert self._inverse is not None
        near, change = self._inverse.near, self._inverse.change
        return bool(change * len(near) * np.abs(near).max(initial=0.0) * self._way < 0.5)

    @property
    def _basin(self) -> float:
        """Steps below which rounding errors may be the whole step, relative to x."""
        return float(max(_BASIN, 64.0 * self._noise.unit**0.5))

    def _goes_far(self) -> bool:
        """Return True if a step is as long as a parameter, and not one that goes to zero."""
        x, long = leading(self._x)[self._free], 0.5 * self._sizes[self._free]
        after = np.abs(x + self._step)
        return bool(np.any((np.abs(self._step) > long) & (after > 0.5 * np.abs(x))))

    def _is_noise(self) -> bool:
        """Return True if rounding errors explain a step."""
        assert self._inverse is not None
        assert self._place is not None
        errors = self._inverse.moduli_times(self._place.errors)
        return bool(np.all(np.abs(self._step) <= 0.25 * errors))

    def _moved(self, step: MDArray) -> bool:
        """Add a step; return False if it leaves the box."""
        x = self._x.copy()
        x[self._free] = x[self._free] + step
        if not self._problem.box.holds(x, self._free):
            return False
        self._x, self._sizes = x, sizes_of(x, self._sizes)
        self._moves += 1
        return True

    def _evaluated(self, precision: Precision, central: bool) -> _Place:
        problem, noise = self._problem, self._noise
        function, derivatives = problem.function, problem.derivatives
        found: Jacobian | None = None
        r: MDArray | None = None
        if central:
            found = derivatives.central(self._x, self._sizes, noise.unit, noise.absolute)
            r = function.at(self._x, precision) if found is not None else None
        if found is None or r is None:
            r, found = derivatives.jacobian(self._x, None, self._sizes, noise.unit, noise.absolute)
            truncation = derivatives.truncation(noise.unit) / self._sizes
            if self._inverse is not None:
                found = found._replace(errors=found.errors + truncation * self._inverse.second)
        weighted, _ = problem.loss.weights(r, function.scale)
        jacobian = found.values if self._free.all() else found.values[:, self._free]
        errors = np.abs(leading(weighted)) @ found.errors[:, self._free]
        errors += noise.absolute @ np.abs(leading(jacobian)) + len(r) * underflow(precision)
        return _Place(r, found.values, jacobian.T @ weighted, errors, found.errors)

    def _inverted(self, place: _Place) -> Inverse | None:
        """Return the inverse of the Hessian, or None where that is not positive definite."""
        assert self._first is not None
        precision, noise = self._first
        found = None
        if self._is_far() and precision > mdqr.dd:
            found = self._inverse_by(place, mdqr.dd, _in_dd(self._problem, precision, noise))
        return found if found is not None else self._inverse_by(place, precision, noise)

    def _is_far(self) -> bool:
        """Return True where x is not better than second derivatives from evaluations in dd."""
        return self._error > _FAR

    def _inverse_by(self, place: _Place, precision: Precision, noise: Noise) -> Inverse | None:
        """Return the inverse of the Hessian, with second derivatives in a precision."""
        free = self._free
        h, curvature = hessian(self._problem, self._x.astype(precision), place, self._sizes, noise)
        index = np.flatnonzero(free)
        scaled, scale = with_unit_diagonal(h if free.all() else h[index[:, None], index])
        values = None if scaled is None else inverted(scaled, rough=precision is mdqr.dd)
        if values is None:
            return None
        near = leading(values)
        # Errors of the Hessian, relative to its diagonal of ones, must not make it singular.
        errors = curvature.errors + self._of_slopes(place, curvature.diagonal)
        wrong = errors[index[:, None], index] * scale[:, None] * scale
        worst = len(scale) * (4.0 * noise.unit**0.5 + float(np.max(wrong, initial=0.0)))
        if not np.abs(near).max(initial=0.0) * worst < 0.25:
            return None
        changes = self._changes(place, curvature.turned)
        change = float(np.max(changes[index] * scale**2, initial=_CHANGE))
        sizes = self._sizes[index]
        return Inverse(values, near, scale * sizes, curvature.diagonal, curvature.turned, change)

    def _of_slopes(self, place: _Place, second: np.ndarray) -> np.ndarray:
        """Return errors of ``J^T J`` by errors of J, of forward differences at the most.

        For losses whose curvatures are at most 1.
        """
        truncation = self._problem.derivatives.truncation(self._noise.unit)
        wrong = place.wrong * self._sizes + truncation * second
        found = wrong.T @ np.abs(leading(times_powers(place.jacobian, self._sizes)))
        return np.asarray(found + found.T)

    def _changes(self, place: _Place, turned: np.ndarray) -> np.ndarray:
        """Return by how much the diagonal of the Hessian changes where x does by its sizes.

        Slopes change by second derivatives, and residuals, their factors, by the slopes.
        """
        slopes = np.abs(leading(times_powers(place.jacobian, self._sizes)))
        moved = slopes.sum(axis=1, keepdims=True) + np.abs(leading(place.r))[:, None]
        return np.asarray(np.sum(turned * (2.0 * slopes + moved), axis=0))

    def minimum(self, point: Point) -> Minimum | None:
        """Return the minimum that was found, unless it is worse than the point before."""
        problem, place, inverse = self._problem, self._place, self._inverse
        assert place is not None
        assert inverse is not None
        cost = problem.loss.cost(place.r, problem.function.scale)
        allowed = 2.0**-40 * float(point.cost) + float(np.sum(self._noise.absolute**2))
        if float(cost - point.cost) > allowed:
            return None
        full = np.zeros(self._x.shape[0])
        weighted, _ = problem.loss.weights(place.r, problem.function.scale)
        wrong = problem.derivatives.deviation(self._x, place.jacobian, self._sizes, self._noise)
        errors = place.errors + np.abs(leading(weighted)) @ wrong[:, self._free]
        full[self._free] = 2.0 * np.abs(self._step) + inverse.moduli_times(errors)
        if not self._is_simple(inverse, full):
            return None
        gradient = place.jacobian.T @ weighted
        if not outwards(problem, self._x, gradient, self._free):
            return None
        reach = float(np.max(full / self._sizes, initial=0.0))
        doubt = place.wrong + wrong + inverse.turned * (reach / self._sizes)
        return Minimum(
            self._x,
            place.r,
            place.jacobian,
            gradient,
            self._free,
            inverse,
            full,
            norms(doubt, 0),
            self.history,
            self._noise,
            self._sizes,
        )

    def _is_simple(self, inverse: Inverse, error: np.ndarray) -> bool:
        """Return True if the Hessian is about the same wherever the minimum may be.

        It is singular at a minimum to which steps converge slowly: the last one does not bound the
        error.
        """
        if float(np.max(error / self._sizes, initial=0.0)) <= self._noise.unit**0.5:
            return True
        # Where one step left a sixteenth of what was to go, the Hessian was right along it.
        least = _FELL * self._before
        if self._before.size and np.all(
            (np.abs(self._step) <= least) & (error[self._free] <= least)
        ):
            return True
        return all(self._is_alike(inverse, shift * error) for shift in (-_WIDER, _WIDER))

    def _is_alike(self, inverse: Inverse, shift: np.ndarray) -> bool:
        """Return True if the inverse of the Hessian is about as large at another point."""
        problem, x, n = self._problem, self._x, self._x.shape[0]
        self._x = problem.box.clip(x + shift)
        place = self._evaluated(x.precision, central=False)
        assert self._first is not None
        precision, noise = self._first
        if problem.function.takes(n * (n + 3) // 2):
            precision, noise = x.precision, self._noise
        there = self._inverse_by(place, precision, noise)
        self._x = x
        if there is None:
            return False
        return bool(np.all(np.abs(np.log2(there.ratios(inverse))) < 0.5))


def outwards(problem: Problem, x: MDArray, gradient: MDArray, free: np.ndarray) -> bool:
    """Return True if the gradient holds the other parameters at their bounds."""
    mask, near = problem.box.mask(x), leading(gradient)
    return bool(np.all(free | (mask * near < 0)))


def hessian(
    problem: Problem, x: MDArray, place: _Place, sizes: np.ndarray, noise: Noise
) -> tuple[MDArray, Curvature]:
    """Return the Hessian, and the part of second derivatives.

    All by parameters in units of their sizes. Second derivatives are evaluated in the precision of
    x, and products of first ones in theirs.
    """
    jacobian, r = times_powers(place.jacobian, sizes), place.r
    weighted, curvature = problem.loss.weights(r, problem.function.scale)
    left = jacobian if curvature is None else jacobian * curvature[:, None]
    same = x.precision is r.precision
    weighted = weighted.astype(x.precision)
    second = problem.derivatives.curvature(x, r if same else None, weighted, sizes, noise)
    return left.T @ jacobian + second.sums, second


def _in_dd(problem: Problem, precision: Precision, noise: Noise) -> Noise:
    """Return the rounding errors in dd of a function whose errors in a precision are known."""
    ratio = mdqr.dd.eps / precision.eps if not problem.noisy else 1.0
    return Noise(noise.absolute * ratio, max(problem.unit, mdqr.dd.eps))
