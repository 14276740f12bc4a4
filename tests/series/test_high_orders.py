"""Orders 127 and 191 in hexa-double: digits of every order, against exact coefficients."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import series_acceptance as acceptance

import mdqr
from mdqr.series import System, newton_series

DEGREES = [127, 191]


@pytest.mark.parametrize("degree", DEGREES)
def test_cyclic_roots(degree):
    acceptance.check_cyclic(7, degree, mdqr.hd, "cpu")


def factorials(degree, unit):
    return [Fraction(unit**k, math.factorial(k)) for k in range(degree + 1)]


def check(system, exact, precision, lost):
    """Digits claim no more than is true, and not much less than all."""
    degree = len(exact) - 1
    s = newton_series(system, [float(exact[0])], degree=degree, precision=precision)
    found = s.coeffs.to_fractions()[0]
    for value, truth, digits in zip(found, exact, s.digits, strict=True):
        if truth:
            assert abs(value - truth) <= abs(truth) * Fraction(10.0 ** -(digits % 1)) / 10 ** int(
                digits
            )
            assert digits > precision.digits - lost
        else:
            assert value == 0


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("precision", [mdqr.od, mdqr.hd], ids=str)
def test_exponentials(degree, precision):
    """Of 64 t, where coefficients are in range. The first orders grow by more than later ones: t
    was once scaled by that, and back, after which 110 digits of 250 were false."""
    terms = factorials(degree, 64)
    given = mdqr.array(np.array([[1] + [0] * degree, [-x for x in terms]]), precision=precision)
    check(System.from_arrays([[1], [0]], given, [0, 0]), terms, precision, 5)


@pytest.mark.parametrize("degree", DEGREES)
def test_tangents(degree):
    terms = factorials(degree, 1)
    sign = [(-1) ** (k // 2) for k in range(degree + 1)]
    sine = [s * x * (k % 2) for k, (s, x) in enumerate(zip(sign, terms, strict=True))]
    cosine = [s * x * (1 - k % 2) for k, (s, x) in enumerate(zip(sign, terms, strict=True))]
    tangent = []
    for k in range(degree + 1):
        tangent.append(sine[k] - sum(cosine[j] * tangent[k - j] for j in range(1, k + 1)))
    given = mdqr.array(np.array([cosine, [-x for x in sine]]), precision="hd")
    check(System.from_arrays([[1], [0]], given, [0, 0]), tangent, mdqr.hd, 5)


def test_coefficients_below_the_range_have_fewer_digits():
    """Those of exp(t) are 1/k!: of 1/127!, near 1e-214, no bit is below 2**-1074."""
    terms = factorials(127, 1)
    given = mdqr.array(np.array([[1] + [0] * 127, [-x for x in terms]]), precision="hd")
    system = System.from_arrays([[1], [0]], given, [0, 0])
    check(system, terms, mdqr.hd, 155)
    assert newton_series(system, [1.0], degree=127, precision="hd").digits[127] < 115
