"""Evenly spaced values, and joining arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._backend.blocks import broadcast_shapes
from mdqr._convert.arrays import scalar_to_fraction
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import highest_precision, promote
from mdqr._docstrings import documented
from mdqr._errors import advised, shown
from mdqr._functions import creation, filled
from mdqr._limbs import planes
from mdqr._precision import Precision
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    *,
    precision: PrecisionLike | None = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return evenly spaced values from `start` to `stop`.

    Parameters
    ----------
    start, stop : array_like
        The ends, as in `mdqr.array`; arrays give one sequence for each pair, along a new first
        axis.
    num : int, optional
        Number of values.
    endpoint : bool, optional
        Whether `stop` is the last value.
    precision : Precision or str, optional
        The precision; required unless `start` or `stop` is an `MDArray`.
    dtype, device : optional
        As in `mdqr.array`.

    Returns
    -------
    MDArray
        Of shape ``(num, *shape)``. The ends are exact; ``|error| <= 8 * eps * max(|start|,
        |stop|)`` between them, complex ``16 * eps``.

    Raises
    ------
    TypeError
        If the precision is missing.
    ValueError
        If `num` is negative.
    MemoryError
        If memory for the limbs cannot be allocated.

    Notes
    -----
    Value i of n intervals is ``((n - i) * start + i * stop) / n``.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linspace(0, 1, 5, precision=mdqr.qd).to_numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    target = precision_of("linspace", precision, start, stop, dtype=dtype)
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"linspace needs a number of values that is not negative; got {count}")
    first, last = (
        creation.array(end, precision=target, dtype=dtype, device=device) for end in (start, stop)
    )
    ops = promote(first, last)
    shape = broadcast_shapes(first.shape, last.shape)
    intervals = count - 1 if endpoint else count
    if intervals < 1:
        first = ops.wrap(ops.blocks[0])
        return filled.full((count, *shape), first)
    with filled.memory_guard((count, *shape), target, first.is_complex, first.device):
        xp = planes.namespace(first._block)
        steps = xp.arange(count, dtype=np.float64).reshape(-1, *(1,) * len(shape))
        values: MDArray = (first * (intervals - steps) + last * steps) / intervals
    values[0] = first
    if endpoint:
        values[-1] = last
    return values


@documented(filled.zeros)
def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    *,
    precision: PrecisionLike | None = None,
    device: str | None = None,
) -> MDArray:
    """Return ``start, start + step, ...`` up to, but without, `stop`.

    Parameters
    ----------
    start, stop, step : real number
        As in `mdqr.array`, so that ``"0.1"`` is a tenth; with one number it is the stop, from 0.
    precision : Precision or str, optional
        The precision; required unless a number is an `MDArray`.

    Returns
    -------
    MDArray
        ``ceil((stop - start) / step)`` values, counted exactly from the numbers as they are given,
        before any rounding (constants of mpmath and irrational SymPy numbers: after it). Value i
        has ``|error| <= 4 * eps * (|start| + i * |step|)``; integers are exact.

    Raises
    ------
    TypeError
        If the precision is missing or a number is complex.
    ValueError
        If `step` is rounded to zero, or a number is not a finite scalar.

    >>> mdqr.arange(0, 1, "0.2", precision=mdqr.qd).to_strings(2).tolist()
    ['0.0', '0.20', '0.40', '0.60', '0.80']
    """
    if stop is None:
        start, stop = 0, start
    target = precision_of("arange", precision, start, stop, step)
    given = (start, stop, step)
    numbers = [creation.array(x, precision=target, dtype=float, device=device) for x in given]
    first, last, stride = map(_fraction, given, numbers)
    if not stride:
        raise ValueError(f"arange needs a step that is not zero; got {shown(step)}")
    count = max(0, math.ceil((last - first) / stride))
    place = numbers[2].device
    with filled.memory_guard((count,), target, False, place):
        # all memory of the result before any is written to
        values = filled.zeros(count, precision=target, device=place)
        values += numbers[2] * planes.namespace(values._block).arange(count, dtype=np.float64)
        values += numbers[0]
    return values


@advised
def concatenate(arrays: Sequence[Any], /, axis: int | None = 0) -> MDArray:
    """Join arrays along an axis that they have.

    Parameters
    ----------
    arrays : sequence of array_like
        At least one an `MDArray`; the highest precision wins.
    axis : int or None, optional
        The axis; None joins the flattened arrays.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    TypeError
        If none is an `MDArray`.
    ValueError
        If the shapes differ in another axis.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.ones(2, precision=mdqr.qd)
    >>> mdqr.concatenate([a, [3.0]]).to_numpy()
    array([1., 1., 3.])
    """
    blocks, ops = _full_blocks("concatenate", arrays, axis)
    if axis is None:
        blocks = [ops.wrap(block).ravel()._block for block in blocks]
    front = planes.lead(ops.is_complex)
    shapes = [block.shape[front:] for block in blocks]
    if len(set(map(len, shapes))) > 1:
        raise ValueError(
            "concatenate needs arrays with as many axes each; got the shapes "
            f"{', '.join(map(str, shapes))}"
        )
    place = _place(axis or 0, len(shapes[0]))
    if len({(*shape[:place], None, *shape[place + 1 :]) for shape in shapes}) > 1:
        raise ValueError(
            f"concatenate needs arrays that differ in axis {place} only; got the shapes "
            f"{', '.join(map(str, shapes))}"
        )
    return ops.wrap(planes.namespace(blocks[0]).concatenate(blocks, axis=place + front))


@advised
@documented(concatenate)
def stack(arrays: Sequence[Any], /, axis: int = 0) -> MDArray:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    axis : int, optional
        The place of the new axis in the result.

    Raises
    ------
    ValueError
        If the shapes differ.

    >>> a = mdqr.ones(2, precision=mdqr.qd)
    >>> mdqr.stack([a, a, a]).shape
    (3, 2)
    """
    blocks, ops = _full_blocks("stack", arrays, axis)
    front = planes.lead(ops.is_complex)
    shapes = sorted({block.shape[front:] for block in blocks})
    if len(shapes) > 1:
        raise ValueError(f"stack needs arrays of one shape; got {shapes}")
    planes.check_axes(len(shapes[0]) + 1, ops.is_complex)
    place = _place(axis, len(shapes[0]) + 1)
    return ops.wrap(planes.namespace(blocks[0]).stack(blocks, axis=place + front))


def precision_of(
    function: str, precision: PrecisionLike | None, *values: Any, dtype: Any = None
) -> Precision:
    """Return the precision asked for, or the highest of the arrays."""
    precision = creation.with_precision(precision, dtype)
    if precision is None and any(isinstance(value, ArrayBase) for value in values):
        return highest_precision(values)
    return filled.required(precision, function, dtype)


def _fraction(x: Any, rounded: MDArray) -> Fraction:
    """Return the exact value of a number; what is rounded to zero is zero."""
    if rounded.ndim or not np.isfinite(rounded._block[0]):
        raise ValueError(f"arange needs finite scalars; got {rounded}")
    while isinstance(x, np.ndarray):
        x = x[()]
    is_array = isinstance(x, ArrayBase)
    value = None if is_array or not rounded else scalar_to_fraction(x)
    if value is not None:
        return value
    exact: Fraction = (x if is_array else rounded).to_fractions().item()
    return exact


def _full_blocks(function: str, arrays: Sequence[Any], axis: Any) -> tuple[list[Any], Any]:
    """Return the blocks to join, all of one precision and field.

    Raises
    ------
    TypeError
        If the second array stands where the axis belongs.
    """
    if isinstance(axis, (ArrayBase, np.ndarray, list, tuple)):
        raise TypeError(f"{function} needs the arrays in one list, as in mdqr.{function}([a, b])")
    if isinstance(arrays, ArrayBase):
        arrays = list(arrays)
    if not len(arrays):
        raise ValueError("there is nothing to join; at least one array is needed")
    ops = promote(*arrays)
    return ops.full_blocks(), ops


def _place(axis: int, ndim: int) -> int:
    """Return `axis` counted from 0 in a result of `ndim` axes."""
    if not ndim:
        raise ValueError("0-d arrays have no axis to join along; use mdqr.stack")
    if not -ndim <= operator.index(axis) < ndim:
        raise np.exceptions.AxisError(operator.index(axis), ndim)
    return operator.index(axis) % ndim
