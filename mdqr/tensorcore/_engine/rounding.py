"""Rounding to the formats of tensor cores, exactly, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mdqr.tensorcore._engine.formats import SPLIT, Format

Floats = NDArray[np.float32]


def _shorter(x: Floats, bits: int) -> Floats:
    """Return `x` with `bits` fewer bits, to nearest, ties to even; infinities and NaN stay."""
    words = x.view(np.uint32)
    odd = words >> np.uint32(bits) & np.uint32(1)
    half = np.uint32((1 << bits - 1) - 1)
    mask = np.uint32(0xFFFFFFFF << bits & 0xFFFFFFFF)
    with np.errstate(over="ignore"):
        rounded = (words + half + odd) & mask
    return np.where(np.isfinite(x), rounded.view(np.float32), x)


def _half(x: Floats) -> Floats:
    # Beyond 65504 + 16 the result is infinite, as the conversion of the hardware has it.
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(np.float32)


def rounded(x: Floats, form: Format) -> tuple[Floats, ...]:
    """Return the numbers that stand for ``x * 2**form.exponent``, as float32 arrays.

    fp16: binary16 with gradual underflow, and infinity from 65520 on. bf16 and tf32: 8 and 11
    significant bits in the range of float32. fp16x2: binary16 ``h`` and ``l``, where ``l`` is the
    nearest to ``2**11 (x - h)``. All to nearest, ties to even.
    """
    x = np.ascontiguousarray(x.T).T if x.flags.f_contiguous else np.ascontiguousarray(x)
    scaled = x * np.float32(2.0**form.exponent)
    if form.kernel == "half":
        return (_half(scaled),)
    if form.kernel == "split":
        high = _half(scaled)
        with np.errstate(invalid="ignore"):
            rest = (scaled - high) * np.float32(2.0**SPLIT)
        return high, _half(rest)
    if form.kernel == "bfloat":
        return (_shorter(scaled, 16),)
    if form.kernel == "tf32":
        return (_shorter(scaled, 13),)
    return (scaled,)
