"""Sweeps that correct factors: how many bits each one takes, and which ones are waited for."""

from __future__ import annotations

from math import ceil, floor, inf, isfinite, log2
from typing import NamedTuple

import numpy as np

from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.products import LIMB, bits_of_entries, eps_of
from mdqr.linalg._products.exact.product import is_within_range
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import kind_with

# The most of F behind a sweep: with more, factors by recursion take less time.
_GAIN = 2.0**-12
# Bits by which inverses may enlarge errors of a difference; numbers of bits are multiples of this.
_CONDITION, _STEP = 16, 96
# Bits of a planned sweep are multiples of the first, so that few plans are recorded, and so many.
_GAINS, _LEAST_GAIN = 4, 24
# Sizes that are seen before others are foreseen, and how much larger these may be.
_SEEN, _LOOSE = 2, 2.0


class Digits(NamedTuple):
    """The bits of a difference, and a kind that holds them."""

    bits: int
    kind: Kind

    @property
    def least(self) -> float:
        """The least size of a correction that a difference of so many bits can show."""
        return 2.0 ** (8 - self.bits)


def digits_of_sweep(before: float, kind: Kind) -> Digits:
    """Return the digits of differences whose next 53 bits count, after a correction of this size.

    The last ones show errors of entries. Few numbers of bits, so that few modules are compiled.
    """
    known = -log2(min(1.0, max(before, eps_of(kind))))
    bits, most = _STEP * ceil((known + LIMB + _CONDITION) / _STEP), bits_of_entries(kind)
    if bits >= most:
        return Digits(most, kind)
    return Digits(bits, kind_with(2.0**-bits, kind, least=2))


class Pace:
    """The course of sweeps for factors of a kind.

    The first ones show how F shrinks. Later ones are not waited for while their differences cannot
    show errors of entries.

    Attributes
    ----------
    size : float
        The norm of F that was seen last, or the least that its difference can show.
    gains : bool
        True if it is much smaller than the one that was seen before.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind, self._before, self._rate = kind, 1.0 / _GAIN, 1.0
        self._pending: list[Block] = []
        self._seen = 0
        self.size, self.gains = 1.0 / _GAIN, True

    @property
    def digits(self) -> Digits:
        """The digits of the next difference."""
        return digits_of_sweep(self._before, self._kind)

    @property
    def expected(self) -> float:
        """The norm of F that the next sweep is expected to find; infinite before two are seen."""
        return self._rate * self._before if self._seen >= _SEEN else inf

    def plan(self, order: int) -> tuple[Digits, ...] | None:
        """Return the digits of all sweeps behind those seen but the last, which corrects nothing.

        Each is expected to add as many bits as the last one; None if these are few.
        """
        gain = _GAINS * floor(-log2(self._rate) / _GAINS)
        if gain < _LEAST_GAIN:
            return None
        found, known = [], gain + _GAINS * floor(-log2(self.size) / _GAINS)
        while known < -log2(order * eps_of(self._kind)):
            found.append(digits_of_sweep(2.0**-known, self._kind))
            known += gain
        return tuple(found)

    def pass_planned(self) -> None:
        """Go on with differences of all bits."""
        self._before = eps_of(self._kind)

    @property
    def is_last(self) -> bool:
        """True if the next difference has all bits."""
        return self.digits.bits == bits_of_entries(self._kind)

    def take(self, square: Block, words: Block) -> bool | None:
        """Take the square of the norm of F and the words of the difference of one more sweep.

        Returns
        -------
        bool or None
            True if it is seen, and False if it is foreseen; None if numbers were out of range.
        """
        least = self.digits.least
        self._pending.append(words)
        if self._seen >= _SEEN and not self.is_last:
            self._before = max(self._rate * _LOOSE * self._before, least)
            return False
        total, *seen = fetch(square, *self._pending)
        self._pending.clear()
        size = max(float(np.ravel(total)[0]) ** 0.5, least)
        if not (isfinite(size) and all(map(is_within_range, seen))):
            return None
        self._rate, self._seen = size / self.size, self._seen + 1
        self.gains = size <= _GAIN * self.size
        self.size = self._before = size
        return True
