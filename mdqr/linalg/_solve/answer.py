"""Answers of solve and lstsq: solutions in the units of the data, error bounds and digits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import log2
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import RoundedSum, RoundedSums, rounded_sums
from mdqr._errors import place_of_least, warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_all, is_any
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._shared.operands import Inputs, precision_for
from mdqr.linalg._solve.householder.augmented import Solution, orthogonal
from mdqr.linalg._solve.structure import reached
from mdqr.linalg._solve.system import Scaled, System, added, sum_of_squares

_SMALLEST, _NORMAL = 2.0**-1074, 2.0**-1021
# Components are promised to so many eps.
_PROMISED = 4.0
# For the rounding of float64 in moduli, quotients and sums of bounds, and that of what is cut off;
# and for what bounds of the distance leave out, which is of second order.
_UP, _MORE = 1 + 2.0**-40, 1 + 2.0**-7

# A block, and the powers of two that it is to be multiplied by.
Pair = tuple[Block, Block]


@dataclass
class Part:
    """One piece of the right-hand sides, `b` scaled by ``2**powers``, and its solution.

    `error` bounds the distance of x, with what was cut off, from the exact one; it broadcasts to
    ``(..., n, k)``.
    """

    given: Block
    b: Block
    powers: Block
    solution: Solution
    error: Block

    def clear(self, system: System, held: Block) -> None:
        """Set unknowns that are not `held` to zero, which they are."""
        xp, solution = system.backend.xp, self.solution
        x, low = (
            block if block is None else xp.where(held, block, 0.0)
            for block in (solution.x, solution.low)
        )
        self.solution = replace(solution, x=x, low=low)
        self.error = xp.where(held, self.error, 0.0)


class Report(NamedTuple):
    """Errors as users see them: their bound, the correct digits, changes of the steps."""

    bound: np.ndarray
    digits: np.ndarray
    history: np.ndarray


class Answer:
    """The solutions of a problem, and what is known of their errors.

    Parameters
    ----------
    system : System
        The problem.
    parts : list of Part
        The solutions of pieces of its right-hand sides.
    inputs : Inputs
        The operands, for the precisions.
    condition : numpy.ndarray
        The condition number of each matrix.
    rank : numpy.ndarray, optional
        The ranks; by default all are full.
    settled : tuple, optional
        The result of `unknowns` for the parts, and `kept` on the host.

    Attributes
    ----------
    kept : numpy.ndarray
        Whether every component of a system is as good as the precision promises; a bool for each.
    condition : numpy.ndarray
        A number for each matrix.
    method, bound_kind : str
        As `LstsqInfo` has them.
    held : Block or None
        Which unknowns may differ from zero; None where that was not asked, or all.
    """

    method, bound_kind = "refine", "proven"
    held: Block | None = None

    def __init__(
        self,
        system: System,
        parts: list[Part],
        inputs: Inputs,
        condition: np.ndarray,
        rank: np.ndarray | None = None,
        settled: tuple[RoundedSum, np.ndarray] | None = None,
    ) -> None:
        self._system, self._parts, self._inputs = system, parts, inputs
        self.condition = np.array(condition)
        full = np.full(self.condition.shape, system.factored.columns, dtype=np.int64)
        self._rank = full if rank is None else rank
        self._unknowns, self.kept = settled or self._settled()

    @property
    def system(self) -> System:
        """The problem."""
        return self._system

    @property
    def rank(self) -> np.ndarray:
        """The rank of each matrix."""
        return self._rank

    @property
    def promised(self) -> bool:
        """True if all have the accuracy that the precision promises."""
        return bool(self.kept.all())

    @property
    def x(self) -> Block:
        """The solution in the units of the data."""
        return self._unknowns.x

    @cached_property
    def report(self) -> Report:
        """Its errors; who asks waits."""
        sizes, full = self._parts[0].solution.sizes, float(self._inputs.precision.digits)
        bound, relative, first, *changes = self.system.checks.settle(
            self._unknowns.bound,
            self._unknowns.relative,
            *(scaling.largest(size, None, 0.0) for size in sizes),
        )
        digits = digits_within(relative, full)
        history = np.array([float(change) for change in changes]) / (float(first) or 1.0)
        return Report(bound, digits, history)

    @property
    def steps(self) -> int:
        """The most refinement steps of a piece."""
        return max([part.solution.steps for part in self._parts])

    @property
    def b(self) -> Scaled:
        """The right-hand sides in the rows of the system, the largest of each column near 1."""
        return self._together([(part.b, part.powers) for part in self._parts])

    @cached_property
    def r(self) -> Scaled:
        """The residuals, as `b`."""
        r = self._together([(part.solution.r, part.powers) for part in self._parts])
        return orthogonal(self.system, r, self.condition)

    @property
    def squares(self) -> Scaled:
        """The (weighted) sums of squares of the residuals, real ``(..., k)``, in units as `r`."""
        if self.system.is_square:
            kind = self.system.kind
            *batch, _, columns = planes.value_shape(self.x, kind.is_complex)
            zeros = self.system.backend.xp.zeros((kind.limbs, *batch, columns))
            return Scaled(zeros, zeros[0].astype(np.int64))
        r = self.r
        return Scaled(sum_of_squares(self.system, r.block), r.exponents)

    def _together(self, pairs: list[Pair]) -> Scaled:
        """Return the sum of blocks that columns were multiplied by powers of two."""
        system, xp = self.system, self.system.backend.xp
        field, found = system.kind.is_complex, []
        for block, powers in pairs:
            near, own = system.backend.balance_columns(block, None, is_complex=field)
            held = is_any(scaling.magnitude_bits(near, field), -2)
            found.append((near, xp.where(held, -own - powers, scaling.ABSENT)))
        unit = reduce(xp.maximum, [exponents for _, exponents in found])
        shifts = [(near, (own - unit)[..., None, :]) for near, own in found]
        unit = xp.where(unit > scaling.ABSENT, unit, 0)
        return Scaled(_sum(system, shifts, system.kind.limbs), unit)

    def warn(self, *, is_vector: bool) -> None:
        """Warn if digits are missing; `is_vector`: users see x without its last axis."""
        if self.promised:
            return
        answer = self._inputs.precision
        digits = self.report.digits[..., 0] if is_vector else self.report.digits
        worst, largest = float(digits.min()), float(np.max(self.condition, initial=1.0))
        work = self._inputs.work
        advice = (
            f"; precision=mdqr.{work.next.name} finds more, unless the component is zero, for "
            "data that are exact or come with more digits"
            if work.next > work
            else ""
        )
        caller = self.system.caller
        warn_of_precision(
            caller.public,
            f"about {int(worst)} of {answer.digits} digits are correct in the worst component, of "
            f"the solution for {caller.a} and {caller.b} as stored (condition about "
            f"{largest:.1e}){advice}",
            digits=worst,
            precision=answer,
            index=place_of_least(digits),
        )

    def _settled(self, *, in_range: bool = False) -> tuple[RoundedSum, np.ndarray]:
        """Return the solution and, after a wait, which systems have what is promised.

        No bound of rounding errors is below a component that is zero: where one fails, those are
        looked for. `in_range` demands that no component is beyond the largest double.
        """
        system = self.system
        found = unknowns(system, self._parts, self._inputs.precision)
        (kept,) = system.checks.settle(found.kept)
        held = None if kept.all() else self._held(~kept)
        if held is not None:
            self.held = held
            for part in self._parts:
                part.clear(system, held)
            found = unknowns(system, self._parts, self._inputs.precision)
        if in_range:
            system.checks.require_in_range(
                system.caller.function,
                "the solution",
                found.x,
                system.kind.is_complex,
                "; multiply a or b by a power of two",
            )
        return found, kept if held is None else system.checks.settle(found.kept)[0]

    def _held(self, wanted: np.ndarray) -> Block | None:
        """Return which unknowns of the systems `wanted` may differ from zero; None for all."""
        system, xp, field = self.system, self.system.backend.xp, self.system.kind.is_complex
        a, *sides = (
            scaling.magnitude_bits(block, field) != 0
            for block in (system.given, *(part.given for part in self._parts))
        )
        b = reduce(xp.logical_or, sides)
        if bool(system.checks.settle(a.all() | b.all())[0]):
            return None
        a, b = system.checks.settle(a, b)
        held = np.ones((*a.shape[:-2], a.shape[-1], b.shape[-1]), dtype=bool)
        for place in np.ndindex(wanted.shape):
            found = reached(a[place], b[place]) if wanted[place] else None
            held[place] = True if found is None else found
        return None if held.all() else xp.asarray(held)


@np.errstate(all="ignore")
def unknowns(system: System, parts: list[Part], answer: Precision) -> RoundedSum:
    """Return the sum of the parts in the units of the data, rounded once, and its error bounds.

    What the rounding cuts off is computed, as a sum of doubles, which never underflows.
    """
    backend, field = system.backend, system.kind.is_complex
    at_once = rounded_sums(backend)
    if at_once is not None and len(parts) == 1:
        return _unknowns_at_once(at_once, system, parts[0], answer)
    xp, terms, lost, of_parts = backend.xp, [], 0.0, []
    for part in parts:
        shift = system.powers[..., :, None] - part.powers[..., None, :]
        x, low = part.solution.x, part.solution.low
        rest: Block | float = 0.0
        if low is not None:
            rest = _rounding(low, field) * scaling.leading(low, field)
        of_parts.append(((part.error + rest) * (2.0**0.5 if field else 1.0) * _MORE, shift))
        for block in (x, low):
            if block is not None:
                terms.append(backend.ldexp(block, shift, is_complex=field))
                lost = lost + _lost(system, block, terms[-1], shift)
    x = _added(system, terms, min(answer.limbs, planes.limb_count(terms[0], field)))
    size = moduli(x, field)
    cut = moduli(_added(system, [*terms, planes.negate(x, field)], 1), field) + lost
    mantissa, exponent = xp.frexp(size)
    mantissa = xp.where((size > 0) & xp.isfinite(size), mantissa, 0.0)
    bound, relative = cut, xp.where(cut > 0, cut / size, 0.0)
    for error, shift in of_parts:
        bound = bound + xp.ldexp(error, shift) + xp.where(error > 0, _SMALLEST, 0.0)
        share = xp.ldexp(error, shift - exponent) / mantissa
        relative = relative + xp.where(error == 0, 0.0, share)
    relative = xp.where(xp.isnan(relative), xp.inf, relative * _UP)
    bound = xp.where(xp.isnan(bound), xp.inf, bound * _UP)
    kept = xp.isfinite(size) & (relative <= _PROMISED * answer.eps)
    return RoundedSum(x, bound, relative, is_all(kept, (-2, -1)))


def _unknowns_at_once(
    backend: RoundedSums, system: System, part: Part, answer: Precision
) -> RoundedSum:
    """Return `unknowns` of one part by a kernel."""
    x, low, field = part.solution.x, part.solution.low, system.kind.is_complex
    return backend.rounded_sum(
        x,
        low,
        part.error,
        (system.powers, part.powers),
        kind=Kind(min(answer.limbs, planes.limb_count(x, field)), field),
        unit=0 if low is None else int(log2(_rounding(low, field))),
        most=int(log2(_PROMISED * answer.eps)),
    )


def _rounding(low: Block, is_complex: bool) -> float:
    """Return eps of a correction, which is rounded, too."""
    return precision_for(planes.limb_count(low, is_complex)).eps


def _lost(system: System, block: Block, shifted: Block, shift: Block) -> Block | float:
    """Bound what a block lost to underflow when it was multiplied by ``2**shift``."""
    xp, field = system.backend.xp, system.kind.is_complex
    if xp is np and not ((abs(shifted) < _NORMAL) & (block != 0)).any():
        return 0.0
    same = system.backend.ldexp(shifted, -shift, is_complex=field) == block
    # Half of 2^-1074 of each limb, in both parts of a complex value.
    most = planes.limb_count(block, field) * _SMALLEST
    return xp.where(is_all(same, tuple(range(system.kind.lead))), 0.0, most)


def moduli(x: Block, is_complex: bool) -> Block:
    """Return the moduli of the leading limbs, infinite where they overflow."""
    if not is_complex:
        return abs(x[0])
    with np.errstate(over="ignore"):
        return native_abs(x, is_complex)


def _sum(system: System, pairs: list[Pair], limbs: int) -> Block:
    """Return the sum of blocks multiplied by powers of two, correctly rounded."""
    field = system.kind.is_complex
    shifted = [system.backend.ldexp(block, shift, is_complex=field) for block, shift in pairs]
    return (
        planes.narrow(shifted[0], field, limbs)
        if len(shifted) == 1
        else _added(system, shifted, limbs)
    )


def _added(system: System, blocks: list[Block], limbs: int) -> Block:
    """Return the sum of blocks, correctly rounded."""
    return added(system.backend, blocks, system.kind._replace(limbs=limbs))
