"""Answers that one kernel call proves."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._backend.small_systems import (
    MOST_COLUMNS,
    MOST_LIMBS,
    MOST_ROWS,
    SmallSolution,
    small_systems,
)
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._inverse.approximate_inverse import UP
from mdqr.linalg._shared.caller import LSTSQ
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.answer import Answer, Report, moduli
from mdqr.linalg._solve.problem import SMALL
from mdqr.linalg._solve.system import Scaled, System, added, inner_products


class SmallAnswer(Answer):
    """Solutions of small systems, of which those `kept` are proven; attributes as of `Answer`.

    Parameters
    ----------
    inputs : Inputs
        The operands.
    found : SmallSolution
        What the kernel found, what it knows of matrices on the host.
    served : numpy.ndarray
        A bool for each matrix.
    """

    def __init__(self, inputs: Inputs, found: SmallSolution, served: np.ndarray) -> None:
        self._inputs, self.found, self.kept = inputs, found, served
        self.condition = found.condition

    @property
    def rank(self) -> np.ndarray:
        """The rank of each matrix, which is full."""
        return np.full(self.kept.shape, self._inputs.shape(0)[-1])

    @property
    def inputs(self) -> Inputs:
        """The operands."""
        return self._inputs

    @cached_property
    def _backend(self) -> Backend:
        return self._inputs.backend

    def apart(self) -> SmallAnswer:
        """Return the same with copies of the operands, which may be changed later."""
        blocks = [block.copy() for block in self._inputs.blocks]
        return SmallAnswer(self._inputs._replace(blocks=blocks), self.found, self.kept)

    @cached_property
    def system(self) -> System:
        """The problem, scaled: who asks has checked it."""
        backend, a = self._inputs.backend, self._inputs.blocks[0]
        return System.of(LSTSQ, backend, a, Checks(), kind=self._inputs.kind)

    @property
    def b(self) -> Scaled:
        """The right-hand sides, the largest of each column near 1."""
        backend, b = self._inputs.backend, self._inputs.blocks[1]
        near, powers = backend.balance_columns(b, None, is_complex=self._inputs.is_complex)
        return Scaled(near, -powers)

    @property
    def squares(self) -> Scaled:
        """The sums of squares of the residuals."""
        r = self.r
        block = inner_products(self._backend, self._inputs.kind, r.block, r.block)
        return Scaled(block, r.exponents)

    @property
    def x(self) -> Block:
        """The solutions."""
        return self.found.x

    @cached_property
    def size(self) -> Block:
        """The moduli of the solutions."""
        return moduli(self.found.x, self._inputs.is_complex)

    @cached_property
    def report(self) -> Report:
        """Bounds and digits; there is no history."""
        precision = self._inputs.precision
        bound, size, cut = fetch(self.found.error, self.size, self._cut())
        with np.errstate(all="ignore"):
            bound = np.where(cut > 0, (bound + cut) * UP, bound)
            relative = np.where(bound > 0, bound / size, 0.0)
            digits = digits_within(relative * UP, float(precision.digits))
        return Report(bound, digits, np.empty(0))

    def _cut(self) -> Block:
        """Return what an answer of fewer limbs than the work cuts off, but for the last place."""
        (work, field), x, precision = self._inputs.kind, self.found.x, self._inputs.precision
        if work <= precision.limbs:
            return self._inputs.backend.xp.zeros_like(self.size)
        short = planes.negate(planes.narrow(x, field, precision.limbs), field)
        return moduli(added(self._inputs.backend, [x, short], Kind(1, field)), field)

    @cached_property
    def r(self) -> Scaled:
        """The residuals."""
        backend, kind, rest = self._backend, self._inputs.kind, self.found.residual
        if rest is None:
            unit = backend.xp.zeros_like(self.found.error[..., 0, :], dtype=np.int64)
            return Scaled(kind.zeros(backend.xp, self._inputs.shape(1)), unit)
        # Near 1, where squares do not vanish.
        r, powers = backend.balance_columns(rest, None, is_complex=kind.is_complex)
        return Scaled(r, -powers)

    @property
    def steps(self) -> int:
        """The most refinement steps."""
        return int(self.found.steps.max())


def solve(inputs: Inputs, method: str, limit: float) -> SmallAnswer | None:
    """Return what one kernel call finds, and proves for matrices `kept`.

    Not where a condition times `limit` is not small. None where the kernel does not exist.
    """
    backend, (a, b) = small_systems(inputs.backend), inputs.blocks
    m, n = a.shape[-2:]
    if method == "householder" or backend is None or n > m or m > MOST_ROWS:
        return None
    kind = inputs.kind
    if n > MOST_COLUMNS and (m > n or n > backend.small_unknowns(int(b.shape[-1]), kind=kind)):
        return None
    if not (a.size and b.size) or kind.limbs > MOST_LIMBS:
        return None
    call = backend.solve_small if m == n else backend.lstsq_small
    found = call(a, b, kind=kind)
    condition, steps, status = fetch(found.condition, found.steps, found.status)
    found = found._replace(condition=condition, steps=steps, status=status)
    with np.errstate(invalid="ignore"):
        served = (status == 0) & (condition * limit < SMALL)
    return SmallAnswer(inputs, found, served)
