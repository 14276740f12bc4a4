"""Devices that take turns in one piece of work of one thread.

Work of a place is begun in its context; each GPU does it in its own order, and waits for another
only where it takes a block from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

import numpy as np

from mdqr._backend.host.backend import backend as host_backend
from mdqr._backend.protocol import Backend
from mdqr._limbs.device import check_device, device_of, host_block
from mdqr._limbs.planes import Block


class Place(Protocol):
    """A device, and an order of its work."""

    @property
    def backend(self) -> Backend:
        """The backend, which works on the current device."""
        ...

    def here(self) -> AbstractContextManager[object]:
        """Return a context in which work belongs to this place."""
        ...

    def take(self, block: Block, home: Place) -> Block:
        """Return a block of another place on this one, a copy unless they are the same."""
        ...

    def finish(self) -> None:
        """Let later work here wait for those who take blocks of this place."""
        ...


class Here:
    """The current device and its current order of work, or the host."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def here(self) -> AbstractContextManager[object]:
        """Return a context that does nothing."""
        return nullcontext()

    def take(self, block: Block, home: Place) -> Block:
        """Return the block, on the host in its memory."""
        if self.backend.xp is np and not isinstance(block, np.ndarray):
            with home.here():
                return host_block(block)
        return block

    def finish(self) -> None:
        """Do nothing: blocks of the host are taken as they are."""


@contextmanager
def finished(*places: Place) -> Iterator[None]:
    """Finish places in the end, also where work on them fails."""
    try:
        yield
    finally:
        for place in places:
            place.finish()


def places_of(devices: Sequence[str]) -> list[Place]:
    """Return the places of devices by name, all GPUs or all "cpu"; the host has as many as asked.

    Raises as `check_device`.
    """
    numbers = [check_device(name) for name in devices]
    gpus = [number for number in numbers if number is not None]
    if not gpus:
        return [Here(host_backend()) for _ in devices]
    from mdqr._backend.cuda.runtime.places import on_gpu

    return [on_gpu(number) for number in gpus]


def place_of(block: Block) -> Place:
    """Return the place of the current work on the device of a block."""
    if isinstance(block, np.ndarray):
        return Here(host_backend())
    from mdqr._backend.cuda.runtime.places import current

    number = check_device(device_of(block))
    assert number is not None
    return current(number)
