"""Singular values and vectors: two QR factorisations, and orthogonal vectors of the triangle."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import from_native, native_abs, one_by_one, to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_any, total
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor.lu import flat, permuted
from mdqr.linalg._factor.scaled import Scaled, pivoted_factors, scaled_factors
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import (
    Inputs,
    gather,
    matrix_shape,
    memory_guard,
)
from mdqr.linalg._spectral.onesided import starts
from mdqr.linalg._spectral.onesided.jacobi import (
    ROOM,
    Orthogonal,
    descending,
    orthogonalise,
    row_sums,
)

# Triangles are factored again at most so often, where rows far apart in length have larger cosines
# than that, or diagonals are a smaller part of rows: errors of low rank have no order of their own.
_MOST_AGAIN = 8
_LITTLE = 2.0**-8
# Columns need no R while singular values are no further apart, and there are no more rows than that
# many times the columns.
_NEAR = 2.0**30
_FEW_ROWS = 2
# Values within that of each other are as right by rows as by columns.
_EVEN = 16.0
# Logarithms of products of squared lengths that differ less decide nothing.
_ALIKE = 2.0


class Decomposed(NamedTuple):
    """Blocks ``(batch, m, k)``, ``(batch, k)`` and ``(batch, n, k)`` of ``a = U S V^H``."""

    left: Block | None
    values: Block
    right: Block | None


def decomposed(
    function: str,
    a: Any,
    precision: PrecisionLike | None,
    *,
    vectors: bool,
    report: Reporter | None = None,
) -> tuple[Inputs, Decomposed]:
    """Return the operand and its decomposition."""
    inputs, checks = gather(a, precision=precision), Checks()
    m, n = matrix_shape(function, "a", inputs.shape(0))
    checks.require_finite(function, "a", inputs.blocks[0], inputs.is_complex)
    checks.settle()
    with memory_guard(function, inputs, 6 * (m + n) * min(m, n), "take fewer rows or columns"):
        block = flat(inputs.blocks[0], inputs.is_complex)
        if m >= n:
            found = of_tall(inputs, block, vectors, report)
        else:
            block = planes.adjoint(block, inputs.is_complex)
            right, values, left = of_tall(inputs, block, vectors, report)
            found = Decomposed(left, values, right)
        shape = (inputs.work.limbs, *inputs.shape(0)[:-2], 1, min(m, n))
        checks.require_in_range(function, "S", found.values.reshape(shape), False)
        checks.settle()
    return inputs, found


def of_tall(inputs: Inputs, a: Block, vectors: bool, report: Reporter | None = None) -> Decomposed:
    """Decompose matrices ``(batch, m, n)``, m >= n."""
    backend, kind, field = inputs.backend, inputs.kind, inputs.is_complex
    xp, (m, n) = backend.xp, a.shape[-2:]
    if not a[0].size:
        batch = a.shape[-3]
        return Decomposed(
            kind.zeros(xp, (batch, m, n)),
            kind.real.zeros(xp, (batch, n)),
            kind.zeros(xp, (batch, n, n)),
        )
    top = scaling.top_exponents(a, field)
    start = None
    if m <= _FEW_ROWS * n:
        near = backend.ldexp(a, -top[:, None, None], is_complex=field)
        start = _of_lapack(inputs, near)
    if start is None:
        top = top - ROOM
        near = backend.ldexp(a, -top[:, None, None], is_complex=field)
    a = near
    turned = None
    if m == n and (start is None or start[2] > _EVEN):
        turned = _smaller_by_rows(inputs, a, start is not None)
    if turned is not None:
        a = xp.where(turned, planes.adjoint(a, kind.is_complex), a)
    if start is None:
        left, rows, right = _triangle(inputs, a, vectors, report)
        rows = planes.conjugate(rows) if field else rows
    else:
        left, right, rows = None, None, a.swapaxes(-1, -2)
        u, vh, _ = start
        v = vh.conj()
        start = from_native(
            xp, v if turned is None else xp.where(turned, u.swapaxes(-1, -2), v), field
        )
    turns = orthogonalise(backend, rows, kind, start, report=report)
    units, values, v = _sorted(inputs, turns, top)
    if not vectors:
        return Decomposed(None, values, None)
    u, v = units.swapaxes(-1, -2), v.swapaxes(-1, -2)
    if left is not None and right is not None:
        u, v = backend.matmul(left, u, kind=kind), backend.matmul(right, v, kind=kind)
    if turned is not None:
        u, v = xp.where(turned, v, u), xp.where(turned, u, v)
    return Decomposed(u, values, v)


@np.errstate(all="ignore")
def _of_lapack(inputs: Inputs, a: Block) -> tuple[Any, Any, float] | None:
    """Return float64 singular vectors U and V^H, and the largest ratio of values.

    None where values are too far apart for float64.
    """
    xp = inputs.backend.xp
    native, find = to_native(xp, a, inputs.is_complex), partial(xp.linalg.svd, full_matrices=False)
    u, sizes, vh = one_by_one(find, native)
    # LAPACK may return -0.
    ratios = sizes[..., 0] / abs(sizes[..., -1])
    ratio = float(fetch(scaling.largest(ratios, None, 1.0))[0])
    return (u, vh, ratio) if ratio < _NEAR else None


def _smaller_by_rows(inputs: Inputs, a: Block, near: bool) -> Block | None:
    """Return a mask ``(batch, 1, 1)`` of matrices better decomposed by rows; None if none is.

    Where columns of length 1 have the larger determinant, their condition is likely the smaller:
    where lengths have the smaller product.
    """
    xp, field, products = inputs.backend.xp, inputs.is_complex, []
    if near:
        native = native_abs(a, field)
        squares = native * native
        products = [total(xp.log2(total(squares, axis)), -1) for axis in (-1, -2)]
        turned = products[0] < products[1] - _ALIKE
    else:
        bits = scaling.magnitude_bits(a, field)
        for axis in (-1, -2):
            sizes = scaling.largest(bits, axis, 0)
            lengths = scaling.exponents_of(sizes)
            products.append(xp.where(sizes > 0, lengths, 0).sum(axis=-1))
        turned = products[0] < products[1]
    return turned[:, None, None] if fetch(is_any(turned))[0] else None


def _triangle(
    inputs: Inputs, a: Block, vectors: bool, report: Reporter | None
) -> tuple[Any, Block, Any]:
    """Return orthonormal U and V and triangular R as `_factored_twice`, R with rows of like size.

    Or rows far apart in size with small cosines, and diagonals that are no small part of rows.
    """
    backend, kind = inputs.backend, inputs.kind
    left, rows, right = _factored_twice(inputs, a, vectors, report)
    for _ in range(_MOST_AGAIN):
        if not _is_disordered(inputs, rows):
            break
        more = _factored_twice(inputs, planes.adjoint(rows, kind.is_complex), vectors, report)
        rows = more[1]
        if vectors:
            left, right = (
                backend.matmul(side, turn, kind=kind)
                for side, turn in ((left, more[0]), (right, more[2]))
            )
    return left, rows, right


def _factored_twice(
    inputs: Inputs, a: Block, vectors: bool, report: Reporter | None
) -> tuple[Any, Block, Any]:
    """Return orthonormal U and V and triangular R, ``a = U R^H V^H``; None for U and V if unwanted.

    Both times with column pivoting.
    """
    n, sides = int(a.shape[-1]), []
    for _ in range(2):
        factors, found = pivoted_factors(inputs._replace(blocks=[a]), keep_q=vectors, report=report)
        r = rounded(inputs, factors.signed_r(n))
        q = rounded(inputs, factors.signed_q(n)) if vectors else None
        sides.append((q, found.order))
        a = planes.adjoint(r, inputs.is_complex)
    (left, first), (right, second) = sides
    if left is None or right is None:
        return None, r, None
    left = permuted(left.swapaxes(-1, -2), second).swapaxes(-1, -2)
    return left, r, permuted(right, first.argsort(axis=-1))


def rounded(inputs: Inputs, block: Block) -> Block:
    """Return factors in the limbs of the work."""
    return planes.narrow(block, inputs.is_complex, inputs.work.limbs)


def _is_disordered(inputs: Inputs, rows: Block) -> bool:
    """True if rows of very different norms are not nearly orthogonal, or a diagonal is small."""
    xp, field = inputs.backend.xp, inputs.is_complex
    bits = scaling.magnitude_bits(rows, field)
    bits = scaling.largest(bits, -1, 0)
    exponents = scaling.exponents_of(bits)
    scaled = inputs.backend.ldexp(rows, -exponents[..., None], is_complex=field)
    scaled = to_native(xp, scaled, field)
    cosines = abs(scaled @ scaled.conj().swapaxes(-1, -2))
    far = abs(exponents[..., :, None] - exponents[..., None, :]) > starts.SPREAD
    short = (abs(planes.diagonal(scaled)) < _LITTLE) & (bits > 0)
    return bool(fetch((far & (cosines > _LITTLE)).any() | short.any())[0])


def _factored(inputs: Inputs, a: Block) -> Scaled:
    """Factor matrices that are finite."""
    return scaled_factors(inputs._replace(blocks=[a]), None, None, "svd")


def _sorted(inputs: Inputs, found: Orthogonal, top: Block) -> tuple[Block, Block, Block]:
    """Return unit vectors as rows, their lengths times ``2**top``, and the rotations.

    The longest come first.
    """
    backend, kind, field = inputs.backend, inputs.kind, inputs.is_complex
    xp, real = backend.xp, inputs.kind.real
    # The length of a complex vector is that of its parts.
    parts = xp.concatenate([found.x[0], found.x[1]], axis=-1) if field else found.x
    squares = row_sums(backend, backend.unary("square", parts, kind=real), real)
    lengths = backend.unary("sqrt", squares, kind=real)
    values = backend.ldexp(lengths, found.exponents + top[:, None])
    x, v, order = found.x, found.v, descending(xp, values)
    if order is not None:
        values, lengths = (permuted(y[..., None], order)[..., 0] for y in (values, lengths))
        x, v = permuted(x, order), permuted(v, order)
    lengths = lengths[..., None]
    # Values below the range count as zeros.
    zero = (scaling.magnitude_bits(values, False) == 0)[..., None]
    lengths[0] = xp.where(zero, 1.0, lengths[0])
    divisor = planes.complexify(lengths) if field else lengths
    units = backend.binary("divide", x, divisor, kind=kind)
    if fetch(is_any(zero))[0]:
        # What is orthogonal to the others takes the place of vectors of zeros.
        units = xp.where(zero, 0.0, units)
        q = _factored(inputs, units.swapaxes(-1, -2)).signed_q(int(units.shape[-2]))
        units = xp.where(zero, q.swapaxes(-1, -2), units)
    return units, values, v


def completed(inputs: Inputs, q: Block) -> Block:
    """Return square unitary matrices whose first columns are those of `q` ``(batch, m, k)``."""
    xp, (m, k) = inputs.backend.xp, q.shape[-2:]
    if m == k:
        return q
    if not k:
        return inputs.kind.identity(xp, (q.shape[-3], m, m))
    return xp.concatenate([q, _factored(inputs, q).signed_q(m)[..., k:]], axis=-1)


def folded(
    inputs: Inputs, x: Block, shape: tuple[int, ...], is_complex: bool | None = None
) -> MDArray:
    field = inputs.is_complex if is_complex is None else is_complex
    return inputs.wrap(x.reshape(Kind(inputs.work.limbs, field).planes(shape)), field)
