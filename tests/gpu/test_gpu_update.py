"""Updates on the device: accurate, without waiting, the same text as on the host."""

from __future__ import annotations

import warnings
from functools import partial

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._backend import for_block
from mdqr._backend.cuda.runtime import graphs as recordings
from mdqr._backend.cuda.runtime.graphs import Graphs
from mdqr._precision import PRECISIONS
from mdqr.linalg import UpdatableLstsq, certify, lstsq, qr, qr_delete, qr_insert, qr_update, repair
from mdqr.linalg._shared import checks
from mdqr.linalg._update.arithmetic import cuda_floats as floats

pytestmark = pytest.mark.gpu

SHAPES = [(150, 97), (97, 150), (120, 120), (9, 5)]


def draw(shape, precision, dtype, rng):
    options = {"precision": precision, "rng": rng, "device": cases.DEVICE}
    a = mdqr.random.uniform(shape, low=-1, high=1, **options)
    return a if dtype is float else a + 1j * mdqr.random.uniform(shape, low=-1, high=1, **options)


def accept(a, Q, R, *, larger=1.0):
    """The bound of one update; `larger` is how much larger the matrix was before it."""
    found = certify(a, Q, R)
    n = max(R.shape[-1], 1)
    assert found.normwise <= 20 * n * larger
    assert found.orthogonality <= 20 * n
    assert R.device.startswith(cases.DEVICE)
    r = cases.to_host(R).limbs
    assert not np.tril(r, -1).any()


def joined(parts, axis):
    return mdqr.concatenate(parts, axis=axis)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
def test_every_update(precision, dtype, shape, mode, method, rng):
    m, n = shape
    a = draw(shape, precision, dtype, rng)
    Q, R = qr(a, mode)
    for p in (1, 3, min(40, min(shape) - 2)):
        u, v, w = (draw(s, precision, dtype, rng) for s in ((p, n), (m, p), (n, p)))
        accept(joined([a[:2], u, a[2:]], 0), *qr_insert(Q, R, u, 2, method=method))
        accept(joined([a[:, :1], v, a[:, 1:]], 1), *qr_insert(Q, R, v, 1, "col", method=method))
        found = qr_delete(Q, R, 1, p, "col", method=method)
        accept(joined([a[:, :1], a[:, 1 + p :]], 1), *found)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            found = qr_delete(Q, R, 1, p, method=method)
        rest = joined([a[:1], a[1 + p :]], 0)
        # Norms of random matrices go with the root of the number of rows.
        accept(rest, *found, larger=2 * (m / max(m - p, 1)) ** 0.5)
        accept(a + v @ w.H, *qr_update(Q, R, v, w, method=method), larger=2.0)


def test_r_alone(precision, dtype, rng):
    """R of the host and of the device differ by rounding errors times the condition."""
    a = draw((130, 70), precision, dtype, rng)
    u = draw((20, 70), precision, dtype, rng)
    v = draw((130, 6), precision, dtype, rng)
    R = qr(a, "r")
    pairs = [
        (qr_insert(None, R, u, 0).R, joined([a, u], 0)),
        (qr_delete(None, R, 3, 9, "col").R, joined([a[:, :3], a[:, 12:]], 1)),
        (qr_delete(None, R, 0, u=a[:20], p=20).R, a[20:]),
        (qr_insert(None, R, v, 5, "col", a=a).R, joined([a[:, :5], v, a[:, 5:]], 1)),
    ]
    for found, matrix in pairs:
        wanted = qr(matrix, "r")
        size = float(abs(wanted).max().to_device("cpu"))
        error = float(abs(found - wanted).max().to_device("cpu"))
        assert error <= 1e6 * precision.eps * size


@pytest.mark.parametrize("check", [True, False])
def test_readings_of_the_device(multiple, check, rng, monkeypatch):
    """One transfer at the end, and one where directions leave a thin Q; or none."""
    # Directions that keep most of their length need no second pass.
    a = draw((300, 20), multiple, float, rng)
    Q, R = qr(a)
    fetched = []
    u = draw((5, 20), multiple, float, rng)

    host_block = checks.host_block
    monkeypatch.setattr(checks, "host_block", lambda x: fetched.append(x.shape) or host_block(x))
    columns = a[:, :2] * a[:, 2:4]
    for call, readings in (
        (lambda: qr_insert(Q, R, u, 1, check=check, method="update"), 1),
        (lambda: qr_delete(Q, R, 1, 2, check=check, method="update"), 2),
        (lambda: qr_delete(Q, R, 1, 2, "col", check=check, method="update"), 1),
        (lambda: qr_insert(Q, R, columns, 1, "col", check=check, method="update"), 2),
    ):
        fetched.clear()
        call()
        assert len(fetched) == (readings if check else 0)


def test_least_squares(precision, dtype, rng):
    a, b = draw((60, 12), precision, dtype, rng), draw((60,), precision, dtype, rng)
    u, c, v = (draw(s, precision, dtype, rng) for s in ((7, 12), (7,), (67,)))
    for keep_q in (False, True):
        fit = UpdatableLstsq(a, b, keep_q=keep_q)
        fit.insert_rows(u, c)
        fit.insert_cols(v, 3)
        fit.delete_cols(0, 2)
        fit.delete_rows(10, 5)
        data = joined([a, u], 0)
        data = joined([data[:, :3], v.reshape(-1, 1), data[:, 3:]], 1)[:, 2:]
        data, right = joined([data[:10], data[15:]], 0), joined([b, c], 0)
        right = joined([right[:10], right[15:]], 0)
        wanted = lstsq(data, right)
        bound = 1e4 * precision.eps
        assert float(abs(fit.solve() - wanted.x).max().to_device("cpu")) <= bound
        squares = fit.residual_norm() ** 2 - wanted.residuals[0]
        assert float(abs(squares).to_device("cpu")) <= 1e3 * bound
        fit.repair()
        assert float(abs(fit.solve() - wanted.x).max().to_device("cpu")) <= bound


@pytest.mark.parametrize("keep_q", [False, True])
@pytest.mark.parametrize("keep_data", [False, True])
def test_streamed_least_squares(precision, dtype, keep_q, keep_data, rng):
    """Rows that wait, leave here and there, and are merged; what is known of the solution."""
    a, b = draw((100, 8), precision, dtype, rng), draw((100,), precision, dtype, rng)
    a[:, 1] = 2.0
    kept = {"keep_q": keep_q, "keep_data": keep_data}
    fit, other = (UpdatableLstsq(a[s], b[s], **kept) for s in (slice(20), slice(30, 100)))
    for i in range(20, 30):
        fit.insert_rows(a[i], b[i : i + 1])
    fit.merge(other)
    leaving = [90, 2, 31]
    known = {} if keep_data else {"b": b[leaving]}
    fit.delete_rows(leaving, **known, **({"u": a[leaving]} if known and not keep_q else {}))
    rest = np.delete(np.arange(100), leaving)
    wanted, info = lstsq(a[rest], b[rest]), fit.info
    bound = 1e5 * precision.eps
    error = abs(fit.solve() - wanted.x).to_device("cpu").to_numpy()
    assert (error <= info.error_bound + wanted.info.error_bound).all()
    assert info.digits.min() > precision.digits - 9
    for name in ("residual_std", "r_squared"):
        difference = getattr(info, name) - getattr(wanted.info, name)
        assert float(abs(difference).to_device("cpu")) <= bound
    for name in ("standard_errors", "covariance"):
        difference = getattr(info, name)() - getattr(wanted.info, name)()
        assert float(abs(difference).max().to_device("cpu")) <= bound


def test_streams_of_cupy(rng, cupy):
    """Float32 arrays stay so; rows in memory that grows."""
    a = cupy.asarray(rng.standard_normal((400, 6)).astype(np.float32))
    fit = UpdatableLstsq(a[:10], a[:10, 0])
    for i in range(10, 400, 5):
        fit.insert_rows(a[i : i + 5], a[i : i + 5, 0])
        fit.delete_rows(slice(0, 3))
    assert fit.shape == (166, 6)
    info = fit.info
    assert info.covariance().dtype == np.float32
    assert 3 < info.digits.max() <= 7
    solution = cupy.asnumpy(fit.solve())
    assert abs(solution - np.eye(6)[0]).max() <= 1e-3


def test_repair(multiple, dtype, rng):
    a = draw((50, 20), multiple, dtype, rng)
    Q, R = qr(a)
    accept(a, *repair(a, Q * (1 + multiple.eps**0.6), R))


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
def test_float_arrays_of_cupy(kind, rng, cupy):
    real = rng.standard_normal((90, 50))
    a = cupy.asarray((real if kind[0] == "f" else real + 1j * real[::-1]).astype(kind))
    eps = float(np.finfo(kind).eps)
    for mode in ("reduced", "complete"):
        Q, R = cupy.linalg.qr(a, mode)
        for found, wanted in (
            (qr_insert(Q, R, a[:7] * 2, 3), cupy.concatenate([a[:3], a[:7] * 2, a[3:]])),
            (qr_delete(Q, R, 3, 7, "col"), cupy.concatenate([a[:, :3], a[:, 10:]], axis=1)),
            (qr_delete(Q, R, 3, 7), cupy.concatenate([a[:3], a[10:]])),
            (
                qr_insert(Q, R, a[:, :2] * a[:, 2:4], 3, "col"),
                cupy.concatenate([a[:, :3], a[:, :2] * a[:, 2:4], a[:, 3:]], axis=1),
            ),
        ):
            assert found.Q.dtype == found.R.dtype == np.dtype(kind)
            error = float(cupy.linalg.norm(found.Q @ found.R - wanted))
            assert error <= 20 * 50 * eps * float(cupy.linalg.norm(a)) * 2


def float_errors(a, Q, R, cupy):
    """Residual and departure from orthonormality in eps of float32, relative."""
    a, Q, R = (x.astype("float64") for x in (a, Q, R))
    eps = float(np.finfo(np.float32).eps)
    residual = float(cupy.linalg.norm(a - Q @ R) / cupy.linalg.norm(a)) / eps
    return residual, float(cupy.linalg.norm(cupy.eye(Q.shape[1]) - Q.T @ Q)) / eps


@pytest.mark.parametrize("deficient", [False, True])
@pytest.mark.parametrize("check", [False, True])
def test_float32_by_quick_panels_and_by_the_library(deficient, check, rng, cupy, monkeypatch):
    """Windows of several panels; columns that depend on others go to the library in the end."""
    m, n, p = 1500, 1100, 150
    made = []
    panels = floats.CudaPanels
    monkeypatch.setattr(floats, "CudaPanels", lambda k: made.append(panels(k)) or made[-1])
    a = cupy.asarray(rng.uniform(-1, 1, (m, n)).astype(np.float32))
    if deficient:
        a[:, 700] = 0
    u, v, w = (
        cupy.asarray(rng.uniform(-1, 1, shape).astype(np.float32))
        for shape in ((p, n), (m, p), (n, p))
    )
    if deficient:
        u[:, 700] = w[700] = 0
    options = {"check": check, "method": "update"}
    for mode in ("reduced", "complete"):
        Q, R = cupy.linalg.qr(a, mode)
        for call, wanted in (
            (partial(qr_insert, Q, R, u, 5), cupy.concatenate([a[:5], u, a[5:]])),
            (
                partial(qr_insert, Q, R, v, 3, "col"),
                cupy.concatenate([a[:, :3], v, a[:, 3:]], axis=1),
            ),
            (
                partial(qr_delete, Q, R, 4, p, "col"),
                cupy.concatenate([a[:, :4], a[:, 4 + p :]], axis=1),
            ),
            (partial(qr_update, Q, R, v, w), a + v @ w.T),
        ):
            made.clear()
            residual, departure = float_errors(wanted, *call(**options), cupy)
            assert bool(made) == check
            assert residual <= 60
            # Of random signs: the root of as many columns as rows, times some roundings each.
            assert departure <= 40 * m**0.5
    if check and not deficient:
        found = qr_delete(None, cupy.linalg.qr(a, "r"), 0, u=a[:p], p=p).R.astype("float64")
        rest = a[p:].astype("float64")
        error = float(cupy.linalg.norm(found.T @ found - rest.T @ rest))
        assert error <= 20 * np.finfo(np.float32).eps * float(cupy.linalg.norm(a)) ** 2


@pytest.mark.parametrize("p", [1, 30, 90])
def test_windows_of_every_precision_are_wide(p, rng):
    """Several windows of the width that the device gets; of few columns by a launch each."""
    for precision in PRECISIONS[1:]:
        a = draw((700, 600), precision, float, rng)
        R = qr(a, "r")
        found = qr_delete(None, R, 0, p, "col", method="update").R
        wanted = qr(a[:, p:], "r")
        error = float(abs(found - wanted).max().to_device("cpu"))
        assert error <= 1e6 * precision.eps * float(abs(wanted).max().to_device("cpu"))


@pytest.mark.parametrize("deficient", [False, True])
def test_recorded_windows_are_as_good(deficient, rng, cupy, monkeypatch):
    """From the third time on a window is a graph, on every stream; breakdowns are noted too."""
    backend = for_block(cupy.zeros(1))
    graphs = Graphs(cupy)
    monkeypatch.setattr(backend.kernels, "graphs", graphs)
    a = cupy.asarray(rng.uniform(-1, 1, (812, 512)).astype(np.float32))
    if deficient:
        a[:, 300] = a[:, 200]

    def results():
        engine = floats.floats(backend, np.dtype("float32"))
        engine.fast = True
        r, s = a.copy(), a.copy()
        q = engine.orthogonal(r)
        factors = engine.factor(s, 200)
        return r, q, s, *factors.vs, *factors.ts, bool(engine.breakdown.any())

    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            cupy.cuda.runtime.deviceSynchronize()
            found = [results() for _ in range(6)]
            stream.synchronize()
        assert all(one[-1] == deficient for one in found)
        if not deficient:
            # cuBLAS may take another kernel with other memory, and then sums in another order.
            for x, y, z in zip(found[0][:-1], found[-2][:-1], found[-1][:-1], strict=True):
                cupy.testing.assert_array_equal(y, z)
                assert float(abs(x - y).max()) <= 50 * 2.0**-23 * float(abs(x).max())
    assert len(graphs._recordings) == 4


def test_recordings_keep_within_their_memory(rng, cupy, monkeypatch):
    monkeypatch.setattr(recordings, "_MOST_BYTES", 2**25)
    backend = for_block(cupy.zeros(1))
    graphs = Graphs(cupy)
    monkeypatch.setattr(backend.kernels, "graphs", graphs)
    engine = floats.floats(backend, np.dtype("float32"))
    engine.fast = True
    for n in range(130, 160, 2):
        a = cupy.asarray(rng.uniform(-1, 1, (500, n)).astype(np.float32))
        for _ in range(4):
            r = a.copy()
            q = engine.orthogonal(r)
        assert float(cupy.linalg.norm(q @ r - a)) <= 60 * 2.0**-23 * float(cupy.linalg.norm(a))
    held = sum(x.pool.total_bytes() for x in graphs._recordings.values())
    assert 0 < held <= 2**25
