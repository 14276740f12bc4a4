"""Batches: the fits of each problem alone, on the host and where no array is NumPy's."""

from __future__ import annotations

import copy
import pickle
import warnings

import fake_device
import numpy as np
import pytest

import mdqr
from mdqr.optimize import curve_fit, least_squares

from . import degenerate_minima
from .nist import MODELS, load
from .random_problems import alike, judge_batch

SETS = load()
X = mdqr.arange(6, precision=mdqr.qd)


def decay(x, a, b):
    return a * mdqr.exp(-b * x)


def data_of(count, seed=0, size=0.02):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(1, 4, (count, 1)), rng.uniform(0.2, 1, (count, 1))
    return a * np.exp(-b * np.arange(6.0)) + rng.normal(0, size, (count, 6))


def nearby(name, count, precision):
    """Return the data of a set, and others near them."""
    found = SETS[name]
    y = mdqr.array(found["y"], precision=precision)
    noise = np.random.default_rng(1).normal(size=(count, y.size)) * 1e-4
    noise[0] = 0
    return mdqr.array(found["x"][0], precision=precision), y * (1 + noise)


@pytest.mark.parametrize("name", ["Misra1a", "MGH10", "Thurber", "Eckerle4", "MGH17", "Hahn1"])
@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd])
def test_a_batch_is_many_fits(name, precision):
    x, y = nearby(name, 3, precision.next)
    start = SETS[name]["start"][1]

    def f(x, *b):
        return MODELS[name](mdqr, x, *b)

    together = curve_fit(f, x, y, start, precision=precision)
    assert (together.result.status == 3).all()
    for k in range(3):
        alone = curve_fit(f, x, y[k], start, precision=precision)
        error = np.abs((alone.popt - together.popt[k]).to_numpy())
        assert (error <= alone.info.error_bound + together.info.error_bound[k]).all()
        assert mdqr.allclose(alone.pcov, together.pcov[k])
        errors = together.info.standard_errors()[k]
        assert mdqr.allclose(alone.info.standard_errors(), errors)
        assert mdqr.allclose(alone.info.residual_std, together.info.residual_std[k])
    assert together.info.digits.min() > 0.8 * precision.digits


def test_certified_minima_are_within_the_bounds_of_a_batch():
    x, y = nearby("MGH10", 4, mdqr.od)
    found = curve_fit(lambda x, *b: MODELS["MGH10"](mdqr, x, *b), x, y, SETS["MGH10"]["start"][0],
                      precision=mdqr.qd)  # fmt: skip
    exact = mdqr.array(SETS["MGH10"]["minimum"], precision=mdqr.od)
    error = np.abs((found.popt[0] - exact).to_numpy())
    assert (error <= found.info.error_bound[0]).all()
    assert (error > 2.0**-16 * found.info.error_bound[0]).any()  # a much smaller bound is false


def test_leading_axes_are_kept():
    y = data_of(6).reshape(2, 3, 6)
    found = curve_fit(decay, X, y, np.ones((2, 3, 2)), precision=mdqr.dd)
    popt, pcov = found
    assert popt.shape == (2, 3, 2)
    assert pcov.shape == (2, 3, 2, 2)
    assert found.result.fun.shape == (2, 3, 6)
    assert found.result.jac.shape == (2, 3, 6, 2)
    assert found.result.cost.shape == found.result.status.shape == (2, 3)
    assert found.info.digits.shape == found.info.error_bound.shape == (2, 3, 2)
    assert "of 6 problems" in repr(found.result)


def test_each_data_set_may_have_its_own_places_and_deviations():
    y = data_of(3)
    x = np.arange(6.0) + np.array([[0.0], [0.25], [0.5]])
    sigma = 1 + np.arange(18.0).reshape(3, 6) / 10
    found = curve_fit(decay, x, y, [2, 0.5], sigma, precision=mdqr.dd)
    for k in range(3):
        alone = curve_fit(decay, x[k], y[k], [2, 0.5], sigma[k], precision=mdqr.dd)
        assert mdqr.allclose(alone.popt, found.popt[k])
        assert mdqr.allclose(alone.pcov, found.pcov[k])


def test_a_problem_that_fails_does_not_stop_the_others():
    y = data_of(4)
    y[2] = [0, 0, 0, 0, 0, 0]  # any b is a minimum
    with pytest.warns(mdqr.PrecisionWarning, match="Problem 2 has less than half"):
        found = curve_fit(decay, X, y, [2, 0.5], precision=mdqr.dd)
    assert (found.info.digits[[0, 1, 3]] > 25).all()
    assert (found.info.digits[2] < 16).all()
    assert found.result.success[[0, 1, 3]].all()


def test_residuals_of_many_problems():
    y = mdqr.array(data_of(5), precision=mdqr.qd)

    def fun(b):
        return b[0] * mdqr.exp(-b[1] * X) - y

    found = least_squares(fun, np.full((5, 2), 0.5))
    assert found.x.precision is mdqr.qd
    fits = curve_fit(decay, X, y, [0.5, 0.5])
    difference = np.abs((found.x - fits.popt).to_numpy())
    assert (difference <= found.info.error_bound + fits.info.error_bound).all()


def test_complex_and_badly_scaled_residuals():
    t = mdqr.arange(8, precision=mdqr.qd)
    wave = mdqr.exp(mdqr.array(-0.25 + 0.5j, precision=mdqr.qd) * t)
    size = mdqr.array([["1"], ["1e-90"], ["1e90"]], precision=mdqr.qd)

    def f(t, a, b):
        return mdqr.exp((mdqr.asarray(-b, dtype=complex, precision=a.precision) + a * 1j) * t)

    found = curve_fit(f, t, mdqr.stack([wave, wave]), [0.4, 0.3])
    assert mdqr.allclose(found.popt, mdqr.array([0.5, 0.25], precision=mdqr.qd))
    scaled = curve_fit(lambda x, a, b: a * mdqr.exp(-b * x), X, data_of(3, size=0) * size,
                       mdqr.concatenate([2 * size, mdqr.ones_like(size) / 2], axis=1))  # fmt: skip
    assert scaled.result.success.all()


def test_a_function_that_rounds_to_float64():
    y = data_of(3)
    exact = curve_fit(decay, X, y, [2, 0.5], precision=mdqr.qd)

    def rounding(x, a, b):
        return a.to_numpy() * np.exp(-b.to_numpy() * x.to_numpy())

    with pytest.warns(mdqr.PrecisionWarning, match="`fun` rounds to 16 digits, .* np.pi"):
        found = curve_fit(rounding, X, y, [2, 0.5], precision=mdqr.qd)
    assert found.result.success.all()
    assert found.info.digits.min() > 5
    error = np.abs((exact.popt - found.popt).to_numpy())
    assert (error <= found.info.error_bound).all()


@pytest.mark.parametrize("index", range(0, 66, 6))
def test_no_digit_of_a_known_minimum_is_claimed_too_much(index):
    fits = alike(9, index, 3)
    verdicts = judge_batch(fits, mdqr.qd) if fits else []
    assert "false" not in verdicts


@pytest.mark.parametrize("index", [4, 11])
def test_no_digit_is_claimed_at_a_singular_hessian(index):
    problems = degenerate_minima.alike(1, index, 2)
    assert (degenerate_minima.excess(problems, mdqr.dd) <= 0).all()


def test_as_many_observations_as_parameters():
    y = data_of(3)[:, :2]
    with pytest.warns(mdqr.PrecisionWarning, match="not determined by as many observations"):
        fits = curve_fit(decay, X[:2], y, [2, 0.5], precision=mdqr.dd)
    assert np.isinf(fits.pcov.to_numpy()).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = curve_fit(decay, X[:2], y, [2, 0.5], [0.1, 0.1], True, precision=mdqr.dd)
    assert np.isfinite(known.pcov.to_numpy()).all()


def test_complex_residuals_of_many_problems():
    t = mdqr.arange(6, precision=mdqr.qd)
    factors = np.array([[1.0 + 0.5j], [1.25 - 1j], [0.5 + 0.75j]])
    y = mdqr.exp(mdqr.array(-0.25 + 0.5j, precision=mdqr.qd) * t) * factors

    def fun(b):
        return (b[0] + b[1] * 1j) * mdqr.exp(mdqr.array(-0.25 + 0.5j, precision=mdqr.qd) * t) - y

    found = least_squares(fun, np.full((3, 2), 0.5))
    exact = np.concatenate([factors.real, factors.imag], axis=1)
    assert (np.abs((found.x - exact).to_numpy()) <= found.info.error_bound).all()
    assert found.fun.is_complex
    assert found.fun.shape == (3, 6)


def test_a_batch_on_a_device(monkeypatch):
    y = mdqr.array(data_of(4), precision=mdqr.qd)
    wanted = curve_fit(decay, X, y, [2, 0.5])
    fake_device.install_cupy(monkeypatch)
    found = curve_fit(decay, X, y.to_device("cuda"), [2, 0.5])
    assert found.popt.device == "cuda:0"
    assert mdqr.array_equal(found.popt.to_device("cpu"), wanted.popt)
    assert (found.info.digits == wanted.info.digits).all()
    assert (found.result.status == wanted.result.status).all()


def test_powers_of_two_are_exact_where_exp2_is_not(monkeypatch):
    """CUDA's errs by a unit: limbs times such a factor are no product."""
    wanted = curve_fit(decay, X, data_of(4), [2, 0.5], precision=mdqr.dd)
    exact = np.exp2
    monkeypatch.setattr(np, "exp2", lambda x: exact(x) * (1.0 + 2.0**-52))
    found = curve_fit(decay, X, data_of(4), [2, 0.5], precision=mdqr.dd)
    assert mdqr.array_equal(found.popt, wanted.popt)


def test_a_problem_that_fails_on_a_device(monkeypatch):
    """Problems are chosen, and put back among the others."""
    y = data_of(5)
    y[1:3] = 0
    y = mdqr.array(y, precision=mdqr.dd)
    fake_device.install_cupy(monkeypatch)
    with pytest.warns(mdqr.PrecisionWarning, match="have less than half"):
        found = curve_fit(decay, X, y.to_device("cuda"), [2, 0.5], precision=mdqr.dd)
    assert (found.info.digits[[0, 3, 4]] > 25).all()


WRONG = {
    "bounds": ({"bounds": (0, 5)}, "a batch of problems takes no `bounds`"),
    "jac": ({"jac": decay}, "takes no `jac`"),
    "loss": ({"loss": "huber"}, "takes no `loss`"),
    "p0": ({"p0": np.ones((2, 2))}, "`p0` has shape \\(2, 2\\)"),
    "xdata": ({"xdata": np.arange(5.0)}, "the last axes must have one length"),
    "sigma": ({"sigma": np.eye(6)}, "`sigma` has incorrect shape"),
    "complex sigma": ({"sigma": np.full(6, 1j)}, "`sigma` must be real"),
    "linear": ({"linear": [7]}, "`linear` must be different indices below 2"),
    "linear twice": ({"linear": [0, "a"]}, "`linear` must be different indices"),
    "half a parameter": ({"linear": [0.5]}, "`linear` must be different indices"),
    "zero sigma": ({"sigma": np.zeros(6)}, "`sigma` must be positive"),
    "no broadcasting": ({"f": lambda x, a, b: (a + b).sum() * x}, "the function must broadcast"),
    "NaN": ({"ydata": np.full((3, 6), np.nan)}, "`ydata` must not contain infs"),
    "empty": ({"ydata": np.zeros((3, 0))}, "`ydata` must not be empty"),
    "NaN at the start": ({"f": lambda x, a, b: mdqr.log(-a) * x + b}, "not finite in the initial"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(name):
    options, text = WRONG[name]
    given = {"f": decay, "xdata": X, "ydata": data_of(3), "p0": [2, 0.5], "precision": mdqr.dd}
    with pytest.raises(ValueError, match=text):
        curve_fit(**(given | options))


def test_pickles_and_copies_keep_the_statistics():
    fits = curve_fit(decay, X, data_of(3), [2, 0.5], precision=mdqr.dd)
    for same in (pickle.loads(pickle.dumps(fits)), copy.deepcopy(fits)):
        assert type(same.info) is type(fits.info)
        assert bool((same.info.covariance() == fits.info.covariance()).all())
        assert (same.info.noise == fits.info.noise).all()
    with pytest.raises(ValueError, match="a batch of fits has no bands"):
        fits.predict(decay, X)
