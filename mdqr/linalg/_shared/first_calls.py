"""Kernels of a call on a GPU are compiled while the host prepares it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.small_systems import MOST_COLUMNS, MOST_ROWS
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
    prepare = getattr(for_block(block), "expect", None)
    if prepare is not None:
        for call in _calls(function, block.shape[-2:], field):
            prepare(call, Kind(limbs, field))


def _calls(function: str, shape: tuple[int, ...], is_complex: bool) -> list[str]:
    """Return the calls of the table that a function may make for a matrix."""
    if function not in ("lstsq", "solve"):
        return [function]
    most, least = max(shape, default=0), min(shape, default=0)
    is_small = most <= MOST_ROWS and least <= MOST_COLUMNS
    if function == "solve" and not is_complex and MOST_COLUMNS < most <= 2 * MOST_COLUMNS:
        # Many right-hand sides go another way.
        return ["solve_middle", function]
    return [f"{function}_small" if is_small else function]
