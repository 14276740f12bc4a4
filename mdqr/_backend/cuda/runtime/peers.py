"""Work on another GPU than the one whose memory has the operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from mdqr._backend.cuda.runtime.kernels import KernelCalls
from mdqr._limbs.planes import Block


class Peer:
    """Another GPU, which takes copies and works on them, see `mdqr._backend.exact.Peer`.

    It works on a stream of its own: copies between devices on default streams wait for all work of
    both.

    Parameters
    ----------
    calls : KernelCalls
        What works there, too.
    number : int
        The GPU.
    """

    def __init__(self, calls: KernelCalls, number: int) -> None:
        self._calls, self._number = calls, number
        self._taken: list[Block] = []
        self._asked: list[tuple[Block, Block]] = []

    def take(self, block: Block) -> Block:
        """Return a copy there, after what the current stream here has to do."""
        xp = self._calls.xp
        if not _is_transposed(block):
            block = xp.ascontiguousarray(block)
        # Its memory is not given away before `finish`.
        self._taken.append(block)
        ready = xp.cuda.get_current_stream().record()
        with xp.cuda.Device(self._number), stream_of(xp, self._number) as stream:
            stream.wait_event(ready)
            return _copy(xp, block, stream)

    def start(
        self, call: Callable[..., None], operands: Sequence[Block | None], out: Block
    ) -> None:
        """Start ``call(calls, *operands, result)`` there; `finish` sets `out`."""
        xp = self._calls.xp
        # Rows of an array without gaps have none in each plane, and get what is copied.
        planes = list(np.ndindex(*out.shape[:-2]))
        is_dense = all(out[plane].flags.c_contiguous for plane in planes)
        found = out if is_dense else xp.empty(out.shape)
        self._asked.append((out, found))
        given = [x if x is None or x.device.id == self._number else self.take(x) for x in operands]
        ready = xp.cuda.get_current_stream().record()
        with xp.cuda.Device(self._number), stream_of(xp, self._number) as stream:
            stream.wait_event(ready)
            result = xp.empty(out.shape)
            call(self._calls, *given, result)
            for plane in planes:
                x, to = result[plane], found[plane]
                to.data.copy_from_device_async(x.data, x.nbytes, stream)

    def finish(self) -> None:
        """Let the current stream here wait for all that was asked for, also where a call failed."""
        xp = self._calls.xp
        with xp.cuda.Device(self._number), stream_of(xp, self._number) as stream:
            done = stream.record()
        xp.cuda.get_current_stream().wait_event(done)
        for out, found in self._asked:
            if found is not out:
                out[...] = found
        self._asked.clear()
        self._taken.clear()


@cache
def stream_of(xp: ModuleType, number: int) -> Any:
    """Return a stream of that GPU, which is the current one."""
    return xp.cuda.Stream(non_blocking=True)


def _is_transposed(x: Block) -> bool:
    return x.ndim > 1 and bool(x.swapaxes(-1, -2).flags.c_contiguous)


def _copy(xp: ModuleType, x: Block, stream: Any) -> Block:
    """Return a copy on the current device of an array of another one, without gaps."""
    # An array of one row or column is both.
    if not x.flags.c_contiguous:
        return _copy(xp, x.swapaxes(-1, -2), stream).swapaxes(-1, -2)
    copy = xp.empty(x.shape, dtype=x.dtype)
    copy.data.copy_from_device_async(x.data, x.nbytes, stream)
    return copy
