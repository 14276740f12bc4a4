"""Conditions and values on a device are read by one transfer; a stand-in counts them."""

from __future__ import annotations

import types

import fake_device
import numpy as np
import pytest

import mdqr
from mdqr._limbs import planes
from mdqr.linalg import lstsq, matmul, solve, solve_triangular
from mdqr.linalg._products import matmul as products
from mdqr.linalg._shared import operands
from mdqr.linalg._shared.checks import Checks, fetch


class DeviceArray:
    """An array that is no NumPy array, with what `fetch` needs of CuPy's."""

    transfers = 0

    def __init__(self, values):
        self.values = np.asarray(values)
        self.dtype, self.shape, self.size = (
            getattr(self.values, name) for name in ("dtype", "shape", "size")
        )

    def ravel(self):
        return DeviceArray(self.values.ravel())

    def view(self, dtype):
        return DeviceArray(self.values.view(dtype))

    def astype(self, dtype):
        return DeviceArray(self.values.astype(dtype))

    def get(self):
        DeviceArray.transfers += 1
        return self.values

    def __bool__(self):
        raise AssertionError("a device value was read on its own")


@pytest.fixture
def device(monkeypatch):
    xp = types.SimpleNamespace(
        int64=np.int64,
        float64=np.float64,
        concatenate=lambda rows: DeviceArray(np.concatenate([row.values for row in rows])),
    )
    monkeypatch.setattr(planes, "namespace", lambda block: xp)
    monkeypatch.setattr(DeviceArray, "transfers", 0)


@pytest.mark.usefixtures("device")
def test_arrays_come_back_by_one_transfer():
    given = [
        np.array(True),
        np.array([[1.5, -0.0], [np.nan, 5e-324]]),
        np.array([-(2**63), 7]),
        np.array(np.inf),
        np.zeros((0, 3)),
    ]
    # What is on the host already stays there.
    found = fetch(*(DeviceArray(values) for values in given), given[1])
    assert DeviceArray.transfers == 1
    for x, y in zip(found, [*given, given[1]], strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        assert x.tobytes() == y.tobytes()


@pytest.mark.usefixtures("device")
def test_conditions_wait_for_the_next_transfer():
    def raise_error(name):
        raise ValueError(name)

    checks = Checks()
    checks.require(DeviceArray(True), lambda: raise_error("first"))
    checks.require(DeviceArray(False), lambda: raise_error("second"))
    checks.require(DeviceArray(False), lambda: raise_error("third"))
    assert DeviceArray.transfers == 0
    with pytest.raises(ValueError, match="second"):
        checks.settle(DeviceArray(1.0))
    assert DeviceArray.transfers == 1
    assert checks.settle(DeviceArray(2.5)) == (2.5,)
    assert checks.settle() == ()
    assert DeviceArray.transfers == 2


@pytest.mark.usefixtures("device")
def test_the_first_fault_is_raised():
    def raise_error(name):
        raise ValueError(name)

    def both(checks, faults):
        checks.refuse(faults, lambda: raise_error("first"), lambda: raise_error("second"))

    checks = Checks()
    both(checks, DeviceArray(np.array([0, 0])))
    both(checks, DeviceArray(np.array([0, 1])))
    assert DeviceArray.transfers == 0
    with pytest.raises(ValueError, match="second"):
        checks.settle()
    assert DeviceArray.transfers == 1
    checks.refuse(DeviceArray(np.array([1])), lambda: raise_error("single"))
    with pytest.raises(ValueError, match="single"):
        checks.settle()
    both(Checks(), np.array([0, 0]))
    with pytest.raises(ValueError, match="first"):
        both(Checks(), np.array([1, 1]))


@pytest.mark.parametrize("trans", ["N", "C"])
def test_a_triangle_waits_for_its_device_once(monkeypatch, trans, rng):
    a = mdqr.random.normal((5, 5), precision=mdqr.qd, rng=rng, dtype=complex)
    b = mdqr.random.normal((5,), precision=mdqr.dd, rng=rng)
    wanted = solve_triangular(a, b, trans)
    fake_device.install(monkeypatch)

    def to_device(x):
        return mdqr.MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, x.is_complex)

    counted = []
    get = fake_device.DeviceArray.get
    monkeypatch.setattr(fake_device.DeviceArray, "get", lambda x: counted.append(x.shape) or get(x))
    found = solve_triangular(to_device(a), to_device(b), trans)
    assert len(counted) == 1
    assert get(found.limbs).tobytes() == wanted.limbs.tobytes()
    a[2, 2] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="diagonal entry of column 2 is exactly zero"):
        solve_triangular(to_device(a), to_device(b), trans)
    a[1, 2] = np.inf
    with pytest.raises(np.linalg.LinAlgError, match="row 1, column 2 of a is NaN or infinite"):
        solve_triangular(to_device(a), to_device(b), trans)
    b[3] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="row 3, column 0 of b is NaN or infinite"):
        solve_triangular(to_device(mdqr.eye(5, precision=mdqr.dd)), to_device(b), trans)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
@pytest.mark.parametrize("most", [4 * 5 * 3 * 16, 2**27])
def test_short_products_do_not_wait_for_a_device(monkeypatch, columns, batch, most, rng):
    """The search for zero planes would take longer: of a few columns, and of few numbers."""
    monkeypatch.setattr(products, "_QUICK", most)
    a = mdqr.random.normal((*batch, 4, 5), precision=mdqr.qd, rng=rng)
    b = mdqr.array(rng.standard_normal((5, columns)), precision=mdqr.qd)
    wanted = matmul(a, b)
    fake_device.install(monkeypatch)

    def to_device(x):
        return mdqr.MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, x.is_complex)

    counted = []
    get = fake_device.DeviceArray.get
    monkeypatch.setattr(fake_device.DeviceArray, "get", lambda x: counted.append(x.shape) or get(x))
    for x, y in ((a, b), (b.mT, a.mT), (a, b[:, 0])):
        counted.clear()
        found = matmul(to_device(x), to_device(y))
        is_long = bool(batch) and most < 2**27
        assert len(counted) == (is_long and columns > 2 and y.ndim >= 2)
        if x is a and y.ndim == 2:
            assert get(found.limbs).tobytes() == wanted.limbs.tobytes()


def test_zero_planes_of_a_device_are_found_by_one_transfer(monkeypatch):
    fake_device.install(monkeypatch)
    wide = np.zeros((8, 2, 3))
    wide[0] = 1.0
    pairs = []
    for last, is_complex in [(0, False), (1, False), (2, True), (3, False), (5, True), (7, False)]:
        block = np.stack([wide, wide]) if is_complex else wide.copy()
        block[(1, last, 1, 2) if is_complex else (last, 1, 2)] = 2.0**-1074
        pairs.append((block, is_complex))
    counted = []
    get = fake_device.DeviceArray.get
    monkeypatch.setattr(fake_device.DeviceArray, "get", lambda x: counted.append(x.shape) or get(x))
    found = operands.trim([(fake_device.DeviceArray(block), field) for block, field in pairs])
    assert len(counted) == 1
    for (x, _), (y, _), limbs in zip(found, operands.trim(pairs), (1, 2, 4, 4, 8, 8), strict=True):
        assert isinstance(x, fake_device.DeviceArray)
        assert x.shape == y.shape
        assert y.shape[-3] == limbs
        assert get(x).tobytes() == y.tobytes()


def test_conditions_on_the_host_are_checked_at_once():
    def raise_error():
        raise ValueError("at once")

    checks = Checks()
    checks.require(np.bool_(True), raise_error)
    with pytest.raises(ValueError, match="at once"):
        checks.require(np.bool_(False), raise_error)


@pytest.mark.parametrize("shape", [(9, 4), (3, 9, 4), (3, 5, 5)], ids=str)
def test_small_systems_of_a_device(monkeypatch, shape, rng):
    """One call serves arrays of a device too; what is known of the solution is on the host."""
    a = mdqr.random.normal(shape, precision=mdqr.qd, rng=rng)
    b = mdqr.random.normal((*shape[:-1], 1), precision=mdqr.qd, rng=rng)
    wanted = lstsq(a, b)
    fake_device.install(monkeypatch)
    left, right = (
        mdqr.MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, x.is_complex)
        for x in (a, b)
    )
    fit = lstsq(left, right)
    assert fit.x.limbs.get().tobytes() == wanted.x.limbs.tobytes()
    for name in ("digits", "error_bound", "condition", "iterations", "bound_kind"):
        np.testing.assert_array_equal(getattr(fit.info, name), getattr(wanted.info, name))
    if shape[-1] == shape[-2]:
        found = solve(left, right)
        assert found.limbs.get().tobytes() == solve(a, b).limbs.tobytes()


def test_matrix_functions_name_what_is_wrong():
    with pytest.raises(np.linalg.LinAlgError, match=r"expm: the entry .* of the result is beyond"):
        mdqr.linalg.expm([[1e308, 1e308], [1e308, 1e308]])
    with pytest.raises(
        np.linalg.LinAlgError, match=r"^expm: a must be square; got shape \(2, 3\)$"
    ):
        mdqr.linalg.expm(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="rq: a must have at least two dimensions"):
        mdqr.linalg.rq([1.0, 2.0])
    for value in (None, {"a": 1}, {1, 2}, abs):
        with pytest.raises(TypeError, match=f"got {type(value).__name__}$"):
            mdqr.linalg.expm(value)
    with pytest.raises(ValueError, match="nested sequences must have one shape"):
        mdqr.linalg.expm([[1, 2], [3]])
    with pytest.raises(TypeError, match="give one, as in precision"):
        mdqr.linalg.expm([["1", "2"], ["3", "4"]])
