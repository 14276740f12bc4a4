"""Insertion and deletion of rows: the updates, and the changes of Q and R that they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import cost
from mdqr.linalg._update.arithmetic import sweeps
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.matrices import (
    adjoint,
    adjoint_multiply,
    inserted,
    joined,
    make_triangular,
    removed,
    set_identity,
)
from mdqr.linalg._update.loss import (
    before,
    note_rank,
    rounding_level,
    smallest_singular_value,
    spectral_bound,
)
from mdqr.linalg._update.operands import Scales, scaled
from mdqr.linalg._update.orthogonalize import orthogonalize, unit_columns
from mdqr.linalg._update.state import Loss, State, factored
from mdqr.linalg._update.updates import Update


@dataclass(frozen=True)
class RowInsertion(Update):
    """Rows `u` ``(..., p, n)`` that come before row `k`."""

    u: Block
    k: int

    def apply(self) -> tuple[State, Scales]:
        """Work the rows into R."""
        known = self.factors
        (r, u), scales = scaled(known.engine, known.r, self.u)
        untouched = 0 if u.shape[-2] else known.count
        state = State(known.engine, known.q, r, known.n, untouched)
        insert_rows(state, u, self.k)
        return state, scales

    def refactor(self) -> tuple[State, Scales]:
        """Factor ``Q R`` with the rows."""
        known = self.factors
        (r, u), scales = scaled(known.engine, known.r, self.u)
        a = inserted(known.engine, known.matrix(r), u, self.k, -2)
        q = known.q_columns(known.m + int(u.shape[-2]), known.n)
        return factored(known.engine, a, known.n, q), scales

    def work(self) -> cost.Works:
        """Count the operations."""
        known, p = self.factors, int(self.u.shape[-2])
        q = known.q_columns(known.m + p, known.n)
        return cost.row_insertion(known.engine, known.size(p, self.k), q)


@dataclass(frozen=True)
class RowDeletion(Update):
    """Rows `k` to ``k + p`` that leave a factorisation with Q."""

    k: int
    p: int

    def apply(self) -> tuple[State, Scales]:
        """Reduce the rows of Q to the identity."""
        known = self.factors
        (r,), scales = scaled(known.engine, known.r)
        state = known.state(r, extended=self.p > 0)
        old = before(state, refactor=False)
        delete_rows(state, self.k, self.p, check=known.check)
        note_rank(state, old)
        return state, scales

    def refactor(self) -> tuple[State, Scales]:
        """Factor ``Q R`` without the rows."""
        known, engine, n = self.factors, self.factors.engine, self.factors.n
        (r,), scales = scaled(engine, known.r)
        rest = replace(known, q=removed(engine, known.q, self.k, self.p, -2))
        a = rest.matrix(r)
        state = factored(engine, a, n, known.q_columns(known.m - self.p, n))
        note_rank(state, before(State(engine, None, r, n), refactor=True))
        return state, scales

    def work(self) -> cost.Works:
        """Count the operations."""
        known = self.factors
        q = known.q_columns(known.m - self.p, known.n)
        return cost.row_deletion(known.engine, known.size(self.p, self.k), q)


@dataclass(frozen=True)
class KnownRowDeletion(Update):
    """Rows `u` ``(..., p, n)`` that leave an R without Q."""

    u: Block

    def apply(self) -> tuple[State, Scales]:
        """Reduce the rows that Q would have to the identity."""
        known = self.factors
        (r, u), scales = scaled(known.engine, known.r[..., : known.n, :], self.u)
        state = State(known.engine, None, r, known.n)
        delete_known_rows(state, u, known.checks)
        return state, scales

    def refactor(self) -> tuple[State, Scales]:
        """Raise ValueError: the rows that stay are not known."""
        raise ValueError(
            f"{self.factors.function}: a fresh factorisation needs the rows that stay: factor them "
            "by qr"
        )

    def work(self) -> cost.Works:
        """Leave only the update."""
        return cost.Works(cost.Work(), cost.IMPOSSIBLE)


def insert_rows(state: State, u: Block, k: int, basis: Block | None = None) -> None:
    """Insert rows `u` ``(..., p, n + extra)``, overwritten, before row `k`.

    They may stand for the rows ``basis u``, with orthonormal columns in `basis`.
    """
    engine, p, was_full = state.engine, int(u.shape[-2]), state.full
    if p and sweeps.window_columns(engine, p):
        _insert_above(state, u, k, basis)
        return
    z = None
    if state.q is not None:
        state.q = _with_rows(state, state.q, k, basis, p, ahead=False)
        z = state.q[..., -p:] if p else state.q[..., :0]
    columns = state.count
    old = int(state.r.shape[-2])
    q = None if state.q is None else state.q[..., :old]
    sweeps.reduce_rows_below(engine, state.r, u, q, z, columns=columns)
    if columns < state.n:
        # A matrix wider than high: what is left of the new rows continues the trapezoid.
        make_triangular(engine, u[..., columns : state.n], u[..., state.n :], z)
    state.r = joined(engine, [state.r, u], -2)
    if not was_full or basis is not None:
        state.drop(min(old + p, state.n))


def _insert_above(state: State, u: Block, k: int, basis: Block | None) -> None:
    """Insert few rows before row `k`: with them on top, R has p diagonals below its main one."""
    engine, p, was_full, columns = state.engine, int(u.shape[-2]), state.full, state.count
    if state.q is not None:
        state.q = _with_rows(state, state.q, k, basis, p, ahead=True)
    state.r = joined(engine, [u, state.r], -2)
    rows = int(state.r.shape[-2])
    sweeps.reduce_subdiagonals(
        engine, state.r, state.q, start=0, stop=columns, lower=p, rows=columns + p
    )
    if columns < state.n:
        # A matrix wider than high: what is left of the new rows continues the trapezoid.
        low = state.r[..., columns:, columns:]
        right = None if state.q is None else state.q[..., columns:]
        rest = state.n - columns
        make_triangular(engine, low[..., :rest], low[..., rest:], right)
    if not was_full or basis is not None:
        state.drop(min(rows, state.n))


def _with_rows(
    state: State, q: Block, k: int, basis: Block | None, p: int, *, ahead: bool
) -> Block:
    """Return Q with rows `basis`, or unit rows, before row `k`.

    They stand in p columns ahead of all or behind, which are zero elsewhere.
    """
    m, columns = int(q.shape[-2]), int(q.shape[-1])
    end = k + (p if basis is None else int(basis.shape[-2]))
    wide = state.engine.zeros(q, m + end - k, columns + p)
    old = wide[..., p:] if ahead else wide[..., :columns]
    more = wide[..., :p] if ahead else wide[..., columns:]
    old[..., :k, :] = q[..., :k, :]
    old[..., end:, :] = q[..., k:, :]
    if basis is None:
        set_identity(state.engine, more[..., k:end, :])
    else:
        more[..., k:end, :] = basis
    return wide


def delete_rows(state: State, k: int, p: int, *, check: bool = True) -> None:
    """Remove rows `k` to ``k + p`` of a factorisation with Q; those that make Q square first."""
    if state.q is None or not p:
        return
    m = state.m
    thin = 0 if state.full else min(p, m - state.n)
    if thin:
        _delete_thin(state, state.q, k, thin, check=check)
    if p > thin and state.q is not None:
        _delete_full(state, state.q, k, p - thin)


def _delete_full(state: State, q: Block, k: int, p: int) -> None:
    engine, count = state.engine, state.count
    w = adjoint(engine, q[..., k : k + p, :]).copy()
    stop = state.reduce_tail(w)
    if count < state.m and state.m - p >= state.n:
        _note_loss(state, w[..., count : count + p, :])
    state.complex_diagonal |= sweeps.spike(engine, w, state.r, q, first=0, stop=stop)
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
    check: bool = True,
) -> Block:
    engine = state.engine
    e = adjoint(engine, q[..., k : k + p, :])
    w, basis, low = orthogonalize(engine, q, unit_columns(engine, q, k, p), e, check=check)
    _note_loss(state, low, twice=b is not None and whole is None)
    rows = engine.zeros(state.r, p, int(state.r.shape[-1]))
    if whole is not None:
        rows[..., state.n :] = adjoint_multiply(engine, basis, whole)
    elif b is not None:
        z = adjoint_multiply(engine, w, state.r[..., state.n :], c=b, subtract=True)
        system = engine.triangle(low, "UpdatableLstsq.delete_rows", Checks(ignore=True))
        rows[..., state.n :] = engine.from_block(system.solve(engine.to_block(z), "C"))
    known = rows[..., state.n :]
    w = joined(engine, [w, low], -2)
    state.extend(basis, rows)
    stop = int(w.shape[-2])
    state.complex_diagonal |= sweeps.spike(engine, w, state.r, state.q, first=0, stop=stop)
    _without(state, k, p)
    return known


def _without(state: State, k: int, p: int) -> None:
    """Leave out rows k to k + p of Q, its first columns and the first rows of R."""
    if state.q is not None:
        state.q = joined(state.engine, [state.q[..., :k, p:], state.q[..., k + p :, p:]], -2)
    state.r = state.r[..., p:, :]


def _note_loss(state: State, low: Block, *, twice: bool = False) -> None:
    """Note the smallest part of the rows outside of Q; `twice` if something is divided by it."""
    distance = smallest_singular_value(state.engine, low)
    distance = distance**2 if twice else distance
    level = rounding_level(state.engine, state.n)
    state.losses.append(Loss(distance, state.engine.backend.xp.full(distance.shape, level)))


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
        system = engine.triangle(found.c, function, Checks(ignore=True))
        z = engine.from_block(system.solve(engine.to_block(z), "C"))
    rows = engine.zeros(state.r, p, int(state.r.shape[-1]))
    rows[..., n:] = z
    w = joined(engine, [found.e, found.c], -2)
    state.extend(None, rows)
    state.complex_diagonal |= sweeps.spike(engine, w, state.r, None, first=0, stop=n + p)
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
        size = spectral_bound(engine, engine.column_norms(r)[..., :, None] * back)
    distance = smallest_singular_value(engine, c) ** 2
    return Leverage(e, c, Loss(distance, rounding_level(engine, n) * xp.maximum(size, 1.0)))
