"""Every kernel once at sizes that compute-sanitizer gets through, against the host.

`run.py --sanitize memcheck` and `--sanitize racecheck` run this file alone.
"""

from __future__ import annotations

from functools import partial

import gpu_cases as cases
import gpu_exact
import numpy as np
import pytest
from exact_matrices import Exact
from series_cases import chain, pairs, wide

import mdqr
from mdqr import tensorcore
from mdqr._backend import protocol
from mdqr._backend.protocol import ProductGraph
from mdqr._limbs.planes import Kind
from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._plan import METHODS, with_panel
from mdqr.testing._exact import SCALE

pytestmark = pytest.mark.gpu

PANELS = [(1, 1), (7, 5), (33, 16), (70, 9)]


@pytest.fixture
def device(cupy):
    from mdqr._backend.cuda import backend

    return backend.backend()


@pytest.fixture
def options(precision, dtype):
    return {"kind": Kind(precision.limbs, dtype is complex)}


def block(rng, options, *shape):
    kind = options["kind"]
    return cases.block(rng, kind.limbs, shape, kind.is_complex)


def wrap(value, precision, dtype):
    return mdqr.MDArray._wrap(value, precision, dtype is complex)


@pytest.mark.usefixtures("host")
def test_series_orders(device, options, rng):
    from mdqr._backend.host import backend as host

    graph = ProductGraph(*map(np.array, ([0, 2, 1], [1, 1, 0], [0, 1, 3])))
    values, sums = block(rng, options, 2, 5, 12), block(rng, options, 2, 3)
    moved = [device.xp.asarray(v) for v in (values, sums)]
    on_device = ProductGraph(*map(device.xp.asarray, graph))
    for order in (0, 11):
        device.series_order(*moved, on_device, order, **options)
        host.backend().series_order(values, sums, graph, order, **options)
    np.testing.assert_array_equal(cases.to_host(moved[0]), values)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("graph", [chain(3), wide(9)], ids=["chain", "wide"])
def test_series_of_systems(device, options, graph, rng):
    moved = device.xp.asarray
    for here, there in pairs(device, rng, options["kind"], graph, batch=3, orders=5, moved=moved):
        np.testing.assert_array_equal(cases.to_host(there), here)


@pytest.mark.usefixtures("host")
def test_elementwise(device, options, dtype, rng):
    from mdqr._backend.host import backend as host

    xp, other = device.xp, host.backend()
    x, y = block(rng, options, 5, 27), block(rng, options, 5, 27)
    moved = [xp.asarray(v) for v in (x, y)]
    for op in cases.of_field(protocol.UNARY, dtype):
        found = device.unary(op, moved[0], **options)
        np.testing.assert_array_equal(cases.to_host(found), other.unary(op, x, **options))
    for op in cases.of_field(protocol.BINARY, dtype):
        found = device.binary(op, *moved, **options)
        np.testing.assert_array_equal(cases.to_host(found), other.binary(op, x, y, **options))
    if dtype is float:
        e = rng.integers(-50, 50, (5, 1))
        found = device.ldexp(moved[0], xp.asarray(e))
        np.testing.assert_array_equal(cases.to_host(found), other.ldexp(x, e))
        np.testing.assert_array_equal(cases.to_host(device.compare(*moved)), other.compare(x, y))


def test_limbs_in_use(device, precision, dtype):
    is_complex = dtype is complex
    for held in range(precision.limbs + 1):
        x = np.zeros((*(2,) * is_complex, precision.limbs, 3, 2900))
        x[..., :held, 1, 2700] = 2.0**-1074
        moved = [device.xp.asarray(x), device.xp.asarray(x).swapaxes(-1, -2)[..., 100:, :2]]
        found = device.held_limbs(moved, [is_complex] * 2)
        assert cases.to_host(found).tolist() == [held, held]


def test_reductions(device, options, precision, dtype, rng):
    x = block(rng, options, 3, 37)
    moved = device.xp.asarray(x)
    found = device.reduce("sum", moved, **options)
    running = device.cumsum(moved, **options)
    device.reduce("prod", moved, **options)
    a = wrap(x, precision, dtype)
    ones = mdqr.ones((37, 1), precision=precision)
    for value in (found, running[..., -1]):
        total = wrap(cases.to_host(value), precision, dtype)
        gpu_exact.assert_product(a, ones, total[:, None])
    if dtype is float:
        first = cases.to_host(device.argreduce("max", moved))
        values = Exact.of(a)
        assert values.exponent <= SCALE
        assert [int(np.argmax(row)) for row in values.real] == first.tolist()
        device.argreduce("min", moved)


@pytest.mark.parametrize("shape", [(3, 5, 2), (17, 40, 18), (33, 70, 1), (1, 65, 1)], ids=str)
def test_products(device, options, precision, dtype, shape, rng):
    m, k, n = shape
    a, b, c = block(rng, options, m, k), block(rng, options, k, n), block(rng, options, m, n)
    wide = np.ldexp(a, -20 * (np.arange(k) % 5))
    moved = [device.xp.asarray(v) for v in (a, b, c, wide)]
    whole = [wrap(v, precision, dtype) for v in (a, b, c, wide)]
    for left in (0, 3):
        found = device.matmul(moved[left], moved[1], **options)
        result = wrap(cases.to_host(found), precision, dtype)
        gpu_exact.assert_product(whole[left], whole[1], result)
    found = device.matmul(moved[0], moved[1], c=moved[2], subtract=True, **options)
    result = -wrap(cases.to_host(found), precision, dtype)
    gpu_exact.assert_product(whole[0], whole[1], result, c=-whole[2])
    found = device.residual([(1, moved[2])], moved[0], moved[1], **options)
    result = -wrap(cases.to_host(found), precision, dtype)
    gpu_exact.assert_product(whole[0], whole[1], result, c=-whole[2])


@pytest.mark.parametrize("shape", PANELS, ids=str)
@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_factorisations(precision, dtype, shape, batch):
    a = mdqr.random.normal(
        (*batch, *shape), precision=precision, dtype=dtype, rng=2, device=cases.DEVICE
    )
    Q, R = mdqr.linalg.qr(a)
    if batch:
        a, Q, R = (v[1] for v in (a, Q, R))
    gpu_exact.accept(a, Q, R)


@pytest.mark.parametrize("shape", [(2, 1, 1), (13, 8, 5), (20, 9, 11)], ids=str)
def test_windows(device, options, precision, dtype, shape, rng):
    """Windows with few diagonals below the main one, and single columns from their ends up."""
    m, w, below = shape
    a, z = np.triu(block(rng, options, m, w), -below), block(rng, options, m, 1)
    one = np.zeros((*a.shape[:-1], m))
    one[(0,) * (one.ndim - 2)] = np.eye(m)
    for call, matrix in ((partial(device.window, below=below), a), (device.rise, z)):
        r, e = device.xp.asarray(matrix), device.xp.asarray(one)
        call(r, e[..., :0], e, **options)
        found = (wrap(cases.to_host(x), precision, dtype) for x in (e, r))
        errors = gpu_exact.factor_errors(wrap(matrix, precision, dtype), *found)
        assert max(errors) <= 20 * m
        assert not np.tril(cases.to_host(r), -1).any()


@pytest.mark.parametrize("n", [1, 20, 45])
@pytest.mark.parametrize("lower", [False, True])
def test_triangles(precision, dtype, n, lower):
    draw = mdqr.random.normal
    options = {"precision": precision, "dtype": dtype, "device": cases.DEVICE}
    a = draw((n, n), rng=3, **options) + 3 * mdqr.eye(n, precision=precision, device=cases.DEVICE)
    b = draw((n, 2), rng=4, **options)
    x = mdqr.linalg.solve_triangular(a, b, 0, lower)
    part = mdqr.tril(a) if lower else mdqr.triu(a)
    # |b - T x| <= (n + 10) eps |T| |x|, below (k + 8) eps of the product with a factor 2.
    gpu_exact.assert_product(part, x, b, factor=2)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (33, 33), (5, 3), (32, 16), (70, 9)], ids=str)
@pytest.mark.parametrize("in_shared", [True, False])
def test_small_systems(device, options, shape, in_shared, rng, monkeypatch):
    """Every limb, bound, step and status is the host's, also of what is not served."""
    from mdqr._backend.cuda.factor import small
    from mdqr._backend.host import backend as host

    if not in_shared:
        monkeypatch.setattr(small, "_LEAST_TOGETHER", 10**6)
    small.plan.cache_clear()
    device.kernels.plans.clear()
    m, n = shape
    a, b = block(rng, options, 40, m, n), block(rng, options, 40, m, 2)
    a[..., 1, :, 0], a[..., 2, :, n - 1] = 0.0, np.nan
    a[..., 3:, :, :] *= 2.0 ** rng.integers(-40, 40, n)
    name = "solve_small" if m == n else "lstsq_small"
    found = getattr(device, name)(*(device.xp.asarray(v) for v in (a, b)), **options)
    wanted = getattr(host.backend(), name)(a, b, **options)
    for ours, theirs in zip(found, wanted, strict=True):
        if theirs is not None:
            np.testing.assert_array_equal(cases.to_host(ours), theirs)
    small.plan.cache_clear()
    device.kernels.plans.clear()


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (90, 21), (13, 40)], ids=str)
def test_eliminations(device, options, shape, rng):
    """Panels of LU and Cholesky factors have the host's limbs, and the host's pivots."""
    from mdqr._backend.host import backend as host

    m, n = shape
    a, w = block(rng, options, 3, m, n), min(m, n)
    rows = a[..., :w, :].copy()
    leading = rows[0, 0] if options["kind"].is_complex else rows[0]
    leading[..., np.arange(w), np.arange(w)] = 1e3
    found = []
    for backend in (device, host.backend()):
        lu, places = backend.xp.asarray(a.copy()), backend.xp.zeros((3, w), dtype=np.int64)
        backend.lu_panel(lu, places, 0, w, **options)
        c = backend.cholesky_panel(backend.xp.asarray(rows), **options)
        found.append([cases.to_host(each) for each in (lu, places, c)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_least_squares(precision, dtype):
    options = {"precision": precision, "dtype": dtype, "device": cases.DEVICE}
    a = mdqr.random.normal((12, 4), rng=5, **options)
    x = mdqr.array([1, -2, 3, 4], precision=precision, device=cases.DEVICE)
    fit = mdqr.linalg.lstsq(a, a @ x)
    # The right-hand side is rounded once: its error, times a condition below 100.
    assert abs(fit.x.to_numpy() - [1, -2, 3, 4]).max() <= 1e4 * precision.eps + 4 * 2.0**-52


@pytest.mark.parametrize("shape", [(1, 1), (70, 40), (600, 130), (2200, 50)], ids=str)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("panel", ["caqr", "cholesky"])
def test_tensor_core_factors(cupy, shape, method, panel, rng):
    """Panels of one block and of several, of fewer columns than 128 and of more."""
    a = rng.standard_normal(shape)
    for compute in FORMATS:
        options = {"method": method, "panel": panel, "compute": compute}
        for again in (False, True):
            Q, R = with_panel(tensorcore.qr)(cupy.asarray(a), reorthogonalize=again, **options)
            error = np.linalg.norm(cupy.asnumpy(Q @ R) - a, axis=0) / np.linalg.norm(a, axis=0)
            # Some tens of the unit roundoff, or of float32 where that is coarser.
            assert error.max() <= 64 * max(FORMATS[compute].unit, 2.0**-22)


def test_tensor_core_least_squares(cupy, rng):
    a = rng.standard_normal((600, 130))
    x = tensorcore.lstsq(cupy.asarray(a), cupy.asarray(a @ np.ones(130)))[0]
    # A condition below 10, and sums of 600.
    assert abs(cupy.asnumpy(x) - 1).max() <= 1e4 * 2.0**-52


@pytest.mark.parametrize("panel", ["caqr", "cholesky"])
def test_blocked_householder(cupy, panel, rng):
    a = rng.standard_normal((300, 140))
    Q, R = with_panel(tensorcore.blocked_householder)(cupy.asarray(a), "complete", panel=panel)
    # Errors of float32 in sums of 300: some hundreds of 2^-24, times entries up to 5.
    assert abs(cupy.asnumpy(Q @ R) - a).max() <= 2.0**-14
