"""Insertion and deletion of columns, and changes of low rank."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import sweeps
from mdqr.linalg._update.arithmetic.engine import (
    Engine,
    Planes,
    adjoint_multiply,
    apply_left,
    apply_right,
    joined,
    set_identity,
)
from mdqr.linalg._update.loss import Unchecked, column_norms, diagonal_magnitudes
from mdqr.linalg._update.orthogonalize import outside
from mdqr.linalg._update.state import Loss, State


def delete_columns(state: State, k: int, p: int) -> None:
    """Remove columns `k` to ``k + p``."""
    engine, full, rows = state.engine, state.full, state.count
    state.r = joined(engine, [state.r[..., :k], state.r[..., k + p :]], -1)
    state.n -= p
    stop = min(state.n, rows)
    sweeps.band(engine, state.r, state.q, start=k, stop=stop, lower=p, rows=rows)
    if not full:
        state.drop(min(int(state.r.shape[-2]), state.n))


def insert_columns(state: State, u: Block, k: int, *, look: bool = True) -> None:
    """Insert columns `u` ``(..., m, p)`` before column `k` of a factorisation with Q.

    Those that make Q square come first; for the others Q stays as large as it is.
    """
    if state.q is None:
        return
    thin = 0 if state.full else min(int(u.shape[-1]), state.m - state.n)
    if thin:
        _insert_thin(state, state.q, u[..., :thin], k, look=look)
    if u.shape[-1] > thin and state.q is not None:
        _insert_full(state, state.q, u[..., thin:], k + thin)


def _insert_full(state: State, q: Block, u: Block, k: int) -> None:
    engine, count = state.engine, state.count
    w = adjoint_multiply(engine, q, u)
    stop = _reduce_tail(state, q, w, count)
    _close(state, w, k, stop)


def _reduce_tail(state: State, q: Block, w: Block, count: int) -> int:
    """Make the rows of `w` below R triangular; return the number of rows that are not zero."""
    engine, m, p = state.engine, state.m, int(w.shape[-1])
    if m > count:
        factors = engine.factor(w[..., count:, :])
        apply_left(engine, factors, state.r[..., count:, state.n :])
        apply_right(engine, factors, q[..., count:])
    return min(count + p, m)


def insert_columns_with(state: State, u: Block, k: int) -> Block:
    """Insert columns into thin factors with ``Q^H b`` in their extra columns.

    The columns of b stand in `u` behind those that are inserted; their components along the new
    directions are returned.
    """
    p = int(u.shape[-1]) - (int(state.r.shape[-1]) - state.n)
    return _insert_thin(state, state.q, u[..., :p], k, u[..., p:])


def _insert_thin(
    state: State, q: Block, u: Block, k: int, b: Block | None = None, *, look: bool = True
) -> Block:
    engine, p = state.engine, int(u.shape[-1])
    w, basis, low = outside(engine, q, u, adjoint_multiply(engine, q, u), look=look)
    state.losses.append(Loss(reciprocal_condition(engine, w, low), None))
    rows = engine.zeros(state.r, p, int(state.r.shape[-1]))
    if b is not None:
        free = engine.multiply(q, state.r[..., state.n :], c=b, subtract=True)
        rows[..., state.n :] = adjoint_multiply(engine, basis, free)
    known = rows[..., state.n :]
    state.extend(basis, rows)
    w = joined(engine, [w, low], -2)
    _close(state, w, k, int(w.shape[-2]))
    return known


def _close(state: State, w: Block, k: int, stop: int) -> None:
    """Reduce the columns `w` in front of column `k` and put them there."""
    # Behind all others they are triangular.
    if k < state.count:
        turned = sweeps.spike(state.engine, w, state.r, state.q, first=k, stop=stop)
        state.turned |= turned
    state.r = joined(state.engine, [state.r[..., :k], w, state.r[..., k:]], -1)
    state.n += int(w.shape[-1])


def reciprocal_condition(engine: Engine, w: Block, low: Block) -> Block:
    """Return for each batch the smallest 1 / cond of the basis with one more normalised column."""
    xp = engine.backend.xp
    distance = diagonal_magnitudes(engine, low)
    total = column_norms(engine, joined(engine, [w, low], -2))
    return _smallest(engine, xp.where(total > 0, distance / xp.where(total > 0, total, 1.0), 0.0))


def _smallest(engine: Engine, distance: Block) -> Block:
    """Return the smallest reciprocal condition, as SciPy counts.

    A column at distance d from the span of what stands before it, in units of its own norm, gives
    ``d / (1 + sqrt(1 - d^2))``.
    """
    xp = engine.backend.xp
    share = xp.minimum(distance, 1.0)
    return -scaling.largest(-share / (1.0 + xp.sqrt(1.0 - share**2)), -1, -1.0)


def independence(engine: Engine, q: Block, u: Block) -> Loss:
    """Return how far columns are from those of thin factors and from each other."""
    w = adjoint_multiply(engine, q, u)
    rest = engine.multiply(q, w, c=u, subtract=True)
    engine.factor(rest)
    low = rest[..., : int(u.shape[-1]), :]
    return Loss(reciprocal_condition(engine, w, low), None)


def independence_in(engine: Engine, r: Block, k: int, p: int) -> Loss:
    """Return the same for columns k to ``k + p`` of a square R that has them already.

    With G the rows k to ``k + p`` of the inverse, and X upper triangular with ``X X^H = G G^H``,
    the distances are the reciprocals of the diagonal of X. For multiple doubles in float64: what
    cancels there belongs to a column that is further away than another, and the closest decides.
    """
    xp, field, n = engine.backend.xp, engine.kind.is_complex, int(r.shape[-1])
    size = column_norms(engine, r)[..., k : k + p][..., ::-1]
    unit = engine.zeros(r, n - k, p)
    set_identity(engine, unit[..., ::-1])
    system = engine.triangle(r[..., k:, k:], "insertion", Unchecked())
    rows = system.solve(engine.to_block(unit), "C")
    first = rows[:, :1] if field else rows[:1]
    lengths = scaling.column_exponents(first, field)
    first = engine.backend.ldexp(first, -lengths[..., None, :], is_complex=field)
    with np.errstate(all="ignore"):
        if isinstance(engine, Planes):
            householder.factor(engine.backend, first, kind=Kind(1, field))
            entries = abs(diagonal(to_native(xp, first, field)))
        else:
            own = engine.from_block(first)
            engine.factor(own)
            entries = diagonal_magnitudes(engine, own)
        distance = 1.0 / (xp.ldexp(entries[..., :p], lengths) * size)
        known = xp.isfinite(distance)
        return Loss(_smallest(engine, xp.where(known, distance, 0.0)), None)


def insert_unknown_columns(
    state: State, a: Block, u: Block, k: int, function: str, checks: Checks
) -> Block:
    """Insert columns into an R without Q, by corrected semi-normal equations (A. Bjorck 1987).

    ``Q^H u = R^-H A^H u``, corrected once by the residual ``u - A R^-1 R^-H A^H u``; sums with A
    are formed as if in twice the precision. Extra columns must hold ``Q^H b``, and `u` the columns
    of b behind those that are inserted: their components along the new directions leave the
    residuals, and are returned.
    """
    engine, n = state.engine, state.n
    p = int(u.shape[-1]) - (int(state.r.shape[-1]) - n)
    system = engine.triangle(state.r[..., :n], function, checks)
    w, rest = projected(engine, system, a, u[..., :p])
    factors = engine.factor(rest)
    low = rest[..., :p, :]
    state.losses.append(Loss(reciprocal_condition(engine, w, low), None))
    rows = engine.zeros(state.r, p, int(state.r.shape[-1]))
    if u.shape[-1] > p:
        _, free = projected(engine, system, a, u[..., p:])
        apply_left(engine, factors, free)
        rows[..., n:] = free[..., :p, :]
    state.extend(None, rows)
    _close(state, joined(engine, [w, low], -2), k, n + p)
    return rows[..., n:]


def projected(engine: Engine, system: Triangle, a: Block, u: Block) -> tuple[Block, Block]:
    """Return ``Q^H u`` and ``u - Q Q^H u`` by A and R; the sums with A in twice the precision."""
    backend, field = engine.backend, engine.kind.is_complex
    matrix, rest = engine.to_block(a), engine.to_block(u)
    # Floats come unscaled, and A^H u would leave the range.
    size = scaling.column_exponents(rest, field)[..., None, :]
    rest, total = backend.ldexp(rest, -size, is_complex=field), None
    kind = Kind(engine.kind.limbs, field)
    for _ in range(2):
        g = engine.residual(None, matrix.swapaxes(-1, -2), rest, conj_a=True)
        w = system.solve(planes.negate(g, field), "C")
        rest = engine.residual(rest, matrix, system.solve(w, "N"))
        total = w if total is None else backend.binary("add", total, w, kind=kind)
    total, rest = (backend.ldexp(x, size, is_complex=field) for x in (total, rest))
    return engine.from_block(total), engine.from_block(rest)


def change(state: State, u: Block, v: Block, *, look: bool = True) -> None:
    """Add ``u v^H`` to a factorisation with Q: u ``(..., m, p)``, v ``(..., n, p)``."""
    q = state.q
    if q is None or not u.shape[-1]:
        return
    engine, p, n, columns = state.engine, int(u.shape[-1]), state.n, int(q.shape[-1])
    if not state.full and p > state.m - n:
        q = _complete(state, q)
    w = adjoint_multiply(engine, q, u)
    if state.full:
        stop = _reduce_tail(state, q, w, state.count)
    else:
        w, basis, low = outside(engine, q, u, w, look=look)
        state.extend(basis, engine.zeros(state.r, p, int(state.r.shape[-1])))
        w = joined(engine, [w, low], -2)
        stop = int(w.shape[-2])
    sweeps.spike(engine, w, state.r, state.q, first=0, stop=stop)
    top = min(p, int(w.shape[-2]))
    part = state.r[..., :top, :n]
    part[...] = engine.multiply(w[..., :top, :], v.swapaxes(-1, -2), c=part, conj_b=True)
    stop = min(n, stop)
    sweeps.band(engine, state.r, state.q, start=0, stop=stop, lower=p, rows=int(state.r.shape[-2]))
    state.drop(columns)


def _complete(state: State, q: Block) -> Block:
    """Give Q the columns that make it square, and R as many zero rows; return Q."""
    engine, m, n = state.engine, state.m, int(q.shape[-1])
    others = engine.factor(q.copy()).form_q(m)[..., n:]
    state.extend(others, engine.zeros(state.r, m - n, int(state.r.shape[-1])))
    return state.q
