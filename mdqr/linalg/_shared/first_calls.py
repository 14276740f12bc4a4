"""Kernels of a call on a GPU are compiled while the host prepares it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.protocol import MOST_COLUMNS, MOST_ROWS
from mdqr._limbs.device import is_cuda_array
from mdqr._limbs.planes import Kind
from mdqr._precision import as_precision


def expect(function: str, x: Any, precision: Any) -> None:
    """Start to compile the kernels of `function` for an operand `x` of a GPU, and do not wait.

    Nothing is started for other operands, and for kernels on disk.
    """
    if isinstance(x, MDArray):
        block, limbs, field = x._block, x._precision.limbs, x._complex
    else:
        block, limbs, field = x, 1, False
    if isinstance(block, np.ndarray) or not is_cuda_array(block):
        return
    if block is x:
        field = block.dtype.kind == "c"
    if precision is not None:
        limbs = as_precision(precision).limbs
    if function in ("lstsq", "solve") and _is_small(block.shape[-2:]):
        function += "_small"
    prepare = getattr(for_block(block), "expect", None)
    if prepare is not None:
        prepare(function, Kind(limbs, field))


def _is_small(shape: tuple[int, ...]) -> bool:
    return max(shape, default=0) <= MOST_ROWS and min(shape, default=0) <= MOST_COLUMNS
