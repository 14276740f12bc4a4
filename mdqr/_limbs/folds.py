"""Sums, extremes and tests of plain arrays along axes, on the device of the array.

On a CPU they are NumPy's. CuPy compiles each of its own for 2 to 3 seconds, at the first call for a
type and a layout, so that a backend may have better ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Block = Any  # numpy.ndarray | cupy.ndarray; CuPy may be absent
Axis = int | tuple[int, ...] | None
# fold(op, x, axis, keepdims), which returns None for what it has not.
Fold = Callable[[str, Block, Axis, bool], "Block | None"]

# The order of kernels/cuda/floats/fold.cu.
OPERATIONS = ("sum", "max", "min", "any", "all")

_ON_HOST: Any = (np.ndarray, np.generic)
_on_device: list[Fold] = []


def use_on_device(fold: Fold) -> None:
    """Let a backend fold arrays that are not NumPy's."""
    _on_device[:] = [fold]


def fold(op: str, x: Block, axis: Axis = None, *, keepdims: bool = False) -> Block:
    """Return ``getattr(x, op)(axis=axis, keepdims=keepdims)``, in an unspecified order of sums.

    Of a NaN an extreme is NaN. Sums of bool are int64, tests bool.
    """
    if isinstance(x, _ON_HOST):
        return getattr(x, op)(axis=axis, keepdims=keepdims)
    for call in _on_device:
        found = call(op, x, axis, keepdims)
        if found is not None:
            return found
    return getattr(x, op)(axis=axis, keepdims=keepdims)


def is_all(x: Block, axis: Axis = None) -> Block:
    """Return True if all entries are true, or not zero."""
    return x.all(axis=axis) if isinstance(x, _ON_HOST) else fold("all", x, axis)


def is_any(x: Block, axis: Axis = None) -> Block:
    """Return True if any entry is true, or not zero."""
    return x.any(axis=axis) if isinstance(x, _ON_HOST) else fold("any", x, axis)


def total(x: Block, axis: Axis = None, *, keepdims: bool = False) -> Block:
    """Return the sum of the entries."""
    if isinstance(x, _ON_HOST):
        return x.sum(axis=axis, keepdims=keepdims)
    return fold("sum", x, axis, keepdims=keepdims)


def axes_of(ndim: int, axis: Axis) -> set[int]:
    """Return the axes that are folded, counted from 0."""
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return {i % ndim for i in axes}
