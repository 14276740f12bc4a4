"""Substitution in triangles: kernels/cuda/triangular/triangular.cu and tile.cu.

Three shapes of work, told apart by a static rule:

- Triangles of order up to `small_order` (64, or 32 where a value has more than four planes): a
  block of threads serves one matrix and divides its rows once, a warp one right-hand side at a
  time. Batches of thousands of small systems and tiles with many right-hand sides.
- Larger triangles: one cooperative launch for the whole substitution. Each right-hand side of each
  matrix is a job, for which as many blocks work together as the device runs at once.
- Where that is one block a job, from 49 jobs on at the latest, the launch need not be cooperative.

Large triangles with many right-hand sides are cheaper by tiles and products: `triangular_tile`.
"""

from __future__ import annotations

from math import prod

from mdqr._backend.blocks import batched, matrix_shape
from mdqr._backend.cuda.floats.triangles import invert
from mdqr._backend.cuda.runtime.kernels import (
    KernelCalls,
    Kernels,
    Module,
    divided,
    fields,
    matrix_view,
)
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._limbs.planes import Block, Kind

_ROWS = 32  # of a tile: the lanes of a warp
_WARPS = 8  # of a block at most
_THREADS = 256  # of a block for large orders
_MOST_BLOCKS = 2**20
_FEW_COLUMNS = 8
_COLUMN_LIMBS = 128
_MODERATE_ORDER = 2048
# Below this order, and above so many limbs, products need a guard bin
# (kernels/cuda/triangular/math.hpp).
_GUARDED_ORDER = 64
_UNGUARDED_LIMBS = 4


def small_order(kind: Kind) -> int:
    """Return the largest order whose divided rows fit in the shared memory of a large device."""
    return 2 * _ROWS if _number_planes(kind) <= 4 else _ROWS


def _number_planes(kind: Kind) -> int:
    limbs, is_complex = kind
    return 2 * limbs if is_complex else limbs


def _from_the_first_row(view: list[int], order: int, lower: bool, square: bool) -> list[int]:
    """Return the view whose row 0 is solved first: upper triangles are lower ones from the end."""
    if lower:
        return view
    address, plane, imag, held, item, row, column = view
    address += 8 * (order - 1) * (row + (column if square else 0))
    return [address, plane, imag, held, item, -row, -column if square else column]


def _solve_small(
    kernels: Kernels,
    views: list[list[int]],
    flags: list[int],
    kind: Kind,
    items: int,
) -> None:
    order, columns, unit = flags
    warps = min(columns, _WARPS)
    blocks = min(divided(columns, warps), max(1, _MOST_BLOCKS // items))
    parts, rows = (3, _ROWS) if order > _ROWS else (1, order)
    doubles = _number_planes(kind) * (parts * rows * rows + order) + warps
    work = kernels.workspace(items * blocks, 8 * doubles)
    kernels.launch(
        Module("triangular/tile", kind, work.defines),
        "mdqr_solve_triangular_tile",
        fields(*views, order, columns, unit, blocks, work.fields),
        grid=(work.blocks,),
        threads=32 * warps,
        shared=work.shared,
    )


def _solve_large(
    kernels: Kernels,
    views: list[list[int]],
    flags: list[int],
    kind: Kind,
    items: int,
) -> None:
    limbs = kind.limbs
    order, columns, unit = flags
    jobs = items * columns
    blocks = max(1, min(divided(order, _ROWS), kernels.device.together // jobs))
    doubles = _number_planes(kind) * _ROWS * (_ROWS + 2) + _ROWS
    work = kernels.workspace(blocks * min(jobs, _MOST_BLOCKS), 8 * doubles, in_turn=blocks == 1)
    groups = work.blocks // blocks
    _state, address = kernels.scratch(groups + jobs, zero=True)
    needs_guard = order < _GUARDED_ORDER and limbs > _UNGUARDED_LIMBS
    guard = ("MDQR_GUARDED",) if needs_guard else ()
    kernels.launch(
        Module("triangular/triangular", kind, guard + work.defines),
        "mdqr_solve_triangular",
        fields(*views, order, columns, jobs, unit, blocks, address, work.fields),
        grid=(groups * blocks,),
        threads=_THREADS,
        shared=work.shared,
        cooperative=blocks > 1,
    )


class Triangles(KernelCalls):
    """Systems with triangles."""

    def triangular_tile(self, order: int, columns: int, *, kind: Kind) -> int:
        """Return the order of the tiles of a triangle.

        The whole order for few right-hand sides: one launch, whose blocks wait for each other on
        the device. Otherwise `small_order`: the rest of the work is products.
        """
        limbs = kind.limbs
        few = columns <= _FEW_COLUMNS
        if few or (columns * limbs <= _COLUMN_LIMBS and order <= _MODERATE_ORDER):
            return max(order, 1)
        return small_order(kind)

    def solve_triangular_tile(
        self,
        a: Block,
        b: Block,
        *,
        kind: Kind,
        lower: bool,
        unit_diagonal: bool,
    ) -> Block:
        """Solve for triangles of any order by substitution.

        ``abs(b - a x) <= (w + 16) eps abs(a) abs(x)`` in every entry, twice that for complex
        values.
        """
        is_complex = kind.is_complex
        batch, order, columns = matrix_shape([a, b], is_complex)
        out = kind.empty(self.xp, (*batch, order, columns))
        if not out.size:
            return out
        flags = ("solve_triangular_tile", kind, lower, unit_diagonal)

        def launch(kernels: Kernels) -> None:
            # Transposes and other views hold their strides; reshaping may copy a broadcast batch.
            blocks = [batched(block, batch, 2, is_complex) for block in (out, a, b)]
            views = [
                _from_the_first_row(matrix_view(kernels, block, is_complex), order, lower, square)
                for block, square in zip(blocks, (False, True, False), strict=True)
            ]
            sizes = [order, columns, int(unit_diagonal)]
            solve = _solve_small if order <= small_order(kind) else _solve_large
            solve(kernels, views, sizes, kind, prod(batch))

        planned(self.kernels, flags, [out, a, b], launch)
        return out

    def invert_triangle(self, r: Block) -> Block:
        """Return the inverse of an upper triangle."""
        return invert(self.kernels, [r])[0]
