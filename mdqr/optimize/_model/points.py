"""Points next to each other and their values: cheap operations on limbs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import namespace
from mdqr._limbs.scaling import powers_of_two
from mdqr._precision import Precision


def leading(a: MDArray | np.ndarray) -> np.ndarray:
    """Return the leading limbs of real values: a view, not to be written to."""
    return a if isinstance(a, np.ndarray) else host_block(a.limbs[0])


def times_powers(a: MDArray, powers: np.ndarray) -> MDArray:
    """Return real values times powers of two that keep them within range."""
    return a._like(a._block * powers)


def shifted(a: MDArray, exponents: Any) -> MDArray:
    """Return values times powers of two, which may be out of range where the products are not."""
    xp = np if isinstance(exponents, (int, np.integer)) else namespace(exponents)
    exponents = xp.clip(exponents, -2_040, 2_040)
    half = exponents // 2
    if isinstance(half, np.integer):
        return a * np.ldexp(1.0, half) * np.ldexp(1.0, exponents - half)
    return a * powers_of_two(half) * powers_of_two(exponents - half)


def power_near_one(size: Any) -> Any:
    """Return powers of two with which squares of numbers stay within range: 1 for ordinary ones."""
    xp = namespace(size)
    far = (size > 0) & ((size < 1e-60) | (size > 1e60))
    return powers_of_two(xp.clip(-xp.log2(xp.where(far, size, 1.0)), -1_000, 1_000))


def displaced(x: MDArray, steps: np.ndarray, *, first: bool) -> tuple[MDArray, MDArray]:
    """Return points with one coordinate moved, after x itself if `first`, and by how much."""
    ends, index = x + steps, np.arange(steps.size)
    block = np.repeat(x.limbs[:, None], first + steps.size, axis=1)
    block[:, first + index, index] = ends.limbs
    return x._like(block), ends - x


def quotient(rows: MDArray, lengths: MDArray, steps: np.ndarray) -> MDArray:
    """Return rows over lengths, which are nearly always the steps: powers of two."""
    if np.array_equal(lengths.limbs[0], steps) and not lengths.limbs[1:].any():
        return times_powers(rows, 1.0 / steps[:, None])
    return rows / lengths[:, None]


def rounding(precision: Precision, size: np.ndarray) -> np.ndarray:
    """Return the errors of numbers of such moduli that were rounded, no less than underflow."""
    return np.where(size > 0, np.maximum(precision.eps * size, 2.0**-1074), 0.0)


def root_power(unit: float, over: int, under: int) -> float:
    """Return the power of two next to ``unit**(over / under)``."""
    return float(2.0 ** round(np.log2(unit) * over / under))


def sizes_of(x: MDArray | np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
    """Return by how much parameters may be changed: their size, float64 powers of two.

    A parameter that comes near zero keeps a quarter of the size that it had; one that starts
    there counts as 1.
    """
    near = np.abs(leading(x))
    if before is None:
        near = np.where(near > 0, near, 1.0)
    else:
        near = np.maximum(near, before * 0.25)
    return np.asarray(powers_of_two(np.floor(np.log2(near))))


def norms_of(a: np.ndarray) -> np.ndarray:
    """Return the 2-norms of columns without overflow, 1 for columns of zeros."""
    largest = np.max(np.abs(a), axis=0, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    norms = largest * np.sqrt(np.sum((a / largest) ** 2, axis=0))
    return np.where(norms > 0, norms, 1.0)
