"""Refinement with unknowns of twice the limbs, where the usual steps leave digits missing.

The corrections still come from the factors of the work, so that every step costs little (J. Demmel
and others 2006, "extra-precise iterative refinement"). x and r are held, and f and g computed, in
the next higher precision; in the highest, x and r are sums of two blocks, and sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.system import System

_MOST_STEPS = 100
# A step that does not halve the last one changes rounding errors.
_PROGRESS = 0.5
# Of the last place of the work: what is still added where x has converged.
_CONVERGED = 2.0**-10
# Multiply-adds of exact sums: a few seconds, where others take some hundredths.
_MOST_EXACT = 2**20
# The exponent of the largest terms of exact sums, which many of them do not make overflow.
_TOP = 980
_HUGE = 2.0**1020


@dataclass
class Step:
    """One step from x and r, lists of blocks to be summed.

    The residuals f and g and the corrections are in units of ``2**powers`` of each column. `r` is
    in units of ``2**unit``, in which g is formed, so that little underflows.
    """

    x: list[Block]
    r: list[Block]
    unit: Block
    f: Block
    g: Block | None
    dx: Block
    dr: Block
    powers: Block
    least: tuple[int | Block, int | Block]

    def unscaled(self, system: System, block: Block) -> Block:
        """Return `block` in the units of the system."""
        shift = self.powers[..., None, :]
        return system.backend.ldexp(block, shift, is_complex=system.kind.is_complex)


class Extension:
    """The arithmetic of x and r beyond the work.

    Attributes
    ----------
    precision : Precision
        That of the blocks of x and r, and of the residuals.
    blocks : int
        How many of them are summed.
    exact : bool
        Whether the sums of f, and without weights those of g, are exact before they are rounded.
    """

    def __init__(self, system: System, work: Precision, columns: int) -> None:
        size = prod(planes.value_shape(system.a, system.kind.is_complex)) * columns
        self.precision = work.next
        self.exact = size <= _MOST_EXACT
        self.blocks = 2 if self.exact and work.next == work else 1
        self.kind = system.kind._replace(limbs=self.precision.limbs)
        self._system = system

    def spread(self, block: Block) -> list[Block]:
        """Return `block` as a sum."""
        first = planes.widen(block, self.kind.is_complex, self.kind.limbs)
        zeros = planes.namespace(block).zeros_like
        return [first, *(zeros(first) for _ in range(self.blocks - 1))]

    def add(self, sums: list[Block], block: Block) -> list[Block]:
        """Return the sum of `sums` and `block`, rounded to as many blocks."""
        field, xp = self._system.kind.is_complex, self._system.backend.xp
        axis, terms, found = planes.lead(field) - 1, [*sums, block], []
        for _ in sums:
            both = xp.concatenate(terms, axis=axis)
            found.append(self._system.backend.unary("renormalize", both, kind=self.kind))
            terms.append(planes.negate(found[-1], field))
        return found

    def rounding(self, x: Block, dx: Block) -> Block:
        """Bound what adding dx to the sums of which x is the first cut off."""
        size, change = (scaling.leading(each, self.kind.is_complex) for each in (x, dx))
        # Of one block, or of the rest of it, which is as small.
        unit = (0.5 * self.precision.eps) ** self.blocks
        return self._system.backend.xp.where(change != 0, unit * size, 0.0)

    def residual(self, b: Block, x: list[Block], r: list[Block]) -> tuple[Block, int]:
        """Return ``b - r - A x`` and the power of two that it is multiplied by."""
        terms = [(1, b)] + ([] if self._system.is_square else [(-1, part) for part in r])
        return self._residual(terms, self._system.a, x, conj_a=False)

    def gradient(self, terms: list[tuple[int, Block]], r: list[Block]) -> tuple[Block, int]:
        """Return the sum of `terms` less ``A^H W r``, as `residual`."""
        system = self._system
        parts = [part for block in r for part in system.weighted(block, self.kind)]
        return self._residual(terms, system.a.swapaxes(-1, -2), parts, conj_a=True)

    def _residual(
        self, terms: list[tuple[int, Block]], a: Block, x: list[Block], *, conj_a: bool
    ) -> tuple[Block, int]:
        system, xp = self._system, self._system.backend.xp
        if not self.exact:
            return system.backend.residual(terms, a, x[0], conj_a=conj_a, kind=self.kind), 0
        # Nothing underflows either: all terms are brought to the upper end of the range.
        shift = (_TOP - self._highest([*(term for _, term in terms), *x])) // 2
        a, *x = (self._shifted(block, shift) for block in (a, *x))
        terms = [(sign, self._shifted(term, 2 * shift)) for sign, term in terms]
        # A zero times a huge number: all others are far below the maxima of row and column.
        column, row = xp.zeros((*a.shape[:-1], 1)), xp.zeros_like(x[0][..., :1, :])
        column[(0, 0) if system.kind.is_complex else 0] = _HUGE
        a, y = xp.concatenate([*[a] * len(x), column], axis=-1), xp.concatenate([*x, row], axis=-2)
        return system.backend.residual(terms, a, y, conj_a=conj_a, kind=self.kind), 2 * shift

    def _highest(self, blocks: list[Block]) -> int:
        """Return an exponent e such that no value reaches ``2**e``, at least 0."""
        field = self._system.kind.is_complex
        bits = (scaling.largest(scaling.magnitude_bits(b, field), None, 0) for b in blocks)
        return max(0, *((int(found) >> 52) - 1022 for found in self._system.checks.settle(*bits)))

    def _shifted(self, block: Block, shift: int) -> Block:
        backend, field = self._system.backend, self._system.kind.is_complex
        return backend.ldexp(block, backend.xp.asarray(shift), is_complex=field)


def refine_further(
    system: System, b: Block, before: Solution, extension: Extension
) -> tuple[Solution, Step]:
    """Refine until no component changes by eps of the work, or a step does not halve the last.

    Parameters
    ----------
    system : System
        The factored problem.
    b : Block
        Right-hand sides, as `refine` takes them.
    before : Solution
        What `refine` found.
    extension : Extension
        The arithmetic of x and r from here on.

    Returns
    -------
    Solution
        The solution, rounded to the precision of the extension.
    Step
        The last step, which the solution has taken.
    """
    xp, field = system.backend.xp, system.kind.is_complex
    x, r, sizes = extension.spread(before.x), extension.spread(before.r), list(before.sizes)
    last: Any = np.inf
    for more in reversed(range(_MOST_STEPS)):
        step = _step(system, b, (x, r), extension)
        dx, dr = step.unscaled(system, step.dx), step.unscaled(system, step.dr)
        x = extension.add(x, dx)
        if not system.is_square:
            r = extension.add(r, dr)
        change, size = scaling.leading(dx, field), scaling.leading(x[0], field)
        sizes.append(scaling.largest(change, -2, 0.0))
        moved = xp.maximum(sizes[-1], scaling.largest(scaling.leading(dr, field), -2, 0.0))
        converged = change <= _CONVERGED * 2.0 ** (-53 * system.kind.limbs) * size
        # A component that is zero is shown to be so where nothing else moves.
        converged &= (size > 0).all(axis=-2, keepdims=True) | (change == 0)
        done, now = system.checks.settle(converged.all(), moved)
        stop = bool(done) or more == 0 or not bool((now < _PROGRESS * last).any())
        system.report("refine", len(sizes) - 1, len(sizes) - (1 if stop else 0))
        if stop:
            break
        last = now
    # Steps that leave the range are not taken.
    finite = xp.isfinite(scaling.leading(x[0], field)).all(axis=-2, keepdims=True)
    x, r = (
        [xp.where(finite, *both) for both in zip(sums, extension.spread(first), strict=True)]
        for sums, first in ((x, before.x), (r, before.r))
    )
    return Solution(x[0], r[0], dr, sizes, x[1] if len(x) > 1 else None), step


@np.errstate(all="ignore")
def _step(
    system: System, b: Block, at: tuple[list[Block], list[Block]], extension: Extension
) -> Step:
    """Return residuals and corrections, the columns of both scaled near 1."""
    backend, field, (x, r) = system.backend, system.kind.is_complex, at
    f, lift = extension.residual(b, x, r)
    f, down = backend.balance_columns(f, None, is_complex=field)
    down = down + lift
    if system.is_square:
        dx, dr = system.correct(planes.narrow(f, field, system.kind.limbs), None)
        return Step(x, r, down, f, None, dx, dr, -down, (-lift, 0))
    first, up = backend.balance_columns(r[0], None, is_complex=field)
    shift = up[..., None, :]
    r = [first, *(backend.ldexp(block, shift, is_complex=field) for block in r[1:])]
    g, raised = extension.gradient([], r)
    g, further = backend.balance_columns(g, None, is_complex=field)
    further = further + raised
    pairs = (f, -down), (g, -further - up)
    powers = backend.xp.maximum(*(_unless_zero(block, unit, field) for block, unit in pairs))
    powers = backend.xp.where(powers == scaling.ABSENT, 0, powers)
    f, g = (
        backend.ldexp(block, (unit - powers)[..., None, :], is_complex=field)
        for block, unit in pairs
    )
    short = (planes.narrow(block, field, system.kind.limbs) for block in (f, g))
    least = -lift, -(raised + up[..., None, :])
    return Step(x, r, -up, f, g, *system.correct(*short), powers, least)


def _unless_zero(block: Block, unit: Block, is_complex: bool) -> Block:
    """Return `unit` for columns that are not zero, and less than any for others."""
    held = (scaling.magnitude_bits(block, is_complex) != 0).any(axis=-2)
    return planes.namespace(block).where(held, unit, scaling.ABSENT)
