"""Polynomials by their coefficients, the one of the highest power first."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from mdqr._backend import for_block
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import promote
from mdqr._core.with_precision import with_precision
from mdqr._functions import matrices
from mdqr._functions.creation import asarray
from mdqr._functions.manipulation.axes import flip, moveaxis, operand
from mdqr._limbs import planes
from mdqr._precision import as_precision
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


@with_precision
def polyval(
    p: Any, x: Any, /, *, increasing: bool = False, precision: PrecisionLike | None = None
) -> MDArray:
    """Evaluate a polynomial, the coefficient of the highest power first.

    Parameters
    ----------
    p : MDArray or array_like
        The coefficients, one axis.
    x : MDArray or array_like
        Where to evaluate.
    increasing : bool, optional
        Whether the coefficient of the lowest power comes first, as the columns of
        ``mdqr.vander(x, increasing=True)``.

    Returns
    -------
    MDArray
        Of the shape of `x`. For degree n: ``|error| <= 4 * n * eps * polyval(|p|, |x|)``, complex
        ``10 * n * eps``, to first order.

    Raises
    ------
    ValueError
        If `p` does not have one axis.

    Notes
    -----
    Horner's rule.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.polyval([1, 0, -2], mdqr.qd(3)))
    7.0
    """
    ops = promote(p, x)
    coefficients, points = (ops.wrap(block) for block in ops.full_blocks())
    if coefficients.ndim != 1:
        raise ValueError(
            f"polyval needs the coefficients along one axis; got shape {coefficients.shape}"
        )
    if increasing:
        coefficients = flip(coefficients)
    value = points._like(planes.namespace(points._block).zeros(points._block.shape))
    for i in range(len(coefficients)):
        value = value * points + coefficients[i] if i else value + coefficients[i]
    return value


@with_precision
def polyder(p: Any, /, m: int = 1, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the coefficients of a derivative.

    Parameters
    ----------
    p : MDArray or array_like
        The coefficients, the one of the highest power first.
    m : int, optional
        Which derivative.

    Returns
    -------
    MDArray
        The coefficients, empty for the derivative of a constant; relative error at most
        ``2 * m * eps``.

    Raises
    ------
    ValueError
        If `p` does not have one axis, or `m` is negative.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.polyder(mdqr.array([1, 0, -2, 5], precision=mdqr.qd)).to_numpy()
    array([ 3.,  0., -2.])
    """
    given, order = operand(p), operator.index(m)
    if given.ndim != 1:
        raise ValueError(f"polyder needs the coefficients along one axis; got {given.shape}")
    if order < 0:
        raise ValueError(f"m must not be negative; got {m}")
    for _ in range(order):
        degree = given.size - 1
        powers = planes.namespace(given._block).arange(degree, 0, -1, dtype=np.float64)
        given = given[:-1] * powers
    return given


@overload
def polyfit(
    x: Any,
    y: Any,
    /,
    deg: int,
    *,
    w: Any = None,
    cov: Literal[False] = False,
    precision: PrecisionLike | None = None,
) -> MDArray: ...


@overload
def polyfit(
    x: Any,
    y: Any,
    /,
    deg: int,
    *,
    w: Any = None,
    cov: Literal[True, "unscaled"],
    precision: PrecisionLike | None = None,
) -> tuple[MDArray, MDArray]: ...


def polyfit(
    x: Any,
    y: Any,
    /,
    deg: int,
    *,
    w: Any = None,
    cov: bool | Literal["unscaled"] = False,
    precision: PrecisionLike | None = None,
) -> MDArray | tuple[MDArray, MDArray]:
    """Fit a polynomial by least squares.

    Parameters
    ----------
    x : array_like
        The points, a vector.
    y : array_like
        The values, a vector, or a matrix whose columns are fitted one by one.
    deg : int
        The degree.
    w : array_like, optional
        Weights of the distances, not of their squares: one over the standard deviation. A point of
        weight 0 does not count.
    cov : bool or "unscaled", optional
        Whether to return the covariances of the coefficients, scaled by the residuals; "unscaled":
        those for weights that are one over known standard deviations.
    precision : Precision or str, optional
        The precision of the answer; required unless `x` or `y` is an `MDArray`.

    Returns
    -------
    MDArray or tuple of MDArray
        The coefficients, the one of the highest power first, as `mdqr.linalg.lstsq` finds them with
        the weights ``w**2``. With `cov` also the covariances, of shape ``(deg + 1, deg + 1)``; if
        `y` is a matrix ``(deg + 1, deg + 1, k)`` for k columns, unscaled ``(deg + 1, deg + 1, 1)``.

    Raises
    ------
    ValueError
        If the shapes do not fit, `deg` is negative, `cov` is another text, weights are complex, not
        finite or further apart than their squares may be, or degrees of freedom are missing to
        scale the covariances.
    numpy.linalg.LinAlgError
        If the points of positive weight do not determine the polynomial.

    Warns
    -----
    PrecisionWarning, DataPrecisionWarning
        As `mdqr.linalg.lstsq`, whose `a` are the powers of the points.

    Notes
    -----
    The powers of the points and the squares of the weights are rounded to the precision before the
    fit. For the error bounds and digits of a fit call `mdqr.linalg.lstsq` with `mdqr.vander`; its
    `rtol` and `info` answer what `rcond` and `full` of `numpy.polyfit` are for.

    Examples
    --------
    >>> import mdqr
    >>> x = mdqr.arange(5, precision=mdqr.qd)
    >>> mdqr.polyfit(x, 2 * x**2 - 1, 2).to_numpy().round(30)
    array([ 2.,  0., -1.])
    """
    from mdqr.linalg._shared.caller import Caller
    from mdqr.linalg._solve.lstsq import solved_for

    degree = operator.index(deg)
    if degree < 0:
        raise ValueError(f"deg must not be negative; got {deg}")
    if cov not in (False, True, "unscaled"):
        raise ValueError(f'cov must be False, True or "unscaled"; got {cov!r}')
    target = as_precision(precision) if precision is not None else promote(x, y).precision
    place = next((v.device for v in (x, y) if isinstance(v, ArrayBase)), None)
    points, values = (asarray(v, precision=target, device=place) for v in (x, y))
    if points.ndim != 1 or values.shape[:1] != points.shape or values.ndim > 2:
        raise ValueError(
            f"polyfit needs a vector of points and as many values; got {points.shape} and "
            f"{values.shape}"
        )
    squares, exponent, count = None, 0, len(points)
    if w is not None:
        weights = asarray(w, precision=target, device=place)
        if weights.shape != points.shape:
            raise ValueError(f"as many weights as points are wanted; got shape {weights.shape}")
        squares, exponent = _squared(weights)
        count = int((squares > 0).sum())
    if count <= degree:
        raise np.linalg.LinAlgError(
            f"polyfit: {count} points{'' if w is None else ' of positive weight'} do not determine "
            f"the {degree + 1} coefficients of a polynomial of degree {degree}"
        )
    if cov and cov != "unscaled" and count == degree + 1:
        raise ValueError(
            f"polyfit: {count} points leave no degrees of freedom to scale the covariances of "
            f'{degree + 1} coefficients; cov="unscaled" is for known standard deviations'
        )
    caller = Caller("polyfit", "the matrix of powers of x", "y")
    fit = solved_for(caller, matrices.vander(points, degree + 1), values, weights=squares)
    if not cov:
        return fit.x
    if cov == "unscaled":
        unit = 2.0**-exponent if exponent > -1024 else 2.0**1023  # of the weights
        found = fit.info.covariance(scaled=False) * unit * unit
        return fit.x, found[:, :, None] if values.ndim > 1 else found
    covariance = fit.info.covariance()
    return fit.x, moveaxis(covariance, 0, -1) if values.ndim > 1 else covariance


def _squared(w: MDArray) -> tuple[MDArray, int]:
    """Return the squares of weights over ``2**exponent``, which are at most 1, and the exponent.

    Raises
    ------
    ValueError
        If the weights are complex or not finite, or a square is below the range of the precision.
    """
    if w.is_complex:
        raise ValueError("polyfit: weights must be real; got complex ones")
    largest = float(abs(w).max()) if w.size else 0.0
    if not math.isfinite(largest):
        raise ValueError("polyfit: weights must be finite")
    exponent = math.frexp(largest)[1]
    near = w._like(for_block(w._block).ldexp(w._block, -exponent))
    squares = near * near
    if bool(((w != 0) & (squares < w.precision.tiny)).any()):
        raise ValueError(
            f"polyfit: a weight is so small relative to the largest one, {largest:.1e}, that its "
            "square is below the range of the precision; leave its point out, or give it weight 0"
        )
    return squares, exponent
