"""Columns of the operands of an update, scaled by powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from mdqr._backend.protocol import Block
from mdqr.linalg._factor import wide_range
from mdqr.linalg._shared import scaling
from mdqr.linalg._update.engine import Engine
from mdqr.linalg._update.floats import Floats

Scales = Block | None

# Columns that are only multiplied by orthogonal matrices stay in range from this exponent.
_FAR = 900
# The bits of the largest double.
_LARGEST = (0x7FF << 52) - 1


def scaled(engine: Engine, *parts: Block) -> tuple[list[Block], Scales]:
    """Return own copies of matrices with their common columns scaled near 1, and the exponents.

    Kernels of multiple doubles want it; LAPACK scales by itself.
    """
    if isinstance(engine, Floats):
        return [part.copy() for part in parts], None
    exponents = _exponents(engine, parts)
    return [shifted(engine, part, -exponents) for part in parts], exponents


def scaled_with_sides(engine: Engine, n: int, *parts: Block) -> tuple[list[Block], Scales, Block]:
    """Return what `scaled` does, and whether columns behind the first n may lose digits by it.

    Those are scaled far above 1 where small entries of them would lose digits near 1. A 0-d bool
    tells whether entries are too far apart for that as well.
    """
    xp = engine.backend.xp
    if isinstance(engine, Floats):
        own, _ = scaled(engine, *parts)
        return own, None, xp.asarray(False)
    exponents, span = _exponents(engine, parts), _span(engine, [part[..., n:] for part in parts])
    reach = wide_range.reach(engine.limbs)
    exponents[..., n:] -= xp.where(span > reach, _FAR, 0)
    own = [shifted(engine, part, -exponents) for part in parts]
    return own, exponents, (span > reach + _FAR).any()


def is_wide(engine: Engine, x: Block) -> Block:
    """Return whether entries of a column are too far apart to be scaled near 1, a 0-d bool."""
    return (_span(engine, [engine.to_block(x)]) > wide_range.reach(engine.limbs)).any()


def _exponents(engine: Engine, parts: Sequence[Block]) -> Block:
    bits = [scaling.magnitude_bits(part, engine.is_complex) for part in parts]
    found = [scaling.largest(part, -2, 0) for part in bits]
    return scaling.exponents_of(reduce(engine.backend.xp.maximum, found))


def _span(engine: Engine, parts: Sequence[Block]) -> Block:
    """Return how many powers of two lie between the entries of common columns, zeros aside."""
    xp = engine.backend.xp
    bits = [scaling.magnitude_bits(part, engine.is_complex) for part in parts]
    found = [scaling.largest(-xp.where(part > 0, part, _LARGEST), -2, -_LARGEST) for part in bits]
    return _exponents(engine, parts) - scaling.exponents_of(-reduce(xp.maximum, found))


def shifted(engine: Engine, x: Block, exponents: Scales) -> Block:
    """Return `x` with its columns multiplied by powers of two."""
    if exponents is None:
        return x
    return scaling.shifted(engine.backend, x, exponents[..., None, :], engine.is_complex)
