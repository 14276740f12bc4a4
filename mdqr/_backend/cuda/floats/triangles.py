"""Inverses of float64 triangles, and rows in the order of LU: kernels/cuda/floats/triangles.cu."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdqr._backend.blocks import order_of
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, fields
from mdqr._backend.cuda.vendor.cublas import NUMBERS
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind

# As in the kernels: columns of a block on the diagonal, at most, and threads for rows.
_WIDTH, _THREADS = 32, 256


def invert(kernels: Kernels, triangles: Sequence[Block], *, units: int = 0) -> Block:
    """Return the inverses of upper triangles, ``(count, n, n)``, nearly all by products.

    Blocks on the diagonals are inverted by substitution, and joined in pairs, all of one size at
    once: ``[[R, S], [0, T]]`` has the inverse ``[[X, -X S Y], [0, Y]]``.

    Parameters
    ----------
    kernels : Kernels
        The kernels that are launched.
    triangles : sequence of Block
        Matrices ``(n, n)`` of float64 or complex128. Their entries below the diagonal are not read.
    units : int, optional
        The first so many have ones on their diagonals, whatever lies there.
    """
    xp, n, dtype = kernels.xp, len(triangles[0]), triangles[0].dtype
    count, item = len(triangles), dtype.itemsize
    levels = max(0, (n - 1) // _WIDTH).bit_length()
    width = -(-n // 2**levels)
    order = width << levels
    # With one row more the blocks on all diagonals lie at equal distances.
    r, x = (xp.zeros((count, order + 1, order), dtype=dtype) for _ in range(2))
    if not n:
        return x[:, :n, :n]
    for place, each in zip(r, triangles, strict=True):
        place[:n, :n] = each
    blocks = order // width
    kernels.launch(
        Module("floats/triangles", Kind(1, dtype.kind == "c")),
        "mdqr_invert_blocks",
        fields(
            kernels.address(r), kernels.address(x), n, width, blocks, (order + 1) * order, order,
            units,
        ),
        grid=(count * blocks,),
        threads=_WIDTH,
        shared=2 * _WIDTH**2 * item,
    )  # fmt: skip
    product = xp.empty(count * order * order // 2, dtype=dtype)
    while width < order:
        pairs, shape = count * order // (2 * width), (width, width, width)
        step, middle = 2 * width * (order + 1), width * (order + 1) * item
        upper, whole = kernels.address(r) + width * item, kernels.address(x)
        between = kernels.address(product), width, width * width
        # Column by column, which is how cuBLAS reads, all are transposes.
        numbers = NUMBERS[dtype.char]
        kernels.cublas.gemm_batched(
            numbers, shape, pairs, (whole + middle, order, step), (upper, order, step), between
        )
        kernels.cublas.gemm_batched(
            numbers, shape, pairs, between, (whole, order, step),
            (whole + width * item, order, step), alpha=-1.0,
        )  # fmt: skip
        width *= 2
    return x[:, :n, :n]


def row_order(kernels: Kernels, swaps: Block) -> Block:
    """Return the order of rows after interchanges, int64."""
    rows = len(swaps)
    if 8 * rows > kernels.device.shared:
        return kernels.xp.asarray(order_of(host_block(swaps), rows))
    order = kernels.xp.empty(rows, dtype=np.int64)
    if rows:
        kernels.launch(
            Module("floats/triangles", Kind(1, False)), "mdqr_row_order",
            fields(kernels.address(swaps), kernels.address(order), rows),
            grid=(1,), threads=_THREADS, shared=8 * rows,
        )  # fmt: skip
    return order


def put_columns(kernels: Kernels, x: Block, order: Block) -> Block:
    """Return the matrix whose column ``order[j]`` is column j of `x`, contiguous rows."""
    out = kernels.xp.empty(x.shape, dtype=x.dtype)
    if x.size:
        kernels.launch(
            Module("floats/triangles", Kind(1, x.dtype.kind == "c")), "mdqr_put_columns",
            fields(*map(kernels.address, (x, order, out)), *x.shape),
            grid=(len(x),), threads=_THREADS,
        )  # fmt: skip
    return out
