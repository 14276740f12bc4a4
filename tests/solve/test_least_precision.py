"""The lowest precision that proves so many digits."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq
from mdqr.linalg._shared.digits import in_least_precision


@pytest.mark.parametrize("digits", [3, 15, 16, 31, 40, 63.0, 64, 100, 127, 128, 200, 255])
def test_digits_are_proven_in_the_lowest_precision_that_has_them(digits, rng):
    source = mdqr.precision_for_digits(digits)
    a, b = (cases.random(9, n, source, float, rng, cond=1e4) for n in (4, 2))
    fit = lstsq(a, b, digits=digits)
    assert fit.info.precision is fit.x.precision is source
    assert fit.info.bound_kind == "proven"
    assert fit.info.digits.min() >= digits
    exact = cases.rational_solution(a, b)[0]
    for found, truth in zip(fit.x.to_fractions().flat, exact.flat, strict=True):
        assert abs(found - truth) <= abs(truth) / Fraction(10) ** int(digits)


def test_precisions_that_do_not_prove_the_digits_are_passed_over(rng):
    a = np.vander(np.linspace(1, 2, 16), 14)  # whose condition takes all digits of d
    with pytest.warns(mdqr.DataPrecisionWarning) as caught:
        fit = lstsq(a, rng.standard_normal(16), digits=8)
    assert fit.info.precision is mdqr.dd
    assert len(caught) == 1
    highest = PRECISIONS[-1]
    a = cases.random(9, 9, highest, float, rng, cond=0.009 / highest.eps)
    with pytest.raises(np.linalg.LinAlgError, match=rf"{highest.name}.*condition"):
        lstsq(a, np.ones(9), digits=highest.digits)


def test_proofs_in_the_highest_precision_where_ranks_are_in_doubt(rng):
    """Once an estimate by QR: only another precision was asked, and there is none."""
    highest = PRECISIONS[-1]
    a = mdqr.array(cases.random(6, 6, mdqr.dd, float, rng, cond=1e28).to_numpy(), precision="d")
    a[:, 5] = a[:, :5].to_numpy().sum(axis=1)
    a[0, 5] += 2.0**-44
    b = rng.standard_normal(6)
    for options in ({"digits": highest.digits}, {"precision": highest, "verified": True}):
        with pytest.warns(mdqr.DataPrecisionWarning):
            fit = lstsq(a, b, **options)
        assert fit.info.bound_kind == "proven"
        exact = cases.rational_solution(a, mdqr.array(b, precision="d")[:, None])[0][:, 0]
        for found, truth in zip(fit.x.to_fractions(), exact, strict=True):
            assert abs(found - truth) <= 4 * Fraction(highest.eps) * abs(truth)


def test_only_proven_digits_count():
    class Found:
        def __init__(self, precision):
            kinds = ["proven", "estimated" if precision < mdqr.qd else "proven"]
            few = np.full(2, 40.0 if precision < mdqr.od else 50.0)
            self.info = mdqr.linalg.Info(precision)
            self.info.__dict__ |= {"bound_kind": np.array(kinds), "digits": few, "condition": 1e9}

    found = in_least_precision("lstsq", 20, Found)
    assert found.info.precision is mdqr.qd
    found = in_least_precision("lstsq", 45, Found)
    assert found.info.precision is mdqr.od
    with pytest.raises(np.linalg.LinAlgError, match=r"digits=60.*proves 50 digits.*1\.0e\+09"):
        in_least_precision("lstsq", 60, Found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": 0}, "greater than 0"),
        ({"digits": 10_000}, "at most"),
        ({"digits": 9, "precision": "dd"}, "without precision and rcond"),
        ({"digits": 9, "rcond": 1e-9}, "without precision and rcond"),
        ({"digits": 9, "rtol": 1e-9}, "without precision and rcond"),
        ({"digits": 9, "method": "householder"}, "digits= wants them proven"),
    ],
)
def test_what_does_not_go_with_digits(options, message):
    with pytest.raises(ValueError, match=message):
        lstsq(np.eye(3), np.ones(3), **options)
