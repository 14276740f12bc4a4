"""Refinement by an approximate inverse, on a ladder of precisions, with proven bounds.

Each step adds ``X (b - A x)``, or ``X X^H A^H (b - A x)`` for more rows than columns, and leaves
``I - X A``, or ``I - (A X)^H (A X)``, of the error (A. Bjorck 1987 on seminormal equations; J.
Demmel and others 2006 on residuals). What a residual leaves is solved for in fewer limbs, by steps
of the same kind, so that there are few residuals of all limbs. The last ones are evaluated as if in
twice as many, and a correction of fewer limbs is found from them; its last step bounds what it
leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, inf, log2
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_all, is_any, total
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._inverse.approximate_inverse import UP, ApproximateInverse
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.residual import residual
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.system import System, added

# The fewest bits that residuals of a level have to give.
_LEVEL = 20.0
# Nothing here is below: subnormal numbers may count as zeros to the caller.
LEAST = 2.0**-1000
# A step that would gain no more than this part of what others do is not taken.
_REST = 0.2
_MOST_STEPS = 100
# Bits below eps that a correction should reach, so that x is nearly always the same whatever the
# order of sums in float64; and those without which another is made. How many are made.
_WANTED, _ENOUGH = 30, 8
_CORRECTIONS = 4
# A step is as large as the one before, or nearly so: it changes rounding errors.
_IDLE, _LOST = 0.25, 0.5


class Level(NamedTuple):
    """Residuals of so many limbs, and the bits to which they solve."""

    limbs: int
    bits: float


@dataclass(frozen=True)
class Refinement:
    """A scaled problem, its approximate inverse, and right-hand sides near 1.

    The sizes are moduli of leading limbs; that of the weights is 1.0 for none. `steps` gets the
    leading limbs of every step.
    """

    system: System
    inverse: ApproximateInverse
    b: Block
    a_size: Block
    b_size: Block
    weight_size: Block | float
    steps: list[Block] = field(default_factory=list)

    @classmethod
    def of(cls, system: System, inverse: ApproximateInverse, b: Block) -> Refinement:
        """Compute the sizes."""
        weight = 1.0 if system.weight is None else system.size(system.weight)
        return cls(system, inverse, b, system.size(system.a), system.size(b), weight)

    @cached_property
    def growth(self) -> float:
        """The factor by which errors of residuals grow in bounds."""
        return float(self.inverse.condition.max()) ** (1 if self.inverse.is_square else 2)

    def bits(self, limbs: int) -> float:
        """Return to how many bits residuals of so many limbs solve."""
        return -log2(self.growth * precision_for(limbs).eps)

    @cached_property
    def levels(self) -> list[Level]:
        """The levels that solve a problem to the bits of the last one, with shorter residuals."""
        most, found = self.inverse.gain, []
        for precision in PRECISIONS:
            if 1 < precision.limbs < self.system.kind.limbs:
                bits = self.bits(precision.limbs)
                if bits >= max(_LEVEL, most):
                    found.append(Level(precision.limbs, bits))
                    most = bits
        return found

    @property
    def gain(self) -> float:
        """The bits to which `solved` solves by all levels."""
        return self.levels[-1].bits if self.levels else self.inverse.gain

    def solved(self, c: Block, bits: float = inf, levels: list[Level] | None = None) -> Block:
        """Return x near that of ``A x = c``, or ``A^H W A x = c``, to `bits` or what levels give.

        A level adds what the levels below find from residuals of its limbs.
        """
        levels = self.levels if levels is None else levels
        below = levels[-2].bits if len(levels) > 1 else self.inverse.gain
        if levels and below >= bits:
            return self.solved(c, bits, levels[:-1])
        if not levels:
            return self._step(c)
        (limbs, most), levels = levels[-1], levels[:-1]
        x, known, most = self.solved(c, inf, levels), below, min(most, bits)
        while known + _REST * below < most:
            if self.inverse.is_square:
                rest = self.less(c, x, limbs)
            else:
                rest = self.gradient(c, self.image(x, limbs), limbs)
            x = self.add(x, self.solved(rest, most - known, levels), limbs)
            known += below
        return x

    def solved_in(self, limbs: int, c: Block, bits: float) -> Block:
        """Return the result of `solved` from residuals of at most so many limbs."""
        below = [level for level in self.levels if level.limbs < limbs]
        return self.solved(c, bits, [*below, Level(limbs, self.bits(limbs))])

    def _step(self, c: Block) -> Block:
        """Return the change of one step, and record it."""
        x = self.inverse.times(c)
        self.steps.append(to_native(self.system.backend.xp, x, self.system.kind.is_complex))
        if len(self.steps) > 1:
            self.system.tell("refine", len(self.steps) - 1, None)
        return x

    def sizes(self) -> list[Block]:
        """Return the largest component of every step, ``(..., k)``."""
        xp = self.system.backend.xp
        return list(largest(xp.abs(xp.stack(self.steps))))

    def size(self, block: Block) -> Block:
        """Return the moduli of the leading limbs."""
        return self.system.size(block)

    def image(self, x: Block, limbs: int) -> Block:
        """Return ``A x``, computed in so many limbs."""
        kind = Kind(limbs, self.system.kind.is_complex)
        a, x = (planes.first_limbs(block, kind.is_complex, limbs) for block in (self.system.a, x))
        return self.system.backend.matmul(a, x, kind=kind)

    def less(self, c: Block, x: Block, limbs: int) -> Block:
        """Return ``c - A x``, computed in so many limbs."""
        return self._less(c, self.system.a, x, limbs, adjoint=False)

    def gradient(self, c: Block | None, r: Block, limbs: int) -> Block:
        """Return ``c - A^H W r``, computed in so many limbs; without c ``A^H W r``."""
        if self.system.weight is not None:
            field = self.system.kind.is_complex
            pair = (planes.first_limbs(block, field, limbs) for block in (self.system.weight, r))
            r = self.system.backend.binary("multiply", *pair, kind=Kind(limbs, field))
        return self._less(c, self.system.a.swapaxes(-1, -2), r, limbs, adjoint=True)

    def _less(self, c: Block | None, a: Block, x: Block, limbs: int, *, adjoint: bool) -> Block:
        field = self.system.kind.is_complex
        a, x = (planes.first_limbs(block, field, limbs) for block in (a, x))
        c = None if c is None else planes.first_limbs(c, field, limbs)
        kind, subtract = Kind(limbs, field), c is not None
        options: dict[str, Any] = {"conj_a": adjoint, "c": c, "subtract": subtract, "kind": kind}
        backend, (m, k), n = self.system.backend, map(int, a.shape[-2:]), int(x.shape[-1])
        if tuning.exact_residuals_are_faster(backend, m, k, n, kind=kind):
            return exact.matmul(backend, a, x, **options)
        return backend.matmul(a, x, **options)

    def add(self, x: Block, dx: Block, limbs: int) -> Block:
        """Return ``x + dx`` in so many limbs."""
        kind = Kind(limbs, self.system.kind.is_complex)
        x, dx = (planes.first_limbs(block, kind.is_complex, limbs) for block in (x, dx))
        return self.system.backend.binary("add", x, dx, kind=kind)

    def products(self, x: Block, c: Block, eps: float) -> Block:
        """Bound the error of ``c - A x`` whose terms have errors of eps, where `c` are sizes."""
        return self._products(self.a_size, self.size(x), c, eps)

    def gradients(self, r: Block, c: Block, eps: float) -> Block:
        """Bound the error of ``c - A^H W r``, of terms with errors of eps, where `c` are sizes."""
        size = self.weight_size * self.size(r)
        return self._products(self.a_size.swapaxes(-1, -2), size, c, eps)

    def through(self, delta: Block) -> Block:
        """Return the largest changes of ``A^H W r`` by errors of r of at most `delta`."""
        return self.a_size.swapaxes(-1, -2) @ (self.weight_size * delta)

    def _products(self, a: Block, size: Block, c: Block, eps: float) -> Block:
        # What underflows: of products of limbs, and of limbs when a and b were scaled.
        tiny = LEAST * (1.0 + scaling.largest(size, -2, 0.0, keepdims=True))
        factor = (a.shape[-1] + 12) * (2 if self.system.kind.is_complex else 1)
        return factor * (eps * (a @ size + c) + tiny) * UP


def largest(sizes: Block) -> Block:
    """Return the largest component of each column, at least the smallest double."""
    return scaling.largest(sizes, -2, 0.0) + LEAST


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
    """True where the part of r in the range of A is as small as sums of squares require."""
    system = refinement.system
    eps, root = precision_for(system.kind.limbs).eps, refinement.weight_size**0.5
    inside = refinement.size(refinement.inverse.image(system.gradient([], r)))
    condition = system.backend.xp.asarray(refinement.inverse.condition)[..., None]
    most = eps * largest(root * refinement.size(r))
    most = most + square_of(eps) * condition * largest(root * refinement.b_size)
    return (largest(inside) <= 16.0 * most).all(axis=-1)


def _is_nearly_exact(refinement: Refinement, r: Block, error: Block) -> bool:
    """True if errors of x might show in a sum of squares, to which they add their own."""
    eps = precision_for(refinement.system.kind.limbs).eps
    xp = refinement.system.backend.xp
    # No square may vanish that counts.
    root = refinement.weight_size**0.5
    r, moved = root * refinement.size(r), root * (refinement.a_size @ error)
    unit = xp.maximum(largest(r), largest(moved))[..., None, :]
    least, most = (total((size / unit) ** 2, -2) for size in (r, moved))
    least = least * eps
    return bool(refinement.system.checks.settle(is_any(most > least))[0])


def _corrected(
    refinement: Refinement, x: Block, r: Block, limbs: int, known: float, wanted: float
) -> _Corrected:
    """Return the correction of x in so many limbs, by residuals as if in twice the working limbs.

    It is finished when what is left is so many bits below eps, or becomes no less.
    """
    system, inverse, kind = refinement.system, refinement.inverse, refinement.system.kind
    eps, own = precision_for(kind.limbs).eps, precision_for(limbs).eps
    if inverse.is_square:
        f = residual(system.backend, refinement.b, system.a, x, kind=kind)
    else:
        terms = [(1, refinement.b), (-1, r)]
        f = system.backend.residual(terms, system.a, x, kind=kind)
    v = f
    sizes = refinement.b_size if inverse.is_square else refinement.b_size + refinement.size(r)
    error_f = refinement.products(x, sizes, square_of(eps)) + eps * refinement.size(f)
    if not inverse.is_square:
        g = system.gradient([], r)
        # Weights are another factor, whose product with r is rounded to twice the limbs.
        error_g = 2.0 * (refinement.gradients(r, 0.0, square_of(eps)) + eps * refinement.size(g))
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
        good, done = (is_all(error <= 2.0**-bits * eps * size) for bits in (_ENOUGH, wanted))
        stuck = done if before is None else done | ~is_any(error < 0.5 * before)
        good, stuck = system.checks.settle(good, stuck)
        if stuck:
            break
        before = error
    # Zeros are solved by zeros.
    held = scaling.largest(refinement.b_size, -2, 0.0, keepdims=True) > 0.0
    error = system.backend.xp.where(held, error, 0.0)
    return _Corrected(low, limbs, f, error, bool(good))
