"""Lengths as products of small ones, and the tables of roots of unity for each."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from mdqr._limbs.device import place_on_device_of
from mdqr._limbs.planes import Block
from mdqr.fft._roots import roots_of_unity

DENSE = 192  # larger prime factors are done by convolution
_RADIX = 16  # smaller factors are multiplied up to it
_KEPT, _TABLES = 1 << 15, 64  # roots of a table, and tables, that are kept
_LARGE, _FEW = 1 << 19, 2  # of large ones


def factors(n: int) -> list[int]:
    """Return the lengths of the steps: large primes, and products of at most 16."""
    primes, p = [], 2
    while p * p <= n:
        while n % p == 0:
            primes.append(p)
            n //= p
        p += 1
    if n > 1:
        primes.append(n)
    found: list[int] = []
    for prime in sorted(primes, reverse=True):
        place = next((i for i, r in enumerate(found) if r * prime <= _RADIX), None)
        if place is None:
            found.append(prime)
        else:
            found[place] *= prime
    return found


def convolved_length(p: int) -> int:
    """Return the power of two for a convolution of p numbers with twice as many."""
    return 1 << (2 * p - 2).bit_length()


class Roots(NamedTuple):
    """Tables of ``exp(2 pi i sign places / order)``, on the device of a block."""

    limbs: int
    sign: int
    like: Block

    def products(self, rows: int, columns: int, order: int) -> Block:
        """Return the roots at ``j k``, ``(2, N, rows, columns)``."""
        return self._table("products", rows, columns, order)

    def chirp(self, p: int, sign: int) -> Block:
        """Return the roots of order 2p at ``sign j**2``, ``(2, N, p, 1)``."""
        return self._table("squares" if sign > 0 else "negative squares", p, 1, 2 * p)

    def _table(self, places: _Places, rows: int, columns: int, order: int) -> Block:
        count = rows * columns
        make = _kept if count <= _KEPT else _kept_large if count <= _LARGE else _roots
        device = str(getattr(self.like, "device", "cpu"))
        return make(places, (rows, columns, order), self.sign, self.limbs, device, _Like(self.like))


_Places = Literal["products", "squares", "negative squares"]


class _Like(NamedTuple):
    """A block, of which keys are independent."""

    block: Block

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Like)


def _roots(
    places: _Places, sizes: tuple[int, int, int], sign: int, limbs: int, device: str, like: _Like
) -> Block:
    rows, columns, order = sizes
    row = np.arange(rows, dtype=np.int64)[:, None]
    if places == "products":
        indices = row * np.arange(columns)
    else:
        indices = row * row * (1 if places == "squares" else -1)
    return place_on_device_of(roots_of_unity(sign * indices, order, limbs), like.block)


_kept = lru_cache(maxsize=_TABLES)(_roots)
_kept_large = lru_cache(maxsize=_FEW)(_roots)
