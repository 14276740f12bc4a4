"""Systems on a device, by steps that are planned before the first one.

From ``I - X A`` for a float64 inverse X, or ``I - (A X)^H (A X)`` for one of R, and a condition,
follow numbers of steps and limbs. The steps, the last rounding and the proven bounds are one piece
of work that depends on these numbers alone: a device is waited for once before it and once behind
it, and may record it. Where bounds do not show all digits, the ladder looks after each step.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import floor, log2
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native
from mdqr._backend.protocol import Backend, RoundedSum
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._inverse.approximate_inverse import ApproximateInverse, Operand, Plan
from mdqr.linalg._inverse.rounds import MOST, PROOF, ROOM, gain_of
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._solve.answer import Answer, Part, unknowns
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.problem import SMALL, Problem
from mdqr.linalg._solve.refinement import Refinement
from mdqr.linalg._solve.solvers.climb import climb_blindly
from mdqr.linalg._solve.system import System

# Plans differ by so many bits, so that few are recorded.
_STEP = 4
# Bits of a step with which X is not improved.
_ENOUGH = 30.0


class _Expected(NamedTuple):
    """The bits of a step, and the exponent of a power of two above the condition."""

    gain: int
    condition: int


@np.errstate(all="ignore")
def solve(problem: Problem) -> Answer | None:
    """Solve square systems, or one with more rows than columns, with few right-hand sides.

    Parameters
    ----------
    problem : Problem
        The problem, without weights.

    Returns
    -------
    Answer or None
        Solutions with all digits; None where one has not, or the backend does not wait for others.
    """
    system, inputs = problem.system, problem.inputs
    (m, n), k, kind = system.a.shape[-2:], int(problem.given.shape[-1]), system.kind
    if not tuning.plans_steps(system.backend) or system.report is not None:
        return None
    if not system.is_square and (problem.batch or system.root is not None):
        return None
    if tuning.exact_residuals_are_faster(system.backend, m, n, k, kind=kind):
        return None
    start = started(problem)
    if start is None:
        return None
    inverse, expected, condition, near, powers = start
    work = partial(_refined, system=system, expected=expected, answer=inputs.precision)
    operands = system.a, inverse.x, inverse.rate, inverse.rows, near, powers, system.powers
    key = "planned steps", kind, expected, inputs.precision
    x, bound, relative, r, sizes, kept = system.backend.recorded(key, operands, work)
    (served,) = system.checks.settle(kept)
    if not served.all():
        return None
    part = Part(problem.given, near, powers, Solution(x, r, r, list(sizes)), bound)
    found = RoundedSum(x, bound, relative, kept)
    return Answer(system, [part], inputs, condition, settled=(found, served))


class Start(NamedTuple):
    """An inverse, its expected gain, conditions, and right-hand sides near 1 with powers."""

    inverse: ApproximateInverse
    expected: _Expected
    condition: np.ndarray
    b: Block
    powers: Block


def started(problem: Problem) -> Start | None:
    """Return an inverse of float64; None where it does not leave little."""
    system = problem.system
    x = from_native(system.backend.xp, system.float_inverse, system.kind.is_complex)
    found = _measured_start(problem, x, improves=False)
    if system.is_square or (found is not None and found.inverse.gain >= _ENOUGH):
        return found
    return _measured_start(problem, x, improves=True) or found


def _measured_start(problem: Problem, x: Block, *, improves: bool) -> Start | None:
    """Return X, improved or not, and all that follows from it, after a wait."""
    system = problem.system
    kind, rows = system.kind, system.rows
    operands = (system.a, x, problem.given, *(() if rows is None else (rows,)))
    work = partial(_measured, is_complex=kind.is_complex, improves=improves)
    b, powers, x, rate, sums, facts = system.backend.recorded(
        ("inverse", kind, improves), operands, work
    )
    (found,) = system.checks.settle(facts)
    largest, seen, rounding, condition = found
    condition = np.maximum(condition, 1.0)
    limit = max(problem.limit, SMALL / ROOM * problem.inputs.work.eps)
    good = (rounding <= PROOF) & (largest <= MOST) & (condition * limit < SMALL)
    if not system.is_square:
        good &= condition**2 * problem.inputs.work.eps <= ROOM
    if not good.all():
        return None
    steps = Kind(1, kind.is_complex)
    inverse = ApproximateInverse(
        system.backend, steps, system.is_square, x, rate, sums, rate, condition
    )
    inverse = replace(inverse, gain=gain_of(inverse, seen))
    gain = _STEP * max(1, floor(inverse.gain / _STEP))
    size = _STEP * (1 + floor(log2(float(condition.max())) / _STEP))
    return Start(inverse, _Expected(gain, size), condition, b, powers)


def _measured(
    backend: Backend,
    a: Block,
    x: Block,
    b: Block,
    rows: Block | None = None,
    *,
    is_complex: bool,
    improves: bool,
) -> list[Block]:
    """Return b scaled, its powers, X with bounds of its rate, and four numbers for each.

    The numbers are the rate, by bounds and as seen, rounding errors of a product with A,
    and the condition. X of more rows than columns is improved first if asked for.
    """
    near, powers = backend.balance_columns(b, rows, is_complex=is_complex)
    operand = Operand.of(backend, a, is_complex, 0.0, 1, 1, 0.0)
    absolute = operand.absolute(x)
    off, p = operand.off(x, 1, absolute), operand.product(x, 1)
    plan = Plan(1, Kind(1, is_complex), absolute, np.ones(()), off)
    if operand.is_square:
        found = operand.measured(x, p, plan)
    else:
        gram = operand.gram(x, p, plan)
        found = (gram.improved() if improves else gram).inverse
    facts = backend.xp.empty((4, *absolute.shape[:-2]))
    numbers = (found.rate, found.seen, operand.constant(1) * absolute)
    for place, number in enumerate(numbers):
        facts[place] = number[..., 0, 0]
    facts[3] = operand.condition(x)
    return [near, powers, found.x, found.rate, found.rows, facts]


def _refined(
    backend: Backend,
    a: Block,
    x: Block,
    rate: Block,
    rows: Block,
    b: Block,
    powers: Block,
    scale: Block,
    *,
    system: System,
    expected: _Expected,
    answer: Precision,
) -> list[Block]:
    """Return x with its bounds, its residual, sizes of steps, and which have all digits."""
    checks, steps = Checks(ignore=True), Kind(1, system.kind.is_complex)
    near = System(system.caller, backend, system.kind, a, checks, a, scale)
    condition = np.array(2.0**expected.condition)
    inverse = ApproximateInverse(
        backend, steps, near.is_square, x, rate, rows, rate, condition, float(expected.gain)
    )
    refinement = Refinement.of(near, inverse, b)
    solution, error, good = climb_blindly(refinement)
    found = unknowns(near, [Part(b, b, powers, solution, error)], answer)
    sizes, kept = refinement.sizes(), found.kept & good
    return [found.x, found.bound, found.relative, solution.r, sizes, kept]
