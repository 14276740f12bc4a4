"""Windows with few diagonals below the main one: one launch of one block of threads each."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import FORMED, batched, window_lanes
from mdqr._backend.cuda.runtime.kernels import SHARED_BYTES, Kernels, Module, divided, fields
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._limbs.planes import Block, Kind, value_shape

# As in kernels/cuda/window/block.hpp: threads of a warp, and of a block for numbers of so many
# planes at most.
_WARP = 32
_THREADS = ((4, 512), (float("inf"), 256))
_BANKS = 16

# Columns of a window, the first that fits: where numbers are cheap, starting the launches of a
# window takes longer than its products.
_CHEAP_LIMBS = 2
_COLUMNS = {False: (32, 16), True: (64, 32, 16)}


class Plan(NamedTuple):
    """The launch for windows of one shape."""

    lanes: int
    stride: int
    threads: int
    shared: int


@lru_cache(maxsize=1024)
def plan(rows: int, columns: int, below: int, kind: Kind) -> Plan | None:
    """Return the launch for windows with `below` diagonals, or None if one does not fit a block."""
    limbs, is_complex = kind
    planes = limbs * (1 + is_complex)
    slots = columns + below
    room = next(count for most, count in _THREADS if planes <= most) - _WARP
    lanes = window_lanes(below)
    while lanes > 1 and slots * lanes > room:
        lanes //= 2
    # The lanes of a column read rows that follow each other: from different banks.
    apart = 1 if lanes == 1 else _BANKS // lanes
    stride = slots + (apart - slots) % _BANKS
    words = planes * (rows * stride + 2 * (below + 1) + 2) + (limbs + 2) * columns + 2
    threads = _WARP * (1 + divided(slots * lanes, _WARP))
    if slots > room or 8 * words > SHARED_BYTES:
        return None
    return Plan(lanes, stride, threads, 8 * words)


@lru_cache(maxsize=1024)
def columns_of(below: int, kind: Kind) -> int:
    """Return how many columns a window has; 0 where the kernel does not serve."""
    limbs = kind.limbs
    for columns in _COLUMNS[limbs <= _CHEAP_LIMBS]:
        if below < FORMED * columns and plan(columns + below, columns, below, kind):
            return columns
    return 0


def factor(kernels: Kernels, r: Block, out: Block, below: int, kind: Kind) -> Block:
    """Replace windows by R and write the orthogonal matrices to `out`, which is returned.

    Parameters
    ----------
    kernels : Kernels
        Where the launch goes.
    r : Block
        ``(..., m, w)`` with ``w <= m <= w + below``, zero below `below` diagonals; of one limb it
        may be float32. Any strides whose batch is a view.
    out : Block
        ``(..., m, m)``, likewise.
    below : int
        Number of diagonals below the main one.
    limbs : int
        Number of limbs.
    is_complex : bool
        Whether the values are complex.

    Returns
    -------
    Block
        `out`, E of ``window = E R``.
    """
    m, w = r.shape[-2:]
    below = min(below, m - 1)
    steps = plan(m, w, below, kind)
    if steps is None or not w <= m <= w + below:
        raise ValueError(f"no kernel for windows of shape {(m, w)} with {below} diagonals below")
    numbers = (m, w, below, steps.lanes, steps.stride)
    _launch(kernels, "window", [r, out], kind, numbers, steps)
    return out


@lru_cache(maxsize=1024)
def rise_plan(rows: int, kind: Kind) -> Plan | None:
    """Return the launch for columns of so many rows, or None if they do not fit a block."""
    limbs, is_complex = kind
    planes = limbs * (1 + is_complex)
    stride = rows + 1 - rows % 2
    words = planes * (rows * (stride + 1) + 8) + 3
    threads = _WARP * (1 + divided(rows, _WARP))
    room = next(count for most, count in _THREADS if planes <= most)
    if threads > room or 8 * words > SHARED_BYTES:
        return None
    return Plan(1, stride, threads, 8 * words)


def rise(kernels: Kernels, z: Block, out: Block, kind: Kind) -> Block:
    """Replace columns ``(..., m, 1)``, m at least 2, by ``(zeta, 0)``; the rest as in `factor`.

    Returns
    -------
    Block
        `out`, E of ``z = E (zeta, 0)``, zero above the first diagonal over the main one.
    """
    m = z.shape[-2]
    steps = rise_plan(m, kind)
    if steps is None or m < 2:
        raise ValueError(f"no kernel for columns of {m} rows")
    _launch(kernels, "rise", [z, out], kind, (m, steps.stride), steps)
    return out


def _launch(
    kernels: Kernels,
    name: str,
    blocks: list[Block],
    kind: Kind,
    numbers: tuple[int, ...],
    steps: Plan,
) -> None:
    """Start a kernel over two blocks of matrices, one block of threads each."""
    is_complex = kind.is_complex
    batch = value_shape(blocks[0], is_complex)[:-2]
    single, item = blocks[0].dtype == np.float32, blocks[0].dtype.itemsize
    if not blocks[0].size:
        raise ValueError("windows are not empty")

    def launch(kernels: Kernels) -> None:
        xp = kernels.xp
        used = [batched(block, batch, 2, is_complex) for block in blocks]
        views = [_view(kernels, block, is_complex, item) for block in used]
        kernels.launch(
            Module(f"window/{name}", kind, ("MDQR_FLOAT32",) if single else ()),
            f"mdqr_{name}",
            fields(*views, *numbers),
            grid=(prod(batch),),
            threads=steps.threads,
            shared=steps.shared,
        )
        for block, wanted in zip(used, blocks, strict=True):
            if not xp.may_share_memory(block, wanted):
                wanted[...] = block.reshape(wanted.shape)

    planned(kernels, (name, kind, single, *numbers), blocks, launch)


def _view(kernels: Kernels, block: Block, is_complex: bool, item: int) -> list[int]:
    """Return the fields of `struct matrix_view`; strides are in elements."""
    strides = [stride // item for stride in block.strides]
    front = [strides[1], strides[0], block.shape[1]] if is_complex else [strides[0], 0, len(block)]
    return [kernels.address(block), *front, *strides[-3:]]
