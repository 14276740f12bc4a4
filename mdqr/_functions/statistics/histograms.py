"""Numbers of values between edges."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import NEW_ARRAY, documented
from mdqr._functions import comparison, filled, reductions
from mdqr._functions.creation import asarray
from mdqr._functions.manipulation.axes import flip, operand
from mdqr._functions.manipulation.selection import integers
from mdqr._functions.ordering.sorting import searchsorted
from mdqr._functions.sequences import linspace
from mdqr._limbs import planes
from mdqr._limbs.device import host_block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import Places, PrecisionLike, Side


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
        found = _sums(places, factors.ravel()[inside], len(edges) - 1)
    return (found / reductions.sum(found) / (edges[1:] - edges[:-1]) if density else found), edges


@with_precision
@documented(histogram)
def histogram_bin_edges(
    a: Any,
    /,
    bins: Any = 10,
    range: tuple[Any, Any] | None = None,
    weights: Any = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the edges that `mdqr.histogram` takes.

    Parameters
    ----------
    weights : array_like, optional
        NumPy's; of no effect here.

    Returns
    -------
    MDArray
        The edges.

    >>> mdqr.histogram_bin_edges(mdqr.array([1, 3], precision=mdqr.qd), 2).to_numpy()
    array([1., 2., 3.])
    """
    given = operand(a).ravel()
    if given.is_complex or isinstance(bins, str):
        raise TypeError("histogram is of real values, with a number of intervals or their edges")
    return _edges(given, bins, range)


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> MDArray:
    """Return the sum of the weights of each integer.

    Parameters
    ----------
    x : array_like of int
        Integers that are not negative, a vector.
    weights : MDArray
        As many values. `numpy.bincount` counts without them.
    minlength : int, optional
        The least length of the result.

    Returns
    -------
    MDArray
        A vector; sums as in `mdqr.sum`.

    Raises
    ------
    TypeError
        If `weights` is not an `MDArray`.
    ValueError
        If integers are negative, or the numbers of weights and integers differ.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.bincount([0, 2, 2], mdqr.array([1, 2, "0.5"], precision=mdqr.qd)).to_numpy()
    array([1. , 0. , 2.5])
    """
    if not isinstance(weights, ArrayBase):
        raise TypeError("bincount sums MDArrays; numpy.bincount counts integers without weights")
    factors = operand(weights)
    places = integers(x, factors._block)
    if places.shape != factors.shape or places.ndim != 1:
        raise ValueError(
            f"bincount needs vectors of one length; got {places.shape} and {factors.shape}"
        )
    if places.size and int(places.min()) < 0:
        raise ValueError("bincount needs integers that are not negative")
    count = int(places.max()) + 1 if places.size else 0
    return _sums(places, factors, max(count, operator.index(minlength)))


@with_precision
def digitize(
    x: Any, bins: Any, /, right: bool = False, *, precision: PrecisionLike | None = None
) -> Places:
    """Return the numbers of the intervals in which values lie; 0 in front of the first edge.

    Parameters
    ----------
    x : MDArray or array_like
        The values, compared with the edges exactly.
    bins : MDArray or array_like
        The edges, a vector that increases or decreases.
    right : bool, optional
        True if an interval has its right edge, not its left one.

    Returns
    -------
    numpy.ndarray or numpy.int64
        Integers of the shape of `x`; of CuPy on a GPU.

    Raises
    ------
    ValueError
        If `bins` is not a vector in order.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.digitize(mdqr.array(["0.1", 2], precision=mdqr.qd), ["0.1", 1])
    array([1, 2])
    """
    ops = promote(x, bins)
    values, edges = (ops.wrap(block) for block in ops.full_blocks())
    if edges.ndim != 1:
        raise ValueError(f"digitize needs a vector of edges; got shape {edges.shape}")
    falls = bool((edges[:-1] > edges[1:]).any())
    if falls and not bool((edges[:-1] >= edges[1:]).all()):
        raise ValueError("digitize needs edges that increase or decrease")
    side: Side = "left" if right else "right"
    if falls:
        return len(edges) - searchsorted(flip(edges), values, side)
    return searchsorted(edges, values, side)


def histogramdd(
    sample: Any,
    /,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[MDArray | Places, tuple[MDArray, ...]]:
    """Count points between edges in several dimensions.

    Parameters
    ----------
    sample : MDArray or sequence of array_like
        The points, of shape ``(count, dimensions)``, or a sequence of their coordinates.
    bins : int or sequence, optional
        As in `mdqr.histogram`, or so for each dimension.
    range : sequence of pairs, optional
        As in `mdqr.histogram`, for each dimension, or None.
    density : bool, optional
        True to divide the counts by their sum and by the volumes.
    weights : array_like, optional
        The weights of the points.

    Returns
    -------
    counts : numpy.ndarray or MDArray
        As in `mdqr.histogram`, with an axis for each dimension.
    edges : tuple of MDArray
        The edges of each dimension.

    Raises
    ------
    ValueError
        As in `mdqr.histogram`, or if the numbers of dimensions differ.
    TypeError
        If values are complex.

    Examples
    --------
    >>> import mdqr
    >>> points = mdqr.array([[0, 0], [1, 1], [1, 0]], precision=mdqr.qd)
    >>> mdqr.histogramdd(points, bins=2)[0].tolist()
    [[1, 0], [1, 1]]
    """
    points = operand(sample)
    points = points.T if isinstance(sample, ArrayBase) else points
    if points.is_complex or points.ndim != 2:
        raise TypeError(f"histogramdd needs real points (count, dimensions); got {points.shape}")
    each = [bins] * len(points) if _is_number(bins) else list(bins)
    limits = [None] * len(points) if range is None else list(range)
    if len(each) != len(points) or len(limits) != len(points):
        raise ValueError(f"points have {len(points)} dimensions; got {len(each)} numbers of bins")
    edges = tuple(map(_edges, points, each, limits))
    shape = tuple(len(x) - 1 for x in edges)
    xp = planes.namespace(points._block)
    inside = xp.ones(points.shape[1], dtype=bool)
    flat = xp.zeros(points.shape[1], dtype=np.int64)
    for values, ends in zip(points, edges, strict=True):
        inside &= (values >= ends[0]) & (values <= ends[-1])
        place = (searchsorted(ends, values, side="right") - 1).clip(0, len(ends) - 2)
        flat = flat * (len(ends) - 1) + place
    count = int(np.prod(shape))
    if weights is None and not density:
        return xp.bincount(flat[inside], minlength=count).reshape(shape), edges
    given = points.precision, points.device
    factors = filled.ones(points.shape[1], precision=given[0], device=given[1])
    if weights is not None:
        factors = asarray(weights, precision=given[0], device=given[1]).ravel()
    found = _sums(flat[inside], factors[inside], count).reshape(shape)
    if density:
        found = found / reductions.sum(found)
        for i, ends in enumerate(edges):
            widths = ends[1:] - ends[:-1]
            found = found / widths.reshape([-1 if i == j else 1 for j in np.arange(len(edges))])
    return found, edges


@documented(histogramdd)
def histogram2d(
    x: Any,
    y: Any,
    /,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[MDArray | Places, MDArray, MDArray]:
    """Count points of the plane between edges.

    Parameters
    ----------
    x, y : MDArray or array_like
        The coordinates, vectors of one length.
    bins : int, array_like or pair, optional
        As in `mdqr.histogram`, for both coordinates or each.

    Returns
    -------
    counts : numpy.ndarray or MDArray
        As in `mdqr.histogram`, of shape ``(nx, ny)``.
    xedges, yedges : MDArray
        The edges.

    >>> x = mdqr.array([0, 1, 1], precision=mdqr.qd)
    >>> mdqr.histogram2d(x, [0, 1, 0], bins=2)[0].tolist()
    [[1, 0], [1, 1]]
    """
    if not _is_number(bins) and len(bins) != 2:
        bins = [bins, bins]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


def _is_number(bins: Any) -> bool:
    return not isinstance(bins, (ArrayBase, np.ndarray, list, tuple))


def _sums(places: Any, factors: MDArray, count: int) -> MDArray:
    """Return sums of values by their numbers; groups of one size are summed at once."""
    found = filled.zeros(
        count, precision=factors.precision, dtype=factors.dtype, device=factors.device
    )
    places = host_block(places)
    order = places.argsort(kind="stable")
    sizes = np.bincount(places, minlength=count)
    starts = sizes.cumsum() - sizes
    for size in np.unique(sizes[sizes > 0]).tolist():
        (chosen,) = np.nonzero(sizes == size)
        rows = factors[order[starts[chosen][:, None] + np.arange(size)]]
        found[chosen] = reductions.sum(rows, -1)
    return found


def _edges(given: MDArray, bins: Any, limits: tuple[Any, Any] | None) -> MDArray:
    """Return the edges; raises as `histogram`."""
    if not _is_number(bins):
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
