"""One attempt after another for the problems of a batch that have no minimum yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.optimize._batch.algebra import Floats, chosen, sizes_of
from mdqr.optimize._batch.descend import Descent
from mdqr.optimize._batch.newton import Iteration, Minima
from mdqr.optimize._batch.problems import Noise, Problems
from mdqr.optimize._model.noise import EXPECTED

_STARTS = 4
# The gain of a step, relative to the sum, at which Newton's method is tried, and steps before.
_TRIES = ((1e-2, 40), (1e-5, 30), (1e-10, 30))
_CERTAIN = 64.0


@dataclass
class Outcome:
    """The ends of all problems in the precision after the result's; these are on the last axis.

    `found` marks minima, `error` bounds their errors, infinite elsewhere; r is ``(m, B)``, the
    Jacobian ``(n, m, B)``.
    """

    x: MDArray
    r: MDArray
    jacobian: MDArray
    inverse: MDArray
    scale: Floats
    error: Floats
    unit: Floats
    found: Floats
    steps: Floats


def solve(problems: Problems, x0: MDArray, linear: list[int] | None) -> Outcome:
    """Return the minima from starting points ``(n, B)`` in dd."""
    with np.errstate(all="ignore"):
        return _solved(problems, x0, linear)


def _solved(problems: Problems, x0: MDArray, given: list[int] | None) -> Outcome:
    xp = problems.xp
    noise = problems.noise(x0, sizes_of(xp, x0))
    unit = float(noise.unit.max())
    problems.unit = unit if unit > EXPECTED * x0.precision.eps else 0.0
    linear = linear_parameters(problems, x0, noise) if given is None else given
    outcome: Outcome | None = None
    missing = xp.ones(x0.shape[1], dtype=bool)
    for start, solved in _attempts(problems, x0, linear):
        rows = None
        if outcome is not None and problems.separable:
            (rows,) = xp.nonzero(missing)
            start = start[:, rows]
        problems.rows = rows
        descent = Descent(problems, start, rows, solved, 1.0 if solved else 1e-3)
        for threshold, most in _TRIES:
            descent.run(threshold, most)
            wanted = missing if rows is None else missing[rows]
            problems.rows = rows
            found = Iteration(problems, descent.x, descent.sizes, wanted).run()
            outcome = _joined(problems, outcome, descent, found, rows)
            missing = ~outcome.found
            if not bool(missing.any()):
                return outcome
    assert outcome is not None
    return outcome


def linear_parameters(problems: Problems, x: MDArray, noise: Noise) -> list[int]:
    """Return parameters in which all problems are jointly linear, by second differences."""
    xp, n = problems.xp, x.shape[0]
    zero = np.ones((n, n), dtype=bool)
    sizes = sizes_of(xp, x)
    cube = xp.exp2(xp.round(xp.log2(noise.unit) / 3.0))
    lean = xp.asarray((1.0 + np.arange(n)) / (8.0 * n))[:, None]
    for point in (x, x + sizes * lean):
        steps = sizes * cube
        r = problems.at(point[:, None])[0]
        found, pairs = problems.second(point, r, steps)
        for p, (j, k) in enumerate(pairs.T.tolist()):
            second = xp.abs(found[p].limbs[0]) * (steps[j] * steps[k])[:, None]
            zero[j, k] &= bool((second <= _CERTAIN * noise.absolute).all())
            zero[k, j] = zero[j, k]
    chosen_ones: list[int] = []
    for j in np.argsort(-zero.sum(axis=0), kind="stable").tolist():
        if zero[j, j] and all(zero[j, k] for k in chosen_ones):
            chosen_ones.append(j)
    return sorted(chosen_ones)


def _attempts(
    problems: Problems, x0: MDArray, linear: list[int]
) -> Iterator[tuple[MDArray, list[int]]]:
    """Yield starting points, and the parameters that are solved for."""
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
        chosen(xp, new, found.x, descent.x.astype(last)),
        chosen(xp, new, found.r.T, descent.r.astype(last).T),
        chosen(xp, new, found.jacobian.mT, near.mT),
        found.inverse,
        found.scale,
        xp.where(new, found.error, np.inf),
        found.unit,
        new,
        descent.steps,
    )
    if before is None:
        return now
    parts = []
    for name in (field.name for field in fields(Outcome)):
        part, whole = getattr(now, name), getattr(before, name)
        if rows is None:
            parts.append(chosen(xp, ~before.found, part, whole))
            continue
        whole = whole.copy()
        whole[..., rows] = chosen(xp, ~before.found[rows], part, whole[..., rows])
        parts.append(whole)
    return Outcome(*parts)
