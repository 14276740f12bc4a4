"""GPUs as places; see `mdqr._backend.places`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from mdqr._backend.cuda.runtime.peers import stream_of
from mdqr._backend.places import Place
from mdqr._backend.protocol import Backend
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block

# Blocks that others take stay as they are until so many more were taken: by then nobody waits.
_KEPT = 6


class OnGPU:
    """A GPU with a stream."""

    def __init__(self, backend: Backend, number: int, stream: Any) -> None:
        self.backend, self._number, self._stream = backend, number, stream
        self._kept: deque[tuple[Block, Any]] = deque()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Make the device and the stream the current ones."""
        with self.backend.xp.cuda.Device(self._number), self._stream:
            yield

    def take(self, block: Block, home: Place) -> Block:
        """Return a copy of a block of the host or of another GPU."""
        xp = self.backend.xp
        if not isinstance(home, OnGPU):
            with self.here():
                return xp.asarray(np.ascontiguousarray(host_block(block)))
        if home is self:
            return block
        with home.here():
            block = xp.ascontiguousarray(block)
            ready = home._stream.record()
        with self.here():
            self._stream.wait_event(ready)
            copy = xp.empty(block.shape, dtype=block.dtype)
            copy.data.copy_from_device_async(block.data, block.nbytes, self._stream)
            home._keep(block, self._stream.record())
        return copy

    def finish(self) -> None:
        """Let later work here wait for all who take blocks: their memory may be given away."""
        self._let_go(0)

    def _keep(self, block: Block, done: Any) -> None:
        """Keep memory from being given away before it is read."""
        self._kept.append((block, done))
        self._let_go(_KEPT)

    def _let_go(self, count: int) -> None:
        while len(self._kept) > count:
            oldest, event = self._kept.popleft()
            with self.here():
                self._stream.wait_event(event)
            del oldest


def on_gpu(number: int) -> OnGPU:
    """Return a GPU with a stream of its own, the same each time."""
    backend = _backend()
    with backend.xp.cuda.Device(number):
        return OnGPU(backend, number, stream_of(backend.xp, number))


def current(number: int) -> OnGPU:
    """Return a GPU with its current stream."""
    backend = _backend()
    with backend.xp.cuda.Device(number):
        return OnGPU(backend, number, backend.xp.cuda.get_current_stream())


def _backend() -> Backend:
    found: Backend = import_module("mdqr._backend.cuda.backend").backend()
    return found
