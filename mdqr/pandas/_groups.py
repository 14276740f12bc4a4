"""Statistics of columns and of groups of their values: rows of equally many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions import comparison, filled, reductions
from mdqr._functions.elementwise import sqrt
from mdqr._functions.ordering.sets import unique_inverse
from mdqr._functions.statistics import extremes, moments, quantiles, running

Function = Callable[..., MDArray]


def _deviation(function: Function) -> Function:
    """Return the function of rows, NaN where they are too short."""

    def of_rows(rows: MDArray, ddof: float = 1) -> MDArray:
        if rows.shape[-1] <= ddof:
            return filled.full(rows.shape[:-1], np.nan, precision=rows.precision)
        return function(rows, -1, ddof=ddof)

    return of_rows


def _error_of_mean(rows: MDArray, axis: int, *, ddof: float) -> MDArray:
    return sqrt(moments.var(rows, axis, ddof=ddof) / rows.shape[axis])


# Of rows of values without NaN, at least one each.
AGGREGATES: dict[str, Function] = {
    "sum": lambda rows: reductions.sum(rows, -1),
    "prod": lambda rows: reductions.prod(rows, -1),
    "mean": lambda rows: extremes.mean(rows, -1),
    "median": lambda rows: quantiles.median(rows, -1),
    "min": lambda rows: extremes.min(rows, -1),
    "max": lambda rows: extremes.max(rows, -1),
    "var": _deviation(moments.var),
    "std": _deviation(moments.std),
    "sem": _deviation(_error_of_mean),
    "first": lambda rows: rows[..., 0],
    "last": lambda rows: rows[..., -1],
}
_EMPTY = {"sum": 0.0, "prod": 1.0}


def _extremes(accumulate: Any, rows: MDArray) -> MDArray:
    """Return running extrema, by the numbers of values in order."""
    found = unique_inverse(rows)
    return found.values[accumulate(found.inverse_indices, axis=-1)]


TRANSFORMS: dict[str, Function] = {
    "cumsum": lambda rows: running.cumsum(rows, -1),
    "cumprod": lambda rows: running.cumprod(rows, -1),
    "cummin": lambda rows: _extremes(np.minimum.accumulate, rows),
    "cummax": lambda rows: _extremes(np.maximum.accumulate, rows),
}


def aggregated(
    how: str,
    values: MDArray,
    ids: np.ndarray,
    ngroups: int,
    *,
    skipna: bool = True,
    min_count: int = 0,
    **options: Any,
) -> MDArray:
    """Return a statistic of each group; NaN of groups with less than `min_count` values.

    Parameters
    ----------
    how : str
        A name of `AGGREGATES`.
    values : MDArray
        A vector.
    ids : numpy.ndarray
        The group of each value, or -1.
    ngroups : int
        The number of groups.
    """
    missing = comparison.isnan(values)
    kept = (ids >= 0) & ~missing if skipna else ids >= 0
    found = filled.full(ngroups, _EMPTY.get(how, np.nan), precision=values.precision)
    counts = np.bincount(ids[kept], minlength=ngroups)
    for groups, places in _rows(ids, kept, counts):
        found[groups] = AGGREGATES[how](values[places], **options)
    found[counts < min_count] = np.nan
    return found


def transformed(
    how: str, values: MDArray, ids: np.ndarray, ngroups: int, *, skipna: bool = True
) -> MDArray:
    """Return running values within each group; NaN where a value is missing."""
    missing = comparison.isnan(values)
    kept = (ids >= 0) & ~missing
    found = filled.full(values.shape, np.nan, precision=values.precision)
    for _, places in _rows(ids, kept, np.bincount(ids[kept], minlength=ngroups)):
        found[places] = TRANSFORMS[how](values[places])
    if not skipna:  # everything behind a missing value is missing
        for group in np.unique(ids[missing & (ids >= 0)]).tolist():
            (members,) = np.nonzero(ids == group)
            found[members[np.logical_or.accumulate(missing[members])]] = np.nan
    return found


def _rows(ids: np.ndarray, kept: np.ndarray, counts: np.ndarray) -> Any:
    """Yield groups with equally many kept values, and the places of these, a row for each."""
    (places,) = np.nonzero(kept)
    order = places[np.argsort(ids[places], kind="stable")]
    starts = counts.cumsum() - counts
    for count in np.unique(counts[counts > 0]).tolist():
        (groups,) = np.nonzero(counts == count)
        yield groups, order[starts[groups][:, None] + np.arange(count)]
