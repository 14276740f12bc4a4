"""Kernel backends: the calls of `protocol.py` on the CPU and on NVIDIA GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mdqr._backend.protocol import Backend, Block


def for_block(block: Block) -> Backend:
    """Return the backend of the memory in which `block` lives."""
    if isinstance(block, np.ndarray):
        from mdqr._backend.host import backend

        return backend()
    raise TypeError(f"blocks are NumPy arrays; got {type(block).__name__}")
