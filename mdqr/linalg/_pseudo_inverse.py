"""Magnitudes of the pseudo-inverse of a factored system, in float64."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdqr import _limbs
from mdqr._backend.protocol import Backend, Block
from mdqr.linalg import _scaling
from mdqr.linalg._augmented import System
from mdqr.linalg._householder import set_unit_diagonal


def magnitudes(block: Block, is_complex: bool) -> Block:
    """Return the moduli of the leading limbs as a real block of one limb."""
    xp = _limbs.namespace(block)
    return xp.hypot(block[0, :1], block[1, :1]) if is_complex else abs(block[:1])


def product(backend: Backend, a: Block, b: Block) -> Block:
    """Return the product of magnitudes."""
    return backend.matmul(a, b, limbs=1, is_complex=False)


class Inverse:
    """Bounds of the magnitudes of the inverses that carry residuals to the unknowns.

    Parameters
    ----------
    system : System
        The factored problem.
    eps : float
        That of the work.
    """

    def __init__(self, system: System, eps: float) -> None:
        self.system, self.eps = system, eps
        field, xp = system.is_complex, system.backend.xp
        batch = _limbs.value_shape(system.a, field)[:-2]
        one = xp.zeros((*((2,) if field else ()), 1, *batch, system.columns, system.columns))
        set_unit_diagonal(one, field)
        self._inverse_r = system.triangle.solve(one)
        self._r = magnitudes(self._inverse_r, field)

    @cached_property
    def growth(self) -> Block:
        """Bound of the relative errors of the rows of R^-1: ``8 n eps |R^-1| |R|``, (1, n, n)."""
        system = self.system
        r = magnitudes(system.factors.form_r(system.columns), system.is_complex)
        return 8.0 * max(system.columns, 1) * self.eps * product(system.backend, self._r, r)

    @cached_property
    def of_rows(self) -> Block:
        """Bound of ``|A^+|`` of the matrix with weighted rows, ``(1, ..., n, m)``."""
        system, field = self.system, self.system.is_complex
        q = system._unsorted(system.factors.form_q(system.columns))
        turned = q.swapaxes(-1, -2)
        # Leading limbs: their products err by a few places of float64 of the sums of magnitudes.
        first = (slice(None), slice(1)) if field else (slice(1),)
        signed = system.backend.matmul(
            self._inverse_r[first], turned[first], conj_b=field, limbs=1, is_complex=field
        )
        sums = product(system.backend, self._r, magnitudes(turned, field))
        xp = system.backend.xp
        return xp.where(
            self._connected[1], self._grown(magnitudes(signed, field) + 2.0**-46 * sums), 0.0
        )

    @cached_property
    def of_gradients(self) -> Block:
        """Bound of ``|(A^H W A)^-1|``, ``(1, ..., n, n)``."""
        backend, turned = self.system.backend, self._grown(self._r).swapaxes(-1, -2)
        return backend.xp.where(
            self._connected[0], self._grown(product(backend, self._r, turned)), 0.0
        )

    @cached_property
    def _connected(self) -> tuple[Block, Block]:
        """Which unknowns, and which rows, have to do with an unknown: others leave rounding errors.

        Blocks of A that share no row and no column are separate problems.
        """
        backend = self.system.backend
        held = magnitudes(self.system.given, self.system.is_complex) != 0
        turned = held.swapaxes(-1, -2) * 1.0
        together = product(backend, turned, held * 1.0) > 0
        while not bool(self.system.checks.settle(together.all())[0]):
            further = product(backend, together * 1.0, together * 1.0) > 0
            if bool(self.system.checks.settle((further == together).all())[0]):
                break
            together = further
        return together, product(backend, together * 1.0, turned) > 0

    def _grown(self, x: Block) -> Block:
        # The growth is below 1/2: a geometric series.
        return x + 2.0 * product(self.system.backend, self.growth, x)

    def bound(self, f: Block, g: Block | None) -> Block:
        """Bound the error of unknowns by the magnitudes of residuals, ``(1, ..., m | n, k)``."""
        system = self.system
        if system.root is not None:
            f = f * magnitudes(system.root, system.is_complex)
        with np.errstate(all="ignore"):
            rest = product(system.backend, self.of_rows, f)
            if g is not None:
                rest = rest + product(system.backend, self.of_gradients, g)
            sound = _scaling.largest(self.growth, (-2, -1), 0.0, keepdims=True) < 0.5
        xp = system.backend.xp
        return xp.where(sound & ~xp.isnan(rest), rest, xp.inf)[0]
