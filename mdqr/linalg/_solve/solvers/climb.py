"""Steps of refinement until a solution has all limbs, and corrections that bound its errors."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import NamedTuple

import numpy as np

from mdqr._limbs.folds import is_all, is_any, total
from mdqr._limbs.planes import Block
from mdqr.linalg._inverse import split
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.refinement import ENOUGH, LEAST, Corrected, Correction, Refinement, largest
from mdqr.linalg._solve.system import added

_MOST_STEPS = 100
# Bits below eps that a correction should reach, so that x is nearly always the same whatever the
# order of sums in float64. How many corrections are made.
_WANTED = 30
_CORRECTIONS = 4
# A step is as large as the one before, or nearly so: it changes rounding errors.
_IDLE, _LOST = 0.25, 0.5


@dataclass
class _Climb:
    """A solution x, `known` to so many bits, its residual r, and how far it has to go.

    Corrections have `low` limbs, and begin from `wanted` bits. `sizes` belong to the steps.
    """

    refinement: Refinement
    x: Block
    r: Block
    low: int
    wanted: float
    known: float
    sizes: list[Block]

    @classmethod
    def of(cls, refinement: Refinement) -> _Climb:
        """Begin by the first solution."""
        inverse, limbs = refinement.inverse, refinement.system.kind.limbs
        start = refinement.levels[-1].limbs if refinement.levels else min(inverse.kind.limbs, limbs)
        square, b = inverse.is_square, refinement.b
        x = refinement.solved(b if square else refinement.gradient(None, b, start))
        r = refinement.less(b, x, limbs)
        low = _limbs_of_correction(refinement)
        wanted = min(refinement.bits(limbs), _target(refinement) - refinement.bits(low))
        # The first x of seminormal equations errs by the square of the condition.
        known = refinement.gain - (0.0 if square else 0.5 * log2(refinement.growth))
        return cls(refinement, x, r, low, wanted, known, [largest(refinement.size(x))])

    def advance(self) -> None:
        """Take the steps that should do."""
        refinement, limbs = self.refinement, self.refinement.system.kind.limbs
        square, b = refinement.inverse.is_square, refinement.b
        for _ in range(max(1, ceil((self.wanted - self.known) / refinement.gain))):
            r = self.r if square else refinement.gradient(None, self.r, limbs)
            dx = refinement.solved(r, max(self.wanted - self.known, 1.0))
            self.x = refinement.add(self.x, dx, limbs)
            self.r = (
                refinement.less(b, self.x, limbs) if square else refinement.less(self.r, dx, limbs)
            )
            self.sizes.append(largest(refinement.size(dx)))
            self.known += refinement.gain


@np.errstate(all="ignore")
def climb(refinement: Refinement) -> tuple[Solution, Block] | None:
    """Solve to all limbs of the work.

    Returns
    -------
    tuple or None
        The solution, and a proven bound of the error of each component before its last rounding,
        float64 ``(..., n, k)``; None where the steps do not contract.
    """
    climb = _Climb.of(refinement)
    watch = _Watch(refinement, climb.sizes, climb.wanted)
    while True:
        climb.advance()
        left = watch.left()
        if left is None or len(watch.sizes) > _MOST_STEPS:
            return None
        if left <= 0.0:
            return _finished(refinement, climb.x, climb.r, climb.low, climb.wanted)
        climb.known = climb.wanted - left


@np.errstate(all="ignore")
def climb_blindly(refinement: Refinement) -> tuple[Solution, Block, Block]:
    """Solve by the steps that should do, without a look at them.

    Returns
    -------
    tuple
        The solution and the bound as `climb` finds them, and whether they are as good, a bool of
        the batch shape: not where so little is left of b that it takes another correction.
    """
    climb = _Climb.of(refinement)
    climb.advance()
    correction = Correction.of(refinement, climb.x, climb.r, climb.low, climb.wanted, _WANTED)
    correction.step()
    good = correction.is_enough()
    found = correction.found(good)
    rounded = _whole(refinement, climb.x, climb.r, found)
    if not refinement.inverse.is_square:
        good = good & ~_is_nearly_exact(refinement, rounded.r, found.error)
    return Solution(rounded.x, rounded.r, rounded.r, [], rounded.low), found.error, good


class _Watch:
    """The changes of the steps, each of which should be much smaller than the one before."""

    def __init__(self, refinement: Refinement, sizes: list[Block], wanted: float) -> None:
        self.refinement, self.sizes, self.wanted = refinement, sizes, wanted

    def left(self) -> float | None:
        """Return the number of bits that the solution lacks; None if nothing contracts."""
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
        if refinement.bits(limbs) + bits >= target - _WANTED + ENOUGH:
            return below
    return max(limbs, 2)


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
    checks = refinement.system.checks
    if not square and checks.settle(_is_nearly_exact(refinement, rounded.r, found.error))[0]:
        x, r = rounded.x, refinement.less(refinement.b, rounded.x, kind.limbs)
        limbs, known = max(kind.limbs, limbs), 53.0 * kind.limbs
        found = _corrected(refinement, x, r, limbs, known, known)
        rounded = _whole(refinement, x, r, found)
        right = _is_right(refinement, rounded.r)[..., None, None]
        error = refinement.system.backend.xp.where(right, found.error, np.inf)
    sizes = list(refinement.sizes())
    return Solution(rounded.x, rounded.r, rounded.r, sizes, rounded.low), error


class _Whole(NamedTuple):
    """A solution, what it was rounded from less itself, and what is left of b before."""

    x: Block
    low: Block
    r: Block


def _whole(refinement: Refinement, x: Block, r: Block, found: Corrected) -> _Whole:
    """Round the sum of x and its correction."""
    system, kind = refinement.system, refinement.system.kind
    whole, low = system.add_rounded(x, found.low, limbs=found.limbs)
    if refinement.inverse.is_square:
        return _Whole(whole, low, system.backend.xp.zeros_like(refinement.b))
    # The distance of x from what was rounded counts where little or nothing is left.
    terms = [(1, r), (1, found.f)]
    return _Whole(whole, low, system.backend.residual(terms, system.a, found.low, kind=kind))


def _is_right(refinement: Refinement, r: Block) -> Block:
    """True where the part of r in the range of A is as small as sums of squares require."""
    system = refinement.system
    eps, root = precision_for(system.kind.limbs).eps, refinement.weight_size**0.5
    inside = refinement.size(refinement.inverse.image(system.gradient([], r)))
    condition = system.backend.xp.asarray(refinement.inverse.condition)[..., None]
    most = eps * largest(root * refinement.size(r))
    # Of more than eight limbs eps^2 is below the range: residuals are right to what is left of it.
    square = max(square_of(eps), LEAST)
    most = most + square * condition * largest(root * refinement.b_size)
    return (largest(inside) <= 16.0 * most).all(axis=-1)


def _is_nearly_exact(refinement: Refinement, r: Block, error: Block) -> Block:
    """Return True, 0-d, if errors of x might show in a sum of squares, to which they add theirs."""
    eps = precision_for(refinement.system.kind.limbs).eps
    xp = refinement.system.backend.xp
    # No square may vanish that counts.
    root = refinement.weight_size**0.5
    r, moved = (
        root * refinement.size(r),
        root * split.multiplied(refinement.system.backend, refinement.a_size, error),
    )
    unit = xp.maximum(largest(r), largest(moved))[..., None, :]
    least, most = (total((size / unit) ** 2, -2) for size in (r, moved))
    least = least * eps
    return is_any(most > least)


def _corrected(
    refinement: Refinement, x: Block, r: Block, limbs: int, known: float, wanted: float
) -> Corrected:
    """Return the correction of x in so many limbs, by residuals as if in twice the working limbs.

    It is finished when what is left is so many bits below eps, or becomes no less.
    """
    correction, before = Correction.of(refinement, x, r, limbs, known, wanted), None
    for _ in range(_MOST_STEPS):
        correction.step()
        good, done = (is_all(correction.reaches(bits)) for bits in (ENOUGH, wanted))
        stuck = done if before is None else done | ~is_any(correction.error < 0.5 * before)
        good, stuck = refinement.system.checks.settle(good, stuck)
        if stuck:
            break
        before = correction.error
    return correction.found(bool(good))
