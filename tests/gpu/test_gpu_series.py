"""Power series on the device: the limbs of the host's kernel, and the host's coefficients."""

from __future__ import annotations

import math
from fractions import Fraction

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._backend.host import backend as host
from mdqr._backend.protocol import ProductGraph
from mdqr._limbs.planes import Kind
from mdqr.series import PowerSeries, SingularJacobianError, System, newton_series, track

pytestmark = pytest.mark.gpu

DEGREE = 31


def cyclic(n):
    """Cyclic n-roots with their product set to 1 + t, and a start."""
    names = [f"x{i}" for i in range(n)]
    equations = [
        " + ".join("*".join(names[(i + j) % n] for j in range(length)) for i in range(n))
        for length in range(1, n)
    ]
    system = System.from_strings([*equations, "*".join(names) + " - 1 - t"], names)
    return system, np.exp(2j * np.pi * (np.arange(n) + (n % 2 == 0) / 2) / n)


def triangular(n):
    """``x_1 ... x_i (1 - c_i t) = 1``, and the start of ones."""
    names = [f"x{i}" for i in range(n)]
    c = [Fraction((i + 1) % 7 + 1, 8) for i in range(n)]
    equations = ["*".join(names[: i + 1]) + f"*(1 - {c[i]}*t) - 1" for i in range(n)]
    return System.from_strings(equations, names), np.ones(n)


def both(system, x0, precision, **options):
    """The solution on the host and on the device."""
    return [
        newton_series(system, x0, precision=precision, device=device, **options)
        for device in ("cpu", cases.DEVICE)
    ]


def assert_near(here, there, factor=8):
    """As many units of each coefficient, relative to the largest of its order."""
    assert there.coeffs.device.startswith("cuda")
    size = abs(here.coeffs).to_numpy().max(axis=-2, keepdims=True)
    error = abs(there.coeffs.to_device("cpu") - here.coeffs).to_numpy()
    # In d the inverse of the Jacobian is the library's, on each device another, and rounds as eps.
    factor *= 8 if here.coeffs.precision is mdqr.d else 1
    assert (error <= factor * here.coeffs.precision.eps * size).all()


@pytest.mark.usefixtures("host")
def test_limbs_of_the_host(precision, dtype, rng, cupy):
    from mdqr._backend.cuda import backend

    kind = Kind(precision.limbs, dtype is complex)
    chain = [0, *range(2, 40)], [1] * 39, range(40)
    wide = [0] * 300, [1] * 300, (0, 300)
    for parts in (chain, wide):
        graph = ProductGraph(*(np.array(part, dtype=np.int64) for part in parts))
        shape = (5, 2 + len(graph.left), 32)
        values = cases.block(rng, kind.limbs, shape, kind.is_complex)
        sums = np.zeros((*values.shape[: 1 + kind.is_complex], 5, len(graph.left)))
        moved, inner = cupy.asarray(values), cupy.asarray(sums)
        on_device = ProductGraph(*map(cupy.asarray, graph))
        for order in (0, 1, 2, 9, 31):
            for again in (False, True):
                options = {"kind": kind, "again": again}
                backend.backend().series_order(moved, inner, on_device, order, **options)
                host.backend().series_order(values, sums, graph, order, **options)
        np.testing.assert_array_equal(moved.get(), values)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("n", [5, 7, 13])
def test_cyclic_roots(n, precision):
    assert_near(*both(*cyclic(n), precision, degree=DEGREE), factor=8 * n)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("n", [8, 64])
def test_triangular_systems(n, precision):
    assert_near(*both(*triangular(n), precision, degree=DEGREE), factor=8 * n)


@pytest.mark.usefixtures("host")
def test_batches(multiple):
    system, x0 = cyclic(5)
    starts = np.stack([x0 * np.exp(2j * np.pi * k / 5) for k in range(5)] * 20)
    here, there = both(system, starts, multiple, degree=9)
    assert_near(here, there, factor=40)
    np.testing.assert_allclose(there.digits, here.digits, atol=1)


@pytest.mark.usefixtures("host")
def test_newton_and_overdetermined_systems(multiple):
    system, x0 = cyclic(5)
    assert_near(*both(system, x0, multiple, degree=15, method="newton"), factor=100)
    system = System.from_strings(["(1-t)*x - 1", "(1-t)*y - x", "y - x^2"], ["x", "y"])
    assert_near(*both(system, [1, 1], multiple, degree=15), factor=100)


def test_singular_starts(multiple):
    system, x0 = cyclic(4)
    with pytest.raises(SingularJacobianError, match="no power series in t"):
        newton_series(system, x0, degree=3, precision=multiple, device=cases.DEVICE)


@pytest.mark.usefixtures("host")
def test_arithmetic(precision):
    here, there = (
        PowerSeries.variable(20, precision=precision, at=Fraction(3, 2), device=device)
        for device in ("cpu", cases.DEVICE)
    )
    for function in (
        lambda t: t * t - 1 / t,
        lambda t: t.sqrt() + t**-3,
        lambda t: t.deriv() * t.integ(2),
        lambda t: (t - Fraction(3, 2)).reversion(),
        lambda t: t.shift(Fraction(1, 3)),
    ):
        a, b = (function(t).coeffs for t in (here, there))
        error = abs(b.to_device("cpu") - a).to_numpy().max()
        assert error <= 100 * precision.eps * float(abs(a).max())


def test_radius_and_paths(multiple):
    system = System.from_strings(["x^2 - 1 - 2*t"], ["x"])
    s = newton_series(system, [1], degree=32, precision=multiple, device=cases.DEVICE)
    assert float(s.radius().value) == pytest.approx(0.5, rel=1e-6)
    path = track(system, [1], precision="dd", device=cases.DEVICE)
    assert abs(float(path.x[-1, 0]) - math.sqrt(3)) <= 4e-16
    assert mdqr.dd.limbs == path.x.precision.limbs
