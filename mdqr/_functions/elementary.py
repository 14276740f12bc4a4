"""Exponentials, logarithms, trigonometric and hyperbolic functions, one kernel call each.

The kernels have about 40 bits more than the result, so that the error is hardly more than that of
rounding; how, and the bounds that are proven, is in docs/explanation/elementary-functions.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdqr._backend import for_block
from mdqr._backend.protocol import REAL_ONLY
from mdqr._core.promotion import Operands, operands
from mdqr._errors import advised

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
    return _unary("exp", x)


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
    return _unary("exp2", x)


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
    return _unary("expm1", x)


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
    return _unary("log", x)


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
    return _unary("log2", x)


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
    return _unary("log10", x)


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
    return _unary("log1p", x)


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
    return _unary("sin", x)


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
    return _unary("cos", x)


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
    return _unary("tan", x)


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
    return _unary("sinpi", x)


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
    return _unary("cospi", x)


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
    return _unary("arcsin", x)


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
    return _unary("arccos", x)


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
    return _unary("arctan", x)


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
    return _unary("sinh", x)


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
    return _unary("cosh", x)


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
    return _unary("tanh", x)


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
    return _unary("arcsinh", x)


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
    return _unary("arccosh", x)


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
    return _unary("arctanh", x)


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
    return _unary("cbrt", x)


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
    ops = _operands("arctan2", y, x)
    return ops.wrap(for_block(ops.blocks[0]).binary("arctan2", *ops.blocks, kind=ops.kind))


@advised
def _unary(op: str, x: Any) -> MDArray:
    ops = _operands(op, x)
    return ops.wrap(for_block(ops.blocks[0]).unary(op, ops.blocks[0], kind=ops.kind))


def _operands(op: str, *values: Any) -> Operands:
    ops = operands(*values)
    if ops.is_complex and op in REAL_ONLY:
        raise TypeError(f"{op} is for real values; take a.real and a.imag")
    return ops
