"""Bands of fitted curves, and what pickled reports keep."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.stats

import mdqr
from mdqr.optimize import curve_fit

X = np.arange(8.0)
Y = mdqr.array(["3.1", "1.9", "1.4", "1.1", "0.7", "0.6", "0.41", "0.3"], precision=mdqr.qd)


def line(x, a, b):
    return a + b * x


@pytest.mark.parametrize("absolute", [False, True])
def test_bands_of_a_line(absolute):
    """By the formulas of linear regression, with SciPy's quantiles."""
    sigma = 0.5 if absolute else None
    fit = curve_fit(line, X, Y, [1, 1], sigma=sigma, absolute_sigma=absolute)
    new = np.array([2.5, 9.0])
    bands = fit.predict(line, new, level=0.9, sigma=0.5 if absolute else 1)
    y, deviations = Y.to_numpy(), X - X.mean()
    slope = deviations @ y / (deviations @ deviations)
    values = y.mean() + slope * (new - X.mean())
    rest = y - y.mean() - slope * deviations
    s = 0.5 if absolute else np.sqrt(rest @ rest / 6)
    errors = s * np.sqrt(1 / 8 + (new - X.mean()) ** 2 / (deviations @ deviations))
    quantile = scipy.stats.norm.ppf(0.95) if absolute else scipy.stats.t.ppf(0.95, 6)
    for found, wanted in zip(
        bands, (values, errors, quantile * errors, quantile * np.hypot(errors, s)), strict=True
    ):
        assert found.precision is mdqr.qd
        np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-12)


def test_a_curve_in_all_digits():
    def decay(x, a, b):
        return a * mdqr.exp(-b * x)

    fit = curve_fit(decay, X, Y, [3, 1])
    bands = fit.predict(decay, X)
    assert mdqr.allclose(bands.values, decay(mdqr.array(X, precision=mdqr.qd), *fit.popt))
    e = mdqr.exp(-fit.popt[1] * X)
    rows = mdqr.stack([e, -fit.popt[0] * X * e], axis=-1)
    errors = mdqr.sqrt((rows @ fit.pcov * rows).sum(axis=1))
    assert np.all(np.abs((bands.standard_errors / errors - 1).to_numpy()) < 1e-55)


def test_a_pickled_report_keeps_its_statistics():
    fit = curve_fit(line, X, Y, [1, 1], jac="series", verified=True)
    other = pickle.loads(pickle.dumps(fit))
    assert other.info.derivatives == "series"
    assert other.info.bound_kind == "proven"
    assert mdqr.array_equal(other.info.standard_errors(), fit.info.standard_errors())
    assert float(other.info.r_squared) == float(fit.info.r_squared)
    assert mdqr.array_equal(other.predict(line, X).confidence, fit.predict(line, X).confidence)


def test_progress_is_reported():
    steps = []
    curve_fit(line, X, Y, [1, 1], progress=lambda *report: steps.append(report))
    assert [done for _, done, _ in steps] == list(range(1, len(steps) + 1))
    assert curve_fit(line, X, Y, [1, 1], progress=True).result.success
    with pytest.raises(TypeError, match="progress must be"):
        curve_fit(line, X, Y, [1, 1], progress=3)


WRONG = {
    "f": (lambda fit: fit.predict(3, X), TypeError, "`f` must be callable"),
    "level": (
        lambda fit: fit.predict(line, X, level=95),
        ValueError,
        "`level` must be a number between",
    ),
    "complex": (lambda fit: fit.predict(lambda x, a, b: a + b * x * 1j, X), ValueError, "complex"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name):
    call, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        call(curve_fit(line, X, Y, [1, 1]))


@pytest.mark.parametrize("exponent", [-590, -530, 530, 590])
def test_bands_in_any_units(exponent):
    """Squares of values, and of parameters, are beyond the range of float64."""
    half = 2.0 ** (exponent // 2)

    def there(x, a, b):
        return line(x, a, b) * half * half

    fits = curve_fit(line, X, Y, [1, 1]), curve_fit(there, X, Y * half * half, [1, 1])
    wanted, bands = fits[0].predict(line, [2.5]), fits[1].predict(there, [2.5])
    for band, want in zip(bands, wanted, strict=True):
        ratio = float(band[0] / half / half / want[0])
        # Limbs below 2**-1074 are lost.
        assert abs(ratio - 1) <= 2.0**-50


def test_bands_in_the_highest_precision():
    """Derivatives have more than the half of the digits that simple differences have."""

    def curve(x, a, b):
        return a * mdqr.exp(-b * x)

    fit = curve_fit(curve, X, Y.astype(mdqr.od), [3, 0.3])
    found = fit.predict(curve, [1.5]).standard_errors[0]
    e = mdqr.exp(-fit.popt[1] * 1.5)
    row = mdqr.stack([e, -1.5 * fit.popt[0] * e])
    wanted = mdqr.sqrt(row @ fit.pcov @ row)
    assert abs(float(found / wanted - 1)) <= 1e-100
