"""The moduli of an exact product, and the tables that its kernels read.

Products of residues of 8 bits are summed in 32 bits, so moduli are at most 256. Pairwise coprime
ones hold no more than 363 bits together; where that is not enough, primes below 2**15 follow, whose
residues are two digits to the base 128: with digits of opposite signs they and their sum fit 8
bits, and three products of bytes make one of residues (Karatsuba).

A complex number x + iy is kept as x + jy and x - jy modulo m, where j**2 = -1: its products are
those of these two, two instead of four or three (Abdallah and Skavantzos, "On multimoduli residue
number systems with moduli of forms r^a, r^b - 1, r^c + 1", and earlier work on quadratic residue
number systems). All prime factors of m are 1 modulo 4 then.

Ozaki, Uchino and Imamura, "Ozaki Scheme II", arXiv 2504.08009, is the method for one limb.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.exact import Channels, Reconstruction

# Sums of so many products of bytes, of (-128)**2 too, stay below 2**31: what lies beyond, libraries
# may wrap around or saturate. Tensor cores take terms by 16.
MOST_TERMS = 2**17 - 16

# Pairwise coprime, chosen for the largest product of so many numbers up to 256.
_NARROW = (
    *(256, 253, 251, 247, 243, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 185),
    *(181, 179, 173, 167, 163, 157, 151, 149, 139, 137, 131, 127, 113, 109, 107, 103, 101, 97),
    *(89, 83, 79, 73, 71, 67, 61, 59, 53, 47, 43, 41),
)
_NARROW_COMPLEX = (
    *(241, 233, 229, 221, 205, 197, 193, 181, 173, 157, 149, 137, 113, 109, 101, 97, 89, 73),
    *(61, 53, 37, 29),
)

# Two digits of opposite signs to the base 128 reach 127 * 128.
_MOST_WIDE = 32513
_WIDE_PLANES = 3


class Moduli(NamedTuple):
    """Pairwise coprime numbers: the first `narrow` at most 256, the others primes below 2**15."""

    values: tuple[int, ...]
    narrow: int
    is_complex: bool

    @property
    def parts(self) -> int:
        """Return how many products of residues there are for each modulus."""
        return 1 + self.is_complex

    @property
    def planes(self) -> int:
        """Return the number of products of bytes."""
        return self.parts * (self.narrow + _WIDE_PLANES * (len(self.values) - self.narrow))


def words_of(tau: int) -> int:
    """Return the words of 32 bits of integers of magnitude up to ``2**tau``.

    Kernels take 32 of all parts of a number: sums of so many bytes times residues are below 2**22.
    """
    return (tau + 1) // 32 + 1


@cache
def moduli(bits: int, is_complex: bool) -> Moduli:
    """Return the moduli of the fewest products of bytes whose product is at least ``2**bits``."""
    narrow = _NARROW_COMPLEX if is_complex else _NARROW
    primes = _wide_primes(is_complex)
    best: Moduli | None = None
    for count in range(len(narrow) + 1):
        product, wide = math.prod(narrow[:count]), 0
        while product >> bits == 0:
            product *= primes[wide]
            wide += 1
        found = Moduli((*narrow[:count], *primes[:wide]), count, is_complex)
        if best is None or found.planes < best.planes:
            best = found
    assert best is not None
    return best


@cache
def channels(chosen: Moduli, words: int, conjugate: bool) -> Channels:
    """Return the tables for integers of so many words, or of their conjugates."""
    modulus, rows, starts = [], [], []
    for m in chosen.values:
        for factor in _units(m, conjugate) if chosen.is_complex else (1,):
            units = (1, factor) if chosen.is_complex else (1,)
            powers = [
                _nearest(unit * pow(256, j, m), m) for unit in units for j in range(4 * words)
            ]
            modulus.append(m)
            rows.append(powers)
            offset = sum(units) * pow(2, 32 * words - 1, m)
            starts.append(_nearest(-offset, m))
    narrow = chosen.parts * chosen.narrow
    table = np.array(rows, dtype=np.int64)
    high = (table[narrow:] + 64) >> 7
    low = table.copy()
    low[narrow:] -= 128 * high
    return Channels(
        np.array(modulus, dtype=np.int32),
        narrow,
        words,
        _packed(low),
        _packed(high.reshape(-1, table.shape[1])),
        np.array(starts, dtype=np.int32),
    )


@cache
def reconstruction(chosen: Moduli, left_out: int = 0) -> Reconstruction:
    """Return the weights that lead from residues to digits of integers, the lowest left out."""
    if left_out:
        return reconstruction(chosen).without(left_out)
    product = math.prod(chosen.values)
    # Residues of parts of complex numbers are sums of two. That of a sum halfway between two
    # multiples may be either.
    most = sum((m + 1) // 2 for m in chosen.values) * chosen.parts
    width = 52
    while (most + most // 2 + 2) * 2 ** (width - 1) + 2 ** (54 - width) >= 2**53:
        width -= 1
    pieces = -(-(product.bit_length() + 1) // width)
    weights, fractions = [], []
    for part in range(chosen.parts):
        for m in chosen.values:
            cofactor = product // m
            scale = 1
            if chosen.is_complex:
                unit = _units(m, False)[0]
                scale = pow(2, -1, m) if part == 0 else pow(2 * unit, -1, m)
            weight = _nearest(cofactor * (pow(cofactor, -1, m) * scale % m), product)
            weights.append(_digits(weight, pieces, width))
            fractions.append(weight / product)
    shape = (chosen.parts, len(chosen.values))
    return Reconstruction(
        np.array(weights).reshape(*shape, pieces),
        np.array(fractions).reshape(shape),
        np.array(_digits(product, pieces, width)),
        width,
    )


def _nearest(x: int, m: int) -> int:
    """Return `x` modulo `m`, nearest to zero."""
    r = x % m
    return r - m if 2 * r >= m else r


def _units(m: int, conjugate: bool) -> tuple[int, int]:
    """Return the square roots j and -j of -1 modulo `m`, in the order of the two products."""
    j = _smallest_unit(m)
    return (m - j, j) if conjugate else (j, m - j)


@cache
def _smallest_unit(m: int) -> int:
    return next(j for j in range(2, m) if j * j % m == m - 1)


@cache
def _wide_primes(is_complex: bool) -> tuple[int, ...]:
    """Return primes that take two digits, 1 modulo 4 for complex numbers, the largest first."""
    sieve = np.ones(_MOST_WIDE + 1, dtype=bool)
    sieve[:2] = False
    for p in range(2, math.isqrt(_MOST_WIDE) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    primes = [int(p) for p in np.flatnonzero(sieve) if p > 2**14]
    return tuple(p for p in reversed(primes) if p % 4 == 1 or not is_complex)


def _packed(table: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return four signed bytes a word."""
    return np.ascontiguousarray(table.astype(np.int8)).view(np.int32)


def _digits(x: int, count: int, width: int) -> list[float]:
    """Return balanced digits of `x` to the base ``2**width``, the lowest first."""
    found = []
    for _ in range(count):
        digit = (x + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))
        found.append(float(digit))
        x = (x - digit) >> width
    assert x == 0
    return found
