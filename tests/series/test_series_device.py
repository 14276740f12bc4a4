"""Series on a device, without one: no array of NumPy meets one of the device."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import fake_device
import numpy as np
import pytest
from series_families import cyclic, cyclic_start

import mdqr
from mdqr import MDArray
from mdqr.series import PowerSeries, System, newton_series


class _Cupy:
    """The module that makes arrays on the fake device."""

    ndarray = fake_device.DeviceArray
    cuda = SimpleNamespace(
        Device=lambda _: nullcontext(),
        runtime=SimpleNamespace(
            getDeviceCount=lambda: 1, getDevice=lambda: 0, CUDARuntimeError=RuntimeError
        ),
    )

    @staticmethod
    def array(values, dtype=None, order="C"):
        return fake_device.DeviceArray(np.array(fake_device.bare(values), dtype, order=order))

    @staticmethod
    def zeros(shape):
        return fake_device.DeviceArray(np.zeros(shape))


class _Device(fake_device._Backend):
    """As CUDA, without kernels for small systems."""

    def __getattr__(self, name):
        if name.endswith("_small"):
            raise AttributeError(name)
        return super().__getattr__(name)


def _maximum(self, axis=None, out=None, keepdims=False):
    """As CuPy's, which takes no `initial`."""
    return fake_device.wrapped(self.values.max(axis, out, keepdims))


@pytest.fixture
def on_device(monkeypatch):
    """Let every module compute with blocks of the fake device; values may be read one by one."""
    fake_device.install(monkeypatch)
    device = _Device()
    for name, module in list(sys.modules.items()):
        if name.startswith("mdqr.") and hasattr(module, "for_block"):
            host = module.for_block
            monkeypatch.setattr(
                module,
                "for_block",
                lambda block, host=host: (
                    device if isinstance(block, fake_device.DeviceArray) else host(block)
                ),
            )
        if name.startswith("mdqr.") and hasattr(module, "cupy_of"):
            monkeypatch.setattr(module, "cupy_of", lambda _: device.xp)
    monkeypatch.setitem(sys.modules, "cupy", _Cupy())
    monkeypatch.setattr(device.xp, "asarray", _Cupy.array, raising=False)
    monkeypatch.setattr(fake_device.DeviceArray, "max", _maximum, raising=False)
    for name in ("bool", "float", "int", "index"):
        method = f"__{name}__"
        monkeypatch.setattr(
            fake_device.DeviceArray,
            method,
            lambda self, method=method: getattr(self.values, method)(),
        )
    return lambda a: MDArray._wrap(fake_device.DeviceArray(a.limbs), a.precision, a.is_complex)


def host_limbs(a):
    assert isinstance(a._block, fake_device.DeviceArray)
    return a._block.values


def assert_near(there, here):
    """The inverses of Jacobians are found in other ways: 8 units of each coefficient."""
    assert isinstance(there._block, fake_device.DeviceArray)
    found = MDArray._wrap(there._block.values, here.precision, here.is_complex)
    assert (abs(found - here) <= 8 * here.precision.eps * abs(here)).all()


@pytest.mark.parametrize("method", ["online", "newton"])
def test_series_of_the_host(on_device, method):
    starts = np.stack([cyclic_start(5), cyclic_start(5) * np.exp(2j * np.pi / 5)])
    x0 = mdqr.array(starts, precision="qd")
    options = {"degree": 7, "precision": "qd", "method": method}
    here, there = (newton_series(cyclic(5), x, **options) for x in (x0, on_device(x0)))
    assert_near(there.coeffs, here.coeffs)
    assert there.residual().shape == here.residual().shape == (2, 5, 8)
    np.testing.assert_allclose(there.digits, here.digits, atol=0.5)
    assert there["x0"].shape == (2,)


def test_overdetermined_systems(on_device):
    system = System.from_strings(["(1-t)*x - 1", "(1-t)*y - x", "y - x^2"], ["x", "y"])
    x0 = mdqr.array([1, 1], precision="dd")
    here, there = (newton_series(system, x, degree=7, precision="dd") for x in (x0, on_device(x0)))
    assert_near(there.coeffs, here.coeffs)


def test_another_point_of_the_parameter(on_device):
    system = System.from_strings(["x^2 - t"], ["x"])
    x0 = mdqr.array([1], precision="dd")
    here, there = (
        newton_series(system, x, degree=8, precision="dd", t0=1) for x in (x0, on_device(x0))
    )
    assert_near(there.coeffs, here.coeffs)
    assert float(there.radius().value) == float(here.radius().value)
    assert there.pade(2, 2)[0].poles.values.device == "cpu"


CALLS = {
    "product": lambda x: x * x,
    "quotient": lambda x: 1 / x,
    "square root": lambda x: x.sqrt(),
    "power": lambda x: x**-3,
    "constant": lambda x: x + 2,
    "derivative": lambda x: x.deriv(),
    "integral": lambda x: x.integ(1),
    "composition": lambda x: x.compose(x * 0),
    "longer": lambda x: x.extended(9),
}


@pytest.mark.parametrize("name", CALLS)
def test_arithmetic(on_device, name):
    a = mdqr.array([[4, 1, 2, 3], [9, 1, -1, 5]], precision="qd")
    here, there = (CALLS[name](PowerSeries(x)) for x in (a, on_device(a)))
    np.testing.assert_array_equal(host_limbs(there.coeffs), here.coeffs.limbs)
