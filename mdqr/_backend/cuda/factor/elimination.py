"""Panels of LU and Cholesky factorisations: kernels/cuda/elimination."""

from __future__ import annotations

from mdqr._backend.blocks import matrices
from mdqr._backend.cuda.floats.library import library
from mdqr._backend.cuda.floats.triangles import invert, put_columns, row_order
from mdqr._backend.cuda.runtime.kernels import (
    KernelCalls,
    Kernels,
    Module,
    divided,
    fields,
    matrix_view,
)
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._backend.protocol import FloatFactors
from mdqr._limbs.planes import Block, Kind

_WARP, _MOST_WARPS = 32, 8
_ENTRIES_OF_A_WARP = 64
# Columns behind the tile of a Cholesky panel that a block reduces.
_WIDTH = 64


def _warps(entries: int) -> int:
    return min(_MOST_WARPS, divided(entries, _ENTRIES_OF_A_WARP))


class Eliminations(KernelCalls):
    """Columns of Gaussian elimination, and rows of Cholesky's factorisation."""

    def cholesky_floats(self, a: Block) -> Block:
        """Return the Cholesky factor by cuSOLVER."""
        return library(self.kernels, a.dtype).cholesky(a)

    def lu_floats(self, a: Block) -> FloatFactors:
        """Return L and U by cuSOLVER."""
        packed, swaps = self.kernels.lu_floats(a)
        return FloatFactors(packed, swaps, row_order(self.kernels, swaps))

    def invert_factors(self, packed: Block) -> tuple[Block, Block]:
        """Return the inverses of L and U, both at once."""
        left, right = invert(self.kernels, [packed.T, packed], units=1)
        return left.T, right

    def invert_floats(self, a: Block) -> Block:
        """Return the inverse of a matrix by its LU."""
        packed, _, order = self.lu_floats(a)
        left, right = self.invert_factors(packed)
        return put_columns(self.kernels, self.kernels.multiply(right, left), order)

    def lu_panel(self, a: Block, places: Block, first: int, last: int, *, kind: Kind) -> None:
        """Eliminate in columns from `first` to `last`, a matrix a block of threads."""
        items, rows, columns = a.shape[-3:]
        if not a.size:
            return
        warps = _warps((rows - first) * (last - first))

        def launch(kernels: Kernels) -> None:
            kernels.launch(
                Module("elimination/lu", kind),
                "mdqr_lu_panel",
                fields(
                    matrix_view(kernels, a, kind.is_complex),
                    *(rows, columns, first, last),
                    *(kernels.address(places), places.shape[-1]),
                ),
                grid=(items,),
                threads=_WARP * warps,
                shared=16 * warps,
            )

        planned(self.kernels, ("lu_panel", kind, first, last), [a, places], launch)

    def cholesky_panel(self, a: Block, *, kind: Kind) -> Block:
        """Return the first rows of Cholesky factors, a piece of their columns a block."""
        batch, (a,) = matrices(kind.is_complex, a)
        items, rows, columns = a.shape[-3:]
        out = kind.empty(self.xp, (items, rows, columns))
        pieces = max(1, divided(columns - rows, _WIDTH))

        def launch(kernels: Kernels) -> None:
            kernels.launch(
                Module("elimination/cholesky", kind),
                "mdqr_cholesky_panel",
                fields(
                    *(matrix_view(kernels, x, kind.is_complex) for x in (out, a)),
                    *(rows, columns, _WIDTH, pieces),
                ),
                grid=(items * pieces,),
                threads=_WARP * _warps(rows * min(columns, rows + _WIDTH)),
                shared=8 * kind.limbs * (1 + kind.is_complex) * rows * rows,
            )

        if out.size:
            planned(self.kernels, ("cholesky_panel", kind), [out, a], launch)
        return out.reshape(kind.planes((*batch, rows, columns)))
