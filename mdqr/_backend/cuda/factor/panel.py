"""Householder panels on the GPU: how many blocks work on a panel, and where its rows lie.

How the rows are divided into blocks depends on the shape and the precision alone, as the sums do.
Where a device cannot run so many blocks at once, each takes several in turn.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

from mdqr._backend.blocks import batched
from mdqr._backend.cuda.digits import result_digits
from mdqr._backend.cuda.runtime.device import MOST_SHARED, MOST_TOGETHER, Device
from mdqr._backend.cuda.runtime.kernels import (
    KernelCalls,
    Kernels,
    Module,
    divided,
    fields,
    matrix_view,
)
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._backend.protocol import PanelOut
from mdqr._limbs.planes import Block, Kind, value_shape

# Threads of a block at most (`panel_threads` of kernels/cuda/panel/panel.hpp), twice the columns: a
# thread makes the factor of each column, the next one tau, and one of another warp the scale of
# the vector.
_THREADS = 256
_WARP = 32
# Numbers of so many planes: blocks of few threads on one multiprocessor displace each
# other's code.
_LONG_CODE = 8
# Columns at most, and those of numbers of more planes than 16: arrays over the columns fit the
# shared memory of each device then.
_MOST_COLUMNS, _MOST_LONG_COLUMNS = 128, 64

# A panel of so many rows is left with 64 row blocks: more of them have more sums to exchange.
_MODERATE_ROWS = 8192
_MODERATE_BLOCKS = 64

# For each number of limbs (at most): the rows of the panels that one block factors alone, and the
# fewest and most rows of a block where several share a panel. 1024 rows take blocks of the most.
_ROWS = ((1, 64, 32, 64), (2, 32, 16, 32), (float("inf"), 16, 8, 16))

# As in kernels/cuda/panel/panel.hpp: doubles of shared memory before the arrays over the columns,
# besides two scalars and of each; of each column besides its digits and its factor; words before
# the sums of an item.
_FIXED_SHARED, _SCALAR, _LONG_SCALAR = 16, 24, 40
_COLUMN_SHARED = 5
_LINE = 16


class Plan(NamedTuple):
    """The launch of one call.

    `blocks`, `rows_a_block` and `threads` are a function of its shape and precision alone.
    """

    blocks: int
    rows_a_block: int
    threads: int
    group: int  # of the launch, for one panel: blocks with rows, and one for T
    in_shared: bool
    shared: int
    exchange: int
    counters: int

    @property
    def in_turn(self) -> bool:
        """True if blocks of the launch take several blocks of rows."""
        return self.blocks > max(self.group - 1, 1)


def most_columns(kind: Kind) -> int:
    """Return the most columns of a panel."""
    return _MOST_COLUMNS if kind.limbs * (1 + kind.is_complex) <= 16 else _MOST_LONG_COLUMNS


def _blocks(items: int, m: int, limbs: int) -> int:
    """Return how many blocks share the rows of a panel."""
    alone, fewest, largest = next(line[1:] for line in _ROWS if limbs <= line[0])
    if m <= alone:
        return 1
    rows = min(largest, max(fewest, m * largest // 1024))
    most = _MODERATE_BLOCKS if m <= _MODERATE_ROWS else MOST_TOGETHER - 1
    return max(1, min(divided(m, rows), most, MOST_TOGETHER // items - 1))


def _threads(items: int, m: int, w: int, blocks: int, planes: int) -> int:
    """Return the threads of a block: few where many small panels share a multiprocessor."""
    if blocks > 1 or items <= MOST_TOGETHER or w >= 3 * _WARP:
        return _THREADS
    if m * w <= 512 and w < _WARP:
        return 128 if planes == _LONG_CODE else 64
    return 128 if m * w <= 4096 else _THREADS


@lru_cache(maxsize=1024)
def plan(items: int, m: int, w: int, kind: Kind, device: Device) -> Plan:
    """Return the launch for `items` panels of shape ``(m, w)``."""
    limbs, is_complex = kind
    parts = 1 + is_complex
    values = limbs * parts
    digits = result_digits(limbs) * parts
    # Sums and scalars are made of digits, but for few limbs.
    scalars = digits if limbs > 2 else values
    pivot = values + (digits if limbs > 2 else 0)
    blocks = _blocks(items, m, limbs)
    rows = divided(m, blocks)
    group = 1 if blocks == 1 else max(1, min(blocks + 1, device.together // items))
    turns = divided(blocks, max(group - 1, 1))
    column = (rows + 7) // 16 * 16 + 8
    scalar = _SCALAR if digits <= _SCALAR else _LONG_SCALAR
    arrays = _FIXED_SHARED + 2 * scalar + w * (_COLUMN_SHARED + 2 * scalars + values)
    matrix = turns * column * (pivot + w * values)
    in_shared = 8 * (arrays + matrix) <= min(device.shared, MOST_SHARED)
    pivots = 0 if in_shared else blocks * rows * pivot
    return Plan(
        blocks,
        rows,
        _threads(items, m, w, blocks, values),
        group,
        in_shared,
        8 * (arrays + (matrix if in_shared else 0)),
        pivots + (2 * w * (blocks + scalars) if blocks > 1 else 0),
        _LINE + 3 * (w * digits + 1) if blocks > 1 else 0,
    )


class Panels(KernelCalls):
    """Householder panels."""

    def qr_panel(self, a: Block, *, kind: Kind, out: PanelOut | None = None) -> PanelOut:
        """Factor panels by Householder reflections."""
        is_complex = kind.is_complex
        xp = self.xp
        *batch, m, w = value_shape(a, is_complex)
        if w > most_columns(kind):
            raise ValueError(f"a panel has at most {most_columns(kind)} columns, this one has {w}")
        if out is None:
            shapes = ((m, w), (w,), (m, w), (w, w))
            out = PanelOut(*(kind.empty(xp, (*batch, *shape)) for shape in shapes))
        if not prod((*batch, m, w)):
            return out
        results = out

        def launch(kernels: Kernels) -> None:
            matrices = [a, results.h, results.v, results.t, results.tau[..., None, :]]
            # Blocks whose batch axes do not merge are copied; the copies live until the launch.
            used = [batched(block, tuple(batch), 2, is_complex) for block in matrices]
            views = [matrix_view(kernels, block, is_complex) for block in used]
            items = prod(batch)
            steps = plan(items, m, w, kind, kernels.device)
            exchange, barriers = (None, 0), (None, 0)
            if steps.exchange:
                exchange = kernels.scratch(items * steps.exchange)
            if steps.counters:
                barriers = kernels.scratch(items * steps.counters, zero=True)
            kernels.launch(
                Module("panel/panel", kind, ("MDQR_IN_TURN",) if steps.in_turn else ()),
                "mdqr_qr_panel",
                fields(
                    *views,
                    exchange[1],
                    barriers[1],
                    m,
                    w,
                    steps.blocks,
                    steps.rows_a_block,
                    steps.in_shared,
                    steps.group,
                ),
                grid=(items * steps.group,),
                threads=steps.threads,
                shared=steps.shared,
                cooperative=steps.group > 1,
            )
            for block, wanted in zip(used[1:], matrices[1:], strict=True):
                if not xp.may_share_memory(block, wanted):
                    wanted[...] = block.reshape(wanted.shape)

        planned(self.kernels, ("qr_panel", kind), [a, *out], launch)
        return out
