"""Quotients, powers, exponentials and circular functions of coefficients ``(..., d + 1)``.

If y = f(a), a differential equation gives the orders of y one after the other from y_0 = f(a_0).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._functions.sequences import concatenate
from mdqr._limbs.planes import Kind
from mdqr.series._arithmetic.products import coefficient, multiply

# Powers by fractions with larger denominators go by logarithms.
_MOST_ROOT = 64


def zeros(like: MDArray, count: int, is_complex: bool | None = None) -> MDArray:
    """Return `count` orders of zeros for series of the shape and kind of others."""
    field = like.is_complex if is_complex is None else is_complex
    kind = Kind(like.precision.limbs, field)
    block = kind.zeros(for_block(like._block).xp, (*like.shape[:-1], count))
    return MDArray._wrap(block, like.precision, field)


def _steps(a: MDArray, start: int, stop: int) -> Any:
    """Return numbers from start on as float64 where the coefficients are."""
    return for_block(a._block).xp.arange(float(start), float(stop))


def extended(a: MDArray, orders: int) -> MDArray:
    """Return series with zeros up to so many orders, or cut to them."""
    missing = orders - a.shape[-1]
    return concatenate([a, zeros(a, missing)], axis=-1) if missing > 0 else a[..., :orders]


def reciprocal(a: MDArray) -> MDArray:
    """Return 1 over series, by Newton's iteration: orders double in each step.

    Raises
    ------
    ZeroDivisionError
        If a constant coefficient is zero.
    """
    first, orders = a[..., :1], a.shape[-1]
    if bool((first == 0).any()):
        raise ZeroDivisionError("the series has no constant term: its inverse is no power series")
    found = 1 / first
    while found.shape[-1] < orders:
        wide = min(2 * found.shape[-1], orders)
        x = extended(found, wide)
        rest = -multiply(a[..., :wide], x)
        rest[..., 0] += 1
        found = x + multiply(x, rest)
    return found


def derivative(a: MDArray) -> MDArray:
    """Return derivatives, of one order less; those of constants are 0."""
    orders = a.shape[-1]
    return a[..., 1:] * _steps(a, 1, orders) if orders > 1 else a * 0


def integral(a: MDArray, constant: MDArray) -> MDArray:
    """Return integrals with constants ``(...,)``, of one order more."""
    divided = a / _steps(a, 1, a.shape[-1] + 1)
    return concatenate([constant[..., None], divided], axis=-1)


def power(a: MDArray, exponent: Any, first: MDArray | None = None) -> MDArray:
    """Return ``a ** exponent``: ``a y' = exponent a' y``.

    Parameters
    ----------
    a : MDArray
        Series whose constant terms are not zero.
    exponent : number
        Any number.
    first : MDArray, optional
        The powers of the constant terms; their principal ones by default.

    Raises
    ------
    ZeroDivisionError
        If a constant term is zero.
    """
    if bool((a[..., 0] == 0).any()):
        raise ZeroDivisionError("the series has no constant term: its power is no power series")
    r = mdqr.array(exponent, precision=a.precision, device=a.device)
    first = _power_of(a[..., 0], exponent) if first is None else first
    a = a.astype(dtype=complex) if first.is_complex else a
    # k a_0 y_k = sum_j (r j - (k - j)) a_j y_{k-j}
    weighted = a * ((r + 1) * _steps(a, 0, a.shape[-1]))

    def order(y: MDArray, k: int) -> MDArray:
        total = _dot(weighted[..., 1 : k + 1], y[..., :k])
        return (total - _dot(a[..., 1 : k + 1], y[..., :k]) * k) / (a[..., 0] * k)

    return _by_orders(a, first, order)


def _power_of(x: MDArray, exponent: Any) -> MDArray:
    """Return principal powers; those by small fractions as powers of roots."""
    if isinstance(exponent, (int, float, Fraction)):
        fraction = Fraction(exponent)
        if fraction.denominator <= _MOST_ROOT:
            return _root(x, fraction.denominator) ** fraction.numerator
    return x**exponent


def _root(x: MDArray, n: int) -> MDArray:
    """Return principal roots of numbers that are not zero, by Newton's method from float64."""
    with np.errstate(invalid="ignore"):
        y = mdqr.array(x.to_numpy() ** (1.0 / n), precision=x.precision, device=x.device)
    right, wanted = 40, x.precision.bits
    while n > 1 and right < 2 * wanted:
        y = y - (y - x / y ** (n - 1)) / n
        right *= 2
    return y


def exp(a: MDArray) -> MDArray:
    """Return exponentials: ``y' = a' y``."""
    weighted = a * _steps(a, 0, a.shape[-1])

    def order(y: MDArray, k: int) -> MDArray:
        return _dot(weighted[..., 1 : k + 1], y[..., :k]) / k

    return _by_orders(a, mdqr.exp(a[..., 0]), order)


def log(a: MDArray) -> MDArray:
    """Return logarithms, integrals of ``a' / a``."""
    return _integrated(a, mdqr.log, lambda: reciprocal(a))


def sin_cos(a: MDArray) -> tuple[MDArray, MDArray]:
    """Return sines and cosines: ``s' = a' c``, ``c' = -a' s``."""
    weighted = a * _steps(a, 0, a.shape[-1])
    s, c = (_started(a, f(a[..., 0])) for f in (mdqr.sin, mdqr.cos))
    for k in range(1, a.shape[-1]):
        w = weighted[..., 1 : k + 1]
        s[..., k], c[..., k] = _dot(w, c[..., :k]) / k, -_dot(w, s[..., :k]) / k
    return s, c


def arctan(a: MDArray) -> MDArray:
    """Return inverse tangents, integrals of ``a' / (1 + a^2)``."""
    return _integrated(a, mdqr.arctan, lambda: reciprocal(_one_more(multiply(a, a))))


def arcsin(a: MDArray) -> MDArray:
    """Return inverse sines, integrals of ``a' (1 - a^2)^(-1/2)``."""
    return _integrated(a, mdqr.arcsin, lambda: _root_of_rest(a))


def arccos(a: MDArray) -> MDArray:
    """Return inverse cosines, integrals of ``-a' (1 - a^2)^(-1/2)``."""
    return _integrated(a, mdqr.arccos, lambda: -_root_of_rest(a))


def _root_of_rest(a: MDArray) -> MDArray:
    """Return ``(1 - a^2)^(-1/2)``."""
    rest = _one_more(-multiply(a, a))
    return power(rest, -0.5, 1 / mdqr.sqrt(rest[..., 0]))


def _one_more(a: MDArray) -> MDArray:
    a[..., 0] += 1
    return a


def _integrated(
    a: MDArray, function: Callable[[MDArray], MDArray], slope: Callable[[], MDArray]
) -> MDArray:
    """Return the integral of ``a' slope`` from the function of the constant term."""
    first, orders = function(a[..., 0]), a.shape[-1]
    if orders == 1:
        return first[..., None]
    return integral(multiply(derivative(a), slope()[..., : orders - 1]), first)


def _by_orders(a: MDArray, first: MDArray, order: Callable[[MDArray, int], MDArray]) -> MDArray:
    y = _started(a, first)
    for k in range(1, a.shape[-1]):
        y[..., k] = order(y, k)
    return y


def _started(a: MDArray, first: MDArray) -> MDArray:
    """Return zeros for the coefficients of a result, but for the first."""
    found = zeros(a, a.shape[-1], first.is_complex)
    found[..., 0] = first
    return found


def _dot(a: MDArray, y: MDArray) -> MDArray:
    """Return ``sum_j a_j y_{k-j}`` for the orders 1 to k of a and 0 to k - 1 of y."""
    kind = Kind(a.precision.limbs, a.is_complex)
    return MDArray._wrap(coefficient(a._block, y._block, kind), a.precision, a.is_complex)
