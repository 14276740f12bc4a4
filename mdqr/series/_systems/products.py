"""Products that monomials share: a graph whose nodes are products of nodes before them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from types import ModuleType
from typing import NamedTuple

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.protocol import Backend, ProductGraph
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.series._arithmetic.products import convolve

Factors = tuple[int, ...]  # variables, each as often as its exponent says, in order


class Products(NamedTuple):
    """Nodes: the variables first, then the products of `graph`; and which node a monomial is."""

    variables: int
    nodes: int
    graph: ProductGraph
    monomials: Block

    @classmethod
    def of(cls, monomials: Iterable[Factors], variables: int) -> Products:
        """Find the products of monomials of degree 1 or more.

        A product is that of the power of one variable and the rest, which is another monomial if
        possible: what equations hold in bounds makes smaller errors than other parts would.
        """
        wanted = list(monomials)
        parts: dict[Factors, tuple[Factors, Factors]] = {}
        known = {factors for factors in wanted if len(factors) > 1}
        waiting: dict[int, set[Factors]] = defaultdict(set)
        for factors in known:
            waiting[len(factors)].add(factors)
        while waiting:
            for factors in sorted(waiting.pop(max(waiting))):
                parts[factors] = _parts(factors, known)
                for part in parts[factors]:
                    if len(part) > 1:
                        known.add(part)
                        waiting[len(part)].add(part)
        ones: list[Factors] = [(i,) for i in range(variables)]
        depth = dict.fromkeys(ones, 0)
        for factors in sorted(parts, key=len):
            depth[factors] = 1 + max(depth[part] for part in parts[factors])
        found = sorted(parts, key=lambda factors: (depth[factors], factors))
        place = {factors: i for i, factors in enumerate(ones)}
        place |= {factors: variables + i for i, factors in enumerate(found)}
        pairs = np.array([[place[part] for part in parts[f]] for f in found], np.int64)
        left, right = pairs.reshape(-1, 2).T.copy()
        depths = [depth[factors] for factors in found]
        layers = np.searchsorted(depths, range(1, 2 + max(depths, default=0)))
        graph = ProductGraph(left, right, layers.astype(np.int64))
        return cls(variables, len(place), graph, np.array([place[f] for f in wanted], np.int64))

    def on(self, xp: ModuleType) -> Products:
        """Return the same with its indices where arrays of a module are."""
        graph = ProductGraph(*map(xp.asarray, self.graph))
        return self._replace(graph=graph, monomials=xp.asarray(self.monomials))

    def sums(self, values: Block) -> Block:
        """Return zeros for the sums of `series_order` of nodes ``(..., nodes, d)``."""
        count = self.nodes - self.variables
        return planes.namespace(values).zeros((*values.shape[:-2], count))

    def evaluate(self, values: Block, backend: Backend, kind: Kind) -> None:
        """Fill the nodes of ``(..., nodes, d)`` behind the variables, all orders."""
        sums = self.sums(values)
        for k in range(values.shape[-1]):
            backend.series_order(values, sums, self.graph, k, kind=kind)

    def derivatives(self, values: Block, backend: Backend, kind: Kind) -> Block:
        """Return the nodes and their derivatives ``(..., variables, nodes, 2)`` at points.

        `values` has the nodes ``(..., nodes)``. A derivative is order 1 along one variable.
        """
        n, xp, own = self.variables, backend.xp, backend.xp.arange(self.variables)
        wide = xp.zeros((*values.shape[:-1], n, self.nodes, 2))
        wide[..., 0] = values[..., None, :]
        wide[(0,) * (1 + kind.is_complex) + (..., own, own, 1)] = 1.0
        sums = self.sums(wide)
        backend.series_order(wide, sums, self.graph, 1, kind=kind, again=True)
        return wide

    def derivative_series(self, values: Block, kind: Kind) -> Block:
        """Return the derivatives ``(..., nodes, variables, d)`` of the nodes along series.

        `values` has the nodes ``(..., nodes, d)``.
        """
        backend = for_block(values)
        xp = backend.xp
        *outer, nodes, orders = values.shape
        found = xp.zeros((*outer, nodes, self.variables, orders))
        own = xp.arange(self.variables)
        found[(0,) * kind.lead + (..., own, own, 0)] = 1.0
        left, right, layers = self.graph
        ends = [int(end) for end in layers]
        for start, stop in pairwise(ends):
            pair = left[start:stop], right[start:stop]
            parts = [
                convolve(values[..., one, None, :], found[..., other, :, :], kind)
                for one, other in (pair, pair[::-1])
            ]
            layer = slice(self.variables + start, self.variables + stop)
            found[..., layer, :, :] = backend.binary("add", *parts, kind=kind)
        return found


def _parts(factors: Factors, known: set[Factors]) -> tuple[Factors, Factors]:
    """Return the two factors of a product."""
    variables = sorted(set(factors), reverse=True)
    if len(variables) == 1:
        half = (len(factors) + 1) // 2
        return factors[:half], factors[half:]

    def rest(variable: int) -> Factors:
        # Factors are in order.
        first = bisect_left(factors, variable)
        return factors[:first] + factors[bisect_right(factors, variable) :]

    last = next((v for v in variables if rest(v) in known), variables[0])
    return rest(last), (last,) * factors.count(last)
