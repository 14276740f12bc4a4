"""Sorting by exact comparison, and searching in what is sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.axes import counted_axis, is_only_axis
from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._errors import shown
from mdqr._functions.manipulation.axes import along, flip, moveaxis, operand
from mdqr._functions.manipulation.selection import integers, take_along_axis
from mdqr._functions.ordering.order import order_of, sorting_places
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Places, PrecisionLike, Side


@with_precision
def argsort(
    a: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    precision: PrecisionLike | None = None,
) -> Places:
    """Return the places that sort an array; equal values keep their order.

    Parameters
    ----------
    a : MDArray or array_like
        The values; NaN is larger than all others, complex values are in lexicographic order.
    axis : int or None, optional
        The axis; None: of the flattened array.
    descending : bool, optional
        Whether the largest value comes first.

    Returns
    -------
    numpy.ndarray
        Integers of the shape of `a`; of CuPy on a GPU.

    Raises
    ------
    AxisError
        If the axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.argsort(mdqr.array(["0.3", "0.1", "0.2"], precision=mdqr.qd))
    array([1, 2, 0])
    """
    given, place = along(operand(a), axis)
    rows = moveaxis(given, place, -1)
    if not descending:
        places = sorting_places(rows._block, rows.is_complex)
    else:
        # From the back, so that equal values keep their order.
        last = rows.shape[-1] - 1
        places = last - sorting_places(flip(rows, -1)._block, rows.is_complex)[..., ::-1]
    return planes.namespace(rows._block).moveaxis(places, -1, place)


@with_precision
@documented(argsort)
def sort(
    a: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the values in order, by exact comparison.

    Returns
    -------
    MDArray
        A new array: the limbs of `a` in other places.

    >>> print(mdqr.sort(mdqr.array(["0.3", "0.1", "0.2"], precision=mdqr.qd)))
    [0.1 0.2 0.3]
    """
    given = operand(a)
    if axis is None:
        given, axis = given.ravel(), 0
    if is_only_axis(axis, given.ndim):
        return given.copy()
    return take_along_axis(given, argsort(given, axis, descending=descending), axis)


@with_precision
@documented(argsort)
def argpartition(
    a: Any, /, kth: Any, axis: int | None = -1, *, precision: PrecisionLike | None = None
) -> Places:
    """Return places with the `kth` value of each row in its place: all are sorted.

    Parameters
    ----------
    kth : int or sequence of int
        Places along the axis.

    Raises
    ------
    ValueError
        If `kth` is beyond the axis.

    >>> int(mdqr.argpartition(mdqr.array(["0.3", "0.1", "0.2"], precision=mdqr.qd), 0)[0])
    1
    """
    given = operand(a)
    check_places(kth, given, axis)
    return argsort(given, axis)


@with_precision
@documented(argpartition)
def partition(
    a: Any, /, kth: Any, axis: int | None = -1, *, precision: PrecisionLike | None = None
) -> MDArray:
    """Return values with the `kth` of each row in its place: all are sorted.

    Returns
    -------
    MDArray
        A new array.

    >>> print(mdqr.partition(mdqr.array(["0.3", "0.1", "0.2"], precision=mdqr.qd), 1)[1])
    0.2
    """
    given = operand(a)
    check_places(kth, given, axis)
    return sort(given, axis)


def sort_complex(a: Any, /) -> MDArray:
    """Return the values along the last axis in lexicographic order, as complex numbers.

    Parameters
    ----------
    a : MDArray
        The values.

    Returns
    -------
    MDArray
        A new complex array.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.sort_complex(mdqr.array([2, 1], precision=mdqr.qd)).to_numpy()
    array([1.+0.j, 2.+0.j])
    """
    return sort(operand(a)).astype(dtype=complex)


def check_places(kth: Any, given: MDArray, axis: int | None) -> None:
    """Raise ValueError unless places exist along an axis."""
    count = given.size if axis is None else given.shape[counted_axis(axis, given.ndim)]
    if any(not -count <= k < count for k in np.atleast_1d(kth).tolist()):
        raise ValueError(f"kth is a place among {count} values; got {shown(kth)}")


@with_precision
def searchsorted(
    a: Any,
    v: Any,
    /,
    side: Side = "left",
    sorter: Any = None,
    *,
    precision: PrecisionLike | None = None,
) -> Places:
    """Return the places where values belong in a sorted vector.

    Parameters
    ----------
    a : MDArray or array_like
        A vector in ascending order, NaN last.
    v : MDArray or array_like
        The values.
    side : {"left", "right"}, optional
        Before or behind equal values.
    sorter : array_like of int, optional
        The places that sort `a`, if it is not in order.

    Returns
    -------
    numpy.ndarray or numpy.int64
        Integers of the shape of `v`; of CuPy on a GPU.

    Raises
    ------
    ValueError
        If `a` is not a vector, or `side` is neither.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.searchsorted(mdqr.arange(5, precision=mdqr.qd), [1.0, 2.5])
    array([1, 3])
    """
    if side not in ("left", "right"):
        raise ValueError(f'side is "left" or "right"; got {shown(side)}')
    ops = promote(a, v)
    known, wanted = (ops.wrap(block) for block in ops.full_blocks())
    if known.ndim != 1:
        raise ValueError(f"searchsorted needs a vector; the shape is {known.shape}")
    if sorter is not None:
        known = known[integers(sorter, known._block)]
    xp = planes.namespace(known._block)
    sought = wanted.ravel()
    low = xp.zeros(sought.size, dtype=np.int64)
    high = xp.full(sought.size, known.size, dtype=np.int64)
    for _ in range(known.size.bit_length()):
        middle = (low + high) // 2
        probe = xp.minimum(middle, known.size - 1)
        order = order_of(known._block[..., probe], sought._block, ops.is_complex)
        behind = (order < 0) | ((order == 0) & (side == "right"))
        low = xp.where(behind & (low < high), middle + 1, low)
        high = xp.where(behind, high, xp.minimum(middle, high))
    return low.reshape(wanted.shape)[()]
