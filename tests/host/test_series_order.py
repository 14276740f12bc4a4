"""Orders of products of series against exact sums, and graphs that are none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from series_cases import chain, drawn, exact, product, wide

from mdqr._backend.host import backend as host
from mdqr._backend.protocol import ProductGraph
from mdqr._limbs.planes import Kind


@pytest.mark.parametrize("order", [0, 1, 2, 8, 9, 10, 30])
@pytest.mark.parametrize("graph", [chain(3), wide(2)], ids=["chain", "wide"])
def test_orders_of_products(graph, order, precision, dtype, rng):
    """The bound of the protocol, of sums with terms of all sizes."""
    kind = Kind(precision.limbs, dtype is complex)
    values, sums = drawn(rng, *kind, graph, order + 1)
    values *= 2.0 ** -(np.arange(order + 1) ** 1.25)
    host.backend().series_order(values, sums, graph, order, kind=kind)
    found = exact(values, kind.is_complex)
    for item in range(2):
        for i, (left, right) in enumerate(zip(graph.left, graph.right, strict=True)):
            a, b = found[item, left], found[item, right]
            total = sum(product(a[j], b[order - j]) for j in range(order + 1))
            error = abs(found[item, 2 + i, order] - total[:2])
            assert (error <= (order + 9) * Fraction(precision.eps) * total[2:]).all()


def test_ends_alone(precision, dtype, rng):
    """Order 1 of two, with other ends and the sums of before, is what it is at once."""
    kind, graph = Kind(precision.limbs, dtype is complex), chain(4)
    values, sums = drawn(rng, *kind, graph, 7)
    other = values.copy()
    other[..., :2, 6] = values[..., 1::-1, 6]
    host.backend().series_order(values, sums, graph, 6, kind=kind)
    wanted, inner = other.copy(), np.zeros_like(sums)
    host.backend().series_order(wanted, inner, graph, 6, kind=kind)
    # Inner terms of later products are those of lower orders, which are the same.
    np.testing.assert_array_equal(sums, inner)
    host.backend().series_order(other, sums, graph, 6, kind=kind, again=True)
    np.testing.assert_array_equal(other, wanted)


def test_orders_beyond_the_range(precision):
    """What overflows is infinite or NaN, with zeros below."""
    values = np.zeros((precision.limbs, 1, 3, 2))
    values[0, 0, :2] = 1e300
    host.backend().series_order(
        values, np.zeros((precision.limbs, 1, 1)), wide(1), 1, kind=Kind(precision.limbs, False)
    )
    assert not np.isfinite(values[0, 0, 2, 1])
    assert not values[1:, 0, 2, 1].any()


@pytest.mark.parametrize(
    ("left", "right", "order", "message"),
    [
        ([0, 3], [1, 1], 0, "product 1 of node 3"),
        ([0, 2], [1, -1], 0, "product 1 of node -1"),
        ([0, 2], [1, 1], 5, "order 5 in values of shape"),
        ([0, 2], [1, 1], -1, "order -1 in values of shape"),
        ([0, 2], [1], 0, r"values of shape \(1, \); it wants \(2, \)"),
    ],
)
def test_wrong_graphs(left, right, order, message):
    graph = ProductGraph(np.array(left), np.array(right), np.array([0, 1, 2]))
    with pytest.raises(ValueError, match=message):
        host.backend().series_order(
            np.zeros((2, 1, 4, 5)), np.zeros((2, 1, 2)), graph, order, kind=Kind(2, False)
        )


def test_batches_are_views():
    """A copy of the values would be lost."""
    values = np.zeros((2, 3, 4, 3, 5)).swapaxes(1, 2)
    with pytest.raises(ValueError, match="one run of memory"):
        host.backend().series_order(values, np.zeros((2, 4, 3, 1)), wide(1), 0, kind=Kind(2, False))
