"""Refinement by an approximate inverse, on a ladder of precisions, with proven bounds.

Each step adds ``X (b - A x)``, or ``X X^H A^H (b - A x)`` for more rows than columns, and leaves
``I - X A``, or ``I - (A X)^H (A X)``, of the error (A. Bjorck 1987 on seminormal equations; J.
Demmel and others 2006 on residuals). What a residual leaves is solved for in fewer limbs, by steps
of the same kind, so that there are few residuals of all limbs. The last ones are evaluated as if in
twice as many, and a correction of fewer limbs is found from them; its last step bounds what it
leaves.
"""

from __future__ import annotations

from math import ceil, log2
from typing import NamedTuple

import numpy as np

from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.operands import Callback, Inputs, precision_for
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.refine.approximate_inverse import ApproximateInverse
from mdqr.linalg._solve.refine.problem import LEAST, Problem, largest
from mdqr.linalg._solve.refine.rounds import approximate_inverse
from mdqr.linalg._solve.system import System, taken
from mdqr.linalg._solve.ways.mixed import Served, all_items

_MOST_STEPS = 100
# Bits below eps that a correction should reach, so that x is nearly always the same whatever the
# order of sums in float64; and those without which another is made. How many are made.
_WANTED, _ENOUGH = 30, 8
_CORRECTIONS = 4
# A step is as large as the one before, or nearly so: it changes rounding errors.
_IDLE, _LOST = 0.25, 0.5
# The condition is an estimate.
SMALL = 0.1


@np.errstate(all="ignore")
def refined(
    system: System,
    given: Block,
    inputs: Inputs,
    limit: float,
    callback: Callback | None = None,
    *,
    at_any_cost: bool,
) -> list[Served]:
    """Solve scaled problems by approximate inverses.

    Parameters
    ----------
    system : System
        The problems, not empty, which need not be factored.
    given : Block
        Their right-hand sides ``(..., m, k)`` as they came, with the batch of the system.
    inputs : Inputs
        The operands, for the precisions.
    limit : float
        Matrices whose condition times this is not small are left to who decides about ranks.
    callback : callable, optional
        Called as ``callback("refine", done, total)``.
    at_any_cost : bool
        Whether to refine where Householder QR would be cheaper.

    Returns
    -------
    list of Served
        Answers for all matrices where steps contract, and bounds show what the precision promises.
    """
    tall_weights = system.root is not None and not system.is_square
    found = approximate_inverse(
        system.backend,
        system.weighted_matrix if tall_weights else system.a,
        system.checks,
        kind=system.kind,
        # Of the root, and of the product with it.
        unit=8.0 * inputs.work.eps if tall_weights else 0.0,
        at_any_cost=at_any_cost,
    )
    if found is None:
        return []
    inverse, fast = found
    condition, lead = inverse.condition, system.kind.lead
    good, served = fast & (condition * limit < SMALL), []
    if good.all():
        answer = _climbed(system, given, inverse, inputs, callback)
        return [] if answer is None else Served.of(answer, condition, all_items(good.shape))
    if good.any():
        items = np.nonzero(good)
        part = system.take(items), taken(given, lead, items), inverse.take(items)
        answer = _climbed(*part, inputs, callback)
        served = [] if answer is None else Served.of(answer, condition, items)
    if fast.any() and not fast.all():
        rest = np.nonzero(~fast)
        others = refined(
            system.take(rest),
            taken(given, lead, rest),
            inputs,
            limit,
            callback,
            at_any_cost=at_any_cost,
        )
        served += [part.within(rest) for part in others]
    return served


def _climbed(
    system: System,
    given: Block,
    inverse: ApproximateInverse,
    inputs: Inputs,
    callback: Callback | None,
) -> Answer | None:
    """Return the answers of a ladder."""
    if callback is not None:
        callback("factor", system.columns, system.columns)
        callback("condition", 1, 1)
    b, powers = system.backend.balance_columns(
        given, system.rows, is_complex=system.kind.is_complex
    )
    climbed = climb(Problem.of(system, inverse, b, callback))
    if climbed is None:
        return None
    solution, error = climbed
    return Answer(system, [Part(given, b, powers, solution, error)], inputs)


@np.errstate(all="ignore")
def climb(problem: Problem) -> tuple[Solution, Block] | None:
    """Solve to all limbs of the work.

    Returns
    -------
    tuple or None
        The solution, and a proven bound of the error of each component before its last rounding,
        float64 ``(..., n, k)``; None where the steps do not contract.
    """
    inverse, limbs = problem.inverse, problem.system.kind.limbs
    start = problem.levels[-1].limbs if problem.levels else min(inverse.kind.limbs, limbs)
    square, b = inverse.is_square, problem.b
    x = problem.solved(b if square else problem.gradient(None, b, start))
    r = problem.less(b, x, limbs)
    low = _limbs_of_correction(problem)
    wanted = min(problem.bits(limbs), _target(problem) - problem.bits(low))
    # The first x of seminormal equations errs by the square of the condition.
    known = problem.gain - (0.0 if square else 0.5 * log2(problem.growth))
    watch = _Watch(problem, [largest(problem.size(x))], wanted)
    while True:
        for _ in range(max(1, ceil((wanted - known) / problem.gain))):
            dx = problem.solved(
                r if square else problem.gradient(None, r, limbs), max(wanted - known, 1.0)
            )
            x = problem.add(x, dx, limbs)
            r = problem.less(b, x, limbs) if square else problem.less(r, dx, limbs)
            watch.sizes.append(largest(problem.size(dx)))
            known += problem.gain
        left = watch.left()
        if left is None or len(watch.sizes) > _MOST_STEPS:
            return None
        if left <= 0.0:
            return _finished(problem, x, r, low, wanted)
        known = wanted - left


class _Watch:
    """What steps change, of which each should change much less than the one before."""

    def __init__(self, problem: Problem, sizes: list[Block], wanted: float) -> None:
        self.problem, self.sizes, self.wanted = problem, sizes, wanted

    def left(self) -> float | None:
        """Return how many bits are missing of those wanted; None where nothing contracts."""
        problem = self.problem
        sizes = np.stack(problem.system.checks.settle(*self.sizes))
        whole = sizes.max(axis=0)
        noise = whole * 2.0 ** (4.0 - problem.bits(problem.system.kind.limbs)) + 2.0**20 * LEAST
        ratios = sizes[1:] / sizes[:-1]
        # The first step takes what the first x left.
        ratios[0] = np.minimum(ratios[0], _LOST)
        lost = (~(ratios <= _LOST) & ~(sizes[1:] <= noise)).any(axis=(0, -1))
        if lost.all():
            return None
        rate = ratios[-1] if len(ratios) > 1 else 0.0
        rest = sizes[-1] * np.maximum(rate, 2.0**-problem.gain)
        idle = lost[..., None] | (sizes[-1] <= noise) | (rate > _IDLE)
        missing = np.where(idle, 0.0, np.log2(rest / whole) + self.wanted)
        return float(missing.max())


def _target(problem: Problem) -> float:
    """Return to how many bits x and its correction should be right."""
    return -log2(precision_for(problem.system.kind.limbs).eps) + _WANTED


def _limbs_of_correction(problem: Problem) -> int:
    """Return the limbs of corrections: fewer than those of the work if that nearly does."""
    limbs, target = problem.system.kind.limbs, _target(problem)
    if problem.levels:
        below, bits = problem.levels[-1]
        if problem.bits(limbs) + bits >= target - _WANTED + _ENOUGH:
            return below
    return max(limbs, 2)


class _Corrected(NamedTuple):
    """A correction, what x and r leave, a bound of its error, and whether it will do."""

    low: Block
    limbs: int
    f: Block
    error: Block
    good: bool


def _finished(
    problem: Problem, x: Block, r: Block, limbs: int, known: float
) -> tuple[Solution, Block]:
    """Correct x, `known` to so many bits, until the last rounding decides, if that helps."""
    kind, square = problem.system.kind, problem.inverse.is_square
    found = _corrected(problem, x, r, limbs, known, _WANTED)
    for _ in range(_CORRECTIONS - 1):
        if found.good:
            break
        x = _rounded(problem, kind, x, found.low)
        r = r if square else problem.less(problem.b, x, kind.limbs)
        found = _corrected(problem, x, r, limbs, known, _WANTED)
    rounded, error = _whole(problem, x, r, found), found.error
    if not square and _is_nearly_exact(problem, rounded.r, found.error):
        x, r = rounded.x, problem.less(problem.b, rounded.x, kind.limbs)
        limbs, known = max(kind.limbs, limbs), 53.0 * kind.limbs
        found = _corrected(problem, x, r, limbs, known, known)
        rounded = _whole(problem, x, r, found)
        right = _is_right(problem, rounded.r)[..., None, None]
        error = problem.system.backend.xp.where(right, found.error, np.inf)
    return Solution(rounded.x, rounded.r, rounded.r, problem.sizes(), rounded.low), error


class _Whole(NamedTuple):
    """A solution, what it was rounded from less itself, and what is left of b before."""

    x: Block
    low: Block
    r: Block


def _whole(problem: Problem, x: Block, r: Block, found: _Corrected) -> _Whole:
    """Round the sum of x and its correction."""
    system, kind = problem.system, problem.system.kind
    whole = _rounded(problem, kind, x, found.low)
    negative = planes.negate(whole, kind.is_complex)
    low = _rounded(problem, kind._replace(limbs=found.limbs), x, found.low, negative)
    if problem.inverse.is_square:
        return _Whole(whole, low, system.backend.xp.zeros_like(problem.b))
    # The distance of x from what was rounded counts where little or nothing is left.
    terms = [(1, r), (1, found.f)]
    return _Whole(whole, low, system.backend.residual(terms, system.a, found.low, kind=kind))


def _is_right(problem: Problem, r: Block) -> Block:
    """Return where r is as right as sums of squares promise: little of it lies in A's range."""
    system = problem.system
    eps, root = precision_for(system.kind.limbs).eps, problem.weight_size**0.5
    inside = problem.size(problem.inverse.image(system.gradient([], r)))
    condition = system.backend.xp.asarray(problem.inverse.condition)[..., None]
    most = eps * largest(root * problem.size(r))
    most = most + eps**2 * condition * largest(root * problem.b_size)
    return (largest(inside) <= 16.0 * most).all(axis=-1)


def _is_nearly_exact(problem: Problem, r: Block, error: Block) -> bool:
    """Return whether errors of x might show in a sum of squares, to which they add their own."""
    eps = precision_for(problem.system.kind.limbs).eps
    xp = problem.system.backend.xp
    # No square may vanish that counts.
    root = problem.weight_size**0.5
    r, moved = root * problem.size(r), root * (problem.a_size @ error)
    unit = xp.maximum(largest(r), largest(moved))[..., None, :]
    least, most = (((size / unit) ** 2).sum(axis=-2) for size in (r, moved))
    least = least * eps
    return bool(problem.system.checks.settle((most > least).any())[0])


def _rounded(problem: Problem, kind: Kind, *blocks: Block) -> Block:
    """Return the sum of blocks, correctly rounded."""
    backend = problem.system.backend
    return backend.unary(
        "renormalize", backend.xp.concatenate(blocks, axis=kind.lead - 1), kind=kind
    )


def _corrected(
    problem: Problem, x: Block, r: Block, limbs: int, known: float, wanted: float
) -> _Corrected:
    """Find what is missing of x in so many limbs, from residuals as if in twice those of the work.

    It is finished when what is left is so many bits below eps, or becomes no less.
    """
    system, inverse, kind = problem.system, problem.inverse, problem.system.kind
    eps, own = precision_for(kind.limbs).eps, precision_for(limbs).eps
    terms = [(1, problem.b)] if inverse.is_square else [(1, problem.b), (-1, r)]
    v = f = system.backend.residual(terms, system.a, x, kind=kind)
    sizes = problem.b_size if inverse.is_square else problem.b_size + problem.size(r)
    error_f = problem.products(x, sizes, eps**2) + eps * problem.size(f)
    if not inverse.is_square:
        g = system.gradient([], r)
        # Weights are another factor, whose product with r is rounded to twice the limbs.
        error_g = 2.0 * (problem.gradients(r, 0.0, eps**2) + eps * problem.size(g))
        v = planes.negate(problem.gradient(g, f, limbs), kind.is_complex)
    # The last step is the one that bounds the error.
    missing = -log2(eps) + wanted - known - inverse.gain
    low = problem.solved_in(limbs, v, max(missing, 1.0))
    size, before = problem.size(x), None
    for _ in range(_MOST_STEPS):
        rest = problem.less(f, low, limbs)
        v, delta = rest, error_f + problem.products(low, problem.size(f), own)
        if not inverse.is_square:
            v = planes.negate(problem.gradient(g, rest, limbs), kind.is_complex)
            delta = problem.through(delta) + error_g
            delta = delta + problem.gradients(rest, problem.size(g), own)
        dx, error = inverse.correction(v, delta)
        low = problem.add(low, dx, limbs)
        # Of the sum, and of its rounding when x is rounded.
        error = error + 3.0 * own * problem.size(low)
        good, done = ((error <= 2.0**-bits * eps * size).all() for bits in (_ENOUGH, wanted))
        stuck = done if before is None else done | ~(error < 0.5 * before).any()
        good, stuck = system.checks.settle(good, stuck)
        if stuck:
            break
        before = error
    # Zeros are solved by zeros.
    held = scaling.largest(problem.b_size, -2, 0.0, keepdims=True) > 0.0
    error = system.backend.xp.where(held, error, 0.0)
    return _Corrected(low, limbs, f, error, bool(good))
