"""Kernel backends: the calls of `protocol.py` on the CPU and on NVIDIA GPUs."""

from __future__ import annotations

import numpy as np

from mdqr._backend.host.backend import backend as host_backend
from mdqr._backend.protocol import Backend
from mdqr._limbs.device import cupy_of
from mdqr._limbs.planes import Block


def for_block(block: Block) -> Backend:
    """Return the backend of the memory in which `block` lives; raises as `cupy_of`."""
    if isinstance(block, np.ndarray):
        return host_backend()
    cupy_of(block)
    from mdqr._backend.cuda.backend import backend as cuda_backend

    return cuda_backend()
