"""Sums of solutions and corrections in the units of their data: elementwise/rounded.cu."""

from __future__ import annotations

from mdqr._backend.blocks import Shape, batched
from mdqr._backend.cuda.products.operands import NO_VIEW
from mdqr._backend.cuda.runtime.kernels import (
    KernelCalls,
    Kernels,
    Module,
    divided,
    fields,
    matrix_view,
)
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._backend.protocol import RoundedSum
from mdqr._limbs.planes import Block, Kind, value_shape

_THREADS = 256


class RoundedSums(KernelCalls):
    """Sums of two blocks times powers of two, with bounds of their errors."""

    def rounded_sum(
        self,
        x: Block,
        low: Block | None,
        error: Block,
        powers: tuple[Block, Block],
        *,
        kind: Kind,
        unit: int,
        most: int,
    ) -> RoundedSum:
        """Add, round and bound in one pass."""
        xp, field = self.xp, kind.is_complex
        *batch, n, k = value_shape(x, field)
        shape = (*batch, n, k)
        out, kept = kind.empty(xp, shape), xp.ones(tuple(batch), dtype=bool)
        found = RoundedSum(out, xp.empty(shape), xp.empty(shape), kept)
        if not out.size:
            return found
        rows, columns = (
            xp.ascontiguousarray(xp.broadcast_to(each, (*batch, length)))
            for each, length in zip(powers, (n, k), strict=True)
        )
        error = xp.broadcast_to(error, shape)[None]
        given = [x, error] if low is None else [x, error, low]

        def launch(kernels: Kernels) -> None:
            views = [
                _view(kernels, block, tuple(batch), is_complex)
                for block, is_complex in ((x, field), (low, field), (error, False), (out, field))
            ]
            kernels.launch(
                Module("elementwise/rounded", kind), "mdqr_rounded",
                fields(
                    found.bound.size, n, k, *views[:3], kernels.address(rows),
                    kernels.address(columns), unit, most, views[3], kernels.address(found.bound),
                    kernels.address(found.relative), kernels.address(kept),
                ),
                grid=(divided(found.bound.size, _THREADS),), threads=_THREADS,
            )  # fmt: skip

        flags = ("rounded_sum", kind, low is None, unit, most)
        planned(self.kernels, flags, [*given, rows, columns, *found], launch)
        return found


def _view(kernels: Kernels, x: Block | None, batch: Shape, is_complex: bool) -> list[int]:
    if x is None:
        return NO_VIEW
    return matrix_view(kernels, batched(x, batch, 2, is_complex), is_complex)
