"""Largest and smallest values, means and truths, as functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._core.axes import Axis
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REDUCTION, documented
from mdqr._functions import reductions
from mdqr._functions.manipulation.axes import operand

if TYPE_CHECKING:
    import numpy as np

    from mdqr._array.array import MDArray
    from mdqr._typing import Mask, Places, PrecisionLike


@with_precision
@documented(REDUCTION)
def max(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the largest value over all axes, one axis or several; NaN if one occurs.

    Parameters
    ----------
    a : MDArray or array_like
        The values; complex ones in lexicographic order.

    Raises
    ------
    ValueError
        If no values are given.

    >>> float(mdqr.max(mdqr.array([1, 3, 2], precision=mdqr.qd)))
    3.0
    """
    return reductions.extreme("max", a, axis, keepdims=keepdims)


@with_precision
@documented(max)
def min(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the smallest value over all axes, one axis or several; NaN if one occurs.

    >>> float(mdqr.min(mdqr.array([1, 3, 2], precision=mdqr.qd)))
    1.0
    """
    return reductions.extreme("min", a, axis, keepdims=keepdims)


@with_precision
@documented(REDUCTION)
def argmax(
    a: Any,
    /,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> np.int64 | Places:
    """Return the place of the first largest value, or of the first NaN.

    Parameters
    ----------
    axis : int, optional
        The axis; by default the place is that in the flattened array.

    Returns
    -------
    numpy.int64 or numpy.ndarray
        The places; of CuPy on a GPU.

    Raises
    ------
    ValueError
        If no values are given.

    >>> int(mdqr.argmax(mdqr.array([1, 3, 2], precision=mdqr.qd)))
    1
    """
    return reductions.arg_extreme("argmax", a, axis, keepdims=keepdims)


@with_precision
@documented(argmax)
def argmin(
    a: Any,
    /,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> np.int64 | Places:
    """Return the place of the first smallest value, or of the first NaN.

    >>> int(mdqr.argmin(mdqr.array([1, 3, 2], precision=mdqr.qd)))
    0
    """
    return reductions.arg_extreme("argmin", a, axis, keepdims=keepdims)


@with_precision
@documented(REDUCTION)
def mean(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the arithmetic mean: the sum divided by the number of values.

    Returns
    -------
    MDArray
        A new array; NaN and a RuntimeWarning for no values.

    Raises
    ------
    AxisError
        If the axis does not exist.

    >>> float(mdqr.mean(mdqr.array([1, 3, 2], precision=mdqr.qd)))
    2.0
    """
    return reductions.mean(operand(a), axis, keepdims=keepdims)


@with_precision
@documented(REDUCTION)
def any(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> Mask:
    """Return True where any value is not zero.

    Parameters
    ----------
    a : MDArray or array_like
        The values; NaN is not zero.

    Returns
    -------
    numpy.bool or numpy.ndarray
        The truths; of CuPy on a GPU.

    Raises
    ------
    AxisError
        If the axis does not exist.

    >>> bool(mdqr.any(mdqr.array([0, 1], precision=mdqr.qd)))
    True
    """
    return reductions.truth("any", a, axis, keepdims=keepdims)


@with_precision
@documented(any)
def all(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> Mask:
    """Return whether no value is zero.

    >>> bool(mdqr.all(mdqr.array([0, 1], precision=mdqr.qd)))
    False
    """
    return reductions.truth("all", a, axis, keepdims=keepdims)
