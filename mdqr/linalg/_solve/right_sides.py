"""Right-hand sides in the rows of a scaled system, in pieces that one power of two can scale."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mdqr._limbs import scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._solve.augmented import System


def spread_of(system: System, b: Block) -> Block:
    """Return how many powers of two lie between the entries of a column at most, 0-d float64."""
    exponent = _exponents(system, b)
    held = exponent > scaling.ABSENT
    xp = system.backend.xp
    high = scaling.largest(exponent, -2, scaling.ABSENT)
    low = scaling.largest(xp.where(held, -exponent, scaling.ABSENT), -2, scaling.ABSENT)
    return scaling.largest(high + low, None, 0).astype(np.float64)


def pieces(system: System, b: Block, spread: float) -> Iterator[Block]:
    """Yield blocks whose sum is `b`, with entries of nearby sizes, the largest first.

    `spread` is what `spread_of` found. One piece where that is small; who has more waits.
    """
    width = _width(system.kind.limbs)
    if spread <= width:
        yield b
        return
    exponent, xp = _exponents(system, b), system.backend.xp
    place = (scaling.largest(exponent, -2, 0, keepdims=True) - exponent) // width
    for number in range(int(spread) // width + 1):
        here = place == number
        if number == 0 or system.checks.settle(here.any())[0]:
            yield xp.where(here, b, 0.0)


def _exponents(system: System, b: Block) -> Block:
    """Return the exponents of the entries in the rows of the system; subnormal ones are rough."""
    bits = scaling.magnitude_bits(b, system.kind.is_complex)
    exponent = bits >> 52
    if system.rows is not None:
        exponent = exponent + system.rows[..., :, None]
    return system.backend.xp.where(bits > 0, exponent, scaling.ABSENT)


def _width(limbs: int) -> int:
    """Return the powers of two that the entries of a piece may span.

    The residual of the smallest has twice the limbs of the work, and none of them underflows.
    """
    return 1074 - 60 - 2 * 53 * limbs
