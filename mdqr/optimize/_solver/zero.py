"""Zeros of square systems: Newton's method from where a descent of the sum of squares ends."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning
from mdqr._precision import Precision
from mdqr.linalg import LinAlgError, inv
from mdqr.optimize._enclosure.ball import Ball
from mdqr.optimize._enclosure.jet import variables, vector
from mdqr.optimize._enclosure.krawczyk import Unproven, nearest
from mdqr.optimize._model.noise import Noise, measure
from mdqr.optimize._model.points import leading, sizes_of, times_powers
from mdqr.optimize._solver.descend import Descent
from mdqr.optimize._solver.problem import Point, Problem, Stopped
from mdqr.optimize._solver.solve import NEARLY_ZERO, attempts, first_point

_MOST_STEPS = 40
_MOST_DESCENTS = 200
_FAR_STEPS = 4  # of which more than a quarter of x
# Steps, relative to x, below which rounding errors may be the whole step.
_BASIN = 2.0**-20

FOUND, LIMIT, STOPPED, NONE, SINGULAR = 1, 0, -2, -3, -4


class Zero(NamedTuple):
    """A zero: `error` bounds the errors of x by an estimate, `history` has relative steps."""

    x: MDArray
    r: MDArray
    jacobian: MDArray
    inverse: MDArray
    error: np.ndarray
    history: list[float]
    noise: Noise


class Found(NamedTuple):
    """The end of a search: a zero, or the best point, with a status."""

    status: int
    zero: Zero | None
    point: Point
    steps: int


def find(problem: Problem, x0: MDArray) -> Found:
    """Return a zero from a starting point in dd."""
    with np.errstate(all="ignore"):
        return _found(problem, x0)


def _found(problem: Problem, x0: MDArray) -> Found:
    noise = measure(problem.function, x0, sizes_of(x0), problem.box, x0.precision)
    problem.noisy = noise.exceeds(x0.precision)
    problem.unit = noise.unit if problem.noisy else x0.precision.eps
    r = problem.function.at(x0, x0.precision)
    steps, status, first = 0, NONE, problem.loss.cost(r, problem.function.scale)
    try:
        for start, rule, solved, most in attempts(problem, x0, None):
            descent = Descent(problem, start, rule, solved, min(most, _MOST_DESCENTS))
            for point in descent:
                zero = newton(problem, point)
                if zero is not None:
                    return Found(FOUND, zero, point, steps + descent.steps)
            steps += descent.steps
    except Stopped as stop:
        status = stop.status
    best = problem.best if problem.best is not None else first_point(problem, x0)
    last = problem.precision.next
    if status == NONE and not problem.noisy and last > mdqr.qd:
        # Jacobians by differences in qd have half of its digits.
        zero = newton(problem, best, first=last)
        if zero is not None:
            return Found(FOUND, zero, best, steps)
    if status == NONE and bool(best.cost <= NEARLY_ZERO * first):
        status = SINGULAR
    return Found(status, None, best, steps)


def newton(problem: Problem, point: Point, first: Precision = mdqr.qd) -> Zero | None:
    """Return the zero to which Newton's method converges quadratically, or None.

    The iteration begins in the precision `first`.
    """
    x, sizes, history = point.x, point.sizes, [np.inf]
    last, found = problem.precision.next, None
    for precision in sorted({min(first, last), last}):
        found = _converged(problem, x.astype(precision), sizes, precision, history)
        if found is None:
            return None
        x = found.x
    return found and found._replace(history=history[1:])


def _converged(
    problem: Problem, x: MDArray, sizes: np.ndarray, precision: Precision, history: list[float]
) -> Zero | None:
    """Iterate until steps are within the rounding errors."""
    held = mdqr.dd if problem.noisy else precision
    noise = measure(problem.function, x.astype(held), sizes, problem.box, held)
    previous, far = np.inf, 0
    for _ in range(_MOST_STEPS):
        r, found = problem.derivatives.jacobian(x, None, sizes, noise.unit)
        inverse = _inverse(found.values, sizes)
        if inverse is None or not bool(mdqr.isfinite(r).all()):
            return None
        step = inverse @ r
        near, moduli = np.abs(leading(step)), np.abs(leading(inverse))
        change = float(np.max(near / sizes))
        if not np.isfinite(change):
            return None
        history.append(change)
        rounding = moduli @ noise.absolute
        if np.all(near <= 4.0 * rounding + 2.0**-precision.bits * sizes) or (
            previous < _BASIN and change > 0.25 * previous
        ):
            zero = Zero(x, r, found.values, inverse, 2.0 * (near + rounding), history, noise)
            if not _is_regular(problem, zero, found.errors, sizes):
                return None
            return _judged(problem, zero, sizes) if _is_simple(problem, zero, sizes) else None
        far += change > 0.25
        if far > _FAR_STEPS or (change > 0.5 * previous and previous < 0.5):
            return None
        previous, x = change, x - step
        sizes = sizes_of(x, sizes)
    return None


def _is_regular(problem: Problem, zero: Zero, errors: np.ndarray, sizes: np.ndarray) -> bool:
    """Return True if no Jacobian within the errors of this one is singular.

    Differences are wrong by second derivatives, as if by sizes these were as large as first ones.
    """
    unit = zero.noise.unit
    slopes = np.abs(leading(times_powers(zero.jacobian, sizes)))
    relative = max(problem.derivatives.truncation(unit), 16.0 * unit)
    wrong = errors * sizes + relative * np.max(slopes, axis=1, keepdims=True)
    share = np.abs(leading(times_powers(zero.inverse, 1.0 / sizes[:, None]))) @ wrong
    return bool(np.isfinite(share).all() and np.max(np.abs(np.linalg.eigvals(share))) < 0.5)


def _judged(problem: Problem, zero: Zero, sizes: np.ndarray) -> Zero:
    """Return a zero whose bounds allow for what is wrong with the caller's Jacobian.

    With ``abs(J - J') <= E``, the error is at most ``abs(step) + abs(J^-1) E error``.
    """
    wrong = problem.derivatives.deviation(zero.x, zero.jacobian, sizes, zero.noise)
    if not wrong.any():
        return zero
    moduli = np.abs(leading(times_powers(zero.inverse, 1.0 / sizes[:, None])))
    share = moduli @ (wrong * sizes)
    error = np.full(sizes.shape, np.inf)
    if np.max(np.abs(np.linalg.eigvals(share))) < 1.0:
        error = np.linalg.solve(np.eye(len(sizes)) - share, zero.error / sizes) * sizes
    return zero._replace(error=error)


def _is_simple(problem: Problem, zero: Zero, sizes: np.ndarray) -> bool:
    """Return True if the Jacobian hardly changes within twice the error bound.

    At a multiple zero, where steps do not bound the error, it changes by all of itself.
    """
    moved = zero.x + np.maximum(2.0 * zero.error, zero.x.precision.eps * sizes)
    _, there = problem.derivatives.jacobian(moved, None, sizes, zero.noise.unit)
    change = times_powers(there.values - zero.jacobian, sizes)
    rest = leading(times_powers(zero.inverse, 1.0 / sizes[:, None]) @ change)
    error = zero.error / sizes
    return bool(np.all(np.abs(rest) @ error <= 0.25 * error))


def _inverse(jacobian: MDArray, sizes: np.ndarray) -> MDArray | None:
    """Return the inverse, by parameters in units of their sizes; None where it is singular."""
    if not bool(mdqr.isfinite(jacobian).all()):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            return times_powers(inv(times_powers(jacobian, sizes)), sizes[:, None])
    except LinAlgError:
        return None


def proven_error(problem: Problem, x: MDArray, inverse: MDArray) -> np.ndarray:
    """Return proven bounds of the errors of a zero, before it is rounded.

    Raises
    ------
    LinAlgError
        If it cannot be proven.
    """
    name = problem.function.name
    assert problem.enclosed is not None

    def evaluated(width: np.ndarray) -> tuple[Ball, Ball]:
        jets = variables(Ball(x, width), 1)
        try:
            assert problem.enclosed is not None
            r = vector(problem.enclosed(jets), jets)
        except (TypeError, AttributeError) as failure:
            raise Unproven(
                f"`fun` must take enclosures; it raised {type(failure).__name__}: {failure}"
            ) from failure
        if r.first is None:
            raise Unproven("`fun` does not depend on x")
        axes = (1, 0)
        return r.value, Ball(r.first.mid.transpose(axes), r.first.rad.transpose(axes))

    try:
        value, _ = evaluated(np.zeros(x.shape[0]))
        return nearest(value, lambda width: evaluated(width)[1], inverse)[0]
    except Unproven as failure:
        raise LinAlgError(f"{name}: verified: {failure}") from None
