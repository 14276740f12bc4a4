"""The classical weights: recurrences of their orthonormal polynomials, and their integrals.

``b[k] p[k+1] = (x - a[k]) p[k] - b[k-1] p[k-1]``; a[k] and the squares of b[k] are rational
(W. Gautschi, Orthogonal Polynomials, 2004, table 1.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, cast

import mdqr
from mdqr._array.array import MDArray
from mdqr._convert.array_like import exact_value
from mdqr._convert.strings import text_to_fraction
from mdqr._errors import shown
from mdqr._precision import PRECISIONS, Precision

HALF = Fraction(1, 2)


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
        ends = [_gamma(end, precision) for end in (alpha + 1, beta + 1, total + 2)]
        power = mdqr.exp2(mdqr.array(total + 1, precision=precision))
        error = (2 * abs(float(total + 1)) + 14) * precision.eps
        value = power * (ends[0][0] / ends[2][0]) * ends[1][0]
        return value, error + sum(bound for _, bound in ends)

    return Weight(diagonal, squares[: n - 1], integral)


def _gegenbauer(n: int, alpha: Fraction) -> Weight:
    if alpha <= -HALF:
        raise ValueError(f"gauss: alpha of 'gegenbauer' must be above -1/2; got {alpha}")
    return _jacobi(n, alpha - HALF, alpha - HALF)


def _laguerre(n: int, alpha: Fraction) -> Weight:
    return Weight(
        [2 * k + 1 + alpha for k in range(n)],
        [k * (k + alpha) for k in range(1, n)],
        lambda precision: _gamma(alpha + 1, precision),
    )


def _hermite(n: int, scale: Fraction) -> Weight:
    """Return the weight ``exp(-x**2 / (2 scale))``."""

    def integral(precision: Precision) -> tuple[MDArray, float]:
        return mdqr.sqrt(2 * scale * precision.pi), 4 * precision.eps

    return Weight([Fraction(0)] * n, [k * scale for k in range(1, n)], integral)


def _gamma(x: Fraction, precision: Precision) -> tuple[MDArray, float]:
    """Return the gamma function of a positive number, and a bound of its relative error.

    A relative error u of the argument, from rounding it, changes the result by at most
    ``x abs(psi(x)) u``, and ``abs(psi(x)) <= log(x + 1) + 2 / x``.
    """
    value = mdqr.gamma(mdqr.array(x, precision=precision))
    if not bool(mdqr.isfinite(value)):
        raise ValueError(f"gauss: the integral of the weight, gamma({float(x):.6g}), overflows")
    return value, (8 + float(x) * math.log1p(float(x))) * precision.eps


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
