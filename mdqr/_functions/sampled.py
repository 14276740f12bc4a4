"""Functions known at points: differences, integrals, values between, convolutions."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mdqr._core.axes import counted_axes, counted_axis
from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import documented
from mdqr._errors import shown
from mdqr._functions import comparison, elementwise, filled, reductions
from mdqr._functions.manipulation.axes import flip, moveaxis, operand
from mdqr._functions.ordering.sorting import argsort, searchsorted
from mdqr._functions.sequences import concatenate
from mdqr._limbs import planes
from mdqr._limbs.device import host_block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
def diff(
    a: Any,
    /,
    n: int = 1,
    axis: int = -1,
    prepend: Any = None,
    append: Any = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return differences of neighbours.

    Parameters
    ----------
    a : MDArray or array_like
        The values, of at least one axis.
    n : int, optional
        How often differences are taken.
    axis : int, optional
        The axis.
    prepend, append : array_like, optional
        Values before and behind `a`; scalars count as one entry along the axis.

    Returns
    -------
    MDArray
        Shorter by `n` along the axis; each difference within ``2 * eps``.

    Raises
    ------
    ValueError
        If `n` is negative, `a` is 0-d, or the axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.diff(mdqr.array([1, 4, 9, 16], precision=mdqr.qd)).to_numpy()
    array([3., 5., 7.])
    """
    given = operand(a)
    if n < 0:
        raise ValueError(f"n must not be negative; got {n}")
    if not given.ndim:
        raise ValueError("diff needs at least one axis; got a 0-d array")
    if n == 0:
        return given
    place = counted_axis(axis, given.ndim)
    ends = [_end(prepend, given, place), given, _end(append, given, place)]
    joined = [x for x in ends if x is not None]
    values = concatenate(joined, place) if len(joined) > 1 else given
    rows = moveaxis(values, place, -1)
    for _ in range(operator.index(n)):
        rows = elementwise.subtract(rows[..., 1:], rows[..., :-1])
    return moveaxis(rows, -1, place)


def ediff1d(ary: Any, /, to_end: Any = None, to_begin: Any = None) -> MDArray:
    """Return the differences of neighbours of the flattened array.

    Parameters
    ----------
    ary : MDArray
        The values.
    to_end, to_begin : array_like, optional
        Values put behind and in front of the differences, of one axis or 0-d.

    Returns
    -------
    MDArray
        A vector; each difference within ``2 * eps``.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.ediff1d(mdqr.array([1, 4, 9], precision=mdqr.qd), to_begin=0).to_numpy()
    array([0., 3., 5.])
    """
    parts = [to_begin, diff(operand(ary).ravel()), to_end]
    ops = promote(*(x for x in parts if x is not None))
    return concatenate([ops.wrap(block).ravel() for block in ops.full_blocks()])


def _end(x: Any, a: MDArray, place: int) -> Any:
    """Return values beside those of `a`, with its axes."""
    if x is None:
        return None
    values = promote(x, a)
    end = values.wrap(values.full_blocks()[0])
    if end.ndim:
        return end
    shape = [1 if i == place else n for i, n in enumerate(a.shape)]
    return filled.full(shape, end)


@with_precision
def trapezoid(
    y: Any,
    /,
    x: Any = None,
    dx: Any = 1.0,
    axis: int = -1,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the integral by the trapezoidal rule.

    Parameters
    ----------
    y : MDArray or array_like
        The values.
    x : MDArray or array_like, optional
        The points, a vector or of the shape of `y`.
    dx : scalar, optional
        The distance of points that are not given.
    axis : int, optional
        The axis.

    Returns
    -------
    MDArray
        The integrals along the axis.

    Raises
    ------
    ValueError
        If the shapes do not fit, or the axis does not exist.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.trapezoid(mdqr.array([1, 2, 3], precision=mdqr.qd)))
    4.0
    """
    ops = promote(y, dx if x is None else x)
    values, points = (ops.wrap(block) for block in ops.full_blocks())
    place = counted_axis(axis, values.ndim)
    rows = moveaxis(values, place, -1)
    if x is not None:
        points = diff(points if points.ndim == 1 else moveaxis(points, place, -1))
    sums = elementwise.add(rows[..., 1:], rows[..., :-1])
    return reductions.sum(points * sums, -1) / 2


@with_precision
def gradient(
    f: Any,
    /,
    *varargs: Any,
    axis: Any = None,
    edge_order: int = 1,
    precision: PrecisionLike | None = None,
) -> MDArray | tuple[MDArray, ...]:
    """Return derivatives by differences of second order inside, of `edge_order` at the ends.

    Parameters
    ----------
    f : MDArray or array_like
        Values at points of a grid.
    *varargs : scalar or array_like, optional
        The distance of points, one for all axes or one for each; or the coordinates of points.
    axis : int or tuple of int, optional
        Along which axes; all by default.
    edge_order : {1, 2}, optional
        The order at the ends.

    Returns
    -------
    MDArray or tuple of MDArray
        Of the shape of `f`; one array for each of several axes.

    Raises
    ------
    ValueError
        If the points are too few, or coordinates do not fit.
    TypeError
        If the number of distances fits neither.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.gradient(mdqr.array([0, 1, 4, 9], precision=mdqr.qd), edge_order=2).to_numpy()
    array([0., 2., 4., 6.])
    """
    given = operand(f)
    places = counted_axes(axis, given.ndim)
    steps = varargs * len(places) if len(varargs) == 1 else varargs or (1.0,) * len(places)
    if len(steps) != len(places):
        raise TypeError(f"{len(places)} distances are wanted, or one; got {len(varargs)}")
    if edge_order not in (1, 2):
        raise ValueError(f"edge_order is 1 or 2; got {edge_order}")
    pairs = zip(places, steps, strict=True)
    found = tuple(_derivative(given, place, step, edge_order) for place, step in pairs)
    return found[0] if len(found) == 1 else found


def _derivative(f: MDArray, place: int, step: Any, edge_order: int) -> MDArray:
    rows, length = moveaxis(f, place, -1), f.shape[place]
    if length < edge_order + 1:
        raise ValueError(f"at least {edge_order + 1} points are wanted; axis {place} has {length}")
    points = promote(f, step)
    spacing = points.wrap(points.full_blocks()[1])
    if spacing.ndim and spacing.shape != (length,):
        raise ValueError(f"{length} coordinates are wanted; got shape {spacing.shape}")
    h = diff(spacing) if spacing.ndim else spacing + filled.zeros_like(rows[(0,) * f.ndim].real)
    # Slopes between neighbours; inside, those of both sides by the length of the other one.
    slopes = diff(rows) / h
    if h.ndim:
        left, right = h[:-1], h[1:]
        inside = (right * slopes[..., :-1] + left * slopes[..., 1:]) / (left + right)
    else:  # the value in the middle does not count
        inside = (rows[..., 2:] - rows[..., :-2]) / (h + h)
    first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:
        near, far = (h[:2], h[-2:]) if h.ndim else ((h, h), (h, h))
        first = first - near[0] * (slopes[..., 1:2] - first) / (near[0] + near[1])
        last = last + far[1] * (last - slopes[..., -2:-1]) / (far[0] + far[1])
    return moveaxis(concatenate([first, inside, last], -1), -1, place)


@with_precision
def interp(
    x: Any,
    xp: Any,
    fp: Any,
    /,
    left: Any = None,
    right: Any = None,
    period: Any = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return values between points, by straight lines.

    Parameters
    ----------
    x : MDArray or array_like
        Points of evaluation; real.
    xp : MDArray or array_like
        The points, increasing; a vector.
    fp : MDArray or array_like
        The values at the points.
    left, right : scalar, optional
        The values below the first and above the last point; by default those at these points.
    period : scalar, optional
        The period of the function, if it has one; points need not be in order then.

    Returns
    -------
    MDArray
        Of the shape of `x`.

    Raises
    ------
    ValueError
        If no points are given, `xp` and `fp` are not vectors of one length, or `period` is 0.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.interp([0.5, 5.0], mdqr.arange(3, precision=mdqr.qd), [0, 10, 40]).to_numpy()
    array([ 5., 40.])
    """
    ops = promote(x, xp, fp)
    wanted, points, values = (ops.wrap(block) for block in ops.full_blocks())
    if points.ndim != 1 or points.shape != values.shape or not points.size:
        raise ValueError(f"xp and fp are vectors; got shapes {points.shape} and {values.shape}")
    wanted, points = wanted.real, points.real
    values = values if getattr(fp, "is_complex", np.iscomplexobj(fp)) else values.real
    if period is not None:
        step = abs(elementwise.add(filled.zeros_like(points[0]), period))
        wanted, points, values = _unrolled(wanted, points, values, step)
    place = (searchsorted(points, wanted, side="right") - 1).clip(0, max(points.size - 2, 0))
    behind = (place + 1).clip(0, points.size - 1)
    start, stop = points[place], points[behind]
    slope = (values[behind] - values[place]) / comparison.where(stop == start, 1, stop - start)
    found = values[place] + slope * (wanted - start)
    # Beside a point at infinity there is no line: the value at the other point, or at both.
    found = comparison.where(
        comparison.isnan(found), values[behind] + slope * (wanted - stop), found
    )
    is_level = (values[place] == values[behind]) & ~comparison.isnan(wanted)
    found = comparison.where((wanted == start) | is_level, values[place], found)
    found = comparison.where(wanted == stop, values[behind], found)
    found = comparison.where(wanted < points[0], values[0] if left is None else left, found)
    return comparison.where(wanted > points[-1], values[-1] if right is None else right, found)


def _unrolled(x: MDArray, points: MDArray, values: MDArray, step: MDArray) -> tuple[Any, ...]:
    """Return `x` in one period, and points in order from before it to behind it."""
    if bool(step == 0):
        raise ValueError("the period must not be zero")
    points = points - step * elementwise.floor(points / step)
    order = argsort(points)
    points, values = points[order], values[order]
    around = concatenate([points[-1:] - step, points, points[:1] + step])
    return (
        x - step * elementwise.floor(x / step),
        around,
        concatenate([values[-1:], values, values[:1]]),
    )


@with_precision
def convolve(
    a: Any,
    v: Any,
    /,
    mode: Literal["full", "same", "valid"] = "full",
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the convolution of two vectors: the coefficients of the product of polynomials.

    Parameters
    ----------
    a, v : MDArray or array_like
        Vectors.
    mode : {"full", "same", "valid"}, optional
        All sums, as many as the longer vector has values, or the sums that have all values of the
        shorter.

    Returns
    -------
    MDArray
        Of K products each: ``|error| <= (K + 8) * eps * sum(|a| |v|)``.

    Raises
    ------
    ValueError
        If a vector is empty or has other axes, or `mode` is none of the three.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.convolve(mdqr.array([1, 1], precision=mdqr.qd), [1, 2, 1]).to_numpy()
    array([1., 3., 3., 1.])
    """
    ops = promote(a, v)
    long, short = (ops.wrap(block).reshape(-1) for block in ops.full_blocks())
    if any(len(ops.wrap(block).shape) > 1 for block in ops.blocks) or not (
        long.size and short.size
    ):
        raise ValueError("convolve needs two vectors with values")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f'mode is "full", "same" or "valid"; got {shown(mode)}')
    if long.size < short.size:
        long, short = short, long
    far = np.flatnonzero(~host_block(comparison.isfinite(short))).tolist()
    finite = short.copy()
    finite[far] = 0
    edge = filled.zeros_like(long[:1].copy()[[0] * (short.size - 1)])
    padded = concatenate([edge, long, edge])._block
    count = long.size + short.size - 1
    windows = planes.namespace(padded).lib.stride_tricks.sliding_window_view(padded, short.size, -1)
    full = reductions.dot(long._like(windows), flip(finite).copy())
    for place in far:  # these must not meet the zeros at the edges
        full[place : place + long.size] += short[place] * long
    if mode == "full":
        return full
    kept = long.size if mode == "same" else long.size - short.size + 1
    start = (count - kept) // 2
    return full[start : start + kept]


@with_precision
@documented(convolve)
def correlate(
    a: Any,
    v: Any,
    /,
    mode: Literal["valid", "same", "full"] = "valid",
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the cross-correlation of two vectors, sums of ``a[n + k] * conj(v[n])``.

    >>> mdqr.correlate(mdqr.array([1, 2, 3], precision=mdqr.qd), [0, 1, 0.5], "full").to_numpy()
    array([0.5, 2. , 3.5, 3. , 0. ])
    """
    ops = promote(a, v)
    x, y = (ops.wrap(block) for block in ops.full_blocks())
    if x.size < y.size and x.ndim == y.ndim == 1:
        return flip(elementwise.conj(convolve(y, flip(elementwise.conj(x)), mode)))
    return convolve(x, flip(elementwise.conj(y)) if y.ndim else y, mode)
