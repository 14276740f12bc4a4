"""Reductions over the last axis on a GPU: kernels/cuda/elementwise/reduce.cu.

One module holds one operation.

Sums and products keep the order of the host backend (8 virtual lanes in pieces of 4096, then the
same over the pieces), and so its limbs. Running sums are the host's up to 64 elements; longer rows
are cut into pieces of 64, whose sums are summed in the same way.
"""

from __future__ import annotations

from math import prod
from types import ModuleType

import numpy as np

from mdqr._backend.blocks import fill_with_identity
from mdqr._backend.cuda.axes import MAX_AXES, merge, padded, steps
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, divided, fields, planes
from mdqr._limbs.planes import Block, Kind, lead, value_shape

_THREADS = 64  # row_threads in kernels/cuda/device/rows.hpp
_LANES = 8
_REDUCE_PIECE = 4096
_SCAN_PIECE = 64
_ARG_PIECE = 512
_NO_PLANES = [0, 0, 0, 0]


class _Rows:
    """Rows of values along the last axis: what `struct row_extent` and `array_view` hold."""

    def __init__(self, kernels: Kernels, x: Block, is_complex: bool) -> None:
        front = lead(is_complex)
        self.shape = value_shape(x, is_complex)[:-1]
        self.count = prod(self.shape)
        self.length: int = x.shape[-1]
        strides = steps(x, front, x.shape[front:])
        order = tuple(prod(self.shape[k + 1 :]) for k in range(len(self.shape)))
        lengths, merged = merge(self.shape, [order, strides[:-1]])
        if len(lengths) > MAX_AXES:
            x = kernels.xp.ascontiguousarray(x)
            lengths, merged, strides = [self.count], [(1, self.length)], (1,)
        self.block = x  # kept alive
        self.step = strides[-1]
        self.lengths = padded(lengths, 1)
        own = [step[1] for step in merged]
        self.view = [*planes(kernels, x, is_complex), *padded(own, 0)]
        # Neighbours in memory that belong to different rows: from 4 on they fill a sector.
        nearest = abs(own[-1]) if own else 0
        self.across = int(bool(own) and lengths[-1] >= 4 and nearest < abs(self.step))

    def extent(self, length: int, piece: int) -> tuple[list[int], int]:
        """Return the fields of `struct row_extent`, and the number of pieces a row."""
        pieces = divided(length, piece)
        front = [self.count, length, self.step, piece, pieces, self.across]
        return front + self.lengths, pieces

    def empty(self, xp: ModuleType, pieces: int, kind: Kind) -> Block:
        """Return a block of one value for every piece of every row, laid out as tasks go."""
        if self.across:
            return kind.empty(xp, (pieces, self.count)).swapaxes(-1, -2)
        return kind.empty(xp, (self.count, pieces))


def _part(kernels: Kernels, block: Block, is_complex: bool) -> list[int]:
    """Return the fields of `struct part_view` for values ``(rows, pieces)``."""
    size = block.itemsize
    return [*planes(kernels, block, is_complex), *(step // size for step in block.strides[-2:])]


def _integer_part(kernels: Kernels, array: Block | None) -> list[int]:
    """Return the same for int64 values, or for none."""
    if array is None:
        return [*_NO_PLANES, 0, 0]
    return [kernels.address(array), 0, 0, 1, *(step // 8 for step in array.strides)]


def _blocks(tasks: int, block_tasks: int) -> tuple[int]:
    return (divided(tasks, block_tasks),)


def _shared(words: int) -> int:
    return 8 * _THREADS * words


def reduce(kernels: Kernels, op: str, x: Block, kind: Kind) -> Block:
    """Reduce the last axis; see `mdqr._backend.protocol.Backend.reduce`.

    The limbs are those of the host backend.
    """
    is_complex = kind.is_complex
    out = kind.empty(kernels.xp, value_shape(x, is_complex)[:-1])
    if out.size == 0:
        return out
    if x.shape[-1] == 0:
        fill_with_identity(out, op, is_complex)
        return out
    module = Module("elementwise/reduce", kind, (f"MDQR_REDUCE={op}",))
    rows = _Rows(kernels, x, is_complex)
    result = out.reshape((*out.shape[: lead(is_complex)], rows.count, 1))
    if rows.length <= _REDUCE_PIECE:
        _reduce_pieces(kernels, module, rows, _REDUCE_PIECE, result)
        return out
    pieces = divided(rows.length, _REDUCE_PIECE)
    parts = rows.empty(kernels.xp, pieces, kind)
    _reduce_pieces(kernels, module, rows, _REDUCE_PIECE, parts)
    _reduce_pieces(kernels, module, _Rows(kernels, parts, is_complex), pieces, result)
    return out


def _reduce_pieces(kernels: Kernels, module: Module, rows: _Rows, piece: int, out: Block) -> None:
    extent, pieces = rows.extent(rows.length, piece)
    arguments = fields(extent, rows.view, _part(kernels, out, module.kind.is_complex))
    kernels.launch(
        module,
        "mdqr_reduce",
        arguments,
        grid=_blocks(rows.count * pieces, _THREADS // _LANES),
        threads=_THREADS,
        shared=_shared(module.kind.limbs * (2 if module.kind.is_complex else 1)),
    )


def cumsum(kernels: Kernels, x: Block, kind: Kind) -> Block:
    """Return running sums along the last axis.

    The error of sum k is at most ``(k + 8) eps sum(abs(x[:k + 1]))``: no term passes through more
    additions than in a running sum.
    """
    is_complex = kind.is_complex
    out = kind.empty(kernels.xp, value_shape(x, is_complex))
    if out.size == 0:
        return out
    module = Module("elementwise/reduce", kind, ("MDQR_CUMSUM",))
    rows = _Rows(kernels, x, is_complex)
    result = out.reshape((*out.shape[: lead(is_complex)], rows.count, rows.length))
    extent, pieces = rows.extent(rows.length, _SCAN_PIECE)
    grid = _blocks(rows.count * pieces, _THREADS)
    no_parts = [*_NO_PLANES, 0, 0]
    target = _part(kernels, result, is_complex)
    if pieces == 1:
        sums = None
    else:
        parts = rows.empty(kernels.xp, pieces, kind)
        arguments = fields(extent, rows.view, _part(kernels, parts, is_complex), no_parts)
        kernels.launch(module, "mdqr_piece_sums", arguments, grid=grid, threads=_THREADS)
        sums = cumsum(kernels, parts, kind)
    below = no_parts if sums is None else _part(kernels, sums, is_complex)
    arguments = fields(extent, rows.view, below, target)
    kernels.launch(module, "mdqr_running_sums", arguments, grid=grid, threads=_THREADS)
    return out


def argreduce(kernels: Kernels, op: str, x: Block) -> Block:
    """Return the position of the first maximum or minimum along the last axis; a NaN wins."""
    out = kernels.xp.empty(x.shape[1:-1], dtype=np.int64)
    if out.size == 0:
        return out
    limbs = len(x)
    module = Module(
        "elementwise/reduce", Kind(limbs, False), (f"MDQR_ARGREDUCE={1 if op == 'max' else -1}",)
    )
    rows = _Rows(kernels, x, False)
    length, among = rows.length, None
    while among is None or length > 1:
        extent, pieces = rows.extent(length, _ARG_PIECE)
        found = out.reshape(rows.count, 1)
        if pieces > 1:
            found = kernels.xp.empty((rows.count, pieces), dtype=np.int64)
        arguments = fields(
            extent, rows.view, _integer_part(kernels, among), _integer_part(kernels, found)
        )
        kernels.launch(
            module,
            "mdqr_argreduce",
            arguments,
            grid=_blocks(rows.count * pieces, _THREADS // _LANES),
            threads=_THREADS,
            shared=_shared(limbs + 1),
        )
        length, among = pieces, found
    return out
