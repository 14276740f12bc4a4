"""One attempt after another for the problems of a batch that have no minimum yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._limbs.scaling import powers_of_two
from mdqr.optimize._batch.algebra import EPS, Floats, chosen, leading, sizes_of, to_host
from mdqr.optimize._batch.descend import Descent
from mdqr.optimize._batch.newton import Iteration, Minima
from mdqr.optimize._batch.problems import Problems

_STARTS = 4
# The gain of a step, relative to the sum, at which Newton's method is tried, and steps before.
_TRIES = ((1e-2, 40), (1e-5, 30), (1e-10, 30))
_IN_DOUBLES = ((1e-6, 50), (1e-10, 30))  # where steps cost little
_CERTAIN = 64.0


@dataclass
class Outcome:
    """The ends of all problems in the precision after the result's; these are on the last axis.

    `found` marks minima, `error` bounds their errors, infinite elsewhere; r is ``(m, B)``, the
    Jacobian ``(n, m, B)``, and `doubt` are norms of the errors of its columns. Of problems without
    a minimum, this is the best point of all attempts.
    """

    x: MDArray
    r: MDArray
    jacobian: MDArray
    error: Floats
    doubt: Floats
    sizes: Floats
    unit: Floats
    found: Floats
    steps: Floats


def solve(problems: Problems, x0: MDArray, linear: list[int] | None) -> Outcome:
    """Return the minima from starting points ``(n, B)`` in dd."""
    with np.errstate(all="ignore"):
        return _solved(problems, x0, linear)


def _solved(problems: Problems, x0: MDArray, given: list[int] | None) -> Outcome:
    xp = problems.xp
    linear = linear_parameters(problems, x0) if given is None else given
    outcome: Outcome | None = None
    missing = xp.ones(x0.shape[1], dtype=bool)
    for start, solved in _attempts(problems, x0, linear):
        rows = None
        if outcome is not None and problems.separable:
            (rows,) = xp.nonzero(missing)
            start = start[:, rows]
        problems.rows = rows
        descent = Descent(problems, start, rows, solved, 1.0 if solved else 1e-3)
        for threshold, most in _TRIES if isinstance(start, MDArray) else _IN_DOUBLES:
            descent.run(threshold, most)
            wanted = missing if rows is None else missing[rows]
            problems.rows = rows
            there = descent.at_home()
            point = mdqr.asarray(there.x, precision=mdqr.dd)
            found = Iteration(problems, point, there.sizes, wanted).run()
            outcome = _joined(problems, outcome, there, found, rows)
            missing = ~outcome.found
            if not bool(missing.any()):
                return outcome
    assert outcome is not None
    return _seen_in_dd(problems, outcome, missing)


def _seen_in_dd(problems: Problems, outcome: Outcome, missing: Floats) -> Outcome:
    """Return the outcome with residuals and Jacobians in dd of problems without a minimum.

    Those in float64 do not show which parameters have no effect.
    """
    xp, x = problems.xp, outcome.x.astype(mdqr.dd)
    problems.rows = None
    place = problems.derivatives(x, sizes_of(xp, x) * 2.0**-52)
    r, jacobian = place.r.astype(outcome.r.precision), place.jacobian.astype(outcome.r.precision)
    outcome.r = chosen(xp, missing, r.T, outcome.r)
    outcome.jacobian = chosen(xp, missing, jacobian.mT, outcome.jacobian)
    return outcome


def linear_parameters(problems: Problems, x0: MDArray) -> list[int]:
    """Return parameters in which all problems are jointly linear, by second differences."""
    n = x0.shape[0]
    x: Any = problems.doubles_of(x0) if problems.takes_doubles else x0
    xp = problems.module_of(x)
    sizes = sizes_of(xp, x)
    unit, absolute = _errors_near(problems, x, sizes)
    steps = sizes * powers_of_two(xp.log2(unit) / 3.0)
    lean = xp.asarray((1.0 + np.arange(n)) / (8.0 * n))[:, None]
    first, other = np.triu_indices(n)
    product = (steps[first] * steps[other])[..., None]
    are_zero = xp.ones(first.size, dtype=bool)
    for point in (x, x + sizes * lean):
        r = problems.residuals(point[:, None])[0]
        found, _ = problems.second(point, r, steps)
        second = xp.abs(leading(found)) * product
        are_zero &= (second <= _CERTAIN * absolute).all(axis=(1, 2))
    zero = np.zeros((n, n), dtype=bool)
    zero[first, other] = zero[other, first] = to_host(are_zero)
    chosen_ones: list[int] = []
    for j in np.argsort(-zero.sum(axis=0), kind="stable").tolist():
        if zero[j, j] and all(zero[j, k] for k in chosen_ones):
            chosen_ones.append(j)
    return sorted(chosen_ones)


def _errors_near(problems: Problems, x: Any, sizes: Floats) -> tuple[Floats, Floats]:
    """Return rounding errors of the function: relative, ``(B,)``, and of residuals, ``(B, m)``."""
    xp = problems.module_of(x)
    if isinstance(x, MDArray):
        noise = problems.noise(x, sizes)
        problems.see(noise)
        return noise.unit, noise.absolute
    place = problems.derivatives(x, sizes * 2.0**-26)
    size = xp.abs(place.r) + (xp.abs(place.jacobian) * sizes[..., None]).sum(axis=0)
    return xp.full(x.shape[1], EPS), 4.0 * EPS * size.max(axis=-1, keepdims=True)


def _attempts(
    problems: Problems, x0: MDArray, linear: list[int]
) -> Iterator[tuple[Any, list[int]]]:
    """Yield starting points, in float64 or dd, and the parameters that are solved for."""
    if problems.takes_doubles:
        yield problems.doubles_of(x0), linear
    if linear:
        yield x0, linear
    yield x0, []
    rng = np.random.default_rng(0)
    for k in range(_STARTS):
        common = -((-1) ** k) * 2.0 * (1 + k // 2)
        factors = np.exp2(common + rng.uniform(-1.0, 1.0, x0.shape[0]))
        yield x0 * problems.xp.asarray(factors)[:, None], linear


def _joined(
    problems: Problems, before: Outcome | None, descent: Descent, found: Minima, rows: Any
) -> Outcome:
    """Return the outcome before, replaced where it has no minimum."""
    xp, last = problems.xp, problems.precision.next
    new = found.found
    near = mdqr.array(descent.jacobian, precision=last)
    now = Outcome(
        chosen(xp, new, found.x, mdqr.array(descent.x, precision=last)),
        chosen(xp, new, found.r.T, mdqr.array(descent.r, precision=last).T),
        chosen(xp, new, found.jacobian.mT, near.mT),
        xp.where(new, found.error, np.inf),
        found.doubt,
        found.sizes,
        found.unit,
        new,
        descent.steps,
    )
    if before is None:
        return now
    held = before.found if rows is None else before.found[rows]
    least = _sums(before.r) if rows is None else _sums(before.r[:, rows])
    better = ~held & (new | (_sums(now.r) < least))
    parts = []
    for name in (field.name for field in fields(Outcome)):
        part, whole = getattr(now, name), getattr(before, name)
        if rows is None:
            parts.append(chosen(xp, better, part, whole))
            continue
        whole = whole.copy()
        whole[..., rows] = chosen(xp, better, part, whole[..., rows])
        parts.append(whole)
    return Outcome(*parts)


def _sums(r: MDArray) -> Floats:
    """Return the sums of squares of residuals ``(m, B)``; NaN of those that are not finite."""
    near = r.limbs[0]
    return (near * near).sum(axis=0)
