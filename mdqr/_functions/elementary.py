"""Exponentials, logarithms, trigonometric, hyperbolic, gamma and error functions.

Each is one kernel call.
The kernels have about 40 bits more than the result, so that the error is hardly more than that of
rounding; how, and the bounds that are proven, is in docs/explanation/elementary-functions.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mdqr._backend import for_block
from mdqr._backend.host import values
from mdqr._backend.protocol import REAL_ONLY
from mdqr._core.promotion import Operands, operands
from mdqr._core.with_precision import with_precision
from mdqr._docstrings import COMPLEX_FUNCTION, REAL_FUNCTION, REAL_PAIR, documented

if TYPE_CHECKING:
    from mdqr._array.array import MDArray
    from mdqr._typing import PrecisionLike


@with_precision
@documented(COMPLEX_FUNCTION)
def exp(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the exponential function of each element.

    Overflow gives infinity, underflow zero; ``exp(-inf)`` is 0.

    >>> float(mdqr.exp(mdqr.qd(0)))
    1.0
    """
    return _unary("exp", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def exp2(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return two to the power of each element.

    Powers of two come out exactly. Overflow gives infinity, underflow zero. Complex values are
    taken as ``exp(x * log(2))``: the bound holds while the imaginary part is below ``2**30``.

    >>> float(mdqr.exp2(mdqr.qd(10)))
    1024.0
    """
    return _unary("exp2", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def expm1(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``exp(x) - 1``, accurate also where `x` is near zero.

    Overflow gives infinity; ``expm1(-inf)`` is -1.

    >>> float(mdqr.expm1(mdqr.qd("1e-30")))
    1e-30
    """
    return _unary("expm1", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def log(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the natural logarithm.

    Zero gives ``-inf`` and a negative real value NaN; complex values have the principal branch,
    whose imaginary part lies in ``[-pi, pi]``, with the cut along the negative real axis.

    >>> float(mdqr.log(mdqr.qd(1)))
    0.0
    """
    return _unary("log", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def log2(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the logarithm to base two.

    Of powers of two it is exact. Zero gives ``-inf`` and a negative real value NaN; branches as
    in `mdqr.log`.

    >>> float(mdqr.log2(mdqr.qd(8)))
    3.0
    """
    return _unary("log2", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def log10(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the logarithm to base ten.

    Of powers of ten that are no more than a precision holds it is exact. Zero gives ``-inf`` and
    a negative real value NaN; branches as in `mdqr.log`.

    >>> float(mdqr.log10(mdqr.qd(1000)))
    3.0
    """
    return _unary("log10", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def log1p(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``log(1 + x)``, accurate also where `x` is near zero.

    -1 gives ``-inf`` and a smaller real value NaN; branches as in `mdqr.log`.

    >>> float(mdqr.log1p(mdqr.qd("1e-30")))
    1e-30
    """
    return _unary("log1p", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def sin(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the sine, of radians.

    Arguments of any size are reduced exactly. Infinities give NaN.

    >>> float(mdqr.sin(mdqr.qd(0)))
    0.0
    """
    return _unary("sin", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def cos(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the cosine, of radians.

    Arguments of any size are reduced exactly. Infinities give NaN.

    >>> float(mdqr.cos(mdqr.qd(0)))
    1.0
    """
    return _unary("cos", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def tan(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the tangent, of radians.

    Arguments of any size are reduced exactly. Infinities give NaN.

    >>> float(mdqr.tan(mdqr.qd(0)))
    0.0
    """
    return _unary("tan", x)


@with_precision
@documented(REAL_FUNCTION)
def sinpi(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``sin(pi * x)``.

    Exact where `x` is a multiple of 1/2: a zero has the sign of `x`. Infinities give NaN.

    >>> float(mdqr.sinpi(mdqr.qd("0.5")))
    1.0
    """
    return _unary("sinpi", x)


@with_precision
@documented(REAL_FUNCTION)
def cospi(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``cos(pi * x)``.

    Exact where `x` is a multiple of 1/2: zeros are positive. Infinities give NaN.

    >>> float(mdqr.cospi(mdqr.qd(1)))
    -1.0
    """
    return _unary("cospi", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def arcsin(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the inverse sine, in ``[-pi/2, pi/2]``.

    Real values beyond ``[-1, 1]`` give NaN. The branch cuts of complex values lie along the real
    axis beyond -1 and 1; the sign of the imaginary part determines the side, zeros included.

    >>> float(mdqr.arcsin(mdqr.qd(1)) * 2 / mdqr.qd.pi)
    1.0
    """
    return _unary("arcsin", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def arccos(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the inverse cosine, in ``[0, pi]``.

    Real values beyond ``[-1, 1]`` give NaN. The branch cuts of complex values lie along the real
    axis beyond -1 and 1; the sign of the imaginary part determines the side, zeros included.

    >>> float(mdqr.arccos(mdqr.qd(1)))
    0.0
    """
    return _unary("arccos", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def arctan(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the inverse tangent, in ``[-pi/2, pi/2]``.

    Infinities give ``pi/2`` with their sign. The branch cuts of complex values lie along the
    imaginary axis beyond -i and i.

    >>> float(mdqr.arctan(mdqr.qd(1)) * 4 / mdqr.qd.pi)
    1.0
    """
    return _unary("arctan", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def sinh(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the hyperbolic sine.

    Overflow gives infinity.

    >>> float(mdqr.sinh(mdqr.qd(0)))
    0.0
    """
    return _unary("sinh", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def cosh(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the hyperbolic cosine.

    Overflow gives infinity.

    >>> float(mdqr.cosh(mdqr.qd(0)))
    1.0
    """
    return _unary("cosh", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def tanh(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the hyperbolic tangent.

    Infinities give 1 with their sign.

    >>> float(mdqr.tanh(mdqr.qd("inf")))
    1.0
    """
    return _unary("tanh", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def arcsinh(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the inverse hyperbolic sine.

    Infinities stay. The branch cuts of complex values lie along the imaginary axis beyond -i
    and i.

    >>> float(mdqr.arcsinh(mdqr.qd(0)))
    0.0
    """
    return _unary("arcsinh", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def arccosh(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the inverse hyperbolic cosine.

    Real values below 1 give NaN. The branch cut of complex values lies along the real axis
    below 1.

    >>> float(mdqr.arccosh(mdqr.qd(1)))
    0.0
    """
    return _unary("arccosh", x)


@with_precision
@documented(COMPLEX_FUNCTION)
def arctanh(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the inverse hyperbolic tangent.

    -1 and 1 give infinities, real values beyond them NaN. The branch cuts of complex values lie
    along the real axis beyond -1 and 1.

    >>> float(mdqr.arctanh(mdqr.qd(0)))
    0.0
    """
    return _unary("arctanh", x)


@with_precision
@documented(REAL_FUNCTION)
def cbrt(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the cube root, negative for negative values.

    Cubes of values with a third of the digits come out exactly.

    >>> float(mdqr.cbrt(mdqr.qd(-27)))
    -3.0
    """
    return _unary("cbrt", x)


@with_precision
@documented(REAL_FUNCTION)
def gamma(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the gamma function.

    Factorials that fit into the limbs are exact. As in C99, zeros give infinities of their sign,
    negative integers and ``-inf`` NaN; values from 171.7 on overflow to infinity.

    The reciprocal of gamma on ``[1/2, 3/2]`` is a Taylor series (Abramowitz and Stegun, 6.1.33),
    and the recurrence leads from there to `x`.

    See Also
    --------
    lgamma : the logarithm, which does not overflow.

    >>> float(mdqr.gamma(mdqr.qd(5)))
    24.0
    """
    return _unary("gamma", x)


@with_precision
@documented(REAL_FUNCTION)
def lgamma(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the logarithm of the absolute value of the gamma function.

    What SciPy calls ``gammaln``. Zero, negative integers and infinities give infinity.

    Below 128 it is the logarithm of what `mdqr.gamma` computes, above that Stirling's series
    (Abramowitz and Stegun, 6.1.40), below -128 the reflection 6.1.17.

    Returns
    -------
    MDArray
        A new array of the shape and precision of `x`. Relative error at most ``4 * eps`` for
        positive values, also near the zeros at 1 and 2. Of negative values the error is at most
        ``4 * eps * max(abs(result), 2**-20)``: near its zeros, which lie at irrational arguments
        between the poles, it is absolute.

    >>> float(mdqr.exp(mdqr.lgamma(mdqr.qd(5))))
    24.0
    """
    return _unary("lgamma", x)


@with_precision
@documented(REAL_FUNCTION)
def erf(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0.

    Infinities give 1 with their sign. A table of ``exp(c**2) * erfc(c)`` is continued by the
    Taylor series at the nearest of its places, whose coefficients are Hermite polynomials.

    See Also
    --------
    erfc : ``1 - erf(x)``, which keeps its digits where that is small.

    >>> float(mdqr.erf(mdqr.qd(1)))
    0.8427007929497149
    """
    return _unary("erf", x)


@with_precision
@documented(REAL_FUNCTION)
def erfc(x: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the complementary error function, ``1 - erf(x)``, without cancellation.

    Infinity gives 0, ``-inf`` 2; from about 27.2 on the result underflows. Computed as
    `mdqr.erf` is.

    >>> float(mdqr.erfc(mdqr.qd(10)))
    2.088487583762545e-45
    """
    return _unary("erfc", x)


@with_precision
@documented(REAL_PAIR)
def arctan2(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the angles of the points ``(x2, x1)``, in ``[-pi, pi]``.

    Zeros have signs, and infinities denote directions, as in C99 and NumPy.

    Parameters
    ----------
    x1, x2 : MDArray or array_like
        Real values.

    Returns
    -------
    MDArray
        A new array of the broadcast shape. Relative error at most ``4 * eps``.

    >>> float(mdqr.arctan2(mdqr.qd(1), -1) * 4 / mdqr.qd.pi)
    3.0
    """
    return _binary("arctan2", x1, x2)


@with_precision
@documented(REAL_PAIR)
def logaddexp(x1: Any, x2: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return ``log(exp(x1) + exp(x2))`` without overflow.

    ``max(x1, x2) + log1p(exp(-abs(x1 - x2)))``. Where an operand is infinite the result is the
    larger one; NaN wins.

    Returns
    -------
    MDArray
        A new array of the broadcast shape. The error is at most
        ``4 * eps * max(abs(result), 2**-10 * abs(max(x1, x2)))``: relative, except for results next
        to zero by cancellation of larger terms.

    >>> float(mdqr.logaddexp(mdqr.qd(1000), 1000) - mdqr.log(mdqr.qd(2)))
    1000.0
    """
    return _binary("logaddexp", x1, x2)


def _unary(op: str, x: Any) -> MDArray:
    if (found := values.apply(op, x)) is not None:
        return cast("MDArray", found)
    ops = _operands(op, x)
    return ops.wrap(for_block(ops.blocks[0]).unary(op, ops.blocks[0], kind=ops.kind))


def _binary(op: str, x: Any, y: Any) -> MDArray:
    ops = _operands(op, x, y)
    return ops.wrap(for_block(ops.blocks[0]).binary(op, *ops.blocks, kind=ops.kind))


def _operands(op: str, *values: Any) -> Operands:
    ops = operands(*values)
    if ops.is_complex and op in REAL_ONLY:
        raise TypeError(f"{op} is for real values; take a.real and a.imag")
    return ops
