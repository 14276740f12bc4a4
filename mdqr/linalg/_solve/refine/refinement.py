"""Scaled problems with their approximate inverses: products, nested steps, errors of residuals."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log2
from typing import NamedTuple

from mdqr._backend.blocks import to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._shared.operands import Callback, precision_for
from mdqr.linalg._solve.refine.approximate_inverse import UP, ApproximateInverse
from mdqr.linalg._solve.system import System

# The fewest bits that residuals of a level have to give.
_LEVEL = 20.0
# Nothing here is below: subnormal numbers may count as zeros to the caller.
LEAST = 2.0**-1000
# A step that would gain no more than this part of what others do is not taken.
_REST = 0.2


class Level(NamedTuple):
    """Residuals of so many limbs, and the bits to which they solve."""

    limbs: int
    bits: float


@dataclass(frozen=True)
class Refinement:
    """A scaled problem, its approximate inverse, and right-hand sides near 1.

    The sizes are moduli of leading limbs; that of the weights is 1.0 for none. `steps` gets the
    leading limbs of every step, and `callback` is called as ``callback("refine", done, total)``
    after each.
    """

    system: System
    inverse: ApproximateInverse
    b: Block
    a_size: Block
    b_size: Block
    weight_size: Block | float
    callback: Callback | None = None
    steps: list[Block] = field(default_factory=list)

    @classmethod
    def of(
        cls, system: System, inverse: ApproximateInverse, b: Block, callback: Callback | None
    ) -> Refinement:
        """Compute the sizes."""
        xp, is_complex = system.backend.xp, system.kind.is_complex
        a, b_size = (xp.abs(to_native(xp, block, is_complex)) for block in (system.a, b))
        weight = 1.0 if system.weight is None else xp.abs(to_native(xp, system.weight, is_complex))
        return cls(system, inverse, b, a, b_size, weight, callback)

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
        """Return what `solved` does by residuals of at most so many limbs."""
        below = [level for level in self.levels if level.limbs < limbs]
        return self.solved(c, bits, [*below, Level(limbs, self.bits(limbs))])

    def _step(self, c: Block) -> Block:
        """Return what one step finds."""
        x = self.inverse.times(c)
        self.steps.append(self.native(x))
        if self.callback is not None and len(self.steps) > 1:
            self.callback("refine", len(self.steps) - 1, len(self.steps))
        return x

    def sizes(self) -> list[Block]:
        """Return the largest component of every step, ``(..., k)``."""
        xp = self.system.backend.xp
        return list(largest(xp.abs(xp.stack(self.steps))))

    def native(self, block: Block) -> Block:
        """Return the leading limbs as float64 or complex128."""
        return to_native(self.system.backend.xp, block, self.system.kind.is_complex)

    def size(self, block: Block) -> Block:
        """Return the moduli of the leading limbs."""
        return self.system.backend.xp.abs(self.native(block))

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
        return self.system.backend.matmul(a, x, conj_a=adjoint, c=c, subtract=subtract, kind=kind)

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
        """Return what errors of residuals do to ``A^H W r``."""
        return self.a_size.swapaxes(-1, -2) @ (self.weight_size * delta)

    def _products(self, a: Block, size: Block, c: Block, eps: float) -> Block:
        # What underflows: of products of limbs, and of limbs when a and b were scaled.
        tiny = LEAST * (1.0 + scaling.largest(size, -2, 0.0, keepdims=True))
        factor = (a.shape[-1] + 12) * (2 if self.system.kind.is_complex else 1)
        return factor * (eps * (a @ size + c) + tiny) * UP


def largest(sizes: Block) -> Block:
    """Return the largest component of each column, at least the smallest double."""
    return scaling.largest(sizes, -2, 0.0) + LEAST
