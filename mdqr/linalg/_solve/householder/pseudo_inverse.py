"""Bounds of what residuals do to the unknowns: an approximate pseudo-inverse, and its errors.

With ``Y = R^-1 Q^H`` and ``N = R^-1 R^-H`` for rows with weights, and ``D = Y - N A^H``, the error
e of unknowns whose residuals are f and g is ``e = Y f - N g - D rho + (I - Y A) e``, where rho, the
error of r, is ``(I - A A^+) f + (A^+)^H g``. So ``|e|`` is at most ``b + |I - Y A| |e|`` with b the
sum of the bounds of the first three (as S. M. Rump 2013 bounds solutions by approximate inverses).
"""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.wide_range import product
from mdqr.linalg._solve.householder.separate import Joined
from mdqr.linalg._solve.system import UNDERFLOW, System

# Multiply-adds of the products that measure an inverse: a second or two.
_MOST_MEASURED = 2**21
# Of a series: what small components get from large ones by so many steps is bounded closely.
_TERMS = 24


def magnitudes(block: Block, is_complex: bool) -> Block:
    """Return the moduli of the leading limbs as a real block of one limb."""
    xp = planes.namespace(block)
    return xp.hypot(block[0, :1], block[1, :1]) if is_complex else abs(block[:1])


def _lengths(rows: Block) -> Block:
    """Return the lengths of rows as a column."""
    return ((rows**2).sum(axis=-1, keepdims=True)) ** 0.5


class Inverse:
    """An approximate pseudo-inverse of a factored system, for bounds of the errors of unknowns.

    Entries that join unknowns and rows which have nothing to do with each other are set to zero.
    I - Y A and D are computed where that is affordable; else their bounds are those of the
    factorisation, which need ``contraction_limit`` below 1/2.

    Parameters
    ----------
    system : System
        The factored problem.
    joined : Joined
        Its blocks.
    eps : float
        That of the work.
    limit : Block
        The contraction limit, of the batch shape.
    """

    @np.errstate(all="ignore")
    def __init__(self, system: System, joined: Joined, eps: float, limit: Block) -> None:
        self.system, self.eps, self.limit = system, eps, limit[..., None, None]
        field, xp = system.kind.is_complex, system.backend.xp
        shape = planes.value_shape(system.a, field)
        self._one = system.identity()
        self._inverse_r = system.triangle.solve(self._one)
        self._r = magnitudes(self._inverse_r, field)
        self._together, self._joined = joined.unknowns[None], joined.rows[None]
        q = system.form_q()
        y = system.backend.matmul(
            self._inverse_r, q.swapaxes(-1, -2), conj_b=field, kind=system.kind
        )
        self._y = xp.where(self._joined, y, 0.0)
        self._rows = magnitudes(self._y, field)
        affordable = prod(shape) * system.columns <= _MOST_MEASURED
        self._h, self._d = self._measured(q) if affordable else self._estimated()

    @np.errstate(all="ignore")
    def bound(self, f: Block, g: Block | None) -> Block:
        """Bound the error of unknowns by the magnitudes of residuals, ``(1, ..., m | n, k)``."""
        system, times = self.system, partial(product, self.system.backend)
        if system.root is not None:
            f = f * magnitudes(system.root, system.kind.is_complex)
        rest = times(self._rows, f)
        if g is not None:
            rest = rest + times(times(self._r, self._r.swapaxes(-1, -2)) * self._together, g)
            rho = times(self._joined * 1.0, f**2) ** 0.5
            rho = rho + times(self._together * _lengths(self._rows).swapaxes(-1, -2), g)
            rest = rest + self._d * rho
        return self._closed(rest)[0]

    def _closed(self, b: Block) -> Block:
        """Return a bound of every e that is at most ``b + H e``.

        With the sum s of ``H**t b`` for t below T, and all norms those of the maximum, e is at most
        ``s + H 1 norm(H)**(T - 1) norm(b) / (1 - norm(H))``; and it is at most ``s / (1 - c)`` with
        c the largest component of ``H s / s``, if the spectral radius of H is below 1. That is not
        larger than the same for another vector that is positive (L. Collatz 1942).
        """
        xp, times = self.system.backend.xp, partial(product, self.system.backend)
        one = xp.ones((*b.shape[:-1], 1))
        given = total = xp.concatenate([b, one], axis=-1)
        for _ in range(_TERMS):
            total = given + times(self._h, total)
        ratio = times(self._h, total) / xp.where(total > 0, total, 1.0)
        ratio = scaling.largest(ratio, -2, 0.0, keepdims=True)
        sound = ratio[..., -1:] < 0.98
        ratio, total = ratio[..., :-1], total[..., :-1]
        scaled = xp.where(sound & (ratio < 0.75), total / (1.0 - ratio), xp.inf)
        rows = self._h.sum(axis=-1, keepdims=True)
        norm = scaling.largest(rows, -2, 0.0, keepdims=True)
        tail = scaling.largest(b, -2, 0.0, keepdims=True) * norm**_TERMS / (1.0 - norm)
        found = xp.minimum(scaled, xp.where(norm < 0.5, total + rows * tail, xp.inf))
        return xp.where(xp.isnan(found), xp.inf, found) * (1 + 2.0**-30)

    def _measured(self, q: Block) -> tuple[Block, Block]:
        """Return bounds of I - Y A and of the lengths of the rows of D, computed."""
        system, field, times = (
            self.system,
            self.system.kind.is_complex,
            partial(product, self.system.backend),
        )
        (m, n), eps = system.a.shape[-2:], self.eps
        a, y = system.a, self._y
        if system.root is not None:
            a = system.binary("multiply", system.root, a)
            y = system.binary("multiply", y, system.root.swapaxes(-1, -2))
        size, further = magnitudes(a, field), (m + 8) * (eps**2 + UNDERFLOW)
        rounded = 0.0 if system.root is None else 4.0 * eps
        h = magnitudes(
            system.backend.residual([(1, self._one)], y, system.a, kind=system.kind), field
        )
        h = h * (1 + eps) + (further + rounded) * times(self._rows, size)
        h = h + further * magnitudes(self._one, field)
        left = magnitudes(
            system.backend.residual([(1, q)], a, self._inverse_r, kind=system.kind), field
        )
        left = left * (1 + eps) + (further + rounded) * (
            times(size, self._r) + magnitudes(q, field)
        )
        d = times(self._r, _lengths(left.swapaxes(-1, -2)) + (n + 8) * eps)
        return h * self._together, d

    def _estimated(self) -> tuple[Block, Block]:
        """Return bounds of the same from the backward errors of the factorisation.

        With ``A + E = Q R``, columns of E below ``4 n eps`` of those of R, I - Y A is
        ``R^-1 Q^H E`` and D is ``R^-1 R^-H E^H``, up to terms of second order. ``Q^H E`` is not a
        triangle: lengths of rows of ``R^-1`` count, not moduli of their entries.
        """
        system, xp = self.system, self.system.backend.xp
        r = magnitudes(system.factors.form_r(system.columns), system.kind.is_complex)
        lengths, columns = _lengths(self._r), _lengths(r.swapaxes(-1, -2)).swapaxes(-1, -2)
        growth = 4.0 * max(system.columns, 1) * self.eps * lengths * columns
        growth = xp.where(self._together, xp.where(self.limit < 0.5, growth, xp.inf), 0.0)
        return growth, product(system.backend, growth, lengths)
