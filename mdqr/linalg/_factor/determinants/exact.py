"""Exact determinants of a few small matrices: integers without fractions, on the host."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, inf, ldexp, nextafter
from typing import Any, NamedTuple

import numpy as np

from mdqr._limbs.exact import LOWEST, ratio_to_limbs, sum_of_units
from mdqr._limbs.planes import Block, namespace
from mdqr._limbs.scaling import largest

_MANTISSA = 2**52 - 1
# Twice the exponents of all doubles.
_FAR = 2**12
# The time of a step of the elimination, and the bits of integers for which it doubles.
_STEP, _BITS = 4e-7, 1000.0


class Integer(NamedTuple):
    """The determinant ``(real + i imag) 2**exponent``; `imag` is None of real matrices.

    ``2**bits`` bounds the product of the sums of moduli in the rows, in the same unit.
    """

    real: int
    imag: int | None
    exponent: int
    bits: int

    @property
    def size(self) -> int:
        """The number of bits of the larger part, 0 of a determinant that is zero."""
        return max(abs(self.real), abs(self.imag or 0)).bit_length()

    def limbs(self, count: int, shift: int = 0) -> list[list[float]]:
        """Return the limbs of the parts times ``2**shift``, rounded to nearest.

        Raises
        ------
        OverflowError
            If a part is beyond the largest double.
        """
        parts = (self.real,) if self.imag is None else (self.real, self.imag)
        return [ratio_to_limbs(part, 1, self.exponent + shift, count) for part in parts]

    def distance(self, limbs: np.ndarray) -> float:
        """Bound the distance of limbs ``([2,] limbs)`` from the determinant."""
        parts = (self.real,) if self.imag is None else (self.real, self.imag)
        found = limbs.reshape(len(parts), -1).tolist()
        distance = hypot(*map(self._distance, parts, found))
        # A factor adds nothing to the smallest subnormal numbers.
        return nextafter(distance * (1.0 + 2.0**-50), inf) if distance else 0.0

    def _distance(self, part: int, limbs: list[float]) -> float:
        shift = self.exponent - LOWEST
        scaled = part << shift if shift > 0 else part
        rest = abs(scaled - (sum_of_units(limbs) << max(-shift, 0)))
        spare = max(rest.bit_length() - 53, 0)
        whole = (rest >> spare) + 1 if rest else 0
        spare += min(shift, 0)
        if spare < 0:
            whole, spare = (whole >> -spare) + 1 if whole else 0, 0
        return ldexp(float(whole), spare + LOWEST)


def determinant(matrix: np.ndarray, is_complex: bool) -> Integer:
    """Return the determinant of a matrix of finite limbs ``([2,] limbs, n, n)``.

    Rows and columns are divided by their powers of two, and the integers that are left eliminated
    without fractions (E. H. Bareiss, Sylvester's identity and multistep integer-preserving Gaussian
    elimination, 1968): every quotient is an integer.
    """
    parts, exponent = _integers(matrix if is_complex else matrix[None])
    bits = sum(
        sum(abs(x) for part in parts for x in part[i]).bit_length() for i in range(len(parts[0]))
    )
    if is_complex:
        rows = [list(zip(*row, strict=True)) for row in zip(*parts, strict=True)]
        real, imag = _eliminated(rows, (1, 0), _complex_combined, _complex_quotient)
        return Integer(real, imag, exponent, bits)
    return Integer(_eliminated(parts[0], 1, _combined, int.__floordiv__), None, exponent, bits)


def seconds(matrix: np.ndarray, is_complex: bool) -> float:
    """Return about how long `determinant` takes."""
    n = int(matrix.shape[-1])
    sizes, exponents = _doubles(matrix)
    some = sizes != 0
    span = int(exponents[some].max() - exponents[some].min()) + 53 if some.any() else 0
    return (4 if is_complex else 1) * _STEP * n**3 * (1.0 + (n * span / _BITS) ** 1.6)


def grid(matrices: Block, is_complex: bool) -> Block:
    """Return exponents of units of which determinants are integral multiples, int64 ``(batch,)``.

    Entries ``([2,] limbs, batch, n, n)`` are multiples of powers of two of their rows times those
    of their columns.
    """
    xp = namespace(matrices)
    sizes, exponents = _doubles(matrices)
    lowest = xp.frexp((sizes & -sizes).astype(np.float64))[1] - 1
    exponents = xp.where(sizes != 0, exponents + lowest, _FAR)
    exponents = _least(exponents, tuple(range(1 + is_complex)))
    rows = _least(exponents, -1)
    columns = _least(exponents - rows[..., None], -2)
    return (rows.sum(axis=-1) + columns.sum(axis=-1)).astype(np.int64)


def _least(values: Block, axis: int | tuple[int, ...]) -> Block:
    return -largest(-values, axis, -_FAR)


def _doubles(x: Block) -> tuple[Block, Block]:
    """Return integers m and e with ``x = m 2**e``, by bits: subnormals may be flushed."""
    xp = namespace(x)
    bits = xp.ascontiguousarray(x).view(np.int64)
    biased = bits >> 52 & 0x7FF
    size = bits & _MANTISSA | (biased > 0).astype(np.int64) << 52
    return xp.where(bits < 0, -size, size), xp.maximum(biased, 1) + (LOWEST - 1)


def _integers(parts: np.ndarray) -> tuple[list[list[list[int]]], int]:
    """Return matrices of integers for the parts ``(parts, limbs, n, n)``, and their exponent."""
    sizes, exponents = _doubles(parts)
    some = sizes != 0
    n, least = int(parts.shape[-1]), int(exponents.min(where=some, initial=_FAR))
    if least == _FAR:
        least = 0
    shifts = np.where(some, exponents - least, 0).tolist()
    found = [
        [
            [sum(m[i][j] << e[i][j] for m, e in zip(part, by, strict=True)) for j in range(n)]
            for i in range(n)
        ]
        for part, by in zip(sizes.tolist(), shifts, strict=True)
    ]
    total = n * least
    for i in range(n):
        shift = _zeros(x for part in found for x in part[i])
        for part in found:
            part[i] = [x >> shift for x in part[i]]
        total += shift
    for j in range(n):
        shift = _zeros(part[i][j] for part in found for i in range(n))
        for part in found:
            for row in part:
                row[j] >>= shift
        total += shift
    return found, total


def _zeros(values: Any) -> int:
    """Return how many bits at the end of all integers are zero; 0 where all integers are."""
    joined = 0
    for x in values:
        joined |= x
    return (joined & -joined).bit_length() - 1 if joined else 0


def _eliminated(
    rows: list[list[Any]], one: Any, combined: Callable[..., Any], quotient: Callable[..., Any]
) -> Any:
    """Return the determinant of rows of integers, which are overwritten."""
    n, sign, last = len(rows), 1, one
    zero = combined(one, one, one, one)
    for k in range(n):
        places = [i for i in range(k, n) if rows[i][k] != zero]
        if not places:
            return zero
        if places[0] != k:
            rows[k], rows[places[0]], sign = rows[places[0]], rows[k], -sign
        top, pivot = rows[k], rows[k][k]
        for row in rows[k + 1 :]:
            head = row[k]
            for j in range(k + 1, n):
                row[j] = quotient(combined(pivot, row[j], head, top[j]), last)
        last = pivot
    return last if sign > 0 else combined(zero, zero, one, last)


def _combined(p: int, x: int, q: int, y: int) -> int:
    """Return ``p x - q y``."""
    return p * x - q * y


def _complex_combined(p: Any, x: Any, q: Any, y: Any) -> tuple[int, int]:
    """Return ``p x - q y`` of pairs of real and imaginary parts."""
    real = p[0] * x[0] - p[1] * x[1] - q[0] * y[0] + q[1] * y[1]
    return real, p[0] * x[1] + p[1] * x[0] - q[0] * y[1] - q[1] * y[0]


def _complex_quotient(x: Any, y: Any) -> tuple[int, int]:
    """Return ``x / y`` of pairs, which is integral."""
    norm = y[0] * y[0] + y[1] * y[1]
    return (x[0] * y[0] + x[1] * y[1]) // norm, (x[1] * y[0] - x[0] * y[1]) // norm
