"""Blocks of rows of triangular factors, ``H^T Y = A - B^T C``, by exact products.

H is an upper triangle on the diagonal, with an inverse of all bits, B and C are what is above. Of
Hermitian matrices B^T and H^T are conjugated. Products have so many bits whatever the entries are:
a column has the same limbs whichever others it is put together with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import ceil
from operator import add
from typing import Any, NamedTuple, cast

from mdqr._backend.blocks import to_native
from mdqr._backend.exact import ExactProducts
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.folds import is_all
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
from mdqr.linalg._products.exact.product import is_within_range
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import precision_for

_U = 2.0**-53
# Bits of a float64 inverse, and those by which each step may fall short of twice as many.
_FIRST, _SHORT = 40, 4
# Bits of products with inverses beyond those that count, for entries that are larger than others,
# and what numbers of bits are multiples of: few modules are compiled.
_SPARE, _STEP = 16, 96


class Form(NamedTuple):
    """The kind of the factors of a matrix of this order, and whether rows are conjugated."""

    kind: Kind
    order: int
    conj: bool


class Head(NamedTuple):
    """A triangle on the diagonal, its inverse, and moduli above ``I - X H``, X of float64."""

    factor: Block
    inverse: Block
    loss: Block


class Made(NamedTuple):
    """A block, and the words of the products that made it."""

    block: Block
    words: tuple[Block, ...]


class Rows(NamedTuple):
    """Rows of a factor, bounds of the residuals of their equations, and words of products."""

    block: Block
    left: Block
    words: tuple[Block, ...]


def head_of(backend: Backend, factor: Block, kind: Kind) -> Head:
    """Return the triangle with its inverse, which is right where its condition is moderate."""
    work = partial(_inverted, kind=kind)
    return Head(factor, *backend.recorded(("inverse of a factor", kind), (factor,), work))


def _inverted(backend: Backend, c: Block, kind: Kind) -> list[Block]:
    """Return X by Newton's iteration, from float64 on, in as many bits as a step has, and loss."""
    field, low, real = kind.is_complex, Kind(1, kind.is_complex), Kind(1, False)
    patterns = Patterns.of(backend, int(c.shape[-1]), field)
    first = held(backend, c, low)
    x = block_of(backend.invert_triangle(first), low)
    known, most = _FIRST, bits_of_entries(kind)
    while known < most:
        after = min(2 * known - _SHORT, most)
        high, half = (_kind_of(bits, kind) for bits in (after, after - known))
        left, right = (planes.first_limbs(y, field, high.limbs) for y in (x, c))
        more: dict[str, Any] = {"kind": high, "shape": "triangles", "c": patterns.one}
        bits = min(_STEP * ceil((after + _SPARE) / _STEP), most)
        g, _ = unseen(backend, left, right, bits=bits, **more)
        parts = [held(backend, y, half) for y in (patterns.upper(backend, g), x)]
        if half.limbs == 1:
            change = block_of(times(backend, *parts, kind=half, shape="triangles"), half)
        else:
            # Without a wait, as all that is recorded.
            change, _ = unseen(backend, *parts, kind=half, shape="triangles")
        x = backend.binary("add", x, patterns.upper(backend, change), kind=high)
        known = after
    near = held(backend, x, low)
    one = patterns.identity(low)
    stale = times(backend, near, first, kind=low, c=one, shape="triangles")
    sizes = times(backend, abs(near), abs(first), kind=real, shape="triangles")
    # Of this product and of those with what equations leave, and limbs that are left out.
    return [x, abs(stale) + 4.0 * _rounding(c.shape[-1], field) * sizes]


def _kind_of(bits: int, most: Kind) -> Kind:
    """Return the kind of the fewest limbs for so many bits."""
    limbs = precision_for(limbs_for(2.0 ** min(bits, 1000))).limbs
    return most._replace(limbs=min(limbs, most.limbs))


def _rounding(terms: int, is_complex: bool) -> float:
    """Return the error of sums of products of float64, relative to sums of moduli."""
    return (terms + 8) * (4 if is_complex else 1) * _U


def rest_of(backend: Backend, a: Block, above: Block, columns: Block, form: Form) -> Made:
    """Return the remainder of a block of rows, ``a - above^T columns``."""
    if 0 in (above.shape[-2], columns.shape[-1]):
        return Made(planes.widen(a, form.kind.is_complex, form.kind.limbs), ())
    return _product(backend, above, columns, form, c=a)


def _product(backend: Backend, x: Block, y: Block, form: Form, c: Block | None = None) -> Made:
    """Return ``x^T y``, or ``c - x^T y``, of as many bits for all of a matrix."""
    kind, n = form.kind, form.order
    out = kind.empty(backend.xp, (int(x.shape[-1]), int(y.shape[-1])))
    bits = bits_of_entries(kind) + n.bit_length() + 2 + kind.is_complex
    options: dict[str, Any] = {"kind": kind, "conj_a": form.conj, "c": c, "out": out, "bits": bits}
    left, exact_backend = x.swapaxes(-1, -2), cast(ExactProducts, backend)
    return Made(out, (exact.multiply_unseen(exact_backend, left, y, **options),))


def rows_of(backend: Backend, head: Head, rest: Block, form: Form) -> Rows:
    """Return rows of the factor from their remainder.

    A product with the inverse loses the condition of H; its residual corrects it in float64.
    """
    xp, (kind, _, conj) = backend.xp, form
    field, low = kind.is_complex, Kind(1, kind.is_complex)
    found = _product(backend, head.inverse, rest, form)
    left = _product(backend, head.factor, found.block, form, c=rest)
    t, x = (to_native(xp, each, field) for each in (left.block, head.inverse))
    change = times(backend, x.T, t, kind=low, conj_a=conj)
    rows = backend.binary("add", found.block, block_of(change, low), kind=kind)
    lost = times(backend, head.loss.T, abs(t), kind=Kind(1, False))
    return Rows(rows, lost, found.words + left.words)


def within(
    backend: Backend,
    left: Block,
    pairs: Sequence[tuple[Block, Block]],
    kind: Kind,
    bound: float,
) -> Block:
    """Return whether errors of a block of factors are within a bound, a 0-d bool.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    left : Block
        Moduli of the residuals of the last equations.
    pairs : sequence of tuple of Block
        Float64 or complex128 factors of products whose sum the block is.
    kind : Kind
        The kind of the factors.
    bound : float
        The largest error, in units of the sum of products of moduli.
    """
    xp, real = backend.xp, Kind(1, False)
    sizes = [tuple(map(abs, pair)) for pair in pairs]
    sums = reduce(add, (times(backend, *pair, kind=real) for pair in sizes))
    rows = reduce(xp.maximum, (x.max(axis=1) for x, _ in sizes))
    columns = reduce(xp.maximum, (y.max(axis=0) for _, y in sizes))
    # Of two products: their bits, and roundings of both, of a sum, and of rows that were corrected.
    unit = 8.0 * 2.0 ** -bits_of_entries(kind) * (1 + kind.is_complex)
    error = left + unit * rows[:, None] * columns
    allowed = (bound - 8.0 * eps_of(kind)) * (1.0 - 2.0**-20)
    # A sum without terms is exact.
    return is_all(xp.where(sums > 0.0, error <= allowed * sums, left == 0.0))


def all_hold(flags: Sequence[Block], words: Sequence[Block]) -> bool:
    """Return True if all bounds hold and no product was out of range; it is waited for."""
    seen, count = fetch(*flags, *words) if flags else (), len(flags)
    return all(map(bool, seen[:count])) and all(map(is_within_range, seen[count:]))
