"""Eigenvalues of two Hermitian matrices, one of them definite, refined by residuals.

Vectors X that come from a Cholesky factor of B have lost the condition of B. With residuals R of
``A X - B X W`` and ``G = I - X^H B X`` in twice the limbs, ``Z = X^H R``, which is ``X^H A X`` less
``X^H B X W``: ``w_i + Z_ii / (1 - G_ii)`` are Rayleigh quotients, and X + X E, with ``E_ij =
Z_ij / (w_j - w_i)`` and ``E_ii = G_ii / 2``, has errors squared (T. Ogita and K. Aishima, Iterative
refinement for symmetric eigenvalue decomposition, 2018, here with B). Values that are too close for
that get the eigenvectors of their part of Z.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter, Steps
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.disks import components
from mdqr.linalg._spectral.residual_bounds import diagonal_matrix

_MOST_STEPS = 8
# Quotients up to that size are angles whose squares count less than they do.
_SMALL = 2.0**-4
_FAR = 2.0**-3

# Eigenvalues ``(batch, n)`` and eigenvectors ``(batch, n, n)`` of Hermitian matrices.
Solver = Callable[[Block], tuple[Block, Block]]


class Pairs(NamedTuple):
    """Values ``(batch, n)``, vectors ``(batch, n, n)``, and the size of the last change."""

    values: Block
    vectors: Block
    change: float


class _Step(NamedTuple):
    z: Block
    g: Block


class NearOne(NamedTuple):
    """Two matrices with entries near 1: ``2**both a``, over ``2**top``, and ``2**both b``.

    `both` are the sums of two `powers`, int64 ``(batch, n)``: of rows and of columns. Vectors are
    to be multiplied by ``2**-powers``, eigenvalues by ``2**-top``, int64 ``(batch,)``.
    """

    a: Block
    b: Block
    powers: Block
    top: Block

    @property
    def both(self) -> Block:
        """The powers of the entries of b, ``(batch, n, n)``."""
        return self.powers[:, :, None] + self.powers[:, None, :]


def near_one(backend: Backend, a: Block, b: Block, is_complex: bool) -> NearOne:
    """Scale a Hermitian and a definite matrix, whose diagonal comes between 1/4 and 1.

    No entry of b is larger then, and the vectors have the condition of b without its scales.
    """
    exponents = scaling.exponents_of(scaling.magnitude_bits(planes.diagonal(b), is_complex))
    found = NearOne(a, b, -((exponents + 1) >> 1), exponents)
    both = found.both
    sizes = scaling.exponents_or_absent(scaling.magnitude_bits(a, is_complex)) + both
    top = scaling.largest(sizes, (-2, -1), 0)
    top = backend.xp.where(top > scaling.ABSENT // 2, top, 0)
    a = backend.ldexp(a, both - top[:, None, None], is_complex=is_complex)
    b = backend.ldexp(b, both, is_complex=is_complex)
    return NearOne(a, b, found.powers, top)


def refined(
    backend: Backend,
    a: Block,
    b: Block,
    values: Block,
    x: Block,
    kind: Kind,
    solver: Solver,
    report: Reporter | None = None,
) -> Pairs:
    """Return better eigenvalues and eigenvectors of ``(batch, n, n)``, not in any order."""
    field = kind.is_complex
    near = near_one(backend, a, b, field)
    a, b, powers, top = near.a, near.b, near.powers[:, :, None], near.top[:, None]
    w = backend.ldexp(planes.widen(values, False, kind.limbs), -top)
    x = planes.widen(x, field, kind.limbs)
    x = backend.ldexp(x, -powers, is_complex=field)
    enough = precision_for(kind.limbs).eps ** 0.5 * 2.0**-8
    change, last = 0.0, np.inf
    steps = None if report is None else Steps(report, "refine")
    for _ in range(_MOST_STEPS):
        step = _remainders(backend, a, b, x, w, kind)
        found, change = _corrected(backend, step, x, w, kind, solver)
        if steps is not None:
            steps.step()
        # Also where it is not a number.
        if not change < _FAR:
            break
        w, x = found
        if change <= enough or change > last / 2:
            break
        last = change
    if steps is not None:
        steps.end()
    vectors = backend.ldexp(x, powers, is_complex=field)
    return Pairs(backend.ldexp(w, top), vectors, change)


def _remainders(backend: Backend, a: Block, b: Block, x: Block, w: Block, kind: Kind) -> _Step:
    """Return Z and G; B X is held as what it is rounded to, less what that is off."""
    xp, field = backend.xp, kind.is_complex
    image = backend.matmul(b, x, kind=kind)
    off = backend.residual([(1, image)], b, x, kind=kind)
    of_w = diagonal_matrix(xp, w, kind)
    wide = xp.concatenate([planes.widen(a, field, kind.limbs), image], axis=-1)
    tall = xp.concatenate([planes.negate(x, field), of_w], axis=-2)
    more = backend.matmul(off, of_w, kind=kind)
    r = backend.residual([(1, more)], wide, tall, kind=kind)
    left = planes.adjoint(x, kind.is_complex)
    one = kind.identity(xp, x.shape[kind.lead :])
    more = backend.matmul(left, off, kind=kind)
    g = backend.residual([(1, one), (1, more)], left, image, kind=kind)
    return _Step(backend.matmul(left, r, kind=kind), g)


@np.errstate(all="ignore")
def _corrected(
    backend: Backend, step: _Step, x: Block, w: Block, kind: Kind, solver: Solver
) -> tuple[tuple[Block, Block], float]:
    """Return values and vectors after one step, and the largest change relative to vectors."""
    xp, field, n = backend.xp, kind.is_complex, int(w.shape[-1])
    shape, real = (*w.shape, n), kind.real
    rows, columns = (xp.broadcast_to(y, shape) for y in (w[..., :, None], w[..., None, :]))
    gap = backend.binary("subtract", columns, rows, kind=real)
    of_z, of_gap = native_abs(step.z, field), abs(gap[0])
    of_z = xp.maximum(of_z, of_z.swapaxes(-1, -2))
    close = (of_z > _SMALL * of_gap) | (of_gap == 0)
    planes.diagonal(close)[...] = True
    divisor = xp.where(close, 0.0, gap)
    divisor[0] = xp.where(close, 1.0, divisor[0])
    divisor = planes.complexify(divisor) if field else divisor
    turn = backend.binary("divide", step.z, divisor, kind=kind)
    turn = xp.where(close, step.g * 0.5, turn)
    diagonal, length = (planes.diagonal(y[0] if field else y).copy() for y in (step.z, step.g))
    one = real.zeros(xp, w.shape[1:])
    one[0] = 1.0
    length = backend.binary("subtract", one, length, kind=real)
    change = backend.binary("divide", diagonal, length, kind=real)
    x = backend.matmul(x, turn, c=x, kind=kind)
    linked = close & (xp.eye(n) == 0)
    sizes = xp.where(linked, of_z / xp.maximum(abs(w[0])[..., :, None], abs(w[0])[..., None, :]), 0)
    largest, any_linked = fetch(
        scaling.largest(xp.maximum(native_abs(turn, field), xp.nan_to_num(sizes)), None, 0.0),
        (linked & (of_z > 0)).any(),
    )
    if any_linked:
        w, x = _turned_together(backend, step.z, change, close, w, x, kind, solver)
    else:
        w = backend.binary("add", w, change, kind=real)
    return (w, x), float(largest)


def _turned_together(
    backend: Backend,
    z: Block,
    change: Block,
    close: Block,
    w: Block,
    x: Block,
    kind: Kind,
    solver: Solver,
) -> tuple[Block, Block]:
    """Return values and vectors after those of close values are turned within their span."""
    xp, field, real = backend.xp, kind.is_complex, kind.real
    found, labels = backend.binary("add", w, change, kind=real), components(fetch(close)[0])
    for i, label in enumerate(labels):
        for first in np.unique(label):
            members = np.flatnonzero(label == first)
            if members.size == 1:
                continue
            index = xp.asarray(members.tolist())
            inner = (..., i, index[:, None], index)
            part = z[inner]
            part = (
                backend.binary("add", part, planes.adjoint(part, kind.is_complex), kind=kind) * 0.5
            )
            # What the values have in common hides what they differ in.
            centre = w[:, i, index[:1]]
            own = backend.binary("subtract", found[:, i, index], centre, kind=real)
            diagonal = planes.diagonal(part[0] if field else part)
            diagonal[...] = own
            if field:
                planes.diagonal(part)[1] = 0.0
            values, turn = solver(part[..., None, :, :])
            found[:, i, index] = backend.binary("add", values[:, 0], centre, kind=real)
            columns = x[..., i, :, :]
            columns[..., index] = backend.matmul(columns[..., index], turn[..., 0, :, :], kind=kind)
    return found, x
