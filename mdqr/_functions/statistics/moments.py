"""Variances and the functions that use them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Literal, overload

from mdqr._core.axes import Axis, counted_axes, counted_axis, is_only_axis
from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import REDUCTION, documented
from mdqr._errors import warn_caller
from mdqr._functions import elementwise, reductions
from mdqr._functions.manipulation.axes import operand
from mdqr._functions.manipulation.joining import vstack
from mdqr._functions.manipulation.shapes import broadcast_to
from mdqr._functions.matrices import diag
from mdqr._functions.rounding import clip

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
@documented(REDUCTION)
def var(
    a: Any,
    /,
    axis: Axis = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    mean: Any = None,
    correction: float | None = None,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the variance: the sum of the squared distances from the mean, divided by a number.

    In two passes: the mean, then the distances from it.

    Parameters
    ----------
    a : MDArray or array_like
        The values; of complex ones the squares are of magnitudes.
    ddof : float, optional
        What is taken from the number of values to divide by: 1 for samples.
    mean : MDArray, optional
        The means, where they are known, with axes of length 1 for those that are reduced.
    correction : float, optional
        Name of `ddof` in the array API.

    Returns
    -------
    MDArray
        Real; NaN and a RuntimeWarning if the divisor is not positive. Of K values the relative
        error is about ``(K + 12) * eps``, and the error of the mean counts by its square.

    Raises
    ------
    ValueError
        If both `ddof` and `correction` are given.

    >>> float(mdqr.var(mdqr.array([1, 2, 3, 4], precision=mdqr.qd)))
    1.25
    """
    if correction is not None:
        if ddof:
            raise ValueError("ddof and correction are one thing; give one of them")
        ddof = correction
    given = operand(a)
    places = () if is_only_axis(axis, given.ndim) else counted_axes(axis, given.ndim)
    count = prod(given.shape[i] for i in places)
    if count <= ddof:
        warn_caller(RuntimeWarning("variance of too few values for ddof"))
        if not count:
            return reductions.sum(given.real, places, keepdims=keepdims) / 0.0
    if mean is None:
        mean = reductions.sum(given, places, keepdims=True) / count
    distances = squares(elementwise.subtract(given, mean))
    return reductions.sum(distances, places, keepdims=keepdims) / max(count - ddof, 0)


@with_precision
@documented(var)
def std(
    a: Any,
    /,
    axis: Axis = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    mean: Any = None,
    correction: float | None = None,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the standard deviation, the square root of the variance.

    Returns
    -------
    MDArray
        Real.

    >>> float(mdqr.std(mdqr.array([1, 3, 1, 3], precision=mdqr.qd)))
    1.0
    """
    options = {"ddof": ddof, "keepdims": keepdims, "mean": mean, "correction": correction}
    return elementwise.sqrt(var(a, axis, **options))


@overload
def average(
    a: Any,
    /,
    axis: int | None = None,
    weights: Any = None,
    returned: Literal[False] = False,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray: ...


@overload
def average(
    a: Any,
    /,
    axis: int | None = None,
    weights: Any = None,
    *,
    returned: Literal[True],
    precision: PrecisionLike | None = None,
) -> tuple[MDArray, MDArray]: ...


@with_precision
@documented(REDUCTION)
def average(
    a: Any,
    /,
    axis: int | None = None,
    weights: Any = None,
    returned: bool = False,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray | tuple[MDArray, MDArray]:
    """Return the mean of values that count differently.

    Parameters
    ----------
    axis : int, optional
        The axis; all values by default.
    weights : array_like, optional
        How much values count: of the shape of `a`, or one number for each place along the axis.
    returned : bool, optional
        Whether to return the sums of the weights, too.

    Returns
    -------
    MDArray or tuple of MDArray
        The means, and the sums of weights on request.

    Raises
    ------
    ValueError
        If the weights have another shape.
    ZeroDivisionError
        If the weights of a mean sum up to zero.

    >>> float(mdqr.average(mdqr.array([1, 4], precision=mdqr.qd), weights=[2, 1]))
    2.0
    """
    ops = promote(a, 1.0 if weights is None else weights)
    given, factors = map(ops.wrap, ops.full_blocks())
    if weights is not None and factors.shape != given.shape:
        if axis is None or factors.shape != (given.shape[counted_axis(axis, given.ndim)],):
            raise ValueError(
                f"weights have the shape of the values, {given.shape}, or are a vector along the "
                f"axis; got shape {factors.shape}"
            )
        place = counted_axis(axis, given.ndim)
        factors = factors.reshape([-1 if i == place else 1 for i in range(given.ndim)])
    spread = broadcast_to(factors, given.shape)
    total = reductions.sum(spread, axis)
    if weights is not None and bool((total == 0).any()):
        raise ZeroDivisionError("weights sum up to zero; there is no mean")
    mean = reductions.sum(given * spread, axis) / total
    return (mean, total) if returned else mean


@with_precision
def cov(
    m: Any,
    /,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    *,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the covariances of variables.

    Parameters
    ----------
    m : MDArray or array_like
        At most two axes; each row is a variable and each column an observation.
    y : MDArray or array_like, optional
        More variables.
    rowvar : bool, optional
        False: each column is a variable.
    bias : bool, optional
        Whether to divide by the number of observations, not by one less.
    ddof : float, optional
        What is taken from the number of observations, instead of `bias`.

    Returns
    -------
    MDArray
        A matrix, 0-d for one variable.

    Raises
    ------
    ValueError
        If the array has more than two axes.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.cov(mdqr.array([[1, 2, 3], [3, 2, 1]], precision=mdqr.qd)).to_numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    ops = promote(m) if y is None else promote(m, y)
    given = map(ops.wrap, ops.full_blocks())
    rows = [x if rowvar or x.ndim < 2 else x.T for x in given]
    if any(x.ndim > 2 for x in rows):
        raise ValueError(f"cov needs at most two axes; got {[x.ndim for x in rows]}")
    variables = vstack(rows)
    count = variables.shape[1]
    taken = ddof if ddof is not None else 0 if bias else 1
    distances = variables - reductions.mean(variables, 1, keepdims=True)
    conjugated = elementwise.conj(distances.T)
    found = reductions.dot(distances, conjugated) / max(count - taken, 0)
    return found._reshaped(()) if found.size == 1 else found


@with_precision
def corrcoef(
    x: Any, /, y: Any = None, rowvar: bool = True, *, precision: PrecisionLike | None = None
) -> MDArray:
    """Return the correlation coefficients of variables.

    Parameters
    ----------
    x : MDArray or array_like
        At most two axes; each row is a variable and each column an observation.
    y : MDArray or array_like, optional
        More variables.
    rowvar : bool, optional
        False: each column is a variable.

    Returns
    -------
    MDArray
        A matrix with real and imaginary parts of at most 1; 1 itself, 0-d, for one variable. NaN
        for variables that do not vary.

    Raises
    ------
    ValueError
        If the array has more than two axes.

    Notes
    -----
    The covariances of `mdqr.cov`, divided by the square roots of those on the diagonal: each
    has its error, relative to both deviations, and at most ``8 * eps`` more.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.corrcoef(mdqr.array([[1, 2, 3], [3, 2, 1]], precision=mdqr.qd)).to_numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    variances = diag(found).real
    for deviations in (elementwise.sqrt(variances)[:, None], elementwise.sqrt(variances)):
        found = found / deviations
    if not found.is_complex:
        return clip(found, -1.0, 1.0)
    found.real[...] = clip(found.real, -1.0, 1.0)
    found.imag[...] = clip(found.imag, -1.0, 1.0)
    return found


@with_precision
@documented(REDUCTION)
def ptp(
    a: Any,
    /,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    precision: PrecisionLike | None = None,
) -> MDArray:
    """Return the range of values: the largest less the smallest.

    Raises
    ------
    ValueError
        If no values are given.

    >>> float(mdqr.ptp(mdqr.array([3, 1, 7], precision=mdqr.qd)))
    6.0
    """
    largest = reductions.extreme("max", a, axis, keepdims=keepdims)
    return largest - reductions.extreme("min", a, axis, keepdims=keepdims)


def squares(x: MDArray) -> MDArray:
    """Return the squared magnitudes, real."""
    if not x.is_complex:
        return elementwise.square(x)
    return elementwise.square(x.real) + elementwise.square(x.imag)
