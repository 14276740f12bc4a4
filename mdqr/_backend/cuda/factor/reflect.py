"""Q times a few columns on a GPU, all tiles by one launch: kernels/cuda/reflect/reflect.cu."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mdqr._backend.blocks import batched
from mdqr._backend.cuda.runtime.kernels import BLOCKS_TOGETHER, Kernels, Module, fields, matrix_view
from mdqr._limbs.planes import Block, Kind, value_shape

# `most_tiles`, `most_width`, `reflect_threads` and `warps_of_block` of the kernel.
_MOST_TILES = 64
_MOST_WIDTH = 64
_THREADS = 256
_WARPS = 8

# From so many columns of all matrices together on, products tile by tile are faster.
_MOST_JOBS = 8
# Rows of x that a block has at least.
_LEAST_ROWS = 8


def serves(vs: Sequence[Block], x: Block, is_complex: bool) -> bool:
    """Return whether `reflect_all` takes these tiles and columns, and is the faster way."""
    *batch, _, columns = value_shape(x, is_complex)
    return (
        x.flags.c_contiguous
        and 0 < prod(batch) * columns <= _MOST_JOBS
        and len(vs) > 0
        and vs[0].shape[-1] <= _MOST_WIDTH
        and list(value_shape(vs[0], is_complex)[:-2]) == batch
    )


def reflect_all(
    kernels: Kernels,
    vs: Sequence[Block],
    ts: Sequence[Block],
    x: Block,
    kind: Kind,
    adjoint: bool,
) -> None:
    """Replace `x` by ``Q x`` or ``Q^H x``; see `mdqr._backend.protocol.Backend.reflect_all`.

    What `serves` is true for, of more than one limb.
    """
    limbs, is_complex = kind
    *batch, rows, columns = value_shape(x, is_complex)
    items, width = prod(batch), vs[0].shape[-1]
    jobs = items * columns
    blocks = max(1, min(BLOCKS_TOGETHER // jobs, rows // _LEAST_ROWS))
    numbers = (2 if is_complex else 1) * limbs * width
    _parts, parts = kernels.scratch(jobs * 2 * blocks * numbers)
    view = matrix_view(kernels, batched(x, tuple(batch), 2, is_complex), is_complex)
    reflectors = sum(v.shape[-1] for v in vs)
    order = slice(None, None, 1 if adjoint else -1)
    addresses = [[kernels.address(block) for block in blocks_] for blocks_ in (vs, ts)]
    for done in range(0, len(vs), _MOST_TILES):
        some = [one[order][done : done + _MOST_TILES] for one in addresses]
        count = len(some[0])
        padding = [0] * (_MOST_TILES - count)
        _counters, counters = kernels.scratch(jobs, zero=True)
        numbers_of_tiles = [len(vs), done, count, parts, counters]
        kernels.launch(
            Module("reflect/reflect", kind),
            "mdqr_reflect",
            fields(
                view,
                [rows, columns, items, blocks, width, reflectors, int(adjoint)],
                numbers_of_tiles,
                *(one + padding for one in some),
            ),
            grid=(jobs * blocks,),
            threads=_THREADS,
            shared=8 * max(numbers * (_WARPS + 1), _THREADS),
            cooperative=blocks > 1,
        )
