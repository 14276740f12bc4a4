"""Exact integers and rationals, rounded once to limbs.

The form is greedy: each limb is the double nearest to what remains, ties to even. One pass of
FastTwoSum afterwards makes ``fl(x[i] + x[i+1]) == x[i]`` hold where a tie was broken by a later
limb; it does not change the value.

Where a limb may be subnormal everything is integers in units of 2**-1074, in which a double is any
integer of at most 53 significant bits: float arithmetic would depend on the caller's flush-to-zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import inf, ldexp
from struct import Struct

import numpy as np

_EXACT_BITS = 1000  # an int of at most this many bits converts to a finite double
LOWEST = -1074  # exponent of the smallest positive double
_LOWEST_NORMAL = -1022  # exponent of the smallest normal double
_HIGHEST = 1022  # below this many bits no sum of two limbs overflows
_MANTISSA = 2**52 - 1

_DOUBLE, _WORD = Struct("<d"), Struct("<Q")


@lru_cache(maxsize=4096)
def power_of_five(k: int) -> int:
    """Return ``5**k``; callers keep `k` below a few thousand."""
    return int(5**k)


# -- doubles as integers ---------------------------------------------------------------------


def units(x: float) -> int:
    """Return the finite `x` in units of 2**-1074."""
    return sum_of_units((x,))


def sum_of_units(limbs: Iterable[float]) -> int:
    """Return the exact sum of finite limbs in units of 2**-1074."""
    values, total = tuple(limbs), 0
    for word in _words(len(values)).unpack(_doubles(len(values)).pack(*values)):
        biased = word >> 52 & 0x7FF
        size = (word & _MANTISSA | 1 << 52) << biased - 1 if biased else word & _MANTISSA
        total += -size if word >> 63 else size
    return total


def from_units(count: int) -> float:
    """Return the double of `count` units of 2**-1074; it has at most 53 significant bits."""
    size = abs(count)
    if size > _MANTISSA:
        shift = max(size.bit_length() - 53, 0)
        return ldexp(float(count >> shift), shift + LOWEST)
    (x,) = _DOUBLE.unpack(_WORD.pack(size | (count < 0) << 63))
    return float(x)


@lru_cache(maxsize=64)
def _doubles(count: int) -> Struct:
    return Struct(f"<{count}d")


@lru_cache(maxsize=64)
def _words(count: int) -> Struct:
    return Struct(f"<{count}Q")


def same_limbs(x: list[float], y: list[float]) -> bool:
    """Return whether limbs are equal; float comparison may take a subnormal for zero."""
    if x != y:
        return False
    layout = _doubles(len(x))
    return layout.pack(*x) == layout.pack(*y)


def _nearest(num: int, den: int) -> int:
    """Round ``num/den`` to an integer of at most 53 significant bits, ties to even."""
    whole, rest = divmod(abs(num), den)
    spare = max(whole.bit_length() - 53, 0)
    kept = whole >> spare
    twice, unit = 2 * ((whole - (kept << spare)) * den + rest), den << spare
    kept += twice > unit or (twice == unit and kept & 1)
    return -(kept << spare) if num < 0 else kept << spare


# -- rounding --------------------------------------------------------------------------------


def normalize(limbs: list[float]) -> None:
    """Make greedy limbs satisfy ``fl(x[i] + x[i+1]) == x[i]``, in place, value unchanged.

    The limbs are multiples of a normal power of two.
    """
    for _ in limbs:
        stable = True
        for i in range(len(limbs) - 1):
            high, low = limbs[i], limbs[i + 1]
            total = high + low
            if total != high:
                limbs[i], limbs[i + 1] = total, low - (total - high)
                stable = False
        if stable:
            return


def normalize_block(block: np.ndarray) -> None:
    """Do `normalize` to every value of a block ``(N, count)``, in place."""
    loose = (block[:-1] + block[1:] != block[:-1]).any(axis=0)
    for column in np.flatnonzero(loose).tolist():
        limbs = block[:, column].tolist()
        normalize(limbs)
        block[:, column] = limbs


def scaled_limbs(num: int, den: int, exp: int, limbs: int) -> tuple[list[float], int] | None:
    """Return greedy limbs of ``num/den * 2**exp`` as ``(integer-valued doubles, exponent)``.

    The limbs are those doubles times ``2**exponent``, exactly, before the FastTwoSum pass. None if
    a fixed number of quotient bits does not decide the rounding, or near the ends of the range.
    """
    quotient = -num if num < 0 else num
    inexact = False
    if den != 1 or quotient.bit_length() > _EXACT_BITS:
        shift = 54 * limbs + 72 - quotient.bit_length() + den.bit_length()
        if shift >= 0:
            quotient, rest = divmod(quotient << shift, den)
        else:
            quotient, rest = divmod(quotient, den << -shift)
        exp -= shift
        if rest:  # rounding to odd: later roundings with two bits to spare are still right
            quotient |= 1
            inexact = True
    if exp < _LOWEST_NORMAL or exp + quotient.bit_length() > _HIGHEST:
        return None
    if num < 0:
        quotient = -quotient
    out = []
    limb = 0.0
    for _ in range(limbs):
        limb = float(quotient)
        out.append(limb)
        quotient -= int(limb)
    if inexact and abs(limb) < 2.0**55:
        return None
    return out, exp


def ratio_to_limbs(num: int, den: int, exp: int, limbs: int) -> list[float]:
    """Round ``num/den * 2**exp`` (``den > 0``) to `limbs` limbs.

    Raises
    ------
    OverflowError
        If the rounded value lies beyond the largest double.
    """
    if not num:
        return [0.0] * limbs
    scaled = scaled_limbs(num, den, exp, limbs)
    if scaled is None:
        return _exact_limbs(num, den, exp, limbs)
    out, power = scaled
    normalize(out)
    return [ldexp(limb, power) for limb in out]


def saturated(num: int, den: int, exp: int, limbs: int) -> list[float]:
    """Do `ratio_to_limbs` for a type that has infinities."""
    try:
        return ratio_to_limbs(num, den, exp, limbs)
    except OverflowError:
        return [-inf if num < 0 else inf] + [0.0] * (limbs - 1)


def _exact_limbs(num: int, den: int, exp: int, limbs: int) -> list[float]:
    """Do `ratio_to_limbs` for any input by exact remainders, in units of 2**-1074."""
    size = num.bit_length() - den.bit_length() + exp
    if size > 1025:
        raise OverflowError
    zero = [-0.0 if num < 0 else 0.0] + [0.0] * (limbs - 1)
    if size < -1076:
        return zero
    shift = exp - LOWEST
    num, den = (num << shift, den) if shift >= 0 else (num, den << -shift)
    out: list[int] = []
    for _ in range(limbs):
        out.append(_nearest(num, den))
        num -= out[-1] * den
    normalize_units(out)
    if out[0].bit_length() > 1024 - LOWEST:
        raise OverflowError
    return list(map(from_units, out)) if out[0] else zero


def normalize_units(limbs: list[int]) -> None:
    """Do `normalize` in units of 2**-1074."""
    for _ in limbs:
        stable = True
        for i in range(len(limbs) - 1):
            both = limbs[i] + limbs[i + 1]
            total = _nearest(both, 1)
            if total != limbs[i]:
                limbs[i], limbs[i + 1] = total, both - total
                stable = False
        if stable:
            return


def decimal_to_limbs(digits: int, exp: int, limbs: int) -> list[float]:
    """Round ``digits * 10**exp`` (`exp` at most a few thousand in size) to `limbs` limbs.

    Beyond the largest double it is an infinity.
    """
    if exp >= 0:
        return saturated(digits * power_of_five(exp), 1, exp, limbs)
    return saturated(digits, power_of_five(-exp), exp, limbs)
