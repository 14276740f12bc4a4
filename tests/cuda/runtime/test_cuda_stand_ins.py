"""Devices of all sizes give the same limbs: kernels run by the CPU, planned for each of them."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest
from cuda_cases import EVERY, assert_same
from emulation.kernels import EmulatedKernels
from product_cases import draw
from stand_ins import ONE_BLOCK, STAND_INS
from tensorcore_cases import emulated_engine
from window_cases import band

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.factor import panel
from mdqr._backend.cuda.products import sliced
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr.linalg._factor import householder

# One block at a time, and three that share the work.
DEVICES = [ONE_BLOCK, STAND_INS["t4"]._replace(multiprocessors=3)]
# What a module is compiled with for a small device.
SMALL = {"MDQR_GLOBAL", "MDQR_IN_TURN", "MDQR_INTEGERS"}
GLOBAL = {"MDQR_GLOBAL"}

# The plain run has the shortest numbers, those that need global memory in most kernels, and the
# longest where others never do.
PLAIN = {"dd-float", "qd-complex"}
LONGEST = "od-complex"


def multiples(*also):
    """Run a test for all numbers of several limbs; but for the plain ones it is `long`."""
    return pytest.mark.parametrize(
        ("precision", "dtype"),
        [
            pytest.param(
                *case.values,
                id=case.id,
                marks=[] if case.id in PLAIN.union(also) else [pytest.mark.long],
            )
            for case in EVERY
            if case.values[0].limbs > 1
        ],
    )


class Watched(EmulatedKernels):
    """Keeps what modules were compiled with."""

    def __init__(self, folder, device):
        super().__init__(folder)
        self.device, self.defines = device, set()

    def launch(self, module, name, arguments, **sizes):
        self.defines |= set(module.defines)
        super().launch(module, name, arguments, **sizes)


@pytest.fixture
def everywhere(kernel_folder):
    """Return a function that makes calls with the kernels of each device.

    It compares the limbs, and returns what the small devices alone compile modules with.
    """

    def run(call):
        large, *others = (Watched(kernel_folder, x) for x in (STAND_INS["a100"], *DEVICES))
        wanted = call(CudaBackend(large))
        assert not SMALL & large.defines
        for kernels in others:
            for x, y in zip(call(CudaBackend(kernels)), wanted, strict=True):
                assert_same(x, y)
        return set.union(*(kernels.defines for kernels in others)) & SMALL

    return run


def planes(kind):
    return kind.limbs * (1 + kind.is_complex)


@multiples()
@pytest.mark.parametrize("shape", [(200, 3), (2, 90, 4)], ids=str)
@pytest.mark.parametrize("in_shared", [True, False], ids=["shared", "global"])
def test_panels(everywhere, precision, dtype, shape, in_shared, rng, monkeypatch):
    """Blocks of rows in turn, whatever holds them."""
    if not in_shared:
        monkeypatch.setattr(panel, "MOST_SHARED", 0)
    panel.plan.cache_clear()
    kind = Kind(precision.limbs, dtype is complex)
    a = cases.random(int(np.prod(shape[:-1])), shape[-1], precision, dtype, rng).limbs
    a = a.reshape(*a.shape[:-2], *shape)
    a[..., 1] *= 2.0**-40
    assert everywhere(lambda backend: backend.qr_panel(a, kind=kind)) == {"MDQR_IN_TURN"}
    panel.plan.cache_clear()


@multiples()
def test_panels_whose_columns_nearly_depend(everywhere, precision, dtype, rng):
    """What is left of a column is measured again, and a block finds one that is not finite."""
    kind = Kind(precision.limbs, dtype is complex)
    a = cases.random(90, 4, precision, dtype, rng).limbs
    a[..., 2] = a[..., 0]
    a[..., 70, 2] *= 1 + 2.0**-30
    everywhere(lambda backend: backend.qr_panel(a, kind=kind))
    a[(0, 0, 80, 3) if kind.is_complex else (0, 80, 3)] = np.inf
    everywhere(lambda backend: backend.qr_panel(a, kind=kind))


@multiples()
@pytest.mark.parametrize("order", [32, 40, 64, 70])
def test_triangles(everywhere, precision, dtype, order, rng):
    """A tile or more, a block for each of several, and blocks that wait for each other."""
    kind = Kind(precision.limbs, dtype is complex)
    a = mdqr.stack([cases.random(order, order, precision, dtype, rng) for _ in range(3)])
    a = (a + 2 * mdqr.eye(order, precision=precision)).limbs
    b = cases.random(order, 3, precision, dtype, rng).limbs
    options = {"kind": kind, "lower": True, "unit_diagonal": False}
    found = everywhere(lambda backend: [backend.solve_triangular_tile(a, b, **options)])
    tile = order <= (64 if planes(kind) <= 4 else 32)
    large = planes(kind) > (2 if tile and order > 32 else 4)
    assert found == (GLOBAL if large else set())


@multiples(LONGEST)
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("width", [5, 60])
def test_reflectors(everywhere, precision, dtype, adjoint, width, rng):
    kind = Kind(precision.limbs, dtype is complex)
    a, x = (cases.random(70, n, precision, dtype, rng).limbs for n in (61, 2))
    factors = householder.factor(host.backend(), a, kind=kind, tile=width)

    def run(backend):
        found = x.copy()
        backend.reflect_all(factors.vs, factors.ts, found, kind=kind, adjoint=adjoint)
        return [found]

    assert everywhere(run) == (GLOBAL if planes(kind) == 16 and width == 60 else set())


@multiples()
@pytest.mark.parametrize("shape", [(3, 5, 4), (5, 1200, 4), (35, 21, 33)], ids=str)
@pytest.mark.parametrize("busy", [132, 1])
def test_products(everywhere, precision, dtype, shape, busy, rng, monkeypatch):
    """Tiles of both sizes, terms divided among blocks or with carries between, rows far apart."""
    monkeypatch.setattr(sliced, "_BUSY", busy)
    m, k, n = shape
    kind = Kind(precision.limbs, dtype is complex)
    a, b, c = (draw((precision, dtype), rng, *each).limbs for each in ((m, k), (k, n), (m, n)))
    a[..., 1, :] *= 2.0**300
    a[..., 2, ::2] *= 2.0**-50

    def run(backend):
        return [backend.matmul(a, b, kind=kind), backend.matmul(a, b, kind=kind, c=c)]

    assert everywhere(run) == {"MDQR_INTEGERS", *(GLOBAL if kind.limbs > 2 else ())}


@multiples(LONGEST)
@pytest.mark.parametrize("shape", [(2, 300), (40, 40), (40, 300)], ids=str)
def test_residuals(everywhere, precision, dtype, shape, rng):
    """Each of the ways to sum along rows."""
    kind = Kind(precision.limbs, dtype is complex)
    (m, k), n = shape, 3
    a, x, b = (draw((precision, dtype), rng, *each).limbs for each in (shape, (k, n), (m, n)))
    found = everywhere(lambda backend: [backend.residual([(1, b)], a, x, kind=kind)])
    assert found == (GLOBAL if planes(kind) == 16 else set())


@multiples()
@pytest.mark.parametrize("batch", [(), (5,)], ids=str)
def test_windows(everywhere, precision, dtype, batch, rng):
    """As many columns as windows have on a large device; a column in front."""
    kind = Kind(precision.limbs, dtype is complex)
    columns = CudaBackend(EmulatedKernels(None)).window_columns(1, kind=kind)
    if batch:
        columns = min(columns, 48 // kind.limbs)
    rows = columns + 1
    drawn = [
        cases.random(rows, columns, precision, dtype, rng).limbs for _ in range(max(1, *batch, 1))
    ]
    a = np.stack(drawn, axis=-3) if batch else drawn[0]

    def run(backend):
        results = []
        for x, below in ((band(a, 1), 1), (a[..., :1].copy(), 0)):
            e = np.empty((*a.shape[:-1], rows))
            backend.form_window(x, e, below=below, kind=kind)
            results += [x, e]
        return results

    found = everywhere(run)
    assert batch or found == (set() if (kind.limbs, kind.is_complex) == (4, False) else GLOBAL)


@multiples()
@pytest.mark.parametrize("shape", [(20, 20), (40, 9)], ids=str)
def test_small_systems(everywhere, precision, dtype, shape, rng):
    kind, (m, n) = Kind(precision.limbs, dtype is complex), shape
    a, b = (
        mdqr.stack([draw((precision, dtype), rng, m, each) for _ in range(5)]).limbs
        for each in (n, 2)
    )
    name = "solve_small" if m == n else "lstsq_small"

    def run(backend):
        found = getattr(backend, name)(a, b, kind=kind)
        return [x for x in found if x is not None]

    everywhere(run)


@pytest.mark.parametrize("panel", ["caqr", "cholesky"])
@pytest.mark.parametrize("shape", [(70, 40), (700, 70), (4200, 9)], ids=str)
def test_tensor_core_panels(everywhere, panel, shape, rng):
    a = np.asfortranarray(rng.standard_normal(shape).astype(np.float32) / 64)

    def run(backend):
        q, r = a.copy(order="F"), np.zeros((shape[1], shape[1]), dtype=np.float32, order="F")
        getattr(emulated_engine(backend.kernels), panel)(q, r)
        return [q, r]

    assert everywhere(run) == GLOBAL
