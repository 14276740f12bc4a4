"""Answers by a factorisation in the work's precision, refined: for solve and lstsq.

Right-hand sides whose entries are too far apart for one power of two are cut into pieces. Each is
refined; where a component is not shown to have all digits, further with unknowns of twice the
limbs, and bounded component by component.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mdqr._limbs import scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.condition import Condition
from mdqr.linalg._shared.operands import Callback, Inputs
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.householder.augmented import contraction_limit, normwise_bound, refine
from mdqr.linalg._solve.householder.componentwise import bound_components
from mdqr.linalg._solve.householder.extended import Extension, refine_further
from mdqr.linalg._solve.householder.pseudo_inverse import Inverse
from mdqr.linalg._solve.householder.separate import Joined, separated
from mdqr.linalg._solve.system import System


class Refined(Answer):
    """The refined solutions of a factored system.

    Parameters
    ----------
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

    method, bound_kind = "householder", "estimated"

    def __init__(
        self,
        system: System,
        given: Block,
        spread: float,
        condition: Condition,
        inputs: Inputs,
        callback: Callback | None,
    ) -> None:
        self._given, self._spread, self._condition = given, spread, condition
        self._inputs, self._callback = inputs, callback
        super().__init__(system, self._refine(system), inputs)
        if not self.promised:
            self._refine_further()
            self._unknowns, self.kept = self._settled(in_range=True)

    def _refine(self, system: System) -> list[Part]:
        """Return the pieces with their solutions after the usual steps."""
        parts, eps, field = [], self._inputs.work.eps, system.kind.is_complex
        limit = contraction_limit(system, self._condition, eps)
        for piece in _pieces(system, self._given, self._spread):
            b, powers = system.backend.balance_columns(piece, system.rows, is_complex=field)
            solution = refine(system, b, eps, limit, self._callback)
            error = normwise_bound(system, b, solution, self._condition, limit, eps)
            parts.append(Part(piece, b, powers, solution, error[..., None, :]))
        return parts

    def _refine_further(self) -> None:
        """Replace the solutions by better ones with closer bounds."""
        work, joined = self._inputs.work, Joined.of(self.system)
        alone = separated(self.system, joined)
        if alone is not None:
            self.system, self._parts = alone, self._refine(alone)
        system, callback = self.system, self._callback
        limit = contraction_limit(system, self._condition, work.eps)
        inverse = Inverse(system, joined, work.eps, limit)
        for part in self._parts:
            extension = Extension(system, work, int(part.b.shape[-1]))
            part.solution, step = refine_further(system, part.b, part.solution, extension, callback)
            lost = system.underflow(part.given, part.b, part.powers)
            error = bound_components(system, inverse, part.b, step, extension, lost)
            part.error = error + extension.rounding(part.solution.x, step.dx)


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
