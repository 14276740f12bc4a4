"""Powers: products for small integers, exponential and logarithm for the rest."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from array_cases import full_width, same_bits
from each_case import each_case

import mdqr
from benchmarks.common.elementary import COMPLEX_BOUND, REAL_BOUND, errors


@each_case("n", [0, 1, 2, 3, 7, 10, -1, -4, 2.0, np.int8(5), True, 1000, -(2**40)])
def test_integer_powers(n, precision, dtype, rng):
    a = full_width(rng, precision, 20, dtype)
    if abs(int(n)) > 10:
        a = 1 + a * 2.0**-60  # a power in range
    got = a**n
    bound = (4 if dtype is float else 10) * precision.eps
    with mpmath.workprec(4 * precision.bits):
        for x, y in zip(a.to_mpmath(), got.to_mpmath(), strict=True):
            truth = x ** int(n)
            assert abs(y - truth) <= bound * abs(truth)


@pytest.mark.parametrize("n", [0.5, -2.5, Fraction(1, 3), 1j, [0.5, 2], np.array([0.25])])
def test_an_exponent_is_any_number(n, precision):
    a = mdqr.array([2, 3], precision=precision)
    exponent = mdqr.array(n, precision=precision)
    assert same_bits(a**n, mdqr.power(a, exponent))
    np.testing.assert_allclose(
        (a**n).to_numpy(), np.array([2.0, 3.0]) ** exponent.to_numpy(), rtol=1e-15
    )
    assert same_bits(2**exponent, mdqr.power(mdqr.array(2, precision=precision), exponent))


def test_powers_of_arrays_broadcast_as_numpys(precision):
    a = mdqr.array([[2], [-3]], precision=precision)
    n = np.array([0, 1, 2, 5])
    np.testing.assert_array_equal((a**n).to_numpy(), np.array([[2.0], [-3.0]]) ** n)
    a **= 3
    np.testing.assert_array_equal(a.to_numpy(), [[8], [-27]])
    specials = mdqr.array([np.nan, np.inf, 0.0], precision=precision)
    assert (specials**0 == 1).all()
    np.testing.assert_array_equal((specials**-1).to_numpy(), [np.nan, 0, np.inf])


def test_what_is_no_number_is_refused(precision):
    with pytest.raises(TypeError, match="NoneType"):
        mdqr.power(mdqr.ones(1, precision=precision), None)
    with pytest.raises(ValueError, match="cannot read 'two' as a number"):
        mdqr.power(mdqr.ones(1, precision=precision), "two")
    with pytest.raises(TypeError, match="MDArray"):
        mdqr.power(2.0, 3.0)


@pytest.mark.parametrize("distance", [200, 450, 600, 760, 900, 1020])
def test_large_exponents_of_bases_next_to_one(multiple, distance):
    """(1 + 2**-e)**y with abs(y) near 2**e: limbs of the logarithm would leave the range."""
    x = 1 + mdqr.array(np.ldexp([1.0, 1.0, -1.0, -1.0], -distance), precision=multiple)
    y = mdqr.array([1.25, -1.7, 1.25, -1.7], precision=multiple) / 3 * 2.0**distance
    assert errors("power", mdqr.power(x, y), x, y).max() <= REAL_BOUND


@each_case("distance", [125, 200, 450, 600, 760, 890, 1020])
def test_large_exponents_of_complex_bases_next_to_one(distance):
    """As above: angles and logarithms of hexa-double lost digits from 2**-121 down."""
    third = mdqr.hd(1) / 3
    near = (third * [1, -1, 2, 0, 2.0**-40]) * 2.0**-distance
    z = 1 + near[:, None] + near * 1j
    z[3, 3] = 1 + 1j * third * 2.0**-distance
    w = (third * 2.0**distance) * [[[2.5]], [[-3.5j]], [[1.25 + 2.0**-30 * 1j]]]
    w = w + 0 * z
    z = z + 0 * w
    assert errors("power", mdqr.power(z, w), z, w).max() <= COMPLEX_BOUND
