"""Products of series for tests of `Backend.series_order`, and their exact orders."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from kernel_hashes import draws

from mdqr._backend.protocol import ProductGraph


def chain(products: int) -> ProductGraph:
    """Every product is the one before it times the second series: a layer each."""
    left = np.arange(1, products + 1)
    left[0] = 0
    return ProductGraph(left, np.ones(products, dtype=np.int64), np.arange(products + 1))


def wide(products: int) -> ProductGraph:
    """All products are of the two series: one layer."""
    left = np.arange(products) % 2
    return ProductGraph(left, left[::-1].copy(), np.array([0, products]))


def drawn(rng, limbs, is_complex, graph, orders, batch=2):
    """Return values whose products are to be found, and their sums."""
    nodes = 2 + len(graph.left)
    values = draws(rng, limbs, (batch, nodes, orders), is_complex)
    return values, np.full((*values.shape[: 1 + is_complex], batch, nodes - 2), np.nan)


def exact(block, is_complex):
    """Return pairs of fractions ``(..., 2)`` of a block."""
    parts = block if is_complex else np.stack([block, np.zeros_like(block)])
    found = np.empty((*parts.shape[2:], 2), dtype=object)
    for at in np.ndindex(found.shape):
        *place, part = at
        found[at] = sum(map(Fraction, map(float, parts[(part, slice(None), *place)])))
    return found


def product(x, y):
    """The product of pairs, and the sum of the moduli of its terms in each part."""
    real = x[0] * y[0], -x[1] * y[1]
    imag = x[0] * y[1], x[1] * y[0]
    return np.array([sum(real), sum(imag), sum(map(abs, real)), sum(map(abs, imag))], dtype=object)
