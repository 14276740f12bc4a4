"""Rows that come and go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.protocol import Block
from mdqr.linalg._shared import scaling
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import sweeps as sweeps
from mdqr.linalg._update import windows as windows
from mdqr.linalg._update.downdate import leverage
from mdqr.linalg._update.engine import (
    adjoint,
    adjoint_multiply,
    apply_left,
    apply_right,
    joined,
    set_identity,
)
from mdqr.linalg._update.state import (
    Loss,
    State,
    Unchecked,
    column_norms,
    diagonal_magnitudes,
    float_share,
    outside,
    rounding,
    smallest_share,
    unit_columns,
)


def insert_rows(state: State, u: Block, k: int) -> None:
    """Insert rows `u` ``(..., p, n + extra)``, overwritten, before row `k`."""
    engine, p, was_full = state.engine, int(u.shape[-2]), state.full
    if p and windows.columns_of(engine, p):
        _insert_above(state, u, k)
        return
    z = None
    if state.q is not None:
        state.q = _with_unit_rows(state, state.q, k, p, ahead=False)
        z = state.q[..., -p:] if p else state.q[..., :0]
    columns = state.count
    old = int(state.r.shape[-2])
    q = None if state.q is None else state.q[..., :old]
    sweeps.stacked(engine, state.r, u, q, z, columns=columns)
    if columns < state.n:
        # A matrix wider than high: what is left of the new rows continues the trapezoid.
        factors = engine.factor(u[..., columns : state.n])
        apply_left(engine, factors, u[..., state.n :])
        if z is not None:
            apply_right(engine, factors, z)
    state.r = joined(engine, [state.r, u], -2)
    if not was_full:
        state.drop(min(old + p, state.n))


def _insert_above(state: State, u: Block, k: int) -> None:
    """Insert few rows before row `k`: with them on top, R has p diagonals below its main one."""
    engine, p, was_full, columns = state.engine, int(u.shape[-2]), state.full, state.count
    if state.q is not None:
        state.q = _with_unit_rows(state, state.q, k, p, ahead=True)
    state.r = joined(engine, [u, state.r], -2)
    rows = int(state.r.shape[-2])
    sweeps.band(engine, state.r, state.q, start=0, stop=columns, lower=p, rows=columns + p)
    if columns < state.n:
        # A matrix wider than high: what is left of the new rows continues the trapezoid.
        low = state.r[..., columns:, columns:]
        factors = engine.factor(low[..., : state.n - columns])
        apply_left(engine, factors, low[..., state.n - columns :])
        if state.q is not None:
            apply_right(engine, factors, state.q[..., columns:])
    if not was_full:
        state.drop(min(rows, state.n))


def _with_unit_rows(state: State, q: Block, k: int, p: int, *, ahead: bool) -> Block:
    """Return Q with p unit rows before row `k`, and their columns, ahead of all or behind."""
    m, columns = int(q.shape[-2]), int(q.shape[-1])
    wide = state.engine.zeros(q, m + p, columns + p)
    own = wide[..., p:] if ahead else wide[..., :columns]
    own[..., :k, :] = q[..., :k, :]
    own[..., k + p :, :] = q[..., k:, :]
    set_identity(state.engine, wide[..., k : k + p, 0 if ahead else columns :])
    return wide


def delete_rows(state: State, k: int, p: int, *, look: bool = True) -> None:
    """Remove rows `k` to ``k + p`` of a factorisation with Q; those that make Q square first."""
    if state.q is None or not p:
        return
    m = state.m
    thin = 0 if state.full else min(p, m - state.n)
    if thin:
        _delete_thin(state, state.q, k, thin, look=look)
    if p > thin and state.q is not None:
        _delete_full(state, state.q, k, p - thin)


def _delete_full(state: State, q: Block, k: int, p: int) -> None:
    engine, count, m = state.engine, state.count, state.m
    w = adjoint(engine, q[..., k : k + p, :]).copy()
    if m > count:
        factors = engine.factor(w[..., count:, :])
        apply_left(engine, factors, state.r[..., count:, state.n :])
        apply_right(engine, factors, q[..., count:])
        if m - p >= state.n:
            _note_loss(state, w[..., count : count + p, :])
    state.turned |= sweeps.spike(engine, w, state.r, q, first=0, stop=min(count + p, m))
    _without(state, k, p)


def delete_rows_with(state: State, b: Block, k: int, whole: Block | None) -> Block:
    """Remove rows of thin factors with ``Q^H b`` in their extra columns.

    `b` ``(..., p, extra)`` are the rows of b; the components of b along the directions that the
    rows need outside of Q are returned. At least as many rows stay as there are columns. Without
    `whole`, all rows of b, the components come from what Q leaves of these rows, divided by the
    part of the directions in them: as many digits are lost once more.
    """
    return _delete_thin(state, state.q, k, int(b.shape[-2]), b, whole)


def _delete_thin(
    state: State,
    q: Block,
    k: int,
    p: int,
    b: Block | None = None,
    whole: Block | None = None,
    *,
    look: bool = True,
) -> Block:
    engine = state.engine
    e = adjoint(engine, q[..., k : k + p, :])
    w, basis, triangle_ = outside(engine, q, unit_columns(engine, q, k, p), e, look=look)
    _note_loss(state, triangle_, twice=b is not None and whole is None)
    rows = engine.zeros(state.r, p, int(state.r.shape[-1]))
    if whole is not None:
        rows[..., state.n :] = adjoint_multiply(engine, basis, whole)
    elif b is not None:
        z = adjoint_multiply(engine, w, state.r[..., state.n :], c=b, subtract=True)
        system = engine.triangle(triangle_, "UpdatableLstsq.delete_rows", Unchecked())
        rows[..., state.n :] = engine.from_block(system.solve(engine.to_block(z), "C"))
    known = rows[..., state.n :]
    w = joined(engine, [w, triangle_], -2)
    state.extend(basis, rows)
    stop = int(w.shape[-2])
    state.turned |= sweeps.spike(engine, w, state.r, state.q, first=0, stop=stop)
    _without(state, k, p)
    return known


def _without(state: State, k: int, p: int) -> None:
    """Leave out rows k to k + p of Q, its first columns and the first rows of R."""
    if state.q is not None:
        state.q = joined(state.engine, [state.q[..., :k, p:], state.q[..., k + p :, p:]], -2)
    state.r = state.r[..., p:, :]


def _note_loss(state: State, triangle_: Block, *, twice: bool = False) -> None:
    """Note the smallest part of the rows outside of Q; `twice` if something is divided by it."""
    share = smallest_share(state.engine, triangle_)
    share = share**2 if twice else share
    noise = state.engine.backend.xp.full(share.shape, rounding(state.engine, state.n))
    state.losses.append(Loss(share, noise))


class Before(NamedTuple):
    """What R was before rows left: norms of the columns, and how many diagonal entries counted."""

    norms: Block
    rank: Block
    share: Block | None


def before(state: State, *, fresh: bool) -> Before:
    """Return what `note_rank` compares with."""
    norms = column_norms(state.engine, state.r[..., : state.n])
    return Before(norms, _rank(state, norms), _float_share(state, norms) if fresh else None)


def _rank(state: State, norms: Block) -> Block:
    """Return how many diagonal entries of R are above the rounding errors of columns so long."""
    r = state.r[..., : state.count, : state.n]
    entries = diagonal_magnitudes(state.engine, r)
    return (entries > rounding(state.engine, state.n) * norms[..., : state.count]).sum(axis=-1)


def _float_share(state: State, norms: Block) -> Block:
    """Return the smallest singular value of R with columns divided by `norms`, about."""
    xp = state.engine.backend.xp
    if state.count < state.n or not state.n:
        return xp.ones(norms.shape[:-1])
    size = xp.where(norms > 0, norms, 1.0)
    return float_share(state.engine, state.r[..., : state.n, : state.n], size)


def _column_share(state: State, norms: Block) -> Block:
    """Return how much is left of the column that lost most."""
    xp = state.engine.backend.xp
    after = column_norms(state.engine, state.r[..., : state.n])
    some = (norms > 0) & (after > 0)
    shares = xp.where(some, after / xp.where(some, norms, 1.0), 1.0)
    return -scaling.largest(-shares, -1, -1.0)


def note_rank(state: State, known: Before) -> None:
    """Settle what was lost with the rows, once R is new.

    Rows without a part outside of Q take information along, and so do rows without which R has a
    lower rank. Both tell nothing where R was deficient before, whose diagonal does not show its
    rank: there, and where fewer rows than columns stay, only columns that vanish do. A fresh R has
    no such parts: its smallest singular value is compared with the old one.
    """
    xp, noise = state.engine.backend.xp, rounding(state.engine, state.n)
    columns = _column_share(state, known.norms)
    if state.count < state.n:
        # What Q lost before it became square says nothing of rows that are fewer than columns.
        state.losses = [Loss(columns, xp.full(columns.shape, noise))]
        return
    regular = known.rank == state.n
    less = regular & (_rank(state, known.norms) < state.n)
    if known.share is not None:
        some = known.share > noise
        ratio = _float_share(state, known.norms) / xp.where(some, known.share, 1.0)
        share = xp.where(some, xp.minimum(ratio, columns), columns)
        state.losses.append(Loss(xp.maximum(share, 2.0 * noise), xp.full(share.shape, noise)))
    for loss in state.losses:
        loss.share = xp.where(less, 0.0, xp.where(regular, loss.share, columns))


@np.errstate(all="ignore")
def delete_known_rows(state: State, u: Block, checks: Checks, function: str = "qr_delete") -> Block:
    """Remove rows `u` ``(..., p, n + extra)`` from an R without Q; return what extra columns lose.

    The result has p rows of the extra columns: their components along ``Q C``-directions, whose
    squares leave the sum of squares of residuals. Everything is NaN where all digits are lost.
    """
    engine, n, p = state.engine, state.n, int(u.shape[-2])
    found = leverage(engine, state.r[..., :n], u[..., :n], checks, function)
    state.losses.append(found.loss)
    known = state.r[..., n:]
    z = adjoint_multiply(engine, found.e, known, c=u[..., n:], subtract=True)
    if z.shape[-1]:
        system = engine.triangle(found.c, function, Unchecked())
        z = engine.from_block(system.solve(engine.to_block(z), "C"))
    rows = engine.zeros(state.r, p, int(state.r.shape[-1]))
    rows[..., n:] = z
    w = joined(engine, [found.e, found.c], -2)
    state.extend(None, rows)
    state.turned |= sweeps.spike(engine, w, state.r, None, first=0, stop=n + p)
    state.r = state.r[..., p:, :]
    return z
