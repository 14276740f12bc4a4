"""Radii of convergence: the uncertainty holds, in any unit of t, for series in powers of t, too."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mdqr
from mdqr.series import PowerSeries, radius
from mdqr.series._analysis.units import ldexp


def variable(degree, precision="qd"):
    return PowerSeries.identity(degree, precision=precision)


# Functions of t and their radii.
KNOWN = {
    "arctan": (lambda t: (2 * t).arctan(), 0.5),
    "even": (lambda t: (1 + t * t).sqrt(), 1.0),
    "one pole": (lambda t: 1 / (1 - t / 3), 3.0),
    "fourth power": (lambda t: 1 / (1 + t**4), 1.0),
    "branch": (lambda t: ((1 + t / 2) / (1 + 2 * t)).sqrt(), 0.5),
    "branch and pole": (lambda t: (1 + t * Fraction(6, 5)).sqrt() + 1 / (1 - t), 5 / 6),
    "logarithm": (lambda t: t.exp() * (1 - t).log(), 1.0),
    "near poles": (lambda t: 1 / (1 - t) + 1 / (1 - Fraction(50, 51) * t), 1.0),
    "near branches": (lambda t: (1 - t).sqrt() + (1 - Fraction(50, 51) * t).sqrt(), 1.0),
    "pair": (lambda t: (1 - t + 2 * t * t).sqrt(), math.sqrt(0.5)),
    "tangent": (lambda t: t.tan(), math.pi / 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_radii(name):
    """Even and odd series had 64 digits for errors of 18 %, branch points a part of the error."""
    function, exact = KNOWN[name]
    for degree, precision in ((8, "qd"), (16, "d"), (25, "dd")):
        found = radius(function(variable(degree, precision)))
        assert abs(float(found.value) - exact) <= found.uncertainty + 1e-15


def test_uncertainties_are_no_wider_than_they_must_be():
    """One of 2^-10 as much would be false, and where it can be told it is told."""
    parts, told = [], 0
    for function, exact in KNOWN.values():
        for method in ("fabry", "recurrence"):
            found = radius(function(variable(24, "d")), method)
            wrong = abs(float(found.value) - exact)
            if math.isfinite(found.uncertainty):
                told += 1
                parts.append(wrong / found.uncertainty if wrong else 0.0)
    assert 2.0**-10 < max(parts) <= 1
    assert told >= len(KNOWN) // 3


@pytest.mark.parametrize(
    "function",
    [PowerSeries.exp, PowerSeries.cos, lambda t: (t * t).exp(), lambda t: (1 + t) ** 3],
)
@pytest.mark.parametrize("method", ["auto", "fabry", "recurrence", "pade"])
def test_nothing_is_claimed_where_nothing_is_found(function, method):
    for degree in (8, 16):
        found = radius(function(variable(degree, "dd")), method)
        assert found.uncertainty == math.inf


def test_symmetric_singularities():
    """Of a series in t^p the principal root: above the real axis where it is real."""
    found = radius(1 / (1 + variable(32) ** 2 / 4))
    assert abs(complex(found.location) - 2j) <= found.uncertainty < 1e-60
    found = radius(variable(40) ** 2 / (1 - 8 * variable(40) ** 3))
    assert complex(found.location) == pytest.approx(0.5)
    assert found.uncertainty < 1e-60


@pytest.mark.parametrize("method", ["auto", "fabry", "pade"])
def test_the_unit_of_t_does_not_count(method):
    """The same limbs times powers of two: in 2^-60 an estimate was 0.95 for 1."""
    c = ((1 + variable(24, "dd") / 3).sqrt() + 1 / (2 - variable(24, "dd"))).coeffs
    first = radius(PowerSeries(c), method)
    for time in (-20, 7, 25):
        found = radius(PowerSeries(ldexp(c, time * np.arange(25) + 9)), method)
        assert float(found.value * 2.0**time - first.value) == 0.0
        assert found.uncertainty * 2.0**time == first.uncertainty


def test_components_with_nothing_do_not_count():
    t = variable(24)
    both = PowerSeries(mdqr.stack([(t * t).coeffs, (1 - 2 * t).sqrt().coeffs]))
    found = radius(both)
    assert found.component == 1
    assert np.isinf(found.components[0])
    assert abs(float(found.value) - 0.5) <= found.uncertainty < 1e-5


def test_values_that_are_not_finite():
    c = variable(8).coeffs
    c[3] = math.nan
    assert math.isinf(float(radius(PowerSeries(c)).value))
