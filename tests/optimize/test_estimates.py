"""Estimated bounds are near the errors: bounds that are a thousand times smaller fail here."""

from __future__ import annotations

import warnings

import numpy as np

import mdqr
from mdqr.optimize import curve_fit

X = mdqr.arange(4, precision=mdqr.qd)
COUNT = 12


def decay(x, a, b):
    return a * mdqr.exp(-b * x)


def rounding(x, a, b):
    """Round to float64; the minimum is known from the function that does not."""
    return a.to_numpy() * np.exp(-b.to_numpy() * x.to_numpy())


def data():
    rng = np.random.default_rng(5)
    a, b = rng.uniform(1, 4, (COUNT, 1)), rng.uniform(0.2, 1, (COUNT, 1))
    return a * np.exp(-b * np.arange(4.0))


def near(fits, exact):
    """Check bounds, and that one of them is reached to a part in a hundred."""
    error = np.abs((fits[0] - exact).to_numpy())
    assert (error <= fits[1]).all()
    assert (error > fits[1] / 128).any()


def test_functions_that_round_to_float64():
    y = data()
    exact = curve_fit(decay, X, y, [2, 0.5], precision=mdqr.dd).popt
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        fits = curve_fit(rounding, X, y, [2, 0.5], precision=mdqr.dd)
        near((fits.popt, fits.info.error_bound), exact)


def test_one_function_that_rounds_to_float64():
    y = data()
    exact = curve_fit(decay, X, y, [2, 0.5], precision=mdqr.dd).popt
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        fits = [curve_fit(rounding, X, each, [2, 0.5], precision=mdqr.dd) for each in y]
    bounds = np.stack([fit.info.error_bound for fit in fits])
    near((mdqr.stack([fit.popt for fit in fits]), bounds), exact)


def test_roundings_of_the_result():
    y = mdqr.array(data(), precision=mdqr.qd)
    fits = curve_fit(decay, X, y, [2, 0.5], precision=mdqr.dd)
    one = curve_fit(decay, X, y[0], [2, 0.5], precision=mdqr.dd)
    exact = curve_fit(decay, X, y, [2, 0.5], precision=mdqr.qd).popt
    near((fits.popt, fits.info.error_bound), exact)
    near((one.popt, one.info.error_bound), exact[0])
