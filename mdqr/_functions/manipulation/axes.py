"""Other orders of axes and along them: views wherever NumPy gives views."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

from mdqr._core.axes import counted_axes, counted_axis, is_only_axis
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import promote
from mdqr._docstrings import NEW_ARRAY, VIEW, documented
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def operand(x: Any) -> MDArray:
    """Return one operand as an array: itself, or a nested sequence with arrays in it."""
    if isinstance(x, ArrayBase):
        return cast("MDArray", x)
    ops = promote(x)
    return ops.wrap(ops.full_blocks()[0])


def along(x: MDArray, axis: Any) -> tuple[MDArray, int]:
    """Return an array and the number of an axis; for None the values in one axis, and 0."""
    if axis is None or is_only_axis(axis, x.ndim):
        return x.ravel(), 0
    return x, counted_axis(axis, x.ndim)


def with_axes(name: str, x: Any, least: int) -> MDArray:
    """Return an operand of at least so many axes; else raise ValueError."""
    given = operand(x)
    if given.ndim < least:
        raise ValueError(f"{name} needs at least {least} axes; the shape is {given.shape}")
    return given


@documented(VIEW)
def permute_dims(a: Any, /, axes: Any = None) -> MDArray:
    """Return a view with permuted axes, all reversed by default.

    Parameters
    ----------
    axes : tuple of int, optional
        The axis of `a` that becomes axis 0, 1, ...

    Raises
    ------
    ValueError
        If `axes` is not a permutation of the axes.

    >>> mdqr.permute_dims(mdqr.zeros((2, 3, 4), precision=mdqr.qd), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return operand(a).transpose(*(() if axes is None else (tuple(axes),)))


@documented(VIEW)
def matrix_transpose(x: Any, /) -> MDArray:
    """Return a view with the last two axes swapped; `mdqr.linalg.matrix_transpose` rounds, too.

    Parameters
    ----------
    x : MDArray
        Matrices; leading axes are batches.

    Raises
    ------
    ValueError
        If the array has fewer than two axes.

    >>> mdqr.matrix_transpose(mdqr.zeros((2, 3, 4), precision=mdqr.qd)).shape
    (2, 4, 3)
    """
    return operand(x).mT


@documented(VIEW)
def moveaxis(a: Any, /, source: Any, destination: Any) -> MDArray:
    """Return a view with axes moved to other places, the others in their order.

    Parameters
    ----------
    source, destination : int or sequence of int
        Where axes are, and where they go.

    Raises
    ------
    ValueError
        If the axis does not exist, one is named twice, or the numbers of axes differ.

    >>> mdqr.moveaxis(mdqr.zeros((2, 3, 4), precision=mdqr.qd), 0, -1).shape
    (3, 4, 2)
    """
    given = operand(a)
    places = counted_axes(source, given.ndim), counted_axes(destination, given.ndim)
    if len(places[0]) != len(places[1]):
        raise ValueError(f"as many destinations as sources are wanted; got {source}, {destination}")
    order = [axis for axis in range(given.ndim) if axis not in places[0]]
    for to, axis in sorted(zip(places[1], places[0], strict=True)):
        order.insert(to, axis)
    return given.transpose(*order)


@documented(VIEW)
def swapaxes(a: Any, /, axis1: int, axis2: int) -> MDArray:
    """Return a view with two axes swapped.

    Parameters
    ----------
    axis1, axis2 : int
        The axes.

    Raises
    ------
    AxisError
        If the axis does not exist.

    >>> mdqr.swapaxes(mdqr.zeros((2, 3, 4), precision=mdqr.qd), 0, 2).shape
    (4, 3, 2)
    """
    given = operand(a)
    order = list(range(given.ndim))
    first, second = counted_axis(axis1, given.ndim), counted_axis(axis2, given.ndim)
    order[first], order[second] = second, first
    return given.transpose(*order)


@documented(VIEW)
def flip(m: Any, /, axis: Any = None) -> MDArray:
    """Return a view with the values in reversed order.

    Parameters
    ----------
    axis : int or tuple of int, optional
        The axes along which to reverse; all by default.

    Raises
    ------
    ValueError
        If the axis does not exist, or one is named twice.

    >>> mdqr.flip(mdqr.arange(3, precision=mdqr.qd)).to_numpy()
    array([2., 1., 0.])
    """
    given = operand(m)
    reversed_axes = counted_axes(axis, given.ndim)
    key = tuple(slice(None, None, -1 if i in reversed_axes else 1) for i in range(given.ndim))
    return given[(*key, ...)]


@documented(VIEW)
def flipud(m: Any, /) -> MDArray:
    """Return a view with the first axis reversed.

    Raises
    ------
    ValueError
        If `m` is 0-d.

    >>> mdqr.flipud(mdqr.qd([[1, 2], [3, 4]])).to_numpy()
    array([[3., 4.],
           [1., 2.]])
    """
    return flip(with_axes("flipud", m, 1), 0)


@documented(VIEW)
def fliplr(m: Any, /) -> MDArray:
    """Return a view with the second axis reversed.

    Raises
    ------
    ValueError
        If `m` has fewer than two axes.

    >>> mdqr.fliplr(mdqr.qd([[1, 2], [3, 4]])).to_numpy()
    array([[2., 1.],
           [4., 3.]])
    """
    return flip(with_axes("fliplr", m, 2), 1)


@documented(VIEW)
def rot90(m: Any, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> MDArray:
    """Return a view of matrices rotated by 90 degrees, from the first axis to the second.

    Parameters
    ----------
    k : int, optional
        The number of turns by a right angle.
    axes : pair of int, optional
        The axes of the plane.

    Raises
    ------
    ValueError
        If `axes` are not two different axes that exist.

    >>> mdqr.rot90(mdqr.qd([[1, 2], [3, 4]])).to_numpy()
    array([[2., 4.],
           [1., 3.]])
    """
    given = operand(m)
    first, second = counted_axes(tuple(axes), given.ndim)
    turns = operator.index(k) % 4
    reversed_axes = {0: (), 1: (second,), 2: (first, second), 3: (first,)}[turns]
    found = flip(given, reversed_axes)
    return swapaxes(found, first, second) if turns % 2 else found


@documented(NEW_ARRAY)
def roll(a: Any, /, shift: Any, axis: Any = None) -> MDArray:
    """Return the values shifted cyclically.

    Parameters
    ----------
    shift : int or tuple of int
        By how many places.
    axis : int or tuple of int, optional
        Along which axes, which may repeat; by default in the flattened array.

    Raises
    ------
    ValueError
        If the axis does not exist, or `shift` and `axis` do not broadcast.

    >>> mdqr.roll(mdqr.arange(4, precision=mdqr.qd), 1).to_numpy()
    array([3., 0., 1., 2.])
    """
    given = operand(a)
    if axis is None:
        return roll(given.ravel(), shift, 0).reshape(given.shape)
    front = planes.lead(given.is_complex)
    named = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = tuple(front + counted_axis(each, given.ndim) for each in named)
    steps = tuple(shift) if isinstance(shift, (tuple, list)) else operator.index(shift)
    if isinstance(steps, tuple) and len(steps) == 1:
        (steps,) = steps
    elif isinstance(steps, tuple) and len(places) == 1:
        places *= len(steps)
    return given._like(planes.namespace(given._block).roll(given._block, steps, places))


@documented(VIEW)
def diagonal(a: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MDArray:
    """Return a view of diagonals of the first two axes; `mdqr.linalg.diagonal`: of the last two.

    Parameters
    ----------
    a : MDArray
        At least two axes.
    offset : int, optional
        The diagonal: above the main one if positive.
    axis1, axis2 : int, optional
        The axes of the matrices, the first two by default, as in `numpy.diagonal`.

    Returns
    -------
    MDArray
        A view, read-only on a CPU, as NumPy's.

    Raises
    ------
    ValueError
        If the array has fewer than two axes, no such axis, or `axis1` is `axis2`.

    >>> mdqr.diagonal(mdqr.eye(3, precision=mdqr.qd)).to_numpy()
    array([1., 1., 1.])
    """
    given = operand(a)
    if given.ndim < 2:
        raise ValueError(f"diagonal needs at least two axes; the shape is {given.shape}")
    front = planes.lead(given.is_complex)
    first, second = (front + i for i in counted_axes((axis1, axis2), given.ndim))
    return given._like(given._block.diagonal(operator.index(offset), first, second))
