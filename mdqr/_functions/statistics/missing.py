"""Reductions that pass over NaN, as NumPy's functions whose names begin with nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.axes import Axis, counted_axes, counted_axis, is_only_axis
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REDUCTION, documented
from mdqr._errors import warn_caller
from mdqr._functions import comparison, elementwise, filled, reductions
from mdqr._functions.manipulation.axes import moveaxis, operand
from mdqr._functions.ordering.sorting import argsort, sort
from mdqr._functions.statistics import quantiles, running
from mdqr._functions.statistics.moments import squares
from mdqr._limbs import planes
from mdqr._limbs.device import host_block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Places, PrecisionLike, QuantileMethod


@with_precision
@documented(REDUCTION)
def nansum(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the sums of the values that are not NaN; 0 for none.

    Returns
    -------
    MDArray
        A new array; errors as in `mdqr.sum`.

    >>> float(mdqr.nansum(mdqr.array([1, mdqr.nan, 2], precision=mdqr.qd)))
    3.0
    """
    return reductions.sum(_replaced(operand(a), 0.0), axis, keepdims=keepdims)


@with_precision
@documented(nansum)
def nanprod(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the products of the values that are not NaN; 1 for none.

    Returns
    -------
    MDArray
        A new array; errors as in `mdqr.prod`.

    >>> float(mdqr.nanprod(mdqr.array([3, mdqr.nan, 2], precision=mdqr.qd)))
    6.0
    """
    return reductions.prod(_replaced(operand(a), 1.0), axis, keepdims=keepdims)


@with_precision
@documented(running.cumsum)
def nancumsum(
    a: Any, /, axis: int | None = None, *, precision: PrecisionLike | None = None
) -> MDArray:
    """Return the running sums along an axis, with NaN as 0.

    >>> mdqr.nancumsum(mdqr.array([1, mdqr.nan, 3], precision=mdqr.qd)).to_numpy()
    array([1., 1., 4.])
    """
    return running.cumsum(_replaced(operand(a), 0.0), axis)


@with_precision
@documented(running.cumprod)
def nancumprod(
    a: Any, /, axis: int | None = None, *, precision: PrecisionLike | None = None
) -> MDArray:
    """Return the running products along an axis, with NaN as 1.

    >>> mdqr.nancumprod(mdqr.array([2, mdqr.nan, 3], precision=mdqr.qd)).to_numpy()
    array([2., 2., 6.])
    """
    return running.cumprod(_replaced(operand(a), 1.0), axis)


@with_precision
@documented(REDUCTION)
def nanmean(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the means of the values that are not NaN.

    Returns
    -------
    MDArray
        A new array; NaN and a RuntimeWarning where all values are NaN.

    >>> float(mdqr.nanmean(mdqr.array([1, mdqr.nan, 2], precision=mdqr.qd)))
    1.5
    """
    given = operand(a)
    counts = _counts(given, axis)
    if bool((counts == 0).any()):
        warn_caller(RuntimeWarning("nanmean: all values of a mean are NaN"))
    return _finished(_sums(_replaced(given, 0.0), axis) / counts, given, axis, keepdims)


@with_precision
@documented(REDUCTION)
def nanvar(
    a: Any,
    /,
    axis: Axis = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the variances of the values that are not NaN, as `mdqr.var`.

    Parameters
    ----------
    ddof : float, optional
        What is taken from the number of values to divide by: 1 for samples.

    Returns
    -------
    MDArray
        Real; NaN and a RuntimeWarning where the divisor is not positive.

    >>> float(mdqr.nanvar(mdqr.array([1, mdqr.nan, 3], precision=mdqr.qd)))
    1.0
    """
    given = operand(a)
    counts = _counts(given, axis)
    few = counts <= ddof
    if bool(few.any()):
        warn_caller(RuntimeWarning("nanvar: too few values that are not NaN for ddof"))
    values = _replaced(given, 0.0)
    means = _sums(values, axis) / counts.clip(1.0)
    distances = comparison.where(comparison.isnan(given), 0.0, elementwise.subtract(values, means))
    sums = _sums(squares(distances), axis)
    found = comparison.where(few, np.nan, sums / (few + (counts - ddof) * ~few))
    return _finished(found, given, axis, keepdims)


@with_precision
@documented(nanvar)
def nanstd(
    a: Any,
    /,
    axis: Axis = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the standard deviations of the values that are not NaN, as `mdqr.std`.

    >>> float(mdqr.nanstd(mdqr.array([1, mdqr.nan, 3], precision=mdqr.qd)))
    1.0
    """
    return elementwise.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims))


@with_precision
@documented(REDUCTION)
def nanmax(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the largest values that are not NaN; complex ones in lexicographic order.

    Returns
    -------
    MDArray
        A new array; NaN and a RuntimeWarning where all values are NaN.

    Raises
    ------
    ValueError
        If no values are given.

    >>> float(mdqr.nanmax(mdqr.array([1, mdqr.nan, 2], precision=mdqr.qd)))
    2.0
    """
    return _by_rows("nanmax", lambda row: row[..., -1], a, axis, keepdims)


@with_precision
@documented(nanmax)
def nanmin(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the smallest values that are not NaN; complex ones in lexicographic order.

    >>> float(mdqr.nanmin(mdqr.array([1, mdqr.nan, 2], precision=mdqr.qd)))
    1.0
    """
    return _by_rows("nanmin", lambda row: row[..., 0], a, axis, keepdims)


@with_precision
@documented(nanmax)
def nanmedian(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the medians of the values that are not NaN.

    >>> float(mdqr.nanmedian(mdqr.array([5, mdqr.nan, 1, 2], precision=mdqr.qd)))
    2.0
    """
    return _by_rows("nanmedian", lambda row: quantiles.median(row, -1), a, axis, keepdims)


@with_precision
@documented(quantiles.quantile)
def nanquantile(
    a: Any,
    /,
    q: Any,
    axis: Axis = None,
    *,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return values below which given parts of the values lie that are not NaN.

    Returns
    -------
    MDArray
        The axes of `q`, then the remaining axes of `a`; NaN and a RuntimeWarning where all values
        are NaN.

    >>> float(mdqr.nanquantile(mdqr.array([1, mdqr.nan, 2, 3], precision=mdqr.qd), 0.25))
    1.5
    """
    return _parts("nanquantile", a, q, axis, method, keepdims)


@with_precision
@documented(quantiles.percentile)
def nanpercentile(
    a: Any,
    /,
    q: Any,
    axis: Axis = None,
    *,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return values below which given percentages of the values lie that are not NaN.

    Returns
    -------
    MDArray
        The axes of `q`, then the remaining axes of `a`; NaN and a RuntimeWarning where all values
        are NaN.

    >>> float(mdqr.nanpercentile(mdqr.array([1, mdqr.nan, 2, 3], precision=mdqr.qd), 25))
    1.5
    """
    return _parts("nanpercentile", a, q, axis, method, keepdims)


@with_precision
@documented(REDUCTION)
def nanargmax(
    a: Any,
    /,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> np.int64 | Places:
    """Return the places of the first largest values that are not NaN.

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
        If all values are NaN, or none are given.

    >>> int(mdqr.nanargmax(mdqr.array([1, mdqr.nan, 2], precision=mdqr.qd)))
    2
    """
    return _place("nanargmax", a, axis, keepdims, largest=True)


@with_precision
@documented(nanargmax)
def nanargmin(
    a: Any,
    /,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> np.int64 | Places:
    """Return the places of the first smallest values that are not NaN.

    >>> int(mdqr.nanargmin(mdqr.array([1, mdqr.nan, 2], precision=mdqr.qd)))
    0
    """
    return _place("nanargmin", a, axis, keepdims, largest=False)


def _replaced(a: MDArray, value: float) -> MDArray:
    return comparison.where(comparison.isnan(a), value, a)


def _sums(a: MDArray, axis: Axis) -> MDArray:
    return reductions.sum(a, _axes(a, axis), keepdims=True)


def _axes(a: MDArray, axis: Axis) -> tuple[int, ...]:
    return () if is_only_axis(axis, a.ndim) else counted_axes(axis, a.ndim)


def _counts(a: MDArray, axis: Axis) -> Any:
    """Return the counts of values that are not NaN, as float64 with axes of length 1."""
    return (~comparison.isnan(a)).sum(_axes(a, axis), keepdims=True).astype(np.float64)


def _finished(found: MDArray, a: MDArray, axis: Axis, keepdims: bool) -> MDArray:
    """Return a result without the axes of length 1 that were reduced, unless `keepdims` is true."""
    if keepdims:
        return found
    reduced = _axes(a, axis)
    return found.reshape([n for i, n in enumerate(found.shape) if i not in reduced])


def _parts(
    function: str, a: Any, q: Any, axis: Axis, method: QuantileMethod, keepdims: bool
) -> MDArray:
    given, part = quantiles.operands(a, q)
    of_row = getattr(quantiles, function.removeprefix("nan"))
    return _by_rows(
        function,
        lambda row: moveaxis(of_row(row, part, -1, method=method), -1, 0),
        given,
        axis,
        keepdims,
        part.shape,
    )


def _by_rows(
    function: str,
    of_row: Callable[[MDArray], MDArray],
    a: Any,
    axis: Axis,
    keepdims: bool,
    parts: tuple[int, ...] = (),
) -> MDArray:
    """Apply a function to ordered values without their NaN: at once to rows that have as many."""
    given = operand(a)
    reduced = _axes(given, axis)
    kept = [i for i in range(given.ndim) if i not in reduced]
    lengths = [given.shape[i] for i in kept]
    rows = given.transpose(*kept, *reduced).reshape(
        [int(np.prod(lengths)), int(np.prod([given.shape[i] for i in reduced], dtype=int))]
    )
    if not rows.shape[-1]:
        raise ValueError(f"{function}: there are no values: axis {axis} of shape {given.shape}")
    counts = host_block((~comparison.isnan(rows)).sum(-1))
    rows = sort(rows, -1)
    found = filled.full(
        (rows.shape[0], *parts),
        np.nan,
        precision=given.precision,
        dtype=given.dtype,
        device=given.device,
    )
    for count in np.unique(counts).tolist():
        (places,) = np.nonzero(counts == count)
        if count:
            found[places] = of_row(rows[places][:, :count])
        else:
            warn_caller(RuntimeWarning(f"{function}: all values along an axis are NaN"))
    if keepdims:
        lengths = [1 if i in reduced else n for i, n in enumerate(given.shape)]
    found = moveaxis(found, tuple(range(1, 1 + len(parts))), tuple(range(len(parts))))
    return found.reshape([*parts, *lengths])


def _place(
    function: str, a: Any, axis: int | None, keepdims: bool, *, largest: bool
) -> np.int64 | Places:
    given = operand(a)
    ndim = given.ndim
    if axis is None or is_only_axis(axis, ndim):
        given, place = given.ravel(), 0
    else:
        place = counted_axis(axis, ndim)
    if not given.shape[place]:
        raise ValueError(f"{function}: there are no values")
    missing = comparison.isnan(given).sum(place, keepdims=True)
    if bool((missing == given.shape[place]).any()):
        raise ValueError(f"{function}: all values along an axis are NaN")
    order = argsort(given, place, descending=largest)
    xp = planes.namespace(given._block)
    first = missing if largest else xp.zeros_like(missing)
    found = xp.take_along_axis(order, first, place)
    if keepdims:
        return found.reshape((1,) * ndim) if axis is None else found
    return found.squeeze(place)[()]
