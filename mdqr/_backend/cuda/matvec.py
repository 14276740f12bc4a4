"""Products with few columns and residuals, summed along rows: kernels/cuda/matvec.cu."""

from __future__ import annotations

from mdqr._backend.cuda.kernels import Kernels, Module, divided, fields, matrix_view
from mdqr._backend.cuda.operands import Product, Scratch, Todo

_THREADS = 256
_WARPS = 8
_FINISH_THREADS = 128
# Rows of a block: eight where there are enough of them to fill the GPU, or too few terms for one.
_ROWS = 8
# Blocks that fill a large GPU, and the fewest and most terms of a block.
_BUSY = 264
_LEAST_TERMS, _MOST_TERMS = 2048, 2**16


def _splits(rows: int, k: int) -> int:
    """Return into how many parts the terms are divided."""
    wanted = max(divided(_BUSY, rows), divided(k, _MOST_TERMS))
    return max(1, min(wanted, k // _LEAST_TERMS))


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
    parts = 2 if product.is_complex else 1
    a, b = product.a, product.b.swapaxes(-1, -2)
    b_items = items
    if b.strides[-3] == 0:
        b, b_items = b[..., :1, :, :], 1
    rows = 1 if m < _ROWS and k >= 32 * _WARPS else _ROWS
    groups = items * divided(m, rows) * n
    splits = _splits(groups, k)
    # Whole turns of a block.
    split_terms = divided(divided(max(k, 1), splits), _THREADS) * _THREADS
    splits = max(1, divided(k, split_terms))
    digits = 2 * product.limbs + 2 + 1  # of a residual, and a size; the kernels use no more
    carry_save = product.limbs == 2 and not is_residual
    elements = items * m * n
    scratch = Scratch()
    places = [
        scratch.take(0 if carry_save else b_items * n * k * parts * digits),
        scratch.take(splits * elements),
        scratch.take(splits * b_items * n),
        scratch.take(splits * parts * (digits + 1) * elements),
        scratch.take(elements),
        scratch.take(1),
    ]
    memory, base = scratch.allocate(kernels)
    arguments = fields(
        matrix_view(kernels, a, product.is_complex), matrix_view(kernels, b, product.is_complex),
        int(product.conj_a), int(product.conj_b), items, m, n, k, b_items, splits, split_terms,
        *(base + place for place in places), out, ending,
    )  # fmt: skip
    defines = (f"MDQR_RESIDUAL={int(is_residual)}", f"MDQR_ROWS={rows}")
    module = Module("matvec", product.limbs, product.is_complex, defines)
    shared = 8 * 3 * _WARPS * rows
    if not carry_save:
        pieces = min(divided(split_terms, _THREADS), divided(_BUSY, b_items * n * splits))
        grid = (b_items * n * splits * pieces,)
        kernels.launch(
            module, "mdqr_vectors", arguments, grid=grid, threads=_THREADS, shared=shared
        )
    kernels.launch(
        module, "mdqr_matvec", arguments, grid=(groups * splits,), threads=_THREADS, shared=shared
    )
    kernels.launch(
        module, "mdqr_matvec_finish", arguments,
        grid=(divided(elements, _FINISH_THREADS),), threads=_FINISH_THREADS,
    )  # fmt: skip
    return Todo(base + places[4], base + places[5], memory)
