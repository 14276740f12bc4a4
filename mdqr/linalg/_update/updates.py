"""Each public update: by a change of the factors, or by a refactorisation; the work of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import columns, cost, rows
from mdqr.linalg._update.arithmetic.engine import Engine, apply_left, joined
from mdqr.linalg._update.loss import before, note_rank
from mdqr.linalg._update.operands import (
    Given,
    Scales,
    matrix_operand,
    require_count,
    scaled,
    shifted,
)
from mdqr.linalg._update.state import State

Built = tuple[State, Scales]


@dataclass(frozen=True)
class Frame:
    """The operands of an update: the factors, their shape, and where conditions go."""

    function: str
    given: Given
    m: int
    n: int
    batch: tuple[int, ...]
    checks: Checks | None

    def __getitem__(self, name: str) -> Block:
        """Return an operand by its name."""
        return self.given.arrays[name]

    @property
    def count(self) -> int:
        """Rows of R that are not zero."""
        return min(self.m, self.n)

    @property
    def q_columns(self) -> int:
        """Number of columns of Q; 0 without."""
        q = self.given.arrays["Q"]
        return 0 if q is None else int(q.shape[-1])

    def untouched(self, p: int, k: int = 0) -> int:
        """Return how many rows of R are in no window of p new rows or columns from column k on."""
        return k if p else self.count

    def size(self, p: int, k: int) -> cost.Size:
        """Return what the work depends on."""
        return cost.Size(self.m, self.n, self.q_columns, p, k)

    def new_columns(self, m: int, n: int) -> int | None:
        """Return the number of columns of Q after an update to shape ``(m, n)``."""
        if self["Q"] is None:
            return None
        return m if self.q_columns == self.m else min(m, n)

    def matrix(self, r: Block) -> Block:
        """Return the product of Q with `r`, which has the rows of R and some of its columns."""
        return product(self.given.engine, self["Q"], r, self.count)

    def own_q(self, *, joined: bool = False) -> Block | None:
        """Return Q, a copy unless it is thin and `joined` to new columns before it is changed."""
        q = self["Q"]
        return q if q is None or (joined and self.q_columns < self.m) else q.copy()


class Job(NamedTuple):
    """An update that can be done in two ways.

    Both are told whether they may wait for a device. `update` is None where there are more
    columns than an update without Q can have. `fresh` is None where the data are not known. `works`
    counts both, for an engine that may be quick by then or not. Rows of R before `untouched` are in
    no window of the update.
    """

    update: Callable[[bool], Built] | None
    fresh: Callable[[bool], Built] | None
    works: Callable[[], tuple[cost.Work, cost.Work]]
    untouched: int = 0


def insert_rows(frame: Frame, k: int) -> Job:
    """Insert rows before row k."""
    engine, r, n = frame.given.engine, frame["R"], frame.n
    u = matrix_operand(frame.function, engine, "u", frame["u"], frame.batch, columns=n)
    p = int(u.shape[-2])

    def update(_: bool) -> Built:
        (own, new), scales = scaled(engine, r, u)
        state = State(engine, frame["Q"], own, n)
        rows.insert_rows(state, new, k)
        return state, scales

    def anew(_: bool) -> Built:
        (own, new), scales = scaled(engine, r, u)
        known = frame["Q"] is not None
        a = with_rows(engine, frame.matrix(own) if known else own, new, k)
        q = frame.new_columns(frame.m + p, n)
        return factored(engine, a, n, q), scales

    def works() -> tuple[cost.Work, cost.Work]:
        q = frame.new_columns(frame.m + p, n)
        again = cost.factor_work(frame.m + p, n, q, 0 if q is None else frame.count)
        return cost.rows_work(engine, frame.size(p, k)), again

    return Job(update, anew, works, frame.untouched(p))


def delete_rows(frame: Frame, k: int, p: int) -> Job:
    """Remove rows of a factorisation with Q."""
    engine, r, m, n = frame.given.engine, frame["R"], frame.m, frame.n

    def update(look: bool) -> Built:
        (own,), scales = scaled(engine, r)
        state = State(engine, frame.own_q(joined=p > 0), own, n)
        known = before(state, fresh=False)
        rows.delete_rows(state, k, p, look=look)
        note_rank(state, known)
        return state, scales

    def anew(_: bool) -> Built:
        (own,), scales = scaled(engine, r)
        left = without_rows(engine, frame["Q"], k, p)
        a = product(engine, left, own, frame.count)
        state = factored(engine, a, n, frame.new_columns(m - p, n))
        known = before(State(engine, None, own, n), fresh=True)
        note_rank(state, known)
        return state, scales

    def works() -> tuple[cost.Work, cost.Work]:
        again = cost.factor_work(m - p, n, frame.new_columns(m - p, n), frame.count)
        again = again.plus(cost.shares_work(engine, n))
        return cost.removal_work(engine, frame.size(p, k)), again

    return Job(update, anew, works)


def delete_known_rows(frame: Frame, p: object) -> Job:
    """Remove rows from an R without Q."""
    engine, r, n = frame.given.engine, frame["R"], frame.n
    gone = matrix_operand(frame.function, engine, "u", frame["u"], frame.batch, columns=n)
    count = int(gone.shape[-2])
    require_count(frame.function, p, count)

    def update(_: bool) -> Built:
        (own, old), scales = scaled(engine, r[..., :n, :], gone)
        state = State(engine, None, own, n)
        rows.delete_known_rows(state, old, frame.checks or Checks())
        return state, scales

    return Job(update, None, lambda: (cost.Work(), cost.Work()))


def _data(frame: Frame) -> tuple[Block | None, int]:
    """Return the matrix before the update, if it is given, and its number of rows."""
    if frame["A"] is None:
        return None, frame.m
    rows = None if frame["Q"] is None else frame.m
    known: dict[str, Any] = {"rows": rows, "columns": frame.n, "vectors": False}
    a = matrix_operand(frame.function, frame.given.engine, "A", frame["A"], frame.batch, **known)
    return a, int(a.shape[-2])


def insert_columns(frame: Frame, k: int) -> Job:
    """Insert columns before column k; without Q by the matrix."""
    engine, r, n, q = frame.given.engine, frame["R"], frame.n, frame["Q"]
    a, m = _data(frame)
    if q is None:
        r = r[..., : frame.count, :]
    u = matrix_operand(frame.function, engine, "u", frame["u"], frame.batch, rows=m)
    p = int(u.shape[-1])
    wide = q is None and m < n + p

    def parts(wanted: Block) -> tuple[Block, Block, Scales, Scales]:
        (own,), old = scaled(engine, wanted)
        (new,), more = scaled(engine, u)
        if old is None or more is None:
            return own, new, None, None
        return own, new, old, joined(engine, [old[..., :k], more, old[..., k:]], -1)

    def update(look: bool) -> Built:
        own, new, old, scales = parts(r)
        state = State(engine, frame.own_q(joined=p > 0), own, n)
        if q is None:
            base = shifted(engine, a, None if old is None else -old)
            checks = frame.checks or Checks()
            columns.insert_unknown_columns(state, base, new, k, frame.function, checks)
        else:
            columns.insert_columns(state, new, k, look=look)
        return state, scales

    def anew(_look: bool) -> Built:
        own, new, _, scales = parts(r if a is None else a)
        base = frame.matrix(own) if a is None else own
        whole = with_columns(engine, base, new, k)
        state = factored(engine, whole, n + p, frame.new_columns(m, n + p))
        if q is None and not wide:
            state.losses.append(columns.independence_in(engine, state.r, k, p))
        elif q is not None and frame.q_columns < m:
            state.losses.append(columns.independence(engine, q, new[..., : m - n]))
        return state, scales

    def works() -> tuple[cost.Work, cost.Work]:
        size = frame.size(p, k)._replace(m=m)
        inner = frame.count if a is None else 0
        again = cost.factor_work(m, n + p, frame.new_columns(m, n + p), inner)
        if q is not None and frame.q_columns < m:
            again = again.plus(cost.independence_work(size))
        return cost.insertion_work(engine, size), again

    return Job(None if wide else update, anew, works, frame.untouched(p, k))


def delete_columns(frame: Frame, k: int, p: int) -> Job:
    """Remove columns."""
    engine, r, m, n = frame.given.engine, frame["R"], frame.m, frame.n

    def less(scales: Scales) -> Scales:
        return (
            None if scales is None else joined(engine, [scales[..., :k], scales[..., k + p :]], -1)
        )

    def update(_: bool) -> Built:
        (own,), scales = scaled(engine, r)
        state = State(engine, frame.own_q(), own, n)
        columns.delete_columns(state, k, p)
        return state, less(scales)

    def anew(_: bool) -> Built:
        (own,), scales = scaled(engine, r)
        a = without_columns(engine, own, k, p)
        a = a if frame["Q"] is None else frame.matrix(a)
        q = frame.new_columns(m, n - p)
        return factored(engine, a, n - p, q), less(scales)

    def works() -> tuple[cost.Work, cost.Work]:
        q = frame.new_columns(m, n - p)
        again = cost.factor_work(m, n - p, q, 0 if q is None else frame.count)
        return cost.deletion_work(engine, frame.size(p, k)), again

    return Job(update, anew, works, k)


def change(frame: Frame) -> Job:
    """Add ``u v^H``."""
    engine, r, m, n = frame.given.engine, frame["R"], frame.m, frame.n
    u, v = (
        matrix_operand(frame.function, engine, name, frame[name], frame.batch, rows=length)
        for name, length in (("u", m), ("v", n))
    )
    p = int(u.shape[-1])
    if v.shape[-1] != p:
        raise ValueError(
            f"{frame.function}: u and v must have as many columns; got {p} and {v.shape[-1]}"
        )

    def parts() -> tuple[Block, Block, Block, Scales]:
        (left,), lengths = scaled(engine, u)
        right = shifted(engine, v, lengths).swapaxes(-1, -2)
        (own, right), scales = scaled(engine, r, right)
        return own, left, right.swapaxes(-1, -2), scales

    def update(look: bool) -> Built:
        own, left, right, scales = parts()
        state = State(engine, frame.own_q(joined=p > 0), own, n)
        columns.change(state, left, right, look=look)
        return state, scales

    def anew(_: bool) -> Built:
        own, left, right, scales = parts()
        turned = right.swapaxes(-1, -2)
        a = engine.multiply(left, turned, c=frame.matrix(own), conj_b=True)
        return factored(engine, a, n, frame.q_columns), scales

    def works() -> tuple[cost.Work, cost.Work]:
        again = cost.factor_work(m, n, frame.q_columns, frame.count + p)
        return cost.change_work(engine, frame.size(p, 0)), again

    return Job(update, anew, works, frame.untouched(p))


def factored(engine: Engine, a: Block, n: int, q: int | None) -> State:
    """Factor matrices ``(..., m, n + extra)``, overwritten.

    Parameters
    ----------
    engine : Engine
        The arithmetic.
    a : Block
        The matrix and extra columns, which are transformed along.
    n : int
        Number of columns to factor.
    q : int or None
        Number of columns of Q; None for no Q.

    Returns
    -------
    State
        The factors.
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


def product(engine: Engine, q: Block, r: Block, rows: int) -> Block:
    """Return the matrix that the factors belong to; R has so many rows that are not zero."""
    return engine.multiply(q[..., :rows], r[..., :rows, :])


def with_rows(engine: Engine, a: Block, u: Block, k: int) -> Block:
    """Return `a` with rows `u` before row `k`."""
    return joined(engine, [a[..., :k, :], u, a[..., k:, :]], -2)


def without_rows(engine: Engine, a: Block, k: int, p: int) -> Block:
    """Return `a` without p rows from row `k` on."""
    return joined(engine, [a[..., :k, :], a[..., k + p :, :]], -2)


def with_columns(engine: Engine, a: Block, u: Block, k: int) -> Block:
    """Return `a` with columns `u` before column `k`."""
    return joined(engine, [a[..., :k], u, a[..., k:]], -1)


def without_columns(engine: Engine, a: Block, k: int, p: int) -> Block:
    """Return `a` without p columns from column `k` on."""
    return joined(engine, [a[..., :k], a[..., k + p :]], -1)
