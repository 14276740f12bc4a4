"""Q times a few columns on a GPU, all tiles by one launch: kernels/cuda/reflect/reflect.cu."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mdqr._backend.blocks import batched, reflections
from mdqr._backend.cuda.products.products import Products
from mdqr._backend.cuda.runtime.device import MOST_TOGETHER
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, fields, matrix_view
from mdqr._backend.protocol import Reflectors
from mdqr._limbs.planes import Block, Kind, value_shape

# `most_tiles`, `most_width`, `reflect_threads` and `warps_of_block` of the kernel.
_MOST_TILES = 64
_MOST_WIDTH = 64
_THREADS = 256
_WARPS = 8

# From so many columns of all matrices together on, products tile by tile are faster.
_MOST_JOBS = 8
# Rows of x that a member of a job has at least.
_LEAST_ROWS = 8
# Matrices of a batch that are handed to cuSOLVER one by one.
_FEW_MATRICES = 8


def serves(vs: Sequence[Block], x: Block, is_complex: bool) -> bool:
    """Return whether `reflect_all` takes these tiles and columns, and is the faster way."""
    *batch, _, columns = value_shape(x, is_complex)
    return (
        x.flags.c_contiguous
        and 0 < prod(batch) * columns <= _MOST_JOBS
        and len(vs) > 0
        and all(v.shape[-1] == vs[0].shape[-1] <= _MOST_WIDTH for v in vs[:-1])
        and vs[-1].shape[-1] <= vs[0].shape[-1] <= _MOST_WIDTH
        and list(value_shape(vs[0], is_complex)[:-2]) == batch
    )


def _reflect_few(
    kernels: Kernels,
    vs: Sequence[Block],
    ts: Sequence[Block],
    x: Block,
    kind: Kind,
    adjoint: bool,
) -> None:
    """Apply the reflectors for which `serves` is true, of more than one limb."""
    limbs, is_complex = kind
    *batch, rows, columns = value_shape(x, is_complex)
    items, width = prod(batch), vs[0].shape[-1]
    jobs = items * columns
    members = max(1, min(MOST_TOGETHER // jobs, rows // _LEAST_ROWS))
    blocks = max(1, min(members, kernels.device.together // jobs))
    numbers = (2 if is_complex else 1) * limbs * width
    _parts, parts = kernels.scratch(jobs * 2 * members * numbers)
    doubles = max(numbers * (_WARPS + 1), _THREADS)
    work = kernels.workspace(jobs * blocks, 8 * doubles, in_turn=False)
    view = matrix_view(kernels, batched(x, tuple(batch), 2, is_complex), is_complex)
    reflectors = sum(v.shape[-1] for v in vs)
    order = slice(None, None, 1 if adjoint else -1)
    addresses = [[kernels.address(block) for block in blocks_] for blocks_ in (vs, ts)]
    for done in range(0, len(vs), _MOST_TILES):
        some = [one[order][done : done + _MOST_TILES] for one in addresses]
        count = len(some[0])
        padding = [0] * (_MOST_TILES - count)
        _counters, counters = kernels.scratch(jobs, zero=True)
        kernels.launch(
            Module("reflect/reflect", kind, work.defines),
            "mdqr_reflect",
            fields(
                view,
                [rows, columns, items, members, blocks, width, reflectors, int(adjoint)],
                [len(vs), done, count, parts, counters],
                work.fields,
                *(one + padding for one in some),
            ),
            grid=(jobs * blocks,),
            threads=_THREADS,
            shared=work.shared,
            cooperative=blocks > 1,
        )


class Reflections(Products):
    """Q times matrices."""

    def reflectors(self, raw: Block, tau: Block) -> Reflectors | None:
        """Return Q by cuSOLVER, matrix by matrix."""
        few = prod(raw.shape[:-2]) <= _FEW_MATRICES
        return self.kernels.reflectors(raw, tau) if few else None

    def reflect_all(
        self,
        vs: Sequence[Block],
        ts: Sequence[Block],
        x: Block,
        *,
        kind: Kind,
        adjoint: bool,
    ) -> None:
        """Replace `x` by ``Q x`` or ``Q^H x``: a few columns by one launch, many tile by tile."""
        if kind.limbs > 1 and serves(vs, x, kind.is_complex):
            _reflect_few(self.kernels, vs, ts, x, kind, adjoint)
            return
        for v, t in reflections(vs, ts, adjoint=adjoint):
            rows = x[..., x.shape[-2] - v.shape[-2] :, :]
            self.reflect(v, t, rows, kind=kind, adjoint=adjoint)
