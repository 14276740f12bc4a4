"""Second operands that make an operation hard: they cancel against the first."""

from __future__ import annotations

from typing import Final

import numpy as np

from mdqr.testing._families import STEP, Planes, normalize

__all__ = ["RELATIONS", "relate"]

RELATIONS: Final = ("independent", "equal", "opposite", "cancel", "near", "offset", "rotated")


def relate(relation: str, x: Planes, y: Planes, rng: np.random.Generator, limbs: int) -> Planes:
    """Return values like `y` that stand in `relation` to `x`; both ``(N, parts, size)``."""
    if relation == "independent":
        return y
    if relation == "rotated":  # i conj(x), nearly: the real part of x * y is a b - b a
        x = x[:, ::-1]
        relation = "near"
    shape = x.shape
    flat, other = x.reshape(limbs, -1), y.reshape(limbs, -1)
    usable = np.isfinite(flat).all(axis=0) & np.isfinite(other).all(axis=0) & (flat[0] != 0)
    usable &= other[0] != 0
    result = other.copy()
    part, tail = flat[:, usable], other[:, usable]
    if relation == "equal":
        result[:, usable] = part
    elif relation == "opposite":
        result[:, usable] = 0.0 - part
    elif relation == "offset":
        result[:, usable] = _offset(part, tail, rng)
    else:
        sign = -1.0 if relation == "cancel" else 1.0
        result[:, usable] = _with_first_limbs_of(sign * part, tail, rng)
    return result.reshape(shape)


def _exponent(limb: Planes) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.frexp(limb)[1].astype(np.int64)


def _offset(x: Planes, y: Planes, rng: np.random.Generator) -> Planes:
    """Scale `y` to lie below `x` by up to the width of a number and a few bits."""
    below = rng.integers(0, STEP * len(x) + 8, size=x.shape[1])
    shift = _exponent(x[0]) - below - _exponent(y[0])
    with np.errstate(under="ignore"):
        return normalize(np.ldexp(y, shift) + 0.0)


def _with_first_limbs_of(x: Planes, y: Planes, rng: np.random.Generator) -> Planes:
    """Keep the first 1 to N limbs of `x`; what follows is `y`, or the last limb moves by an ulp."""
    limbs, size = x.shape
    column = np.arange(limbs)[:, None]
    kept = rng.integers(1, limbs, size=size, endpoint=True)
    kept = np.minimum(kept, (x != 0).sum(axis=0))
    result = np.where(column < kept, x, 0.0)
    lowest = np.take_along_axis(x, kept[None] - 1, axis=0)[0]
    shift = _exponent(lowest) - STEP - rng.integers(0, 3, size=size) - _exponent(y[0])
    with np.errstate(under="ignore"):
        tail = np.ldexp(y, shift)
    source = np.broadcast_to(column - kept, x.shape)
    shifted = np.take_along_axis(tail, np.maximum(source, 0), axis=0)
    result = np.where(column >= kept, shifted, result)
    moved = (kept == limbs) | (rng.integers(0, 4, size=size) == 0)
    # near the end of the range inwards, lest the sum overflow
    target = np.where(abs(x[0]) < 2.0**1023, np.copysign(np.inf, y[0]), 0.0)
    with np.errstate(under="ignore"):
        last = np.nextafter(lowest, target)
    nudged = np.where(column == kept - 1, last, np.where(column < kept, x, 0.0))
    return normalize(np.where(moved, nudged, result) + 0.0)
