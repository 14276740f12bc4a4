"""Matrix products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import advised
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._shared.operands import (
    Callback,
    Inputs,
    broadcast_batch,
    check_callback,
    gather,
    on_host,
)

_METHODS = ("auto", "direct")

# Limb products between two calls of a callback, some tenths of a second on a CPU.
_PIECE = 2**32

_THIN = 2

# Kernels take columns by tiles: cut between two of them, a product has the bits of the whole.
_COLUMNS = 64


@advised
def matmul(
    a: Any,
    b: Any,
    *,
    method: str = "auto",
    precision: Precision | str | None = None,
    callback: Callback | None = None,
) -> MDArray:
    """Multiply matrices, as `numpy.matmul`.

    Parameters
    ----------
    a, b : array_like
        Vectors ``(k,)`` or matrices ``(..., m, k)`` and ``(..., k, n)``; leading dimensions
        broadcast. A 1-D `a` is a row, a 1-D `b` a column, and that axis is left out of the result.
    method : {"auto", "direct"}, optional
        Both mean products of limbs or digits with exact partial sums.
    precision : Precision or str, optional
        The precision of the product; by default the highest of the operands.
    callback : callable, optional
        Called as ``callback("matmul", done, total)`` after each block of columns; columns are
        computed in one block without it.

    Returns
    -------
    MDArray
        The product; 0-d for two vectors.

    Raises
    ------
    TypeError
        If `callback` cannot be called.
    ValueError
        If an operand is a scalar, the shapes do not fit, or `method` is unknown.

    Notes
    -----
    In every entry ``abs(error) <= (k + 8) eps (abs(a) @ abs(b))``. Operands keep their own limb
    counts: a float64 matrix times an od vector costs 1 x 8 limb products.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[1.0, 2.0], [3.0, 4.0]], precision=mdqr.qd)
    >>> mdqr.linalg.matmul(a, [1.0, 1.0]).to_numpy().tolist()
    [3.0, 7.0]
    """
    if method not in _METHODS:
        raise ValueError(f'matmul: method must be "auto" or "direct"; got {method!r}')
    check_callback("matmul", callback)
    # A product with a few columns or rows takes no longer than the search for zero planes.
    inputs = gather(a, b, precision=precision, trimmed=on_host(a, b) or not _is_thin(a, b))
    left, right = inputs.shape(0), inputs.shape(1)
    if not left or not right:
        raise ValueError(
            f"matmul: scalars are no matrices; got shapes {left} and {right}: use a * b"
        )
    row, column = len(left) == 1, len(right) == 1
    blocks: list[Block] = [
        inputs.blocks[0][..., None, :] if row else inputs.blocks[0],
        inputs.blocks[1][..., None] if column else inputs.blocks[1],
    ]
    if left[-1] != blocks[1].shape[-2]:
        raise ValueError(
            f"matmul: shapes {left} and {right} do not fit: {left[-1]} columns against "
            f"{blocks[1].shape[-2]} rows"
        )
    _, blocks = broadcast_batch("matmul", blocks, inputs.is_complex)
    product = _product(inputs, blocks[0], blocks[1], callback)
    if row:
        product = product[..., 0, :]
    if column:
        product = product[..., 0]
    return inputs.wrap(product)


def _is_thin(a: Any, b: Any) -> bool:
    """Return whether `a` has at most two rows, or `b` at most two columns."""
    left, right = np.shape(a), np.shape(b)
    return len(left) < 2 or len(right) < 2 or left[-2] <= _THIN or right[-1] <= _THIN


def _product(inputs: Inputs, a: Block, b: Block, callback: Callback | None) -> Block:
    """Multiply; by blocks of columns where the caller wants to hear of them."""
    limbs, total = inputs.work.limbs, int(b.shape[-1])
    kind = Kind(limbs, inputs.is_complex)
    if callback is None:
        return inputs.backend.matmul(a, b, kind=kind)
    *batch, m, k = planes.value_shape(a, inputs.is_complex)
    tiles = _PIECE // max(1, math.prod(batch) * m * k * limbs**2 * _COLUMNS)
    width = _COLUMNS * max(1, tiles)
    out = inputs.kind.empty(inputs.backend.xp, (*batch, m, total))
    for start in range(0, total, width):
        columns = (..., slice(start, start + width))
        inputs.backend.matmul(a, b[columns], out=out[columns], kind=kind)
        callback("matmul", min(start + width, total), total)
    return out
