"""Plans of launches: the same as planning again, for every layout and for other addresses."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest
from cuda_cases import assert_same
from emulation.kernels import EmulatedKernels

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.runtime import replay
from mdqr._limbs.planes import Kind

DD = Kind(2, False)


def draw(rng, *shape):
    return cases.random(*shape, mdqr.dd, float, rng).limbs


LAYOUTS = {
    "plain": lambda a: a,
    "transposed": lambda a: a.swapaxes(-1, -2).copy().swapaxes(-1, -2),
    "reversed": lambda a: a[:, ::-1, ::-1].copy()[:, ::-1, ::-1],
    "sliced": lambda a: np.repeat(np.repeat(a, 2, 1), 3, 2)[:, ::2, ::3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lower", [False, True])
def test_triangles(cuda, layout, lower, rng):
    """Upper triangles begin at their last row, below the address of a reversed view."""
    arrange = LAYOUTS[layout]
    cuda.kernels.plans.clear()
    options = {"kind": DD, "lower": lower, "unit_diagonal": False}
    for _ in range(3):
        a, b = draw(rng, 9, 9) + 3 * np.eye(9) * [[[1.0]], [[0.0]]], draw(rng, 9, 4)
        found = cuda.solve_triangular_tile(arrange(a), arrange(b), **options)
        unplanned = CudaBackend(EmulatedKernels(cuda.kernels._folder))
        assert_same(found, unplanned.solve_triangular_tile(a, b, **options))
    assert len(cuda.kernels.plans) == 1
    assert all(isinstance(plan, replay._Plan) for plan in cuda.kernels.plans.values())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(cuda, layout, rng):
    arrange = LAYOUTS[layout]
    cuda.kernels.plans.clear()
    for _ in range(3):
        a, b, c = draw(rng, 5, 7), draw(rng, 7, 6), draw(rng, 5, 6)
        options = {"c": arrange(c), "subtract": True}
        found = cuda.matmul(arrange(a), arrange(b), kind=DD, **options)
        unplanned = CudaBackend(EmulatedKernels(cuda.kernels._folder))
        assert_same(found, unplanned.matmul(a, b, kind=DD, c=c, subtract=True))
    assert len(cuda.kernels.plans) == 1


def test_operands_that_share_memory_have_a_plan_of_their_own(cuda, rng):
    """With ``out`` being ``c``, or both operands one matrix, and then not, at the same shapes."""
    cuda.kernels.plans.clear()
    a, b, c = (draw(rng, 6, 6) for _ in range(3))
    options = {"c": c, "subtract": True}
    wanted = cuda.matmul(a, b, kind=DD, **options)
    square = cuda.matmul(a, a, kind=DD)
    assert_same(cuda.matmul(a, a.copy(), kind=DD), square)
    target = np.empty_like(c)
    assert_same(cuda.matmul(a, b, kind=DD, **options, out=target), wanted)
    shared = c.copy()
    cuda.matmul(a, b, kind=DD, c=shared, subtract=True, out=shared)
    assert_same(shared, wanted)


def test_what_has_to_be_copied_is_not_planned(cuda, rng):
    """A batch of two axes whose strides do not merge is copied: there is no plan."""
    cuda.kernels.plans.clear()
    a = draw(rng, 6, 4 * 5).reshape(2, 2, 3, 4, 5).swapaxes(1, 2)
    b = draw(rng, 5, 3)[:, None, None]
    found = cuda.matmul(a, b, kind=DD)
    assert found.shape == (2, 3, 2, 4, 3)
    for i in range(3):
        for j in range(2):
            one = np.ascontiguousarray(a[:, i, j])
            wanted = cuda.matmul(one, b[:, 0, 0], kind=DD)
            assert_same(np.ascontiguousarray(found[:, i, j]), wanted)
    assert None in cuda.kernels.plans.values()
