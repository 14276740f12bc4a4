"""Values chosen by masks, numbers and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.axes import counted_axis
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import common_shape, promote
from mdqr._docstrings import documented
from mdqr._functions import comparison, filled
from mdqr._functions.manipulation.axes import along, moveaxis, operand
from mdqr._functions.manipulation.parts import on_host
from mdqr._functions.manipulation.selection import nonzero, take_along_axis
from mdqr._functions.manipulation.shapes import atleast_1d, broadcast_to
from mdqr._functions.sequences import stack
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Places


def compress(condition: Any, a: Any, /, axis: int | None = None) -> MDArray:
    """Return the parts along an axis for which a mask is true.

    Parameters
    ----------
    condition : array_like of bool
        A vector, at most as long as the axis.
    a : MDArray
        The values.
    axis : int, optional
        The axis; by default `a` is flattened.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    IndexError
        If the mask is true behind the end of the axis.
    ValueError
        If it is not a vector, or the axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.compress([True, False, True], mdqr.arange(4, precision=mdqr.qd)).to_numpy()
    array([0., 2.])
    """
    mask = np.asarray(on_host(condition), dtype=bool)
    if mask.ndim != 1:
        raise ValueError(f"compress needs a vector of bool; got shape {mask.shape}")
    given, place = along(operand(a), axis)
    return given[(*(slice(None),) * place, np.flatnonzero(mask), ...)]


def extract(condition: Any, arr: Any, /) -> MDArray:
    """Return the values for which a mask is true, as a vector.

    Parameters
    ----------
    condition : array_like of bool
        Of the size of `arr`.
    arr : MDArray
        The values.

    Returns
    -------
    MDArray
        A new array.

    Raises
    ------
    IndexError
        If the mask is true behind the end of `arr`.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.arange(4, precision=mdqr.qd)
    >>> mdqr.extract(a > 1, a).to_numpy()
    array([2., 3.])
    """
    return compress(np.asarray(on_host(condition)).reshape(-1), operand(arr).ravel())


def choose(a: Any, choices: Sequence[Any], /) -> MDArray:
    """Return values of several arrays, at each place of the one with the given number.

    Parameters
    ----------
    a : array_like of int
        The numbers.
    choices : sequence of array_like
        The arrays, at least one an `MDArray`; all shapes broadcast.

    Returns
    -------
    MDArray
        A new array of the highest precision.

    Raises
    ------
    ValueError
        If a number is below 0 or too large, or the shapes do not broadcast.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.choose([1, 0], [mdqr.zeros(2, precision=mdqr.qd), ["0.5", 3]]).to_numpy()
    array([0.5, 0. ])
    """
    numbers = np.asarray(on_host(a))
    if numbers.dtype.kind not in "iu":
        raise ValueError(f"choose needs integers; got an array of dtype {numbers.dtype}")
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(choices):
        raise ValueError(f"choose has {len(choices)} choices; got a number beyond them")
    arrays = _alike(choices)
    shape = common_shape([numbers.shape, *(x.shape for x in arrays)])
    stacked = stack([broadcast_to(x, shape) for x in arrays])
    return take_along_axis(stacked, np.broadcast_to(numbers, shape)[None], 0)[0]


def select(condlist: Sequence[Any], choicelist: Sequence[Any], /, default: Any = 0) -> MDArray:
    """Return at each place the value of the first array whose mask is true there.

    Parameters
    ----------
    condlist : sequence of array_like of bool
        The masks.
    choicelist : sequence of array_like
        As many arrays; one, or `default`, is an `MDArray`.
    default : array_like, optional
        The values where no mask is true.

    Returns
    -------
    MDArray
        A new array of the highest precision.

    Raises
    ------
    ValueError
        If the numbers of masks and arrays differ or are 0, or shapes do not broadcast.

    Examples
    --------
    >>> import mdqr
    >>> x = mdqr.arange(4, precision=mdqr.qd)
    >>> mdqr.select([x < 1, x > 2], [-x - 1, 10 * x]).to_numpy()
    array([-1.,  0.,  0., 30.])
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"select needs a mask for each array; got {len(condlist)} for {len(choicelist)}"
        )
    *choices, found = _alike([*choicelist, default])
    for mask, values in reversed(list(zip(condlist, choices, strict=True))):
        found = comparison.where(mask, values, found)
    return found


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], /, *args: Any, **kw: Any) -> MDArray:
    """Return values of functions, each called with the values of `x` for which its mask is true.

    Parameters
    ----------
    x : MDArray
        The values.
    condlist : sequence of array_like of bool
        The masks; later ones win.
    funclist : sequence of callable or array_like
        As many functions or values, or one more, which counts where no mask is true.
    *args, **kw
        Further arguments of the functions.

    Returns
    -------
    MDArray
        Of the shape and precision of `x`; 0 where nothing is said.

    Raises
    ------
    ValueError
        If the numbers of masks and functions do not fit.

    Examples
    --------
    >>> import mdqr
    >>> x = mdqr.array([-2, 4], precision=mdqr.qd)
    >>> mdqr.piecewise(x, [x < 0, x >= 0], [lambda t: -t, mdqr.sqrt]).to_numpy()
    array([2., 2.])
    """
    given = operand(x)
    scalar = np.isscalar(condlist) or (len(condlist) and not np.ndim(on_host(condlist[0])))
    masks = [condlist] if scalar and given.ndim else list(condlist)
    masks = [np.asarray(on_host(mask), dtype=bool) for mask in masks]
    if len(funclist) == len(masks) + 1:
        masks.append(~np.logical_or.reduce(masks))
    if len(funclist) != len(masks):
        raise ValueError(
            f"piecewise needs a function for each of {len(masks)} masks, or one more; "
            f"got {len(funclist)}"
        )
    found = filled.zeros_like(given)
    for mask, function in zip(masks, funclist, strict=True):
        chosen = given[mask]
        if chosen.size:
            found[mask] = function(chosen, *args, **kw) if callable(function) else function
    return found


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """Return the results of a function of vectors, called with every row along an axis.

    Parameters
    ----------
    func1d : callable
        Takes a vector, and returns arrays of one shape.
    axis : int
        The axis.
    arr : MDArray
        The values.
    *args, **kwargs
        Further arguments of the function.

    Returns
    -------
    MDArray or numpy.ndarray
        In whose shape the shape of a result replaces the axis.

    Raises
    ------
    ValueError
        If the axis does not exist, or no row does.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.apply_along_axis(mdqr.cumsum, 0, mdqr.ones((2, 3), precision=mdqr.qd)).to_numpy()
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """
    given = operand(arr)
    place = counted_axis(axis, given.ndim)
    rows = moveaxis(given, place, -1)
    shape = rows.shape[:-1]
    if not all(shape):
        raise ValueError(f"apply_along_axis has no rows along axis {axis} of shape {given.shape}")
    flat = rows.reshape((-1, rows.shape[-1]))
    results = [func1d(row, *args, **kwargs) for row in flat]
    is_ours = any(isinstance(x, ArrayBase) for x in results)
    found = stack(results) if is_ours else planes.namespace(given._block).asarray(results)
    found = found.reshape((*shape, *found.shape[1:]))
    behind = range(len(shape), found.ndim)
    order = [*range(place), *behind, *range(place, len(shape))]
    return found.transpose(*order)


def flatnonzero(a: Any, /) -> Places:
    """Return the places in the flattened array of the values that are not zero.

    Parameters
    ----------
    a : MDArray
        The values; NaN is not zero.

    Returns
    -------
    numpy.ndarray
        Integers; of CuPy on a GPU.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.flatnonzero(mdqr.array([[0, 3], [4, 0]], precision=mdqr.qd))
    array([1, 2])
    """
    return nonzero(operand(a).ravel())[0]


@documented(flatnonzero)
def argwhere(a: Any, /) -> Places:
    """Return the places of the values that are not zero, one in each row.

    >>> mdqr.argwhere(mdqr.array([[0, 3], [4, 0]], precision=mdqr.qd))
    array([[0, 1],
           [1, 0]])
    """
    given = operand(a)
    xp = planes.namespace(given._block)
    return xp.stack(nonzero(atleast_1d(given)), axis=1)[:, : given.ndim]


def _alike(arrays: Sequence[Any]) -> list[MDArray]:
    """Return arrays of one precision, field and device."""
    ops = promote(*arrays)
    return [ops.wrap(block) for block in ops.full_blocks()]
