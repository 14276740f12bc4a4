"""Kernel backends: the calls of `protocol.py` on the CPU and on NVIDIA GPUs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mdqr._backend.protocol import Backend, Block


def for_block(block: Block) -> Backend:
    """Return the backend of the memory in which `block` lives.

    Raises
    ------
    ValueError
        If `block` lives on another GPU than the current one.
    TypeError
        If `block` is no array of NumPy or CuPy.
    """
    if isinstance(block, np.ndarray):
        from mdqr._backend.host import backend as host

        return host.backend()
    cupy = sys.modules.get("cupy")
    if cupy is None or not isinstance(block, cupy.ndarray):
        raise TypeError(f"blocks are NumPy or CuPy arrays; got {type(block).__name__}")
    current = cupy.cuda.runtime.getDevice()
    if block.device.id != current:
        raise ValueError(
            f"the array lives on cuda:{block.device.id}, but the current device is "
            f"cuda:{current}; work inside `with cupy.cuda.Device({block.device.id}):`, "
            f'or move it with a.to_device("cuda:{current}")'
        )
    from mdqr._backend.cuda import backend

    return backend.backend()
