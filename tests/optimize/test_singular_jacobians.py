"""Minima at which the Jacobian is singular: no standard errors, and what is said about them."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import mdqr
from mdqr.optimize import OptimizeResult, curve_fit, least_squares
from mdqr.optimize._model.box import box_of
from mdqr.optimize._model.derivatives import Differences, Given
from mdqr.optimize._model.forward import Forward
from mdqr.optimize._model.function import Function
from mdqr.optimize._model.noise import Noise

X = np.arange(9) / 8.0
FALLING = mdqr.array(1 - 0.25 * X, precision=mdqr.qd)
LEAST = "the covariance of the parameters is not determined: "


def square(x, a, c):
    """Of falling data the minimum is at c = 0, where c has no effect to first order."""
    return a + c * c * x


def difference(x, a, b):
    """The effects of a and b are the same where they are equal."""
    return (a + b) + (a - b) ** 2 * x


CASES = {
    "a column": (square, [1.2, 0.3], "c has no effect on the residuals to first order"),
    "two columns": (difference, [0.7, 0.4], "the residuals do not tell a, b apart to first order"),
}


@pytest.mark.filterwarnings("ignore:.*correct digits")
@pytest.mark.parametrize("precision", [mdqr.d, mdqr.dd, mdqr.qd, mdqr.od])
@pytest.mark.parametrize("name", CASES)
def test_no_covariance(name, precision):
    f, start, text = CASES[name]
    with pytest.warns(mdqr.PrecisionWarning, match=LEAST + text):
        found = curve_fit(f, X, FALLING, start, precision=precision)
    assert found.result.status == 3
    assert np.isinf(found.pcov.to_numpy()).all()
    with pytest.raises(mdqr.linalg.LinAlgError, match="the Jacobian is singular"):
        found.info.standard_errors()
    for same in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        with pytest.raises(mdqr.linalg.LinAlgError, match="the Jacobian is singular"):
            same.info.covariance()
    assert found.info.condition == np.inf or name == "two columns"


@pytest.mark.parametrize("name", CASES)
def test_no_covariance_in_a_batch(name):
    f, start, text = CASES[name]
    y = mdqr.stack([FALLING + X, FALLING])
    with pytest.warns(mdqr.PrecisionWarning, match=f"problem 1: {LEAST}{text}"):
        found = curve_fit(f, X, y, start, precision=mdqr.qd)
    assert found.result.status.tolist() == [3, 3]
    assert np.isinf(found.pcov.to_numpy()[1]).all()
    assert np.isfinite(found.pcov.to_numpy()[0]).all()
    assert np.isinf(found.info.standard_errors().to_numpy()[1]).all()
    alone = curve_fit(f, X, y[0], found.popt[0], precision=mdqr.qd)
    error = np.abs((alone.info.standard_errors() - found.info.standard_errors()[0]).to_numpy())
    assert np.all(error < 1e-50)


def test_ill_conditioned_covariances_are_determined():
    """A singular value of 1e-9 is not zero in qd."""
    y = mdqr.array([1, 2, 2, 4, 5, 6, 7, 8, 8], precision=mdqr.qd)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = curve_fit(lambda x, a, b: a * (1 + x) + b * (1 + x * (1 + mdqr.qd("1e-9"))), X, y,
                          [1, 1])  # fmt: skip
    assert np.isfinite(found.pcov.to_numpy()).all()


def ends(f, y, start, **options):
    """Return the status, message and warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = curve_fit(f, X, y, start, **options)
    return found.result, " ".join(str(each.message) for each in caught)


NO_EFFECT = "c has no effect on the residuals there: fix it"
SAME_END = {
    "no effect": (lambda x, a, b, c: a + b * x + 0 * c, [1, 1, 1], 1, NO_EFFECT),
    "not told apart": (
        lambda x, a, b, c: (a + b) * (1 + x) + c * x * x, [1, 1, 1], 1, "do not tell a, b apart"
    ),
    "float64": (
        lambda x, a, b: a.to_numpy() * np.exp(-b.to_numpy() * X), [1, 1], 3, "`fun` rounds to 1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_END)
def test_batches_end_as_single_fits_do(name):
    f, start, status, text = SAME_END[name]
    y = mdqr.array([1, 1.5, 2, 2.5, 2.9, 3.6, 4.1, 4.4, 5], precision=mdqr.qd)
    one, warned = ends(f, y, start)
    many, warned_of_many = ends(f, mdqr.stack([y, y * 2]), start)
    assert one.status == status
    assert many.status.tolist() == [status, status]
    assert many.success.all()
    for said in (warned, warned_of_many):
        assert text in said
    if status == 1:
        assert text in one.message
        assert text in many.message
        assert "the minimum is not unique" in many.message


def model(b):
    return b[0] * b[1] + b[1] ** 3 * X


def slopes(b, _=None):
    columns = (b[1] + 0 * X, b[0] + 3 * b[1] ** 2 * X)
    return mdqr.stack([mdqr.asarray(each, precision=b.precision) for each in columns], axis=-1)


def test_second_derivatives_of_all_kinds_of_jacobians():
    """Those of the caller's Jacobian and of power series are seen as those of differences are."""
    box = box_of("test", (-np.inf, np.inf), 2, mdqr.od)
    x = mdqr.array([2, 3], precision=mdqr.qd)
    noise = Noise(np.full(X.size, 1e-60), mdqr.qd.eps)
    for kind in ("differences", "jac", "series"):
        function = Function("test", lambda b, p: model(b), lambda r, p: r)
        function.at(x, mdqr.qd)
        made: Differences = {
            "differences": lambda f: Differences(f, box),
            "jac": lambda f: Given(f, box, slopes),
            "series": lambda f: Forward(f, box, lambda b, p: model(b), lambda rows, p: rows),
        }[kind](function)
        found = made.curvature(x, None, mdqr.ones(X.size, precision=mdqr.qd), np.array([2.0, 2.0]),
                               noise)  # fmt: skip
        # By parameters in units of 2: 4 f''.
        np.testing.assert_allclose(found.diagonal, np.stack([0 * X, 72 * X], -1), atol=1e-12)
        np.testing.assert_allclose(found.turned, np.stack([4 + 0 * X, 4 + 72 * X], -1), rtol=1e-12)


def test_results_without_items_and_copies():
    assert repr(OptimizeResult()) == "<OptimizeResult of nothing>"
    assert repr(OptimizeResult(x=1)) == "<OptimizeResult of x>"
    found = least_squares(lambda b: b - 2, [1.0])
    other = found.copy()
    other.x[0] = 77
    assert float(found.x[0]) == 2.0
    for y in (FALLING + X, mdqr.stack([FALLING + X, FALLING + 2 * X])):
        fit = curve_fit(square, X, y, [1.2, 0.3])
        fit.popt[...] = 77
        assert float(fit.result.x.max()) < 3.0
