"""Work over blocks that is recorded where it comes again; see `Backend.recorded`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

from mdqr._backend.cuda.runtime.kernels import CupyKernels, KernelCalls
from mdqr._backend.cuda.vendor.cublas import Cublas
from mdqr._limbs.planes import Block

# Doubles of all operands: beyond, devices take longer than hosts.
_MOST_RECORDED = 2**25


class Recorded(KernelCalls):
    """Work that one launch repeats."""

    def recorded(
        self, key: Hashable, operands: Sequence[Block], work: Callable[..., list[Block]]
    ) -> list[Block]:
        """Return ``work(self, *operands)``, by a recording if it comes often."""
        graphs, found = self.kernels.graphs, None
        if graphs is not None and sum(x.size for x in operands) <= _MOST_RECORDED:
            found = graphs.run_all(key, operands, self._on_stream(work))
        return work(self, *operands) if found is None else found

    def _on_stream(
        self, work: Callable[..., list[Block]]
    ) -> Callable[[list[Block], Cublas], list[Block]]:
        """Return work with its calls on the stream of a recording."""

        def run(operands: list[Block], library: Cublas) -> list[Block]:
            kernels: Any = cast(CupyKernels, self.kernels).calling(library)
            return work(type(self)(kernels), *operands)

        return run
