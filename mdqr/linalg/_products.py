"""Matrix products."""

from __future__ import annotations

from typing import Any

from mdqr._array import MDArray
from mdqr._backend.protocol import Block
from mdqr._precision import Precision
from mdqr.linalg._operands import broadcast_batch, gather

_METHODS = ("auto", "direct")


def matmul(
    a: Any, b: Any, *, method: str = "auto", precision: Precision | str | None = None
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

    Returns
    -------
    MDArray
        The product; 0-d for two vectors.

    Raises
    ------
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
    inputs = gather(a, b, precision=precision)
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
    product = inputs.backend.matmul(
        blocks[0], blocks[1], limbs=inputs.work.limbs, is_complex=inputs.is_complex
    )
    if row:
        product = product[..., 0, :]
    if column:
        product = product[..., 0]
    return inputs.wrap(product)
