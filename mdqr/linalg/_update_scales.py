"""Columns of the operands of an update, scaled near 1 by powers of two."""

from __future__ import annotations

from mdqr._backend.protocol import Block
from mdqr.linalg import _scaling
from mdqr.linalg._update_engine import Engine
from mdqr.linalg._update_floats import Floats

Scales = Block | None


def scaled(engine: Engine, *parts: Block) -> tuple[list[Block], Scales]:
    """Return own copies of matrices with their common columns scaled near 1, and the exponents.

    Kernels of multiple doubles want it; LAPACK scales by itself.
    """
    if isinstance(engine, Floats):
        return [part.copy() for part in parts], None
    xp, found = engine.backend.xp, None
    for part in parts:
        most = _scaling.largest(_scaling.magnitude_bits(part, engine.is_complex), -2, 0)
        found = most if found is None else xp.maximum(found, most)
    exponents = _scaling.exponents_of(found)
    return [shifted(engine, part, -exponents) for part in parts], exponents


def shifted(engine: Engine, x: Block, exponents: Scales) -> Block:
    """Return `x` with its columns multiplied by powers of two."""
    if exponents is None:
        return x
    return _scaling.shifted(engine.backend, x, exponents[..., None, :], engine.is_complex)
