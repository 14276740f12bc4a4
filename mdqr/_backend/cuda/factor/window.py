"""Windows with few diagonals below the main one: one launch of one block of threads each."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import FORMED, batched, replace_products, window_lanes
from mdqr._backend.cuda.runtime.device import MOST_SHARED
from mdqr._backend.cuda.runtime.kernels import (
    KernelCalls,
    Kernels,
    Module,
    divided,
    fields,
)
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._backend.protocol import Backend
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
    """Return the launch for windows with `below` diagonals, or None if one is too large for it."""
    limbs, is_complex = kind
    planes = limbs * (1 + is_complex)
    slots = columns + below
    most_threads = next(count for most, count in _THREADS if planes <= most) - _WARP
    lanes = window_lanes(below)
    while lanes > 1 and slots * lanes > most_threads:
        lanes //= 2
    # The lanes of a column read rows that follow each other: from different banks.
    apart = 1 if lanes == 1 else _BANKS // lanes
    stride = slots + (apart - slots) % _BANKS
    words = planes * (rows * stride + 2 * (below + 1) + 2) + (limbs + 2) * columns + 2
    threads = _WARP * (1 + divided(slots * lanes, _WARP))
    if slots > most_threads or 8 * words > MOST_SHARED:
        return None
    return Plan(lanes, stride, threads, 8 * words)


@lru_cache(maxsize=1024)
def rise_plan(rows: int, kind: Kind) -> Plan | None:
    """Return the launch for columns of so many rows, or None if they are too many for it."""
    limbs, is_complex = kind
    planes = limbs * (1 + is_complex)
    stride = rows + 1 - rows % 2
    words = planes * (rows * (stride + 1) + 8) + 3
    threads = _WARP * (1 + divided(rows, _WARP))
    most_threads = next(count for most, count in _THREADS if planes <= most)
    if threads > most_threads or 8 * words > MOST_SHARED:
        return None
    return Plan(1, stride, threads, 8 * words)


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
        work = kernels.workspace(prod(batch), steps.shared)
        kernels.launch(
            Module(f"window/{name}", kind, (("MDQR_FLOAT32",) if single else ()) + work.defines),
            f"mdqr_{name}",
            fields(*views, *numbers, work.fields),
            grid=(work.blocks,),
            threads=steps.threads,
            shared=work.shared,
        )
        for block, wanted in zip(used, blocks, strict=True):
            if not xp.may_share_memory(block, wanted):
                wanted[...] = block.reshape(wanted.shape)

    planned(kernels, (name, kind, single, *numbers), blocks, launch)


def _view(kernels: Kernels, block: Block, is_complex: bool, item: int) -> list[int]:
    """Return the fields of `struct matrix_view`; strides are in elements."""
    strides = [stride // item for stride in block.strides]
    between = (
        [strides[1], strides[0], block.shape[1]] if is_complex else [strides[0], 0, len(block)]
    )
    return [kernels.address(block), *between, *strides[-3:]]


class Windows(KernelCalls):
    """Windows, and columns reduced from their ends upwards."""

    def window(
        self: Backend,
        r: Block,
        left: Block,
        right: Block | None,
        *,
        below: int,
        kind: Kind,
    ) -> None:
        """Make windows triangular, and multiply what belongs to them."""
        e = self.xp.empty((*r.shape[:-1], r.shape[-2]))
        self.form_window(r, e, below=below, kind=kind)
        replace_products(self, e, left, right, kind)

    def rise(self: Backend, z: Block, left: Block, right: Block | None, *, kind: Kind) -> None:
        """Reduce columns from their ends upwards, and multiply what belongs to them."""
        self.window(z, left, right, below=0, kind=kind)

    def form_window(self, r: Block, out: Block, *, below: int, kind: Kind) -> None:
        """Make windows triangular, or reduce columns, and write E to `out`.

        Any strides whose batch is a view.
        """
        m, w = r.shape[-2:]
        numbers: tuple[int, ...]
        if below or m == w:
            name, below = "window", min(below, m - 1)
            steps = plan(m, w, below, kind) if w <= m <= w + below else None
        else:
            name, steps = "rise", rise_plan(m, kind) if w == 1 else None
        if steps is None:
            shape = f"{(m, w)} with {below} diagonals below"
            raise ValueError(f"no kernel for windows of shape {shape}")
        numbers = (m, w, below, steps.lanes) if name == "window" else (m,)
        _launch(self.kernels, name, [r, out], kind, (*numbers, steps.stride), steps)

    def window_columns(self, below: int, *, kind: Kind) -> int:
        """Return how many columns windows get; 0 where panels are better."""
        for columns in _COLUMNS[kind.limbs <= _CHEAP_LIMBS]:
            if below < FORMED * columns and plan(columns + below, columns, below, kind):
                return columns
        return 0

    def forms_windows(self, below: int, *, limbs: int) -> bool:
        """Return True: one block of threads makes E, and products apply it."""
        return True
