"""Products of series for tests of `Backend.series_order`, and their exact orders."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from kernel_hashes import draws

from mdqr._backend.host import backend as host
from mdqr._backend.protocol import EquationTerms, ProductGraph


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


def terms(rng, kind, nodes, rows=3, sets=2, orders=3, constants=2):
    """Return equations of 0, 1, 2 ... times 9 terms each, in nodes drawn at random."""
    start = 9 * np.cumsum([0, *range(rows)])
    factors = draws(rng, kind.limbs, (sets, start[-1], orders), kind.is_complex)
    right = draws(rng, kind.limbs, (sets, rows, constants), kind.is_complex)
    return EquationTerms(start, rng.integers(0, nodes, start[-1]), factors, right)


def expansion(rng, kind, graph, orders, batch=2):
    """Return what `series_expand` takes: as many equations as variables, all well conditioned."""
    values, _ = drawn(rng, *kind, graph, orders, batch)
    values[..., 1:] = 0.0
    given = terms(rng, kind, values.shape[-2], rows=2, sets=1)
    given = given._replace(factors=given.factors / 4096)
    matrices = [draws(rng, kind.limbs, (batch, 2, 2), kind.is_complex) for _ in range(2)]
    return values, *matrices, graph, given


def pairs(device, rng, kind, graph, batch, orders=12, moved=lambda block: block):
    """Yield blocks of the host and of a device: orders of equations, and expansions."""
    here = host.backend()

    def given(parts):
        return type(parts)(*map(moved, parts))

    values, _ = drawn(rng, *kind, graph, 6, batch=2 * batch)
    rows = terms(rng, kind, values.shape[-2], rows=11)
    for order in (0, 1, 5):
        found = device.series_equations(moved(values), given(rows), order, kind=kind)
        yield here.series_equations(values, rows, order, kind=kind), found
    values, jacobian, inverse, _, rows = expansion(rng, kind, graph, orders, batch)
    there = [moved(block.copy()) for block in (values, jacobian, inverse)]
    every = range(1, orders)
    device.series_expand(*there, given(graph), given(rows), every, kind=kind)
    here.series_expand(values, jacobian, inverse, graph, rows, every, kind=kind)
    assert np.isfinite(values).all()
    yield values, there[0]


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
