"""Numbers of nonzero limbs of arrays: kernels/cuda/elementwise/held.cu, any limb count."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from mdqr._backend.cuda.axes import MAX_AXES, merge, padded, steps
from mdqr._backend.cuda.runtime.kernels import KernelCalls, Kernels, Module, divided, fields, planes
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._limbs.planes import Block, Kind, lead, value_shape

_MODULE = Module("elementwise/held", Kind(1, False))
# Threads, and values of each, in kernels/cuda/elementwise/held.cu.
_THREADS, _VALUES = 256, 8


class HeldLimbs(KernelCalls):
    """The search for limbs that are zero in all values."""

    def held_limbs(self, blocks: Sequence[Block], are_complex: Sequence[bool]) -> Block:
        """Return the number of leading limbs that hold all there is, of each block."""
        held = self.xp.zeros(len(blocks), dtype=np.int64)

        def launch(kernels: Kernels) -> None:
            for i, (block, is_complex) in enumerate(zip(blocks, are_complex, strict=True)):
                _start(kernels, block, is_complex, kernels.address(held) + held.itemsize * i)

        planned(self.kernels, ("held_limbs", *are_complex), [*blocks, held], launch)
        return held


def _start(kernels: Kernels, block: Block, is_complex: bool, held: int) -> None:
    shape = value_shape(block, is_complex)
    size = prod(shape)
    if size == 0:
        return
    strides = steps(block, lead(is_complex), shape)
    lengths, merged = merge(shape, [strides])
    if len(lengths) > MAX_AXES:
        _start(kernels, kernels.xp.ascontiguousarray(block), is_complex, held)
        return
    arguments = fields(
        size, len(lengths), padded(lengths, 1), planes(kernels, block, is_complex),
        padded([step for (step,) in merged], 0), held,
    )  # fmt: skip
    grid = (divided(size, _THREADS * _VALUES),)
    kernels.launch(_MODULE, "mdqr_held", arguments, grid=grid, threads=_THREADS)
