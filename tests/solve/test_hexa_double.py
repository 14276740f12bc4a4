"""Hard problems of known solutions in hexa-double: more than 200 digits of each are right."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

import mdqr
from mdqr.linalg import lstsq, roots, solve
from mdqr.quadrature import gauss

WANTED = Fraction(1, 10**200)


def check(found, info, exact):
    """Every value and every count of digits is right."""
    values = found.to_fractions().ravel()
    for value, truth, digits in zip(values, exact, np.ravel(info.digits), strict=True):
        assert abs(value - truth) <= abs(truth) * WANTED
        assert abs(value - truth) <= abs(truth) * Fraction(10.0 ** -(float(digits) - 250)) / 10**250
    assert np.min(info.digits) > 200


def exactly(rows):
    return mdqr.array(np.array(rows, dtype=object), precision="hd")


@pytest.mark.long
def test_hilbert_100():
    """Times the common denominator, so that the entries are integers that hd holds."""
    n, unit = 100, math.lcm(*range(1, 200))
    a = exactly([[unit // (i + j + 1) for j in range(n)] for i in range(n)])
    x, info = solve(a, exactly([unit] + [0] * (n - 1)), return_info=True)
    # The first column of the inverse, of integers.
    check(
        x, info, [(-1) ** i * math.comb(n + i, i + 1) * n * math.comb(n - 1, i) for i in range(n)]
    )


def test_vandermonde_60():
    n = 60
    powers = [[(i + 1) ** j for j in range(n)] for i in range(n)]
    right = [(-1) ** i * (i + 3) for i in range(n)]
    x = flint.fmpz_mat(powers).solve(flint.fmpz_mat([[r] for r in right]))
    exact = [Fraction(int(x[i, 0].p), int(x[i, 0].q)) for i in range(n)]
    a, b = exactly(powers), exactly(right)
    check(*solve(a, b, return_info=True), exact)
    fit = lstsq(a, b)
    check(fit.x, fit.info, exact)


@pytest.mark.parametrize("power", [500, 649, 760])
def test_what_underflows_in_residuals_of_large_solutions(power):
    """Zeros, where what is missing of x is below the range before the inverse magnifies it."""
    a, b = np.vstack([np.full(3, 0.5), np.ldexp(np.eye(3), -power)]), [0.0, -1.0, 0.0, 1.0]
    with pytest.warns(mdqr.PrecisionWarning, match="about 0 of 255 digits"):
        fit = lstsq(mdqr.hd(a), mdqr.hd(b))
    exact = [-(2**power), 0, 2**power]
    for value, truth, bound, digits in zip(
        fit.x.to_fractions(), exact, fit.info.error_bound, fit.info.digits, strict=True
    ):
        assert abs(value - truth) <= Fraction(float(bound))
        assert digits == 0 if truth == 0 else digits == mdqr.hd.digits


def test_wilkinson_30():
    polynomial = flint.fmpz_poly([1])
    for k in range(1, 31):
        polynomial *= flint.fmpz_poly([-k, 1])
    found = roots(exactly([int(c) for c in reversed(polynomial.coeffs())]))
    order = np.argsort(found.roots.real.to_numpy())
    assert found.info.digits.min() > 200
    for value, k in zip(found.roots[order].real.to_fractions(), range(1, 31), strict=True):
        assert abs(value - k) <= k * WANTED


@pytest.mark.long
def test_gauss_jacobi_400():
    n, alpha, beta = 400, Fraction(1, 3), Fraction(-3, 7)
    found = gauss("jacobi", n, alpha=alpha, beta=beta, precision="hd")
    assert found.info.digits.min() > 200
    assert found.info.weight_digits.min() > 200
    with mpmath.workdps(300):
        a, b = (mpmath.mpf(x.numerator) / x.denominator for x in (alpha, beta))
        total = mpmath.mpf(2) ** (a + b + 1) * mpmath.beta(a + 1, b + 1)
        assert abs(sum(found.weights.to_mpmath()) / total - 1) < mpmath.mpf(10) ** -200
        for place in (0, 137, 399):
            node = found.nodes.to_mpmath()[place]
            start = mpmath.mpf(node)
            for _ in range(2):
                value, slope = jacobi(start, n, a, b)
                start -= value / slope
            assert abs(start - node) < abs(node) * mpmath.mpf(10) ** -200


def jacobi(x, n, a, b):
    """The Jacobi polynomial and its derivative by the recurrence of tables (DLMF 18.9.2)."""
    before, value = mpmath.mpf(1), (a + 1) + (a + b + 2) * (x - 1) / 2
    slope_before, slope = 0, (a + b + 2) / 2
    for k in range(1, n):
        s = 2 * k + a + b
        left = 2 * (k + 1) * (k + a + b + 1) * s
        first, middle = (s + 1) * (a * a - b * b), s * (s + 1) * (s + 2)
        last = 2 * (k + a) * (k + b) * (s + 2)
        before, value, slope_before, slope = (
            value,
            ((first + middle * x) * value - last * before) / left,
            slope,
            (middle * value + (first + middle * x) * slope - last * slope_before) / left,
        )
    return value, slope
