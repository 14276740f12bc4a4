"""Nonlinear fits whose minima lie on bounds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import mdqr
from mdqr.optimize import curve_fit

X = np.linspace(0.1, 2.0, 12)


def curve(x, a, b, c):
    return a + b * b * x + b * c * x * x


# Data, start and bounds whose first cut step predicts no gain.
Y = [1.2678, 1.5835, 1.9947, 2.4785, 3.0702, 3.7994, 4.5853, 5.488, 6.4614, 7.5841, 8.7642, 10.0438]
START, BOUNDS = [1.55, 0.76, 2.006], ([1.085, 0.57, 1.323], [2.057, 0.967, 2.171])


def judge(y, start, bounds):
    found = curve_fit(curve, X, y, start, bounds=bounds, precision="dd")
    wanted = scipy.optimize.least_squares(lambda p: curve(X, *p) - y, start, bounds=bounds)
    assert found.result.status > 0
    assert float(found.result.cost) <= wanted.cost * (1.0 + 1e-6)


def test_a_step_that_bounds_cut_off_is_tried_shorter():
    judge(np.array(Y), START, BOUNDS)


@pytest.mark.parametrize("seed", range(8))
def test_minima_on_bounds(seed):
    rng = np.random.default_rng(seed)
    true = rng.uniform(0.5, 2.0, 3)
    y = curve(X, *true) + rng.normal(0, 0.02, X.size)
    centre = true + rng.uniform(-0.4, 0.4, 3)
    judge(y, centre, (centre - 0.3, centre + 0.3))


@pytest.mark.parametrize("options", [{"bounds": ([-9, -9, -9], [9, 9, 2.0])}, {"loss": "soft_l1"}])
@pytest.mark.parametrize("precision", [mdqr.qd, mdqr.od])
def test_statistics_of_residuals_that_are_not_orthogonal_to_the_jacobian(precision, options):
    """Those at an active bound, and with a loss, are not residuals of the linear problem."""
    fit = curve_fit(curve, X, Y, [1, 0.5, 1.5], precision=precision, **options)
    a, r = fit.result.jac.to_numpy(), fit.result.fun.to_numpy()
    variance = r @ r / (X.size - 3)
    pcov = np.linalg.inv(a.T @ a) * variance
    # What float64 leaves of an inverse with a condition of 1e4.
    np.testing.assert_allclose(float(fit.info.residual_std) ** 2, variance, rtol=1e-13)
    np.testing.assert_allclose(fit.pcov.to_numpy(), pcov, rtol=1e-8)
    errors = fit.info.standard_errors().to_numpy()
    np.testing.assert_allclose(errors, np.sqrt(pcov.diagonal()), rtol=1e-8)
