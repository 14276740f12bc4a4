"""Roots of unity from integers, rounded once."""

from __future__ import annotations

from math import gcd, isqrt
from typing import Any, TypeAlias

import numpy as np

from mdqr._limbs.exact import normalize_block

# Cosines and sines, of Python's integers, alone or in arrays.
_Parts: TypeAlias = tuple[Any, Any]

_GUARD = 100  # bits below the last limb
_SPARE = 40  # of them; the tables lose at most 4 + log2(n) / 2


def roots_of_unity(places: np.ndarray, n: int, limbs: int) -> np.ndarray:
    """Return ``exp(2 pi i places / n)`` as a block ``(2, limbs, *shape)``.

    Each part is the nearest value of so many limbs, unless it lies within ``2**-50`` of their last
    bit from the middle between two.

    Parameters
    ----------
    places : numpy.ndarray
        Integers of any size and sign.
    n : int
        The order, at least 1.
    limbs : int
        The number of limbs.
    """
    whole = n * 4 // gcd(n, 4)
    used, back = np.unique(places % n, return_inverse=True)
    used = used * (whole // n)
    quarter = whole // 4
    turns, rest = np.divmod(used, quarter)
    flipped = 2 * rest > quarter  # beyond an eighth of a turn sine and cosine change places
    folded, where = np.unique(np.where(flipped, quarter - rest, rest), return_inverse=True)
    bits = 53 * limbs + _GUARD + whole.bit_length()
    parts = np.stack([_limbs(part, bits, limbs) for part in _first_eighth(folded, whole, bits)])
    parts = parts[..., where]
    parts = np.where(flipped != (turns % 2 == 1), parts[::-1], parts)
    parts[0, :, (turns == 1) | (turns == 2)] *= -1
    parts[1, :, turns >= 2] *= -1
    return np.ascontiguousarray((parts + 0.0)[..., back.reshape(places.shape)])


def _first_eighth(places: np.ndarray, n: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines and sines of ``2 pi places / n``, in units of ``2**-bits``, as objects.

    A place is ``i + step j``: the products of two small tables.
    """
    step = max(isqrt(int(places.max(initial=0))) + 1, 2)
    angle = (_pi(bits + 8) << 1) // n >> 8
    cos, sin = _cos_sin(angle, bits)
    low = _powers(cos, sin, step, bits)
    whole = _times((low[0][-1], low[1][-1]), (low[0][1], low[1][1]), bits)
    high = _powers(whole[0], whole[1], step, bits)
    j, i = np.divmod(places, step)
    found = _times((low[0][i], low[1][i]), (high[0][j], high[1][j]), bits)
    half = 1 << (_SPARE - 1)
    return tuple((part + half) >> _SPARE << _SPARE for part in found)  # so that 1/2 is exact


def _times(x: _Parts, y: _Parts, bits: int) -> _Parts:
    """Multiply complex integers, rounding down."""
    return (x[0] * y[0] - x[1] * y[1]) >> bits, (x[0] * y[1] + x[1] * y[0]) >> bits


def _powers(cos: int, sin: int, count: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first powers of a number of modulus 1."""
    found, one = [(1 << bits, 0)], (cos, sin)
    while len(found) < count:
        found.append(_times(found[-1], one, bits))
    return np.array([x for x, _ in found], object), np.array([y for _, y in found], object)


def _cos_sin(angle: int, bits: int) -> tuple[int, int]:
    """Return cosine and sine of an angle of at most a quarter of a turn by their series."""
    sums, term, k = [1 << bits, 0, 0, 0], 1 << bits, 0
    while term:
        k += 1
        term = (term * angle >> bits) // k
        sums[k % 4] += term
    return sums[0] - sums[2], sums[1] - sums[3]


def _pi(bits: int) -> int:
    """Return pi in units of ``2**-bits``, by Machin's formula."""
    guard = 16
    one = 1 << (bits + guard)
    return (16 * _arctan_of_inverse(5, one) - 4 * _arctan_of_inverse(239, one)) >> guard


def _arctan_of_inverse(x: int, one: int) -> int:
    power, total, k = one // x, one // x, 1
    while power:
        power //= -x * x
        k += 2
        total += power // k
    return total


def _limbs(values: np.ndarray, bits: int, limbs: int) -> np.ndarray:
    """Round integers in units of ``2**-bits`` to limbs ``(limbs, count)``."""
    block = np.empty((limbs, len(values)))
    for plane in block:
        plane[:] = values.astype(np.float64)  # to the nearest double
        values = values - np.array([int(x) for x in plane], object)
    block = np.ldexp(block, -bits)
    normalize_block(block)
    return block
