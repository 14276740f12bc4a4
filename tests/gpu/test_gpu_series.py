"""Power series on the device: the limbs of the host's kernel, and the host's coefficients."""

from __future__ import annotations

import math
from fractions import Fraction

import gpu_cases as cases
import numpy as np
import pytest
import series_acceptance as acceptance
from series_cases import chain, pairs, wide
from series_families import cyclic, cyclic_start, triangular_rational

import mdqr
from mdqr._backend.host import backend as host
from mdqr._backend.protocol import ProductGraph
from mdqr._limbs.planes import Kind
from mdqr.series import PowerSeries, System, newton_series, track

pytestmark = pytest.mark.gpu

DEGREE = 31


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
    for graph in (chain(39), wide(300)):
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
@pytest.mark.parametrize("graph", [chain(11), wide(70)], ids=["chain", "wide"])
def test_equations_and_expansions_have_the_limbs_of_the_host(graph, precision, dtype, rng, cupy):
    from mdqr._backend.cuda import backend

    kind = Kind(precision.limbs, dtype is complex)
    # More orders of a chain leave the range of doubles.
    options = {"batch": 300, "orders": 12, "moved": cupy.asarray}
    for here, there in pairs(backend.backend(), rng, kind, graph, **options):
        np.testing.assert_array_equal(there.get(), here)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("n", [5, 6, 7, 10, 11, 13])
def test_coefficients_of_the_host(n, precision):
    assert_near(*both(cyclic(n), cyclic_start(n), precision, degree=DEGREE))


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("n", [8, 32, 64, 80])
def test_triangular_coefficients_of_the_host(n, precision):
    # Those of low precision lose digits that grow with n, on each device others.
    factor = 8 if n <= 64 and precision > mdqr.d else 8 * n
    assert_near(*both(triangular_rational(n)[0], np.ones(n), precision, degree=DEGREE), factor)


@pytest.mark.parametrize("n", [5, 6, 7, 10, 11, 13])
def test_cyclic_roots(n, precision):
    acceptance.check_cyclic(n, DEGREE, precision, cases.DEVICE)


@pytest.mark.parametrize("precision", [mdqr.qd, mdqr.od], ids=str)
def test_cyclic_roots_of_high_degree(precision):
    acceptance.check_cyclic(7, 63, precision, cases.DEVICE)


@pytest.mark.parametrize("n", [4, 8, 9])
def test_singular_starts(n, precision):
    acceptance.check_singular(n, precision, cases.DEVICE)


@pytest.mark.parametrize("n", [8, 32, 64, 80])
def test_triangular_systems(n, precision):
    acceptance.check_triangular(n, precision, cases.DEVICE)


@pytest.mark.parametrize("n", [8, 16, 32])
@pytest.mark.parametrize("degree", [15, 31, 63])
def test_exponential_systems(n, degree, precision):
    acceptance.check_exponential(n, degree, precision, cases.DEVICE)


@pytest.mark.parametrize("precision", [mdqr.d, mdqr.dd, mdqr.qd], ids=str)
def test_exponential_systems_in_the_next_precision(precision):
    acceptance.check_next_precision(16, 31, precision, cases.DEVICE)


def test_newton_doubles_orders(precision):
    acceptance.check_staircase(precision, cases.DEVICE)


def test_both_methods_agree(precision):
    acceptance.check_methods_agree(precision, cases.DEVICE)


@pytest.mark.parametrize("precision", [mdqr.qd, mdqr.od], ids=str)
def test_a_start_in_double_is_refined(precision):
    acceptance.check_double_start(precision, cases.DEVICE)


def test_coefficients_and_approximant_of_a_quotient(precision):
    acceptance.check_quotient(precision, cases.DEVICE)


def test_overdetermined_systems():
    acceptance.check_overdetermined(cases.DEVICE)


def test_another_point_of_the_parameter():
    acceptance.check_viviani(cases.DEVICE)


@pytest.mark.parametrize("number", [2, 3, 4, 5])
@pytest.mark.parametrize("precision", ["d", "dd"])
def test_all_solutions_of_katsura(number, precision):
    acceptance.check_katsura(number, precision, cases.DEVICE)


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5, 6])
def test_near_misses(exponent):
    acceptance.check_near_misses(exponent, cases.DEVICE)


def test_memory_of_the_online_method(cupy):
    """No array of ``(d + 1) n^2`` numbers, as Newton's method on series has."""
    n, degree = 512, 63
    system, _ = triangular_rational(n)
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        s = newton_series(system, np.ones(n), degree=degree, precision="od", device=cases.DEVICE)
        assert s.coeffs.shape == (n, degree + 1)
        # What a pool holds is what was in use at once, at the least.
        assert pool.total_bytes() < (degree + 1) * n**2 * 8 * mdqr.od.limbs / 2


@pytest.mark.usefixtures("host")
def test_batches(multiple):
    system, x0 = cyclic(5), cyclic_start(5)
    starts = np.stack([x0 * np.exp(2j * np.pi * k / 5) for k in range(5)] * 20)
    here, there = both(system, starts, multiple, degree=9)
    assert_near(here, there)
    np.testing.assert_allclose(there.digits, here.digits, atol=1)


@pytest.mark.usefixtures("host")
def test_newton_and_overdetermined_systems(multiple):
    system, x0 = cyclic(5), cyclic_start(5)
    assert_near(*both(system, x0, multiple, degree=15, method="newton"), factor=100)
    system = System.from_strings(["(1-t)*x - 1", "(1-t)*y - x", "y - x^2"], ["x", "y"])
    assert_near(*both(system, [1, 1], multiple, degree=15), factor=100)


@pytest.mark.usefixtures("host")
def test_arithmetic(precision):
    here, there = (
        PowerSeries.identity(20, precision=precision, at=Fraction(3, 2), device=device)
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
