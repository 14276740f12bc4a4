"""Integer powers."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from array_cases import full_width, same_bits

import mdqr


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 10, -1, -4, 2.0, np.int8(5), True])
def test_integer_powers(n, precision, dtype, rng):
    a = full_width(rng, precision, 20, dtype)
    got = a**n
    size = abs(int(n))
    with mpmath.workprec(4 * precision.bits):
        for x, y in zip(a.to_mpmath(), got.to_mpmath(), strict=True):
            truth = x ** int(n)
            # n products of 2 eps (complex 4 eps) each and a quotient, to first order; 1 % above.
            bound = 1.01 * (2 * size + 2) * (5 if dtype is complex else 1) * precision.eps
            assert abs(y - truth) <= bound * abs(truth)
    assert same_bits(got, a ** np.full(20, int(n)))


def test_powers_of_arrays_broadcast_as_numpys(precision):
    a = mdqr.array([[2], [-3]], precision=precision)
    n = np.array([0, 1, 2, 5])
    np.testing.assert_array_equal((a**n).to_numpy(), np.array([[2.0], [-3.0]]) ** n)
    a **= 3
    np.testing.assert_array_equal(a.to_numpy(), [[8], [-27]])
    specials = mdqr.array([np.nan, np.inf, 0.0], precision=precision)
    assert (specials**0 == 1).all()
    np.testing.assert_array_equal((specials**-1).to_numpy(), [np.nan, 0, np.inf])


@pytest.mark.parametrize(
    "n", [0.5, "2", None, np.array([0.5]), mdqr.dd(2), [mdqr.dd(2), 3], 1j, Fraction(1, 2)]
)
def test_other_powers_are_refused(n, precision):
    with pytest.raises(TypeError, match=r"exponent|unsupported|string"):
        mdqr.power(mdqr.ones(1, precision=precision), n)
    with pytest.raises(TypeError, match="base of a power"):
        2 ** mdqr.ones(1, precision=precision)
