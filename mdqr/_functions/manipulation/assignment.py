"""Functions that write into an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._core.promotion import promote
from mdqr._docstrings import documented
from mdqr._functions.manipulation.parts import on_host
from mdqr._functions.manipulation.selection import places_along

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_TARGET = """
Parameters
----------
a : MDArray
    The array, changed in place.
arr : MDArray
    The array, changed in place.

Returns
-------
None
    The array is changed.

Raises
------
TypeError
    If it is not an `MDArray`, or real and the values are complex.
"""


@documented(_TARGET)
def put(a: MDArray, ind: Any, v: Any, /) -> None:
    """Write values to places of the flattened array, repeated if they are fewer.

    Parameters
    ----------
    ind : array_like of int
        The places.
    v : MDArray or array_like
        The values.

    Raises
    ------
    IndexError
        If a place does not exist.

    >>> a = mdqr.zeros(3, precision=mdqr.qd)
    >>> mdqr.put(a, [0, 2], "0.5")
    >>> a.to_numpy()
    array([0.5, 0. , 0.5])
    """
    _target("put", a).flat[ind] = v


@documented(_TARGET)
def put_along_axis(arr: MDArray, indices: Any, values: Any, /, axis: int | None) -> None:
    """Write values to the places that `mdqr.take_along_axis` reads.

    Parameters
    ----------
    indices : array_like of int
        The places along the axis; the other axes broadcast.
    values : MDArray or array_like
        The values, which broadcast to the shape of the places.
    axis : int or None
        The axis; None: of the flattened array.

    Raises
    ------
    IndexError
        If a place does not exist.
    ValueError
        If the numbers of axes differ.

    >>> a = mdqr.array([[3, 1], [2, 4]], precision=mdqr.qd)
    >>> mdqr.put_along_axis(a, mdqr.argmax(a, 1, keepdims=True), 0, axis=1)
    >>> a.to_numpy()
    array([[0., 1.],
           [2., 0.]])
    """
    given = _target("put_along_axis", arr)
    if axis is None:
        given.flat[indices] = values
    else:
        given[places_along(given, indices, axis)] = values


@documented(_TARGET)
def putmask(a: MDArray, mask: Any, values: Any, /) -> None:
    """Write the values of the same places where a mask is true, repeated if they are fewer.

    Parameters
    ----------
    mask : array_like of bool
        Of the shape of `a`.
    values : MDArray or array_like
        The values.

    Raises
    ------
    ValueError
        If the mask has another size, or `values` is empty.

    >>> a = mdqr.arange(4, precision=mdqr.qd)
    >>> mdqr.putmask(a, a > 1, [7.0, 8.0])
    >>> a.to_numpy()
    array([0., 1., 7., 8.])
    """
    _put("putmask", a, mask, values, lambda chosen: chosen)


@documented(_TARGET)
def place(arr: MDArray, mask: Any, vals: Any, /) -> None:
    """Write values in turn where a mask is true, repeated if they are fewer.

    Parameters
    ----------
    mask : array_like of bool
        Of the shape of `arr`.
    vals : MDArray or array_like
        The values.

    Raises
    ------
    ValueError
        If the mask has another size, or `vals` is empty.

    >>> a = mdqr.arange(4, precision=mdqr.qd)
    >>> mdqr.place(a, a > 1, [7.0, 8.0])
    >>> a.to_numpy()
    array([0., 1., 7., 8.])
    """
    _put("place", arr, mask, vals, lambda chosen: np.arange(chosen.size))


@documented(_TARGET)
def fill_diagonal(a: MDArray, val: Any, /, wrap: bool = False) -> None:
    """Write values to the main diagonal.

    Parameters
    ----------
    a : MDArray
        A matrix, or more axes of one length; changed in place.
    val : MDArray or array_like
        One value, or values for the diagonal, repeated if they are fewer.
    wrap : bool, optional
        True to begin the diagonal of a tall matrix again below, with a row between.

    Raises
    ------
    ValueError
        If `a` has fewer than two axes, or more than two of different lengths.

    >>> a = mdqr.zeros((2, 2), precision=mdqr.qd)
    >>> mdqr.fill_diagonal(a, [1, 2])
    >>> a.to_numpy()
    array([[1., 0.],
           [0., 2.]])
    """
    given = _target("fill_diagonal", a)
    shape = given.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ValueError(f"fill_diagonal needs a matrix or axes of one length; got shape {shape}")
    step = 1 + int(np.cumprod(shape[:0:-1]).sum())
    given.flat[: None if wrap or len(shape) > 2 else shape[1] ** 2 : step] = val


def _put(name: str, a: Any, mask: Any, values: Any, turn: Any) -> None:
    """Write values to the places of a mask; `turn` returns the number of the value of each."""
    given = _target(name, a)
    chosen = np.asarray(on_host(mask), dtype=bool).reshape(-1)
    if chosen.size != given.size:
        raise ValueError(f"{name} needs a mask for {given.size} values; got {chosen.size}")
    (places,) = np.nonzero(chosen)
    ops = promote(values, given, precision=given.precision)
    flat = ops.wrap(ops.full_blocks()[0]).ravel()
    if not places.size:
        return
    if not flat.size:
        raise ValueError(f"{name} has no values to write")
    given.flat[places] = flat[turn(places) % flat.size]


def _target(name: str, a: Any) -> MDArray:
    if not isinstance(a, ArrayBase):
        raise TypeError(f"{name} changes its first argument, an MDArray; got {type(a).__name__}")
    return cast("MDArray", a)
