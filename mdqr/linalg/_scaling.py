"""Powers of two: exponents of rows and columns, and the search for entries that are not finite."""

from __future__ import annotations

from typing import NoReturn, cast

import numpy as np

from mdqr import _limbs
from mdqr._backend.protocol import Backend, Block
from mdqr.linalg._checks import Checks


def shifted(backend: Backend, block: Block, exponent: Block, is_complex: bool) -> Block:
    """Return ``block * 2**exponent``."""
    if not is_complex:
        return backend.ldexp(block, exponent)
    return backend.xp.stack([backend.ldexp(part, exponent) for part in block])


def leading(block: Block, is_complex: bool) -> Block:
    """Return the magnitudes of the leading limbs: the larger one of both parts if complex."""
    if not is_complex:
        return abs(block[0])
    xp = _limbs.namespace(block)
    return xp.maximum(abs(block[0, 0]), abs(block[1, 0]))


def magnitude_bits(block: Block, is_complex: bool) -> Block:
    """Return the bits of `leading` as int64, which order as the magnitudes do.

    Integers also where the caller flushes subnormals, which float comparisons would take for zeros.
    """
    xp = _limbs.namespace(block)
    if not is_complex:
        return abs(block[0]).view(xp.int64)
    return xp.maximum(abs(block[0, 0]).view(xp.int64), abs(block[1, 0]).view(xp.int64))


def exponents_of(bits: Block) -> Block:
    """Return int64 e with ``2**(e-1) <= x < 2**e`` for the bits of x; 0 for 0, inf and NaN."""
    xp = _limbs.namespace(bits)
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
    xp = _limbs.namespace(values)
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


def exponents(bits: Block, axis: int) -> Block:
    """Return `exponents_of` the maximum of `bits` along `axis`."""
    return exponents_of(largest(bits, axis, 0))


def column_exponents(block: Block, is_complex: bool) -> Block:
    """Return the exponents of the columns of matrices ``(..., m, n)`` as ``(..., n)``."""
    return exponents(magnitude_bits(block, is_complex), -2)


def finite(block: Block, is_complex: bool) -> Block:
    """Return whether every value is finite, a 0-d bool."""
    xp = _limbs.namespace(block)
    return xp.isfinite(block[:, 0] if is_complex else block[0]).all()


def require_finite(
    checks: Checks, function: str, name: str, block: Block, is_complex: bool
) -> None:
    """Demand finite values; the LinAlgError names the first column of `block` that is not."""

    def complain() -> NoReturn:
        raise np.linalg.LinAlgError(
            f"{function}: {where_not_finite(name, block, is_complex)} is NaN or infinite; "
            "remove or mend these entries first"
        )

    checks.require(finite(block, is_complex), complain)


def require_in_range(
    checks: Checks, function: str, name: str, block: Block, is_complex: bool, advice: str = ""
) -> None:
    """Demand that nothing overflowed in `block`, computed from finite values."""

    def complain() -> NoReturn:
        where = where_not_finite(name, block, is_complex)
        raise np.linalg.LinAlgError(f"{function}: {where} is beyond the largest double{advice}")

    checks.require(finite(block, is_complex), complain)


def where_not_finite(name: str, block: Block, is_complex: bool) -> str:
    """Return words that say where the first value lies that is not finite, by columns."""
    xp = _limbs.namespace(block)
    bad = ~xp.isfinite(leading(block, is_complex))
    *batch, column, row = first_true(bad.swapaxes(-1, -2))
    return f"the entry in row {row}, column {column} of {name}{of_batch(tuple(batch))}"


def of_batch(index: tuple[int, ...]) -> str:
    """Return "" for a single matrix, else words for the place in the batch."""
    return f" (matrix {index if len(index) > 1 else index[0]} of the batch)" if index else ""


def first_true(flags: Block) -> tuple[int, ...]:
    """Return the index of the first true flag."""
    xp = _limbs.namespace(flags)
    return cast("tuple[int, ...]", tuple(int(i) for i in xp.argwhere(flags)[0]))
