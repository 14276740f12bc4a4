"""Values by their places, and the places of values that are not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._convert.array_like import plain
from mdqr._core.axes import Axis, counted_axes, counted_axis, is_only_axis
from mdqr._core.base import ArrayBase
from mdqr._docstrings import REDUCTION, documented
from mdqr._errors import advised
from mdqr._functions.manipulation.axes import along, operand
from mdqr._limbs import planes
from mdqr._limbs.device import is_cuda_array, place_on_device_of

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Places


@advised
def take(a: Any, indices: Any, /, axis: int | None = None) -> MDArray:
    """Return the values at places along one axis.

    Parameters
    ----------
    a : MDArray
        The values.
    indices : int or array_like of int
        The places; negative ones count from the end.
    axis : int, optional
        The axis; by default indices refer to the flattened array.

    Returns
    -------
    MDArray
        A new array, in whose shape the shape of `indices` replaces the axis.

    Raises
    ------
    IndexError
        If a place is out of bounds, or no integer.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.take(mdqr.arange(5, precision=mdqr.qd), [3, -1]).to_numpy()
    array([3., 4.])
    """
    given, place = along(operand(a), axis)
    key = (slice(None),) * place
    return given[(*key, integers(indices, given._block), ...)].copy()


@advised
def take_along_axis(arr: Any, indices: Any, /, axis: int | None = -1) -> MDArray:
    """Return values at places that are given for every row along an axis.

    Parameters
    ----------
    arr : MDArray
        The values.
    indices : array_like of int
        The places, as `mdqr.argsort` returns them; the other axes broadcast.
    axis : int, optional
        The axis; None: the values are flattened, and the places are a vector.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    IndexError
        If a place is out of bounds, or no integer.
    ValueError
        If the numbers of axes differ, or `axis` is None and the indices are not a vector.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[3, 1], [2, 4]], precision=mdqr.qd)
    >>> mdqr.take_along_axis(a, mdqr.argsort(a), -1).to_numpy()
    array([[1., 3.],
           [2., 4.]])
    """
    given = operand(arr)
    index = integers(indices, given._block)
    if axis is None and index.ndim != 1:
        raise ValueError(f"places are a vector where axis is None; got shape {index.shape}")
    if axis is None:
        return take_along_axis(given.ravel(), index.reshape(-1), 0)
    return given[places_along(given, index, axis)]


def nonzero(a: Any, /) -> tuple[Places, ...]:
    """Return the places of the values that are not zero, an array for each axis.

    Parameters
    ----------
    a : MDArray
        The values, of at least one axis; NaN is not zero.

    Returns
    -------
    tuple of numpy.ndarray
        Of CuPy on a GPU.

    Raises
    ------
    ValueError
        If `a` is 0-d.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.nonzero(mdqr.array([0, 3, 0, 4], precision=mdqr.qd))
    (array([1, 3]),)
    """
    given = operand(a)
    if not given.ndim:
        raise ValueError("a 0-d array has no places; use mdqr.atleast_1d(a)")
    found: tuple[Any, ...] = planes.nonzero(given._block, given.is_complex).nonzero()
    return found


@documented(REDUCTION)
def count_nonzero(a: Any, /, axis: Axis = None, *, keepdims: bool = False) -> np.int64 | Places:
    """Return how many values are not zero.

    Parameters
    ----------
    a : MDArray
        The values; NaN is not zero.

    Returns
    -------
    numpy.int64 or numpy.ndarray
        The numbers; of CuPy on a GPU.

    Raises
    ------
    AxisError
        If the axis does not exist.

    >>> int(mdqr.count_nonzero(mdqr.array([0, 3, 0, 4], precision=mdqr.qd)))
    2
    """
    given = operand(a)
    counted = planes.nonzero(given._block, given.is_complex)
    places = () if is_only_axis(axis, given.ndim) else counted_axes(axis, given.ndim)
    return counted.sum(axis=places, keepdims=keepdims, dtype=np.int64)


def places_along(given: MDArray, indices: Any, axis: int) -> tuple[Any, ...]:
    """Return the index of the values at places that are given for every row along an axis.

    Raises
    ------
    ValueError
        If the numbers of axes differ.
    """
    index = integers(indices, given._block)
    if index.ndim != given.ndim:
        raise ValueError(
            f"as many axes of places as of values are wanted; got {index.ndim} and {given.ndim}"
        )
    place = counted_axis(axis, given.ndim)
    xp = planes.namespace(given._block)
    grid: list[Any] = []
    for i, length in enumerate(given.shape):
        ruler = xp.arange(length).reshape([length if i == j else 1 for j in range(given.ndim)])
        grid.append(index if i == place else ruler)
    return tuple(grid)


def integers(indices: Any, block: Any) -> Any:
    """Return places as an array of integers beside `block`.

    Raises
    ------
    IndexError
        If they are not integers.
    """
    if isinstance(indices, ArrayBase):
        raise IndexError("an MDArray holds no places; use integers, as of mdqr.argsort")
    index = indices if is_cuda_array(indices) else np.asarray(plain(indices))
    if index.dtype.kind not in "iu" and not (index.size == 0 and index.dtype.kind == "f"):
        raise IndexError(f"places are integers; got an array of dtype {index.dtype}")
    return place_on_device_of(index.astype(np.intp, copy=False), block)
