"""A factorisation that is being updated, and what the update has lost so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from mdqr._limbs import planes
from mdqr._limbs.planes import Block, diagonal
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.matrices import apply_left, joined, make_triangular


@dataclass
class Loss:
    """A distance that tells what information is left; float64 of the batch shape.

    `distance` is the smallest part, between 0 and 1, of a new direction outside of the old ones;
    `level`, for removals, the size of the rounding errors in it.
    """

    distance: Block
    level: Block | None


@dataclass
class State:
    """Q and R as arrays of an engine that may be overwritten.

    `r` is ``(..., rows, n + extra)``; the extra columns, such as ``Q^H b``, are transformed along.
    With q ``(..., m, m)`` r has m rows, with q ``(..., m, n)`` n, without q at most n. Where
    `complex_diagonal` is true the diagonal of a complex r need not be real; otherwise sweeps left
    it real but for the first `untouched` rows, which were in no window.
    """

    engine: Engine
    q: Block | None
    r: Block
    n: int
    untouched: int = 0
    dropped: list[Block] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    complex_diagonal: bool = False

    @property
    def m(self) -> int:
        """Number of rows of the matrix; without Q only of those that R has."""
        return int(self.r.shape[-2] if self.q is None else self.q.shape[-2])

    @property
    def count(self) -> int:
        """Number of rows of R that are not zero."""
        return min(int(self.r.shape[-2]), self.n)

    @property
    def full(self) -> bool:
        """True if Q is square."""
        return self.q is not None and self.q.shape[-1] == self.q.shape[-2]

    @property
    def removals(self) -> list[Block]:
        """The distances and rounding levels of removals, one behind the other."""
        found = [loss for loss in self.losses if loss.level is not None]
        return [x for loss in found for x in (loss.distance, loss.level)]

    def drop(self, rows: int) -> None:
        """Keep the first rows of R and columns of Q; note what extra columns lose."""
        if self.r.shape[-1] > self.n and self.r.shape[-2] > rows:
            self.dropped.append(self.r[..., rows:, self.n :])
        self.r = self.r[..., :rows, :]
        if self.q is not None:
            self.q = self.q[..., :rows]

    def extend(self, q: Block | None, rows: Block) -> None:
        """Append columns to Q and rows to R."""
        if self.q is not None and q is not None:
            self.q = joined(self.engine, [self.q, q], -1)
        self.r = joined(self.engine, [self.r, rows], -2)

    def reduce_tail(self, w: Block) -> int:
        """Make the rows of `w` below R triangular; return the number of rows that are not zero."""
        engine, count = self.engine, self.count
        if self.m > count and self.q is not None:
            left, right = self.r[..., count:, self.n :], self.q[..., count:]
            make_triangular(engine, w[..., count:, :], left, right)
        return min(count + int(w.shape[-1]), self.m)

    def normalise(self) -> None:
        """Make the diagonal of R real and not negative, and change Q with it."""
        count = self.count
        if self.engine.kind.is_complex:
            self._make_real(count if self.complex_diagonal else min(self.untouched, count))
        self.engine.normalise_signs(self.r, self.q, count, self.n)

    def _make_real(self, rows: int) -> None:
        """Multiply the first rows of R by the phases that make their diagonal real."""
        if not rows:
            return
        engine, kind = self.engine, self.engine.kind
        xp, backend = engine.backend.xp, engine.backend
        block = engine.to_block(self.r[..., :rows, :])
        entries = xp.stack([xp.stack([diagonal(limb) for limb in part]) for part in block])
        size = planes.complexify(backend.unary("abs", entries, kind=kind))
        some = entries[1, 0] != 0
        one = xp.zeros_like(size)
        one[0, 0] = 1.0
        phase = backend.binary(
            "divide", xp.where(some, entries, one), xp.where(some, size, one), kind=kind
        )
        conjugate = phase.copy()
        conjugate[1] = planes.negate(phase[1], False)
        found = backend.binary("multiply", conjugate[..., :, None], block, kind=kind)
        self.r[..., :rows, :] = engine.from_block(xp.where(some[..., :, None], found, block))
        for limb in engine.planes(self.r[..., :rows, :])[1]:
            diagonal(limb)[...] = 0.0
        if self.q is not None:
            columns = engine.to_block(self.q[..., :rows])
            found = backend.binary("multiply", columns, phase[..., None, :], kind=kind)
            found = xp.where(some[..., None, :], found, columns)
            self.q[..., :rows] = engine.from_block(found)


def factored(engine: Engine, a: Block, n: int, q: int | None) -> State:
    """Factor the first n columns of `a`, overwritten; `q` columns of Q, None for no Q.

    Extra columns behind them are transformed along.
    """
    rows = min(int(a.shape[-2]), n)
    if a.shape[-1] == n and q is not None:
        found = engine.orthogonal(a, q)
        return State(engine, found, a[..., :q, :], n)
    factors = engine.factor(a[..., :n])
    apply_left(engine, factors, a[..., n:])
    state = State(engine, None if q is None else factors.form_q(q), a, n)
    state.drop(rows if q is None else q)
    return state
