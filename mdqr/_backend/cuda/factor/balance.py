"""Powers of two for rows and columns on a GPU: kernels/cuda/triangular/balance.cu."""

from __future__ import annotations

from math import prod
from types import ModuleType
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import Shape, batched
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, divided, fields, matrix_view
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._backend.protocol import Balanced
from mdqr._limbs.planes import Block, Kind, lead, value_shape

# `most_threads` and `scale_threads` of the kernels.
_MOST_THREADS = 512
_SCALE_THREADS = 256
_LEAST_THREADS = 128
# Lines that a block looks at side by side: eight doubles are two sectors.
_LINES = 8

# `part_of_matrix` of the kernels.
_WHOLE, _BELOW, _ABOVE = 0, 1, 2


def triangle(
    kernels: Kernels, a: Block, is_complex: bool, lower: bool, unit_diagonal: bool
) -> Balanced:
    """Scale triangles; see `mdqr._backend.protocol.Backend.balance_triangle`."""
    xp = kernels.xp
    shape = value_shape(a, is_complex)
    batch, n = shape[:-2], shape[-1]
    block = Kind(a.shape[lead(is_complex) - 1], is_complex).empty(xp, shape)
    rows, columns = (xp.empty((*batch, n), dtype=np.int64) for _ in range(2))
    if not block.size:
        return Balanced(block, rows, columns, xp.zeros(2, dtype=np.int64))
    faults = xp.empty(2, dtype=np.int64)

    def launch(kernels: Kernels) -> None:
        x, to = (_matrices(kernels, v, batch, is_complex) for v in (a, block))
        first, second, marks = (kernels.address(v) for v in (rows, columns, faults))
        _unsound, unsound = kernels.scratch(prod(batch))
        part, transposed = (_BELOW, _ABOVE) if lower else (_ABOVE, _BELOW)
        unit, found = int(unit_diagonal), [marks, unsound, prod(batch)]
        _powers(kernels, x, [part, unit], [0, second, *found, 1])
        _powers(kernels, x.transposed(), [transposed, unit], [second, first, *found, 0])
        _scale(kernels, to, x, [part, unit], [first, second, 1, unsound, 0])

    flags = ("balance_triangle", is_complex, lower, unit_diagonal)
    planned(kernels, flags, [a, block, rows, columns, faults], launch)
    return Balanced(block, rows, columns, faults)


def columns(
    kernels: Kernels, x: Block, rows: Block | None, is_complex: bool
) -> tuple[Block, Block]:
    """Scale rows, then columns; see `mdqr._backend.protocol.Backend.balance_columns`."""
    xp = kernels.xp
    *batch, m, n = value_shape(x, is_complex)
    block = Kind(x.shape[lead(is_complex) - 1], is_complex).empty(xp, (*batch, m, n))
    if not block.size:
        return block, xp.zeros((*batch, n), dtype=np.int64)
    found = xp.empty((*batch, n), dtype=np.int64)
    given = [] if rows is None else [_spread(xp, rows, (*batch, m))]

    def launch(kernels: Kernels) -> None:
        source, to = (_matrices(kernels, v, tuple(batch), is_complex) for v in (x, block))
        first = kernels.address(given[0]) if given else 0
        results = [first, kernels.address(found), 0, 0, 0, 0, *to.view]
        _powers(kernels, source, [_WHOLE, 0], results, "mdqr_balance_lines")

    planned(kernels, ("balance_columns", is_complex), [x, block, found, *given], launch)
    return block, found


def scale(
    kernels: Kernels, x: Block, rows: Block, columns: Block, is_complex: bool
) -> tuple[Block, Block]:
    """Scale and look; see `mdqr._backend.protocol.Backend.scale`."""
    xp = kernels.xp
    *batch, m, n = value_shape(x, is_complex)
    block = Kind(x.shape[lead(is_complex) - 1], is_complex).empty(xp, (*batch, m, n))
    fault = xp.zeros(1, dtype=np.int64)
    if not block.size:
        return block, fault
    given = [_spread(xp, rows, (*batch, m)), _spread(xp, columns, (*batch, n))]

    def launch(kernels: Kernels) -> None:
        source, to = (_matrices(kernels, v, tuple(batch), is_complex) for v in (x, block))
        first, second, mark = (kernels.address(v) for v in (*given, fault))
        _scale(kernels, to, source, [_WHOLE, 0], [first, second, -1, 0, mark])

    planned(kernels, ("scale", is_complex), [x, block, *given, fault], launch)
    return block, fault


class _Matrices(NamedTuple):
    """Matrices with one batch axis."""

    block: Block  # kept until the launch
    module: Module
    view: list[int]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Items, rows and columns."""
        items, rows, columns = self.block.shape[-3:]
        return items, rows, columns

    def transposed(self) -> _Matrices:
        """Return the transposes."""
        *front, row, column = self.view
        return _Matrices(self.block.swapaxes(-1, -2), self.module, [*front, column, row])


def _matrices(kernels: Kernels, block: Block, batch: Shape, is_complex: bool) -> _Matrices:
    block = batched(block, batch, 2, is_complex)
    module = Module("triangular/balance", Kind(block.shape[lead(is_complex) - 1], is_complex))
    return _Matrices(block, module, matrix_view(kernels, block, is_complex))


def _spread(xp: ModuleType, powers: Block, shape: Shape) -> Block:
    """Return int64 powers of the batch of a block, one after the other in memory."""
    if powers.shape != shape:
        powers = xp.broadcast_to(powers, shape)
    return xp.ascontiguousarray(powers)


def _power_above(x: int) -> int:
    """Return the least power of two that is at least `x`."""
    return 1 << max(x - 1, 0).bit_length()


def _powers(
    kernels: Kernels, x: _Matrices, area: list[int], results: list[int], name: str = "mdqr_powers"
) -> None:
    """Find the powers of the columns."""
    items, rows, columns = x.shape
    row, column = x.view[-2:]
    across = abs(column) < abs(row) and columns > 1
    width = min(_power_above(rows), _MOST_THREADS // (_LINES if across else 1))
    lines = min(_power_above(columns), max(_LINES if across else 1, _LEAST_THREADS // width))
    groups = divided(columns, lines)
    kernels.launch(
        x.module,
        name,
        fields(x.view, rows, columns, groups, width, int(across), area, results),
        grid=(items * groups,),
        threads=lines * width,
        shared=8 * (lines * width + lines),
    )


def _scale(
    kernels: Kernels, to: _Matrices, x: _Matrices, area: list[int], powers: list[int]
) -> None:
    """Write the scaled entries of `x` to `to`."""
    items, rows, columns = x.shape
    size = items * rows * columns
    kernels.launch(
        x.module,
        "mdqr_scale",
        fields(to.view, x.view, size, rows, columns, area, powers),
        grid=(divided(size, _SCALE_THREADS),),
        threads=_SCALE_THREADS,
    )
