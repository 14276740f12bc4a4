"""Exact products of just so many bits, and products of limbs and of float64 for corrections.

What corrects factors is a block; of one limb it is a float64 or complex128 array.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import ceil, log2
from typing import Any, NamedTuple, cast

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.exact import ExactProducts
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_all
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.parts import Shape, slices
from mdqr.linalg._products.exact.plan import MOST_TERMS
from mdqr.linalg._products.exact.product import is_within_range
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import precision_for

LIMB = 53  # bits
# By how many bits an entry of a product may be below the largest ones of its row and column.
ENTRIES = 24
# More of them in two limbs: a product near a float64 matrix ends close behind the second one, and
# kernels take exact sums, which take ten times as long, where it ends half a unit behind.
_BEHIND = 16
# The factor of norms near eps of hd, whose squares are below the range of doubles.
SCALE = 2.0**400
# The most that a norm loses of squares below that range.
LOST = 2.0**-500

# Panels of products with triangles, and their least columns, in float64 and beyond.
_PANELS, _COLUMNS = 4, (1024, 256)
# Shapes of products with zeros below the diagonal, but for what lies in a panel.
_UPPER = ("triangles", "cholesky", "upper")


class Patterns(NamedTuple):
    """The identity, a block of one limb, and where a square matrix is below its diagonal."""

    one: Block
    below: Block

    @classmethod
    def of(cls, backend: Backend, order: int, is_complex: bool) -> Patterns:
        xp = backend.xp
        one = Kind(1, is_complex).identity(xp, (order, order))
        return cls(one, xp.tri(order, k=-1, dtype=bool))

    def identity(self, kind: Kind) -> Block:
        """Return the identity as a first operand of differences, of floats the real one."""
        if kind.limbs > 1:
            return self.one
        return self.one[0, 0] if kind.is_complex else self.one[0]

    def upper(self, backend: Backend, x: Block) -> Block:
        """Return `x`, matrices that now have zeros below the diagonal."""
        backend.xp.copyto(x, 0.0, where=self.below)
        return x

    def half_upper(self, backend: Backend, x: Block, kind: Kind) -> Block:
        """Return `x`, Hermitian, that now is its upper part with half its diagonal, made real."""
        diagonal = planes.diagonal(self.upper(backend, x))
        diagonal *= 0.5
        if kind.is_complex and kind.limbs == 1:
            diagonal.imag = 0.0
        elif kind.is_complex:
            diagonal[1] = 0.0
        return x


def product(backend: Backend, x: Block, y: Block, *, kind: Kind, **options: Any) -> Block:
    """Return what `formed` does, or NaN."""
    found = formed(backend, x, y, kind=kind, **options)
    if found is None:
        found = kind.empty(backend.xp, (int(x.shape[-2]), int(y.shape[-1])))
        found[...] = np.nan
    return found


def formed(
    backend: Backend,
    x: Block,
    y: Block,
    *,
    kind: Kind,
    bits: int | None = None,
    conj_a: bool = False,
    c: Block | None = None,
    shape: Shape = "full",
    scaled: bool = False,
) -> Block | None:
    """Return ``x y``, or ``c - x y``, with x conjugated if so asked; None where it is beyond.

    With `scaled` columns of x and rows of y are balanced where they are graded. Shapes are those of
    `exact.multiply`; of "gram" what is below the diagonal means nothing, of "triangles" and
    "cholesky" it is zero, or means nothing near the diagonal.

    Entries have errors of ``1.5 * 2**-bits``, or 1.5 eps, times the largest ones of their row and
    column, balanced or not, each limb being rounded, and of two roundings.
    """
    terms = int(x.shape[-1])
    out = _new(backend, kind, (int(x.shape[-2]), int(y.shape[-1])), shape)
    bits = ceil(-log2(eps_of(kind))) if bits is None else bits
    runs = slices(terms, MOST_TERMS)
    if len(runs) > 1 and shape != "gram":
        shape = "full"
    # Each operand loses half of what is allowed, in each of its terms.
    options: dict[str, Any] = {"bits": bits + terms.bit_length() + 2 + kind.is_complex}
    options |= {"kind": kind, "conj_a": conj_a, "scaled": scaled}
    options |= {"subtract": c is not None, "shape": shape}
    for run in runs:
        if run.start > 0:
            c = out
        parts = x[..., run], y[..., run, :]
        if not exact.multiply(cast(ExactProducts, backend), *parts, c=c, out=out, **options):
            return None
    return out


def exact_product(
    backend: Backend,
    x: Block,
    y: Block,
    *,
    kind: Kind,
    conj_a: bool = False,
    c: Block | None = None,
    shape: Shape = "full",
) -> Block | None:
    """Return ``x y``, or ``c - x y`` with one rounding; None if limbs may not hold all of x y.

    At most `MOST_TERMS` terms are summed.
    """
    terms = int(x.shape[-1]) * (1 + kind.is_complex)
    out = _new(backend, kind, (int(x.shape[-2]), int(y.shape[-1])), shape)
    options: dict[str, Any] = {"kind": kind, "conj_a": conj_a, "shape": shape, "c": c, "out": out}
    options |= {"subtract": c is not None, "whole": True, "scaled": False}
    bits = exact_bits(terms, kind)
    return out if exact.multiply(cast(ExactProducts, backend), x, y, bits=bits, **options) else None


def exact_bits(terms: int, kind: Kind) -> int:
    """Return the bits of numbers of which limbs hold sums of so many products."""
    return (LIMB * kind.limbs - terms.bit_length()) // 2


def on_grid(backend: Backend, x: Block, bits: int, kind: Kind) -> Block:
    """Return entries of columns near 1 rounded to so many bits below the largest of their column.

    The result has the limbs of `x`.
    """
    xp = backend.xp
    top = scaling.column_exponents(x, kind.is_complex)[..., None, :]
    near = xp.ldexp(xp.rint(xp.ldexp(x, bits - top)), top - bits)
    return backend.unary("renormalize", near, kind=kind)


def unseen(
    backend: Backend,
    x: Block,
    y: Block,
    *,
    kind: Kind,
    bits: int | None = None,
    conj_a: bool = False,
    c: Block | None = None,
    shape: Shape = "full",
) -> tuple[Block, Block]:
    """Return the result of `formed` for finite matrices, without a wait.

    Returned are also the words that `is_within_range` reads. At most `MOST_TERMS` terms are summed.
    """
    out = _new(backend, kind, (int(x.shape[-2]), int(y.shape[-1])), shape)
    bits = ceil(-log2(eps_of(kind))) if bits is None else bits
    bits += int(x.shape[-1]).bit_length() + 2 + kind.is_complex
    options: dict[str, Any] = {"kind": kind, "conj_a": conj_a, "c": c, "out": out, "shape": shape}
    exact_backend = cast(ExactProducts, backend)
    return out, exact.multiply_unseen(exact_backend, x, y, bits=bits, **options)


def times(
    backend: Backend,
    x: Block,
    y: Block,
    *,
    kind: Kind,
    conj_a: bool = False,
    c: Block | None = None,
    shape: Shape = "full",
    scaled: bool = False,
) -> Block:
    """Return ``x y``, or ``c - x y``, as `product`, or of limbs or floats, where that is faster."""
    (m, k), n = map(int, x.shape[-2:]), int(y.shape[-1])
    if kind.limbs == 1:
        return _float_times(backend, x, y, conj_a, c, shape)
    if tuning.residues_are_faster(backend, m, k, n, kind=kind):
        options: dict[str, Any] = {"kind": kind, "conj_a": conj_a, "c": c}
        return product(backend, x, y, **options, shape=shape, scaled=scaled)
    out = _new(backend, kind, (m, n), shape)
    for rows, terms, panel in _panels(m, k, n, shape, _COLUMNS[1]):
        part = (..., rows, panel)
        options = {"conj_a": conj_a, "c": None if c is None else c[part]}
        options |= {"subtract": c is not None, "out": out[part]}
        backend.matmul(x[..., rows, terms], y[..., terms, panel], kind=kind, **options)
    return out


def _float_times(
    backend: Backend, x: Block, y: Block, conj_a: bool, c: Block | None, shape: Shape
) -> Block:
    """Return ``x y``, or ``c - x y``, of float64 or complex128 arrays."""
    xp, (m, k), n = backend.xp, x.shape, y.shape[-1]
    if c is None:
        out = (xp.zeros if shape in _UPPER else xp.empty)((m, n), y.dtype)
    else:
        out = xp.array(c, y.dtype, order="C")
    for rows, terms, panel in _panels(m, k, n, shape, _COLUMNS[0]):
        left, right, part = x[rows, terms], y[terms, panel], out[rows, panel]
        backend.multiply(left, right, part, conj_a=conj_a, subtract=c is not None)
    return out


def _panels(
    m: int, k: int, n: int, shape: Shape, least: int
) -> Iterator[tuple[slice, slice, slice]]:
    """Yield the rows and the terms that panels of columns of a product take, and the columns."""
    for panel in slices(n, n if shape == "full" else max(least, -(-n // _PANELS))):
        first, last = panel.start, panel.stop
        if shape in ("full", "gram", "triangular"):
            rows = slice(last if shape == "gram" else m)
            yield rows, slice(last if shape == "triangular" else k), panel
            continue
        # Rows of upper triangles have no terms before their own, those of lower ones none behind.
        if first:
            yield slice(first), slice(last if shape == "triangles" else first), panel
        rows = slice(first, m if shape == "factors" else last)
        yield rows, slice(first if shape == "triangles" else 0, last), panel


def _new(backend: Backend, kind: Kind, size: tuple[int, int], shape: Shape) -> Block:
    """Return a block for a product, with zeros where that may leave them out."""
    return (kind.zeros if shape in _UPPER else kind.empty)(backend.xp, size)


def held(backend: Backend, x: Block, kind: Kind) -> Block:
    """Return the first limbs of a block as products take them, without a copy if possible."""
    if kind.limbs == 1:
        return to_native(backend.xp, x, kind.is_complex)
    return planes.first_limbs(x, kind.is_complex, kind.limbs)


def block_of(x: Block, kind: Kind) -> Block:
    """Return the block of what `held` returned, a view."""
    if kind.limbs > 1:
        return x
    if not kind.is_complex:
        return x[None]
    return x.view(np.float64).reshape(*x.shape, 2).transpose(2, 0, 1)[:, None]


def with_adjoint(backend: Backend, x: Block, kind: Kind) -> Block:
    """Return ``x + x^H``."""
    transposed = x.swapaxes(-1, -2)
    if kind.limbs == 1:
        return x + transposed.conj()
    if not kind.is_complex:
        return backend.binary("add", x, transposed, kind=kind)
    out = kind.empty(backend.xp, x.shape[2:])
    for part, op in enumerate(("add", "subtract")):
        backend.binary(op, x[part], transposed[part], kind=kind.real, out=out[part])
    return out


def minus(backend: Backend, x: Block, y: Block, kind: Kind) -> Block:
    return x - y if kind.limbs == 1 else backend.binary("subtract", x, y, kind=kind)


class Difference(NamedTuple):
    """Leading limbs of ``a - x y``, as `unseen` returns it, and of x and y, in float64; its words.

    Of y alone where x is its adjoint.
    """

    e: Block
    factors: tuple[Block, ...]
    words: Block


def is_within(
    backend: Backend, rest: Difference, bound: float, *, kind: Kind, bits: int, shape: Shape
) -> bool:
    """Return True if ``abs(a - x y)`` is at most `bound` times ``abs(x) abs(y)`` in every entry.

    Of a difference in so many bits: the shape is "factors", or "cholesky" where x is the adjoint of
    y, and then the upper triangle counts.
    """
    good = within(backend, rest, bound, kind=kind, bits=bits, shape=shape)
    is_good, words = fetch(good, rest.words)
    return bool(is_good) and is_within_range(words)


def within(
    backend: Backend, rest: Difference, bound: float, *, kind: Kind, bits: int, shape: Shape
) -> Block:
    """Return `is_within`, a 0-d bool, unless numbers are out of range."""
    unit = (4.0 * 2.0**-bits) * (1 + (rest.e.dtype.kind == "c"))
    key = "errors of entries", shape, bound, unit, kind
    work = partial(_within, bound=bound - 8.0 * eps_of(kind), unit=unit, shape=shape)
    (good,) = backend.recorded(key, (rest.e, *rest.factors), work)
    return good


def _within(
    backend: Backend, e: Block, *factors: Block, bound: float, unit: float, shape: Shape
) -> list[Block]:
    """Return `within`, for an error of `unit` times the largest ones."""
    xp = backend.xp
    error, size, *others = map(abs, (e, *factors))
    other = others[0] if others else size
    if shape == "cholesky":
        error, size = xp.triu(error), size.T
    sums = times(backend, size, other, kind=Kind(1, False), shape=shape)
    # A sum without terms is exact.
    lost = unit * size.max(axis=1, keepdims=True) * other.max(axis=0, keepdims=True)
    allowed = (bound * (1.0 - 2.0**-20)) * sums
    return [is_all(xp.where(sums > 0.0, error + lost <= allowed, error == 0.0))]


def limbs_for(ratio: float) -> int:
    """Return the limbs that hold a whole and what is so many times smaller."""
    return max(1, ceil(min(PRECISIONS[-1].limbs, log2(ratio) / LIMB)))


def cut(x: Block, is_complex: bool, limbs: int) -> Block:
    """Return `x` with the limbs of a precision, of which only the first ones are not zero."""
    most = precision_for(limbs).limbs
    kept = planes.first_limbs(x, is_complex, most)
    if limbs < most:
        (kept[:, limbs:] if is_complex else kept[limbs:])[...] = 0.0
    return kept


def square_of_norm(backend: Backend, x: Block, kind: Kind, out: Block, scale: float = 1.0) -> None:
    """Write the square of the Frobenius norm of the leading limbs, times `scale`, to `out`, 0-d."""
    if kind.limbs > 1:
        x = x[:, 0] if kind.is_complex else x[0]
    # Complex numbers are pairs of floats along an axis without gaps.
    if x.dtype.kind == "c" and x.strides[-1] != x.itemsize:
        x = x.swapaxes(-1, -2)
    floats = x.view(np.float64)
    backend.xp.square(floats if scale == 1.0 else scale * floats).sum(out=out)


def bits_of_entries(kind: Kind) -> int:
    """Return the bits of differences that show errors relative to entries, a million times less."""
    return ceil(-log2(eps_of(kind))) + ENTRIES + (_BEHIND if kind.limbs == 2 else 0)


def eps_of(kind: Kind) -> float:
    return precision_for(kind.limbs).eps
