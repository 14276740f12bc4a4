"""Other shapes, with axes of length 1 that come and go: views wherever NumPy gives views."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from mdqr._core.axes import counted_axes, is_only_axis
from mdqr._core.promotion import common_shape, promote
from mdqr._docstrings import VIEW, documented
from mdqr._functions import creation
from mdqr._functions.manipulation.axes import operand
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Order


@documented(VIEW)
def reshape(a: Any, /, shape: Any, order: Order = "C", *, copy: bool | None = None) -> MDArray:
    """Return the values in another shape.

    Parameters
    ----------
    shape : int or tuple of int
        The shape; one entry may be -1.
    order : {"C", "F", "A"}, optional
        The last axis first, or the first ("F").
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

    >>> mdqr.reshape(mdqr.arange(6, precision=mdqr.qd), (2, -1)).shape
    (2, 3)
    """
    return operand(a).reshape(shape, order=order, copy=copy)


@documented(VIEW)
def expand_dims(a: Any, /, axis: Any) -> MDArray:
    """Return a view with new axes of length 1.

    Parameters
    ----------
    axis : int or tuple of int
        The places of the new axes in the result.

    Raises
    ------
    ValueError
        If a place is none of the result, or named twice.

    >>> mdqr.expand_dims(mdqr.zeros((2, 3), precision=mdqr.qd), (0, -1)).shape
    (1, 2, 3, 1)
    """
    given = operand(a)
    named = axis if isinstance(axis, (tuple, list)) else (operator.index(axis),)
    count = len(named)
    places = counted_axes(named, given.ndim + count)
    rest = iter(given.shape)
    return given.reshape([1 if i in places else next(rest) for i in range(given.ndim + count)])


@documented(VIEW)
def squeeze(a: Any, /, axis: Any = None) -> MDArray:
    """Return a view without axes of length 1.

    Parameters
    ----------
    axis : int or tuple of int, optional
        The axes to leave out; all of length 1 by default.

    Raises
    ------
    ValueError
        If the axis does not exist, or its length is not 1.

    >>> mdqr.squeeze(mdqr.zeros((1, 3, 1), precision=mdqr.qd)).shape
    (3,)
    """
    given = operand(a)
    if axis is None:
        dropped: tuple[int, ...] = tuple(i for i, n in enumerate(given.shape) if n == 1)
    else:
        only = is_only_axis(axis, given.ndim)
        dropped = () if only else counted_axes(axis, given.ndim)
    if any(given.shape[i] != 1 for i in dropped):
        raise ValueError(f"only axes of length 1 are left out; got {axis} of shape {given.shape}")
    kept = [i for i in range(given.ndim) if i not in dropped]
    # Not by a reshape, which copies where planes lie in another order.
    return given.transpose(*dropped, *kept)[(0,) * len(dropped) + (Ellipsis,)]


def broadcast_to(array: Any, /, shape: Any) -> MDArray:
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
        At least one an `MDArray`; others get the highest precision.

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


@documented(atleast_1d)
def atleast_2d(*arys: Any) -> Any:
    """Return views with at least two axes, new ones in front.

    >>> mdqr.atleast_2d(mdqr.ones(3, precision=mdqr.qd)).shape
    (1, 3)
    """
    return _each(arys, lambda shape: (1,) * (2 - len(shape)) + shape)


@documented(atleast_1d)
def atleast_3d(*arys: Any) -> Any:
    """Return views with at least three axes: ``(1, n, 1)`` of vectors, ``(m, n, 1)`` of matrices.

    >>> mdqr.atleast_3d(mdqr.ones(3, precision=mdqr.qd)).shape
    (1, 3, 1)
    """
    return _each(
        arys,
        lambda shape: {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape),
    )


def _repeated(given: MDArray, shape: tuple[int, ...]) -> Any:
    # `planes.broadcast` copies complex planes at no distance and returns equal shapes as they are.
    block = planes.broadcast(given._block, given.is_complex, shape)
    if block is given._block and hasattr(block, "flags") and planes.is_writeable(block):
        return planes.namespace(block).broadcast_to(block, block.shape)
    return block


def _each(arys: tuple[Any, ...], wanted: Any) -> Any:
    results = tuple(x.reshape(wanted(x.shape)) for x in map(operand, arys))
    return results[0] if len(results) == 1 else results
