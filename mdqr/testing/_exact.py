"""Exact values of limbs as Python integers, and their correct rounding back to limbs.

Every finite double is an integer multiple of ``2**-SCALE``, so an integer says the value of any
number of limbs exactly, whatever their exponents.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mdqr._convert.constants import Constant
from mdqr._convert.enclosures import between_doubles

__all__ = ["SCALE", "Integers", "from_integers", "ratio", "rational", "to_integers"]

SCALE: Final = 1074

Integers = NDArray[np.object_]


def to_integers(planes: NDArray[np.float64]) -> Integers:
    """Return the exact sums over axis 0 in units of ``2**-SCALE``; the limbs must be finite."""
    shape = planes.shape[1:]
    mantissa, exponent = np.frexp(planes.reshape(len(planes), -1))
    digits = (mantissa * 2.0**53).astype(np.int64)
    shift = exponent.astype(np.int64) - 53 + SCALE
    digits >>= np.maximum(-shift, 0)  # a subnormal ends in that many zero bits
    shifted = digits.astype(object) << np.maximum(shift, 0).astype(object)
    total = np.zeros(shifted.shape[1:], dtype=object)
    for plane in shifted:
        total = total + plane
    return total.reshape(shape)


def from_integers(values: Integers, exponent: int, limbs: int) -> NDArray[np.float64]:
    """Round ``values * 2**exponent`` to `limbs` normalised limbs: float64 ``(limbs, *shape)``."""
    flat = [int(value) for value in values.ravel()]
    if exponent < -SCALE:
        flat, exponent = [_nearest(value, -SCALE - exponent) for value in flat], -SCALE
    columns = [_greedy(value, exponent, limbs) for value in flat]
    planes = np.ascontiguousarray(np.array(columns, dtype=np.float64).reshape(-1, limbs).T)
    with np.errstate(all="ignore"):
        for i in range(limbs - 1):  # greedy limbs may tie; one pass makes the upper one even
            total = planes[i] + planes[i + 1]
            planes[i + 1] -= total - planes[i]
            planes[i] = total
    return planes.reshape(limbs, *values.shape)


def _greedy(value: int, exponent: int, limbs: int) -> list[float]:
    """Return limbs, each nearest to the value less those above it."""
    out: list[float] = []
    while value and len(out) < limbs:
        excess = value.bit_length() - 1000
        if excess <= 0:
            leading = float(value)
            value -= int(leading)
            out.append(math.ldexp(leading, exponent))
            continue
        top = value >> excess
        if excess and value & ((1 << excess) - 1):
            top |= 1  # 1000 bits and a sticky one round as the whole does
        leading = float(top)
        value -= int(leading) << excess
        out.append(math.ldexp(leading, excess + exponent))
    return out + [0.0] * (limbs - len(out))


def _nearest(value: int, shift: int) -> int:
    """Return ``value / 2**shift``, ties to even."""
    quotient, rest = value >> shift, value & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    return quotient + (rest > half or (rest == half and quotient & 1))


def ratio(numerator: int, denominator: int) -> float:
    """Return the quotient rounded to a double; infinity beyond the range and for ``x / 0``."""
    if numerator == 0:
        return 0.0
    try:
        return numerator / denominator
    except (OverflowError, ZeroDivisionError):
        return math.inf


def rational(value: Any) -> Fraction:
    """Return the exact value of a real Python, NumPy or mpmath number.

    For irrational constants it is a fraction within 2**-1074 of them.
    """
    if isinstance(value, Constant):
        return between_doubles(value)
    if hasattr(value, "_mpf_"):
        sign, mantissa, exponent, _ = value._mpf_
        if not mantissa and exponent:
            raise ValueError(f"{value} has no exact rational value")
        power = Fraction(2) ** exponent
        return (-1) ** sign * int(mantissa) * power
    if hasattr(value, "p") and hasattr(value, "q"):  # flint.fmpq, sympy.Rational
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, np.generic):
        value = value.item()
    return Fraction(value)
