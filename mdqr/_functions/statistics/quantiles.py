"""Values by their rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.axes import Axis, counted_axes, is_only_axis
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import precisions_in, unwrapped
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REDUCTION, documented
from mdqr._errors import shown
from mdqr._functions import comparison, elementwise
from mdqr._functions.creation import asarray
from mdqr._functions.manipulation.axes import moveaxis, operand
from mdqr._functions.ordering.sorting import sort

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike, QuantileMethod

# The rank between two places, by the part of the way.
_METHODS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda part: part,
    "lower": lambda part: part * 0,
    "higher": elementwise.ceil,
    "midpoint": lambda part: elementwise.ceil(part) / 2,
}


@with_precision
@documented(REDUCTION)
def quantile(
    a: Any,
    /,
    q: Any,
    axis: Axis = None,
    *,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return values below which given parts of the values lie.

    Parameters
    ----------
    a : MDArray or array_like
        Real values.
    q : MDArray or array_like
        The parts, from 0 to 1; strings such as ``"0.1"`` are read as decimal numbers.
    method : {"linear", "lower", "higher", "midpoint", "nearest"}, optional
        What is returned between two values.

    Returns
    -------
    MDArray
        The axes of `q`, then the remaining axes of `a`. NaN where a value is NaN.

    Raises
    ------
    ValueError
        If no values are given, a part lies outside of 0 to 1, or the method does not exist.
    TypeError
        If the values are complex.

    >>> mdqr.quantile(mdqr.arange(5, precision=mdqr.qd), [0.25, 0.625]).to_numpy()
    array([1. , 2.5])
    """
    return _quantile(*operands(a, q), axis, method, keepdims)


@with_precision
@documented(quantile)
def percentile(
    a: Any,
    /,
    q: Any,
    axis: Axis = None,
    *,
    method: QuantileMethod = "linear",
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return values below which given percentages of the values lie.

    Parameters
    ----------
    q : MDArray or array_like
        The percentages, from 0 to 100.

    >>> float(mdqr.percentile(mdqr.arange(5, precision=mdqr.qd), 75))
    3.0
    """
    return _quantile(*operands(a, q), axis, method, keepdims, whole=100)


@with_precision
@documented(REDUCTION)
def median(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the middle value, or the mean of the two in the middle.

    Parameters
    ----------
    a : MDArray or array_like
        The values; complex ones in lexicographic order.

    Returns
    -------
    MDArray
        NaN where a value is NaN.

    Raises
    ------
    ValueError
        If no values are given.

    >>> float(mdqr.median(mdqr.array([5, 1, 2], precision=mdqr.qd)))
    2.0
    """
    given = operand(a)
    half = asarray(0.5, precision=given.precision, device=given.device)
    return _quantile(given, half, axis, "linear", keepdims)


def operands(a: Any, q: Any) -> tuple[MDArray, MDArray]:
    """Return values and parts as arrays."""
    given = _real(a, q)
    return given, _beside(given, q)


def _real(a: Any, q: Any) -> MDArray:
    """Return the values as a real array, of the precision of the parts if they have none."""
    lacks = isinstance(q, ArrayBase) and not precisions_in(unwrapped(a))
    given = asarray(a, precision=q.precision, device=q.device) if lacks else operand(a)
    if given.is_complex:
        raise TypeError("quantiles are of real values; take a.real and a.imag")
    return given


def _beside(a: MDArray, q: Any) -> MDArray:
    """Return parts as an array: of their own precision, or of that of `a` where it lives."""
    return asarray(q) if precisions_in(q) else asarray(q, precision=a.precision, device=a.device)


def _quantile(
    a: MDArray, q: MDArray, axis: Axis, method: str, keepdims: bool, whole: int = 1
) -> MDArray:
    """Return quantiles of the parts ``q / whole``.

    Places among the values have twice the limbs of `q`, if a precision has them: of those in front
    of the point none are lost behind it.
    """
    if method not in (*_METHODS, "nearest"):
        raise ValueError(f"method is one of {[*_METHODS, 'nearest']}; got {shown(method)}")
    if not bool(((q >= 0) & (q <= whole)).all()):
        raise ValueError(f"parts lie between 0 and 1, percentages between 0 and 100; got {q}")
    reduced = () if is_only_axis(axis, a.ndim) else counted_axes(axis, a.ndim)
    kept = [i for i in range(a.ndim) if i not in reduced]
    rows = a.transpose(*kept, *reduced).reshape(
        [*(a.shape[i] for i in kept), int(np.prod([a.shape[i] for i in reduced], dtype=int))]
    )
    count = rows.shape[-1]
    if not count:
        raise ValueError(f"there are no values to choose from: axis {axis} of shape {a.shape}")
    ordered = sort(rows, -1)
    position = q.astype(q.precision.next) * (count - 1) / whole
    if method == "nearest":
        position = elementwise.rint(position)
    low = elementwise.floor(position)
    part = _METHODS.get(method, _METHODS["linear"])((position - low).astype(q.precision))
    place = low.limbs[0].astype(np.int64)  # small integers have one limb
    below = ordered[..., place]
    above = ordered[..., (place + 1).clip(0, count - 1)]
    # Nothing lies between, or all of it at -inf: no difference of infinities.
    level = (below == above) | (part == 0)
    level |= comparison.isinf(below) & comparison.isfinite(above)
    span = comparison.where(level, 0, above - below)
    values = below + part * span
    half = above / 2 - below / 2
    is_wide = comparison.isinf(span) & comparison.isfinite(half)
    values = comparison.where(is_wide, 2 * (below / 2 + part * half), values)
    largest = ordered[..., -1].reshape(rows.shape[:-1] + (1,) * q.ndim)
    values = comparison.where(comparison.isnan(largest), largest, values)
    values = moveaxis(values, tuple(range(len(kept), len(kept) + q.ndim)), tuple(range(q.ndim)))
    if keepdims:
        left = [1 if i in reduced else n for i, n in enumerate(a.shape)]
        return values.reshape([*q.shape, *left])
    return values
