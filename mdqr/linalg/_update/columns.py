"""Insertion and deletion of columns, and changes of low rank, of Q and R."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import cost
from mdqr.linalg._update.arithmetic import sweeps
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.matrices import (
    adjoint_multiply,
    apply_left,
    inserted,
    joined,
    removed,
    set_identity,
)
from mdqr.linalg._update.operands import Scales, scaled, shifted
from mdqr.linalg._update.orthogonalize import orthogonalize
from mdqr.linalg._update.state import Loss, State, factored
from mdqr.linalg._update.updates import Update


@dataclass(frozen=True)
class ColumnInsertion(Update):
    """Columns `u` ``(..., m, p)`` that come before column `k`.

    `a` is the matrix before, needed without Q; `rcond` the least reciprocal condition, or None.
    """

    u: Block
    k: int
    a: Block | None
    rcond: float | None

    @property
    def _shape(self) -> tuple[int, int]:
        """The new shape; without Q only `a` has as many rows as the matrix."""
        return int(self.u.shape[-2]), self.factors.n + int(self.u.shape[-1])

    @property
    def _is_possible(self) -> bool:
        """Return whether an update is possible: without Q only if the matrix stays tall."""
        return self.factors.q is not None or self._shape[0] >= self._shape[1]

    @property
    def least_condition(self) -> float | None:
        """The smallest reciprocal condition of a new column; None for eps."""
        return self.rcond

    def _scaled(self, x: Block) -> tuple[Block, Block, Scales, Scales]:
        """Return `x` and the columns, scaled, the exponents of `x` and those of all columns."""
        engine = self.factors.engine
        (x,), old = scaled(engine, x)
        (u,), more = scaled(engine, self.u)
        return x, u, old, inserted(engine, old, more, self.k)

    def apply(self) -> tuple[State, Scales]:
        """Reduce ``Q^H u``, with new directions where Q is thin."""
        known, p = self.factors, int(self.u.shape[-1])
        if not self._is_possible:
            raise np.linalg.LinAlgError(
                f"{known.function}: without Q an update has at least as many rows of A as columns: "
                'take method="fresh", or "auto"'
            )
        r = known.r if known.q is not None else known.r[..., : known.count, :]
        r, u, old, scales = self._scaled(r)
        state = known.state(r, self.k if p else known.count, extended=p > 0)
        if known.q is None:
            a = shifted(known.engine, self.a, None if old is None else -old)
            insert_unknown_columns(state, a, u, self.k, known.function, known.checks)
        else:
            insert_columns(state, u, self.k, check=known.check)
        return state, scales

    def refactor(self) -> tuple[State, Scales]:
        """Factor the matrix, or ``Q R``, with the columns."""
        known, engine, (m, n) = self.factors, self.factors.engine, self._shape
        base, u, _, scales = self._scaled(known.r if self.a is None else self.a)
        a = known.matrix(base) if self.a is None else base
        a = inserted(engine, a, u, self.k)
        state = factored(engine, a, n, known.q_columns(m, n))
        if known.q is None and self._is_possible:
            state.losses.append(independence_in(engine, state.r, self.k, n - known.n))
        elif known.is_thin:
            state.losses.append(independence(engine, known.q, u[..., : m - known.n]))
        return state, scales

    def work(self) -> cost.Works:
        """Count the operations."""
        known, (m, n) = self.factors, self._shape
        size, q = known.size(n - known.n, self.k)._replace(m=m), known.q_columns(m, n)
        works = cost.column_insertion(known.engine, size, q, has_data=self.a is not None)
        return works if self._is_possible else works._replace(update=cost.IMPOSSIBLE)


@dataclass(frozen=True)
class ColumnDeletion(Update):
    """Columns `k` to ``k + p`` that leave."""

    k: int
    p: int

    def apply(self) -> tuple[State, Scales]:
        """Reduce R without the columns."""
        known = self.factors
        (r,), scales = scaled(known.engine, known.r)
        state = known.state(r, self.k)
        delete_columns(state, self.k, self.p)
        return state, removed(known.engine, scales, self.k, self.p)

    def refactor(self) -> tuple[State, Scales]:
        """Factor R, or ``Q R``, without the columns."""
        known, k, n = self.factors, self.k, self.factors.n - self.p
        (r,), scales = scaled(known.engine, known.r)
        a = known.matrix(removed(known.engine, r, k, self.p))
        state = factored(known.engine, a, n, known.q_columns(known.m, n))
        return state, removed(known.engine, scales, k, self.p)

    def work(self) -> cost.Works:
        """Count the operations."""
        known = self.factors
        q = known.q_columns(known.m, known.n - self.p)
        return cost.column_deletion(known.engine, known.size(self.p, self.k), q)


@dataclass(frozen=True)
class RankUpdate(Update):
    """A sum with ``u v^H``: u ``(..., m, p)``, v ``(..., n, p)``."""

    u: Block
    v: Block

    def _scaled(self) -> tuple[Block, Block, Block, Scales]:
        """Return R, u and v^T, scaled, and the exponents."""
        engine = self.factors.engine
        (u,), lengths = scaled(engine, self.u)
        v = shifted(engine, self.v, lengths).swapaxes(-1, -2)
        (r, v), scales = scaled(engine, self.factors.r, v)
        return r, u, v, scales

    def apply(self) -> tuple[State, Scales]:
        """Reduce ``Q^H u``, add v to the first rows, and reduce R."""
        r, u, v, scales = self._scaled()
        known, p = self.factors, u.shape[-1]
        state = known.state(r, 0 if p else known.count, extended=p > 0)
        change(state, u, v.swapaxes(-1, -2), check=known.check)
        return state, scales

    def refactor(self) -> tuple[State, Scales]:
        """Factor ``Q R + u v^H``."""
        r, u, v, scales = self._scaled()
        known, engine = self.factors, self.factors.engine
        a = engine.multiply(u, v, c=known.matrix(r), conj_b=True)
        return factored(engine, a, known.n, known.q_columns(known.m, known.n)), scales

    def work(self) -> cost.Works:
        """Count the operations."""
        known = self.factors
        return cost.rank_update(known.engine, known.size(int(self.u.shape[-1]), 0))


def delete_columns(state: State, k: int, p: int) -> None:
    """Remove columns `k` to ``k + p``."""
    engine, full, rows = state.engine, state.full, state.count
    state.r = removed(engine, state.r, k, p)
    state.n -= p
    stop = min(state.n, rows)
    sweeps.reduce_subdiagonals(engine, state.r, state.q, start=k, stop=stop, lower=p, rows=rows)
    if not full:
        state.drop(min(int(state.r.shape[-2]), state.n))


def insert_columns(state: State, u: Block, k: int, *, check: bool = True) -> None:
    """Insert columns `u` ``(..., m, p)`` before column `k` of a factorisation with Q.

    Those that make Q square come first; for the others Q stays as large as it is.
    """
    if state.q is None:
        return
    thin = 0 if state.full else min(int(u.shape[-1]), state.m - state.n)
    if thin:
        _insert_thin(state, state.q, u[..., :thin], k, check=check)
    if u.shape[-1] > thin and state.q is not None:
        _insert_full(state, state.q, u[..., thin:], k + thin)


def _insert_full(state: State, q: Block, u: Block, k: int) -> None:
    w = adjoint_multiply(state.engine, q, u)
    _close(state, w, k, state.reduce_tail(w))


def insert_columns_with(state: State, u: Block, k: int) -> Block:
    """Insert columns into thin factors with ``Q^H b`` in their extra columns.

    The columns of b stand in `u` behind those that are inserted; their components along the new
    directions are returned.
    """
    p = int(u.shape[-1]) - (int(state.r.shape[-1]) - state.n)
    return _insert_thin(state, state.q, u[..., :p], k, u[..., p:])


def _insert_thin(
    state: State, q: Block, u: Block, k: int, b: Block | None = None, *, check: bool = True
) -> Block:
    engine, p = state.engine, int(u.shape[-1])
    w, basis, low = orthogonalize(engine, q, u, adjoint_multiply(engine, q, u), check=check)
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
        changed = sweeps.spike(state.engine, w, state.r, state.q, first=k, stop=stop)
        state.complex_diagonal |= changed
    state.r = inserted(state.engine, state.r, w, k)
    state.n += int(w.shape[-1])


def reciprocal_condition(engine: Engine, w: Block, low: Block) -> Block:
    """Return for each batch the smallest 1 / cond of the basis with one more normalised column."""
    xp = engine.backend.xp
    distance = engine.diagonal_magnitudes(low)
    total = engine.column_norms(joined(engine, [w, low], -2))
    return _smallest(engine, xp.where(total > 0, distance / xp.where(total > 0, total, 1.0), 0.0))


def _smallest(engine: Engine, distance: Block) -> Block:
    """Return the smallest reciprocal condition, as SciPy counts.

    A column at distance d from the span of what stands before it, in units of its norm, gives
    ``d / (1 + sqrt(1 - d^2))``.
    """
    xp = engine.backend.xp
    distance = xp.minimum(distance, 1.0)
    return -scaling.largest(-distance / (1.0 + xp.sqrt(1.0 - distance**2)), -1, -1.0)


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
    size = engine.column_norms(r)[..., k : k + p][..., ::-1]
    unit = engine.zeros(r, n - k, p)
    set_identity(engine, unit[..., ::-1])
    system = engine.triangle(r[..., k:, k:], "insertion", Checks(ignore=True))
    rows = system.solve(engine.to_block(unit), "C")
    first = planes.first_limbs(rows, field, 1)
    lengths = scaling.column_exponents(first, field)
    first = engine.backend.ldexp(first, -lengths[..., None, :], is_complex=field)
    with np.errstate(all="ignore"):
        entries = engine.factored_diagonal(first)
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


def change(state: State, u: Block, v: Block, *, check: bool = True) -> None:
    """Add ``u v^H`` to a factorisation with Q: u ``(..., m, p)``, v ``(..., n, p)``."""
    q = state.q
    if q is None or not u.shape[-1]:
        return
    engine, p, n, columns = state.engine, int(u.shape[-1]), state.n, int(q.shape[-1])
    if not state.full and p > state.m - n:
        q = _complete(state, q)
    w = adjoint_multiply(engine, q, u)
    if state.full:
        stop = state.reduce_tail(w)
    else:
        w, basis, low = orthogonalize(engine, q, u, w, check=check)
        state.extend(basis, engine.zeros(state.r, p, int(state.r.shape[-1])))
        w = joined(engine, [w, low], -2)
        stop = int(w.shape[-2])
    sweeps.spike(engine, w, state.r, state.q, first=0, stop=stop)
    top = min(p, int(w.shape[-2]))
    part = state.r[..., :top, :n]
    part[...] = engine.multiply(w[..., :top, :], v.swapaxes(-1, -2), c=part, conj_b=True)
    stop = min(n, stop)
    sweeps.reduce_subdiagonals(
        engine, state.r, state.q, start=0, stop=stop, lower=p, rows=int(state.r.shape[-2])
    )
    state.drop(columns)


def _complete(state: State, q: Block) -> Block:
    """Give Q the columns that make it square, and R as many zero rows; return Q."""
    engine, m, n = state.engine, state.m, int(q.shape[-1])
    others = engine.factor(q.copy()).form_q(m)[..., n:]
    state.extend(others, engine.zeros(state.r, m - n, int(state.r.shape[-1])))
    return state.q
