"""Cholesky factors by blocks of rows, each of which is found by exact products of those above it.

The remainder of a block of rows, ``A_kj - sum C_ik^H C_ij``, is one product: entries are rounded
once. The block on the diagonal is factored by sweeps, and its inverse, of all bits, leads to the
rest of the rows. Together that is ``n^3 / 6`` products of numbers, where sweeps of the whole matrix
form as many each time. Residuals of the equations of the rest are one more product of a block, and
show that errors of entries are within their bound.

Block columns may be on several devices, and have the same limbs on any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.places import Place
from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.products import times
from mdqr.linalg._factor.refine.rows import (
    Form,
    Head,
    Rows,
    all_hold,
    head_of,
    rest_of,
    rows_of,
    within,
)
from mdqr.linalg._products.exact.parts import slices

# Factors a block on the diagonal that begins with some row, or returns None.
FindHead = Callable[[Backend, Block, int], Block | None]


class Task(NamedTuple):
    """A factorisation by blocks.

    Attributes
    ----------
    kind : Kind
        The kind of the factor.
    order : int
        The order of the matrix.
    width : int
        The rows of a block.
    find_head : callable
        Factors blocks on the diagonal, with errors up to `head_bound` of their order.
    head_bound : callable
        See there.
    bound : float
        The largest error of an entry; all are in units of ``abs(C^H) abs(C)``.
    """

    kind: Kind
    order: int
    width: int
    find_head: FindHead
    head_bound: Callable[[int], float]
    bound: float

    @property
    def blocks(self) -> list[slice]:
        """The rows of all blocks."""
        return slices(self.order, self.width)


class _Share:
    """The columns of a place: block columns k, k + p, k + 2 p, and so on, for p places."""

    def __init__(self, place: Place, a: Block, numbers: Sequence[int], task: Task) -> None:
        self.place, self.a, self.task = place, a, task
        self.backend, self.kind = place.backend, task.kind
        self._form = Form(task.kind, task.order, conj=True)
        widths = [task.blocks[i].stop - task.blocks[i].start for i in numbers]
        stops = [*accumulate(widths)]
        self._columns = {
            i: slice(stop - width, stop)
            for i, stop, width in zip(numbers, stops, widths, strict=True)
        }
        self._stop = stops[-1] if stops else 0
        with place.here():
            self.c = self.kind.zeros(self.backend.xp, (task.order, self._stop))
        self.flags: list[Block] = []
        self.words: list[Block] = []

    def of(self, block: int) -> slice:
        """Return the columns of a block of this share."""
        return self._columns[block]

    def behind(self, block: int) -> slice:
        """Return the columns of all blocks behind one."""
        start = min((x.start for i, x in self._columns.items() if i > block), default=self._stop)
        return slice(start, self._stop)

    def rest(self, rows: slice, above: Block, columns: slice) -> Block:
        """Return the remainder of a block of rows below others, in some columns."""
        a, there = self.a[..., rows, columns], self.c[..., : rows.start, columns]
        found = rest_of(self.backend, a, above, there, self._form)
        self.words += found.words
        return found.block

    def finish(self, rows: slice, above: Block, head: Head, rest: Block, columns: slice) -> None:
        """Set a block of rows in some columns from its remainder, and look at its errors."""
        if columns.start < columns.stop:
            found = rows_of(self.backend, head, rest, self._form)
            self._set(rows, above, head, found, columns)

    def set_head(self, rows: slice, above: Block, head: Head) -> None:
        """Set a block on the diagonal, and look at its errors, of which a bound is known."""
        columns = self._columns[rows.start // self.task.width]
        self.c[..., rows, columns] = head.factor
        if not rows.start:
            # Nothing is above, so that these are all its errors.
            return
        size = abs(to_native(self.backend.xp, head.factor, self.kind.is_complex))
        known = times(self.backend, size.T, size, kind=Kind(1, False))
        bound = self.task.head_bound(rows.stop - rows.start)
        self._set(rows, above, head, Rows(head.factor, bound * known, ()), columns)

    def _set(self, rows: slice, above: Block, head: Head, found: Rows, columns: slice) -> None:
        self.c[..., rows, columns] = found.block
        self.words += found.words
        xp, field = self.backend.xp, self.kind.is_complex
        whole = to_native(xp, self.c[..., : rows.stop, columns], field)
        pairs = [(to_native(xp, head.factor, field).T, whole[rows])]
        if rows.start:
            pairs.append((to_native(xp, above, field).T, whole[: rows.start]))
        good = within(self.backend, found.left, pairs, self.kind, self.task.bound)
        self.flags.append(good)

    def is_good(self) -> bool:
        """Return True if all errors are within the bound; it is waited for."""
        with self.place.here():
            return all_hold(self.flags, self.words)


def factor(task: Task, places: Sequence[Place], columns: Sequence[Block]) -> list[Block] | None:
    """Return the upper triangular C of one matrix ``(n, n)``.

    Parameters
    ----------
    task : Task
        What is to be done.
    places : sequence of Place
        The devices.
    columns : sequence of Block
        The columns of the matrix on each of them: block columns k, k + p, k + 2 p, and so on, for p
        places. The upper triangle is read.

    Returns
    -------
    list of Block or None
        The columns of C, within the bound in every entry; None where that cannot be shown, or
        `find_head` returns None.
    """
    with np.errstate(all="ignore"):
        run = _Run(task, places, columns)
        served = run.factor() and all(share.is_good() for share in run.shares)
    return [share.c for share in run.shares] if served else None


class _Run:
    """One factorisation.

    While a device factors a block on the diagonal, and its host waits for it, others have the
    products of the block before to do: these are begun first.
    """

    def __init__(self, task: Task, places: Sequence[Place], columns: Sequence[Block]) -> None:
        count = len(task.blocks)
        self.task, self.places = task, places
        self.shares = [
            _Share(place, a, range(i, count, len(places)), task)
            for i, (place, a) in enumerate(zip(places, columns, strict=True))
        ]
        self._late: Callable[[], None] | None = None

    def factor(self) -> bool:
        """Factor; False where `find_head` returns None."""
        return all(self._step(k, rows) for k, rows in enumerate(self.task.blocks))

    def _step(self, k: int, rows: slice) -> bool:
        owner = self.shares[k % len(self.shares)]
        late, self._late = self._late, None
        others = [share for share in self.shares if share is not owner]
        width, own = rows.stop - rows.start, owner.of(k)
        with owner.place.here():
            above = owner.c[..., : rows.start, own]
            if others:
                above = owner.backend.xp.ascontiguousarray(above)
        lefts = {share: share.place.take(above, owner.place) for share in self.shares}
        rests = {share: self._rest(share, k, rows, lefts[share]) for share in others}
        with owner.place.here():
            wide = own if others else slice(own.start, owner.behind(-1).stop)
            found = owner.rest(rows, above, wide)
            factor = self.task.find_head(owner.backend, found[..., :width].copy(), rows.start)
            if factor is None:
                return False
            head = head_of(owner.backend, factor, self.task.kind)
            owner.set_head(rows, above, head)
            rests[owner] = found[..., width:]
        if late is not None:
            late()
        if others:
            rests[owner] = self._rest(owner, k, rows, above)
        self._finish(k, rows, owner, head, lefts, rests)
        return True

    def _rest(self, share: _Share, k: int, rows: slice, above: Block) -> Block:
        with share.place.here():
            return share.rest(rows, above, share.behind(k))

    def _finish(
        self,
        k: int,
        rows: slice,
        owner: _Share,
        head: Head,
        lefts: dict[_Share, Block],
        rests: dict[_Share, Block],
    ) -> None:
        """Finish a block of rows, first what the next one begins with, and late the rest there."""
        count, following = len(self.shares), self.shares[(k + 1) % len(self.shares)]
        heads = {
            share: Head(*(share.place.take(x, owner.place) for x in head)) for share in self.shares
        }

        def finish(share: _Share, part: slice) -> None:
            start = share.behind(k).start
            with share.place.here():
                rest = rests[share][..., part.start - start : part.stop - start]
                share.finish(rows, lefts[share], heads[share], rest, part)

        if count == 1 or k + 1 == len(self.task.blocks):
            for share in self.shares:
                finish(share, share.behind(k))
            return
        finish(following, following.of(k + 1))
        for share in self.shares:
            if share is not following:
                finish(share, share.behind(k))
        self._late = partial(finish, following, following.behind(k + 1))
