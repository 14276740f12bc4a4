"""gamma, lgamma, erf, erfc, logaddexp: poles, zeros, ends of the range, exact values, SciPy.

Regions of arguments are drawn with those of the other elementary functions.
"""

from __future__ import annotations

from math import factorial

import mpmath
import numpy as np
import pytest
import scipy.special

import mdqr
from benchmarks.common.elementary import errors
from mdqr.testing import assert_same_bits

BOUND = 4  # eps: the contract
POINTS = np.array(
    [
        *(0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, 1.5, -1.5, 171.5, 172.0, -150.5),
        *(-200.5, -201.5, -319.5, -320.5, 128.0, -128.0, -127.5, -128.5, 26.0, -26.0, 28.0, -28.0),
        *(1e17, -1e17, 1e300, -1e300, 1.79e308, 3e-308, -3e-308, 1e-300, np.inf, np.nan),
    ]
)
NAMES = {"gamma": "gamma", "lgamma": "gammaln", "erf": "erf", "erfc": "erfc"}


@pytest.mark.parametrize(("name", "theirs"), NAMES.items())
def test_special_values_are_scipys(name, theirs, precision):
    x = mdqr.array(POINTS, precision=precision)
    with np.errstate(all="ignore"):
        got, wanted = getattr(mdqr, name)(x), getattr(scipy.special, theirs)(POINTS)
    np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-14, atol=1e-323)
    zeros = wanted == 0
    np.testing.assert_array_equal(np.signbit(got.to_numpy()[zeros]), np.signbit(wanted[zeros]))
    assert not got.limbs[1:, ~np.isfinite(wanted)].any()


def test_minus_infinity_is_as_in_c99(precision):
    x = mdqr.array(-np.inf, precision=precision)
    assert mdqr.isnan(mdqr.gamma(x))
    assert float(mdqr.lgamma(x)) == np.inf  # SciPy: -inf
    assert float(mdqr.erf(x)) == -1
    assert float(mdqr.erfc(x)) == 2


def test_scipys_functions_are_answered(multiple, rng):
    x = mdqr.random.uniform(20, low=0.5, high=30, precision=multiple, rng=rng)
    for name, theirs in NAMES.items():
        assert_same_bits(getattr(scipy.special, theirs)(x), getattr(mdqr, name)(x))
    assert_same_bits(np.logaddexp(x, 3), mdqr.logaddexp(x, 3))
    with pytest.raises(TypeError, match=r"^loggamma has no implementation for MDArray"):
        scipy.special.loggamma(x)


def test_factorials_are_exact_while_they_fit(precision):
    most = next(n for n in range(200) if factorial(n).bit_length() > precision.bits)
    x = mdqr.arange(1, most, precision=precision)
    assert mdqr.gamma(x).to_fractions().tolist() == [factorial(n) for n in range(most - 1)]
    assert not mdqr.lgamma(x[:2]).limbs.any()
    assert not np.signbit(mdqr.lgamma(x[:2]).limbs).any()


def test_half_integers(multiple):
    """gamma(n + 1/2) = (2 n)! sqrt(pi) / (4**n n!): the last operations err by 5 eps."""
    for n in range(20):
        value = mdqr.gamma(mdqr.array(n + 0.5, precision=multiple)) / mdqr.sqrt(multiple.pi)
        exact = mdqr.array(factorial(2 * n), precision=multiple) / (4**n * factorial(n))
        assert abs(value / exact - 1) <= 16 * multiple.eps


def assert_within(name, *operands):
    found = errors(name, getattr(mdqr, name)(*operands), *operands)
    worst = found.argmax()
    assert found[worst] <= BOUND, [x.ravel()[worst] for x in operands]


ENDS = {
    "gamma": [(171, 171.63), (-185, -170), (-1.2e-308, 1.2e-308)],
    "lgamma": [(2.5e305, 2.57e305), (-2.6e305, -2.5e305), (127.9, 128.1), (-128.1, -127.9)],
    "erf": [(5, 6), (20, 27.5), (0.031, 0.032)],
    "erfc": [(26, 27.3), (-0.032, 0.032), (-27.5, -26)],
}


@pytest.mark.parametrize("name", ENDS)
def test_ends_of_the_range_and_of_methods(name, precision, rng):
    for low, high in ENDS[name]:
        assert_within(
            name, mdqr.random.uniform(40, low=low, high=high, precision=precision, rng=rng)
        )


def test_next_to_poles(multiple):
    """-n + 2**-e: limbs far apart; hd has digits of ``log(sin(pi x) / (pi x))`` down to 2^-420."""
    n = np.array([0, 1, 2, 7, 100, 127, 128, 170, 312, 5000])[:, None, None]
    distance = np.ldexp(1.0, -np.array([60, 130, 400, 500, 960, 1022, 1074]))[:, None] * [1, -1]
    x = mdqr.array(-n, precision=multiple) + distance
    assert_within("lgamma", x)
    assert_within("gamma", x[:-1])
    assert (mdqr.gamma(x[-1]) == 0).all()


def test_lgamma_next_to_its_zeros(precision):
    """Relative at 1 and 2; absolute next to the irrational zeros of negative arguments."""
    with mpmath.workprec(600):
        starts = (-2.457, -2.747, -3.143, -3.955, -4.039, -4.991, -7.0002, -9.9999997)
        zeros = [
            mpmath.findroot(lambda x: mpmath.log(abs(mpmath.gamma(x))), (s, s * (1 + 1e-9)))
            for s in starts
        ]
        near = mdqr.array(zeros, precision=precision)
    steps = np.array([0, 1, -1, 2.0**20, 2.0**40]) * float(precision.eps)
    assert_within("lgamma", near[:, None] * (1 + mdqr.array(steps, precision=precision)))
    assert_within("lgamma", mdqr.array([[1], [2]], precision=precision) + steps[1:])


def test_logaddexp_where_terms_cancel(precision, rng):
    """exp(x) + exp(y) = 1 up to rounding."""
    x = -mdqr.random.uniform(60, low=0.01, high=40, precision=precision, rng=rng)
    y = mdqr.log(-mdqr.expm1(x))
    for shift in (0, float(precision.eps), 1e-12):
        assert_within("logaddexp", x, y + shift)
        assert_within("logaddexp", y, x)


def test_logaddexp_of_ends(precision):
    largest = np.finfo(float).max
    x = mdqr.array([[largest], [-largest], [0.0], [-5e-324], [-700.0]], precision=precision)
    y = mdqr.array([largest, -largest, 0.0, -745.0, -800.0, -np.inf], precision=precision)
    with np.errstate(all="ignore"):
        wanted = np.logaddexp(x.to_numpy(), y.to_numpy())
    np.testing.assert_allclose(mdqr.logaddexp(x, y).to_numpy(), wanted, rtol=1e-15, atol=1e-323)
    assert_same_bits(mdqr.logaddexp(x, y), mdqr.logaddexp(y[None, :], x))


def test_error_functions_complement_each_other(precision, rng):
    x = mdqr.random.uniform(60, low=-6, high=6, precision=precision, rng=rng)
    assert_same_bits(mdqr.erf(-x), -mdqr.erf(x))
    both = mdqr.erf(x) + mdqr.erfc(x) - 1
    assert (mdqr.abs(both) <= 2 * BOUND * precision.eps * 2).all()  # of values up to 2
