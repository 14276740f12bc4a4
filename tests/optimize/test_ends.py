"""Ends of fits that have no minimum with all digits, and their messages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mdqr
from mdqr.optimize import curve_fit, least_squares, root
from tests.support.array_cases import full_width

X = np.arange(12) / 4.0
CURVE = mdqr.exp(mdqr.array(-X / 2, precision=mdqr.qd)) * 2 + np.sin(9 * X) / 8


def decay(x, a, b):
    return a * mdqr.exp(-b * x)


def ends(call, *arguments, **options):
    """Return a result, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call(*arguments, **options)
    return found, " ".join(str(each.message) for each in caught)


def rounding(x, a, b):
    """The curve in float32."""
    a, b = (np.asarray(each.to_numpy(), np.float32) for each in (a, b))
    return a * np.exp(-b * np.asarray(X, np.float32))


@pytest.mark.parametrize("y", [CURVE, mdqr.stack([CURVE, CURVE * 3])], ids=["one", "a batch"])
def test_a_function_in_float32_is_named(y):
    """Differences over 1e-16 do not move its parameters, which had no effect therefore."""
    found, said = ends(curve_fit, rounding, X, y, [1, 1])
    assert "`fun` rounds to 7 digits" in said
    assert "float32" in said
    assert np.all(found.info.digits < 8)
    exact = curve_fit(decay, X, y, [1, 1])
    assert np.all(np.abs((found.popt - exact.popt).to_numpy()) <= found.info.error_bound)


def test_equations_in_float32_are_named():
    found, said = ends(
        root, lambda x: x.to_numpy().astype(np.float32) ** 2 - 2, [1.5], precision="qd"
    )
    assert "`fun` rounds to 8 digits" in said
    assert found.info.digits[0] < 9


@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd, mdqr.od])
def test_a_column_too_many_claims_no_digits(precision):
    """Second differences in dd had errors that were taken for those of od."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, y = (full_width(rng, mdqr.od, (9,)) for _ in range(2))
        found, said = ends(
            curve_fit, lambda x, a, b, c: a + b * x + c * (1 + x * 2), x, y, [2, 1, 1],
            precision=precision,
        )  # fmt: skip
        assert (found.info.digits == 0).all()
        assert "do not tell a, b, c apart" in said


@pytest.mark.parametrize("start", [[1, 1, 1, 1], [1, 2, 1, 2], [0, 1, 0, 2]])
def test_exponentials_that_meet_are_no_minimum(start):
    """The Jacobian is singular where two are one, and the sum falls where they part."""
    y = CURVE + mdqr.exp(mdqr.array(-3 * X, precision=mdqr.qd))

    def fun(x):
        return x[0] * mdqr.exp(-x[1] * X) + x[2] * mdqr.exp(-x[3] * X) - y

    found = least_squares(fun, start)
    best = least_squares(fun, [2, 0.5, 1, 3])
    assert found.status == 3
    assert float(found.cost) == pytest.approx(float(best.cost))


MINIMA = {
    "a square": lambda x: [x[0] ** 2, x[1] - 1],
    "a cube": lambda x: [x[0] ** 3, x[1] - 2],
    "of order four beside a residual": lambda x: [(x[0] - 2) ** 4 + 1, x[1] - 2],
    "two parameters by powers": lambda x: [
        x[0] + 10 * x[1], (x[0] - 2 * x[1]) ** 2, (x[0] - x[1]) ** 2
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", MINIMA)
def test_minima_with_a_singular_hessian(name):
    fun = MINIMA[name]
    found, said = ends(least_squares, lambda x: mdqr.stack(fun(x)), [1.0, 0.25], precision="qd")
    assert found.status in (1, 3)
    if found.status == 1:
        assert "the Hessian is singular: the minimum is not unique, or of higher order" in said
        assert (found.info.digits == 0).all()


def jacobian(factor):
    def jac(x, a, b):
        fall = mdqr.exp(-b * x)
        return mdqr.stack([fall, -a * x * fall * factor], axis=1)

    return jac


@pytest.mark.parametrize("factor", [2.0, -1.0, 1 + 2.0**-10, 1 + 2.0**-30])
def test_a_wrong_jacobian_is_named(factor):
    found, said = ends(curve_fit, decay, X, CURVE, [1, 1], jac=jacobian(factor))
    assert "ifferences of `fun` contradict `jac` by b: correct it, or leave it out" in said
    assert "not unique" not in said
    exact = curve_fit(decay, X, CURVE, [1, 1], jac=jacobian(1.0))
    assert np.all(np.abs((found.popt - exact.popt).to_numpy()) <= found.info.error_bound)


@pytest.mark.parametrize("gap", ["1e-25", "1e-40", "1e-50"])
def test_equations_that_nearly_depend_on_each_other(gap):
    small = mdqr.od(gap)
    found = root(
        lambda x: [x[0] + x[1] - 2, x[0] + x[1] * (1 + small) - 2 - small], [3, 5], precision="qd"
    )
    assert found.success
    assert np.all(np.abs((found.x - 1).to_numpy()) <= found.info.error_bound)
    assert found.info.digits.min() > 10


@pytest.mark.parametrize(
    "f",
    [lambda x, a, b: (a + b) * x, lambda x, a, b: a * x + 0 * b, decay],
    ids=["a sum", "no effect", "decay"],
)
def test_statuses_of_a_batch_are_those_of_its_problems(f):
    y = mdqr.stack([CURVE, CURVE * 0, CURVE * 0 + 1, mdqr.array(X, precision=mdqr.qd)])
    many, _ = ends(curve_fit, f, X, y, [1, 1])
    ones = [ends(curve_fit, f, X, each, [1, 1])[0].result.status for each in y]
    assert many.result.status.tolist() == ones


def test_values_that_are_not_finite_with_correlated_observations():
    """Far points are refused, not the whole fit."""
    x, covariance = np.arange(8.0) / 2, np.eye(8) + 0.1
    y = np.log(4.5 - x) + 1 + 0.01 * np.sin(9 * x)

    def curve(x, a, b):
        return mdqr.log(a - x) + b

    fit, told = ends(curve_fit, curve, x, y, [20, 1.0], sigma=covariance, precision=mdqr.qd)
    assert fit.result.status == 3
    assert not told
    best = curve_fit(curve, x, y, [4.5, 1.0], sigma=covariance, precision=mdqr.qd)
    assert mdqr.allclose(fit.popt, best.popt, rtol=1e-60)


@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd, mdqr.od])
@pytest.mark.parametrize("start", [0.3, 0.35, 0.7])
def test_no_digits_of_a_parameter_whose_derivative_is_rounding_errors(precision, start):
    """The derivative by c is zero, the difference of terms that cancel; `jac` is right."""
    x = mdqr.linspace(0.2, 3, 9, precision=precision)

    def curve(x, a, b, c):
        return a * mdqr.exp(-b * x) * (1 + c * x) / (1 + c * x)

    y = curve(x, 1.2, 0.6, 0.3) + np.sin(9 * np.arange(9.0)) / 100
    fit, told = ends(curve_fit, curve, x, y, [1.1, 0.5, start], jac="series")
    assert np.all(fit.info.digits == 0)
    assert told
    assert "contradict" not in told


@pytest.mark.parametrize("exponent", [40, 200])
def test_a_start_where_no_parameter_has_an_effect(exponent):
    """Beside large observations a start of one is lost to rounding: that is no minimum."""
    y = CURVE / 3 * 10.0**exponent
    fit, told = ends(curve_fit, decay, X, y, [1, 1])
    assert fit.result.status == -3
    assert "has no effect" in told


def test_few_digits_of_a_parameter_far_smaller_than_its_start():
    fit, told = ends(curve_fit, lambda x, a, b: a + b * x, X, X * 1e-30 + 1e-30, [1, 1])
    assert np.all((fit.info.digits > 0) & (fit.info.digits < 8))
    assert "far smaller than in the initial point" in told
    y = np.stack([X * 1e-27 + 1e-27, X + 1])
    fits, told = ends(curve_fit, lambda x, a, b: a + b * x, X, y, [1, 1])
    assert np.all((fits.info.digits[0] > 0) & (fits.info.digits[0] < 7))
    assert "Problem 0 has less than half of the digits" in told
