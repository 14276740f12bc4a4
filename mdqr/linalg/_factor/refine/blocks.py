"""Cholesky factors by blocks of rows, each of which is found by exact products of those above it.

What is left of a block of rows, ``A_kj - sum C_ik^H C_ij``, is one product: entries are rounded
once. The block on the diagonal is factored by sweeps, and its inverse, of all bits, leads to the
rest of the rows. Together that is ``n^3 / 6`` products of numbers, where sweeps of the whole matrix
form as many each time.

Products have so many bits whatever the entries are: a column has the same limbs whichever others it
is put together with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from mdqr._backend.exact import ExactProducts
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.products import (
    Patterns,
    bits_of_entries,
    block_of,
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
# Bits of products with inverses beyond those that count, for entries that are larger than others.
_SPARE = 16


class Made(NamedTuple):
    """A block, and the words of the product that made it, or None."""

    block: Block
    words: Block | None


def rest_of(backend: Backend, a: Block, above: Block, columns: Block, kind: Kind, n: int) -> Made:
    """Return what rows above leave of a block of rows, ``a - above^H columns``.

    All products for a matrix of order `n` have as many bits.
    """
    if above.shape[-2] == 0:
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
    return backend.recorded(("inverse of a factor", kind), (c,), _Inverse(kind))[0]


class _Inverse(NamedTuple):
    """``X + (I - X C) X``, from float64 on, in as many bits as each step has."""

    kind: Kind

    def __call__(self, backend: Backend, c: Block) -> list[Block]:
        field, low = self.kind.is_complex, Kind(1, self.kind.is_complex)
        patterns = Patterns.of(backend, int(c.shape[-1]), field)
        x = block_of(backend.invert_triangle(held(backend, c, low)), low)
        most = bits_of_entries(self.kind)
        known = _FIRST
        while known < most:
            after = min(2 * known - _SHORT, most)
            high, half = (_kind_of(bits, self.kind) for bits in (after, after - known))
            left, right = (planes.first_limbs(y, field, high.limbs) for y in (x, c))
            more: dict[str, Any] = {"kind": high, "shape": "triangles", "c": patterns.one}
            g, _ = unseen(backend, left, right, bits=after + _SPARE, **more)
            g = patterns.upper(backend, g)
            parts = (held(backend, y, half) for y in (g, x))
            change = block_of(times(backend, *parts, kind=half, shape="triangles"), half)
            x = backend.binary("add", x, patterns.upper(backend, change), kind=high)
            known = after
        return [x]


def _kind_of(bits: int, most: Kind) -> Kind:
    """Return the kind of the fewest limbs for so many bits."""
    limbs = precision_for(limbs_for(2.0 ** min(bits, 1000))).limbs
    return most._replace(limbs=min(limbs, most.limbs))


# Factors a block on the diagonal, or returns None.
FindHead = Callable[[Backend, Block], Block | None]


def factor(
    backend: Backend, a: Block, kind: Kind, width: int, find_head: FindHead
) -> Block | None:
    """Return the upper triangular C of one matrix ``(n, n)``, nearly.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    a : Block
        The matrix, of which the upper triangle is read.
    kind : Kind
        The kind of C.
    width : int
        The rows of a block.
    find_head : callable
        Factors a block on the diagonal.

    Returns
    -------
    Block or None
        C, whose errors are not bounded; None where `find_head` returns that, or numbers are out of
        range.
    """
    n, field = int(a.shape[-1]), kind.is_complex
    a = planes.first_limbs(a, field, kind.limbs)
    c, words = kind.zeros(backend.xp, (n, n)), []
    for rows in slices(n, width):
        first, last = rows.start, rows.stop
        above, columns = c[..., :first, rows], c[..., :first, first:]
        rest, seen = rest_of(backend, a[..., rows, first:], above, columns, kind, n)
        own = find_head(backend, rest[..., : last - first].copy())
        if own is None:
            return None
        c[..., rows, rows] = own
        words.append(seen)
        if last < n:
            x = inverse(backend, own, kind)
            right, seen = rows_of(backend, x, rest[..., last - first :], kind, n)
            c[..., rows, last:] = right
            words.append(seen)
    seen_words = fetch(*(each for each in words if each is not None))
    return c if all(map(is_within_range, seen_words)) else None
