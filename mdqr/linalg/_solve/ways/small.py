"""Answers that one kernel call proves."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdqr._backend.protocol import SmallSolution
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.answer import Answer, Report, Scaled
from mdqr.linalg._solve.refine.approximate_inverse import UP


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
        bound, size = fetch(self.found.error, self.size)
        with np.errstate(all="ignore"):
            if self._inputs.work > precision:
                bound = bound + 0.5 * precision.eps * size * UP
            relative = np.where(bound > 0, bound / size, 0.0)
            digits = np.clip(-np.log10(relative * UP), 0.0, float(precision.digits))
        return Report(bound, digits, np.empty(0))

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


def moduli(x: Block, is_complex: bool) -> Block:
    """Return the moduli of the leading limbs."""
    return planes.namespace(x).hypot(x[0, 0], x[1, 0]) if is_complex else abs(x[0])
