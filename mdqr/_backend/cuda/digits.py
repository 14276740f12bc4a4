"""Digits of 51 bits and slices of 22 that kernels cut numbers of so many limbs into.

The same as in kernels/include/mdqr/digits.hpp and kernels/cuda/products/slices.hpp.
"""

from __future__ import annotations

from functools import cache
from math import ceil, log2

from mdqr._precision import eps_bits

_DIGIT_BITS, _SLICE_BITS = 51, 22
# As `digits_in_range`: weights of so many digits are doubles.
MOST_WEIGHTS = 18
# Terms so many bits below the largest are summed without the exact accumulator.
_LEAST_SPAN, _LEAST_SLICE_SPAN = 24, 30


@cache
def result_digits(limbs: int) -> int:
    """Return the digits for a result of so many limbs."""
    return _digits(limbs + 1 if limbs > 1 else 3, eps_bits(limbs))


@cache
def residual_digits(limbs: int) -> int:
    """Return the digits for a result that is to be as good as twice the limbs."""
    return _digits(2 * limbs + 1, 2 * eps_bits(limbs))


@cache
def slices(limbs: int) -> int:
    """Return the slices of an operand."""
    s = 1
    while _SLICE_BITS * s - eps_bits(limbs) - ceil(log2(s + 3)) < _LEAST_SLICE_SPAN:
        s += 1
    return s


def _digits(least: int, bits: int) -> int:
    count = least
    while _DIGIT_BITS * count - bits - ceil(log2(4 * (3 * count + 2))) < _LEAST_SPAN:
        count += 1
    return count
