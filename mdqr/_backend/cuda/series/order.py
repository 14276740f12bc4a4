"""Power series on a GPU: orders of products and of equations, and series that solve them."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import batched, series_views
from mdqr._backend.cuda.runtime.kernels import KernelCalls, Kernels, Module, divided, fields, planes
from mdqr._backend.protocol import EquationTerms, ProductGraph
from mdqr._limbs.planes import Block, Kind, value_shape

# As in kernels/cuda/series/team.hpp.
_THREADS, _SUMS = 64, 8
# The largest height of a grid.
_MOST_BLOCKS = 65_535


class SeriesOrders(KernelCalls):
    """Orders of power series."""

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
        series, inner = series_views(self.xp, is_complex, (values, 2), (sums, 1))
        module, items = Module("series/order", kind), series.shape[kind.lead]

        def arguments(some: slice) -> np.ndarray:
            part = graph._replace(left=graph.left[some], right=graph.right[some])
            return fields(
                _view(kernels, series, 2, is_complex),
                _view(kernels, inner[..., some], 1, is_complex),
                _graph(kernels, part, series),
                order,
            )

        for some in _parts(products) if not again else ():
            kernels.launch(
                module, "mdqr_series_sums", arguments(some),
                grid=(items, divided(some.stop - some.start, _SUMS)), threads=_THREADS,
            )  # fmt: skip
        kernels.launch(
            module, "mdqr_series_ends", arguments(slice(None)), grid=(items,), threads=_THREADS
        )

    def series_equations(
        self, values: Block, terms: EquationTerms, order: int, *, kind: Kind
    ) -> Block:
        """Return one order of equations."""
        kernels, is_complex = self.kernels, kind.is_complex
        batch = value_shape(values, is_complex)[:-2]
        one = batched(values, batch, 2, is_complex)
        items, rows = one.shape[kind.lead], len(terms.start) - 1
        out = kind.empty(self.xp, (items, rows))
        for some in _parts(rows) if out.size else ():
            part = terms._replace(
                start=terms.start[some.start : some.stop + 1],
                constants=terms.constants[..., some, :],
            )
            arguments = fields(
                _view(kernels, out[..., some], 1, is_complex),
                _view(kernels, one, 2, is_complex),
                _terms(kernels, part, items, is_complex),
                order,
            )
            kernels.launch(
                Module("series/order", kind), "mdqr_series_equations", arguments,
                grid=(items, divided(some.stop - some.start, _SUMS)), threads=_THREADS,
            )  # fmt: skip
        return out.reshape(kind.planes((*batch, rows)))

    def series_expand(
        self,
        values: Block,
        jacobian: Block,
        inverse: Block,
        graph: ProductGraph,
        terms: EquationTerms,
        orders: range,
        *,
        kind: Kind,
    ) -> None:
        """Write orders of series that solve equations."""
        kernels, is_complex = self.kernels, kind.is_complex
        views = series_views(self.xp, is_complex, (values, 2), (jacobian, 2), (inverse, 2))
        items, rows, variables = views[1].shape[-3:]
        if not values.size:
            return
        products = len(graph.left)
        parts = [products, products + variables, rows, variables]
        ends = [sum(parts[:i]) for i in range(5)]
        work = kind.empty(self.xp, (items, ends[-1]))
        arguments = fields(
            *(_view(kernels, view, 2, is_complex) for view in views),
            *(_view(kernels, work[..., end:], 1, is_complex) for end in ends[:-1]),
            _graph(kernels, graph, views[0]),
            _terms(kernels, terms, items, is_complex),
            orders.start,
            orders.stop,
        )
        kernels.launch(
            Module("series/expand", kind), "mdqr_series_expand", arguments, grid=(items,),
            threads=_THREADS,
        )  # fmt: skip


def _parts(count: int) -> list[slice]:
    """Return the sums of each launch: a grid has a largest height."""
    most = _MOST_BLOCKS * _SUMS
    return [slice(first, min(first + most, count)) for first in range(0, count, most)]


def _view(kernels: Kernels, block: Block, axes: int, is_complex: bool) -> list[int]:
    """Return the fields of `struct view` (kernels/include/mdqr/series_arguments.hpp)."""
    strides = [stride // 8 for stride in block.strides[-1 - axes :]]
    data, plane, imag, _ = planes(kernels, block, is_complex)
    return [data, plane, imag, *strides, *[0] * (2 - axes)]


def _graph(kernels: Kernels, graph: ProductGraph, values: Block) -> list[int]:
    products = len(graph.left)
    addresses = [kernels.address(part) for part in graph]
    return [*addresses, values.shape[-2] - products, products, len(graph.layers) - 1]


def _terms(kernels: Kernels, terms: EquationTerms, items: int, is_complex: bool) -> list[int]:
    start, node, factors, constants = terms
    return [
        kernels.address(start),
        kernels.address(node),
        *_view(kernels, factors, 2, is_complex),
        *_view(kernels, constants, 2, is_complex),
        len(start) - 1,
        factors.shape[-1],
        constants.shape[-1],
        items // factors.shape[-3],
    ]
