"""Exponentials, logarithms and the cube root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._functions.elementary.calls import unary

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def exp(x: Any) -> MDArray:
    """Return the exponential function of each element.

    Parameters
    ----------
    x : MDArray
        The values, real or complex.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps``; complex
        ``10 * eps`` normwise.

    Notes
    -----
    Overflow gives infinity, underflow zero; ``exp(-inf)`` is 0.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.exp(mdqr.qd(0)))
    1.0
    """
    return unary("exp", x)


def exp2(x: Any) -> MDArray:
    """Return two to the power of each element.

    Parameters
    ----------
    x : MDArray
        The values, real or complex.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps``; complex
        ``10 * eps`` normwise.

    Notes
    -----
    Powers of two come out exactly. Overflow gives infinity, underflow zero. Complex values are
    taken as ``exp(x * log(2))``: the bound holds while the imaginary part is below ``2**30``.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.exp2(mdqr.qd(10)))
    1024.0
    """
    return unary("exp2", x)


def expm1(x: Any) -> MDArray:
    """Return ``exp(x) - 1``, accurate also where `x` is near zero.

    Parameters
    ----------
    x : MDArray
        The values, real or complex.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps``; complex
        ``10 * eps`` normwise.

    Notes
    -----
    Overflow gives infinity; ``expm1(-inf)`` is -1.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.expm1(mdqr.qd("1e-30")))
    1e-30
    """
    return unary("expm1", x)


def log(x: Any) -> MDArray:
    """Return the natural logarithm.

    Parameters
    ----------
    x : MDArray
        The values, real or complex.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps``; complex
        ``10 * eps`` normwise.

    Notes
    -----
    Zero gives ``-inf`` and a negative real value NaN; complex values have the principal branch,
    whose imaginary part lies in ``[-pi, pi]``, with the cut along the negative real axis.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.log(mdqr.qd(1)))
    0.0
    """
    return unary("log", x)


def log2(x: Any) -> MDArray:
    """Return the logarithm to base two.

    Parameters
    ----------
    x : MDArray
        The values, real or complex.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps``; complex
        ``10 * eps`` normwise.

    Notes
    -----
    Of powers of two it is exact. Zero gives ``-inf`` and a negative real value NaN; branches as
    in `mdqr.log`.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.log2(mdqr.qd(8)))
    3.0
    """
    return unary("log2", x)


def log10(x: Any) -> MDArray:
    """Return the logarithm to base ten.

    Parameters
    ----------
    x : MDArray
        The values, real or complex.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps``; complex
        ``10 * eps`` normwise.

    Notes
    -----
    Of powers of ten that are no more than a precision holds it is exact. Zero gives ``-inf`` and
    a negative real value NaN; branches as in `mdqr.log`.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.log10(mdqr.qd(1000)))
    3.0
    """
    return unary("log10", x)


def log1p(x: Any) -> MDArray:
    """Return ``log(1 + x)``, accurate also where `x` is near zero.

    Parameters
    ----------
    x : MDArray
        The values, real or complex.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps``; complex
        ``10 * eps`` normwise.

    Notes
    -----
    -1 gives ``-inf`` and a smaller real value NaN; branches as in `mdqr.log`.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.log1p(mdqr.qd("1e-30")))
    1e-30
    """
    return unary("log1p", x)


def cbrt(x: Any) -> MDArray:
    """Return the cube root, negative for negative values.

    Parameters
    ----------
    x : MDArray
        Real values.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps``.

    Raises
    ------
    TypeError
        If `x` is complex.

    Notes
    -----
    Cubes of values with a third of the digits come out exactly.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.cbrt(mdqr.qd(-27)))
    -3.0
    """
    return unary("cbrt", x)
