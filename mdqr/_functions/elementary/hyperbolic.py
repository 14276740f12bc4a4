"""Hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._functions.elementary.calls import unary

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def sinh(x: Any) -> MDArray:
    """Return the hyperbolic sine.

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
    Overflow gives infinity.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.sinh(mdqr.qd(0)))
    0.0
    """
    return unary("sinh", x)


def cosh(x: Any) -> MDArray:
    """Return the hyperbolic cosine.

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
    Overflow gives infinity.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.cosh(mdqr.qd(0)))
    1.0
    """
    return unary("cosh", x)


def tanh(x: Any) -> MDArray:
    """Return the hyperbolic tangent.

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
    Infinities give 1 with their sign.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.tanh(mdqr.qd("inf")))
    1.0
    """
    return unary("tanh", x)


def arcsinh(x: Any) -> MDArray:
    """Return the inverse hyperbolic sine.

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
    Infinities stay. The branch cuts of complex values lie along the imaginary axis beyond -i
    and i.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.arcsinh(mdqr.qd(0)))
    0.0
    """
    return unary("arcsinh", x)


def arccosh(x: Any) -> MDArray:
    """Return the inverse hyperbolic cosine.

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
    Real values below 1 give NaN. The branch cut of complex values lies along the real axis
    below 1.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.arccosh(mdqr.qd(1)))
    0.0
    """
    return unary("arccosh", x)


def arctanh(x: Any) -> MDArray:
    """Return the inverse hyperbolic tangent.

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
    -1 and 1 give infinities, real values beyond them NaN. The branch cuts of complex values lie
    along the real axis beyond -1 and 1.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.arctanh(mdqr.qd(0)))
    0.0
    """
    return unary("arctanh", x)
