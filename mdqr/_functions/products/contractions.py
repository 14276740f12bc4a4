"""Products summed over chosen axes: each is one product of matrices in the backend."""

from __future__ import annotations

import operator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._backend import for_block
from mdqr._core.axes import counted_axes, counted_axis
from mdqr._core.promotion import Operands, common_shape, promote
from mdqr._core.with_precision import with_precision
from mdqr._functions import elementwise
from mdqr._functions.manipulation.axes import moveaxis
from mdqr._functions.sequences import stack
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
def tensordot(
    a: Any, b: Any, /, axes: Any = 2, *, precision: PrecisionLike | None = None
) -> MDArray:
    """Return products summed over pairs of axes; `mdqr.linalg.tensordot` also takes floats alone.

    Parameters
    ----------
    a, b : MDArray or array_like
        The operands.
    axes : int or pair of sequences of int, optional
        How many of the last axes of `a` meet the first ones of `b`, or which axes meet which.

    Returns
    -------
    MDArray
        The other axes of `a`, then the other axes of `b`. Of K products each:
        ``|error| <= (K + 8) * eps * sum(|a| |b|)``.

    Raises
    ------
    ValueError
        If axes that meet differ in length or number, or the axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.ones((2, 3, 4), precision=mdqr.qd)
    >>> mdqr.tensordot(a, a, axes=([1, 2], [1, 2])).to_numpy()
    array([[12., 12.],
           [12., 12.]])
    """
    ops = promote(a, b)
    left, right = (ops.wrap(block) for block in ops.blocks)
    if np.ndim(axes) or isinstance(axes, (tuple, list)):
        first, second = (
            counted_axes(_listed(n), x.ndim) for n, x in zip(axes, (left, right), strict=True)
        )
    else:
        count = operator.index(axes)
        if not 0 <= count <= min(left.ndim, right.ndim):
            raise ValueError(f"{count} axes cannot meet of shapes {left.shape} and {right.shape}")
        first, second = tuple(range(left.ndim - count, left.ndim)), tuple(range(count))
    met = [left.shape[i] for i in first], [right.shape[i] for i in second]
    if met[0] != met[1]:
        raise ValueError(f"the axes that meet must be equally long; got {met[0]} and {met[1]}")
    kept = [i for i in range(left.ndim) if i not in first]
    rest = [i for i in range(right.ndim) if i not in second]
    length = prod(met[0])
    shape = [left.shape[i] for i in kept] + [right.shape[i] for i in rest]
    rows = left.transpose(*kept, *first).reshape(prod(left.shape[i] for i in kept), length)
    columns = right.transpose(*second, *rest).reshape(length, prod(right.shape[i] for i in rest))
    return _matmul(ops, rows, columns)._reshaped(shape)


@with_precision
def inner(a: Any, b: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return products summed over the last axes of two arrays.

    Parameters
    ----------
    a, b : MDArray or array_like
        A 0-d array multiplies the other one.

    Returns
    -------
    MDArray
        As `mdqr.tensordot`.

    Raises
    ------
    ValueError
        If the last axes differ in length.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.inner(mdqr.array([1, 2], precision=mdqr.qd), [3, 4]))
    11.0
    """
    ops = promote(a, b)
    front = planes.lead(ops.is_complex)
    if min(block.ndim - front for block in ops.blocks) == 0:
        return elementwise.multiply(a, b)
    return tensordot(a, b, axes=(-1, -1))


@with_precision
def vecdot(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: PrecisionLike | None = None
) -> MDArray:
    """Return inner products, `x1` conjugated; `mdqr.linalg.vecdot` also takes floats alone.

    Parameters
    ----------
    x1, x2 : MDArray or array_like
        The other axes broadcast.
    axis : int, optional
        The axis of the vectors, counted from the end.

    Returns
    -------
    MDArray
        Of K products each: ``|error| <= (K + 8) * eps * sum(|x1| |x2|)``.

    Raises
    ------
    ValueError
        If the vectors differ in length, or an operand is 0-d.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.vecdot(mdqr.ones((2, 3), precision=mdqr.qd), [1, 2, 3]).to_numpy()
    array([6., 6.])
    """
    ops = promote(x1, x2)
    given = [ops.wrap(block) for block in ops.blocks]
    if not all(x.ndim for x in given):
        raise ValueError("vecdot needs at least one axis of both operands")
    left, right = (moveaxis(x, axis, -1) for x in given)
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(
            f"the vectors must be equally long; got {left.shape[-1]} and {right.shape[-1]} values"
        )
    rows, columns = left[..., None, :], right[..., :, None]
    found = _matmul(ops, rows, columns, conjugate=True)
    return found._like(found._block[..., 0, 0])


@with_precision
def kron(a: Any, b: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the Kronecker product: blocks of `b`, each multiplied by a value of `a`.

    Parameters
    ----------
    a, b : MDArray or array_like
        The one with fewer axes gets more in front.

    Returns
    -------
    MDArray
        Each axis as long as the product of both; errors as in a product.

    Raises
    ------
    TypeError
        If none is an `MDArray` and `precision` is missing.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.kron(mdqr.eye(2, precision=mdqr.qd), [[1, 2]]).to_numpy()
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    ops = promote(a, b)
    left, right = (ops.wrap(block) for block in ops.blocks)
    ndim = max(left.ndim, right.ndim)
    shapes = [(1,) * (ndim - x.ndim) + x.shape for x in (left, right)]
    spread = [[n for pair in zip(shapes[0], [1] * ndim, strict=True) for n in pair]]
    spread.append([n for pair in zip([1] * ndim, shapes[1], strict=True) for n in pair])
    products = elementwise.multiply(left.reshape(spread[0]), right.reshape(spread[1]))
    return products.reshape([m * n for m, n in zip(*shapes, strict=True)])


@with_precision
def cross(a: Any, b: Any, /, *, axis: int = -1, precision: PrecisionLike | None = None) -> MDArray:
    """Return cross products of vectors of three values; `mdqr.linalg.cross` also takes floats.

    Parameters
    ----------
    a, b : MDArray or array_like
        They broadcast.
    axis : int, optional
        The axis of the vectors.

    Returns
    -------
    MDArray
        Of the broadcast shape; each value within ``2 * eps`` of the sizes of its two products.

    Raises
    ------
    ValueError
        If the vectors do not have three values.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.cross(mdqr.array([1, 0, 0], precision=mdqr.qd), [0, 1, 0]).to_numpy()
    array([0., 0., 1.])
    """
    ops = promote(a, b)
    left, right = (moveaxis(ops.wrap(block), axis, -1) for block in ops.full_blocks())
    if left.shape[-1] != 3 or right.shape[-1] != 3:
        raise ValueError(f"cross needs vectors of 3 values; got {left.shape} and {right.shape}")
    x, y = ([part[..., i] for i in range(3)] for part in (left, right))
    turns = ((1, 2), (2, 0), (0, 1))
    return stack([x[i] * y[j] - x[j] * y[i] for i, j in turns], counted_from_end(axis, left, right))


def counted_from_end(axis: int, left: MDArray, right: MDArray) -> int:
    """Return the place of an axis in the broadcast result."""
    ndim = len(common_shape([left.shape, right.shape]))
    return counted_axis(axis, ndim)


def _matmul(ops: Operands, a: MDArray, b: MDArray, *, conjugate: bool = False) -> MDArray:
    block = for_block(a._block).matmul(
        a._block, b._block, kind=ops.kind, conj_a=conjugate and ops.is_complex
    )
    return ops.wrap(block)


def _listed(axes: Any) -> tuple[int, ...]:
    return tuple(axes) if np.ndim(axes) else (operator.index(axes),)
