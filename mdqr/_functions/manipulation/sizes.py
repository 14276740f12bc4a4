"""Arrays with more values or fewer: repeated, padded, trimmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mdqr._core.axes import counted_axes
from mdqr._core.promotion import promote
from mdqr._docstrings import NEW_ARRAY, documented
from mdqr._errors import shown
from mdqr._functions.manipulation.axes import operand
from mdqr._functions.sequences import concatenate
from mdqr._limbs import planes
from mdqr._limbs.device import host_block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_REPEATING = ("edge", "reflect", "symmetric", "wrap")


@documented(NEW_ARRAY)
def resize(a: Any, /, new_shape: Any) -> MDArray:
    """Return an array of another shape: the values in C order, repeated or cut off.

    Parameters
    ----------
    new_shape : int or tuple of int
        The shape.

    Returns
    -------
    MDArray
        A new array; zeros where `a` has no values.

    Raises
    ------
    ValueError
        If a length is negative.

    >>> mdqr.resize(mdqr.arange(3, precision=mdqr.qd), (2, 2)).to_numpy()
    array([[0., 1.],
           [2., 0.]])
    """
    given = operand(a).ravel()
    if given.size:
        return given[np.resize(np.arange(given.size), new_shape)]
    shape = np.resize(np.zeros(0, dtype=bool), new_shape).shape
    xp, front = planes.namespace(given._block), planes.lead(given.is_complex)
    return given._like(xp.zeros(given._block.shape[:front] + shape))


@documented(NEW_ARRAY)
def pad(
    array: Any,
    /,
    pad_width: Any,
    mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
    *,
    constant_values: Any = 0,
) -> MDArray:
    """Return an array with values put around it.

    Parameters
    ----------
    array : MDArray or array_like
        The values.
    pad_width : int, array_like of int or dict
        The numbers of values before and behind: one for all axes, ``(before, behind)``, or a
        pair for each axis.
    mode : {"constant", "edge", "reflect", "symmetric", "wrap"}, optional
        Constants; the value at the edge; the values mirrored at the edge value, or at the edge; or
        the values of the other end.
    constant_values : array_like, optional
        The constants, of the forms of `pad_width`.

    Returns
    -------
    MDArray
        A new array of the highest precision of the two.

    Raises
    ------
    ValueError
        If a width is negative, the forms do not fit, or mode is another one.

    >>> mdqr.pad(mdqr.ones(2, precision=mdqr.qd), (1, 2), constant_values="0.5").to_numpy()
    array([0.5, 1. , 1. , 0.5, 0.5])
    """
    if mode not in ("constant", *_REPEATING):
        raise ValueError(f"mode of pad is constant or one of {list(_REPEATING)}; got {shown(mode)}")
    if mode != "constant":
        given = operand(array)
        return given.ravel()[np.pad(_places(given), pad_width, mode=mode)]
    ops = promote(array, constant_values)
    given, constants = (ops.wrap(block) for block in ops.full_blocks())
    # NumPy pads numbers of places: its rules of forms, for arrays of any device.
    behind = _places(constants) + given.size
    chosen = np.pad(_places(given), pad_width, constant_values=behind.tolist())
    return concatenate([given, constants], None)[chosen]


def _places(a: MDArray) -> np.ndarray:
    """Return the place of every value in the flattened array."""
    return np.arange(a.size).reshape(a.shape)


@documented(NEW_ARRAY)
def trim_zeros(filt: Any, /, trim: Literal["fb", "f", "b"] = "fb", axis: Any = None) -> MDArray:
    """Return an array without zeros at its ends.

    Parameters
    ----------
    filt : MDArray
        The values; NaN is not zero.
    trim : {"fb", "f", "b"}, optional
        The ends without their zeros: the front, the back, or both.
    axis : int or tuple of int, optional
        The axes along which to trim; all by default.

    Returns
    -------
    MDArray
        A view.

    Raises
    ------
    ValueError
        If `trim` is another word, or an axis does not exist.

    >>> mdqr.trim_zeros(mdqr.array([0, 1, 0, 2, 0, 0], precision=mdqr.qd)).to_numpy()
    array([1., 0., 2.])
    """
    given = operand(filt)
    if trim.lower() not in ("fb", "bf", "f", "b"):
        raise ValueError(f'trim is "f", "b" or "fb"; got {shown(trim)}')
    present = np.argwhere(host_block(planes.nonzero(given._block, given.is_complex)))
    key = [slice(None)] * given.ndim
    for i in counted_axes(axis, given.ndim):
        first, last = (present[:, i].min(), present[:, i].max() + 1) if len(present) else (0, 0)
        start = first if "f" in trim.lower() else None
        key[i] = slice(start, last if "b" in trim.lower() or not len(present) else None)
    return given[(*key, ...)]
