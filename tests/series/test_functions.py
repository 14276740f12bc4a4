"""Elementary functions of power series against Taylor series by mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import mdqr
from mdqr.series import PowerSeries
from mdqr.series._arithmetic.elementary import Elementary

MPMATH = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": lambda x: mpmath.log(1 + x),
    "expm1": lambda x: mpmath.exp(x) - 1,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "sinpi": lambda x: mpmath.sin(mpmath.pi * x),
    "cospi": lambda x: mpmath.cos(mpmath.pi * x),
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
}
NAMES = sorted(Elementary._answered - {"hypot", "sum"})
REAL = ("cbrt", "erf", "erfc", "log2", "log10", "sinpi", "cospi")


def mp(name):
    return MPMATH.get(name) or getattr(mpmath, name)


def taylor(name, orders):
    """Return the coefficients of a function of a polynomial, right to 150 digits."""
    with mpmath.workdps(1200):
        h = mpmath.mpf(10) ** -170

        def f(t):
            return mp(name)(mpmath.polyval(list(reversed(orders)), t))

        return [mpmath.diff(f, 0, k, h=h) / mpmath.factorial(k) for k in range(len(orders))]


@pytest.mark.parametrize("name", NAMES)
def test_functions_of_mdqr_and_numpy(name):
    for precision in (mdqr.dd, mdqr.od):
        orders = mdqr.random.uniform((4,), low=0.1, high=0.9, precision=precision, rng=3)
        if name == "arccosh":
            orders = orders + np.array([1.5, 0, 0, 0])
        found = getattr(mdqr, name)(PowerSeries(orders))
        assert isinstance(found, PowerSeries)
        assert found.precision is precision
        for k, exact in enumerate(taylor(name, orders.to_mpmath())):
            with mpmath.workdps(170):
                error = abs(found.coeffs[k].to_mpmath().item() - exact)
                assert error <= 32 * mpmath.mpf(precision.eps) * max(1, abs(exact))
        if hasattr(np, name):
            other = getattr(np, name)(PowerSeries(orders))
            assert mdqr.array_equal(other.coeffs, found.coeffs)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in REAL])
def test_complex_series(name):
    orders = mdqr.random.uniform((3,), low=0.1, high=0.4, precision=mdqr.qd, rng=4)
    orders = orders + 1j * mdqr.random.uniform((3,), low=0.1, high=0.4, precision=mdqr.qd, rng=5)
    found = getattr(mdqr, name)(PowerSeries(orders))
    for k, exact in enumerate(taylor(name, orders.to_mpmath())):
        with mpmath.workdps(170):
            error = abs(found.coeffs[k].to_mpmath().item() - exact)
            assert error <= 64 * mpmath.mpf(mdqr.qd.eps) * max(1, abs(exact))


def test_operands_of_other_kinds():
    t = PowerSeries.identity(3, precision=mdqr.qd, at=2)
    numbers = np.ones(2)
    for found in (numbers * t, t * numbers, np.multiply(numbers, t), np.add(t, numbers)):
        assert found.shape == (2,)
    assert mdqr.allclose((2**t).coeffs, mdqr.exp2(t).coeffs)
    assert mdqr.allclose((t**t).coeffs, (t * mdqr.log(t)).exp().coeffs)
    assert mdqr.allclose(mdqr.power(t, 3).coeffs, (t * t * t).coeffs)
    assert mdqr.allclose(mdqr.hypot(t, t).coeffs, (t * mdqr.sqrt(mdqr.qd(2))).coeffs)
    assert mdqr.allclose(np.negative(t).coeffs, (-t).coeffs)
    assert mdqr.allclose((numbers * t).sum().coeffs, (2 * t).coeffs)
    pair = PowerSeries(mdqr.ones((2, 3), precision=mdqr.qd))
    a = mdqr.array([[1, 2], [3, 4], [5, 6]], precision=mdqr.qd)
    assert (a @ pair).coeffs.to_numpy()[:, 0].tolist() == [3, 7, 11]
    assert mdqr.sum(pair).coeffs.to_numpy().tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="vector of series"):
        a @ t


@pytest.mark.parametrize("function", [mdqr.gamma, np.floor, mdqr.abs, np.arctan2, mdqr.where])
def test_functions_that_series_do_not_have(function):
    t = PowerSeries.identity(3, precision=mdqr.qd, at=2)
    with pytest.raises(TypeError):
        function(*([t] * (3 if function is mdqr.where else 2 if function is np.arctan2 else 1)))


def test_other_refusals_are_what_they_were():
    with pytest.raises(TypeError, match="precision"):
        mdqr.exp([1.0, "x"])
    with pytest.raises(TypeError, match="no such form"):
        np.exp(PowerSeries.identity(3, precision=mdqr.qd), where=[True])


def test_a_float_of_hypot_is_not_squared_in_float64():
    series = PowerSeries(mdqr.array([3, 1], precision="qd"))
    found = series.hypot(0.1).coeffs[0]
    exact = mdqr.sqrt(9 + mdqr.array(0.1, precision="od") ** 2)
    assert abs(float(found - exact)) < 8 * mdqr.qd.eps
