"""Frequencies of the values of a transform, and their order."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._core.axes import counted_axes
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._errors import shown
from mdqr._functions.creation import array
from mdqr._functions.manipulation.axes import operand, roll
from mdqr._precision import as_precision
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike


@experimental
def fftfreq(
    n: int, d: Any = 1.0, *, precision: PrecisionLike | None = None, device: str | None = None
) -> MDArray:
    """Return the frequencies of `fft`: 0, 1, ..., -2, -1 over ``n * d``.

    Parameters
    ----------
    n : int
        The length of the transform.
    d : scalar, default: 1.0
        The distance of the points; ``"0.1"`` is one tenth.
    precision : Precision or str, optional
        The precision of the result, needed unless `d` is an MDArray.
    device : str, optional
        Where the result lives: "cpu" (default), "cuda" or "cuda:k".

    Returns
    -------
    MDArray
        Shape ``(n,)``; each value within ``5 * eps``.

    Raises
    ------
    TypeError
        If `precision` is missing, or n is not an integer.
    ValueError
        If n is below 1.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.fft.fftfreq(5, "0.1", precision=mdqr.qd).to_numpy()
    array([ 0.,  2.,  4., -4., -2.])
    """
    places = np.arange(_length("fftfreq", n))
    return _over(np.where(places < (n + 1) // 2, places, places - n), n, d, precision, device)


@experimental
@documented(fftfreq)
def rfftfreq(
    n: int, d: Any = 1.0, *, precision: PrecisionLike | None = None, device: str | None = None
) -> MDArray:
    """Return the frequencies of `rfft`: 0, 1, ..., ``n // 2`` over ``n * d``.

    Returns
    -------
    MDArray
        Shape ``(n // 2 + 1,)``; each value within ``5 * eps``.

    >>> mdqr.fft.rfftfreq(5, "0.1", precision=mdqr.qd).to_numpy()
    array([0., 2., 4.])
    """
    return _over(np.arange(_length("rfftfreq", n) // 2 + 1), n, d, precision, device)


def _length(name: str, n: int) -> int:
    if operator.index(n) < 1:
        raise ValueError(f"{name}: n must be at least 1; got {shown(n)}")
    return operator.index(n)


def _over(
    places: np.ndarray, n: int, d: Any, precision: PrecisionLike | None, device: str | None
) -> MDArray:
    """Return ``places / (n d)``."""
    if precision is None and not isinstance(d, ArrayBase):
        raise TypeError("fftfreq of a number needs precision=, such as precision=mdqr.qd")
    target = None if precision is None else as_precision(precision)
    ops = promote(d, precision=target)
    step = ops.wrap(ops.full_blocks()[0])
    found = array(places, precision=ops.precision) / (step * n)
    return found if device is None else found.to_device(device)


@with_precision
@experimental
def fftshift(x: Any, /, axes: Any = None, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return values with frequency 0 in the middle.

    Parameters
    ----------
    x : MDArray or array_like
        The values.
    axes : int or sequence of int, optional
        The axes, by default all.

    Returns
    -------
    MDArray
        A new array; the values are moved, not changed.

    Raises
    ------
    AxisError
        If an axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.fft.fftshift(mdqr.array([0, 1, 2, -2, -1], precision=mdqr.qd)).to_numpy()
    array([-2., -1.,  0.,  1.,  2.])
    """
    return _moved(x, axes, 1)


@with_precision
@experimental
@documented(fftshift)
def ifftshift(x: Any, /, axes: Any = None, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return values that `fftshift` moved in their first order.

    >>> mdqr.fft.ifftshift(mdqr.array([-2, -1, 0, 1, 2], precision=mdqr.qd)).to_numpy()
    array([ 0.,  1.,  2., -2., -1.])
    """
    return _moved(x, axes, -1)


def _moved(x: Any, axes: Any, sign: int) -> MDArray:
    values = operand(x)
    places = counted_axes(axes, values.ndim)
    # Half of the length, rounded down: backwards that is the same as half rounded up.
    counts = tuple(sign * (values.shape[place] // 2) for place in places)
    return roll(values, counts, places)
