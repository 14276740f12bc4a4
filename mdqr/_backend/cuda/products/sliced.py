"""Large products by integer slices: kernels/cuda/products/slices.hpp.

They are formed on the FP64 tensor cores, or on the integer units where a device has few of those.
"""

from __future__ import annotations

from typing import NamedTuple

from mdqr._backend.cuda.digits import slices
from mdqr._backend.cuda.products.operands import Product, Scratch, Todo
from mdqr._backend.cuda.runtime.device import Workspace
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, divided, fields, matrix_view
from mdqr._limbs.planes import Block

# As in kernels/cuda/products/slices.hpp.
_QUAD = 4
_QUAD_PADDING = 4

_THREADS = 256
# Stages of the copies, sums that a thread parks, and slices from which on fewer warps lie behind
# each other, as in kernels/cuda/products/matmul_tile.hpp.
_STAGES, _PARKED, _LONG = 3, 8, 24
# Blocks that keep every multiprocessor of a large GPU busy.
_BUSY = 132
# Blocks for slicing: it waits for memory.
_MANY = 512
# Quads of a block below which the terms of a tile are not divided further.
_LEAST_QUADS = 32


class Tile(NamedTuple):
    """A tile of the kernel, as kernels/cuda/products/matmul_tile.hpp has it."""

    variant: int
    side: int
    depth: int  # warps behind each other, at most

    def depth_of(self, limbs: int) -> int:
        """Return the warps behind each other."""
        return min(self.depth, 2) if slices(limbs) >= _LONG else self.depth

    def threads(self, limbs: int) -> int:
        """Return the threads of a block; a warp forms 16 x 8 sums."""
        return 32 * self.side**2 // 128 * self.depth_of(limbs)

    def sums(self, limbs: int) -> int:
        """Return the doubles that the sums of a tile take."""
        return (2 + (slices(limbs) + 1) // 2) * self.side**2

    def workspace(self, kernels: Kernels, units: int, limbs: int) -> Workspace:
        """Return where blocks keep stages of copies, and afterwards finished sums."""
        depth = self.depth_of(limbs)
        quads = depth if depth > 1 else 1 if slices(limbs) > 12 else 2
        stage = quads * (slices(limbs) + 1) * 2 * self.side * _QUAD // 2
        sums, parked = depth * self.sums(limbs), _PARKED * self.threads(limbs)
        return kernels.workspace(
            units, 8 * (max(_STAGES * stage, sums) + parked),
            moved=8 * sums, left=8 * (stage + parked),
        )  # fmt: skip


_WIDE = Tile(0, 32, 1)
_NARROW = Tile(1, 16, 4)


def choose_tile(items: int, m: int, n: int) -> Tile:
    """Return wide tiles if they fill the GPU and are not nearly empty; `n` counts real columns."""
    tiles = items * divided(m, _WIDE.side) * divided(n, _WIDE.side)
    return _NARROW if tiles < _BUSY or min(m, n) <= _NARROW.side else _WIDE


class Sliced:
    """One operand cut into slices: its place in the scratch memory."""

    def __init__(
        self, block: Block, product: Product, conjugate: bool, right: bool, tile: Tile,
        scratch: Scratch,
    ) -> None:  # fmt: skip
        parts = 2 if product.kind.is_complex else 1
        items, rows, inner = block.shape[-3:]
        if block.strides[-3] == 0 and items > 1:
            block, items = block[..., :1, :, :], 1
        self.block, self.kind = block, product.kind
        self.flags = [rows, inner, int(conjugate), int(right)]
        self.items = items
        self.rows = divided(rows * (parts if right else 1), tile.side) * tile.side
        self.quads = max(1, divided(inner * parts, _QUAD * _QUAD_PADDING)) * _QUAD_PADDING
        lines = items * self.quads * (slices(product.kind.limbs) + 1)
        self.words = scratch.take(lines * self.rows * _QUAD // 2)
        self.exponents = scratch.take(items * self.rows)

    def view(self, base: int) -> list[int]:
        """Return the fields of `struct sliced`."""
        return [base + self.words, base + self.exponents, self.items, self.rows, self.quads]

    def slicing(self, kernels: Kernels, base: int) -> tuple[list[int], int]:
        """Return the fields of `struct slicing`, and the number of blocks that cut the operand."""
        groups = self.rows // 8
        segments = min(max(1, _MANY // (self.items * groups)), max(1, self.quads // 8))
        block = matrix_view(kernels, self.block, self.kind.is_complex)
        fields = [*block, *self.view(base), *self.flags, groups, segments]
        return fields, self.items * groups * segments


def product(
    kernels: Kernels, product: Product, c: list[int], out: list[int], subtract: bool
) -> Todo:
    """Write ``c + a @ b`` or ``c - a @ b`` to `out`, but for the elements on the returned list."""
    items, m, n, _ = product.shape
    columns = n * (2 if product.kind.is_complex else 1)
    tile = choose_tile(items, m, columns)
    scratch = Scratch()
    a = Sliced(product.a, product, product.conj_a, False, tile, scratch)
    b = Sliced(product.b.swapaxes(-1, -2), product, product.conj_b, True, tile, scratch)
    tiles_m, tiles_n = divided(m, tile.side), divided(columns, tile.side)
    tiles = items * tiles_m * tiles_n
    splits = max(1, min(_BUSY // tiles, a.quads // _LEAST_QUADS))
    split_quads = divided(divided(a.quads, splits), _QUAD_PADDING) * _QUAD_PADDING
    splits = divided(a.quads, split_quads)
    sums = scratch.take(splits * tiles * tile.sums(product.kind.limbs) if splits > 1 else 0)
    todo, count = scratch.take(items * m * n), scratch.take(1)
    memory, base = scratch.allocate(kernels)
    (cut_a, blocks_a), (cut_b, blocks_b) = (v.slicing(kernels, base) for v in (a, b))
    # A row maximum a warp and row.
    kernels.launch(
        Module("products/slices", product.kind), "mdqr_slices",
        fields(cut_a, cut_b, blocks_a, base + count),
        grid=(blocks_a + blocks_b,), threads=_THREADS, shared=512,
    )  # fmt: skip
    work = tile.workspace(kernels, tiles * splits, product.kind.limbs)
    arguments = fields(
        a.view(base), b.view(base), c, out, int(subtract), items, m, n, tiles_m, tiles_n,
        splits, split_quads, base + sums, base + todo, base + count, work.fields,
    )  # fmt: skip
    units = () if kernels.device.has_fast_doubles else ("MDQR_INTEGERS",)
    defines = (f"MDQR_TILE={tile.variant}", *units, *work.defines)
    module = Module("products/matmul", product.kind, defines)
    threads = tile.threads(product.kind.limbs)
    kernels.launch(
        module, "mdqr_matmul", arguments, grid=(work.blocks,), threads=threads, shared=work.shared
    )
    if splits > 1:
        kernels.launch(module, "mdqr_matmul_finish", arguments, grid=(tiles,), threads=threads)
    return Todo(base + todo, base + count, memory)
