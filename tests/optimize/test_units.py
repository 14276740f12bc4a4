"""Parameters in any units, and results as SciPy's callers use them."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import mdqr
from mdqr.optimize import curve_fit, least_squares, lsq_linear, nnls, root
from mdqr.optimize._public.statistics import (
    Linearised,
    _by_normal_equations,
    statistics_of,
)

X = np.arange(6.0)
Y = mdqr.array(["3", "1.9", "1.4", "1.1", "0.7", "0.6"], precision=mdqr.dd)
UNITS = [2.0**-664, 1.0, 2.0**664]


def decay(x, a, b):
    return a * mdqr.exp(-b * x)


@pytest.fixture(scope="module")
def fit():
    return curve_fit(decay, X, Y, [3, 1])


@pytest.mark.parametrize("jac", [None, "series"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("other", UNITS)
def test_a_fit_in_any_units(fit, unit, other, jac):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)  # covariances beyond the range
        found = curve_fit(
            lambda x, a, b: decay(x, a / unit, b / other), X, Y, [3 * unit, other], jac=jac
        )
    assert found.result.status == 3
    assert found.info.digits.min() > 30
    difference = abs(found.popt / [unit, other] - fit.popt).to_numpy()
    assert (difference <= found.info.error_bound / [unit, other] + fit.info.error_bound).all()
    assert found.info.condition == pytest.approx(fit.info.condition)
    expected = fit.info.standard_errors() * [unit, other]
    assert mdqr.allclose(found.info.standard_errors() / expected, 1, rtol=1e-25)


def within(found, exact):
    """Every error, for all limbs, is within its bound."""
    errors = (found.x - exact.astype(found.x.precision)).to_numpy()
    return (np.abs(errors) <= found.info.error_bound).all()


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
@pytest.mark.parametrize("power", [-300, -450])
def test_what_underflows_in_all_values_alike_counts(power):
    """The last limbs of a constant, which no difference of values shows."""
    c = (mdqr.random.normal((1,), precision=mdqr.hd, rng=1) ** 2 + 0.5) * 2.0**-200
    start = mdqr.sqrt(c).to_numpy() * 1.001
    found = root(lambda x: 2.0**power * (x * x - c), start, precision=mdqr.hd)
    # Scaled up, the root has all its digits.
    assert within(found, mdqr.sqrt(c * 2.0**200) * 2.0**-100)


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
def test_gradients_that_underflow_have_no_digits():
    a, b = (mdqr.random.normal(s, precision=mdqr.hd, rng=2) for s in [(2, 2), (2,)])
    exact = mdqr.linalg.solve(a, b) * 2.0**600
    found = least_squares(
        lambda x: (a * 2.0**-600) @ x - b, exact.to_numpy() * 1.01, precision="hd"
    )
    assert within(found, exact)
    assert found.info.digits.min() > 100


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
@pytest.mark.parametrize("count", [0, 2])
def test_subnormal_residuals(count):
    """Also of problems in a batch."""
    x = mdqr.arange(4, precision=mdqr.qd) * 2.0**-600
    y = x * 2.0**-456
    found = curve_fit(lambda x, q: q * x, x, mdqr.stack([y] * count) if count else y, [2.0**-455])
    np.testing.assert_allclose(found.popt.to_numpy() / 2.0**-456, 1.0, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
@pytest.mark.parametrize("power", [-300, -450, -700])
@pytest.mark.parametrize("count", [0, 2])
def test_what_underflows_in_residuals_counts(power, count):
    """No difference of values shows it; in a batch derivatives may vanish with it."""
    exact = mdqr.sqrt(mdqr.array(2, precision=mdqr.hd)) * 2.0**-100
    y = mdqr.zeros((count, 2) if count else 2, precision=mdqr.hd)

    def model(x, q):
        return 2.0**power * (q - exact * (1 + 0 * x))

    found = curve_fit(model, np.arange(2.0), y, [1.5 * 2.0**-100], precision=mdqr.hd)
    assert (abs(found.popt - exact).to_numpy().ravel() <= np.ravel(found.info.error_bound)).all()


def test_a_covariance_out_of_range_is_said():
    unit = 2.0**664
    with pytest.warns(mdqr.PrecisionWarning, match="covariance .* out of the range of float64"):
        curve_fit(lambda x, a, b: decay(x, a / unit, b), X, Y, [3 * unit, 1])


def test_dependent_parameters_in_large_units_are_named():
    unit = 2.0**-664
    with pytest.warns(mdqr.PrecisionWarning, match="do not tell a, c apart"):
        found = curve_fit(
            lambda x, a, b, c: decay(x, a / unit + c / unit, b), X, Y, [2 * unit, 1, unit]
        )
    assert (found.info.digits == 0).all()


@pytest.mark.parametrize(("first", "second"), [(2.0**-664, 2.0**-664), (1.0, 2.0**600)])
def test_a_zero_in_any_units(first, second):
    found = root(
        lambda x: [x[0] / first + mdqr.exp(x[1] / second) - 5, x[0] / first * x[1] / second - 2],
        [first, second],
        precision="dd",
    )
    assert found.success
    assert found.info.digits.min() > 30


def test_statistics_of_least_squares_where_normal_equations_lose_digits():
    a = mdqr.array(np.vander(np.arange(1.0, 31.0), 14), precision=mdqr.d)
    r = mdqr.array(np.cos(np.arange(30.0)), precision=mdqr.d)
    short, long = (Linearised(x, r, np.zeros(x.shape[1])) for x in (a[:, -3:], a))
    assert _by_normal_equations(short.jacobian, r, mdqr.d) is not None
    assert _by_normal_equations(a, r, mdqr.d) is None
    # The condition of scaled columns is 1e11, of which QR loses no square.
    exact = mdqr.linalg.lstsq(a, r, precision=mdqr.od).info
    found = statistics_of(long, mdqr.d)
    ratio = found.standard_errors() / found.residual_std * exact.residual_std
    assert mdqr.allclose(ratio, exact.standard_errors(), rtol=1e-7)
    exact = mdqr.linalg.lstsq(a[:, -3:], r, precision=mdqr.qd).info
    errors = statistics_of(short, mdqr.d).standard_errors()
    scale = statistics_of(short, mdqr.d).residual_std
    assert mdqr.allclose(errors / scale, exact.standard_errors() / exact.residual_std, rtol=1e-15)


def test_info_does_not_change_with_the_arrays_of_a_result(fit):
    found = least_squares(lambda b: decay(X, *b) - Y, [3, 1])
    found.jac[:], found.fun[:] = 0, 7
    assert found.info.condition == pytest.approx(fit.info.condition)
    assert mdqr.allclose(found.info.residual_std, fit.info.residual_std, rtol=1e-25)
    linear = lsq_linear(np.eye(3)[:, :2], [1, -1, 1], bounds=(0, 5))
    linear.active_mask[:] = 1
    assert linear.info.condition == 1.0


def test_a_result_has_items_and_attributes(fit):
    found = fit.result.copy()
    assert type(found) is type(fit.result)
    found.note = "mine"
    assert found["note"] == "mine"
    assert "note" in list(found.keys())
    assert "note" not in fit.result
    del found.note
    with pytest.raises(AttributeError, match="no attribute 'note'"):
        del found.note
    assert found["x"] is found.x
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert mdqr.array_equal(other.x, found.x)


def test_replace_keeps_info(fit):
    other = fit._replace(pcov=2 * fit.pcov)
    assert other.info is fit.info
    assert other.result is fit.result


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"xdata": []}, "`xdata` is empty"),
        ({"xdata": ["a"]}, "`xdata` does not hold numbers"),
        ({"level": "a"}, "`level` must be a number between 0 and 1"),
        ({"level": 95}, "`level` must be a number between 0 and 1"),
        ({"sigma": -1}, "`sigma` must not be negative"),
        ({"sigma": np.nan}, "`sigma` must not be negative, and finite"),
        ({"sigma": "a"}, "`sigma` does not hold numbers"),
    ],
)
def test_wrong_input_of_predict(fit, options, message):
    with pytest.raises(ValueError, match=message):
        fit.predict(decay, **{"xdata": X, **options})


def test_root_takes_one_more_argument_that_is_no_tuple():
    assert root(lambda x, a: [x[0] ** 2 - a], [1.0], args=2, precision="dd").success


def test_root_takes_a_function_that_returns_its_jacobian():
    def equations(x):
        return [x[0] ** 2 - 2, x[1] - x[0]], [[2 * x[0], 0], [-1, 1]]

    found = root(equations, [1, 1], jac=True, precision="qd")
    assert found.info.derivatives == "jac"
    assert found.info.digits.min() > 60
    with pytest.raises(ValueError, match=r"must return \(values, Jacobian\)"):
        root(lambda x: [x[0] - 1], [2], jac=True)


def test_nnls_takes_maxiter_by_position():
    assert nnls([[1.0, 0], [0, 1]], [2.0, -1], 100).x.to_numpy().tolist() == [2, 0]


def test_residuals_of_complex_equations_are_complex():
    a, b = np.array([[1, 2j], [3, 1], [1j, 1]]), np.array([1, 2j, 3])
    found = lsq_linear(a, b, precision="dd")
    assert found.fun.shape == (3,)
    assert np.allclose(found.fun.to_numpy(), a @ found.x.to_numpy() - b)
    assert float(found.cost) == pytest.approx(0.5 * np.sum(np.abs(found.fun.to_numpy()) ** 2))


def test_a_variance_that_underflows_is_said():
    with pytest.warns(mdqr.PrecisionWarning, match="covariance .* out of the range of float64"):
        found = curve_fit(decay, X, Y * 2.0**-564, [3 * 2.0**-564, 1])
    assert np.isfinite(found.info.standard_errors().to_numpy()).all()
    assert (found.info.standard_errors() > 0).all()


@pytest.mark.parametrize("unit", UNITS)
def test_batches_in_any_units(fit, unit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)  # covariances beyond the range
        found = curve_fit(decay, X, mdqr.stack([Y, Y * 2]) * unit, [3 * unit, 1])
    assert found.result.status.tolist() == [3, 3]
    assert found.info.digits.min() > 28
    sizes = np.array([[unit, 1.0], [2.0 * unit, 1.0]])
    difference = np.abs((found.popt / sizes - fit.popt).to_numpy())
    assert np.all(difference <= found.info.error_bound / sizes + fit.info.error_bound)
    expected = fit.info.standard_errors() * sizes
    assert mdqr.allclose(found.info.standard_errors() / expected, 1, rtol=1e-25)
    assert mdqr.allclose(found.info.residual_std / (fit.info.residual_std * sizes[:, 0]), 1)


def test_a_batch_with_covariances_out_of_range_says_so():
    unit = 2.0**664
    for factor in (unit, 1 / unit):
        with pytest.warns(mdqr.PrecisionWarning, match="covariance .* out of the range of float64"):
            curve_fit(decay, X, mdqr.stack([Y, Y * 2]) * factor, [3 * factor, 1])


@pytest.mark.parametrize("of_a", UNITS)
@pytest.mark.parametrize("of_b", [2.0**-332, 1.0, 2.0**332])
def test_bounded_linear_problems_in_any_units(of_a, of_b):
    a = mdqr.array([["1.1", "0.3", "0.7"], ["0.2", "2.1", "0.5"], ["0.4", "0.6", "3.1"],
                    ["0.9", "0.1", "0.2"]], precision=mdqr.qd)  # fmt: skip
    b = mdqr.array(["1", "-2", "3", "0.5"], precision=mdqr.qd)
    expected, found = nnls(a, b), nnls(a * of_a, b * of_b)
    assert found.info.bound_kind == "proven"
    assert found.info.digits.min() > (60 if of_b / of_a > 2.0**-800 else 20)  # limbs underflow
    unit = of_b / of_a
    difference = np.abs((found.x / unit - expected.x).to_numpy())
    assert np.all(difference <= found.info.error_bound / unit + expected.info.error_bound)
