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
from math import inf, log2
from typing import Any, NamedTuple

from mdqr._backend.blocks import to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_all
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._inverse import split
from mdqr.linalg._inverse.approximate_inverse import UP, ApproximateInverse
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.residual import residual
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._solve.system import System

# The fewest bits that residuals of a level have to give.
_LEVEL = 20.0
# Nothing here is below: subnormal numbers may count as zeros to the caller.
LEAST = 2.0**-1000
# A step that would gain no more than this part of what others do is not taken.
_REST = 0.2
# Bits below eps without which a correction is improved, or another is made.
ENOUGH = 8


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

    def sizes(self) -> Block:
        """Return the largest component of every step, ``(steps, ..., k)``."""
        # Of many arrays CuPy's `stack` takes a table from host memory, which no recording keeps.
        steps = self.system.backend.xp.empty((len(self.steps), *self.steps[0].shape))
        for place, step in enumerate(self.steps):
            steps[place] = abs(step)
        return largest(steps)

    def size(self, block: Block) -> Block:
        """Return the moduli of the leading limbs."""
        return self.system.size(block)

    def remainder(self, x: Block) -> Block:
        """Return ``b - A x``, each entry rounded once."""
        system = self.system
        return residual(system.backend, self.b, system.a, x, kind=system.kind)

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
        turned = self.a_size.swapaxes(-1, -2)
        return split.multiplied(self.system.backend, turned, self.weight_size * delta)

    def _products(self, a: Block, size: Block, c: Block, eps: float) -> Block:
        # What underflows: of products of limbs, and of limbs when a and b were scaled.
        tiny = LEAST * (1.0 + scaling.largest(size, -2, 0.0, keepdims=True))
        factor = (a.shape[-1] + 12) * (2 if self.system.kind.is_complex else 1)
        return factor * (eps * (self._sums(a, size) + c) + tiny) * UP

    def _sums(self, a: Block, size: Block) -> Block:
        return split.multiplied(self.system.backend, a, size)


def largest(sizes: Block) -> Block:
    """Return the largest component of each column, at least the smallest double."""
    return scaling.largest(sizes, -2, 0.0) + LEAST


class Corrected(NamedTuple):
    """A correction, what x and r leave, a bound of its error, and whether it will do."""

    low: Block
    limbs: int
    f: Block
    error: Block
    good: Any


@dataclass
class Correction:
    """A correction `low` of x in so many limbs, from a residual f within `error_f`."""

    refinement: Refinement
    limbs: int
    size: Block
    f: Block
    error_f: Block
    gradient: tuple[Block, Block] | None
    low: Block
    error: Block | None = None

    @classmethod
    def of(
        cls, refinement: Refinement, x: Block, r: Block, limbs: int, known: float, wanted: float
    ) -> Correction:
        """Begin by residuals as if in twice the working limbs, of an x `known` to so many bits."""
        system, inverse, kind = refinement.system, refinement.inverse, refinement.system.kind
        eps, gradient = precision_for(kind.limbs).eps, None
        if inverse.is_square:
            f = refinement.remainder(x)
        else:
            terms = [(1, refinement.b), (-1, r)]
            f = system.backend.residual(terms, system.a, x, kind=kind)
        v = f
        sizes = refinement.b_size if inverse.is_square else refinement.b_size + refinement.size(r)
        error_f = refinement.products(x, sizes, square_of(eps)) + eps * refinement.size(f)
        if not inverse.is_square:
            g = system.gradient([], r)
            # Weights are another factor, whose product with r is rounded to twice the limbs.
            error_g = refinement.gradients(r, 0.0, square_of(eps)) + eps * refinement.size(g)
            gradient = g, 2.0 * error_g
            v = planes.negate(refinement.gradient(g, f, limbs), kind.is_complex)
        # The last step is the one that bounds the error.
        missing = -log2(eps) + wanted - known - inverse.gain
        low = refinement.solved_in(limbs, v, max(missing, 1.0))
        return cls(refinement, limbs, refinement.size(x), f, error_f, gradient, low)

    def step(self) -> None:
        """Improve the correction, and bound its error."""
        refinement, own = self.refinement, precision_for(self.limbs).eps
        dx, error = self.bounded(refinement.less(self.f, self.low, self.limbs))
        self.low = refinement.add(self.low, dx, self.limbs)
        # Of the sum, and of its rounding when x is rounded.
        self.error = error + 3.0 * own * refinement.size(self.low)

    def bounded(self, rest: Block) -> tuple[Block, Block]:
        """Return the step for a rest ``f - A low``, and a bound of the error behind it."""
        refinement, own, v = self.refinement, precision_for(self.limbs).eps, rest
        delta = self.error_f + refinement.products(self.low, refinement.size(self.f), own)
        if self.gradient is not None:
            g, error_g = self.gradient
            v = refinement.gradient(g, rest, self.limbs)
            v = planes.negate(v, refinement.system.kind.is_complex)
            delta = refinement.through(delta) + error_g
            delta = delta + refinement.gradients(rest, refinement.size(g), own)
        return refinement.inverse.correction(v, delta)

    def reaches(self, bits: float) -> Block:
        """Return True for components with errors so many bits below eps."""
        eps = precision_for(self.refinement.system.kind.limbs).eps
        return self.error <= 2.0**-bits * eps * self.size

    def is_enough(self) -> Block:
        """Return True if all errors are as small as a climb demands, of the batch shape."""
        return is_all(self.reaches(ENOUGH), (-2, -1))

    def found(self, good: Any) -> Corrected:
        """Return the correction; zeros are solved by zeros."""
        xp = self.refinement.system.backend.xp
        held = scaling.largest(self.refinement.b_size, -2, 0.0, keepdims=True) > 0.0
        error = xp.where(held, self.error, 0.0)
        return Corrected(self.low, self.limbs, self.f, error, good)
