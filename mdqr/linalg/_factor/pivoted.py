"""Householder factorisation with column pivoting, in stages of float64 choices.

Pivots need few bits: a stage chooses as many columns as float64 can tell the longest of, from the
leading limbs of what is left, by orthogonalisation alone; the blocked factorisation takes these,
and what is left after its products is measured again. No downdated length outlives a stage, so
that cancellation hides nothing (Z. Drmac and Z. Bujanovic, On the failure of rank-revealing QR
factorization software, 2008).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.householder import Factors
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import fetch

# A stage ends where a column is that much shorter than its first: squares of lengths err by a few
# 2**-53 of the first one.
_SHORTEST = 2.0**-12
# Of squares of lengths: columns so near to the longest keep their order, whatever the last bits of
# products by a BLAS are.
_NEAR = 1 - 2.0**-12
# Differences of exponents that float64 holds.
_FAR = 1000


class Pivoted(NamedTuple):
    """Factors of matrices ``2**-exponents[j] a[:, order[j]]``; all have one batch dimension.

    `factors` has the reflectors of as many columns as were wanted. `left` are the lengths, in the
    Frobenius norm, of what they leave of the matrices, relative to these: float64 ``(batch,)``.
    """

    factors: Factors
    exponents: Block
    order: Block
    left: Block


class _Stage(NamedTuple):
    """The remaining columns, float64 or complex128 times ``2**-top``, and squares of norms."""

    columns: Block  # (batch, m, n)
    squares: Block  # (batch, n)
    top: Block  # (batch,)


def factor(
    backend: Backend,
    work: Block,
    exponents: Block,
    *,
    kind: Kind,
    tile: int | None = None,
    keep_q: bool = True,
    enough: float = 0.0,
    least: int = 0,
    report: Reporter | None = None,
) -> Pivoted:
    """Factor the matrices ``2**exponents[j] work[:, j]``, ``(batch, m, n)``; `work` is overwritten.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    work : Block
        Matrices with columns scaled near 1; it becomes `Factors.h`.
    exponents : Block
        Those of the columns, int64 ``(batch, n)``.
    kind : Kind
        That of `work`: two limbs or more, as panels have.
    tile : int, optional
        The largest number of columns of a tile; by default from the static table.
    keep_q : bool, optional
        Whether Q will be wanted.
    enough : float, optional
        Stop when what is left is at most that part of each matrix.
    least : int, optional
        So many columns are factored in any case.
    report : callable, optional
        Called as ``report("factor", done, total)`` after each tile.

    Returns
    -------
    Pivoted
        The factorisation. Each diagonal entry of R is at least ``1 - 2**-10`` times the length of
        what is left of each later column, where that is above ``2**-1040`` times the column.
    """
    xp, (m, n) = backend.xp, work.shape[-2:]
    count = min(m, n)
    width = tile or tuning.tile_width(backend, kind, count)
    leaf = tuning.leaf_width(backend, kind.limbs)
    factors = Factors(backend, kind, work, xp.zeros((*work.shape[:-2], count)))
    order = xp.broadcast_to(xp.arange(n), exponents.shape).copy()
    exponents, start = exponents.copy(), 0
    first = stage = _stage(xp, work, exponents, kind)
    while start < count:
        if enough and start >= least and fetch((_left(xp, stage, first) <= enough).all())[0]:
            break
        pivots = _chosen(xp, stage, min(width, count - start))
        stop = start + pivots.shape[-1]
        _bring_forward(xp, pivots, start, work, exponents, order)
        v, t = householder.factor_tile(factors, slice(start, stop), leaf)
        if keep_q:
            factors.vs.append(v)
            factors.ts.append(t)
        if report is not None:
            report("factor", stop, count)
        start = stop
        stage = _stage(xp, work[..., start:, start:], exponents[:, start:], kind)
    factors.tau = factors.tau[..., :start]
    return Pivoted(factors, exponents, order, _left(xp, stage, first))


def _columns(order: Block, block: Block) -> Block:
    """Return the order of columns ``(batch, n)`` as indices for all planes and rows."""
    xp = planes.namespace(block)
    return xp.broadcast_to(order[:, None, :], (*block.shape[:-1], order.shape[-1]))


@np.errstate(all="ignore")  # what is not finite goes through
def _stage(xp: Any, block: Block, exponents: Block, kind: Kind) -> _Stage:
    """Return what is left for float64."""
    own = exponents + scaling.column_exponents(block, kind.is_complex)
    bits = scaling.largest(scaling.magnitude_bits(block, kind.is_complex), -2, 0)
    top = scaling.largest(xp.where(bits > 0, own, scaling.ABSENT), -1, scaling.ABSENT)
    shift = xp.maximum(xp.minimum(exponents - top[:, None], _FAR), -_FAR).astype(np.int32)
    scale = xp.where(bits > 0, xp.ldexp(1.0, shift), 0.0)
    columns = to_native(xp, block, kind.is_complex) * scale[:, None, :]
    return _Stage(columns, (abs(columns) ** 2).sum(axis=-2), top)


@np.errstate(all="ignore")  # what is not finite goes through
def _left(xp: Any, stage: _Stage, first: _Stage) -> Block:
    """Return what is left in the Frobenius norm, relative to the first stage."""
    down = xp.maximum(stage.top - first.top, -2 * _FAR).astype(np.int32)
    size = first.squares.sum(axis=-1)
    share = xp.sqrt(stage.squares.sum(axis=-1) / xp.where(size > 0, size, 1.0))
    return xp.ldexp(share, down)


@np.errstate(all="ignore")  # what is not finite goes through
def _chosen(xp: Any, stage: _Stage, width: int) -> np.ndarray:
    """Return pivots that float64 can tell, at most `width` of them, int64 ``(batch, count)``.

    Vectors stay on the host, where each operation costs little: a device only multiplies its
    columns by one vector a pivot.
    """
    x, (squares,) = stage.columns, fetch(stage.squares)
    batch = np.arange(x.shape[0])
    basis = np.zeros((x.shape[0], width, x.shape[1]), dtype=x.dtype)
    pivots = np.zeros((x.shape[0], width), dtype=np.int64)
    least: np.ndarray | float = 0.0
    for step in range(width):
        place = (squares >= _NEAR * squares.max(axis=-1, keepdims=True)).argmax(axis=-1)
        size = squares[batch, place]
        if step and not (size >= least).all():
            return pivots[:, :step]
        least = least if step else _SHORTEST**2 * size
        pivots[:, step] = place
        vector = host_block(_columns_at(xp, x, place))
        vector, known = vector[:, None, :], basis[:, :step]
        for _ in range(2 if step else 0):
            vector = vector - (vector @ known.conj().swapaxes(-1, -2)) @ known
        length = np.sqrt((abs(vector) ** 2).sum(axis=-1, keepdims=True))
        vector = vector / np.where(length > 0, length, 1.0)
        basis[:, step] = vector[:, 0]
        row = host_block(xp.asarray(vector.conj()) @ x)
        squares = np.maximum(squares - abs(row[:, 0]) ** 2, 0.0)
        # Columns that were chosen come last.
        squares[batch[:, None], pivots[:, : step + 1]] = -1.0
    return pivots


def _columns_at(xp: Any, x: Block, place: np.ndarray) -> Block:
    """Return a column of each matrix, ``(batch, m)``."""
    if len(place) == 1:  # a view: a device has no indices to wait for
        return x[:, :, int(place[0])]
    return x[xp.arange(len(place)), :, xp.asarray(place)]


def _bring_forward(
    xp: Any, pivots: np.ndarray, start: int, work: Block, exponents: Block, order: Block
) -> None:
    """Bring pivots to the front of the columns from `start` on, in place; others keep order."""
    key = xp.broadcast_to(xp.arange(exponents.shape[-1] - start), exponents[:, start:].shape).copy()
    batch, count = xp.arange(key.shape[0])[:, None], pivots.shape[-1]
    key[batch, xp.asarray(pivots)] = xp.arange(-count, 0)
    moved = key.argsort(axis=-1)
    for values in (exponents, order):
        values[:, start:] = xp.take_along_axis(values[:, start:], moved, axis=-1)
    rest = work[..., start:]
    rest[...] = xp.take_along_axis(rest, _columns(moved, rest), axis=-1)
