"""Random limbs on a GPU, equal to the host's: kernels/cuda/elementwise/draw.cu."""

from __future__ import annotations

from math import prod

import numpy as np

from mdqr._backend.cuda.runtime.kernels import KernelCalls, Module, divided, fields
from mdqr._backend.draws import TAIL, Key, ziggurat
from mdqr._limbs.planes import Block, Kind

# Threads of a block, and values of each, in kernels/cuda/elementwise/draw.cu.
_THREADS, _VALUES = 128, 4


class Draws(KernelCalls):
    """Random limbs."""

    def draw(self, name: str, key: Key, shape: tuple[int, ...], limbs: int) -> Block:
        """Return a real block of what `mdqr._backend.draws` has under `name`."""
        kind = Kind(limbs, False)
        out, count = kind.empty(self.xp, shape), prod(shape)
        if count:
            tables = self.kernels.constant("ziggurat", _tables)
            signed = np.array(key, np.uint64).view(np.int64).tolist()
            self.kernels.launch(
                Module("elementwise/draw", kind),
                f"mdqr_{name}",
                fields(
                    self.kernels.address(out), count, count, signed, self.kernels.address(tables)
                ),
                grid=(divided(count, _THREADS * _VALUES),),
                threads=_THREADS,
            )
        return out


def _tables() -> np.ndarray:
    return np.concatenate([*ziggurat(), [TAIL]])
