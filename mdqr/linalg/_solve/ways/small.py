"""Answers that one kernel call proves."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdqr._backend.protocol import MOST_COLUMNS, MOST_ROWS, SmallSolution, small_systems
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.answer import Answer, Report, Scaled, moduli
from mdqr.linalg._solve.refine.approximate_inverse import UP
from mdqr.linalg._solve.refine.ladder import SMALL


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
            digits = np.clip(-np.log10(relative * UP), 0.0, float(precision.digits))
        return Report(bound, digits, np.empty(0))

    def _cut(self) -> Block:
        """Return what an answer of fewer limbs than the work cuts off, but for the last place."""
        (work, field), x, precision = self._inputs.kind, self.found.x, self._inputs.precision
        if work <= precision.limbs:
            return self._inputs.backend.xp.zeros_like(self.size)
        short = planes.negate(planes.narrow(x, field, precision.limbs), field)
        terms = self._inputs.backend.xp.concatenate([x, short], axis=int(field))
        return moduli(self._inputs.backend.unary("renormalize", terms, kind=Kind(1, field)), field)

    @cached_property
    def r(self) -> Scaled:
        """The residuals."""
        backend, kind, rest = self._inputs.backend, self._inputs.kind, self.found.residual
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


def small_solution(
    inputs: Inputs, a: Block, b: Block, method: str, limit: float
) -> SmallAnswer | None:
    """Return what one kernel call finds, and proves for matrices `kept`.

    Not where a condition times `limit` is not small. None where there is no such kernel.
    """
    backend = small_systems(inputs.backend)
    m, n = a.shape[-2:]
    if method == "householder" or backend is None or n > min(m, MOST_COLUMNS) or m > MOST_ROWS:
        return None
    if not (a.size and b.size):
        return None
    call = backend.solve_small if m == n else backend.lstsq_small
    found = call(a, b, kind=inputs.kind)
    condition, steps, status = fetch(found.condition, found.steps, found.status)
    found = found._replace(condition=condition, steps=steps, status=status)
    with np.errstate(invalid="ignore"):
        served = (status == 0) & (condition * limit < SMALL)
    return SmallAnswer(inputs._replace(blocks=[a, b]), found, served)
