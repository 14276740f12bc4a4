"""Parts of arrays, and arrays with values taken out or put in."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.axes import counted_axis
from mdqr._core.promotion import promote
from mdqr._docstrings import NEW_ARRAY, VIEW, documented
from mdqr._functions.manipulation.axes import operand
from mdqr._limbs import planes
from mdqr._limbs.device import is_cuda_array

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Mask, Order


@documented(VIEW)
def real(val: Any, /) -> MDArray:
    """Return the real parts, a view.

    >>> print(mdqr.real(mdqr.qd(1 + 2j)))
    1.0
    """
    return operand(val).real


@documented(VIEW)
def imag(val: Any, /) -> MDArray:
    """Return the imaginary parts: a view, read-only zeros if real.

    >>> print(mdqr.imag(mdqr.qd(1 + 2j)))
    2.0
    """
    return operand(val).imag


@documented(NEW_ARRAY)
def isreal(x: Any, /) -> Mask:
    """Test for values whose imaginary part is zero.

    Returns
    -------
    numpy.ndarray of bool
        Of CuPy on a GPU.

    >>> mdqr.isreal(mdqr.array([1, 1j], precision=mdqr.qd))
    array([ True, False])
    """
    part = operand(x).imag
    return ~planes.nonzero(part._block, False)


@documented(isreal)
def iscomplex(x: Any, /) -> Mask:
    """Test for values whose imaginary part is not zero.

    >>> mdqr.iscomplex(mdqr.array([1, 1j], precision=mdqr.qd))
    array([False,  True])
    """
    return ~isreal(x)


def iscomplexobj(x: Any, /) -> bool:
    """Test for a complex array, whatever its values.

    Parameters
    ----------
    x : MDArray
        The array.

    Returns
    -------
    bool
        Its `is_complex`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.iscomplexobj(mdqr.zeros(2, precision=mdqr.qd, dtype=complex))
    True
    """
    return operand(x).is_complex


@documented(iscomplexobj)
def isrealobj(x: Any, /) -> bool:
    """Test for a real array.

    Returns
    -------
    bool
        True if it is not complex.

    >>> mdqr.isrealobj(mdqr.zeros(2, precision=mdqr.qd))
    True
    """
    return not iscomplexobj(x)


@documented(VIEW)
def transpose(a: Any, /, axes: Any = None) -> MDArray:
    """Return a view with permuted axes.

    Parameters
    ----------
    axes : sequence of int, optional
        The new order; all axes reversed by default.

    Raises
    ------
    ValueError
        If `axes` is not a permutation of the axes.

    >>> mdqr.transpose(mdqr.zeros((2, 3), precision=mdqr.qd)).shape
    (3, 2)
    """
    given = operand(a)
    return given.transpose() if axes is None else given.transpose(tuple(axes))


@documented(VIEW)
def ravel(a: Any, /, order: Order = "C") -> MDArray:
    """Return the values as one axis: a view where the planes allow one.

    Parameters
    ----------
    order : {"C", "F", "A", "K"}, optional
        The last axis first, or the first ("F").

    Returns
    -------
    MDArray
        One axis.

    Raises
    ------
    ValueError
        If `order` is none of these.

    >>> mdqr.ravel(mdqr.qd([[1, 2], [3, 4]]), "F").to_numpy()
    array([1., 3., 2., 4.])
    """
    return operand(a).ravel(order)


@documented(NEW_ARRAY)
def copy(a: Any, /, order: Order = "K") -> MDArray:
    """Return a copy, contiguous in C order.

    Parameters
    ----------
    order : str, optional
        As NumPy's, without an effect.

    >>> a = mdqr.qd([1, 2])
    >>> mdqr.copy(a) is a
    False
    """
    return operand(a).copy(order)


@documented(NEW_ARRAY)
def delete(arr: Any, obj: Any, /, axis: int | None = None) -> MDArray:
    """Return an array without the values at some places.

    Parameters
    ----------
    arr : MDArray
        The values.
    obj : int, slice or array_like of int or bool
        The places along the axis.
    axis : int, optional
        The axis; by default the array is flattened first.

    Raises
    ------
    IndexError
        If a place does not exist.

    >>> mdqr.delete(mdqr.qd([1, 2, 3]), 1).to_numpy()
    array([1., 3.])
    """
    given = operand(arr)
    place = None if axis is None else counted_axis(axis, given.ndim)
    return given.ravel()[np.delete(_places(given), on_host(obj), place)]


@documented(delete)
def insert(arr: Any, obj: Any, values: Any, /, axis: int | None = None) -> MDArray:
    """Return an array with values put in before some places.

    Parameters
    ----------
    arr : MDArray or array_like
        The values.
    values : MDArray or array_like
        The values that are put in; `arr` or `values` is an `MDArray`.

    Returns
    -------
    MDArray
        A new array of the highest precision of the two.

    Raises
    ------
    ValueError
        If `values` do not broadcast to what is put in.

    >>> mdqr.insert(mdqr.qd([1, 3]), 1, "2.5").to_numpy()
    array([1. , 2.5, 3. ])
    """
    ops = promote(arr, values)
    given, added = (ops.wrap(block) for block in ops.full_blocks())
    place = None if axis is None else counted_axis(axis, given.ndim)
    # NumPy inserts numbers of places: its rules of shapes, for arrays of any device.
    behind = _places(added) + given.size
    places = np.insert(_places(given), on_host(obj), behind, place)
    xp = planes.namespace(given._block)
    parts = [x.ravel()._block for x in (given, added)]
    return ops.wrap(xp.concatenate(parts, axis=-1))[places]


def _places(a: MDArray) -> np.ndarray:
    """Return the place of every value in the flattened array."""
    return np.arange(prod(a.shape)).reshape(a.shape)


def on_host(obj: Any) -> Any:
    """Return an index in host memory."""
    return obj.get() if is_cuda_array(obj) else obj
