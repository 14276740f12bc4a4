"""Operations on matrices of either arithmetic: reflections, adjoints, rows and columns."""

from __future__ import annotations

from dataclasses import dataclass

from mdqr._backend.blocks import reflections
from mdqr._limbs.planes import Block, diagonal
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._update.arithmetic.engine import Engine, Reflections

# Rows that are compared before all others.
_FEW = 64


def apply_left(engine: Engine, factors: Reflections, x: Block) -> None:
    """Replace `x` by ``Q^H x``."""
    for v, t in reflections(factors.vs, factors.ts, adjoint=True):
        engine.reflect(v, t, x[..., x.shape[-2] - v.shape[-2] :, :])


def apply_right(engine: Engine, factors: Reflections, x: Block) -> None:
    """Replace `x` by ``x Q``."""
    for v, t in zip(factors.vs, factors.ts, strict=True):
        part = x[..., x.shape[-1] - v.shape[-2] :]
        w = engine.multiply(engine.multiply(part, v), t)
        engine.accumulate(part, w, v.swapaxes(-1, -2), subtract=True, conj_b=True)


def make_triangular(
    engine: Engine, x: Block, left: Block, right: Block | None, *, clear: bool = True
) -> None:
    """Replace `x` by R, `left` by ``Q^H left`` and `right` by ``right Q``."""
    factors = engine.factor(x, clear=clear)
    if left.shape[-1]:
        apply_left(engine, factors, left)
    if right is not None:
        apply_right(engine, factors, right)


def adjoint_multiply(
    engine: Engine, a: Block, b: Block, *, c: Block | None = None, subtract: bool = False
) -> Block:
    """Return ``a^H b``, plus or minus `c`."""
    return engine.multiply(a.swapaxes(-1, -2), b, c=c, subtract=subtract, conj_a=True)


def adjoint(engine: Engine, x: Block) -> Block:
    """Return the conjugate transpose, a view if real."""
    transposed = x.swapaxes(-1, -2)
    return engine.conj(transposed) if engine.kind.is_complex else transposed


def set_identity(engine: Engine, x: Block) -> None:
    """Write ones on the diagonal of a zero matrix."""
    plane = x
    if engine.kind.limbs > 1:
        plane = x[0, 0] if engine.kind.is_complex else x[0]
    diagonal(plane)[...] = 1


def joined(engine: Engine, parts: list[Block], axis: int) -> Block:
    """Join matrices along their last axis (-1) or the one before (-2), a new array."""
    return engine.backend.xp.concatenate(parts, axis=axis)


class Growing:
    """Memory in which matrices grow by rows, at an amortised cost of the new rows alone.

    Rows are written behind those of the matrix that was returned last; any other is copied first.
    Copies and pickles of it are empty.
    """

    def __init__(self) -> None:
        self._memory: Block | None = None
        self._last: Block | None = None
        self._used = 0

    def __reduce__(self) -> tuple[type[Growing], tuple[()]]:
        return Growing, ()

    def extended(self, engine: Engine, x: Block, rows: Block) -> Block:
        """Return `x` with `rows` behind it, a view of the memory."""
        m, p = int(x.shape[-2]), int(rows.shape[-2])
        memory = self._memory
        if memory is None or self._last is not x or self._used + p > memory.shape[-2]:
            # Half as much again: doubled data would hold a third of the memory in vain.
            size = m + p + max(m, p, 64) // 2
            memory = engine.backend.xp.empty((*x.shape[:-2], size, x.shape[-1]), dtype=x.dtype)
            memory[..., :m, :] = x
            self._memory, self._used = memory, m
        end = self._used + p
        memory[..., self._used : end, :] = rows
        self._used, self._last = end, memory[..., end - m - p : end, :]
        return self._last

    def without(self, engine: Engine, x: Block, k: int, p: int) -> Block:
        """Return `x` without p rows from the k-th on.

        A view if these are the first or the last, and a quarter of the memory stays in use.
        """
        if k and k + p < x.shape[-2]:
            found = removed(engine, x, k, p, -2)
        else:
            found = x[..., :k, :] if k else x[..., p:, :]
            if 4 * found.size >= found.base.size:
                if self._last is x and not k:
                    self._last = found
                return found
            found = found.copy()
        if self._last is x:
            self._memory = self._last = None
        return found


@dataclass(frozen=True)
class Constants:
    """The constant columns, bools ``(n,)``, in rows that are not kept; `first` is one."""

    first: Block
    same: Block

    def without(self, engine: Engine, k: int, p: int) -> Constants:
        """Return what is known when p columns from the k-th on have left."""
        return Constants(removed(engine, self.first, k, p), removed(engine, self.same, k, p))

    def with_rows(self, engine: Engine, rows: Block) -> Constants:
        """Return what is known of these and further rows."""
        same = engine.planes(rows) == engine.planes(self.first)
        same = same.all(axis=-2).all(axis=tuple(range(engine.kind.lead)))
        return Constants(self.first, same & self.same)

    def merged(self, engine: Engine, other: Constants) -> Constants:
        """Return what is known of the rows of both."""
        return Constants(self.first, self.with_rows(engine, other.first).same & other.same)


def constants(engine: Engine, rows: Block) -> Constants | None:
    """Return which columns are constant in `rows`; None if there are none."""
    if not rows.shape[-2]:
        return None
    same = engine.backend.xp.ones(int(rows.shape[-1]), dtype=bool)
    found = Constants(rows[..., :1, :].copy(), same).with_rows(engine, rows[..., :_FEW, :])
    # A few rows often show that no column is.
    is_known = rows.shape[-2] <= _FEW or not fetch(found.same.any())[0]
    return found if is_known else found.with_rows(engine, rows)


def inserted(engine: Engine, x: Block | None, more: Block, k: int, axis: int = -1) -> Block | None:
    """Return matrices, or exponents, with more of them before the k-th; None for none."""
    return _spliced(engine, x, [more], (k, k), axis)


def removed(engine: Engine, x: Block | None, k: int, p: int, axis: int = -1) -> Block | None:
    """Return matrices, or exponents, without p of them from the k-th on; None for none."""
    return _spliced(engine, x, [], (k, k + p), axis)


def _spliced(
    engine: Engine, x: Block | None, more: list[Block], place: tuple[int, int], axis: int
) -> Block | None:
    if x is None:
        return None
    behind = (slice(None),) * (-1 - axis)
    head, tail = (x[(..., part, *behind)] for part in (slice(place[0]), slice(place[1], None)))
    return joined(engine, [head, *more, tail], axis)
