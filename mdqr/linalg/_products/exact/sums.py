"""Gram matrices of rows that lie apart, by sums of residues: integers, added in any order.

All parts have the powers of two and the moduli of one plan. So the limbs do not depend on how the
rows are cut, and one exact product of all has the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log2
from typing import Any, NamedTuple, cast

import numpy as np

from mdqr._backend.exact import EXTENT_WORDS, ExactProducts, Extents, Residues
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._products.exact import plan
from mdqr.linalg._products.exact.product import Integers, integers_of, tables
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import precision_for

_LEAST_ROWS = 1024


class Extent(NamedTuple):
    """The powers of two above columns, int64 on the host, the bits below these, and the rows."""

    exponents: np.ndarray
    span: int
    rows: int

    def joined(self, other: Extent) -> Extent:
        """Return the extent of the rows of both; its span may be a few bits too large."""
        top = np.maximum(self.exponents, other.exponents)
        spans = [0]
        for part in (self, other):
            some = part.exponents > scaling.ABSENT
            if some.any():
                spans.append(part.span + int((top - part.exponents)[some].max()))
        return Extent(top, max(spans), self.rows + other.rows)

    @property
    def powers(self) -> np.ndarray:
        """The powers of two, 0 for columns of zeros."""
        found: np.ndarray = np.where(self.exponents > scaling.ABSENT, self.exponents, 0)
        return found


def extent_of(backend: Backend, a: Block, is_complex: bool) -> Extent:
    """Return the extent of a finite matrix ``(m, n)``."""
    m, n = map(int, a.shape[-2:])
    if not m:
        return Extent(np.full(n, scaling.ABSENT), 0, 0)
    lines, xp = a.swapaxes(-1, -2), backend.xp
    memory = xp.zeros(EXTENT_WORDS + n + 1, dtype=np.int64)
    words, exponents, other = memory[:EXTENT_WORDS], memory[EXTENT_WORDS:-1], memory[-1:]
    pair = lines, lines[..., :1, :1]
    exact = cast(ExactProducts, backend)
    exact.exact_scan(pair, (None, None), (exponents, other), words, is_complex=is_complex)
    bits = scaling.largest(scaling.magnitude_bits(a, is_complex), -2, 0)
    found, tops = fetch(words, scaling.exponents_or_absent(bits))
    return Extent(tops, Extents.of(found).span[0], m)


class Sums(NamedTuple):
    """Sums of the products of bytes for ``A^H A`` and for ``A^H B``, None without B."""

    gram: Block
    sides: Block | None

    def _mapped(self, change: Callable[..., Block], *others: Sums) -> Sums:
        parts = zip(self, *others, strict=True)
        return Sums(*(None if part[0] is None else change(*part) for part in parts))


def plan_of(extent: Extent, sides: Extent | None, kind: Kind) -> Integers:
    """Return the integers for a Gram matrix of all rows, as `refine.products.formed` has them.

    They hold the bits of B, too.
    """
    bits = ceil(-log2(precision_for(kind.limbs).eps))
    most = bits + extent.rows.bit_length() + 2 + kind.is_complex
    span = max(extent.span, 0 if sides is None else sides.span)
    return integers_of((span, span), most, extent.rows, kind)


def sums_of(
    backend: Backend,
    a: Block,
    b: Block | None,
    extents: tuple[Extent, Extent | None],
    integers: Integers,
    *,
    is_complex: bool,
) -> Sums:
    """Return the sums of the products of the bytes of some rows; see `added`."""
    exact = cast(ExactProducts, backend)
    m, count, total = int(a.shape[-2]), integers.moduli.planes, None
    if not m:
        a, b = (None if x is None else _row_of_zeros(backend, x) for x in (a, b))
        m = 1
    rows, lines = plan.MOST_TERMS, sum(0 if x is None else int(x.shape[-1]) for x in (a, b))
    while rows > _LEAST_ROWS and _bytes(exact, count, lines, rows) > exact.exact_workspace():
        rows //= 2
    for start in range(0, m, rows):
        part = slice(start, start + rows)
        found = _of_run(exact, a[..., part, :], None if b is None else b[..., part, :], extents,
                        integers, is_complex)  # fmt: skip
        total = found if total is None else added([total, found], extents[0], integers)
    assert total is not None
    if extents[0].rows <= plan.MOST_TERMS:
        return total
    return total._mapped(lambda x: _reduced(x, integers))


def _row_of_zeros(backend: Backend, x: Block) -> Block:
    return backend.xp.zeros((*x.shape[:-2], 1, x.shape[-1]))


def _of_run(
    exact: ExactProducts,
    a: Block,
    b: Block | None,
    extents: tuple[Extent, Extent | None],
    integers: Integers,
    is_complex: bool,
) -> Sums:
    """Return the sums of one run of terms."""
    tau: Any = integers.tau
    channels = tables(integers, (is_complex, False))

    def residues(x: Block, extent: Extent, which: int) -> Residues:
        powers = exact.xp.asarray(extent.powers)
        return exact.exact_residues(
            x.swapaxes(-1, -2), powers, None, tau[which], channels[which], is_complex=is_complex
        )

    left = residues(a, extents[0], 0)
    right = residues(a, extents[0], 1) if is_complex else left
    held, sides = [left, right] if is_complex else [left], None
    gram = exact.exact_sums(left, right)
    if b is not None and extents[1] is not None:
        held.append(residues(b, extents[1], 1))
        sides = exact.exact_sums(left, held[-1])
    for each in held:
        exact.exact_release(each)
    return Sums(gram, sides)


def _bytes(exact: ExactProducts, count: int, n: int, rows: int) -> int:
    return n * exact.exact_line_bytes(count, rows) * 2


def added(parts: Sequence[Sums], extent: Extent, integers: Integers) -> Sums:
    """Return the sums of several parts of all rows.

    Parts stay as they are: whoever has lost the sums may add them again.
    """
    total, wraps = parts[0], extent.rows > plan.MOST_TERMS

    def add(x: Block, y: Block) -> Block:
        if wraps:
            x, y = _reduced(x, integers), _reduced(y, integers)
        return x + y

    for other in parts[1:]:
        total = total._mapped(add, other)
    return total


def _reduced(sums: Block, integers: Integers) -> Block:
    """Return small integers with the same residues."""
    moduli, parts = integers.moduli, integers.moduli.parts
    narrow = parts * moduli.narrow
    values = np.repeat(np.array(moduli.values, dtype=np.int32), parts)
    values = np.concatenate([values[:narrow], np.repeat(values[narrow:], 3)])
    modulus = planes.namespace(sums).asarray(values)[:, None, None]
    return sums % modulus


def product_of(
    backend: Backend, sums: Block, integers: Integers, size: tuple[int, int], kind: Kind
) -> Block:
    """Return the product of columns scaled to below 1, rounded once."""
    exact, out = cast(ExactProducts, backend), kind.empty(backend.xp, size)
    zeros = tuple(backend.xp.zeros(count, dtype=np.int64) for count in size)
    back, unit, scale = integers.back, integers.unit, integers.scale
    channels = tables(integers, (kind.is_complex, False))[0]
    exact.exact_numbers(
        sums, (zeros[0], zeros[1]), channels, back, unit, scale, kind=kind, out=out
    )  # fmt: skip
    return out
