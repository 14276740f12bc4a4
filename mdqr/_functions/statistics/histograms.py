"""Numbers of values between edges."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import NEW_ARRAY, documented
from mdqr._functions import comparison, filled, reductions
from mdqr._functions.creation import asarray
from mdqr._functions.manipulation.axes import operand
from mdqr._functions.ordering.sorting import searchsorted
from mdqr._functions.sequences import linspace
from mdqr._limbs import planes

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Places, PrecisionLike


@with_precision
@documented(NEW_ARRAY)
def histogram(
    a: Any,
    /,
    bins: Any = 10,
    range: tuple[Any, Any] | None = None,
    density: bool | None = None,
    weights: Any = None,
    *,
    precision: PrecisionLike | None = None,
) -> tuple[MDArray | Places, MDArray]:
    """Count the values between edges; the last interval has its right edge, too.

    Parameters
    ----------
    a : MDArray or array_like
        Real values of any shape.
    bins : int or array_like, optional
        The number of intervals of one width, or their edges, which do not decrease.
    range : pair of real number, optional
        The first and the last edge where `bins` is a number; by default the smallest and the
        largest value. Values outside are not counted.
    density : bool, optional
        Whether the counts are divided by their sum and by the widths of the intervals.
    weights : array_like, optional
        How much values count, of the shape of `a`.

    Returns
    -------
    counts : numpy.ndarray or MDArray
        Integers, of CuPy on a GPU; with `weights` or `density` an array of the precision, of
        which weights are sums as in `mdqr.sum`.
    edges : MDArray
        The edges, one more than intervals. Values are compared with them exactly.

    Raises
    ------
    ValueError
        If edges decrease, are not finite, or are less than two, or shapes do not fit.
    TypeError
        If values are complex, or `bins` is text.

    >>> counts, edges = mdqr.histogram(mdqr.array([1, 2, 1, 4], precision=mdqr.qd), bins=3)
    >>> counts.tolist(), edges.to_numpy().tolist()
    ([2, 1, 1], [1.0, 2.0, 3.0, 4.0])
    """
    given = operand(a).ravel()
    if given.is_complex or isinstance(bins, str):
        raise TypeError("histogram is of real values, with a number of intervals or their edges")
    edges = _edges(given, bins, range)
    xp = planes.namespace(given._block)
    inside = (given >= edges[0]) & (given <= edges[-1])
    places = (searchsorted(edges, given, side="right") - 1).clip(0, len(edges) - 2)[inside]
    if weights is None:
        counts = xp.bincount(places, minlength=len(edges) - 1)
        if not density:
            return counts, edges
        found = asarray(counts, precision=given.precision, device=given.device)
    else:
        factors = asarray(weights, precision=given.precision, device=given.device)
        if factors.size != given.size:
            raise ValueError(f"as many weights as values are wanted; got {factors.shape}")
        factors = factors.ravel()[inside]
        found = filled.zeros(
            len(edges) - 1, precision=given.precision, dtype=factors.dtype, device=given.device
        )
        for i in np.arange(len(edges) - 1).tolist():
            found[i] = reductions.sum(comparison.where(places == i, factors, 0.0))
    return (found / reductions.sum(found) / (edges[1:] - edges[:-1]) if density else found), edges


def _edges(given: MDArray, bins: Any, limits: tuple[Any, Any] | None) -> MDArray:
    """Return the edges; raises as `histogram`."""
    if isinstance(bins, (ArrayBase, np.ndarray, list, tuple)):
        edges = asarray(
            bins,
            precision=None if isinstance(bins, ArrayBase) else given.precision,
            device=given.device,
        )
        if edges.ndim != 1 or len(edges) < 2 or not bool((edges[1:] >= edges[:-1]).all()):
            raise ValueError("histogram needs two edges or more, which do not decrease")
        return edges
    count = operator.index(bins)
    if count < 1:
        raise ValueError(f"histogram needs at least one interval; got {count}")
    if limits is not None:
        low, high = (asarray(x, precision=given.precision, device=given.device) for x in limits)
    elif given.size:
        low, high = reductions.extreme("min", given), reductions.extreme("max", given)
    else:
        low, high = (
            filled.full((), x, precision=given.precision, device=given.device) for x in (0.0, 1.0)
        )
    if not bool(comparison.isfinite(low) & comparison.isfinite(high)) or bool(low > high):
        raise ValueError(f"the range of a histogram is finite and does not decrease; got {limits}")
    if bool(low == high):
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, count + 1)
