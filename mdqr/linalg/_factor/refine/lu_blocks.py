"""L and U by blocks, each of which is found by exact products of those before it.

As Cholesky factors in `blocks`: a block row of U and a block column of L are one product each, then
one with the inverse of a triangle on the diagonal. That block is factored by sweeps from the
factors of float64, which have chosen the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.products import times
from mdqr.linalg._factor.refine.rows import (
    Form,
    Made,
    Rows,
    all_hold,
    head_of,
    rest_of,
    rows_of,
    within,
)
from mdqr.linalg._products.exact.parts import slices


class Task(NamedTuple):
    """A factorisation by blocks of so many rows.

    Attributes
    ----------
    kind : Kind
        The kind of the factors.
    width : int
        The rows of a block.
    find_head : callable
        Returns L and U of a block on the diagonal in these rows, or None.
    bound : callable
        The largest error of an entry for a matrix of some order, in units of ``abs(L) abs(U)``.
    """

    kind: Kind
    width: int
    find_head: Callable[[Block, slice], tuple[Block, ...] | None]
    bound: Callable[[int], float]


def factor(backend: Backend, a: Block, task: Task) -> Block | None:
    """Return L, whose unit diagonal is not held, and U of one matrix ``(n, n)`` in one block.

    None where a bound of errors cannot be shown, or `find_head` returns that.
    """
    run = _Run(backend, a, task)
    if not all(map(run.step, slices(run.order, task.width))):
        return None
    return run.lu if all_hold(run.flags, run.words) else None


class _Run:
    """One factorisation."""

    def __init__(self, backend: Backend, a: Block, task: Task) -> None:
        self.backend, self.a, self.task = backend, a, task
        self.order = int(a.shape[-1])
        self.form = Form(task.kind, self.order, conj=False)
        self.lu = task.kind.zeros(backend.xp, (self.order, self.order))
        self.flags: list[Block] = []
        self.words: list[Block] = []

    def step(self, rows: slice) -> bool:
        """Find a block row of U and a block column of L; False where `find_head` returns None."""
        backend, lu, first, last = self.backend, self.lu, rows.start, rows.stop
        before, above = _turned(lu[..., rows, :first]), lu[..., :first, rows]
        right = self._rest(self.a[..., rows, first:], before, lu[..., :first, first:])
        pair = self.task.find_head(right[..., : last - first].copy(), rows)
        if pair is None:
            return False
        lower, upper = pair
        below = backend.xp.tri(last - first, k=-1, dtype=bool)
        lu[..., rows, rows] = backend.xp.where(below, lower, upper)
        if first:
            sizes = [abs(self._floats(x)) for x in pair]
            known = times(backend, *sizes, kind=Kind(1, False))
            self._check(self.task.bound(last - first) * known, (_turned(lower), upper), rows, rows)
        if last < self.order:
            beside, after = slice(last, self.order), _turned(lu[..., last:, :first])
            left = self._rest(_turned(self.a[..., last:, rows]), above, after)
            found = self._rows(_turned(lower), right[..., last - first :])
            lu[..., rows, last:] = found.block
            self._check(found.left, (_turned(lower), found.block), rows, beside)
            found = self._rows(upper, left)
            lu[..., last:, rows] = _turned(found.block)
            self._check(found.left.T, (found.block, upper), beside, rows)
        return True

    def _rest(self, a: Block, above: Block, columns: Block) -> Block:
        found: Made = rest_of(self.backend, a, above, columns, self.form)
        self.words += found.words
        return found.block

    def _rows(self, triangle: Block, rest: Block) -> Rows:
        head = head_of(self.backend, triangle, self.task.kind)
        found = rows_of(self.backend, head, rest, self.form)
        self.words += found.words
        return found

    def _floats(self, x: Block) -> Block:
        return to_native(self.backend.xp, x, self.task.kind.is_complex)

    def _check(self, left: Block, last: tuple[Block, Block], rows: slice, columns: slice) -> None:
        """Note whether errors are within the bound; of the last product L is transposed."""
        x, y = map(self._floats, last)
        pairs, first = [(x.T, y)], min(rows.start, columns.start)
        if first:
            before = self.lu[..., rows, :first], self.lu[..., :first, columns]
            x, y = map(self._floats, before)
            pairs.append((x, y))
        bound = self.task.bound(self.order)
        self.flags.append(within(self.backend, left, pairs, self.task.kind, bound))


def _turned(x: Block) -> Block:
    return x.swapaxes(-1, -2)
