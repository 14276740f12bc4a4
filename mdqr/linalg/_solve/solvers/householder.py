"""Householder QR in working precision, refined: estimated bounds.

Right-hand sides whose entries span too wide a range for one power of two are cut into pieces. Where
a component is not shown to have all digits, it is refined further with unknowns of twice the limbs,
and bounded component by component.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mdqr._limbs import scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.householder.augmented import (
    Extension,
    contraction_limit,
    normwise_bound,
    refine,
    refine_further,
)
from mdqr.linalg._solve.householder.componentwise import Inverse, bound_components
from mdqr.linalg._solve.problem import Conditioned, Problem
from mdqr.linalg._solve.structure import Joined, separated
from mdqr.linalg._solve.system import System

_LEAST_WIDTH = 64  # of a piece, in powers of two


def solve(problem: Problem, conditioned: Conditioned) -> Answer:
    """Solve a problem that was factored.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a component is beyond the largest double.
    """
    return _Refined(problem, conditioned)


class _Refined(Answer):
    """The refined solutions of a factored system; attributes as of `Answer`.

    `system` is the factored problem, with blocks apart if that was needed.
    """

    method, bound_kind = "householder", "estimated"

    def __init__(self, problem: Problem, conditioned: Conditioned) -> None:
        self._problem, self._estimate = problem, conditioned.estimate
        system, inputs, (_, value, rank) = problem.system, problem.inputs, conditioned
        super().__init__(system, self._refine(system), inputs, value, rank)
        if not self.promised:
            self._refine_further()
            self._unknowns, self.kept = self._settled(in_range=True)

    def _refine(self, system: System) -> list[Part]:
        """Return the pieces with their solutions after the usual steps."""
        parts, eps, estimate = [], self._problem.inputs.work.eps, self._estimate
        limit, field = contraction_limit(system, estimate, eps), system.kind.is_complex
        for piece in _pieces(system, self._problem.given):
            b, powers = system.backend.balance_columns(piece, system.rows, is_complex=field)
            solution = refine(system, b, eps, limit)
            error = normwise_bound(system, b, solution, estimate, limit, eps)
            parts.append(Part(piece, b, powers, solution, error[..., None, :]))
        return parts

    def _refine_further(self) -> None:
        """Replace the solutions by better ones with closer bounds."""
        work, joined = self._problem.inputs.work, Joined.of(self.system)
        alone = separated(self.system, joined)
        if alone is not None:
            self._system, self._parts = alone, self._refine(alone)
        system = self.system
        limit = contraction_limit(system, self._estimate, work.eps)
        inverse = Inverse(system, joined, work.eps, limit)
        for part in self._parts:
            extension = Extension(system, work, int(part.b.shape[-1]))
            part.solution, step = refine_further(system, part.b, part.solution, extension)
            lost = system.underflow(part.given, part.b, part.powers)
            error = bound_components(system, inverse, part.b, step, extension, lost)
            part.error = error + extension.rounding(part.solution.x, step.dx)


def _pieces(system: System, b: Block) -> Iterator[Block]:
    """Yield blocks whose sum is `b`, with entries of nearby sizes, the largest first.

    One piece where the sizes of the entries of a column are near enough; who has more waits.
    """
    width, exponent, xp = _width(system.kind.limbs), _exponents(system, b), system.backend.xp
    held = exponent > scaling.ABSENT
    high = scaling.largest(exponent, -2, scaling.ABSENT)
    low = scaling.largest(xp.where(held, -exponent, scaling.ABSENT), -2, scaling.ABSENT)
    spread = scaling.largest(high + low, None, 0).astype(np.float64)
    spread = float(system.checks.settle(spread)[0])
    if spread <= width:
        yield b
        return
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

    The residual of the smallest has twice the limbs of the work, and none of them underflows. More
    than eight limbs have no room for that; underflow is part of the bounds.
    """
    return max(1074 - 60 - 2 * 53 * limbs, _LEAST_WIDTH)
