"""Hyperbolic functions, logarithms to bases and their like, of coefficients ``(..., d + 1)``.

As in `functions`: a differential equation gives one order after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mdqr
from mdqr._array.array import MDArray
from mdqr.series._arithmetic.functions import (
    _by_orders,
    _dot,
    _integrated,
    _one_more,
    _started,
    _steps,
    constant,
    exp,
    power,
    reciprocal,
)
from mdqr.series._arithmetic.products import multiply


def expm1(a: MDArray) -> MDArray:
    """Return exponentials less 1."""
    found = exp(a)
    found[..., 0] = constant(mdqr.expm1, a)
    return found


def exp2(a: MDArray) -> MDArray:
    """Return powers of two: ``y' = log(2) a' y``."""
    weighted = a * _steps(a, 0, a.shape[-1]) * mdqr.log(_number(a, 2))

    def order(y: MDArray, k: int) -> MDArray:
        return _dot(weighted[..., 1 : k + 1], y[..., :k]) / k

    return _by_orders(a, mdqr.exp2(a[..., 0]), order)


def log_to_base(a: MDArray, base: int) -> MDArray:
    """Return logarithms to base 2 or 10."""
    function = {2: mdqr.log2, 10: mdqr.log10}[base]
    slope = 1 / mdqr.log(_number(a, base))
    return _integrated(a, function, lambda: reciprocal(a) * slope)


def log1p(a: MDArray) -> MDArray:
    """Return logarithms of 1 + a."""
    return _integrated(a, mdqr.log1p, lambda: reciprocal(_one_more(a.copy())))


def sinpi_cospi(a: MDArray) -> tuple[MDArray, MDArray]:
    """Return sines and cosines of pi a."""
    slope = a * a.precision.pi.to_device(a.device)
    return _pair(slope, mdqr.sinpi(a[..., 0]), mdqr.cospi(a[..., 0]), -1)


def sinh_cosh(a: MDArray) -> tuple[MDArray, MDArray]:
    """Return hyperbolic sines and cosines: ``s' = a' c``, ``c' = a' s``."""
    return _pair(a, constant(mdqr.sinh, a), constant(mdqr.cosh, a), 1)


def _pair(a: MDArray, first: MDArray, other: MDArray, sign: int) -> tuple[MDArray, MDArray]:
    """Return the solution of ``s' = a' c``, ``c' = sign a' s`` from its values at zero."""
    weighted = a * _steps(a, 0, a.shape[-1])
    s, c = _started(a, first), _started(a, other)
    for k in range(1, a.shape[-1]):
        w = weighted[..., 1 : k + 1]
        s[..., k], c[..., k] = _dot(w, c[..., :k]) / k, _dot(w, s[..., :k]) / k * sign
    return s, c


def tanh(a: MDArray) -> MDArray:
    """Return hyperbolic tangents: ``y' = a' (1 - y^2)``, where ``1 - y_0^2`` does not cancel."""
    weighted = a * _steps(a, 0, a.shape[-1])
    y = _started(a, constant(mdqr.tanh, a))
    rest = _started(a, 1 / constant(mdqr.cosh, a) ** 2)
    for k in range(1, a.shape[-1]):
        y[..., k] = _dot(weighted[..., 1 : k + 1], rest[..., :k]) / k
        rest[..., k] = -_dot(y[..., : k + 1], y[..., : k + 1])
    return y


def arcsinh(a: MDArray) -> MDArray:
    """Return inverse hyperbolic sines, integrals of ``a' (1 + a^2)^(-1/2)``."""
    return _integrated(a, mdqr.arcsinh, lambda: _root(_one_more(multiply(a, a))))


def arccosh(a: MDArray) -> MDArray:
    """Return inverse hyperbolic cosines, integrals of ``a' (a - 1)^(-1/2) (a + 1)^(-1/2)``."""

    def slope() -> MDArray:
        less, more = a.copy(), a.copy()
        less[..., 0] -= 1
        return multiply(_root(less), _root(_one_more(more)))

    return _integrated(a, mdqr.arccosh, slope)


def arctanh(a: MDArray) -> MDArray:
    """Return inverse hyperbolic tangents, integrals of ``a' / (1 - a^2)``."""

    def slope() -> MDArray:
        less, more = -a, a.copy()
        return reciprocal(multiply(_one_more(less), _one_more(more)))

    return _integrated(a, mdqr.arctanh, slope)


def erf(a: MDArray, function: Callable[[Any], MDArray], sign: int) -> MDArray:
    """Return error functions, integrals of ``2 a' exp(-a^2) / sqrt(pi)`` times a sign."""
    slope = 2 * sign / mdqr.sqrt(a.precision.pi.to_device(a.device))
    return _integrated(a, function, lambda: exp(-multiply(a, a)) * slope)


def _root(a: MDArray) -> MDArray:
    """Return ``a^(-1/2)``."""
    return power(a, -0.5, 1 / mdqr.sqrt(a[..., 0]))


def _number(a: MDArray, value: int) -> MDArray:
    return mdqr.array(value, precision=a.precision, device=a.device)
