"""Matrices with prescribed singular values: random plane rotations in fixed point.

Numbers are Python integers in units of ``2**-bits``; a complex array is a pair of real ones. Each
stage pairs all rows at random and rotates every pair by its own angle, as a butterfly of the fast
Fourier transform does, so that ``log2(m) + 3`` stages mix all of them at ``2 m n log2(m)``
multiplications instead of the ``2 m n**2`` of a Haar-distributed factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mdqr.testing._exact import Integers

__all__ = ["with_singular_values"]


def with_singular_values(
    m: int, n: int, values: Sequence[int], bits: int, rng: np.random.Generator, is_complex: bool
) -> list[Integers]:
    """Return ``U diag(values) V^H`` in units of ``2**-bits``: ``[real]`` or ``[real, imag]``.

    Every operation has an error of less than one unit, so the factors are orthogonal to about
    ``2**-bits`` times the number of stages.
    """
    matrix = np.zeros((m, n), dtype=object)
    for i, value in enumerate(values):
        matrix[i, i] = int(value)
    parts = [matrix, np.zeros((m, n), dtype=object)] if is_complex else [matrix]
    parts = _mix(parts, bits, rng)
    return [part.T for part in _mix([part.T for part in parts], bits, rng)]


def _mix(parts: list[Integers], bits: int, rng: np.random.Generator) -> list[Integers]:
    """Multiply by a random orthogonal (unitary) matrix from the left."""
    rows = parts[0].shape[0]
    if rows == 1:
        return parts
    for _ in range(rows.bit_length() + 3):
        order = rng.permutation(rows)
        half = rows // 2
        upper, lower = order[:half], order[half : 2 * half]
        cosine, sine = _angles(half, bits, rng)
        if len(parts) == 1:
            (a,) = parts
            x, y = a[upper], a[lower]
            a[upper] = (cosine * x - sine * y) >> bits
            a[lower] = (sine * x + cosine * y) >> bits
        else:
            _rotate_complex(parts, upper, lower, (cosine, sine), bits, rng)
    return parts


def _rotate_complex(
    parts: list[Integers], upper: Any, lower: Any, angle: Any, bits: int, rng: np.random.Generator
) -> None:
    """Apply ``[[c, -s], [s, c]]`` after turning the lower row by a random phase."""
    real, imag = parts
    cosine, sine = angle
    p, q = _angles(len(lower), bits, rng)
    re, im = real[lower], imag[lower]
    transposed = ((p * re - q * im) >> bits, (q * re + p * im) >> bits)
    for part, y in zip(parts, transposed, strict=True):
        x = part[upper]
        part[upper] = (cosine * x - sine * y) >> bits
        part[lower] = (sine * x + cosine * y) >> bits


def _angles(count: int, bits: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Return columns of cosines and sines with ``c**2 + s**2 = 1``: t = tan(angle / 2) is exact."""
    one = 1 << bits
    words = rng.integers(0, 2**32, size=(count, bits // 32 + 1))
    cosine = np.empty((count, 1), dtype=object)
    sine = np.empty((count, 1), dtype=object)
    for i in range(count):
        t = 0
        for word in words[i].tolist():
            t = t << 32 | word
        t >>= 32 * words.shape[1] - bits
        square = t * t >> bits
        cosine[i, 0] = ((one - square) << bits) // (one + square)
        sine[i, 0] = (t << (bits + 1)) // (one + square)
    flip = np.where(rng.integers(0, 2, size=(count, 1)) == 0, 1, -1).astype(object)
    return cosine, sine * flip
