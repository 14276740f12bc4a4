"""Least squares that change, in far units and beside heavy rows; symmetric covariances."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases
import numpy as np
import pytest
import update_cases as cases

import mdqr
from mdqr.linalg import UpdatableLstsq, lstsq


@pytest.mark.parametrize("power", [-600, -700, -800, -900, -1000])
def test_without_data_limbs_below_the_smallest_double_are_lost(precision, power):
    """R is held in the units of the data: its columns have the limbs that fit there."""
    t = mdqr.arange(1, 6, precision=precision)
    a, b = mdqr.column_stack([1 / (t + 2), mdqr.sqrt(t) * 2.0**power]), mdqr.sqrt(t + 1) / t
    fit = UpdatableLstsq(a, b, keep_data=False)
    exact = linalg_cases.rational_solution(a, b[:, None])[0][:, 0]
    found = fit.solve().to_fractions()
    bound, digits = fit.info.error_bound, fit.info.digits
    for j in range(2):
        error = abs(found[j] - exact[j])
        assert error <= Fraction(float(bound[j]))
        assert error <= abs(exact[j]) * Fraction(10.0 ** -float(digits[j]) * (1 + 1e-9))
    held = min(precision.digits, (1070 + power) * np.log10(2.0))
    assert min(digits) > held - 8


@pytest.mark.parametrize("keep_q", [False, True])
def test_statistics_beside_a_row_that_holds_exactly(precision, keep_q):
    """The residual of x as it is rounded is eps times the length of the heavy row."""
    heavy = 2.0 ** (precision.bits + 8)
    a = mdqr.array([[3 * heavy], [1], [2], [3]], precision=precision)
    b = mdqr.array([heavy, 1, 2, 2], precision=precision)
    fit = UpdatableLstsq(a, b, keep_q=keep_q)
    # x is 1/3 but for the reciprocal of the square of heavy: residuals 2/3, 4/3 and 1.
    std = np.sqrt(29 / 27)
    assert float(fit.info.residual_std) == pytest.approx(std, rel=1e-14)
    assert float(fit.residual_norm()) == pytest.approx(np.sqrt(29 / 9), rel=1e-14)
    assert float(fit.info.standard_errors()[0]) == pytest.approx(std / 3 / heavy, rel=1e-14)


def test_covariances_are_symmetric_to_the_last_bit(precision, dtype, rng):
    a, b = (cases.values(shape, precision, dtype, rng) for shape in ((40, 12), (40,)))
    for info in (UpdatableLstsq(a, b).info, lstsq(a, b).info):
        found = info.covariance()
        assert (found == found.H).all()
