"""Exact Gram matrices of float64 numbers below 1, by float64 products of their slices.

A number is the sum of slices, integers of at most 23 bits and a sign times a power of two each, so
that sums of 256 products of them are exact in whatever order they are formed (K. Ozaki and others
2012). Rows that three slices do not hold are few usually, and get six.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Block, Kind

# Rows whose products are summed in float64, and the bits of slices: 256 products of 2^44 at most.
_ROWS, _FIRST, _BITS = 256, 22, 23
_FEW, _MANY = 3, 6
# Sums of 2^52 at most, one for each 256 rows, that an int64 holds.
_SUMS = 2**10
# Bits of the lower part of an int64: sums of few of either are exact in float64.
_HALF = 31
# The part of the rows that may need six slices: these cost four times as much.
_LATE = 1 / 16


def gram(backend: Backend, a: np.ndarray) -> Block | None:
    """Return ``A^T A`` exactly, a real block of as many limbs as hold it.

    Parameters
    ----------
    backend : Backend
        That of the CPU.
    a : numpy.ndarray
        Float64 ``(m, n)``, of magnitudes below 1.

    Returns
    -------
    Block or None
        None where magnitudes of the entries of many rows lie so far apart that more slices were
        needed.
    """
    late: list[np.ndarray] = []
    terms = list(_sums(a, _FEW, late))
    if late:
        rest = np.concatenate(late)
        if len(rest) > max(_LATE * len(a), _ROWS):
            return None
        later: list[np.ndarray] = []
        terms += _sums(rest, _MANY, later)
        if later:
            return None
    return backend.unary("renormalize", np.stack(terms), kind=Kind(8, False))


def _sums(a: np.ndarray, slices: int, late: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield matrices with the sum ``A^T A``, but for rows that need more slices: for `late`."""
    n, step = a.shape[1], _ROWS * _SUMS
    held = np.empty((_ROWS, slices, n))
    for start in range(0, len(a), step):
        total = np.zeros((slices * n, slices * n), dtype=np.int64)
        for first in range(start, min(start + step, len(a)), _ROWS):
            rows = a[first : first + _ROWS]
            cut = held[: len(rows)]
            over = _cut(rows, cut)
            if over.any():
                late.append(rows[over])
                cut[over] = 0.0
            flat = cut.reshape(len(rows), -1)
            total += (flat.T @ flat).astype(np.int64)
        for part, unit in ((total >> _HALF, _HALF), (total & (2**_HALF - 1), 0)):
            blocks = part.reshape(slices, n, slices, n)
            for both in range(2 * slices - 1):
                pairs = range(max(0, both - slices + 1), min(slices, both + 1))
                one = sum(blocks[i, :, both - i] for i in pairs)
                yield np.ldexp(np.float64(one), unit - 2 * _FIRST - _BITS * both)


def _cut(rows: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Write slices, as integers, to `held` ``(rows, slices, n)``; return which rows need more."""
    rest = rows * 2.0**_FIRST
    for i in range(held.shape[1]):
        np.rint(rest, out=held[:, i])
        rest -= held[:, i]
        rest *= 2.0**_BITS
    return np.asarray(rest.any(axis=1))
