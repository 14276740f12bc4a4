"""Degrees of Taylor polynomials and scalings, so that truncation is below rounding.

With ``r = max(norm(B**2)**(1/2), norm(B**3)**(1/3))`` all powers from the second have
``norm(B**k) <= r**k``, as k is a sum of twos and threes. Beyond degree m, at least 1, the series of
exp is therefore less than ``r**(m + 1) / (m + 1)! / (1 - r / (m + 2))`` in norm.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from mdqr.linalg._spectral.disks import SLACK

# Widths and rows of schemes: higher degrees are worth less than a squaring.
_MOST = 14
# log2 of numbers that count as zero.
_NONE = -(2.0**20)


class Plan(NamedTuple):
    """A polynomial of degree ``width * rows`` of ``B = A / 2**squarings``."""

    width: int
    rows: int
    squarings: np.ndarray

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return self.width * self.rows


def plan(radius: np.ndarray, bits: int) -> Plan:
    """Return the scheme of fewest products whose truncation is below ``2**-bits``, for a batch.

    `radius` has logarithms of r of the matrices to base 2.
    """
    worst = float(np.max(radius, initial=_NONE))
    width, rows = min(
        _schemes(bits),
        key=lambda x: (sum(x) + (more := _squarings(worst, x[0] * x[1], bits)), more, x),
    )
    needed = [_squarings(float(x), width * rows, bits) for x in radius.ravel()]
    return Plan(width, rows, np.asarray(needed, dtype=np.int64).reshape(radius.shape))


@cache
def _schemes(bits: int) -> list[tuple[int, int]]:
    """Return widths and rows, for each number of products those that reach farthest."""
    best: dict[int, tuple[float, int, int]] = {}
    for width in range(1, _MOST):
        for rows in range(1, _MOST):
            found = (_reach(width * rows, bits), -width, -rows)
            best[width + rows] = max(best.get(width + rows, found), found)
    return [(-width, -rows) for _, width, rows in best.values()]


def _squarings(radius: float, degree: int, bits: int) -> int:
    """Return by how many bits to scale."""
    if radius == np.inf or radius != radius:
        return 0
    return max(0, math.ceil(radius - _reach(degree, bits)))


@cache
def _reach(degree: int, bits: int) -> float:
    """Return the logarithm of an r, at most 2, whose truncation is at most ``2**-bits``."""
    least = (-bits - 1 + math.lgamma(degree + 2) / math.log(2)) / (degree + 1)
    return min(least, math.log2((degree + 2) / 2), 1.0)


def truncation(radius: np.ndarray, degree: int) -> np.ndarray:
    """Return bounds of the norm of the omitted terms, for logarithms of r."""
    with np.errstate(all="ignore"):
        r = np.exp2(radius)
        logs = (degree + 1) * radius - math.lgamma(degree + 2) / math.log(2)
        rest = np.exp2(logs) / (1 - r / (degree + 2))
        return np.where(r < (degree + 2) / 2, SLACK**2 * rest, np.inf)


def spectral_bound(x: np.ndarray) -> np.ndarray:
    """Return upper bounds of 2-norms of float64 or complex128 matrices, within some per cent.

    ``norm(G**16, "fro")**(1/32)`` with ``G = x^H x``. Each product of non-negative definite
    matrices loses at most ``n**1.5 2**-52`` of its norm to rounding, of which the root leaves less.
    """
    n = x.shape[-1]
    if not n:
        return np.zeros(x.shape[:-2])
    with np.errstate(all="ignore"):
        top = abs(x).max(axis=(-2, -1), keepdims=True)
        near = np.where(top > 0, x / np.where(top > 0, top, 1.0), 0.0)
        g = near.swapaxes(-1, -2).conj() @ near
        log = np.log2(top[..., 0, 0])
        size = np.sqrt((abs(g) ** 2).sum(axis=(-2, -1), keepdims=True))
        for k in range(1, 6):
            size = np.where(size > 0, size, 1.0)
            log = log + np.log2(size[..., 0, 0]) / 2**k
            if k == 5:
                break
            g = g / size
            g = g @ g
            size = np.sqrt((abs(g) ** 2).sum(axis=(-2, -1), keepdims=True))
        loss = (1 + 2.0**-30) * (1 + 64 * n**2 * 2.0**-52)
        frobenius = top[..., 0, 0] * np.sqrt((abs(near) ** 2).sum(axis=(-2, -1))) * SLACK
        return np.where(top[..., 0, 0] > 0, np.minimum(np.exp2(log) * loss, frobenius), 0.0)
