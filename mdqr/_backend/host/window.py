"""Windows with few diagonals below the main one on the CPU: one call of the extension each."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.blocks import batched, replace_products, window_lanes
from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Kind, set_unit_diagonal, value_shape

Block = NDArray[np.float64]

# For each number of limbs (at most), lines of the most diagonals and the columns of a window. With
# more diagonals the panels, which several threads share, and products are faster.
_COLUMNS: tuple[tuple[float, tuple[tuple[int, int], ...]], ...] = (
    (2, ((40, 32),)),
    (4, ((4, 8), (16, 16))),
    (float("inf"), ((4, 8), (8, 16))),
)

# Up to so many limbs reflectors are applied one by one; the products of more are so much faster
# that the orthogonal matrix is worth forming. For one limb it is from so many diagonals on, where
# BLAS is faster.
_DIRECT_LIMBS = 2
_DIRECT_DIAGONALS = 8


@cache
def columns_of(below: int, limbs: int) -> int:
    """Return how many columns a window has; 0 where panels are better."""
    lines = next(lines for most, lines in _COLUMNS if limbs <= most)
    return next((columns for most, columns in lines if below <= most), 0)


def is_formed(below: int, limbs: int) -> bool:
    """Return whether the orthogonal matrix is formed for a product."""
    return limbs > _DIRECT_LIMBS or (limbs == 1 and below > _DIRECT_DIAGONALS)


def reduce(
    backend: Backend,
    blocks: tuple[Block, Block, Block | None],
    below: int,
    kind: Kind,
) -> None:
    """Implement `mdqr._backend.protocol.Backend.window` for its three blocks.

    A single column with `below` 0 is reduced bottom-up, as by `rise`. Blocks of one limb may be
    float32.
    """
    limbs = kind.limbs
    r, left, right = blocks
    if limbs <= _DIRECT_LIMBS:
        _reflect(r, left if left.size else None, right, below, kind)
        return
    e = np.empty((*r.shape[:-1], r.shape[-2]))
    form(r, e, below, kind)
    replace_products(backend, e, left, right, kind)


def form(r: Block, out: Block, below: int, kind: Kind) -> None:
    """Make windows triangular, and write the orthogonal matrices to `out`."""
    out[...] = 0.0
    set_unit_diagonal(out, kind.is_complex)
    _reflect(r, None, out, below, kind)


def _reflect(
    r: Block,
    left: Block | None,
    right: Block | None,
    below: int,
    kind: Kind,
) -> None:
    """Make the reflectors, and apply them one by one."""
    is_complex = kind.is_complex
    import _mdqr_host  # absent where nothing calls this

    *batch, m, _ = value_shape(r, is_complex)
    below = min(below, m - 1)
    blocks = [block for block in (r, left, right) if block is not None]
    used = [batched(block, tuple(batch), 2, is_complex) for block in blocks]
    rest = used[1:]
    lefts = rest[:1] if left is not None else []
    call = _mdqr_host.window_float32 if r.dtype == np.float32 else _mdqr_host.window
    call(used[0], lefts, rest[len(lefts) :], below, window_lanes(below), *kind)
    for block, wanted in zip(used, blocks, strict=True):
        if not np.may_share_memory(block, wanted):
            wanted[...] = block.reshape(wanted.shape)
