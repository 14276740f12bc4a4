"""Bounds of squares that underflow, and of what is zero."""

from __future__ import annotations

import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import mdqr
from mdqr._limbs.exact import LOWEST
from mdqr.linalg import eig, eigh, pinv, roots, schur, svd, svdvals
from mdqr.linalg._factor.determinants.exact import Integer


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
        for i, bound in enumerate(found.info.vector_error_bound):
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


def _diagonal(values, exponents):
    """A diagonal matrix of full-width values times powers of two."""
    return mdqr.diag(values * 2.0 ** np.array(exponents, dtype=float))


@pytest.mark.parametrize("precision", ["dd", "qd", "od"])
@pytest.mark.parametrize("k", [690, 700, 715])
def test_what_scaling_takes_from_a_pair(precision, k):
    """Vectors of 2**200 make of half the smallest double an error far beyond it."""
    x = mdqr.random.uniform((4,), low=1, high=2, precision=precision, rng=k)
    a, b = _diagonal(x[:2], [-k, 300]), _diagonal(x[2:], [-400, 0])
    found = eigh(a, b=b)
    of_a, of_b = (y[0, 0].to_fractions().item() for y in (a, b))
    error = abs(found.eigenvalues[0].to_fractions().item() - of_a / of_b)
    bound = float(found.info.error_bound[0])
    assert error <= Fraction(bound)
    eps = found.eigenvalues.precision.eps
    assert bound <= max(16 * eps * float(of_a / of_b), 2.0 ** (300 - 980))


@pytest.mark.parametrize("seed", range(4))
def test_what_scaling_takes_from_a_pair_with_large_vectors(seed):
    """A condition of b of 2**200 makes of half the smallest double 2**200 times as much."""
    x, near = mdqr.random.uniform((2,), low=1, high=2, precision="od", rng=seed), 2.0**-200
    a = mdqr.zeros((3, 3), precision="od")
    a[0, 0], a[1, 1], a[2, 2] = x[0] * 2.0**-600, x[1] * 2.0**-600, 2.0**400
    b = mdqr.eye(3, precision="od")
    b[0, 1] = b[1, 0] = mdqr.od(1) - near
    found = eigh(a, b=b)
    with mpmath.workdps(700):
        p, q = (each * mpmath.mpf(2) ** -600 for each in x.to_mpmath().tolist())
        # The larger root of p q - (p + q) w + (1 - (1 - near)**2) w**2.
        square = 2 * mpmath.mpf(near) - mpmath.mpf(near) ** 2
        exact = (p + q + mpmath.sqrt((p + q) ** 2 - 4 * square * p * q)) / (2 * square)
        error = abs(found.eigenvalues[1].to_mpmath().item() - exact)
        assert error <= found.info.error_bound[1]
    assert found.info.error_bound[1] <= 2.0 ** (400 - 1072 + 212)


@pytest.mark.parametrize("factor", [1.0, 1j])
@pytest.mark.parametrize("k", [500, 560, 600])
def test_what_scaling_takes_from_a_pseudoinverse(k, factor):
    x = mdqr.random.uniform((2,), low=1, high=2, precision="od", rng=k)
    a = _diagonal(x, [400, -k])
    found, info = pinv(factor * a, rtol=0, return_info=True)
    exact = 1 / a[1, 1].to_fractions().item()
    error = abs((factor * found[1, 1]).real.to_fractions().item() - exact)
    assert error <= Fraction(float(info.error_bound[1, 1]))
    lost = max(2.0**10 * mdqr.od.eps, 2.0 ** (k + 400 - 1068))
    assert info.error_bound[1, 1] <= lost * float(exact)


@pytest.mark.parametrize("k", range(1, 40))
def test_moduli_of_subnormal_distances(k):
    part = 256 * k - 2
    found = Integer(part, part, LOWEST - 8, 0).distance(np.zeros((2, 1)))
    assert Fraction(found) ** 2 >= 2 * (Fraction(part) * Fraction(2) ** (LOWEST - 8)) ** 2
    assert found <= (1.5 * k + 1) * 2.0**LOWEST


@pytest.mark.parametrize("precision", ["dd", "qd", "od"])
@pytest.mark.parametrize("k", [150, 200, 250, 318, 400, 500])
def test_eigenvalues_far_below_the_largest_entry(precision, k):
    """Squares of differences in the last rows underflow beside 2**(2 k)."""
    t = 2.0**k
    a = mdqr.array([[1, 0, -1], [2 * t, -2 * t * t, t], [3, 2 * t, 0]], precision=precision)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = eig(a)
    values = found.eigenvalues.to_numpy()
    assert np.isfinite(found.info.error_bound).all()
    largest = abs(values).max()
    assert largest == pytest.approx(2 * t * t, rel=1e-15)
    # With the second row and column eliminated: ((1, 0), (3, 0)) plus ((0, -1), (2, 1)).
    small = np.sort_complex(values[abs(values) < largest])
    exact = np.array([1 - 5**0.5 * 1j, 1 + 5**0.5 * 1j])
    error = abs(small - exact)
    bound = np.sort(found.info.error_bound)[:2].max()
    assert (error <= bound + 1e-14).all()
