"""Riccati equations of discrete time, ``Q - X + A^H X M A = 0`` where ``M = (I + G X)^-1``.

A change E of X changes the left side by ``-E + C^H E C - C^H E M G E (I + M G E)^-1 C``, where
``C = M A`` is the closed loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._matrix.given import first_limbs, frobenius
from mdqr.linalg._matrix.refined.bases import (
    LEAST,
    adjoint_vectors,
    eigenvectors,
    schur_vectors,
    unit,
)
from mdqr.linalg._matrix.refined.operators import Operator
from mdqr.linalg._matrix.refined.refinement import Refined, native
from mdqr.linalg._matrix.refined.riccati import ErrorsOfData, Riccati, hermitian_part
from mdqr.linalg._matrix.refined.square_roots import is_apart
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._spectral.disks import SLACK

_MOST_STEPS = 60


class _Loop(NamedTuple):
    """The closed loop C as a sum of two blocks, and ``A - (I + G X) C``."""

    first: Block
    second: Block
    rest: Block


class Discrete:
    """Solutions with vectors of one kind."""

    def __init__(self, equation: Riccati, schur: bool) -> None:
        self._equation = equation
        a, g, q = (first_limbs(x) for x in (equation.a, equation.g, equation.q))
        with np.errstate(all="ignore"):
            start, closed = _doubled(a, g, q)
        found = schur_vectors(equation.backend, closed) if schur else eigenvectors(closed)
        self._vectors = found[0]
        operator = self._operator(closed, np.zeros(a.shape))
        self._found = Refined(
            equation.backend, start, equation.kind, self._residual, operator.solve
        )
        self.value, self.steps = hermitian_part(self._found.value), self._found.steps
        self.last = np.where(operator.is_singular, np.inf, self._found.last)

    def _operator(self, closed: np.ndarray, rest: np.ndarray) -> Operator:
        left = adjoint_vectors(self._vectors)
        return Operator(
            left.of(closed.conj().swapaxes(-1, -2), rest.swapaxes(-1, -2)),
            self._vectors.of(closed, rest),
            stein=True,
        )

    def _loop(self, x: Block, kind: Kind) -> _Loop:
        """Refine C with the inverse M in float64."""
        equation, field = self._equation, kind.is_complex
        backend, xp = equation.backend, equation.backend.xp
        a = planes.first_limbs(equation.a._block, field, kind.limbs)
        product, lost = equation.loop(x, kind)
        m = _inverse(np.eye(a.shape[-1]) + native(product, field))

        def correction(rest: Block) -> Block:
            block = xp.asarray(from_native(np, m @ native(rest, field), field))
            return planes.widen(block, field, kind.limbs)

        c, wide = correction(a), xp.concatenate([product, lost], axis=-1)
        for _ in range(kind.limbs + 1):
            tall = xp.concatenate([c, c], axis=-2)
            rest = backend.residual([(1, a), (-1, c)], wide, tall, kind=kind)
            c = backend.binary("add", c, correction(rest), kind=kind)
        rest = backend.residual([(1, a), (-1, c)], wide, xp.concatenate([c, c], axis=-2), kind=kind)
        second = correction(rest)
        rest = backend.residual(
            [(1, a), (-1, c), (-1, second)],
            xp.concatenate([product, lost, product], axis=-1),
            xp.concatenate([c, c, second], axis=-2),
            kind=kind,
        )
        return _Loop(c, second, rest)

    def _residual(self, x: Block, kind: Kind) -> Block:
        return self._with_loop(x, self._loop(x, kind), kind)

    def _with_loop(self, x: Block, loop: _Loop, kind: Kind) -> Block:
        """Return ``Q - X + A^H X C``, X C as a product and its rounding errors."""
        backend, xp, field = self._equation.backend, self._equation.backend.xp, kind.is_complex
        a, q = (
            planes.first_limbs(each._block, field, kind.limbs)
            for each in (self._equation.a, self._equation.q)
        )
        product, minus = backend.matmul(x, loop.first, kind=kind), planes.negate(x, field)
        rest = backend.residual(
            [(-1, product)],
            xp.concatenate([minus, minus], axis=-1),
            xp.concatenate([loop.first, loop.second], axis=-2),
            kind=kind,
        )
        left = planes.negate(planes.adjoint(a, field), field)
        return backend.residual(
            [(1, q), (-1, x)],
            xp.concatenate([left, left], axis=-1),
            xp.concatenate([product, rest], axis=-2),
            kind=kind,
        )

    @np.errstate(all="ignore")
    def error(self, errors: ErrorsOfData) -> np.ndarray:
        """Return bounds of the errors of entries, for errors of the data."""
        kind, field = self._equation.kind, self._equation.kind.is_complex
        a, g, q = (first_limbs(e) for e in (self._equation.a, self._equation.g, self._equation.q))
        loop = self._loop(self.value._block, kind)
        r, rest = (
            native(each, field)
            for each in (self._with_loop(self.value._block, loop, kind), loop.rest)
        )
        x, c = first_limbs(self.value), native(loop.first, field)
        of_a, of_g, size, of_c = abs(a), abs(g), abs(x), abs(c)
        turned, n = of_a.swapaxes(-1, -2), x.shape[-1]
        eps = precision_for(kind.limbs).eps
        few, small = (32 * n + 256) * square_of(eps), 4 * unit(n)
        # Of I + G X, of its inverse, and of the closed loop.
        moved = errors.g @ size
        inverse, m = _bounded_inverse(g, x, small, moved)
        own = (eps + 2.0**-51) * abs(rest) + few * (of_a + of_c + of_g @ size @ of_c)
        of_rest = abs(rest) + own + LEAST
        of_x_c = abs(x @ c) + small * (size @ of_c)
        change = of_rest + errors.a + errors.g @ of_x_c
        of_loop = m @ change + 2.0**-50 * of_c
        # A^H X M, then the residual, and the change by errors of the data.
        of_left = abs(a.conj().swapaxes(-1, -2) @ x @ inverse)
        of_left = of_left + turned @ size @ (small * abs(inverse) + (m - abs(inverse)))
        lost = (eps + 2.0**-51) * abs(r) + few * (abs(q) + size + turned @ size @ of_c) + LEAST
        lost = lost + errors.q + of_left @ change
        lost = lost + errors.a.swapaxes(-1, -2) @ (of_x_c + size @ of_loop)
        operator = self._operator(c, SLACK * of_loop)
        left, right = operator.left, operator.right
        v, w = left.vectors.v, right.vectors.w
        exact = abs(inverse @ g)
        coupling = abs(w @ (inverse @ g) @ v)
        around = m @ errors.g + (m - abs(inverse)) @ of_g + small * (abs(inverse) @ of_g)
        coupling = coupling + abs(w) @ (small * exact + around) @ abs(v)
        h = SLACK * frobenius(coupling)
        one = frobenius(right.t) + frobenius(right.g)
        other = frobenius(left.t) + frobenius(left.g)
        bounded = operator.bounded(r, lost, SLACK * 2 * one * other * h)
        is_small = h * bounded.norm <= 0.5
        added = frobenius(right.g) + frobenius(right.j) + 2 * h * bounded.norm * one
        stable = is_apart(right, (1 - abs(right.values)) / SLACK, SLACK * added)
        return np.where((is_small & stable)[:, None, None], bounded.entries, np.inf)


def _inverse(x: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return np.full(x.shape, np.nan)


def _bounded_inverse(
    g: np.ndarray, x: np.ndarray, small: float, moved: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverse of ``I + G X`` in float64, and bounds of the moduli of exact ones."""
    n = x.shape[-1]
    whole = np.eye(n) + g @ x
    inverse = _inverse(whole)
    error = abs(np.eye(n) - inverse @ whole)
    rest = small * (np.eye(n) + abs(g) @ abs(x)) + moved
    error = SLACK * (error + abs(inverse) @ (rest + small * abs(whole)))
    rows = error.sum(axis=-1)
    most = rows.max(axis=-1, initial=0.0)[:, None, None]
    factor = np.where(most < 1, 1 / (1 - most), np.inf)
    columns = abs(inverse).max(axis=-2, initial=0.0)[:, None, :]
    return inverse, SLACK * (abs(inverse) + rows[..., None] * factor * columns)


def _doubled(a: np.ndarray, g: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return solutions and closed loops in float64, by doubling (B. D. O. Anderson 1978)."""
    one, x = np.eye(a.shape[-1]), q.copy()
    power, gain = a.copy(), g.copy()
    for _ in range(_MOST_STEPS):
        m = _inverse(one + gain @ x)
        turned, before = power.conj().swapaxes(-1, -2), x
        x = x + turned @ x @ m @ power
        gain = gain + power @ m @ gain @ turned
        power = power @ m @ power
        change = abs(x - before).max(initial=0.0)
        if not change > 2.0**-52 * abs(x).max(initial=0.0):
            break
    x = (x + x.conj().swapaxes(-1, -2)) / 2
    return x, _inverse(one + g @ x) @ a
