"""Trigonometric functions and their inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._functions.elementary.calls import binary, unary

if TYPE_CHECKING:
    from mdqr._array.array import MDArray


def sin(x: Any) -> MDArray:
    """Return the sine, of radians.

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
    Arguments of any size are reduced exactly. Infinities give NaN.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.sin(mdqr.qd(0)))
    0.0
    """
    return unary("sin", x)


def cos(x: Any) -> MDArray:
    """Return the cosine, of radians.

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
    Arguments of any size are reduced exactly. Infinities give NaN.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.cos(mdqr.qd(0)))
    1.0
    """
    return unary("cos", x)


def tan(x: Any) -> MDArray:
    """Return the tangent, of radians.

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
    Arguments of any size are reduced exactly. Infinities give NaN.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.tan(mdqr.qd(0)))
    0.0
    """
    return unary("tan", x)


def sinpi(x: Any) -> MDArray:
    """Return ``sin(pi * x)``.

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
    Exact where `x` is a multiple of 1/2: a zero has the sign of `x`. Infinities give NaN.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.sinpi(mdqr.qd("0.5")))
    1.0
    """
    return unary("sinpi", x)


def cospi(x: Any) -> MDArray:
    """Return ``cos(pi * x)``.

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
    Exact where `x` is a multiple of 1/2: zeros are positive. Infinities give NaN.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.cospi(mdqr.qd(1)))
    -1.0
    """
    return unary("cospi", x)


def arcsin(x: Any) -> MDArray:
    """Return the inverse sine, in ``[-pi/2, pi/2]``.

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
    Real values beyond ``[-1, 1]`` give NaN. The branch cuts of complex values lie along the real
    axis beyond -1 and 1; the sign of the imaginary part tells the side, zeros included.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.arcsin(mdqr.qd(1)) * 2 / mdqr.qd.pi)
    1.0
    """
    return unary("arcsin", x)


def arccos(x: Any) -> MDArray:
    """Return the inverse cosine, in ``[0, pi]``.

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
    Real values beyond ``[-1, 1]`` give NaN. The branch cuts of complex values lie along the real
    axis beyond -1 and 1; the sign of the imaginary part tells the side, zeros included.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.arccos(mdqr.qd(1)))
    0.0
    """
    return unary("arccos", x)


def arctan(x: Any) -> MDArray:
    """Return the inverse tangent, in ``[-pi/2, pi/2]``.

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
    Infinities give ``pi/2`` with their sign. The branch cuts of complex values lie along the
    imaginary axis beyond -i and i.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.arctan(mdqr.qd(1)) * 4 / mdqr.qd.pi)
    1.0
    """
    return unary("arctan", x)


def arctan2(y: Any, x: Any) -> MDArray:
    """Return the angles of the points ``(x, y)``, in ``[-pi, pi]``.

    Parameters
    ----------
    y, x : MDArray or array_like
        Real values; at least one an `MDArray`.

    Returns
    -------
    MDArray
        A new array of the broadcast shape. Relative error at most ``4 * eps``.

    Raises
    ------
    TypeError
        If an operand is complex.

    Notes
    -----
    Zeros have signs, and infinities stand for directions, as in C99 and NumPy.

    Examples
    --------
    >>> import mdqr
    >>> float(mdqr.arctan2(mdqr.qd(1), -1) * 4 / mdqr.qd.pi)
    3.0
    """
    return binary("arctan2", y, x)
