"""Exact integers and rationals, rounded once to limbs.

The form is greedy: each limb is the double nearest to what remains, ties to even. One pass of
FastTwoSum afterwards makes ``fl(x[i] + x[i+1]) == x[i]`` hold where a tie was broken by a later
limb; it does not change the value.
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite, ldexp

import numpy as np

_EXACT_BITS = 1000  # an int of at most this many bits converts to a finite double
_LOWEST = -1074  # exponent of the smallest positive double
_HIGHEST = 1022  # below this many bits no sum of two limbs overflows


@lru_cache(maxsize=4096)
def power_of_five(k: int) -> int:
    """Return ``5**k``; callers keep `k` below a few thousand."""
    return int(5**k)


def normalize(limbs: list[float]) -> None:
    """Make greedy limbs satisfy ``fl(x[i] + x[i+1]) == x[i]``, in place, value unchanged."""
    stable = False
    while not stable:
        stable = True
        for i in range(len(limbs) - 1):
            high, low = limbs[i], limbs[i + 1]
            total = high + low
            if total != high and isfinite(total):
                limbs[i], limbs[i + 1] = total, low - (total - high)
                stable = False
            elif total != high:
                limbs[i:] = [total] + [0.0] * (len(limbs) - i - 1)


def normalize_block(block: np.ndarray) -> None:
    """Do `normalize` to every value of a finite block ``(N, count)``, in place."""
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
    if exp < _LOWEST or exp + quotient.bit_length() > _HIGHEST:
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
    if scaled is not None:
        out = [ldexp(limb, scaled[1]) for limb in scaled[0]]
    else:
        out = _exact_limbs(num, den, exp, limbs)
    normalize(out)
    if not isfinite(out[0]):
        raise OverflowError
    return out


def _exact_limbs(num: int, den: int, exp: int, limbs: int) -> list[float]:
    """Do `scaled_limbs` for any input by exact remainders."""
    size = num.bit_length() - den.bit_length() + exp
    if size > 1025:
        raise OverflowError
    if exp >= 0:
        num <<= exp
    elif size > -1077:
        den <<= -exp
    out: list[float] = []
    negative = num < 0
    while num and size > -1077 and len(out) < limbs:
        limb = num / den  # correctly rounded by CPython, subnormal results included
        if not limb:
            break
        out.append(limb)
        top, bottom = limb.as_integer_ratio()
        num, den = num * bottom - top * den, den * bottom
    return (out or [-0.0 if negative else 0.0]) + [0.0] * (limbs - max(len(out), 1))


def decimal_to_limbs(digits: int, exp: int, limbs: int) -> list[float]:
    """Round ``digits * 10**exp`` (`exp` at most a few thousand in size) to `limbs` limbs."""
    if exp >= 0:
        return ratio_to_limbs(digits * power_of_five(exp), 1, exp, limbs)
    return ratio_to_limbs(digits, power_of_five(-exp), exp, limbs)
