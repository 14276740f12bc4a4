"""Orders of products of power series on the CPU."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import series_views
from mdqr._backend.protocol import ProductGraph
from mdqr._limbs.planes import Block, Kind


class SeriesOrders:
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
        import _mdqr_host  # absent where nothing calls this

        left, right, _ = graph
        if values.size and len(left):
            views = series_views(np, values, sums, kind.is_complex)
            _mdqr_host.series_order(*views, left, right, order, again, *kind)
