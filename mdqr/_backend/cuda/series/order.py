"""Orders of products of power series: sums of inner terms, then the ends layer by layer."""

from __future__ import annotations

from mdqr._backend.blocks import series_views
from mdqr._backend.cuda.runtime.kernels import KernelCalls, Module, divided, fields, matrix_view
from mdqr._backend.protocol import ProductGraph
from mdqr._limbs.planes import Block, Kind

# As in kernels/cuda/device/rows.hpp.
_THREADS, _LANES = 64, 8


class SeriesOrders(KernelCalls):
    """Orders of products of power series."""

    def series_order(
        self,
        values: Block,
        sums: Block,
        graph: ProductGraph,
        order: int,
        *,
        kind: Kind,
        again: bool = False,
    ) -> None:
        """Write one order of products of power series."""
        products = len(graph.left)
        if not (values.size and products):
            return
        kernels, is_complex = self.kernels, kind.is_complex
        series, inner = series_views(self.xp, values, sums, is_complex)
        arguments = fields(
            matrix_view(kernels, series, is_complex),
            matrix_view(kernels, inner[..., None], is_complex),
            [kernels.address(part) for part in graph],
            [series.shape[-2] - products, products, len(graph.layers) - 1, order],
        )
        module, items = Module("series/order", kind), series.shape[1 + is_complex]
        shared = 8 * _THREADS * kind.limbs * (1 + is_complex)
        if not again:
            groups = divided(products, _THREADS // _LANES)
            kernels.launch(
                module, "mdqr_series_sums", arguments, grid=(items, groups), threads=_THREADS,
                shared=shared,
            )  # fmt: skip
        kernels.launch(module, "mdqr_series_ends", arguments, grid=(items,), threads=_THREADS)
