"""Work of one layout as a CUDA graph, one launch for the host.

A host takes 15 to 25 microseconds to start a kernel or a product that keeps a device for 5. Work
that comes again and again is recorded once, over memory of its own; from then on its operand is
copied there, the graph launched, and the results are copied back. Nothing in a recording may
depend on values, and no array of it is seen by anyone else.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from mdqr._backend.cuda.vendor.cublas import Cublas
from mdqr._backend.cuda.vendor.recording import recording_cublas
from mdqr._limbs.planes import Block

# Gets the operand, which it may overwrite, and cuBLAS; returns arrays.
Work = Callable[[Block, Cublas], list[Block]]

# Work that comes for the third time is recorded: that takes as long as doing it a few times.
_PATIENCE = 2
# Bytes that all recordings may hold, and layouts that are counted.
_MOST_BYTES = 2**28
_MOST_COUNTS = 4096
_PER_THREAD = 2  # cudaStreamPerThread


@dataclass
class _Recording:
    given: Block
    results: list[Block]
    graph: Any
    pool: Any  # of all memory
    kept: tuple[Cublas, Any]  # and the stream, so that no other one gets its address


class Graphs:
    """Recordings by device, stream and layout; threads take turns.

    Parameters
    ----------
    xp : module
        CuPy.
    """

    def __init__(self, xp: ModuleType) -> None:
        self._xp = xp
        self._lock = threading.Lock()
        self._counts: dict[Hashable, int] = {}
        self._recordings: OrderedDict[Hashable, _Recording] = OrderedDict()

    def run(self, key: Hashable, x: Block, work: Work) -> list[Block] | None:
        """Return new arrays with what ``work(x, cublas)`` returns; None if it is not recorded.

        That is where it comes too rarely, or there is no memory for a recording.

        Parameters
        ----------
        key : hashable
            All that `work` depends on besides the shape and the type of `x`.
        x : Block
            The operand, which stays as it is.
        work : callable
            Asynchronous work on the current stream.
        """
        cuda = self._xp.cuda
        stream = cuda.get_current_stream()
        # The default stream of each thread has the same address in all of them.
        own = threading.get_ident() if stream.ptr == _PER_THREAD else None
        place = (cuda.runtime.getDevice(), stream.ptr, own, key, x.shape, x.dtype.char)
        # The memory of a recording is its own from the first copy to the last.
        with self._lock:
            found = self._recordings.get(place)
            if found is None:
                if not self._comes_again(place):
                    return None
                try:
                    found = self._recordings[place] = self._recorded(x, work, stream)
                except MemoryError:
                    # What CuPy's pool holds is no use to others; the work itself may have it.
                    del self._counts[place]
                    return None
                self._forget()
            self._recordings.move_to_end(place)
            found.given[...] = x
            found.graph.launch(stream)
            return [result.copy() for result in found.results]

    def _comes_again(self, place: Hashable) -> bool:
        if len(self._counts) >= _MOST_COUNTS:
            self._counts.clear()
        self._counts[place] = self._counts.get(place, 0) + 1
        return self._counts[place] > _PATIENCE

    def _recorded(self, x: Block, work: Work, user: Any) -> _Recording:
        cuda = self._xp.cuda
        pool, stream = cuda.MemoryPool(), cuda.Stream(non_blocking=True)
        with cuda.using_allocator(pool.malloc), stream:
            given = self._xp.zeros(x.shape, dtype=x.dtype)
            cublas = recording_cublas(self._xp, stream)
            # Compiles kernels, and fills the pool: memory for a recording is better there.
            work(given, cublas)
            stream.synchronize()
            stream.begin_capture()
            try:
                results = work(given, cublas)
            finally:
                graph = stream.end_capture()
            graph.upload(stream)
            stream.synchronize()
        return _Recording(given, results, graph, pool, (cublas, user))

    def _forget(self) -> None:
        """Drop the recordings that were used the longest ago, if all take too much memory."""
        held = sum(recording.pool.total_bytes() for recording in self._recordings.values())
        while held > _MOST_BYTES and len(self._recordings) > 1:
            _, oldest = self._recordings.popitem(last=False)
            held -= oldest.pool.total_bytes()
