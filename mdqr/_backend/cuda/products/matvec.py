"""Products with few columns and residuals, summed along rows: kernels/cuda/products/matvec*.cu."""

from __future__ import annotations

from typing import NamedTuple

from mdqr._backend.cuda.digits import residual_digits, result_digits
from mdqr._backend.cuda.products.operands import Product, Scratch, Todo
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, divided, fields, matrix_view

_THREADS, _WARPS, _LANES = 256, 8, 32
# As in kernels/cuda/products/matvec_finish.cu.
_FINISH_THREADS, _FINISH_LANES = 128, 8
# Layouts: a row for each warp, one row for all, a row for each lane; rows of a pass.
_ROW_A_WARP, _ONE_ROW, _ROW_A_LANE = 0, 1, 2
_ROWS = {_ROW_A_WARP: _WARPS, _ONE_ROW: 1, _ROW_A_LANE: _LANES}
_MOST_PASSES = 4
# Bytes for a part of the vector, and its fewest and most terms.
_STAGE_BYTES, _LEAST_TERMS, _MOST_TERMS = 48 * 1024, 256, 1024
# Below this many terms a lane takes a row.
_FEW_TERMS = 64
# Blocks that fill a large GPU several times.
_BUSY = 1000
# Where stages can follow each other in a block, more splits than these are not made.
_MOST_SPLITS = 64


def _words(limbs: int, is_residual: bool) -> tuple[int, int]:
    """Return the words of a prepared value of the vector and of a sum, for each part."""
    if limbs == 2 and not is_residual:
        return 2, 3
    digits = residual_digits(limbs) if is_residual else result_digits(limbs)
    return digits + 1, digits + 2


class _Tiles(NamedTuple):
    """The division of rows and terms among blocks."""

    layout: int
    stage: int  # terms that a block keeps
    passes: int
    splits: int
    stages: int
    stage_terms: int
    rows: int  # tiles of rows

    @classmethod
    def of(cls, product: Product, value_words: int) -> _Tiles:
        items, m, n, k = product.shape
        rows_apart, terms_apart = (abs(stride) for stride in product.a.strides[-2:])
        if m < _WARPS and k >= _THREADS:
            layout = _ONE_ROW
        elif k < _FEW_TERMS or rows_apart < terms_apart:
            layout = _ROW_A_LANE
        else:
            layout = _ROW_A_WARP
        stage = _MOST_TERMS
        while stage > _LEAST_TERMS and 8 * value_words * stage > _STAGE_BYTES:
            stage //= 2
        terms, passes = stage, _MOST_PASSES if layout == _ROW_A_WARP else 1

        def blocks() -> int:
            return items * n * divided(m, _ROWS[layout] * passes) * divided(k, terms)

        while blocks() < _BUSY and terms > _LEAST_TERMS and layout != _ONE_ROW:
            terms //= 2
        while blocks() < _BUSY and passes > 1:
            passes //= 2
        splits, stages = max(1, divided(k, terms)), 1
        if layout != _ROW_A_WARP:
            stages = divided(splits, _MOST_SPLITS)
            splits = divided(splits, stages)
        return cls(layout, stage, passes, splits, stages, terms,
                   divided(m, _ROWS[layout] * passes))  # fmt: skip


def product(
    kernels: Kernels, product: Product, c: list[int], out: list[int], subtract: bool
) -> Todo:
    """Write ``c + a @ b`` or ``c - a @ b`` to `out`, but for the elements on the returned list."""
    return _run(kernels, product, out, [*c, int(subtract)], False)


def residual(kernels: Kernels, product: Product, out: list[int], terms: list[int]) -> Todo:
    """Write ``sum(sign * term) - a @ b`` to `out`, but for the elements on the returned list.

    `terms` holds the fields of `struct residual_terms`.
    """
    return _run(kernels, product, out, terms, True)


def _run(
    kernels: Kernels, product: Product, out: list[int], ending: list[int], is_residual: bool
) -> Todo:
    items, m, n, k = product.shape
    is_complex = product.kind.is_complex
    value_words, sum_words = (
        (2 if is_complex else 1) * words for words in _words(product.kind.limbs, is_residual)
    )
    tiles = _Tiles.of(product, value_words)
    elements = items * m * n
    scratch = Scratch()
    places = [
        scratch.take(tiles.splits * elements * sum_words),
        scratch.take(tiles.splits * elements),
        scratch.take(elements),
        scratch.take(1),
    ]
    memory, base = scratch.allocate(kernels)
    # Words of the warps, eight at a time, take the place of the vector.
    doubles = max(value_words * tiles.stage, _WARPS * _WARPS * _LANES)
    work = kernels.workspace(items * tiles.rows * tiles.splits * n, 8 * doubles)
    arguments = fields(
        matrix_view(kernels, product.a, is_complex),
        matrix_view(kernels, product.b.swapaxes(-1, -2), is_complex),
        int(product.conj_a), int(product.conj_b), items, m, n, k,
        tiles.passes, tiles.splits, tiles.stages, tiles.stage_terms,
        *(base + place for place in places), work.fields, out, ending,
    )  # fmt: skip
    of_both = f"MDQR_RESIDUAL={int(is_residual)}"
    defines = of_both, f"MDQR_LAYOUT={tiles.layout}", f"MDQR_STAGE={tiles.stage}", *work.defines
    kernels.launch(
        Module("products/matvec", product.kind, defines), "mdqr_matvec", arguments,
        grid=(work.blocks,), threads=_THREADS, shared=work.shared,
    )  # fmt: skip
    # Apart, since it is the same for all divisions.
    kernels.launch(
        Module("products/matvec_finish", product.kind, (of_both,)), "mdqr_matvec_finish", arguments,
        grid=(divided(elements * _FINISH_LANES, _FINISH_THREADS),), threads=_FINISH_THREADS,
    )  # fmt: skip
    return Todo(base + places[2], base + places[3], memory)
