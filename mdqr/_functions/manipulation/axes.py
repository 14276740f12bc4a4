"""Other shapes and other orders of axes: views wherever NumPy gives views."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from mdqr._core.axes import counted_axes, counted_axis, is_only_axis
from mdqr._core.promotion import common_shape, promote
from mdqr._functions import creation
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def operand(x: Any) -> MDArray:
    """Return one operand as an array: itself, or a nested sequence with arrays in it."""
    ops = promote(x)
    return ops.wrap(ops.full_blocks()[0])


def reshape(a: Any, shape: Any, *, copy: bool | None = None) -> MDArray:
    """Return the values in another shape, in C order.

    Parameters
    ----------
    a : MDArray
        The values.
    shape : int or tuple of int
        The shape; one entry may be -1.
    copy : bool, optional
        True: always a copy; False: never one. By default where the planes allow no view.

    Returns
    -------
    MDArray
        The array.

    Raises
    ------
    ValueError
        If the number of values differs, or a copy is needed and `copy` is False.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.reshape(mdqr.arange(6, precision=mdqr.qd), (2, -1)).shape
    (2, 3)
    """
    given = operand(a)
    result = given.reshape(shape)
    shared = planes.namespace(given._block).may_share_memory(result._block, given._block)
    if copy is False and given.size and not shared:
        raise ValueError(f"the shape {shape} needs a copy of an array of shape {given.shape}")
    return result.copy() if copy and shared else result


def permute_dims(a: Any, axes: Any = None) -> MDArray:
    """Return a view with permuted axes, all reversed by default.

    Parameters
    ----------
    a : MDArray
        The values.
    axes : tuple of int, optional
        The axis of `a` that becomes axis 0, 1, ...

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    ValueError
        If `axes` is not a permutation of the axes.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.permute_dims(mdqr.zeros((2, 3, 4), precision=mdqr.qd), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return operand(a).transpose(*(() if axes is None else (tuple(axes),)))


def matrix_transpose(x: Any) -> MDArray:
    """Return a view with the last two axes swapped.

    Parameters
    ----------
    x : MDArray
        Matrices; leading axes are batches.

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    ValueError
        If there are fewer than two axes.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.matrix_transpose(mdqr.zeros((2, 3, 4), precision=mdqr.qd)).shape
    (2, 4, 3)
    """
    return operand(x).mT


def moveaxis(a: Any, source: Any, destination: Any) -> MDArray:
    """Return a view with axes moved to other places, the others in their order.

    Parameters
    ----------
    a : MDArray
        The values.
    source, destination : int or sequence of int
        Where axes are, and where they shall be.

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    ValueError
        If there is no such axis, one is named twice, or the numbers of axes differ.

    Examples
    --------
    >>> import mdqr
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


def swapaxes(a: Any, axis1: int, axis2: int) -> MDArray:
    """Return a view with two axes swapped.

    Parameters
    ----------
    a : MDArray
        The values.
    axis1, axis2 : int
        The axes.

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    AxisError
        If there is no such axis.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.swapaxes(mdqr.zeros((2, 3, 4), precision=mdqr.qd), 0, 2).shape
    (4, 3, 2)
    """
    given = operand(a)
    order = list(range(given.ndim))
    first, second = counted_axis(axis1, given.ndim), counted_axis(axis2, given.ndim)
    order[first], order[second] = second, first
    return given.transpose(*order)


def expand_dims(a: Any, axis: Any) -> MDArray:
    """Return a view with new axes of length 1.

    Parameters
    ----------
    a : MDArray
        The values.
    axis : int or tuple of int
        The places of the new axes in the result.

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    ValueError
        If a place is none of the result, or named twice.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.expand_dims(mdqr.zeros((2, 3), precision=mdqr.qd), (0, -1)).shape
    (1, 2, 3, 1)
    """
    given = operand(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    places = counted_axes(axis, given.ndim + count)
    rest = iter(given.shape)
    return given.reshape([1 if i in places else next(rest) for i in range(given.ndim + count)])


def squeeze(a: Any, axis: Any = None) -> MDArray:
    """Return a view without axes of length 1.

    Parameters
    ----------
    a : MDArray
        The values.
    axis : int or tuple of int, optional
        The axes to leave out; all of length 1 by default.

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    ValueError
        If there is no such axis, or its length is not 1.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.squeeze(mdqr.zeros((1, 3, 1), precision=mdqr.qd)).shape
    (3,)
    """
    given = operand(a)
    if axis is None:
        dropped: tuple[int, ...] = tuple(i for i, n in enumerate(given.shape) if n == 1)
    else:
        single = axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis
        only = is_only_axis(single, given.ndim)
        dropped = () if only else counted_axes(axis, given.ndim)
    if any(given.shape[i] != 1 for i in dropped):
        raise ValueError(f"only axes of length 1 are left out; got {axis} of shape {given.shape}")
    kept = [i for i in range(given.ndim) if i not in dropped]
    # Not by a reshape, which copies where planes lie in another order.
    return given.transpose(*dropped, *kept)[(0,) * len(dropped) + (Ellipsis,)]


def flip(m: Any, axis: Any = None) -> MDArray:
    """Return a view with the values in reversed order.

    Parameters
    ----------
    m : MDArray
        The values.
    axis : int or tuple of int, optional
        The axes along which to reverse; all by default.

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    ValueError
        If there is no such axis, or one is named twice.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.flip(mdqr.arange(3, precision=mdqr.qd)).to_numpy()
    array([2., 1., 0.])
    """
    given = operand(m)
    reversed_axes = counted_axes(axis, given.ndim)
    key = tuple(slice(None, None, -1 if i in reversed_axes else 1) for i in range(given.ndim))
    return given[(*key, ...)]


def roll(a: Any, shift: Any, axis: Any = None) -> MDArray:
    """Return the values shifted cyclically.

    Parameters
    ----------
    a : MDArray
        The values.
    shift : int or tuple of int
        By how many places.
    axis : int or tuple of int, optional
        Along which axes, which may repeat; by default in the flattened array.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    ValueError
        If there is no such axis, or `shift` and `axis` do not broadcast.

    Examples
    --------
    >>> import mdqr
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


def broadcast_to(array: Any, shape: Any) -> MDArray:
    """Return a read-only view whose values have `shape`.

    Parameters
    ----------
    array : MDArray
        The values.
    shape : int or tuple of int
        The shape.

    Returns
    -------
    MDArray
        A view in which values repeat; on a GPU nothing keeps one from writing to it.

    Raises
    ------
    ValueError
        If the shape of `array` does not broadcast to `shape`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.broadcast_to(mdqr.arange(3, precision=mdqr.qd), (2, 3)).shape
    (2, 3)
    """
    given = operand(array)
    wanted = tuple(map(operator.index, shape)) if hasattr(shape, "__iter__") else (int(shape),)
    if common_shape([given.shape, wanted]) != wanted:
        raise ValueError(f"values of shape {given.shape} do not broadcast to {wanted}")
    planes.check_axes(len(wanted), given.is_complex)
    return given._like(_repeated(given, wanted))


def broadcast_arrays(*args: Any) -> tuple[MDArray, ...]:
    """Return read-only views of one shape; each keeps its precision.

    Parameters
    ----------
    *args : MDArray or array_like
        At least one an `MDArray`; what is none gets the highest precision.

    Returns
    -------
    tuple of MDArray
        The views.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import mdqr
    >>> x, y = mdqr.broadcast_arrays(mdqr.zeros((2, 1), precision=mdqr.qd), [1.0, 2.0, 3.0])
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """
    precision = promote(*args).precision
    given = [x if hasattr(x, "limbs") else creation.array(x, precision=precision) for x in args]
    shape = common_shape([x.shape for x in given])
    return tuple(x._like(_repeated(x, shape)) for x in given)


def atleast_1d(*arys: Any) -> Any:
    """Return views with at least one axis.

    Parameters
    ----------
    *arys : MDArray
        One array or several.

    Returns
    -------
    MDArray or tuple of MDArray
        One array for one.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.atleast_1d(mdqr.qd(1)).shape
    (1,)
    """
    return _each(arys, lambda shape: shape or (1,))


def atleast_2d(*arys: Any) -> Any:
    """Return views with at least two axes, new ones in front.

    Parameters
    ----------
    *arys : MDArray
        One array or several.

    Returns
    -------
    MDArray or tuple of MDArray
        One array for one.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.atleast_2d(mdqr.ones(3, precision=mdqr.qd)).shape
    (1, 3)
    """
    return _each(arys, lambda shape: (1,) * (2 - len(shape)) + shape)


def atleast_3d(*arys: Any) -> Any:
    """Return views with at least three axes: ``(1, n, 1)`` of vectors, ``(m, n, 1)`` of matrices.

    Parameters
    ----------
    *arys : MDArray
        One array or several.

    Returns
    -------
    MDArray or tuple of MDArray
        One array for one.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.atleast_3d(mdqr.ones(3, precision=mdqr.qd)).shape
    (1, 3, 1)
    """
    return _each(
        arys,
        lambda shape: {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape),
    )


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MDArray:
    """Return a view of diagonals, along a new last axis.

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
        If there are fewer than two axes, no such axis, or `axis1` is `axis2`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.diagonal(mdqr.eye(3, precision=mdqr.qd)).to_numpy()
    array([1., 1., 1.])
    """
    given = operand(a)
    if given.ndim < 2:
        raise ValueError(f"diagonal needs at least two axes; the shape is {given.shape}")
    front = planes.lead(given.is_complex)
    first, second = (front + i for i in counted_axes((axis1, axis2), given.ndim))
    return given._like(given._block.diagonal(operator.index(offset), first, second))


def _repeated(given: MDArray, shape: tuple[int, ...]) -> Any:
    # `planes.broadcast` copies complex planes at no distance and returns equal shapes as they are.
    block = planes.broadcast(given._block, given.is_complex, shape)
    if block is given._block and hasattr(block, "flags") and planes.is_writeable(block):
        return planes.namespace(block).broadcast_to(block, block.shape)
    return block


def _each(arys: tuple[Any, ...], wanted: Any) -> Any:
    results = tuple(x.reshape(wanted(x.shape)) for x in map(operand, arys))
    return results[0] if len(results) == 1 else results
