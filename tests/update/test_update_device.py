"""Updates on a device: what is read of it, and the kernels of CUDA on the CPU."""

from __future__ import annotations

import fake_device
import numpy as np
import pytest
import update_cases as cases

import mdqr
from mdqr import MDArray
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg import UpdatableLstsq, qr, qr_delete, qr_insert, qr_update, repair
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import columns as columns
from mdqr.linalg._update import rows
from mdqr.linalg._update.arithmetic import sweeps
from mdqr.linalg._update.arithmetic.blocks import Planes
from mdqr.linalg._update.state import State

PAIR = PRECISIONS[1]


@pytest.fixture
def transfers(monkeypatch):
    """Blocks on the fake device, and how many were fetched so far."""
    fake_device.install(monkeypatch)
    fetched = []
    get = fake_device.DeviceArray.get
    monkeypatch.setattr(fake_device.DeviceArray, "get", lambda x: fetched.append(x.shape) or get(x))
    return fetched


def to_fake_device(x):
    return MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, x.is_complex)


def to_host(x):
    block = x._block
    assert isinstance(block, fake_device.DeviceArray)
    return MDArray._wrap(block.values, x.precision, x.is_complex)


CALLS = {
    "insert rows": lambda a, Q, R, **o: (
        cases.insert(a, a[:2], 1, 0), qr_insert, (Q, R, a[:2], 1), o,
    ),
    "insert columns": lambda a, Q, R, **o: (
        cases.insert(a, (a[:, :2] * a[:, 2:]), 1, 1),
        qr_insert, (Q, R, a[:, :2] * a[:, 2:], 1, "col"), o,
    ),
    "delete rows": lambda a, Q, R, **o: (cases.delete(a, 1, 2, 0), qr_delete, (Q, R, 1, 2), o),
    "delete columns": lambda a, Q, R, **o: (
        cases.delete(a, 1, 2, 1), qr_delete, (Q, R, 1, 2, "col"), o,
    ),
    "change": lambda a, Q, R, **o: (
        a + (a[:, :1] * a[:, 1:2]) @ a[:1].conj(),
        qr_update, (Q, R, a[:, :1] * a[:, 1:2], a[:1].T), o,
    ),
}  # fmt: skip


ORTHOGONALIZED = ("insert columns", "delete rows", "change")


@pytest.fixture(params=PRECISIONS[:2], ids=str)
def precision(request):
    """One limb and more: the text is the same for all of more."""
    return request.param


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
@pytest.mark.parametrize("check", [True, False])
def test_one_transfer_or_none(precision, dtype, mode, method, check, rng, request):
    """One at the end; where new directions leave a thin Q, one more after each pass."""
    a = cases.values((9, 4), precision, dtype, rng)
    calls = {k: call(a, *qr(a, mode), method=method, check=check) for k, call in CALLS.items()}
    transfers = request.getfixturevalue("transfers")
    for name, (wanted, function, operands, options) in calls.items():
        moved = [to_fake_device(x) if isinstance(x, MDArray) else x for x in operands]
        transfers.clear()
        found = function(*moved, **options)
        orthogonalized = name in ORTHOGONALIZED and mode == "reduced" and method == "update"
        assert len(transfers) in (((2, 3) if orthogonalized else (1,)) if check else (0,))
        largest = cases.norm(a) + cases.norm(wanted)
        cases.accept(wanted, to_host(found.Q), to_host(found.R), largest=largest)


@pytest.mark.parametrize("check", [True, False])
def test_one_transfer_without_q(precision, dtype, check, rng, transfers):
    a = cases.values((12, 4), precision, dtype, rng)
    u = cases.values((12, 1), precision, dtype, rng)
    R, device = to_fake_device(qr(a, "r")), to_fake_device(a)

    def repaired():
        return repair(device, None, R, check=check)

    for wanted, call in (
        (mdqr.concatenate([a, a[:2]]), lambda: qr_insert(None, R, device[:2], 0, check=check)),
        (a[1:], lambda: qr_delete(None, R, 0, u=device[0], check=check)),
        (cases.delete(a, 1, 1, 1), lambda: qr_delete(None, R, 1, 1, "col", check=check)),
        (
            cases.insert(a, u, 1, 1),
            lambda: qr_insert(
                None, R, to_fake_device(u), 1, "col", a=device, check=check, method="update"
            ),
        ),
        (a, repaired),
    ):
        transfers.clear()
        found = call().R
        # `repair` asks whether another sweep is needed.
        assert len(transfers) == ((2 if call is repaired else 1) if check else 0)
        # The condition of A stands in the bound of columns that come.
        cases.accept_r(wanted, to_host(found), largest=10 * cases.norm(wanted))


def test_errors_come_from_the_device(precision, rng, transfers):
    a = cases.values((6, 3), precision, float, rng)
    Q, R = map(to_fake_device, qr(a))
    with pytest.raises(np.linalg.LinAlgError, match="u is NaN or infinite"):
        qr_insert(Q, R, to_fake_device(a[0] * np.nan), 0)
    with pytest.raises(np.linalg.LinAlgError, match="below rcond"):
        qr_insert(Q, R, to_fake_device(a[:, 0] + a[:, 1]), 0, "col", method="update")
    b = a.copy()
    b[1:, 2] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="rank is at most 2 of 3"):
        qr_delete(*map(to_fake_device, qr(b)), 0, method="update")
    with pytest.raises(np.linalg.LinAlgError, match="rank is at most 2 of 3"):
        qr_delete(None, to_fake_device(qr(b, "r")), 0, u=to_fake_device(b[0]))
    with pytest.raises(np.linalg.LinAlgError, match="factor A anew"):
        repair(to_fake_device(a), Q, to_fake_device(qr(a, "r") * 2.0))
    assert len(transfers) < 15


@pytest.mark.parametrize("keep_q", [False, True])
def test_least_squares_on_a_device(precision, dtype, keep_q, rng, transfers):
    a, b = cases.values((9, 4), precision, dtype, rng), cases.values((9,), precision, dtype, rng)
    host_fit, device_fit = (
        UpdatableLstsq(x, y, keep_q=keep_q)
        for x, y in ((a, b), (to_fake_device(a), to_fake_device(b)))
    )
    u = cases.values((10,), precision, dtype, rng)
    for fit, move in ((host_fit, lambda x: x), (device_fit, to_fake_device)):
        fit.insert_rows(move(a[2] * a[3]), move(b[2:3]))
        fit.insert_cols(move(u), 2)
        fit.delete_cols(0)
        fit.delete_rows(1, 2)
        fit.repair()
    slack = 1e6 * precision.eps
    assert float(abs(to_host(device_fit.solve()) - host_fit.solve()).max()) <= slack
    norms = to_host(device_fit.residual_norm()), host_fit.residual_norm()
    assert float(abs(norms[0] - norms[1])) <= slack


@pytest.mark.parametrize("keep_data", [False, True])
@pytest.mark.parametrize("keep_q", [False, True])
def test_streams_on_a_device(precision, dtype, keep_q, keep_data, rng, transfers):
    """Rows that wait, leave here and there, and are merged; what is known of the solution."""
    a, b = cases.values((12, 3), precision, dtype, rng), cases.values((12,), precision, dtype, rng)
    a[:, 1] = 2.0

    def stream(move):
        kept = {"keep_q": keep_q, "keep_data": keep_data}
        fit, other = (
            UpdatableLstsq(move(a[s]), move(b[s]), **kept) for s in (slice(6), slice(8, 12))
        )
        for i in (6, 7):
            fit.insert_rows(move(a[i]), move(b[i : i + 1]))
        fit.merge(other)
        known = {} if keep_data else {"b": move(b[[9, 2]])}
        fit.delete_rows([9, 2], **known, **({"u": move(a[[9, 2]])} if known and not keep_q else {}))
        return fit

    host, device = stream(lambda x: x).info, stream(to_fake_device).info
    slack = 1e6 * precision.eps
    assert host.condition == pytest.approx(device.condition, rel=1e-3)
    assert isinstance(device.digits, np.ndarray)
    assert abs(device.digits - host.digits).max() < 4
    for name in ("residual_std", "r_squared"):
        assert float(abs(to_host(getattr(device, name)) - getattr(host, name))) <= slack
    for name in ("standard_errors", "covariance"):
        found, wanted = to_host(getattr(device, name)()), getattr(host, name)()
        assert float(abs(found - wanted).max()) <= slack


def test_operands_of_two_devices(rng, transfers):
    a = cases.values((6, 3), mdqr.dd, float, rng)
    Q, R = map(to_fake_device, qr(a))
    with pytest.raises(ValueError, match="different devices"):
        qr_insert(Q, R, a[0], 0)
    fit = UpdatableLstsq(to_fake_device(a), to_fake_device(a[:, 0]))
    with pytest.raises(ValueError, match="different devices"):
        fit.insert_rows(a[0], to_fake_device(a[:1, 0]))
    with pytest.raises(ValueError, match="different devices"):
        fit.merge(UpdatableLstsq(a, a[:, 0]))


class Narrow(Planes):
    """Windows of few columns, so that small matrices have several."""

    def width(self, sweep, p):
        return 4


# One precision in every run: the others are the same text over other kernels, compiled for minutes.
EMULATED = [
    pytest.param(p, id=str(p), marks=[] if p is PAIR else [pytest.mark.long])
    for p in PRECISIONS[1:]
]


@pytest.fixture(scope="module", params=EMULATED)
def emulated(request, kernels):
    """The kernels of CUDA, and the precision they work in."""
    return Narrow(CudaBackend(kernels), Kind(request.param.limbs, False)), request.param


def state_of(emulated, a, mode):
    engine, _ = emulated
    Q, R = qr(a, mode)
    return State(engine, Q.limbs.copy(), R.limbs.copy(), a.shape[1])


def accept(emulated, state, wanted, largest):
    _, precision = emulated
    state.normalise()
    Q, R = (MDArray._wrap(np.ascontiguousarray(x), precision, False) for x in (state.q, state.r))
    cases.accept(wanted, Q, R, largest=largest)


@pytest.fixture(params=["a call each", "panels"])
def windows(request, monkeypatch):
    """Windows of few rows and columns: of four columns by a launch each, and by panels."""
    columns = 4 if request.param == "a call each" else 0
    monkeypatch.setattr(sweeps, "window_columns", lambda *_: columns)
    return columns


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_kernels_of_cuda(emulated, windows, mode, rng):
    """Every sweep by the text of the CUDA kernels."""
    engine, precision = emulated
    launched = engine.backend.kernels.launched
    launched.clear()
    a = cases.values((14, 9), precision, float, rng)
    u = cases.values((3, 9), precision, float, rng)
    v = cases.values((14, 2), precision, float, rng)
    w = cases.values((9, 2), precision, float, rng)
    size = cases.norm(a)
    state = state_of(emulated, a, mode)
    rows.insert_rows(state, u.limbs.copy(), 5)
    accept(emulated, state, cases.insert(a, u, 5, 0), size + cases.norm(u))
    # Nine columns; rows that come and columns that go need nothing else to be factored.
    assert launched.count("mdqr_window") == (3 if windows else 0)
    assert ("mdqr_qr_panel" in launched) == (not windows)
    state = state_of(emulated, a, mode)
    rows.delete_rows(state, 3, 2)
    accept(emulated, state, cases.delete(a, 3, 2, 0), size)
    state = state_of(emulated, a, mode)
    columns.insert_columns(state, v.limbs, 2)
    accept(emulated, state, cases.insert(a, v, 2, 1), size + cases.norm(v))
    state = state_of(emulated, a, mode)
    columns.delete_columns(state, 1, 2)
    accept(emulated, state, cases.delete(a, 1, 2, 1), size)
    state = state_of(emulated, a, mode)
    columns.change(state, v.limbs, w.limbs)
    accept(emulated, state, a + v @ w.T, size + cases.norm(v) * cases.norm(w))


def test_kernels_of_cuda_without_q(emulated, rng):
    engine, precision = emulated
    a = cases.values((16, 6), precision, float, rng)
    v = cases.values((16, 2), precision, float, rng)
    checks = Checks()
    state = State(engine, None, qr(a, "r").limbs.copy(), 6)
    rows.delete_known_rows(state, a[:3].limbs, checks)
    state.normalise()
    R = MDArray._wrap(np.ascontiguousarray(state.r), precision, False)
    cases.accept_r(a[3:], R, largest=cases.norm(a))
    state = State(engine, None, qr(a, "r").limbs.copy(), 6)
    columns.insert_unknown_columns(state, a.limbs, v.limbs, 1, "test", checks)
    state.normalise()
    R = MDArray._wrap(np.ascontiguousarray(state.r), precision, False)
    wanted = cases.insert(a, v, 1, 1)
    cases.accept_r(wanted, R, largest=10 * cases.norm(wanted))
