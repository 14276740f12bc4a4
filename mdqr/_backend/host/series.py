"""Power series on the CPU: orders of products and of equations, and series that solve them."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import batched, series_views
from mdqr._backend.protocol import EquationTerms, ProductGraph
from mdqr._limbs.planes import Block, Kind


class SeriesOrders:
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
        import _mdqr_host  # absent where nothing calls this

        left, right, _ = graph
        if values.size and len(left):
            series, inner = series_views(np, kind.is_complex, (values, 2), (sums, 1))
            _mdqr_host.series_order(series, inner, left, right, order, again, *kind)

    def series_equations(
        self, values: Block, terms: EquationTerms, order: int, *, kind: Kind
    ) -> Block:
        """Return one order of equations."""
        import _mdqr_host

        limbs, is_complex = kind
        batch = values.shape[1 + is_complex : -2]
        one = batched(values, batch, 2, is_complex)
        start, node, factors, constants = terms
        rows, front = len(start) - 1, (2, limbs) if is_complex else (limbs,)
        out = np.empty((*front, one.shape[-3], rows))
        if out.size:
            _mdqr_host.series_equations(out, one, factors, constants, start, node, order, *kind)
        return out.reshape((*front, *batch, rows))

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
        import _mdqr_host

        series, j, x = series_views(np, kind.is_complex, (values, 2), (jacobian, 2), (inverse, 2))
        items, rows, variables = j.shape[-3:]
        work = kind.empty(np, (items, 2 * len(graph.left) + rows + 2 * variables))
        start, node, factors, constants = terms
        if values.size:
            _mdqr_host.series_expand(
                series,
                j,
                x,
                work,
                factors,
                constants,
                graph.left,
                graph.right,
                start,
                node,
                orders.start,
                orders.stop,
                *kind,
            )
