"""One device stands in for smaller ones, and gives the same limbs as each of them."""

from __future__ import annotations

import gpu_cases as cases
import pytest
from stand_ins import ONE_BLOCK, STAND_INS

import mdqr
from mdqr._limbs.planes import Kind
from mdqr.linalg import cholesky, lu_factor, matmul, qr, qr_factor, qr_insert, solve_triangular

pytestmark = pytest.mark.gpu


@pytest.fixture
def device(cupy):
    from mdqr._backend.cuda.backend import backend

    return backend()


@pytest.fixture
def everywhere(device):
    """Return a function that compares the results of a call as each of the devices."""
    kernels = device.kernels
    before = kernels.limit

    def run(call):
        wanted = [cases.to_host(x) for x in call()]
        for device in (*STAND_INS.values(), ONE_BLOCK):
            kernels.limit = device if before is None else device.limited(before)
            cases.assert_same(list(call()), wanted)
        kernels.limit = before

    yield run
    kernels.limit = before


def draw(precision, dtype, *shape):
    return mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=1, device=cases.DEVICE)


@pytest.mark.parametrize("shape", [(40, 9), (700, 64), (5000, 20), (6, 300, 12)], ids=str)
def test_factors(everywhere, multiple, dtype, shape):
    """Panels of one block and of many, alone and together."""
    a = draw(multiple, dtype, *shape)
    everywhere(lambda: qr(a))


@pytest.mark.parametrize("columns", [1, 3, 40])
def test_reflectors(everywhere, multiple, dtype, columns):
    factors = qr_factor(draw(multiple, dtype, 1200, 1100))
    x = draw(multiple, dtype, 1200, columns)
    everywhere(lambda: [factors.apply_q(x), factors.apply_qh(x)])


@pytest.mark.parametrize("shape", [(3, 5, 4), (70, 900, 50), (600, 300, 500)], ids=str)
def test_products(everywhere, multiple, dtype, shape):
    m, k, n = shape
    a, b = draw(multiple, dtype, m, k), draw(multiple, dtype, k, n)
    everywhere(lambda: [matmul(a, b, method="direct"), matmul(a, b[:, :1])])


@pytest.mark.parametrize("shape", [(300, 1), (300, 20), (2000, 1)], ids=str)
def test_triangles(everywhere, multiple, dtype, shape):
    n, columns = shape
    a = draw(multiple, dtype, n, n) + 2 * n * mdqr.eye(n, precision=multiple, device=cases.DEVICE)
    b = draw(multiple, dtype, n, columns)
    everywhere(lambda: [solve_triangular(a, b), solve_triangular(a, b, lower=True)])


def test_batches_of_triangles(everywhere, multiple, dtype):
    """Many more than a small device takes at once."""
    one = mdqr.eye(60, precision=multiple, device=cases.DEVICE)
    a, b = draw(multiple, dtype, 300, 60, 60) + 99 * one, draw(multiple, dtype, 300, 60, 9)
    everywhere(lambda: [solve_triangular(a, b)])


def test_elimination(everywhere, multiple, dtype):
    a = draw(multiple, dtype, 150, 150)
    gram = a.H @ a
    everywhere(lambda: [lu_factor(a)[0], cholesky(gram)])


def test_windows(everywhere, multiple, dtype):
    """A row is inserted: windows of R as wide as those of a large device."""
    a = draw(multiple, dtype, 300, 200)
    Q, R = qr(a)
    row = draw(multiple, dtype, 200)
    everywhere(lambda: qr_insert(Q, R, row, 100))


@pytest.mark.parametrize("shape", [(1, 20, 20), (3000, 20, 20), (200, 60, 30)], ids=str)
def test_small_systems(everywhere, device, multiple, dtype, shape):
    items, m, n = shape
    kind = Kind(multiple.limbs, dtype is complex)
    a, b = (draw(multiple, dtype, items, m, each).limbs for each in (n, 2))
    name = "solve_small" if m == n else "lstsq_small"

    def run():
        return [x for x in getattr(device, name)(a, b, kind=kind) if x is not None]

    everywhere(run)
