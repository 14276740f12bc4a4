"""Orders of series and equations by emulated threads: the limbs of the host."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import EVERY, assert_same
from emulation.kernels import EmulatedKernels
from series_cases import chain, drawn, pairs, terms, wide

from mdqr._backend.cuda.series.order import SeriesOrders
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS

CASES = [
    pytest.param(*case.values, id=case.id, marks=[] if plain else [pytest.mark.long])
    for case in EVERY
    for plain in [case.values[0] in PRECISIONS[1:] and case.values[1] is not complex]
]


@pytest.mark.parametrize(("precision", "dtype"), CASES)
@pytest.mark.parametrize("graph", [chain(11), wide(70)], ids=["chain", "wide"])
def test_limbs_of_the_host(graph, precision, dtype, rng, kernel_folder):
    kind = Kind(precision.limbs, dtype is complex)
    cuda = SeriesOrders(EmulatedKernels(kernel_folder))
    values, sums = drawn(rng, *kind, graph, 20, batch=3)
    for order in (0, 1, 2, 9, 10, 19):
        here, there = ([values.copy(), sums.copy()] for _ in range(2))
        cuda.series_order(*here, graph, order, kind=kind)
        host.backend().series_order(*there, graph, order, kind=kind)
        for one, other in zip(here, there, strict=True):
            assert_same(one, other)
        here[0][..., 0, order] = there[0][..., 0, order] = values[..., 1, order]
        cuda.series_order(*here, graph, order, kind=kind, again=True)
        host.backend().series_order(*there, graph, order, kind=kind, again=True)
        assert_same(here[0], there[0])


@pytest.mark.parametrize(("precision", "dtype"), CASES)
@pytest.mark.parametrize("graph", [chain(3), wide(9)], ids=["chain", "wide"])
def test_equations_and_expansions(graph, precision, dtype, rng, kernel_folder):
    kind = Kind(precision.limbs, dtype is complex)
    cuda = SeriesOrders(EmulatedKernels(kernel_folder))
    for one, other in pairs(cuda, rng, kind, graph, batch=3):
        assert_same(one, other)


def test_no_products_start_nothing(kernel_folder):
    kernels = EmulatedKernels(kernel_folder)
    values = np.zeros((2, 1, 2, 3))
    SeriesOrders(kernels).series_order(values, np.zeros((2, 1, 0)), wide(0), 1, kind=Kind(2, False))
    assert kernels.launched == []


def test_more_sums_than_a_grid_is_high(rng, kernel_folder, monkeypatch):
    """A grid has a largest height: more products and equations are shared out to launches."""
    monkeypatch.setattr("mdqr._backend.cuda.series.order._MOST_BLOCKS", 2)
    kind, graph, kernels = Kind(2, True), wide(70), EmulatedKernels(kernel_folder)
    cuda = SeriesOrders(kernels)
    values, sums = drawn(rng, *kind, graph, 8, batch=2)
    other = values.copy()
    cuda.series_order(values, sums, graph, 5, kind=kind)
    host.backend().series_order(other, sums.copy(), graph, 5, kind=kind)
    assert_same(values, other)
    assert len(kernels.launched) == 5 + 1
    rows = terms(rng, kind, values.shape[-2], rows=35)
    found = cuda.series_equations(values, rows, 4, kind=kind)
    assert_same(found, host.backend().series_equations(values, rows, 4, kind=kind))
    assert len(kernels.launched) == 5 + 1 + 3
