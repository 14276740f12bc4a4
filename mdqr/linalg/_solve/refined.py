"""From a factored system to the unknowns, their error bounds and digits: for solve and lstsq.

Right-hand sides whose entries are too far apart for one power of two are cut into pieces. Each is
refined; where a component is not shown to have all digits, further with unknowns of twice the
limbs, and bounded component by component.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from mdqr._errors import PrecisionWarning
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._factor.condition import Condition
from mdqr.linalg._shared.operands import Callback, Inputs, covering
from mdqr.linalg._solve import bounds
from mdqr.linalg._solve.augmented import Solution, System, refine
from mdqr.linalg._solve.componentwise import bound_components
from mdqr.linalg._solve.extended import Extension, refine_further
from mdqr.linalg._solve.pseudo_inverse import Inverse
from mdqr.linalg._solve.separate import Joined, separated

_SMALLEST = 2.0**-1073
# Components are promised to so many eps.
_PROMISED = 4.0
# For the rounding of float64 in moduli, quotients and sums of bounds; and for what bounds of the
# distance leave out, which is of second order.
_UP, _MORE = 1 + 2.0**-40, 1 + 2.0**-7

# A block, and the powers of two that it is to be multiplied by.
Pair = tuple[Block, Block]


class Scaled(NamedTuple):
    """A block whose columns are to be multiplied by ``2**exponents``."""

    block: Block
    exponents: Block


@dataclass
class Part:
    """One piece of the right-hand sides, `b` scaled by ``2**powers``, and its solution.

    `error` bounds the distance of `solution` from the exact one, and `rounded` tells which
    components its last step changed, and so rounded; both broadcast to ``(..., n, k)``.
    """

    given: Block
    b: Block
    powers: Block
    solution: Solution
    error: Block
    rounded: Block


class Unknowns(NamedTuple):
    """A solution in the units of the data, and what is known of its errors.

    `bound` is one of the absolute errors, `relative` one relative to x, float64 of its shape;
    `promised`, 0-d, tells whether all components are as good as the precision promises.
    """

    x: Block
    bound: Block
    relative: Block
    promised: Block


class Report(NamedTuple):
    """What users see of the errors: their bound, the digits that hold, changes of the steps."""

    bound: np.ndarray
    digits: np.ndarray
    history: np.ndarray


class Refined:
    """The refined solutions of a factored system.

    Parameters
    ----------
    function : str
        The public function, for messages.
    system : System
        The factored problem.
    given : Block
        Its right-hand sides ``(..., m, k)`` as they came, with the batch of the system.
    spread : float
        As `spread_of` found it.
    condition : Condition
        The condition estimate of the scaled matrix.
    inputs : Inputs
        The operands, for the precisions.
    callback : callable, optional
        Called as ``callback("refine", done, total)``.

    Attributes
    ----------
    system : System
        The factored problem, with blocks apart if that was needed.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a component is beyond the largest double.
    """

    def __init__(
        self,
        function: str,
        system: System,
        given: Block,
        spread: float,
        condition: Condition,
        inputs: Inputs,
        callback: Callback | None,
    ) -> None:
        self._function, self._inputs, self._callback = function, inputs, callback
        self._given, self._spread, self._condition = given, spread, condition
        self.system, self._parts = system, self._refine(system)
        self._unknowns, self._promised = self._settled(closely=False)
        if not self._promised:
            self._refine_further()
            self._unknowns, self._promised = self._settled(closely=True)

    def _refine(self, system: System) -> list[Part]:
        """Return the pieces with their solutions after the usual steps."""
        parts, eps, field = [], self._inputs.work.eps, system.kind.is_complex
        limit = bounds.contraction_limit(system, self._condition, eps)
        for piece in _pieces(system, self._given, self._spread):
            b, powers = system.backend.balance_columns(piece, system.rows, is_complex=field)
            solution = refine(system, b, eps, limit, self._callback)
            error = bounds.normwise(system, b, solution, self._condition, limit, eps)
            rounded = system.backend.xp.asarray(True)
            parts.append(Part(piece, b, powers, solution, error[..., None, :], rounded))
        return parts

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
        with np.errstate(divide="ignore"):
            digits = np.clip(-np.log10(relative), 0.0, full)
        history = np.array([float(change) for change in changes]) / (float(first) or 1.0)
        return Report(bound, digits, history)

    @property
    def steps(self) -> int:
        """The most refinement steps of a piece."""
        return max(part.solution.steps for part in self._parts)

    @property
    def b(self) -> Scaled:
        """The right-hand sides in the rows of the system, the largest of each column near 1."""
        return self._together([(part.b, part.powers) for part in self._parts])

    @property
    def r(self) -> Scaled:
        """The residuals, as `b`."""
        return self._together([(part.solution.r, part.powers) for part in self._parts])

    def _together(self, pairs: list[Pair]) -> Scaled:
        """Return the sum of blocks that columns were multiplied by powers of two."""
        system, xp = self.system, self.system.backend.xp
        field, found = system.kind.is_complex, []
        for block, powers in pairs:
            near, own = system.backend.balance_columns(block, None, is_complex=field)
            held = (scaling.magnitude_bits(near, field) != 0).any(axis=-2)
            found.append((near, xp.where(held, -own - powers, scaling.ABSENT)))
        unit = reduce(xp.maximum, [exponents for _, exponents in found])
        shifts = [(near, (own - unit)[..., None, :]) for near, own in found]
        unit = xp.where(unit > scaling.ABSENT, unit, 0)
        return Scaled(_sum(system, shifts, system.kind.limbs), unit)

    def warn(self, condition: np.ndarray, stacklevel: int) -> None:
        """Warn if digits are missing; `stacklevel` is that of the caller."""
        if self._promised:
            return
        answer = self._inputs.precision
        worst, largest = float(self.report.digits.min()), float(np.max(condition, initial=1.0))
        higher = [p for p in PRECISIONS if p > self._inputs.work]
        advice = (
            f"; if the data have more digits, give them and precision=mdqr.{higher[0].name}"
            if higher
            else ""
        )
        warnings.warn(
            f"{self._function}: about {int(worst)} of {answer.digits} digits are correct in the "
            f"worst component (condition about {largest:.1e}){advice}",
            PrecisionWarning,
            stacklevel=stacklevel + 1,
        )

    def _refine_further(self) -> None:
        """Replace the solutions by better ones with closer bounds."""
        work, joined = self._inputs.work, Joined.of(self.system)
        alone = separated(self.system, joined, self._function)
        if alone is not None:
            self.system, self._parts = alone, self._refine(alone)
        system, callback = self.system, self._callback
        limit = bounds.contraction_limit(system, self._condition, work.eps)
        inverse = Inverse(system, joined, work.eps, limit)
        for part in self._parts:
            extension = Extension(system, work, int(part.b.shape[-1]))
            part.solution, step = refine_further(system, part.b, part.solution, extension, callback)
            lost = system.underflow(part.given, part.b, part.powers)
            part.error = bound_components(system, inverse, part.b, step, extension, lost)
            part.rounded = scaling.leading(step.dx, system.kind.is_complex) != 0
            if part.solution.low is not None:
                part.rounded |= scaling.leading(part.solution.low, system.kind.is_complex) != 0

    def _settled(self, *, closely: bool) -> tuple[Unknowns, bool]:
        """Return the solution and, after a wait, whether it is as good as promised."""
        system = self.system
        found = _unknowns(system, self._parts, self._inputs.precision, closely=closely)
        if closely:
            system.checks.require_in_range(
                self._function,
                "the solution",
                found.x,
                system.kind.is_complex,
                "; multiply a or b by a power of two",
            )
        return found, bool(system.checks.settle(found.promised)[0])


def spread_of(system: System, b: Block) -> Block:
    """Return how many powers of two lie between the entries of a column at most, 0-d float64."""
    exponent = _exponents(system, b)
    held = exponent > scaling.ABSENT
    xp = system.backend.xp
    high = scaling.largest(exponent, -2, scaling.ABSENT)
    low = scaling.largest(xp.where(held, -exponent, scaling.ABSENT), -2, scaling.ABSENT)
    return scaling.largest(high + low, None, 0).astype(np.float64)


def _pieces(system: System, b: Block, spread: float) -> Iterator[Block]:
    """Yield blocks whose sum is `b`, with entries of nearby sizes, the largest first.

    `spread` is what `spread_of` found. One piece where that is small; who has more waits.
    """
    width = _width(system.kind.limbs)
    if spread <= width:
        yield b
        return
    exponent, xp = _exponents(system, b), system.backend.xp
    place = (scaling.largest(exponent, -2, 0, keepdims=True) - exponent) // width
    for number in range(int(spread) // width + 1):
        here = place == number
        if number == 0 or system.checks.settle(here.any())[0]:
            yield xp.where(here, b, 0.0)


def _exponents(system: System, b: Block) -> Block:
    """Return the exponents of the entries in the rows of the system; subnormal ones are rough."""
    bits = scaling.magnitude_bits(b, system.kind.is_complex)
    exponent = bits >> 52
    if system.rows is not None:
        exponent = exponent + system.rows[..., :, None]
    return system.backend.xp.where(bits > 0, exponent, scaling.ABSENT)


def _width(limbs: int) -> int:
    """Return the powers of two that the entries of a piece may span.

    The residual of the smallest has twice the limbs of the work, and none of them underflows.
    """
    return 1074 - 60 - 2 * 53 * limbs


@np.errstate(all="ignore")
def _unknowns(system: System, parts: list[Part], answer: Precision, *, closely: bool) -> Unknowns:
    """Return the sum of the parts in the units of the data, and the bounds of its errors."""
    xp, field = system.backend.xp, system.kind.is_complex
    limbs = max(planes.limb_count(part.solution.x, field) for part in parts)
    shifts = [system.powers[..., :, None] - part.powers[..., None, :] for part in parts]
    pairs = [
        (block, shift)
        for part, shift in zip(parts, shifts, strict=True)
        for block in (part.solution.x, part.solution.low)
        if block is not None
    ]
    x = _sum(system, pairs, limbs)
    size = xp.hypot(x[0, 0], x[1, 0]) if field else abs(x[0])
    mantissa, exponent = xp.frexp(size)
    # Limbs below the smallest double, relative to x.
    if closely:
        lost = _lost(system, pairs, x, exponent)
    else:
        lost = xp.where(size < 2.0 ** (53 * limbs - 1020), 1.0, 0.0)
    zero = xp.stack([scaling.leading(block, field) == 0 for block, _ in pairs]).all(axis=0)
    lost = xp.where(zero, 0.0, xp.where(size > 0, lost, xp.inf))
    rounded = parts[0].rounded if len(parts) == 1 else size > 0
    # Of the last step, and of the answer if it has fewer limbs.
    half = xp.where(rounded, 0.5 * covering(limbs).eps, 0.0)
    half = half + (0.5 * answer.eps if limbs > answer.limbs else 0.0)
    # What is lost is less than the last places of all limbs.
    bound = half * size + xp.where(lost > 0, 2.0 * limbs * _SMALLEST, 0.0)
    relative = half + xp.where(lost > 0, bound / xp.where(size > 0, size, 1.0), 0.0)
    for part, shift in zip(parts, shifts, strict=True):
        error = part.error
        if len(parts) > 1:
            # The parts were rounded, and may cancel.
            eps = covering(limbs).eps ** (1 if part.solution.low is None else 2)
            error = error + 0.5 * eps * scaling.leading(part.solution.x, field) * part.rounded
        error = error * (2.0**0.5 if field else 1.0) * _MORE
        bound = bound + xp.ldexp(error, shift) + xp.where(error > 0, _SMALLEST, 0.0)
        share = xp.ldexp(error, shift - exponent) / xp.where(size > 0, mantissa, 0.0)
        relative = relative + xp.where(error > 0, share, 0.0)
    relative = xp.where(xp.isnan(relative) | ((size == 0) & (lost > 0)), xp.inf, relative * _UP)
    kept = xp.isfinite(size) & (relative <= _PROMISED * answer.eps)
    return Unknowns(x, bound * _UP, relative, kept.all())


def _lost(system: System, pairs: list[Pair], x: Block, exponent: Block) -> Block:
    """Return what fell below the smallest double in the sum x, relative to ``2**exponent``."""
    field, limbs = system.kind.is_complex, planes.limb_count(x, system.kind.is_complex)
    near = _sum(system, [(block, shift - exponent) for block, shift in pairs], limbs)
    back = system.backend.ldexp(x, -exponent, is_complex=field)
    left = _added(system, [near, planes.negate(back, field)], 1)
    return 4.0 * scaling.leading(left, field)


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
    terms = system.backend.xp.concatenate(blocks, axis=system.kind.lead - 1)
    return system.backend.unary("renormalize", terms, kind=system.kind._replace(limbs=limbs))
