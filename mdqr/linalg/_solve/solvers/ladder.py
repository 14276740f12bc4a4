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
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.batch import Batch
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.problem import Problem
from mdqr.linalg._solve.rank import SMALL
from mdqr.linalg._solve.refine.approximate_inverse import ApproximateInverse
from mdqr.linalg._solve.refine.refinement import LEAST, Refinement, largest
from mdqr.linalg._solve.refine.rounds import approximate_inverse
from mdqr.linalg._solve.system import added

_MOST_STEPS = 100
# Bits below eps that a correction should reach, so that x is nearly always the same whatever the
# order of sums in float64; and those without which another is made. How many are made.
_WANTED, _ENOUGH = 30, 8
_CORRECTIONS = 4
# A step is as large as the one before, or nearly so: it changes rounding errors.
_IDLE, _LOST = 0.25, 0.5


@np.errstate(all="ignore")
def solve(problem: Problem, *, at_any_cost: bool = False) -> Answer | None:
    """Solve a problem with at least as many rows as columns.

    Parameters
    ----------
    problem : Problem
        The problem.
    at_any_cost : bool, optional
        Whether to refine where Householder QR would be cheaper.

    Returns
    -------
    Answer or None
        Its matrices are `kept` where steps contract, and bounds show what the precision promises;
        None where none is.
    """
    system = problem.system
    tall_weights = system.root is not None and not system.is_square
    made = approximate_inverse(
        system.backend,
        system.weighted_matrix if tall_weights else system.a,
        system.checks,
        kind=system.kind,
        # Of the root, and of the product with it.
        unit=8.0 * problem.inputs.work.eps if tall_weights else 0.0,
        at_any_cost=at_any_cost,
        watch=problem.decide_early,
    )
    if made is None:
        return None
    inverse, fast = made
    good = np.asarray(fast & (inverse.condition * problem.limit < SMALL))
    if good.all():
        return _climbed(problem, inverse)
    batch = Batch(good.shape)
    if good.any():
        items = np.nonzero(good)
        batch.add(_climbed(problem.take(items), inverse.take(items)), items)
    if fast.any() and not fast.all():
        items = np.nonzero(~fast)
        batch.add(solve(problem.take(items), at_any_cost=at_any_cost), items)
    return batch.answer(problem)


def _climbed(problem: Problem, inverse: ApproximateInverse) -> Answer | None:
    """Return the answers of a ladder."""
    system, given, callback = problem.system, problem.given, problem.callback
    if callback is not None:
        callback("factor", system.columns, system.columns)
        callback("condition", 1, 1)
    b, powers = system.backend.balance_columns(
        given, system.rows, is_complex=system.kind.is_complex
    )
    climbed = climb(Refinement.of(system, inverse, b, callback))
    if climbed is None:
        return None
    part = Part(given, b, powers, *climbed)
    return Answer(system, [part], problem.inputs, inverse.condition)


@np.errstate(all="ignore")
def climb(refinement: Refinement) -> tuple[Solution, Block] | None:
    """Solve to all limbs of the work.

    Returns
    -------
    tuple or None
        The solution, and a proven bound of the error of each component before its last rounding,
        float64 ``(..., n, k)``; None where the steps do not contract.
    """
    inverse, limbs = refinement.inverse, refinement.system.kind.limbs
    start = refinement.levels[-1].limbs if refinement.levels else min(inverse.kind.limbs, limbs)
    square, b = inverse.is_square, refinement.b
    x = refinement.solved(b if square else refinement.gradient(None, b, start))
    r = refinement.less(b, x, limbs)
    low = _limbs_of_correction(refinement)
    wanted = min(refinement.bits(limbs), _target(refinement) - refinement.bits(low))
    # The first x of seminormal equations errs by the square of the condition.
    known = refinement.gain - (0.0 if square else 0.5 * log2(refinement.growth))
    watch = _Watch(refinement, [largest(refinement.size(x))], wanted)
    while True:
        for _ in range(max(1, ceil((wanted - known) / refinement.gain))):
            dx = refinement.solved(
                r if square else refinement.gradient(None, r, limbs), max(wanted - known, 1.0)
            )
            x = refinement.add(x, dx, limbs)
            r = refinement.less(b, x, limbs) if square else refinement.less(r, dx, limbs)
            watch.sizes.append(largest(refinement.size(dx)))
            known += refinement.gain
        left = watch.left()
        if left is None or len(watch.sizes) > _MOST_STEPS:
            return None
        if left <= 0.0:
            return _finished(refinement, x, r, low, wanted)
        known = wanted - left


class _Watch:
    """The changes of the steps, each of which should be much smaller than the one before."""

    def __init__(self, refinement: Refinement, sizes: list[Block], wanted: float) -> None:
        self.refinement, self.sizes, self.wanted = refinement, sizes, wanted

    def left(self) -> float | None:
        """Return how many bits are missing of those wanted; None where nothing contracts."""
        refinement = self.refinement
        sizes = np.stack(refinement.system.checks.settle(*self.sizes))
        whole = sizes.max(axis=0)
        noise = (
            whole * 2.0 ** (4.0 - refinement.bits(refinement.system.kind.limbs)) + 2.0**20 * LEAST
        )
        ratios = sizes[1:] / sizes[:-1]
        # The first step takes what the first x left.
        ratios[0] = np.minimum(ratios[0], _LOST)
        lost = (~(ratios <= _LOST) & ~(sizes[1:] <= noise)).any(axis=(0, -1))
        if lost.all():
            return None
        rate = ratios[-1] if len(ratios) > 1 else 0.0
        rest = sizes[-1] * np.maximum(rate, 2.0**-refinement.gain)
        idle = lost[..., None] | (sizes[-1] <= noise) | (rate > _IDLE)
        missing = np.where(idle, 0.0, np.log2(rest / whole) + self.wanted)
        return float(missing.max())


def _target(refinement: Refinement) -> float:
    """Return to how many bits x and its correction should be right."""
    return -log2(precision_for(refinement.system.kind.limbs).eps) + _WANTED


def _limbs_of_correction(refinement: Refinement) -> int:
    """Return the limbs of corrections: fewer than those of the work if that nearly does."""
    limbs, target = refinement.system.kind.limbs, _target(refinement)
    if refinement.levels:
        below, bits = refinement.levels[-1]
        if refinement.bits(limbs) + bits >= target - _WANTED + _ENOUGH:
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
    refinement: Refinement, x: Block, r: Block, limbs: int, known: float
) -> tuple[Solution, Block]:
    """Correct x, `known` to so many bits, until the last rounding decides, if that helps."""
    kind, square = refinement.system.kind, refinement.inverse.is_square
    found = _corrected(refinement, x, r, limbs, known, _WANTED)
    for _ in range(_CORRECTIONS - 1):
        if found.good:
            break
        x = added(refinement.system.backend, (x, found.low), kind)
        r = r if square else refinement.less(refinement.b, x, kind.limbs)
        found = _corrected(refinement, x, r, limbs, known, _WANTED)
    rounded, error = _whole(refinement, x, r, found), found.error
    if not square and _is_nearly_exact(refinement, rounded.r, found.error):
        x, r = rounded.x, refinement.less(refinement.b, rounded.x, kind.limbs)
        limbs, known = max(kind.limbs, limbs), 53.0 * kind.limbs
        found = _corrected(refinement, x, r, limbs, known, known)
        rounded = _whole(refinement, x, r, found)
        right = _is_right(refinement, rounded.r)[..., None, None]
        error = refinement.system.backend.xp.where(right, found.error, np.inf)
    return Solution(rounded.x, rounded.r, rounded.r, refinement.sizes(), rounded.low), error


class _Whole(NamedTuple):
    """A solution, what it was rounded from less itself, and what is left of b before."""

    x: Block
    low: Block
    r: Block


def _whole(refinement: Refinement, x: Block, r: Block, found: _Corrected) -> _Whole:
    """Round the sum of x and its correction."""
    system, kind = refinement.system, refinement.system.kind
    whole, low = system.add_rounded(x, found.low, limbs=found.limbs)
    if refinement.inverse.is_square:
        return _Whole(whole, low, system.backend.xp.zeros_like(refinement.b))
    # The distance of x from what was rounded counts where little or nothing is left.
    terms = [(1, r), (1, found.f)]
    return _Whole(whole, low, system.backend.residual(terms, system.a, found.low, kind=kind))


def _is_right(refinement: Refinement, r: Block) -> Block:
    """Return where r is as right as sums of squares promise: little of it lies in A's range."""
    system = refinement.system
    eps, root = precision_for(system.kind.limbs).eps, refinement.weight_size**0.5
    inside = refinement.size(refinement.inverse.image(system.gradient([], r)))
    condition = system.backend.xp.asarray(refinement.inverse.condition)[..., None]
    most = eps * largest(root * refinement.size(r))
    most = most + eps**2 * condition * largest(root * refinement.b_size)
    return (largest(inside) <= 16.0 * most).all(axis=-1)


def _is_nearly_exact(refinement: Refinement, r: Block, error: Block) -> bool:
    """Return whether errors of x might show in a sum of squares, to which they add their own."""
    eps = precision_for(refinement.system.kind.limbs).eps
    xp = refinement.system.backend.xp
    # No square may vanish that counts.
    root = refinement.weight_size**0.5
    r, moved = root * refinement.size(r), root * (refinement.a_size @ error)
    unit = xp.maximum(largest(r), largest(moved))[..., None, :]
    least, most = (((size / unit) ** 2).sum(axis=-2) for size in (r, moved))
    least = least * eps
    return bool(refinement.system.checks.settle((most > least).any())[0])


def _corrected(
    refinement: Refinement, x: Block, r: Block, limbs: int, known: float, wanted: float
) -> _Corrected:
    """Find what is missing of x in so many limbs, from residuals as if in twice those of the work.

    It is finished when what is left is so many bits below eps, or becomes no less.
    """
    system, inverse, kind = refinement.system, refinement.inverse, refinement.system.kind
    eps, own = precision_for(kind.limbs).eps, precision_for(limbs).eps
    terms = [(1, refinement.b)] if inverse.is_square else [(1, refinement.b), (-1, r)]
    v = f = system.backend.residual(terms, system.a, x, kind=kind)
    sizes = refinement.b_size if inverse.is_square else refinement.b_size + refinement.size(r)
    error_f = refinement.products(x, sizes, eps**2) + eps * refinement.size(f)
    if not inverse.is_square:
        g = system.gradient([], r)
        # Weights are another factor, whose product with r is rounded to twice the limbs.
        error_g = 2.0 * (refinement.gradients(r, 0.0, eps**2) + eps * refinement.size(g))
        v = planes.negate(refinement.gradient(g, f, limbs), kind.is_complex)
    # The last step is the one that bounds the error.
    missing = -log2(eps) + wanted - known - inverse.gain
    low = refinement.solved_in(limbs, v, max(missing, 1.0))
    size, before = refinement.size(x), None
    for _ in range(_MOST_STEPS):
        rest = refinement.less(f, low, limbs)
        v, delta = rest, error_f + refinement.products(low, refinement.size(f), own)
        if not inverse.is_square:
            v = planes.negate(refinement.gradient(g, rest, limbs), kind.is_complex)
            delta = refinement.through(delta) + error_g
            delta = delta + refinement.gradients(rest, refinement.size(g), own)
        dx, error = inverse.correction(v, delta)
        low = refinement.add(low, dx, limbs)
        # Of the sum, and of its rounding when x is rounded.
        error = error + 3.0 * own * refinement.size(low)
        good, done = ((error <= 2.0**-bits * eps * size).all() for bits in (_ENOUGH, wanted))
        stuck = done if before is None else done | ~(error < 0.5 * before).any()
        good, stuck = system.checks.settle(good, stuck)
        if stuck:
            break
        before = error
    # Zeros are solved by zeros.
    held = scaling.largest(refinement.b_size, -2, 0.0, keepdims=True) > 0.0
    error = system.backend.xp.where(held, error, 0.0)
    return _Corrected(low, limbs, f, error, bool(good))
