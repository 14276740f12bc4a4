"""Kernel backends: the calls of `protocol.py` on the CPU and on NVIDIA GPUs."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np

from mdqr._backend.host.backend import backend as host_backend
from mdqr._backend.path_calls import CellFinder, PathFollower, PathSystem
from mdqr._backend.protocol import Backend
from mdqr._limbs.device import check_device, cupy_of
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


def path_follower(
    device: str | None, system: PathSystem, count: int
) -> AbstractContextManager[PathFollower]:
    """Return a context in which a backend follows so many paths.

    On a GPU where this is worth while, else on the CPU; raises as `require_nearest`.
    """
    require_nearest()
    number = check_device(device)
    if number is None:
        return nullcontext(host_backend())
    return _on_gpu(number, system, count)


def expect_paths(device: str | None, system: PathSystem, count: int, limbs: Iterable[int]) -> None:
    """Start to compile what follows paths of systems of this shape, where a GPU will."""
    with path_follower(device, system, count) as follower:
        follower.expect_paths(system, limbs)


@contextmanager
def _on_gpu(number: int, system: PathSystem, count: int) -> Iterator[PathFollower]:
    from mdqr._backend.cuda.backend import backend as cuda_backend

    with importlib.import_module("cupy").cuda.Device(number):
        found = cuda_backend()
        yield found if found.follows_paths(system, count) else host_backend()


def cell_finder() -> CellFinder:
    """Return the backend that finds mixed cells: the CPU; raises as `require_nearest`."""
    require_nearest()
    return host_backend()
