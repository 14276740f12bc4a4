"""The classical weights: recurrences of their orthonormal polynomials, and their integrals.

``b[k] p[k+1] = (x - a[k]) p[k] - b[k-1] p[k-1]``; a[k] and the squares of b[k] are rational
(W. Gautschi, Orthogonal Polynomials, 2004, table 1.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, cast

import mdqr
from mdqr._array.array import MDArray
from mdqr._convert.array_like import exact_value
from mdqr._convert.strings import text_to_fraction
from mdqr._errors import shown
from mdqr._precision import PRECISIONS, Precision, log_of_2

HALF = Fraction(1, 2)
# Gamma functions are sums of powers of this, and below this argument as precise as `_sum`.
_N, _MOST = 2048, 400
_GUARD = 64


class Weight(NamedTuple):
    """A weight function.

    Attributes
    ----------
    diagonal : list of Fraction
        The coefficients ``a[0], ..., a[n-1]``.
    squares : list of Fraction
        ``b[0]**2, ..., b[n-2]**2``.
    integral : callable
        Takes a precision, and returns the integral of the weight (0-d) and a bound of its relative
        error.
    """

    diagonal: list[Fraction]
    squares: list[Fraction]
    integral: Callable[[Precision], tuple[MDArray, float]]


def weight_of(kind: str, n: int, alpha: Any, beta: Any) -> Weight:
    """Return a weight by the arguments of `gauss`, for n nodes."""
    given = {"alpha": alpha, "beta": beta}
    names = _PARAMETERS.get(kind) if isinstance(kind, str) else None
    if names is None:
        raise ValueError(f"gauss: kind must be one of {', '.join(_PARAMETERS)}; got {shown(kind)}")
    for name, value in given.items():
        if value is not None and name not in names:
            raise TypeError(f"gauss: the kind {kind!r} has no {name}")
        if value is None and names.get(name, 0) is None:
            raise TypeError(f"gauss: the kind {kind!r} needs {name}=")
    values = {
        name: _exact(name, default if given[name] is None else given[name])
        for name, default in names.items()
    }
    return _MADE[kind](n, **values)


def _exact(name: str, value: Any) -> Fraction:
    """Return a parameter, an exact number above -1."""
    if (exact := exact_value(value)) is None:
        number = mdqr.array(value, precision=PRECISIONS[-1])
        if number.ndim or number.is_complex or not bool(mdqr.isfinite(number)):
            raise ValueError(f"gauss: {name} must be one finite real number; got {shown(value)}")
        text = isinstance(value, str) and bool(number)
        exact = text_to_fraction(value) if text else cast("Fraction", number.to_fractions()[()])
    if exact <= -1:
        raise ValueError(f"gauss: {name} must be above -1; got {shown(value)}")
    return exact


def _jacobi(n: int, alpha: Fraction, beta: Fraction) -> Weight:
    total = alpha + beta
    diagonal = [(beta - alpha) / (total + 2)]
    diagonal += [
        (beta - alpha) * total / ((2 * k + total) * (2 * k + total + 2)) for k in range(1, n)
    ]
    squares = [4 * (1 + alpha) * (1 + beta) / ((2 + total) ** 2 * (3 + total))]
    for k in range(2, n):
        middle = 2 * k + total
        over = 4 * k * (k + alpha) * (k + beta) * (k + total)
        squares.append(over / (middle**2 * (middle**2 - 1)))

    def integral(precision: Precision) -> tuple[MDArray, float]:
        bits = precision.bits + _GUARD
        above = _gamma(alpha + 1, bits) * _gamma(beta + 1, bits)
        return _value(_exp2(total + 1, bits) * above / _gamma(total + 2, bits), precision)

    return Weight(diagonal, squares[: n - 1], integral)


def _gegenbauer(n: int, alpha: Fraction) -> Weight:
    if alpha <= -HALF:
        raise ValueError(f"gauss: alpha of 'gegenbauer' must be above -1/2; got {alpha}")
    return _jacobi(n, alpha - HALF, alpha - HALF)


def _laguerre(n: int, alpha: Fraction) -> Weight:
    return Weight(
        [2 * k + 1 + alpha for k in range(n)],
        [k * (k + alpha) for k in range(1, n)],
        lambda precision: _value(_gamma(alpha + 1, precision.bits + _GUARD), precision),
    )


def _hermite(n: int, scale: Fraction) -> Weight:
    """Return the weight ``exp(-x**2 / (2 scale))``."""

    def integral(precision: Precision) -> tuple[MDArray, float]:
        return mdqr.sqrt(2 * scale * precision.pi), 4 * precision.eps

    return Weight([Fraction(0)] * n, [k * scale for k in range(1, n)], integral)


def _value(integral: Fraction, precision: Precision) -> tuple[MDArray, float]:
    """Return an integral within ``2**-precision.bits``, rounded, and a bound of its error."""
    value = mdqr.array(integral, precision=precision)
    if not bool(mdqr.isfinite(value)):
        raise ValueError("gauss: the integral of the weight overflows")
    return value, 2 * precision.eps


def _gamma(x: Fraction, bits: int) -> Fraction:
    """Return the gamma function of a positive number, with a relative error below ``2**-bits``.

    ``gamma(x)`` is ``N**x exp(-N) S(x)``, S the sum over k of ``N**k / (x (x+1) ... (x+k))``, and
    the incomplete gamma function from N on (NIST Handbook of Mathematical Functions, 8.7.1). With
    x = 1 for the exponential this is ``N**(x-1) S(x) / S(1)``, all terms positive. The rest is less
    than ``2**-1400`` of it for x below 400 and N = 2048.
    """
    if x > _MOST:
        raise ValueError(f"gauss: the integral of the weight, gamma({float(x):.6g}), overflows")
    if x.denominator == 1:
        return Fraction(math.factorial(x.numerator - 1))
    ratio = Fraction(_sum(x, bits), _sum(Fraction(1), bits))
    return _exp2((x - 1) * (_N.bit_length() - 1), bits) * ratio


@lru_cache
def _sum(x: Fraction, bits: int) -> int:
    """Return S(x) in units of ``2**-(bits + 48)``, with a relative error below ``2**-(bits + 8)``.

    Terms increase from at least 1/400 to k = N, each by a factor whose rounding adds a unit: those
    are ``400 N`` units of a term together, and negligible in the sum from there on.
    """
    term, total, k = (x.denominator << (bits + 48)) // x.numerator, 0, 0
    while term:
        total, k = total + term, k + 1
        term = term * _N * x.denominator // (x.numerator + k * x.denominator)
    return total


@lru_cache
def _exp2(x: Fraction, bits: int) -> Fraction:
    """Return ``2**x`` with a relative error below ``2**-bits``, exact for integers."""
    one, whole = 1 << (bits + 32), math.floor(x)
    power = Fraction(2) ** whole
    if x == whole:
        return power
    log2 = log_of_2(bits + 32)
    part, unit = (x - whole).numerator * log2.numerator, x.denominator * log2.denominator
    term, total, k = one, 0, 0
    while term:
        total, k = total + term, k + 1
        term = term * part // (unit * k)
    return power * Fraction(total, one)


# The parameters of each kind, with their defaults; those without one are required.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "legendre": {},
    "chebyshev": {},
    "chebyshev2": {},
    "gegenbauer": {"alpha": None},
    "jacobi": {"alpha": None, "beta": None},
    "laguerre": {"alpha": 0},
    "hermite": {},
    "hermite_e": {},
}
_MADE: dict[str, Callable[..., Weight]] = {
    "legendre": lambda n: _jacobi(n, Fraction(0), Fraction(0)),
    "chebyshev": lambda n: _jacobi(n, -HALF, -HALF),
    "chebyshev2": lambda n: _jacobi(n, HALF, HALF),
    "gegenbauer": _gegenbauer,
    "jacobi": _jacobi,
    "laguerre": _laguerre,
    "hermite": lambda n: _hermite(n, HALF),
    "hermite_e": lambda n: _hermite(n, Fraction(1)),
}
