"""Bounds of squares that underflow, and of what is zero."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import mdqr
from mdqr.linalg import eigh, roots, schur, svd, svdvals


@pytest.mark.parametrize("size", [1e-170, 1e-250])
def test_errors_of_data_whose_squares_underflow(size):
    a = mdqr.array(np.diag([0.0, 1.0, 2.0]), precision="dd")
    errors = {"a_atol": size}
    assert eigh(a, data_error=errors).info.data_error_bound.min() >= size
    assert svd(a, data_error=errors).info.data_error_bound.min() >= size


@pytest.mark.parametrize("seed", range(4))
def test_vectors_of_values_so_near_that_squares_underflow(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(180, 230))
    a = mdqr.zeros((3, 3), precision="od")
    a[0, 0] = 1.0
    for limb in range(8):
        a = a + mdqr.array(rng.standard_normal((3, 3)) * 2.0 ** (-k - 53 * limb), precision="od")
    found = svd(a)
    with mpmath.workdps(700):
        _, _, exact = mpmath.svd_r(mpmath.matrix(a.to_mpmath().tolist()))
        for i, bound in enumerate(found.info.vector_bound):
            row = mpmath.matrix(found.Vh[i].to_mpmath().tolist())
            apart = min(mpmath.norm(row - s * exact[i, :].T) for s in (1, -1))
            assert apart <= bound


def test_errors_beyond_the_range_leave_no_digits():
    a = mdqr.array([[1.0, 2], [3, 4]], precision="dd") * 1e-200
    info = schur(a, data_error={"a_atol": 1e200}).info
    assert info.data_error_bound == np.inf
    assert info.data_digits == 0


@pytest.mark.parametrize("precision", ["d", "dd", "qd"])
@pytest.mark.parametrize("k", [30, 60, 70, 100, 129])
def test_real_schur_of_nearly_equal_diagonals(precision, k, rng):
    a = (
        mdqr.eye(3, precision=precision)
        + mdqr.array(rng.standard_normal((3, 3)), precision=precision) * 2.0**-k
    )
    found = schur(a)
    assert found.info.error_bound <= 100 * 3 * found.T.precision.eps
    lower = np.tril(found.T.to_numpy(), -2)
    assert not lower.any()


def test_what_is_known_of_roots_is_not_what_the_caller_makes_of_them():
    found = roots(mdqr.array([1, -3, 2.0], precision="dd"))
    found.roots[...] = 0
    assert found.info.digits.min() > 30


def test_conditions_of_zero_matrices():
    zero = mdqr.zeros((2, 2), precision="dd")
    assert (svd(zero).info.condition == np.inf).all()
    assert (eigh(zero).info.condition == np.inf).all()
    assert (svdvals(zero, return_info=True)[1].condition == np.inf).all()
