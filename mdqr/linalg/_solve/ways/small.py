"""Answers that one kernel call proves."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdqr._backend.protocol import SmallSolution
from mdqr._limbs import planes, scaling
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
        if inputs.blocks[0].shape[-1] != inputs.blocks[0].shape[-2]:
            self.kept = served & self._residual[1]

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

    @property
    def r(self) -> Scaled:
        """The residuals."""
        return self._residual[0]

    @cached_property
    def _residual(self) -> tuple[Scaled, np.ndarray]:
        return _residual(self._inputs, self.found)

    @property
    def steps(self) -> int:
        """The most refinement steps."""
        return int(self.found.steps.max())


def moduli(x: Block, is_complex: bool) -> Block:
    """Return the moduli of the leading limbs."""
    return planes.namespace(x).hypot(x[0, 0], x[1, 0]) if is_complex else abs(x[0])


@np.errstate(all="ignore")
def _residual(inputs: Inputs, found: SmallSolution) -> tuple[Scaled, np.ndarray]:
    """Return ``b - a x``, and where the rounding of x does not show in a sum of its squares."""
    backend, kind, (a, b) = inputs.backend, inputs.kind, inputs.blocks
    xp = backend.xp
    if a.shape[-1] == a.shape[-2]:
        unit = xp.zeros_like(found.error[..., 0, :], dtype=np.int64)
        right = np.ones(found.status.shape, dtype=bool)
        return Scaled(kind.zeros(xp, inputs.shape(1)), unit), right
    r = backend.residual([(1, b)], a, found.x, kind=kind)
    # Near 1, where squares do not vanish.
    r, powers = backend.balance_columns(r, None, is_complex=kind.is_complex)
    moved = scaling.leading(a, kind.is_complex) @ xp.ldexp(found.error, powers[..., None, :] + 1)
    known = scaling.leading(r, kind.is_complex)
    holds = (moved * moved).sum(axis=-2) <= inputs.work.eps * (known * known).sum(axis=-2)
    return Scaled(r, -powers), fetch(holds.all(axis=-1))[0]
