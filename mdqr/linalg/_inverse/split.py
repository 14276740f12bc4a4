"""Products whose terms cancel, by three products in float64.

``A = A1 + A2`` and ``X = X1 + X2``, where rows of A and columns of X are cut at so many bits below
their largest entries that ``A1 X1`` is exact in whatever order it is summed; only ``A1 X2 + A2 X``
is rounded (K. Ozaki and others 2012).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind

# The limbs of operands that are used, and those of products.
LIMBS = 2


class Halves(NamedTuple):
    """Leading bits of lines and the rest, in float64, and the largest moduli and sums of lines.

    Lines are rows of a left operand, columns of a right one. `bits` are those of the first half.
    """

    whole: Block
    first: Block
    second: Block
    largest: Block
    sums: Block
    bits: int

    @classmethod
    def of(cls, block: Block, is_complex: bool, axis: int) -> Halves:
        """Cut lines along an axis: the last of left operands, the one before of right operands."""
        xp = planes.namespace(block)
        whole = to_native(xp, block, is_complex)
        size = xp.abs(whole)
        largest = scaling.largest(size, axis, 0.0, keepdims=True)
        terms = block.shape[axis] * (2 if is_complex else 1)
        bits = (53 - (terms - 1).bit_length()) // 2
        # Adding so much rounds to multiples of its last place.
        high = xp.ldexp(xp.full(largest.shape, 1.5), xp.frexp(largest)[1] + (52 - bits))
        high = high * (1.0 + 1.0j) if is_complex else high
        first = (whole + high) - high
        second = whole - first
        if planes.limb_count(block, is_complex) > 1:
            lower = block[:, 1:2] if is_complex else block[1:2]
            second = second + to_native(xp, lower, is_complex)
        return cls(whole, first, second, largest, size.sum(axis=axis, keepdims=True), bits)


def multiplied(backend: Backend, x: Block, y: Block) -> Block:
    """Return the product of float64 or complex128 matrices, each sum in float64.

    A GPU's library may else put other arithmetic in its place.
    """
    if isinstance(x, np.ndarray):
        return x @ y
    xp, is_complex = backend.xp, x.dtype.kind == "c"
    if x.ndim == y.ndim == 2:
        out = xp.empty((x.shape[0], y.shape[1]), dtype=x.dtype)
        backend.multiply(x, y, out)
        return out
    x, y = from_native(xp, x, is_complex), from_native(xp, y, is_complex)
    return to_native(xp, backend.matmul(x, y, kind=Kind(1, is_complex)), is_complex)


def multiplier(backend: Backend) -> Callable[[Block, Block], Block]:
    """Return `multiplied` of a backend, for calls one after the other."""
    return operator.matmul if backend.xp is np else partial(multiplied, backend)


def product(backend: Backend, left: Halves, right: Halves) -> Block:
    """Return the product, as float64 or complex128."""
    return multiplied(backend, left.first, right.first) + _rest(backend, left, right)


def pair(backend: Backend, left: Halves, right: Halves) -> Block:
    """Return the product as a block of two limbs."""
    high, low = multiplied(backend, left.first, right.first), _rest(backend, left, right)
    total = high + low
    part = total - high
    error = (high - (total - part)) + (low - part)
    is_complex = total.dtype.kind == "c"
    limbs = [from_native(backend.xp, x, is_complex) for x in (total, error)]
    return backend.xp.concatenate(limbs, axis=int(is_complex))


def _rest(backend: Backend, left: Halves, right: Halves) -> Block:
    first = multiplied(backend, left.first, right.second)
    return first + multiplied(backend, left.second, right.whole)


def error_of_rows(left: Halves, right: Halves, unit: float) -> Block:
    """Bound the sums of the moduli of rows of errors, for errors of products of `unit`."""
    largest, sums = (x.sum(axis=-1, keepdims=True) for x in (right.largest, right.sums))
    return unit * 2.0 ** (1 - left.bits) * (left.sums * largest + left.largest * sums)


def error_norm(left: Halves, right: Halves, unit: float, size: Block | None = None) -> Block:
    """Bound the 2-norm ``(..., 1, 1)`` of the errors, or that of `size` times their moduli."""
    rows = [x if size is None else size @ x for x in (left.sums, left.largest)]
    pairs = zip(rows, (right.largest, right.sums), strict=True)
    norms = [(x**2).sum(axis=(-2, -1), keepdims=True) ** 0.5 for pair in pairs for x in pair]
    return unit * 2.0 ** (1 - left.bits) * (norms[0] * norms[1] + norms[2] * norms[3])
