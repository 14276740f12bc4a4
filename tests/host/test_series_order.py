"""Orders of products of series and of equations against exact sums; what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from each_case import each_case
from series_cases import chain, drawn, exact, expansion, product, terms, wide

from mdqr._backend.host import backend as host
from mdqr._backend.protocol import ProductGraph
from mdqr._limbs.planes import Kind


@each_case("order", [0, 1, 2, 8, 9, 10, 30])
@each_case("graph", [chain(3), wide(2)])
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


@pytest.mark.parametrize("order", [0, 1, 2, 9])
def test_orders_of_equations(order, precision, dtype, rng):
    """The bound of the protocol; two series have the factors of each set."""
    kind = Kind(precision.limbs, dtype is complex)
    values, _ = drawn(rng, *kind, chain(4), order + 1, batch=4)
    given = terms(rng, kind, 6)
    found = exact(host.backend().series_equations(values, given, order, kind=kind), kind.is_complex)
    nodes, factors, right = (
        exact(block, kind.is_complex) for block in (values, given.factors, given.constants)
    )
    for item, row in np.ndindex(4, 3):
        which = range(given.start[row], given.start[row + 1])
        total = sum(
            product(factors[item // 2, t, j], nodes[item, given.node[t], order - j])
            for t in which
            for j in range(min(order + 1, 3))
        ) + np.array([Fraction(0)] * 4)
        if order < 2:
            constant = right[item // 2, row, order]
            total = total + np.array([*constant, *map(abs, constant)])
        count = len(which) * 3
        error = abs(found[item, row] - total[:2])
        assert (error <= (count / 8 + 10) * Fraction(precision.eps) * total[2:]).all()


def test_expansions_are_their_steps(precision, dtype, rng):
    """One order: what is left, two products by the inverse, and what x changes."""
    kind = Kind(precision.limbs, dtype is complex)
    backend, graph = host.backend(), chain(3)
    values, jacobian, inverse, _, given = expansion(rng, kind, graph, 6)
    found = values.copy()
    backend.series_expand(found, jacobian, inverse, graph, given, range(1, 6), kind=kind)
    tolerance = 1e3 * precision.eps
    for k in range(1, 6):
        part = found[..., : k + 1].copy()
        part[..., :2, k] = 0.0
        sums = np.zeros((*part.shape[: kind.lead], 2, 3))
        backend.series_order(part, sums, graph, k, kind=kind)
        rest = backend.series_equations(part, given, k, kind=kind)[..., None]
        x = backend.matmul(inverse, rest, kind=kind)
        rest = backend.matmul(jacobian, x, c=rest, subtract=True, kind=kind)
        x = backend.matmul(inverse, rest, c=x, kind=kind)
        part[..., :2, k] = found[..., :2, k]
        backend.series_order(part, sums, graph, k, kind=kind)
        for one, other in ((-x[..., 0], found[..., :2, k]), (part[..., k], found[..., k])):
            size = abs(one[(0,) * kind.lead]).max()
            difference = backend.binary("subtract", one, other, kind=kind)
            assert abs(difference).max() <= tolerance * size


def test_expansions_in_parts(precision, dtype, rng):
    """Orders of several calls have the limbs of one."""
    kind = Kind(precision.limbs, dtype is complex)
    values, *rest = expansion(rng, kind, wide(11), 8)
    whole = values.copy()
    host.backend().series_expand(whole, *rest, range(1, 8), kind=kind)
    for orders in (range(1, 3), range(3, 4), range(4, 8)):
        host.backend().series_expand(values, *rest, orders, kind=kind)
    np.testing.assert_array_equal(values, whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node": np.zeros(8, int)}, "rows that do not share 8 terms|values of shape"),
        ({"node": np.full(27, 5)}, "a term of node 5"),
        ({"start": np.array([0, 20, 9, 27])}, "rows that do not share 27 terms"),
        (
            {"factors": np.zeros((2, 3, 27, 1)), "constants": np.zeros((2, 3, 3, 1))},
            "3 sets of factors for 4 series",
        ),
        ({"factors": np.zeros((3, 2, 27, 1))}, "a block of 3 limbs"),
        ({"constants": np.zeros((2, 2, 4, 1))}, "values of shape"),
    ],
)
def test_wrong_equations(change, message, rng):
    kind = Kind(2, False)
    values, _ = drawn(rng, *kind, chain(2), 3, batch=4)
    given = terms(rng, kind, 4)._replace(**change)
    with pytest.raises(ValueError, match=message):
        host.backend().series_equations(values, given, 1, kind=kind)


def test_wrong_orders(rng):
    kind = Kind(2, False)
    given = expansion(rng, kind, wide(1), 4)
    for orders in (range(2), range(1, 5)):
        with pytest.raises(ValueError, match="it wants orders behind the first"):
            host.backend().series_expand(*given, orders, kind=kind)
