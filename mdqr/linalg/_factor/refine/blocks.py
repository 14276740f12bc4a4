"""Cholesky factors by blocks of rows, each of which is found by exact products of those above it.

What is left of a block of rows, ``A_kj - sum C_ik^H C_ij``, is one product: entries are rounded
once. The block on the diagonal is factored by sweeps, and its inverse, of all bits, leads to the
rest of the rows. Together that is ``n^3 / 6`` products of numbers, where sweeps of the whole matrix
form as many each time. What the rest of the rows leaves of its equations is one more product of a
block, and shows that errors of entries are within their bound.

Products have so many bits whatever the entries are: a column has the same limbs whichever others it
is put together with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import ceil
from typing import Any, NamedTuple, cast

from mdqr._backend.blocks import to_native
from mdqr._backend.exact import ExactProducts
from mdqr._backend.places import Place
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.products import (
    Patterns,
    bits_of_entries,
    block_of,
    eps_of,
    held,
    limbs_for,
    times,
    unseen,
)
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.parts import slices
from mdqr.linalg._products.exact.product import is_within_range
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import precision_for

# Bits of a float64 inverse, and those by which each step may fall short of twice as many.
_FIRST, _SHORT = 40, 4
# Bits of products with inverses beyond those that count, for entries that are larger than others,
# and what numbers of bits are multiples of: few modules are compiled.
_SPARE, _STEP = 16, 96


class Made(NamedTuple):
    """A block, and the words of the product that made it, or None."""

    block: Block
    words: Block | None


def rest_of(backend: Backend, a: Block, above: Block, columns: Block, kind: Kind, n: int) -> Made:
    """Return what rows above leave of a block of rows, ``a - above^H columns``.

    All products for a matrix of order `n` have as many bits.
    """
    if 0 in (above.shape[-2], columns.shape[-1]):
        return Made(planes.widen(a, kind.is_complex, kind.limbs), None)
    return _product(backend, above, columns, kind, n, c=a)


def rows_of(backend: Backend, inverse: Block, rest: Block, kind: Kind, n: int) -> Made:
    """Return the rows of the factor, from what is left and the inverse of the diagonal block."""
    return _product(backend, inverse, rest, kind, n)


def _product(
    backend: Backend, x: Block, y: Block, kind: Kind, n: int, c: Block | None = None
) -> Made:
    """Return ``x^H y``, or ``c - x^H y``."""
    out = kind.empty(backend.xp, (int(x.shape[-1]), int(y.shape[-1])))
    bits = bits_of_entries(kind) + n.bit_length() + 2 + kind.is_complex
    options: dict[str, Any] = {"kind": kind, "conj_a": True, "c": c, "out": out, "bits": bits}
    left, exact_backend = x.swapaxes(-1, -2), cast(ExactProducts, backend)
    return Made(out, exact.multiply_unseen(exact_backend, left, y, **options))


def inverse(backend: Backend, c: Block, kind: Kind) -> Block:
    """Return the inverse of an upper triangle of a moderate condition, by Newton's iteration."""
    return backend.recorded(("inverse of a factor", kind), (c,), partial(_inverse, kind=kind))[0]


def _inverse(backend: Backend, c: Block, kind: Kind) -> list[Block]:
    """Return ``X + (I - X C) X``, from float64 on, in as many bits as each step has."""
    field, low = kind.is_complex, Kind(1, kind.is_complex)
    patterns = Patterns.of(backend, int(c.shape[-1]), field)
    x = block_of(backend.invert_triangle(held(backend, c, low)), low)
    known, most = _FIRST, bits_of_entries(kind)
    while known < most:
        after = min(2 * known - _SHORT, most)
        high, half = (_kind_of(bits, kind) for bits in (after, after - known))
        left, right = (planes.first_limbs(y, field, high.limbs) for y in (x, c))
        more: dict[str, Any] = {"kind": high, "shape": "triangles", "c": patterns.one}
        bits = min(_STEP * ceil((after + _SPARE) / _STEP), most)
        g, _ = unseen(backend, left, right, bits=bits, **more)
        parts = (held(backend, y, half) for y in (patterns.upper(backend, g), x))
        change = block_of(times(backend, *parts, kind=half, shape="triangles"), half)
        x = backend.binary("add", x, patterns.upper(backend, change), kind=high)
        known = after
    return [x]


def _kind_of(bits: int, most: Kind) -> Kind:
    """Return the kind of the fewest limbs for so many bits."""
    limbs = precision_for(limbs_for(2.0 ** min(bits, 1000))).limbs
    return most._replace(limbs=min(limbs, most.limbs))


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
        Factors blocks on the diagonal within `head_bound`.
    head_bound, bound : float
        The largest errors of these and of all entries, in units of ``abs(C^H) abs(C)``.
    is_corrected : bool
        Whether the rest of the rows is corrected once by what it leaves.
    """

    kind: Kind
    order: int
    width: int
    find_head: FindHead
    head_bound: float
    bound: float
    is_corrected: bool = False

    @property
    def blocks(self) -> list[slice]:
        """The rows of all blocks."""
        return slices(self.order, self.width)


class Step(NamedTuple):
    """What all places need of a block of rows: its columns above the diagonal, factor, inverse."""

    above: Block
    head: Block
    inverse: Block


def _within(
    backend: Backend,
    left: Block,
    step: Step,
    columns: Block,
    kind: Kind,
    bounds: tuple[float, float],
) -> Block:
    """Return whether errors of a block of rows are within a bound, a 0-d bool.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    left : Block
        What the last equations leave, moduli.
    step : Step
        The factor in these rows.
    columns : Block
        The columns of the factor, to the end of these rows.
    kind : Kind
        The kind of the factor.
    bounds : tuple of float
        Those of all errors, and of those that were found, ``left`` times the second.
    """
    xp, field, (bound, factor) = backend.xp, kind.is_complex, bounds
    above, head, size = (abs(to_native(xp, x, field)) for x in (step.above, step.head, columns))
    start, real = len(above), Kind(1, False)
    sums = times(backend, head.T, size[start:], kind=real)
    largest = head.max(axis=0)
    if start:
        sums = sums + times(backend, above.T, size[:start], kind=real)
        largest = xp.maximum(largest, above.max(axis=0))
    # Of two products: their bits, and two roundings of each.
    unit = 8.0 * 2.0 ** -bits_of_entries(kind) * (1 + field)
    error = factor * left + unit * largest[:, None] * size.max(axis=0)
    allowed = (bound - 8.0 * eps_of(kind)) * (1.0 - 2.0**-20)
    # A sum without terms is exact.
    return xp.where(sums > 0.0, error <= allowed * sums, left == 0.0).all()


class _Share:
    """The columns of a place: block columns k, k + p, k + 2 p, and so on, for p places."""

    def __init__(self, place: Place, a: Block, numbers: Sequence[int], task: Task) -> None:
        self.place, self.a, self.task = place, a, task
        self.backend, self.kind = place.backend, task.kind
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
        """Return what the rows above leave of a block of rows, in some columns."""
        a, there = self.a[..., rows, columns], self.c[..., : rows.start, columns]
        found = rest_of(self.backend, a, above, there, self.kind, self.task.order)
        self._see(found)
        return found.block

    def _see(self, made: Made) -> None:
        if made.words is not None:
            self.words.append(made.words)

    def finish(self, rows: slice, step: Step, rest: Block, columns: slice) -> None:
        """Set a block of rows in some columns from what is left of it, and look at its errors."""
        if columns.start == columns.stop:
            return
        backend, kind, n = self.backend, self.kind, self.task.order
        found = rows_of(backend, step.inverse, rest, kind, n)
        self._see(found)
        own = found.block
        left = rest_of(backend, rest, step.head, own, kind, n)
        if self.task.is_corrected:
            change = rows_of(backend, step.inverse, left.block, kind, n)
            own = backend.binary("add", own, change.block, kind=kind)
            left = rest_of(backend, rest, step.head, own, kind, n)
            self._see(change)
        self._see(left)
        self.c[..., rows, columns] = own
        self._check(rows, step, columns, abs(to_native(backend.xp, left.block, kind.is_complex)))

    def _check(
        self, rows: slice, step: Step, columns: slice, left: Block, factor: float = 1.0
    ) -> None:
        """Note whether errors of entries are within the bound, from what equations leave."""
        whole, bounds = self.c[..., : rows.stop, columns], (self.task.bound, factor)
        self.flags.append(_within(self.backend, left, step, whole, self.kind, bounds))

    def set_head(self, rows: slice, step: Step, columns: slice) -> None:
        """Set a block on the diagonal, and look at its errors, of which a bound is known."""
        self.c[..., rows, columns] = step.head
        size = abs(to_native(self.backend.xp, step.head, self.kind.is_complex))
        known = times(self.backend, size.T, size, kind=Kind(1, False), shape="cholesky")
        self._check(rows, step, columns, known, self.task.head_bound)

    def is_good(self) -> bool:
        """Return True if all errors are within the bound; it is waited for."""
        with self.place.here():
            seen = fetch(*self.flags, *self.words) if self.flags else ()
        count = len(self.flags)
        return all(map(bool, seen[:count])) and all(map(is_within_range, seen[count:]))


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
    for is_corrected in (False, True):
        run = _Run(task._replace(is_corrected=is_corrected), places, columns)
        if not run.factor():
            return None
        if all(share.is_good() for share in run.shares):
            return [share.c for share in run.shares]
    return None


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
            head = self.task.find_head(owner.backend, found[..., :width].copy(), rows.start)
            if head is None:
                return False
            inverted = inverse(owner.backend, head, self.task.kind)
            step = Step(above, head, inverted)
            owner.set_head(rows, step, own)
            rests[owner] = found[..., width:]
        if self._late is not None:
            self._late()
        if others:
            rests[owner] = self._rest(owner, k, rows, above)
        self._finish(k, rows, owner, step, lefts, rests)
        return True

    def _rest(self, share: _Share, k: int, rows: slice, above: Block) -> Block:
        with share.place.here():
            return share.rest(rows, above, share.behind(k))

    def _finish(
        self,
        k: int,
        rows: slice,
        owner: _Share,
        step: Step,
        lefts: dict[_Share, Block],
        rests: dict[_Share, Block],
    ) -> None:
        """Finish a block of rows, first what the next one begins with, and late the rest there."""
        count, following = len(self.shares), self.shares[(k + 1) % len(self.shares)]
        steps = {
            share: Step(lefts[share], *(share.place.take(x, owner.place) for x in step[1:]))
            for share in self.shares
        }

        def finish(share: _Share, part: slice) -> None:
            start = share.behind(k).start
            with share.place.here():
                rest = rests[share][..., part.start - start : part.stop - start]
                share.finish(rows, steps[share], rest, part)

        self._late = None
        if count == 1 or k + 1 == len(self.task.blocks):
            for share in self.shares:
                finish(share, share.behind(k))
            return
        finish(following, following.of(k + 1))
        for share in self.shares:
            if share is not following:
                finish(share, share.behind(k))
        self._late = partial(finish, following, following.behind(k + 1))
