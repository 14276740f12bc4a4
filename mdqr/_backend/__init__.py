"""Kernel backends: the calls of `protocol.py` on the CPU and on NVIDIA GPUs."""

from __future__ import annotations

import numpy as np

from mdqr._backend.host.backend import backend as host_backend
from mdqr._backend.protocol import Backend, PathFollower
from mdqr._limbs.device import cupy_of
from mdqr._limbs.planes import Block
from mdqr._limbs.rounding_mode import require_nearest


def for_block(block: Block) -> Backend:
    """Return the backend of the memory in which `block` lives.

    Raises as `cupy_of`, and as `require_nearest`: what calls a backend adds doubles itself.
    """
    require_nearest()
    if isinstance(block, np.ndarray):
        return host_backend()
    cupy_of(block)
    from mdqr._backend.cuda.backend import backend as cuda_backend

    return cuda_backend()


def path_follower() -> PathFollower:
    """Return the backend that has the kernels of homotopy paths: the CPU."""
    require_nearest()
    return host_backend()
