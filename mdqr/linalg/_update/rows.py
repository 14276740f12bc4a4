"""Insertion and deletion of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import sweeps
from mdqr.linalg._update.arithmetic.engine import (
    Engine,
    adjoint,
    adjoint_multiply,
    apply_left,
    apply_right,
    joined,
    set_identity,
)
from mdqr.linalg._update.loss import (
    Unchecked,
    column_norms,
    rounding,
    smallest_share,
    spectral_bound,
)
from mdqr.linalg._update.orthogonalize import outside, unit_columns
from mdqr.linalg._update.state import Loss, State


def insert_rows(state: State, u: Block, k: int) -> None:
    """Insert rows `u` ``(..., p, n + extra)``, overwritten, before row `k`."""
    engine, p, was_full = state.engine, int(u.shape[-2]), state.full
    if p and sweeps.window_columns(engine, p):
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


class Leverage(NamedTuple):
    """E and C of `leverage`: the part of Q that belongs to rows, and what is left outside."""

    e: Block
    c: Block
    loss: Loss


def leverage(engine: Engine, r: Block, u: Block, checks: Checks, function: str) -> Leverage:
    """Find E and C for rows `u` ``(..., p, n)`` of the matrix that `r` ``(..., n, n)`` belongs to.

    Notes
    -----
    With ``R^H E = u^H`` the rows of Q are ``E^H``, and with ``C^H C = I - E^H E`` the columns of
    ``[E; C]`` are orthonormal: a sweep that reduces them to the identity takes the rows out of R.
    No hyperbolic rotation is needed (M. A. Saunders 1972; LINPACK's downdate for one row).

    Columns of R known to ``n eps`` of their lengths D leave the eigenvalues of ``I - E^H E``
    uncertain by ``n eps norm(D R^-1 E)``, since the norm of E is at most 1: what is not above that
    is lost.
    """
    xp = engine.backend.xp
    n = int(r.shape[-1])
    system = engine.triangle(r, function, checks)
    e = engine.from_block(system.solve(engine.to_block(adjoint(engine, u)), "C"))
    back = to_native(xp, system.solve(engine.to_block(e), "N"), engine.kind.is_complex)
    one = engine.zeros(e, int(e.shape[-1]), int(e.shape[-1]))
    set_identity(engine, one)
    gram = adjoint_multiply(engine, e, e, c=one, subtract=True)
    c = engine.cholesky(gram)
    with np.errstate(all="ignore"):
        size = spectral_bound(engine, column_norms(engine, r)[..., :, None] * back)
    share = smallest_share(engine, c) ** 2
    return Leverage(e, c, Loss(share, rounding(engine, n) * xp.maximum(size, 1.0)))
