"""Fits of polynomials: weights, covariances, and what is refused."""

from fractions import Fraction

import flint
import numpy as np
import pytest
from array_cases import full_width
from ranges import room

import mdqr


def test_fits_of_polynomials(multiple, rng):
    coefficients = mdqr.array([Fraction(1, 3), -2, Fraction(1, 7), 5], precision=multiple)
    x = mdqr.linspace(-1, 1, 9, precision=multiple)
    y = mdqr.polyval(coefficients, x)
    fit = mdqr.polyfit(x, y, 3)
    # The values are rounded, by some eps of theirs; the problem has condition 5.
    assert (abs(fit - coefficients) <= 256 * multiple.eps).all()
    both = mdqr.polyfit(x, mdqr.column_stack([y, -y]), 3)
    assert mdqr.allclose(both, mdqr.column_stack([fit, -fit]), atol=1e-20)


@pytest.mark.parametrize("cov", [True, "unscaled"])
@pytest.mark.parametrize("columns", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_covariances_are_those_of_numpy(cov, columns, weighted, multiple, rng):
    x, w = rng.normal(size=9), rng.uniform(-2, 2, 9) if weighted else None
    y = rng.normal(size=9 if columns is None else (9, columns))
    wanted = np.polyfit(x, y, 2, w=w, cov=cov)
    for fit in (mdqr.polyfit, np.polyfit):
        got = fit(mdqr.array(x, precision=multiple), y, 2, w=w, cov=cov)
        for ours, theirs in zip(got, wanted, strict=True):
            np.testing.assert_allclose(ours.to_numpy(), theirs, rtol=1e-9)


def _exact_inverse(x, w, count):
    """Return ``(V^T W V)^-1`` of the powers of integers as fractions."""
    powers = [[flint.fmpq(int(t) ** (count - 1 - j)) for j in range(count)] for t in x]
    squares = [flint.fmpq(int(v)) ** 2 for v in w]
    rows = [
        [
            sum((s * p[i] * p[j] for s, p in zip(squares, powers, strict=True)), flint.fmpq(0))
            for j in range(count)
        ]
        for i in range(count)
    ]
    return flint.fmpq_mat(rows).inv()


@pytest.mark.parametrize("unit", [1.0, 2.0**-400, 2.0**300])
def test_unscaled_covariances_are_exact_to_the_precision(unit, multiple, rng):
    """Weights that are powers of two apart in size are scaled exactly, whatever the unit."""
    unit = min(unit, 2.0 ** (room(multiple) // 2))  # limbs that are doubles
    x, w = np.arange(-3, 4), rng.integers(1, 9, 7) * rng.choice([-1, 1], 7)
    exact = _exact_inverse(x, w, 3) / flint.fmpq(*unit.as_integer_ratio()) ** 2
    _, found = mdqr.polyfit(x, x**3, 2, w=w * unit, cov="unscaled", precision=multiple)
    # The inverse of R errs by some eps times the condition, 20, and twice that its products.
    most = 2**12 * flint.fmpq(*multiple.eps.as_integer_ratio()) * exact[2, 2]
    for i, row in enumerate(found):
        for j, value in enumerate(row):
            assert abs(flint.fmpq(*value.as_integer_ratio()) - exact[i, j]) <= most


def test_a_point_of_weight_0_does_not_count(multiple):
    x, y = mdqr.arange(6, precision=multiple), [1, 3, 2, 5, 4, 7]
    w = [1, 1, 1, 1, 1, 0]
    fit, covariance = mdqr.polyfit(x, y, 1, w=w, cov=True)
    without = mdqr.polyfit(x[:5], y[:5], 1, cov=True)
    known = mdqr.linalg.lstsq(mdqr.vander(x, 2), y, weights=w, precision=multiple)
    assert mdqr.allclose(fit, without[0])
    assert mdqr.allclose(covariance, without[1])
    np.testing.assert_array_equal(covariance.limbs, known.info.covariance().limbs)


def test_points_that_do_not_determine_the_polynomial_are_refused(precision, rng):
    """With weights, too, which do not take equal rows apart."""
    for _ in range(10):
        places = np.r_[0, 1, rng.integers(0, 2, 4)]
        x = full_width(rng, precision, 2)[places]
        y, w = full_width(rng, precision, 6), abs(full_width(rng, precision, 6))
        for options in ({}, {"w": w}):
            with pytest.raises(np.linalg.LinAlgError):
                mdqr.polyfit(x, y, 2, **options)


def test_a_degree_that_is_too_high_is_refused(precision):
    x = mdqr.arange(4, precision=precision)
    with pytest.raises(np.linalg.LinAlgError, match="polyfit: 2 points do not determine the 6"):
        mdqr.polyfit(x[:2], x[:2], 5)
    with pytest.raises(np.linalg.LinAlgError, match="polyfit: 2 points of positive weight do not"):
        mdqr.polyfit(x, x, 2, w=[1, 0, 0, 1])
    with pytest.raises(ValueError, match="no degrees of freedom"):
        mdqr.polyfit(x, x, 3, cov=True)
    assert mdqr.polyfit(x, x, 3, cov="unscaled")[1].shape == (4, 4)


@pytest.mark.parametrize("cov", ["scaled", "UNSCALED", "", 2, None])
def test_other_words_for_covariances_are_refused(cov):
    x = mdqr.arange(4, precision="qd")
    for fit in (mdqr.polyfit, np.polyfit):
        with pytest.raises(ValueError, match='cov must be False, True or "unscaled"'):
            fit(x, x, 1, cov=cov)


def test_arguments_that_do_not_fit_are_refused(precision):
    x = mdqr.arange(4, precision=precision)
    for arguments in ((x, x, -1), (x[None], x, 1), (x, x[:2], 1)):
        with pytest.raises(ValueError, match=r"polyfit|deg"):
            mdqr.polyfit(*arguments)
    for w in ([1.0], [1, 1, 1, 1j], [1, 1, 1, np.nan], [1, 1, 1, 1e-320]):
        with pytest.raises(ValueError, match="weight"):
            mdqr.polyfit(x, x, 1, w=w)
    for option in ({"full": True}, {"rcond": 1e-3}):
        with pytest.raises(TypeError, match=next(iter(option))):
            np.polyfit(x, x, 1, **option)
    with pytest.raises(TypeError, match="precision"):
        mdqr.polyfit([0.0, 1.0], [0.0, 1.0], 1)
    with pytest.raises(np.linalg.LinAlgError):
        mdqr.polyfit(x * 0, x, 1)
