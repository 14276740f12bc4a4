"""Powers of two that bring rows and columns near 1: the balancing calls of the host, by NumPy.

Exponents are read from bits: who flushes subnormals would take them for zeros.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mdqr._backend.protocol import Balanced, Block
from mdqr._limbs import planes

Ldexp = Callable[[Block, Block], Block]

# The exponent of zeros, below all others in any scale.
ABSENT = -(2**40)
# A triangle whose diagonal would fall below this power of two is left as it is.
LEAST_DIAGONAL = -700


def magnitude_bits(block: Block, is_complex: bool) -> Block:
    """Return the bits of the leading magnitudes as int64, which order as the magnitudes do.

    The magnitude of a complex value is the larger one of its parts.
    """
    xp = planes.namespace(block)
    if not is_complex:
        return abs(block[0]).view(xp.int64)
    return xp.maximum(abs(block[0, 0]).view(xp.int64), abs(block[1, 0]).view(xp.int64))


def exponents_of(bits: Block) -> Block:
    """Return int64 e with ``2**(e-1) <= x < 2**e`` for the bits of x; 0 for 0, inf and NaN."""
    xp = planes.namespace(bits)
    biased = bits >> 52
    subnormal = xp.frexp(bits.astype(xp.float64))[1] - 1074
    exponent = xp.where(biased == 0, subnormal, biased - 1022)
    return xp.where((bits == 0) | (biased == 2047), 0, exponent)


def largest(
    values: Block, axis: int | tuple[int, ...] | None, empty: float, *, keepdims: bool = False
) -> Block:
    """Return the maximum along `axis`, as an array; `empty` where there is nothing.

    CuPy's maximum has no `initial`, and refuses arrays without entries.
    """
    if isinstance(values, np.generic):
        return np.asarray(values)
    xp = planes.namespace(values)
    if values.size:
        return xp.asarray(values.max(axis=axis, keepdims=keepdims))
    axes = range(values.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    reduced = {i % values.ndim for i in axes}
    kept = [
        1 if i in reduced else length
        for i, length in enumerate(values.shape)
        if keepdims or i not in reduced
    ]
    return xp.full(tuple(kept), empty, dtype=values.dtype)


def balance_triangle(
    ldexp: Ldexp, a: Block, is_complex: bool, lower: bool, unit_diagonal: bool
) -> Balanced:
    """Scale triangles; see `mdqr._backend.protocol.Backend.balance_triangle`."""
    part = (np.tril if lower else np.triu)(a)
    if unit_diagonal:
        _set_unit_diagonal(part, is_complex)
    bits = magnitude_bits(part, is_complex)
    on_diagonal = np.einsum("...ii->...i", bits)
    faults = np.array([_any_special(bits), not on_diagonal.all()], dtype=np.int64)
    found = np.where(bits > 0, exponents_of(bits), ABSENT)
    columns = -largest(found, -2, ABSENT)
    rows = -largest(found + columns[..., None, :], -1, ABSENT)
    middle = np.einsum("...ii->...i", found) + rows + columns
    sound = (middle >= LEAST_DIAGONAL).all(axis=-1)[..., None]
    rows, columns = np.where(sound, rows, 0), np.where(sound, columns, 0)
    block = shifted(ldexp, part, rows[..., :, None] + columns[..., None, :], is_complex)
    return Balanced(block, rows, columns, faults)


def balance_columns(
    ldexp: Ldexp, x: Block, rows: Block | None, is_complex: bool
) -> tuple[Block, Block]:
    """Scale rows, then columns; see `mdqr._backend.protocol.Backend.balance_columns`."""
    bits = magnitude_bits(x, is_complex)
    if rows is None:
        columns = -exponents_of(largest(bits, -2, 0))
        return shifted(ldexp, x, columns[..., None, :], is_complex), columns
    found = np.where(bits > 0, exponents_of(bits) + rows[..., :, None], ABSENT)
    most = largest(found, -2, ABSENT)
    special = largest(bits, -2, 0) >= _SPECIAL
    columns = np.where(special | (most < ABSENT // 2), 0, -most)
    powers = rows[..., :, None] + columns[..., None, :]
    return shifted(ldexp, x, powers, is_complex), columns


def scale(
    ldexp: Ldexp, x: Block, rows: Block, columns: Block, is_complex: bool
) -> tuple[Block, Block]:
    """Scale and look; see `mdqr._backend.protocol.Backend.scale`."""
    block = shifted(ldexp, x, rows[..., :, None] - columns[..., None, :], is_complex)
    return block, np.array([_any_special(magnitude_bits(block, is_complex))], dtype=np.int64)


def shifted(ldexp: Ldexp, block: Block, exponent: Block, is_complex: bool) -> Block:
    """Return ``block * 2**exponent``."""
    if not is_complex:
        return ldexp(block, exponent)
    return planes.namespace(block).stack([ldexp(part, exponent) for part in block])


_SPECIAL = 0x7FF << 52  # the bits of infinity, below those of NaN


def _any_special(bits: Block) -> bool:
    return bool(largest(bits, None, 0) >= _SPECIAL)


def _set_unit_diagonal(part: Block, is_complex: bool) -> None:
    diagonal = np.einsum("...ii->...i", part)
    diagonal[...] = 0.0
    diagonal[(0, 0) if is_complex else 0] = 1.0
