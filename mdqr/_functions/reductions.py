"""Reductions over axes, and the products of vectors."""

from __future__ import annotations

import operator
from math import prod as product
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._backend import for_block
from mdqr._core.axes import Axis, counted_axes, is_only_axis
from mdqr._core.promotion import operands, promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REDUCTION, documented
from mdqr._errors import advised, warn_caller
from mdqr._functions import comparison, elementwise
from mdqr._limbs import planes
from mdqr._limbs.planes import Block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
@documented(REDUCTION)
def sum(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the sum of the values over all axes, one axis or several.

    Eight running sums and a fixed tree: the limbs do not depend on threads or the CPU.

    Parameters
    ----------
    initial : array_like, optional
        A value to begin with.
    where : array_like of bool, optional
        The values to take, all by default.

    Returns
    -------
    MDArray
        Of K values each: ``|error| <= (K + 8) * eps * sum(|a|)``. No values give 0.

    >>> float(mdqr.sum(mdqr.array([1, 2, 3], precision=mdqr.qd)))
    6.0
    """
    return reduced("sum", a, axis, keepdims, initial, where)


@with_precision
@documented(sum)
def prod(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the product of the values over all axes, one axis or several.

    Returns
    -------
    MDArray
        Of K values each: relative error at most ``2 * (K + 8) * eps``, complex twice that, to
        first order. No values give 1.

    >>> float(mdqr.prod(mdqr.array([2, 3, 4], precision=mdqr.qd)))
    24.0
    """
    return reduced("prod", a, axis, keepdims, initial, where)


def reduced(op: str, x: Any, axis: Axis, keepdims: bool, initial: Any, where: Any) -> MDArray:
    """Return `sum` or `prod` of values."""
    if where is not None:
        x = comparison.where(where, x, 0 if op == "sum" else 1)
    ops, rows, shape = _rows(x, axis, keepdims)
    values = for_block(rows).reduce(op, rows, kind=ops.kind)
    found = ops.wrap(values.reshape(_front(values, ops.is_complex) + shape))
    if initial is None:
        return found
    return (elementwise.add if op == "sum" else elementwise.multiply)(found, initial)


def mean(x: Any, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
    """Return the sum divided by the number of values; NaN and a RuntimeWarning for none."""
    total = sum(x, axis, keepdims=keepdims)
    count = product(x.shape[i] for i in counted_axes(axis, x.ndim))
    if not count:
        warn_caller(RuntimeWarning("mean of no values"))
    return total / count


@advised
def extreme(op: str, x: Any, axis: Axis = None, *, keepdims: bool = False) -> MDArray:
    """Return the values that are "max" or "min" over the axes.

    Raises
    ------
    ValueError
        If no values are given.
    """
    ops, rows, shape = _rows(x, axis, keepdims)
    if not rows.shape[-1]:
        raise ValueError(f"{op} of no values: axis {axis} of shape {ops.shape} is empty")
    if product(shape) == 0:
        return ops.wrap(planes.namespace(rows).zeros(_front(rows, ops.is_complex) + shape))
    positions = _positions(op, rows, ops.is_complex)
    chosen = _take(rows, positions)
    return ops.wrap(chosen.reshape(_front(rows, ops.is_complex) + shape))


@advised
def arg_extreme(op: str, x: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Return first positions by "argmax" or "argmin" along one axis, or in the flattened array.

    Raises
    ------
    ValueError
        If no values are given.
    """
    ops, rows, shape = _rows(x, None if axis is None else operator.index(axis), keepdims)
    if not rows.shape[-1]:
        raise ValueError(f"{op} of no values: axis {axis} of shape {ops.shape} is empty")
    if product(shape) == 0:
        return planes.namespace(rows).zeros(shape, dtype=np.int64)
    return _positions(op.removeprefix("arg"), rows, ops.is_complex).reshape(shape)[()]


@advised
def truth(op: str, x: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Return whether "any" or "all" values are not zero."""
    ops = operands(x)
    nonzero = planes.nonzero(ops.blocks[0], ops.is_complex)
    return getattr(nonzero, op)(axis=axis, keepdims=keepdims)


@advised
def cumsum(x: Any, axis: int | None = None) -> MDArray:
    """Return the running sums along one axis, of the flattened array by default."""
    ops = operands(x.ravel() if axis is None or is_only_axis(axis, x.ndim) else x)
    (index,) = counted_axes(-1 if axis is None else operator.index(axis), len(ops.shape))
    place = index + planes.lead(ops.is_complex)
    block = planes.namespace(ops.blocks[0]).moveaxis(ops.blocks[0], place, -1)
    sums = for_block(block).cumsum(block, kind=ops.kind)
    return ops.wrap(planes.namespace(sums).moveaxis(sums, -1, place))


@with_precision
def dot(a: Any, b: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the dot product as `numpy.dot` defines it.

    Parameters
    ----------
    a, b : MDArray or array_like
        Vectors give the inner product, matrices the matrix product;
        otherwise the last axis of `a` meets the last but one of `b`.

    Returns
    -------
    MDArray
        Of K products each: ``|error| <= (K + 8) * eps * sum(|a| |b|)``.

    Raises
    ------
    ValueError
        If the axes that meet differ in length.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.dot(mdqr.array([1, 2], precision=mdqr.qd), [3, 4]))
    11.0
    """
    return _dot(a, b, conjugate=False)


@with_precision
def vdot(a: Any, b: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the inner product of two flattened arrays, the first one conjugated.

    Parameters
    ----------
    a, b : MDArray or array_like
        As many values in each.

    Returns
    -------
    MDArray
        0-d. Of K products: ``|error| <= (K + 8) * eps * sum(|a| |b|)``.

    Raises
    ------
    ValueError
        If the numbers of values differ.

    Examples
    --------
    >>> import mdqr
    >>> complex(mdqr.vdot(mdqr.array([1j, 2], precision=mdqr.qd), [1j, 1]))
    (3+0j)
    """
    ops = promote(a, b)
    left, right = (ops.wrap(block).ravel() for block in ops.full_blocks())
    return _dot(left, right, conjugate=True)


@with_precision
def outer(a: Any, b: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return all products of values of two flattened arrays; `mdqr.linalg.outer`: of vectors.

    Parameters
    ----------
    a, b : MDArray or array_like
        Flattened.

    Returns
    -------
    MDArray
        Of shape ``(a.size, b.size)``; errors as in a product.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.outer(mdqr.array([1, 2], precision=mdqr.qd), [3, 4, 5]).shape
    (2, 3)
    """
    ops = promote(a, b)
    left, right = (ops.wrap(block).ravel() for block in ops.full_blocks())
    return left[:, None] * right


@with_precision
def trace(
    a: Any,
    /,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return sums along a diagonal of the first two axes; `mdqr.linalg.trace`: of the last two.

    Parameters
    ----------
    a : MDArray or array_like
        At least two axes.
    offset : int, optional
        The diagonal: above the main one if positive.
    axis1, axis2 : int, optional
        The axes of the matrices, the first two by default, as in `numpy.trace`.

    Returns
    -------
    MDArray
        The sums, over the other axes; errors as in `sum`.

    Raises
    ------
    ValueError
        If the array has fewer than two axes, or `axis1` is `axis2`.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.trace(mdqr.eye(3, precision=mdqr.qd)))
    3.0
    """
    ops = promote(a)
    ndim = len(ops.shape)
    if ndim < 2:
        raise ValueError(f"trace needs at least two axes; the shape is {ops.shape}")
    front = planes.lead(ops.is_complex)
    first, second = (index + front for index in counted_axes((axis1, axis2), ndim))
    return sum(ops.wrap(ops.blocks[0].diagonal(offset, first, second)), -1)


def _front(block: Block, is_complex: bool) -> tuple[int, ...]:
    return tuple(block.shape[: planes.lead(is_complex)])


def _rows(x: Any, axis: Axis, keepdims: bool) -> tuple[Any, Block, tuple[int, ...]]:
    """Return the operand, its block with the reduced axes merged into the last, and the shape.

    The shape is that of the reduced values, with axes of length 1 if `keepdims`.
    """
    ops = operands(x)
    block, shape = ops.blocks[0], ops.shape
    reduced = [] if is_only_axis(axis, len(shape)) else sorted(counted_axes(axis, len(shape)))
    kept = [i for i in range(len(shape)) if i not in reduced]
    front = planes.lead(ops.is_complex)
    rows = block.transpose(*range(front), *(front + i for i in kept + reduced)).reshape(
        _front(block, ops.is_complex)
        + tuple(shape[i] for i in kept)
        + (product(shape[i] for i in reduced),)
    )
    left = tuple(1 if i in reduced else n for i, n in enumerate(shape) if keepdims or i in kept)
    return ops, rows, left


def _take(rows: Block, positions: Block) -> Block:
    """Return the values at `positions` along the last axis."""
    front = rows.shape[: rows.ndim - positions.ndim - 1]
    # Without axes of one value: NumPy takes an index for each axis, and not for as many as it has.
    kept = tuple(n for n in positions.shape if n != 1)
    picked = planes.namespace(rows).take_along_axis(
        rows.reshape(front + kept + rows.shape[-1:]),
        positions.reshape((1,) * len(front) + kept + (1,)),
        -1,
    )
    return picked.reshape(front + positions.shape)


def _positions(which: str, rows: Block, is_complex: bool) -> Block:
    """Return the first position of the extreme along the last axis, which is not empty."""
    backend = for_block(rows)
    if not is_complex:
        return backend.argreduce(which, rows)
    xp = backend.xp
    real, imag = rows
    broken = xp.isnan(real[0]) | xp.isnan(imag[0])
    nan = xp.zeros_like(real)
    nan[0] = xp.nan
    real = xp.where(broken, nan, real)
    first = backend.argreduce(which, real)
    best = _take(real, first)
    ties = backend.compare(real, xp.broadcast_to(best[..., None], real.shape)) == 0
    worst = xp.zeros_like(imag)
    worst[0] = -xp.inf if which == "max" else xp.inf
    imag = xp.where(ties, imag, worst)
    second = _take(imag, backend.argreduce(which, imag))
    same = backend.compare(imag, xp.broadcast_to(second[..., None], imag.shape)) == 0
    return xp.where(xp.isnan(best[0]), first, xp.argmax(ties & same, axis=-1))


def _dot(a: Any, b: Any, *, conjugate: bool) -> MDArray:
    ops = promote(a, b)
    left, right = (ops.wrap(block) for block in ops.blocks)
    if not (left.ndim and right.ndim):
        return elementwise.multiply(a, b)
    contracted = -2 if right.ndim > 1 else -1
    if left.shape[-1] != right.shape[contracted]:
        raise ValueError(
            f"the axes that meet in a dot product must be equally long; got the shapes "
            f"{left.shape} and {right.shape}: {left.shape[-1]} against {right.shape[contracted]}"
        )
    length = left.shape[-1]
    rest = [i for i in range(right.ndim) if i != right.ndim + contracted]
    columns = right.transpose(right.ndim + contracted, *rest)
    product_block = for_block(left._block).matmul(
        left.reshape(product(left.shape[:-1]), length)._block,
        columns.reshape(length, product(columns.shape[1:]))._block,
        kind=ops.kind,
        conj_a=conjugate and ops.is_complex,
    )
    return ops.wrap(product_block)._reshaped(left.shape[:-1] + columns.shape[1:])
