"""Pade approximants, roots, radii: rational coefficients, known singularities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from series_acceptance import QUOTIENT, VIVIANI, VIVIANI_START

import mdqr
from mdqr.series import (
    PowerSeries,
    System,
    newton_series,
    pade,
    radius,
    recommended_precision,
    track,
)
from mdqr.series._analysis.units import ldexp


def quotient(degree, precision):
    """The series of ``sqrt((1 + t/2) / (1 + 2 t))``."""
    return newton_series(QUOTIENT, [1], degree=degree, precision=precision)["x"]


def test_values_of_approximants():
    """Inside the circle of convergence, and outside."""
    series = quotient(32, "qd")
    for t, bound in ((Fraction(1, 10), 4e-49), (1, 8e-26)):
        exact = mdqr.sqrt(mdqr.qd((1 + Fraction(t) / 2) / (1 + 2 * Fraction(t))))
        assert abs(float(pade(series, 16, 16)(t) - exact)) <= bound
    first = pade(series, 4, 4)
    assert float(first.error) == pytest.approx(
        float((pade(series, 4, 4)(0.01) - pade(series, 16, 16)(0.01)) / mdqr.qd(0.01) ** 9) * -1,
        rel=0.2,
    )


def test_simple_quotients_lower_degrees():
    """A geometric series has the approximant [0/1], whatever is asked for."""
    t = PowerSeries.identity(12, precision="qd")
    found = pade(1 / (1 - 2 * t), 5, 5)
    assert found.denominator.shape == (2,)
    poles = found.poles
    assert poles.values.to_numpy().tolist() == [0.5]
    assert poles.error_bound.max() <= 1e-60
    assert pade(1 + t + t**2, 2, 3).denominator.shape == (1,)


def test_limit_of_ratios():
    """Fabry's ratios of a branch point, extrapolated."""
    series = quotient(129, "qd")
    ratio = series.coeffs[128] / series.coeffs[129]
    assert abs(float(ratio) + 0.5) == pytest.approx(1.9e-3, rel=0.05)
    found = radius(series, "fabry")
    assert abs(float(found.location.real + Fraction(1, 2))) <= 1e-17
    assert found.uncertainty <= 1e-13
    assert float(found.value) == pytest.approx(0.5)


@pytest.mark.parametrize(("degree", "bound"), [(31, 0.05), (63, 0.025), (127, 0.013)])
def test_conjugate_singularities(degree, bound):
    """Ratios of a real hyperbola do not converge; poles and the recurrence find its pair."""
    system = System.from_strings(["x^2 - (t-1/2)^2 - 1/100"], ["x"])
    series = newton_series(system, [math.sqrt(0.26)], degree=degree, precision="qd")
    true = math.sqrt(0.26)
    by_recurrence = series.radius("recurrence")
    assert float(by_recurrence.value) == pytest.approx(true, rel=bound)
    pole = pade(series["x"], 8, 8).poles.values[:2].to_numpy()
    for part, exact in ((pole.real, 0.502994), (abs(pole.imag), 0.092994)):
        np.testing.assert_allclose(part, exact, atol=1e-6)
    best = series.radius()
    assert float(best.value) == pytest.approx(true, rel=0.004)
    assert best.location.imag > 0
    assert best.uncertainty <= by_recurrence.uncertainty


def test_radius_of_a_curve():
    """Viviani's curve about t = 1/2: branch points at a distance of 1/2."""
    s = newton_series(VIVIANI, VIVIANI_START, degree=63, precision="qd", t0=Fraction(1, 2))
    found = s.radius()
    assert abs(float(found.value) - 0.5) <= found.uncertainty <= 1e-10
    assert np.isinf(found.components[0])
    assert found.component in (1, 2)


def test_series_without_singularities():
    t = PowerSeries.identity(20, precision="dd")
    assert np.isinf(float(radius((1 + t) ** 3).value))


def test_poles_and_zeros_have_radii():
    """By increasing modulus; the exact ones are 1/3, 1/2 and -1, 2."""
    t = PowerSeries.identity(8, precision="qd")
    found = pade((1 + t) * (2 - t) / ((1 - 2 * t) * (1 - 3 * t)), 2, 2)
    for each, wanted in ((found.poles, (Fraction(1, 3), Fraction(1, 2))), (found.zeros, (-1, 2))):
        errors = abs(each.values - mdqr.array(wanted, precision="qd"))
        assert float(errors.max()) <= 1e-60
        assert each.error_bound.max() <= 1e-60


@pytest.mark.parametrize(
    ("function", "degrees", "order", "error"),
    [
        pytest.param(lambda t: t.cos(), (1, 1), 2, Fraction(-1, 2)),
        pytest.param(lambda t: t.cos(), (3, 3), 6, Fraction(1, 480)),
        (lambda t: (1 + t * t).sqrt(), (2, 2), 6, Fraction(1, 32)),
        (lambda t: t**3, (2, 2), 3, 1),
        (lambda t: 1 / (1 + t**4), (2, 3), 4, -1),
        (lambda t: 1 / (1 + t**4), (4, 4), 13, math.nan),
    ],
)
def test_errors_of_even_and_odd_series(multiple, function, degrees, order, error):
    """The coefficient behind the degrees is zero there for the structure of the table."""
    found = pade(function(PowerSeries.identity(12, precision=multiple)), *degrees)
    assert found.error_order == order
    assert float(found.error) == pytest.approx(float(error), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("power", [-30, -7, 1, 20])
def test_approximants_in_any_unit(precision, power):
    """Degrees were dropped where rows are graded: the same limbs times powers of two."""
    power = max(power, -10) if precision is mdqr.hd else power  # all limbs are in range
    c = PowerSeries.identity(12, precision=precision).exp().coeffs
    steps = np.arange(13)
    one, other = (pade(PowerSeries(x), 4, 4) for x in (c, ldexp(c, power * steps + 3)))
    for mine, theirs, size in (
        (one.denominator, other.denominator, 0),
        (one.numerator, other.numerator, 3),
    ):
        assert len(mine) == len(theirs) == 5
        assert (ldexp(mine, power * steps[:5] + size) == theirs).all()


def test_degrees_without_rounding_errors(precision):
    """[0/4] of 1 / (1 + t) had coefficients of 2e-16, and three poles near 1e5."""
    t = PowerSeries.identity(12, precision=precision)
    assert pade(1 / (1 + t), 0, 4).denominator.to_numpy().tolist() == [1.0, 1.0]
    both = pade((1 + t) * (2 - t) / ((1 - 2 * t) * (1 - t * 3)), 5, 4)
    assert (len(both.numerator), len(both.denominator)) == (3, 3)
    assert len(pade(1 + t / 3, 3, 3).numerator) == 2


def test_series_that_are_no_series():
    for call in (
        lambda: pade([1, 2, 3], 1, 1),
        lambda: radius(mdqr.dd([1.0] * 9)),
        lambda: PowerSeries.identity(3, precision="dd").compose(2),
        lambda: newton_series("x", [1], degree=2, precision="dd"),
        lambda: track([], [1]),
        lambda: recommended_precision(1, [1], degree=2),
    ):
        with pytest.raises(TypeError, match="must be a mdqr"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: pade(t / math.inf * math.inf, 1, 1), "needs finite coefficients"),
        (lambda t: pade(t, 2, 2), r"\[2/2\] needs a series of degree 4; this has 3"),
        (lambda t: pade(t, -1, 2), "degrees must be at least 0"),
        (lambda t: pade(PowerSeries([[1, 2]], precision="dd"), 0, 1), "pade takes one series"),
        (lambda t: radius(t), "degree of at least 4; got 3"),
        (lambda t: radius(t.extended(8), "best"), "method must be one of auto, fabry"),
        (lambda t: radius(PowerSeries(np.ones((2, 2, 8)), precision="dd")), "one series or n"),
    ],
)
def test_wrong_requests(call, message):
    with pytest.raises(ValueError, match=message):
        call(PowerSeries.identity(3, precision="dd"))


def test_what_is_not_finite_behind_does_not_reach_the_approximant():
    c = mdqr.array([1.0] * 11 + [float("inf"), 1.0], precision="dd")
    found = pade(PowerSeries(c), 3, 3)
    assert found.numerator.to_numpy().tolist() == [1.0]
    assert found.denominator.to_numpy().tolist() == [1.0, -1.0]
