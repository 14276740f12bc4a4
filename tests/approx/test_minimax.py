"""Minimax polynomials beside known errors, and interpolation beside exact references."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

import mdqr
from mdqr.approx import BarycentricInterpolator, minimax


@pytest.mark.parametrize(
    ("f", "degree", "error"),
    [
        # R. S. Varga and A. J. Carpenter 1985: 2 n E_2n(|x|) is 0.278451175395 for n = 5
        (abs, 10, 0.0278451175395),
        (lambda x: x**3, 2, 0.25),  # Chebyshev
        (lambda x: x**12, 11, 2.0**-11),
        (mdqr.exp, 0, (np.e - 1 / np.e) / 2),
        (mdqr.exp, 1, 0.278801585792727),
    ],
)
def test_known_errors(f, degree, error):
    p = minimax(f, degree, precision="qd")
    assert p.lower_bound <= error * (1 + 1e-12)  # the digits known
    assert error * (1 - 1e-12) <= p.error <= p.lower_bound * (1 + 1e-6)
    x = mdqr.linspace(-1, 1, 501, precision="qd")
    assert float(abs(p(x) - f(x)).max()) <= p.error * (1 + 1e-9)


@pytest.mark.parametrize(
    ("f", "degree", "interval", "relative"),
    [
        (mdqr.exp, 25, (0, 1), True),
        (mdqr.sin, 13, (-1, 1), False),
        (lambda x: 1 / (1 + 25 * x * x), 30, (-1, 1), False),
        (mdqr.sqrt, 8, (0, 1), False),
        (mdqr.gamma, 12, ("1.5", "2.5"), True),
        (lambda x: mdqr.cos(20 * x), 40, (0, 3), False),
    ],
)
def test_errors_are_levelled(f, degree, interval, relative):
    p = minimax(f, degree, interval, relative=relative, precision="qd")
    assert len(p.coef) == degree + 1
    assert 0 < p.lower_bound <= p.error <= p.lower_bound * (1 + 1e-6)
    x = mdqr.linspace(*p.interval, 997, precision="qd")
    size = abs(f(x)) if relative else 1
    assert float((abs(p(x) - f(x)) / size).max()) <= p.error * (1 + 1e-6)
    # Worse where a coefficient is changed: the bound from below holds.
    worse = pickle.loads(pickle.dumps(p))
    worse.coef[degree // 2] += p.error
    assert float((abs(worse(x) - f(x)) / size).max()) > p.lower_bound


def test_the_form_of_numpy():
    p = minimax(mdqr.exp, 6, (1, 3), precision="dd")
    other = np.polynomial.Chebyshev(p.coef.to_numpy(), domain=[1, 3])
    x = np.linspace(1, 3, 9)
    np.testing.assert_allclose(p(x).to_numpy(), other(x), rtol=1e-14)
    assert repr(p).startswith("<MinimaxPolynomial of degree 6 on [1.00000, 3.00000], error ")


def test_an_error_of_rounding_warns():
    with pytest.warns(RuntimeWarning, match="take a higher precision than dd"):
        p = minimax(lambda x: x**3, 5, precision="dd")
    assert p.error < 1e-29
    assert p.lower_bound == 0


def test_what_minimax_refuses():
    for arguments in ((mdqr.exp, -1), (mdqr.exp, 2, (1, 1)), (mdqr.exp, 2, (0, 1, 2))):
        with pytest.raises(ValueError, match="degree must be at least 0 and interval"):
            minimax(*arguments, precision="dd")
    with pytest.raises(ValueError, match="one finite real number for each point"):
        minimax(lambda x: 1 / x, 3, (0, 1), precision="dd")
    with pytest.raises(ValueError, match="one finite real number for each point"):
        minimax(lambda x: x[0], 3, (0, 1), precision="dd")
    with pytest.raises(ValueError, match="relative errors of a function with a zero"):
        minimax(mdqr.sin, 3, (0, 1), relative=True, precision="dd")


@pytest.mark.parametrize("precision", ["d", "dd", "qd", "od"])
@pytest.mark.parametrize("n", [1, 2, 9, 70])
def test_interpolation_within_its_bound(n, precision):
    """Of a polynomial with integer coefficients, at Chebyshev points rounded to doubles."""
    rng = np.random.default_rng(n)
    c = [int(x) for x in rng.integers(-9, 10, n)]
    nodes = [Fraction(float(x)) for x in np.cos(np.pi * (2 * np.arange(n) + 1) / (2 * n))]

    def exact(x):
        total = Fraction(0)
        for each in c:
            total = total * x + each
        return total

    values = mdqr.array([exact(x) for x in nodes], precision="od").astype(precision=precision)
    p = BarycentricInterpolator(mdqr.array(nodes, precision=precision), values)
    points = [Fraction(float(x)) for x in rng.uniform(-1, 1, 5)] + nodes[:2]
    found = p(mdqr.array(points, precision=precision).reshape(1, -1))
    assert found.shape == (1, len(points))
    size = max(abs(exact(x)) for x in nodes)
    lebesgue = 1 + np.log(n)
    bound = 4 * (6 * n + 6) * lebesgue * values.precision.eps * float(size)
    for x, ours in zip(points, found.to_fractions()[0], strict=True):
        assert abs(ours - exact(x)) <= bound


def test_weights_of_many_points_keep_their_digits():
    """Products of 400 distances are beyond the range of doubles."""
    x = np.cos(np.pi * np.arange(401) / 400) * 2.0**-4
    p = BarycentricInterpolator(
        mdqr.array(x, precision="qd"), mdqr.exp(mdqr.array(x, precision="qd"))
    )
    y = mdqr.array([0.01, -0.05], precision="qd")
    assert float(abs(p(y) - mdqr.exp(y)).max()) < 1e-59


def test_what_interpolation_refuses():
    with pytest.raises(ValueError, match="two points are equal"):
        BarycentricInterpolator([1, 2, 1], [1, 2, 3])
    with pytest.raises(ValueError, match="one axis of one length"):
        BarycentricInterpolator([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="not finite"):
        BarycentricInterpolator([1, np.inf], [1, 2])
    p = BarycentricInterpolator([0, 1, 1j], [0, 1, -1], precision="dd")  # z**2
    assert abs(complex(p(2j)) + 4) < 1e-14
    again = pickle.loads(pickle.dumps(p))
    mdqr.testing.assert_same_bits(again.wi, p.wi)
