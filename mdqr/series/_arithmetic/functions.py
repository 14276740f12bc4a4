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
from mdqr._errors import shortened
from mdqr._functions.comparison import where
from mdqr._functions.sequences import concatenate
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS, Precision, od
from mdqr.series._arithmetic.products import coefficient, multiply

# Points at which functions are exact, and what they are there more than the point.
_EXACT = {
    **dict.fromkeys(("exp", "cos", "cosh"), (0, 1)),
    **dict.fromkeys(("sin", "tan", "arcsin", "arctan"), (0, 0)),
    **dict.fromkeys(("sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p"), (0, 0)),
    "log": (1, -1),
}
# Powers by fractions with larger denominators go by logarithms.
_MOST_ROOT = 64


def zeros(like: MDArray, count: int, is_complex: bool | None = None) -> MDArray:
    """Return `count` orders of zeros for series of the shape and kind of others."""
    field = like.is_complex if is_complex is None else is_complex
    kind = Kind(like.precision.limbs, field)
    block = kind.zeros(for_block(like._block).xp, (*like.shape[:-1], count))
    return MDArray._wrap(block, like.precision, field)


def ones(like: MDArray) -> MDArray:
    """Return series of the shape and kind of others that are 1."""
    found = zeros(like, like.shape[-1])
    found[..., 0] = 1
    return found


def _steps(a: MDArray, start: int, stop: int) -> Any:
    """Return numbers from start on as float64 where the coefficients are."""
    return for_block(a._block).xp.arange(float(start), float(stop))


def constant(function: Callable[[MDArray], MDArray], a: MDArray) -> MDArray:
    """Return a function of the constant terms.

    Where it is exact in all of them, 0 or 1, that takes no function: some precisions have none.
    """
    x, (point, more) = a[..., 0], _EXACT.get(function.__name__, (None, 0))
    return x + more if point is not None and bool((x == point).all()) else function(x)


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


def exponent_of(x: Any, precision: Precision) -> tuple[MDArray, Fraction | None]:
    """Return an exponent in limbs, and the fraction that it is where its denominator is small.

    It is if it rounds to it in octo-double, or in the precision of the series above that.

    Numbers of all types that are equal give the same: 2, 2.0, ``Decimal(2)``, ``mdqr.dd(2)``.

    Raises
    ------
    TypeError, ValueError
        If it is not a number, or not one finite number.
    """
    if isinstance(x, str):
        raise TypeError(f"the exponent must be a number; got the text {shortened(repr(x))}")
    r = x if isinstance(x, MDArray) else mdqr.array(x, precision=PRECISIONS[-1])
    if r.shape:
        raise ValueError(f"the exponent must be one number; its shape is {r.shape}")
    if not mdqr.isfinite(r):
        raise ValueError(f"the exponent must be finite; got {shortened(str(x))}")
    if r.is_complex and bool(r.imag != 0):
        return r, None
    real = r.real.to_device("cpu").astype(max(precision, od))
    near = real.to_fractions().item().limit_denominator(_MOST_ROOT)
    is_near = bool(mdqr.array(near, precision=real.precision) == real)
    return r, near if is_near else None


def power(a: MDArray, exponent: Any, first: MDArray | None = None) -> MDArray:
    """Return ``a ** exponent``: ``a y' = exponent a' y``.

    Parameters
    ----------
    a : MDArray
        Series whose constant terms are not zero.
    exponent : number
        Any number that is not an integer: for those products are right where this has no answer.
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
    first = power_of(a[..., 0], exponent) if first is None else first
    a = a.astype(dtype=complex) if first.is_complex else a
    # k a_0 y_k = sum_j (r j - (k - j)) a_j y_{k-j}
    weighted = a * ((r + 1) * _steps(a, 0, a.shape[-1]))

    def order(y: MDArray, k: int) -> MDArray:
        total = _dot(weighted[..., 1 : k + 1], y[..., :k])
        return (total - _dot(a[..., 1 : k + 1], y[..., :k]) * k) / (a[..., 0] * k)

    return _by_orders(a, first, order)


def power_of(x: MDArray, exponent: Any) -> MDArray:
    """Return principal powers of numbers; those by small fractions as powers of roots."""
    r, fraction = exponent_of(exponent, x.precision)
    if fraction is None:
        if bool((x == 1).all()):
            return x.astype(dtype=complex) if r.is_complex else x.copy()
        return x ** r.to_device(x.device).astype(x.precision)
    return _root(x, fraction.denominator) ** fraction.numerator


def _root(x: MDArray, n: int) -> MDArray:
    """Return principal roots of numbers that are not zero, by Newton's method from float64."""
    if n == 1:
        return x
    with np.errstate(invalid="ignore"):
        y = mdqr.array(x.to_numpy() ** (1.0 / n), precision=x.precision, device=x.device)
    right, wanted = 40, x.precision.bits
    while right < 2 * wanted:
        y = y - (y - x / y ** (n - 1)) / n
        right *= 2
    return y


def exp(a: MDArray) -> MDArray:
    """Return exponentials: ``y' = a' y``."""
    weighted = a * _steps(a, 0, a.shape[-1])

    def order(y: MDArray, k: int) -> MDArray:
        return _dot(weighted[..., 1 : k + 1], y[..., :k]) / k

    return _by_orders(a, constant(mdqr.exp, a), order)


def log(a: MDArray) -> MDArray:
    """Return logarithms, integrals of ``a' / a``."""
    return _integrated(a, mdqr.log, lambda: reciprocal(a))


def sin_cos(a: MDArray) -> tuple[MDArray, MDArray]:
    """Return sines and cosines: ``s' = a' c``, ``c' = -a' s``."""
    weighted = a * _steps(a, 0, a.shape[-1])
    s, c = (_started(a, constant(f, a)) for f in (mdqr.sin, mdqr.cos))
    for k in range(1, a.shape[-1]):
        w = weighted[..., 1 : k + 1]
        s[..., k], c[..., k] = _dot(w, c[..., :k]) / k, -_dot(w, s[..., :k]) / k
    return s, c


def tan(a: MDArray) -> MDArray:
    """Return tangents: quotients of sine and cosine near the real axis.

    Far from it these are large and nearly i times each other. There, with ``w = exp(2i a)`` above
    the axis and ``w = exp(-2i a)`` below it, the tangent is ``+-(i - 2i w / (1 + w))``, and w is
    small.
    """
    first = constant(mdqr.tan, a)
    s, c = sin_cos(a)
    found = multiply(s, reciprocal(c)) if not a.is_complex else _far_tan(a, s, c)
    found[..., 0] = first
    return found


def _far_tan(a: MDArray, s: MDArray, c: MDArray) -> MDArray:
    height = a[..., :1].imag
    near = abs(height) <= 1
    one = a[..., :1] * 0 + 1
    # What is not taken shall not stop the other.
    c[..., :1] = where(near, c[..., :1], one)
    sign = where(height > 0, height * 0 + 1, height * 0 - 1)
    w = exp(a * where(near, height * 0, 2 * sign) * 1j)
    far = multiply(w, reciprocal(_one_more(w.copy()))) * (sign * -2j)
    return where(near, multiply(s, reciprocal(c)), far)


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
    first, orders = constant(function, a), a.shape[-1]
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
