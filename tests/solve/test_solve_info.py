"""What `solve` and `inv` say of their errors, and of those of the data."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import inv, lstsq, solve

METHODS = ["auto", "refine", "householder"]


def shares(x, info, exact):
    """The errors over their bounds, exact; 0 where both are 0."""
    found, bound = cases.fractions(x).ravel(), info.error_bound.ravel()
    errors = [abs(a - b) for a, b in zip(found, np.ravel(exact), strict=True)]
    return [
        float(e / Fraction(b)) if b else float(e > 0) * np.inf
        for e, b in zip(errors, bound, strict=True)
    ]


@given(st.data())
def test_bounds_are_right_and_close(data):
    """The median error is more than a thousandth of its bound, so that no mutant of it passes."""
    precision, n = data.draw(st.sampled_from(PRECISIONS)), data.draw(st.integers(2, 8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    a, b = (cases.random(n, k, precision, float, rng) for k in (n, 2))
    method = data.draw(st.sampled_from(METHODS))
    for x, info, right in (
        (*solve(a, b, method=method, return_info=True), b),
        (*inv(a, method=method, return_info=True), mdqr.eye(n, precision=precision)),
    ):
        found = shares(x, info, cases.rational_solution(a, right)[0])
        assert max(found) <= 1
        assert np.median(found) > 2.0**-10 or precision is PRECISIONS[-1]
        assert (info.digits > precision.digits - 1).all()
        assert info.error_bound.shape == info.data_digits.shape == x.shape


@pytest.mark.parametrize("progress", [None, lambda *_: None])
def test_it_says_what_lstsq_says(precision, progress):
    a, b = (mdqr.random.normal(s, precision=precision, rng=3) for s in ((6, 6), (6,)))
    errors = {"a_rtol": 1e-9, "b_atol": 1e-8}
    x, info = solve(a, b, data_error=errors, return_info=True, progress=progress)
    fit = lstsq(a, b, data_error=errors, progress=progress)
    assert (x == fit.x).all()
    assert info.bound_kind == "proven"
    np.testing.assert_array_equal(info.digits, fit.info.digits)
    # Scaled rows make other roundings of the same bound.
    np.testing.assert_allclose(info.data_digits, fit.info.data_digits, atol=0.1)
    assert 1 < info.condition < 1e4
    again = pickle.loads(pickle.dumps(info))
    np.testing.assert_array_equal(again.data_error_bound, info.data_error_bound)


def test_data_digits_hold_for_the_worst_of_random_errors():
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((5, 5)), rng.standard_normal((5, 2))
    x, info = solve(a, b, precision="dd", return_info=True)
    _, within = inv(a, precision="dd", return_info=True)
    worst, apart = 0.0, 0.0
    for _ in range(40):
        da, db = (1 + 2.0**-53 * rng.choice([-1, 1], y.shape) for y in (a, b))
        moved = [mdqr.array(y, precision="dd") * dy for y, dy in ((a, da), (b, db))]
        worst = np.maximum(worst, abs(solve(*moved) - x).to_numpy())
        apart = np.maximum(apart, abs(inv(moved[0]) - inv(a, precision="dd")).to_numpy())
    for bound, seen in ((info.data_error_bound, worst), (within.data_error_bound, apart)):
        assert (seen <= bound).all()
        assert (seen > bound * 2.0**-10).all()


def test_zeros_stay_zero_for_all_data():
    a, b = [[0.1, 0.7, 0.2], [0.3, 0.0, 0.0], [0.1, 0.4, 0.3]], [0.2, 0.0, 0.1]
    for x, info in (
        solve(a, b, precision="qd", return_info=True),
        (lambda fit: (fit.x, fit.info))(lstsq(a, b, precision="qd")),
    ):
        assert x.to_numpy()[0] == 0
        assert info.digits[0] == info.data_digits[0] == 63
        assert info.data_digits[1] < 17


def test_zeros_of_some_matrices_of_a_batch():
    a = np.array([[[2.0, 1.0], [1.0, 3.0]], [[0.1, 0.7], [0.3, 0.0]]])
    b = np.array([[[1.0], [2.0]], [[0.2], [0.0]]])
    for x, info in (
        solve(a, b, precision="qd", return_info=True),
        (lambda fit: (fit.x, fit.info))(lstsq(a, b, precision="qd")),
    ):
        assert x.to_numpy()[1, 0] == 0
        assert info.data_digits[1, 0] == 63
        assert (info.data_digits[0] < 17).all()


def test_batches_and_several_ways():
    a = np.stack([np.eye(3), np.vander([1.0, 2, 3]), [[0, 1, 0], [1, 0, 0], [0.3, 0, 1e-200]]])
    x, info = solve(a, np.ones((3, 3, 1)), precision="dd", return_info=True)
    assert info.error_bound.shape == (3, 3, 1)
    assert info.condition.shape == (3,)
    for one in range(3):
        right = mdqr.ones((3, 1), precision="dd")
        exact = cases.rational_solution(mdqr.array(a[one], precision="dd"), right)[0]
        assert (abs(cases.fractions(x[one]) - exact).astype(float) <= info.error_bound[one]).all()


def _answers(a, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solve(a, np.ones(len(a)), **options)
        inv(a, **options)
    return [str(each.message) for each in caught]


def test_rounded_entries_that_do_not_determine_the_result_are_told_of():
    i = np.arange(1.0, 15)
    hilbert = 1 / (i[:, None] + i - 1)
    messages = _answers(hilbert, precision="qd")
    assert [message.partition(":")[0] for message in messages] == ["solve", "inv"]
    assert all("singular to the precision of its entries" in message for message in messages)
    _, info = inv(hilbert, precision="qd", return_info=True, data_error={"a_rtol": 0})
    assert (info.digits == 63).all()
    # Whole numbers are short, and more digits determine it.
    assert not _answers(np.triu(np.full((60, 60), -1.0), 1) + np.eye(60), precision="qd")
    assert not _answers(1 / mdqr.array(i[:, None] + i - 1, precision="qd"))
    assert not _answers(hilbert, precision="qd", data_error={"a_rtol": 1e-40})


def test_options_are_checked():
    with pytest.raises(
        ValueError, match="inv: data_error has the keys a_atol, a_rtol; got 'b_rtol'"
    ):
        inv(np.eye(2), data_error={"b_rtol": 1.0})
    with pytest.raises(TypeError, match="solve: data_error must be a dict"):
        solve(np.eye(2), [1.0, 2.0], data_error=1e-9)
    with pytest.raises(ValueError, match="solve: data_error: a_rtol must be finite and not neg"):
        solve(np.eye(2), [1.0, 2.0], data_error={"a_rtol": -1.0})
