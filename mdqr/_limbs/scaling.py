"""Powers of two that values, rows and columns are scaled by.

Exponents are read from bits: who flushes subnormals would take them for zeros.
"""

from __future__ import annotations

import numpy as np

from mdqr._limbs.folds import axes_of, fold, is_all, total
from mdqr._limbs.planes import Block, namespace

# The exponent of zeros, below all others in any scale.
ABSENT = -(2**40)
SPECIAL = 0x7FF << 52  # the bits of infinity, below those of NaN


def leading(block: Block, is_complex: bool) -> Block:
    """Return the magnitudes of the leading limbs: the larger one of both parts if complex."""
    if not is_complex:
        return abs(block[0])
    return namespace(block).maximum(abs(block[0, 0]), abs(block[1, 0]))


def finite(block: Block, is_complex: bool) -> Block:
    """Return whether every value is finite, a 0-d bool."""
    return is_all(namespace(block).isfinite(block[:, 0] if is_complex else block[0]))


def powers_of_two(exponents: Block) -> Block:
    """Return 2 to the nearest integers of floats, exactly; 1 for infinities and NaN.

    `exp2` of CUDA has an error of a unit in the last place for whole numbers, too.
    """
    xp = namespace(exponents)
    whole = xp.rint(xp.where(xp.isfinite(exponents), exponents, 0.0))
    return xp.ldexp(xp.ones_like(whole), xp.clip(whole, -2200.0, 2200.0).astype(np.int32))


def magnitude_bits(block: Block, is_complex: bool) -> Block:
    """Return the bits of the leading magnitudes as int64, which order as the magnitudes do.

    The magnitude of a complex value is the larger one of its parts.
    """
    if not is_complex:
        return abs(block[0]).view(np.int64)
    real, imag = (abs(part).view(np.int64) for part in block[:, 0])
    return namespace(block).maximum(real, imag)


def exponents_of(bits: Block) -> Block:
    """Return int64 e with ``2**(e-1) <= x < 2**e`` for the bits of x; 0 for 0, inf and NaN."""
    biased = bits >> 52
    if isinstance(bits, np.ndarray) and ((biased + 1) & 2046).all():
        return biased - 1022  # of normal numbers
    xp = namespace(bits)
    subnormal = xp.frexp(bits.astype(np.float64))[1] - 1074
    exponent = xp.where(biased == 0, subnormal, biased - 1022)
    return xp.where((bits == 0) | (biased == 2047), 0, exponent)


def exponents_or_absent(bits: Block) -> Block:
    """Return `exponents_of` bits, and `ABSENT` for zeros."""
    return namespace(bits).where(bits > 0, exponents_of(bits), ABSENT)


def top_exponents(
    block: Block,
    is_complex: bool,
    axis: int | tuple[int, ...] | None = (-2, -1),
    *,
    keepdims: bool = False,
) -> Block:
    """Return the exponents of the largest magnitudes along axes; 0 where all values are 0."""
    return exponents_of(largest(magnitude_bits(block, is_complex), axis, 0, keepdims=keepdims))


def column_exponents(block: Block, is_complex: bool) -> Block:
    """Return the exponents of the columns of matrices ``(..., m, n)`` as ``(..., n)``."""
    return exponents_of(largest(magnitude_bits(block, is_complex), -2, 0))


def scaled_bound(bound: Block, powers: Block, least: float = 2.0**-1074) -> Block:
    """Return ``2**powers bound``, and `least` more where that is not zero: never less."""
    xp = namespace(bound)
    return xp.where(bound > 0, xp.ldexp(bound, powers) + least, bound)


@np.errstate(over="ignore")  # of norms beyond the range
def norms(x: Block, axis: int | tuple[int, ...], *, keepdims: bool = False) -> Block:
    """Return the 2-norms of native values along axes; no square leaves the range.

    Scaled by powers of two: within the range the bits are those without it.
    """
    xp, size = np if isinstance(x, np.ndarray) else namespace(x), abs(x)
    top = largest(size, axis, 0.0, keepdims=True)
    exponent = xp.frexp(xp.where(xp.isfinite(top), top, 0.0))[1]
    squares = total(xp.ldexp(size, -exponent) ** 2, axis, keepdims=True)
    found = xp.ldexp(xp.sqrt(squares), exponent)
    return found if keepdims else found.squeeze(axis=axis)


def row_powers(bits: Block) -> Block:
    """Return the powers of two that bring rows near 1, once the columns are."""
    xp, exponent = namespace(bits), bits >> 52
    exponent = exponent - largest(exponent, -2, 0, keepdims=True)
    return -largest(xp.where(bits > 0, exponent, ABSENT), -1, 0)


def largest(
    values: Block, axis: int | tuple[int, ...] | None, empty: float, *, keepdims: bool = False
) -> Block:
    """Return the maximum along `axis`, as an array; `empty` where there is nothing.

    CuPy's maximum has no `initial`, and refuses arrays without entries.
    """
    if values.size:
        if not isinstance(values, np.ndarray):
            return fold("max", values, axis, keepdims=keepdims)
        found = values.max(axis=axis, keepdims=keepdims)
        return np.asarray(found) if isinstance(found, np.generic) else found
    reduced = axes_of(values.ndim, axis)
    kept = [
        1 if i in reduced else length
        for i, length in enumerate(values.shape)
        if keepdims or i not in reduced
    ]
    return namespace(values).full(tuple(kept), empty, dtype=values.dtype)
