"""Work of one layout as a CUDA graph, one launch for the host.

A host takes 15 to 25 microseconds to start a kernel or a product that keeps a device for 5. Work
that comes again and again is recorded once, over memory that nothing else uses; from then on its
operands are copied there, the graph launched, and the results copied back. Nothing in a recording
may depend on values, and no array of it is seen by anyone else.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from mdqr._backend.cuda.vendor.cublas import Cublas
from mdqr._backend.cuda.vendor.recording import recording_cublas
from mdqr._limbs.planes import Block

# Get the operands, which they may overwrite, and cuBLAS; return arrays.
Work = Callable[[Block, Cublas], list[Block]]
WorkOnAll = Callable[[list[Block], Cublas], list[Block]]

# Work that comes for the third time is recorded: that takes as long as doing it a few times.
_PATIENCE = 2
# Bytes that all recordings may hold unless more is said, and layouts that are counted.
_MOST_BYTES = 2**28
_MOST_COUNTS = 4096
# Operands may have this part of those bytes: a recording takes several times as many.
_SHARE = 16
_PER_THREAD = 2  # cudaStreamPerThread


@dataclass
class _Recording:
    operands: list[Block]
    results: list[Block]
    graph: Any
    pool: Any  # of all memory
    kept: tuple[Cublas, Any]  # and the stream, so that no other one gets its address


class Graphs:
    """Recordings by device, stream and layout; one thread at a time.

    Parameters
    ----------
    xp : module
        CuPy.
    most : callable, optional
        Returns the bytes that recordings may hold.
    """

    def __init__(self, xp: ModuleType, most: Callable[[], int] = lambda: _MOST_BYTES) -> None:
        self._xp, self._most = xp, most
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
        return self.run_all(key, [x], lambda operands, cublas: work(operands[0], cublas))

    def run_all(
        self, key: Hashable, operands: Sequence[Block], work: WorkOnAll
    ) -> list[Block] | None:
        """Return the result of `run`, of work with several operands."""
        if _SHARE * sum(x.nbytes for x in operands) > self._most():
            return None
        cuda = self._xp.cuda
        stream = cuda.get_current_stream()
        # The default stream of each thread has the same address in all of them.
        thread = threading.get_ident() if stream.ptr == _PER_THREAD else None
        layout = tuple((x.shape, x.dtype.char) for x in operands)
        place = (cuda.runtime.getDevice(), stream.ptr, thread, key, layout)
        # Nobody else uses the memory of a recording from the first copy to the last.
        with self._lock:
            found = self._recordings.get(place)
            if found is None:
                if not self._comes_again(place):
                    return None
                try:
                    found = self._recordings[place] = self._recorded(operands, work, stream)
                except MemoryError:
                    # What CuPy's pool holds is no use to others; the work itself may have it.
                    del self._counts[place]
                    return None
                self._forget()
            self._recordings.move_to_end(place)
            for held, x in zip(found.operands, operands, strict=True):
                held[...] = x
            found.graph.launch(stream)
            return [result.copy() for result in found.results]

    def _comes_again(self, place: Hashable) -> bool:
        if len(self._counts) >= _MOST_COUNTS:
            self._counts.clear()
        self._counts[place] = self._counts.get(place, 0) + 1
        return self._counts[place] > _PATIENCE

    def _recorded(self, given: Sequence[Block], work: WorkOnAll, user: Any) -> _Recording:
        cuda = self._xp.cuda
        pool, stream = cuda.MemoryPool(), cuda.Stream(non_blocking=True)
        with cuda.using_allocator(pool.malloc), stream:
            operands = [self._xp.zeros(x.shape, dtype=x.dtype) for x in given]
            cublas = recording_cublas(self._xp, stream)
            # Compiles kernels, and fills the pool: memory for a recording is better there.
            work(operands, cublas)
            stream.synchronize()
            stream.begin_capture()
            try:
                results = work(operands, cublas)
            finally:
                graph = stream.end_capture()
            graph.upload(stream)
            stream.synchronize()
        return _Recording(operands, results, graph, pool, (cublas, user))

    def _forget(self) -> None:
        """Drop the recordings that were used the longest ago, if all take too much memory."""
        held = sum(recording.pool.total_bytes() for recording in self._recordings.values())
        while held > self._most() and len(self._recordings) > 1:
            place, oldest = self._recordings.popitem(last=False)
            held -= oldest.pool.total_bytes()
            # It has to come often again: recordings that displace each other gain nothing.
            self._counts.pop(place, None)
