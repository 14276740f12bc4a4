"""Elementary functions of balls, with their first two derivatives.

Midpoints have errors of at most 4 eps, complex ones of 10 (the page on elementary functions). By
how much a function changes over a ball of radius r about m follows from the largest modulus of its
derivative there, or from an identity: ``abs(exp(m + t) - exp(m)) <= abs(exp(m)) expm1(r)``,
``abs(log(m + t) - log(m)) <= -log1p(-r / abs(m))``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.optimize._enclosure.ball import Ball, size, up

_FUNCTION = (4.0, 10.0)
_BELOW = 1.0 - 2.0**-30

# From a ball to its value, first and second derivative.
Chain = Callable[[Ball], tuple[Ball, Ball, Ball]]
_Spread = Callable[[Ball, np.ndarray], Any]


def value(name: str, u: Ball, spread: _Spread, *, is_complex: bool = False) -> Ball:
    """Return a function of balls whose values differ by `spread` at most."""
    if u.mid.is_complex and not is_complex:
        raise TypeError(f"{name} of complex values cannot be enclosed")
    mid = getattr(mdqr, name)(u.mid)
    with np.errstate(all="ignore"):
        rad = up(spread(u, size(mid)))
        # At a pole, or beyond the domain, the radius is NaN.
        rad = np.where(np.isnan(rad), np.inf, rad)
    return Ball(mid, up(rad + u.eps(_FUNCTION, mid)))


def _exp(u: Ball) -> Ball:
    return value("exp", u, lambda u, found: found * up(np.expm1(u.rad)), is_complex=True)


def _log(u: Ball) -> Ball:
    return value("log", u, lambda u, _: _log_spread(u.mid, u.rad), is_complex=True)


def _log_spread(m: MDArray, rad: np.ndarray) -> np.ndarray:
    quotient = up(rad / (np.abs(m.to_numpy()) * _BELOW))
    return np.where(_is_cut(m, rad) | (quotient >= 1.0), np.inf, up(-np.log1p(-quotient)))


def _is_cut(m: MDArray, rad: np.ndarray) -> np.ndarray:
    """Return True where a ball has points that are not positive, complex: on the cut."""
    near = m.to_numpy()
    low = near.real * np.where(near.real > 0, _BELOW, 1.0 / _BELOW) <= up(rad)
    return np.asarray(low & (np.abs(near.imag) * _BELOW <= up(rad)))


def sqrt(u: Ball) -> Ball:
    """Return square roots."""

    def spread(u: Ball, _: np.ndarray) -> np.ndarray:
        root = np.sqrt(np.abs(u.mid.to_numpy()) * _BELOW)
        changed = np.where(u.rad > 0, up(u.rad / root), 0.0)
        return np.where(_is_cut(u.mid, u.rad), np.inf, changed)

    return value("sqrt", u, spread, is_complex=True)


def _circular(name: str) -> Callable[[Ball], Ball]:
    def spread(u: Ball, _: np.ndarray) -> np.ndarray:
        if not u.mid.is_complex:
            return u.rad
        height = up(np.abs(u.mid.to_numpy().imag) + u.rad)
        return np.asarray(u.rad * up(np.cosh(height)))

    return lambda u: value(name, u, spread, is_complex=True)


def _hyperbolic(name: str) -> Callable[[Ball], Ball]:
    def spread(u: Ball, _: np.ndarray) -> np.ndarray:
        return np.asarray(u.rad * up(np.cosh(up(np.abs(u.mid.to_numpy().real) + u.rad))))

    return lambda u: value(name, u, spread, is_complex=True)


_SIN, _COS = _circular("sin"), _circular("cos")
_SINH, _COSH = _hyperbolic("sinh"), _hyperbolic("cosh")


def number(like: Ball, x: Any) -> Ball:
    """Return a number that is exact in the precision of others."""
    return Ball(mdqr.array(x, precision=like.mid.precision))


def _one(u: Ball) -> Ball:
    return number(u, 1)


def exp(u: Ball) -> tuple[Ball, Ball, Ball]:
    found = _exp(u)
    return found, found, found


def log(u: Ball) -> tuple[Ball, Ball, Ball]:
    slope = _one(u) / u
    return _log(u), slope, -(slope * slope)


def _sqrt(u: Ball) -> tuple[Ball, Ball, Ball]:
    root = sqrt(u)
    slope = (_one(u) / root).times(0.5)
    return root, slope, -(slope / u).times(0.5)


def reciprocal(u: Ball) -> tuple[Ball, Ball, Ball]:
    found = _one(u) / u
    square = found * found
    return found, -square, (square * found).times(2.0)


def _sin(u: Ball) -> tuple[Ball, Ball, Ball]:
    s = _SIN(u)
    return s, _COS(u), -s


def _cos(u: Ball) -> tuple[Ball, Ball, Ball]:
    c = _COS(u)
    return c, -_SIN(u), -c


def _sinh(u: Ball) -> tuple[Ball, Ball, Ball]:
    s = _SINH(u)
    return s, _COSH(u), s


def _cosh(u: Ball) -> tuple[Ball, Ball, Ball]:
    c = _COSH(u)
    return c, _SINH(u), c


def _tan(u: Ball) -> tuple[Ball, Ball, Ball]:
    t = _SIN(u) / _COS(u)
    slope = _one(u) + t * t
    return t, slope, (t * slope).times(2.0)


def _tanh(u: Ball) -> tuple[Ball, Ball, Ball]:
    c = _COSH(u)
    t, slope = _SINH(u) / c, _one(u) / (c * c)
    return t, slope, -(t * slope).times(2.0)


def _expm1(u: Ball) -> tuple[Ball, Ball, Ball]:
    def spread(u: Ball, _: np.ndarray) -> np.ndarray:
        return np.asarray(up(np.exp(u.mid.to_numpy())) * up(np.expm1(u.rad)))

    e = _exp(u)
    return value("expm1", u, spread), e, e


def _log1p(u: Ball) -> tuple[Ball, Ball, Ball]:
    more = _one(u) + u
    slope = _one(u) / more
    found = value("log1p", u, lambda u, _: _log_spread(more.mid, more.rad))
    return found, slope, -(slope * slope)


def _arctan(u: Ball) -> tuple[Ball, Ball, Ball]:
    slope = _one(u) / (_one(u) + u * u)
    found = value("arctan", u, lambda u, _: u.rad / (1.0 + u.least**2) / _BELOW)
    return found, slope, -(u * slope * slope).times(2.0)


def _arcsin(u: Ball) -> tuple[Ball, Ball, Ball]:
    rest = _one(u) - u * u
    slope = _one(u) / sqrt(rest)
    found = value("arcsin", u, lambda u, _: u.rad / np.sqrt(rest.least))
    return found, slope, u * slope / rest


def _arccos(u: Ball) -> tuple[Ball, Ball, Ball]:
    rest = _one(u) - u * u
    slope = _one(u) / sqrt(rest)
    found = value("arccos", u, lambda u, _: u.rad / np.sqrt(rest.least))
    return found, -slope, -(u * slope / rest)


def _arcsinh(u: Ball) -> tuple[Ball, Ball, Ball]:
    more = _one(u) + u * u
    slope = _one(u) / sqrt(more)
    return value("arcsinh", u, lambda u, _: u.rad), slope, -(u * slope / more)


def _arccosh(u: Ball) -> tuple[Ball, Ball, Ball]:
    rest = u * u - _one(u)
    slope = _one(u) / sqrt(rest)
    found = value("arccosh", u, lambda u, _: u.rad / np.sqrt(rest.least))
    return found, slope, -(u * slope / rest)


def _arctanh(u: Ball) -> tuple[Ball, Ball, Ball]:
    rest = _one(u) - u * u
    slope = _one(u) / rest
    found = value("arctanh", u, lambda u, _: u.rad / rest.least)
    # Beyond 1 the slope has the wrong sign of a function that is not defined.
    return found, slope, (u * slope * slope).times(2.0)


def _scaled(inner: Chain, factor: Callable[[Ball], Ball]) -> Chain:
    """Return a function times a constant."""

    def chain(u: Ball) -> tuple[Ball, Ball, Ball]:
        c = factor(u)
        f, first, second = inner(u)
        return f * c, first * c, second * c

    return chain


def _log_of(base: int) -> Callable[[Ball], Ball]:
    return lambda u: _log(number(u, base))


def _inverse_log(base: int) -> Callable[[Ball], Ball]:
    return lambda u: _one(u) / _log(number(u, base))


def _exp2(u: Ball) -> tuple[Ball, Ball, Ball]:
    c = _log_of(2)(u)
    found = _exp(u * c)
    return found, found * c, found * c * c


def _cbrt(u: Ball) -> tuple[Ball, Ball, Ball]:
    def spread(u: Ball, _: np.ndarray) -> np.ndarray:
        changed = u.rad / (3.0 * np.cbrt(u.least) ** 2)
        return np.where(u.least > 0, up(changed), np.inf)

    found = value("cbrt", u, spread)
    slope = found / (number(u, 3) * u)
    return found, slope, -(slope.times(2.0) / (number(u, 3) * u))


def _square(u: Ball) -> tuple[Ball, Ball, Ball]:
    return u * u, u.times(2.0), number(u, 2)


def _erf(name: str, sign: float) -> Chain:
    def chain(u: Ball) -> tuple[Ball, Ball, Ball]:
        # The derivative is at most 2 / sqrt(pi) < 1.13.
        found = value(name, u, lambda u, _: 1.13 * u.rad)
        pi = Ball(u.mid.precision.pi, 2.0 * u.mid.precision.eps * 4.0)
        slope = (_exp(-(u * u)) / sqrt(pi)).times(2.0 * sign)
        return found, slope, -(u * slope).times(2.0)

    return chain


CHAINS: dict[str, Chain] = {
    "exp": exp,
    "exp2": _exp2,
    "expm1": _expm1,
    "log": log,
    "log2": _scaled(log, _inverse_log(2)),
    "log10": _scaled(log, _inverse_log(10)),
    "log1p": _log1p,
    "sqrt": _sqrt,
    "cbrt": _cbrt,
    "square": _square,
    "reciprocal": reciprocal,
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "arcsin": _arcsin,
    "arccos": _arccos,
    "arctan": _arctan,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "arcsinh": _arcsinh,
    "arccosh": _arccosh,
    "arctanh": _arctanh,
    "erf": _erf("erf", 1.0),
    "erfc": _erf("erfc", -1.0),
}
