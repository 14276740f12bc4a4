"""The constants pi, e and Euler's: exact until they meet a precision, then rounded once."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import sympy
from array_cases import exact
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._convert.scalars import fraction_to_limbs
from mdqr.testing import assert_same_bits

BITS = 3000
ARB = {"pi": flint.arb.pi, "e": flint.arb.const_e, "euler_gamma": flint.arb.const_euler}
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


def nearest(ball, precision):
    """Return the correctly rounded array of a ball that is narrow enough to tell."""
    man, exp = ball.mid().man_exp()
    limbs = fraction_to_limbs(Fraction(int(man)) * Fraction(2) ** int(exp), precision.limbs)
    return mdqr.from_limbs(np.array(limbs))


def pairs(rationals):
    """An expression, and its ball."""
    names = st.sampled_from(sorted(ARB)).map(lambda name: (getattr(mdqr, name), ARB[name]()))
    exacts = rationals.map(lambda x: (x, flint.arb(flint.fmpq(x.numerator, x.denominator))))

    def combined(children):
        simple = st.tuples(st.sampled_from(ARITHMETIC[:4]), children, children)
        powers = st.tuples(st.just(operator.pow), names, exacts | children)
        return (simple | powers).map(lambda x: compute(*x)).filter(lambda x: x is not None)

    return st.recursive(names | exacts, combined, max_leaves=6)


def compute(op, left, right):
    ball = (left[1] ** right[1]) if op is operator.pow else op(left[1], right[1])
    if not ball.is_finite() or (op is operator.pow and abs(right[1]) > 50):
        return None
    try:
        return op(left[0], right[0]), ball
    except ZeroDivisionError:
        return None


RATIONALS = st.fractions(-40, 40, max_denominator=60)


@pytest.fixture(autouse=True)
def _bits():
    before, flint.ctx.prec = flint.ctx.prec, BITS
    yield
    flint.ctx.prec = before


@given(data=st.data())
def test_expressions_are_rounded_correctly(data, precision):
    expression, ball = data.draw(pairs(RATIONALS))
    if not isinstance(expression, Fraction):
        if ball.contains(0):  # zero, whatever its form
            assert expression == 0
            assert_same_bits(mdqr.array(expression, precision=precision), precision(0))
        else:
            assert (expression > 0) == (ball > 0)
            assert (hash(expression), expression) == (hash(expression + 1 - 1), expression + 1 - 1)
            assert_same_bits(mdqr.array(expression, precision=precision), nearest(ball, precision))


@pytest.mark.parametrize("name", ARB)
def test_the_constants_themselves(precision, name):
    constant = getattr(mdqr, name)
    assert_same_bits(precision(constant), nearest(ARB[name](), precision))
    assert float(constant) == float(ARB[name]())
    assert repr(constant) == f"mdqr.{name}"


def test_constants_beside_arrays_keep_all_digits(precision, dtype):
    x = mdqr.array(["0.1", "7"], precision=precision, dtype=dtype)
    two_pi = nearest(2 * flint.arb.pi(), precision)
    assert_same_bits(2 * mdqr.pi * x, two_pi * x)
    assert_same_bits(x * (mdqr.pi / 180), x * nearest(flint.arb.pi() / 180, precision))
    assert_same_bits(x - mdqr.e, x - nearest(flint.arb.const_e(), precision))
    assert_same_bits(mdqr.e / x, nearest(flint.arb.const_e(), precision) / x)
    assert_same_bits(mdqr.pi**x, nearest(flint.arb.pi(), precision) ** x)
    x[0] = mdqr.pi
    assert_same_bits(x[0].real, precision(mdqr.pi))


@pytest.mark.parametrize(
    "zero",
    [
        lambda pi, e: pi - pi,
        lambda pi, e: 2 * pi - pi - pi,
        lambda pi, e: (pi + e) ** 2 - pi**2 - 2 * pi * e - e**2,
        lambda pi, e: pi / pi - 1,
        lambda pi, e: (4 * pi**2) ** Fraction(1, 2) - 2 * pi,
        lambda pi, e: e**pi - e**pi,
        lambda pi, e: 10**400 * (1 / (1 / pi + 1) - pi / (pi + 1)),
        # Not known to be zero by its form.
        lambda pi, e: (2 * pi) ** Fraction(1, 2) * pi ** Fraction(1, 2) - pi * 2**(pi / (2 * pi)),
        lambda pi, e: ((pi + e) ** 2) ** Fraction(1, 2) - pi - e,
    ],
)  # fmt: skip
def test_what_is_zero_ends(precision, zero):
    x = zero(mdqr.pi, mdqr.e)
    assert_same_bits(precision(x), precision(0))
    assert x == 0
    assert not x
    with pytest.raises(ZeroDivisionError):
        1 / x


def test_close_cancellation(precision):
    man = int((flint.arb.pi() * 2**1500).floor().unique_fmpz())
    x = mdqr.pi - Fraction(man, 2**1500)
    assert x > 0
    assert_same_bits(precision(x), precision(0))
    ball = (flint.arb.pi() - flint.arb(man) / 2**1500) * 2**1400
    assert_same_bits(precision(x * 2**1400), nearest(ball, precision))


def test_comparisons_are_exact(precision):
    """The rounded number lies on one side of the constant."""
    for name, ball in ARB.items():
        constant, near = getattr(mdqr, name), getattr(mdqr, name) * 1
        x = precision(near)
        above = exact(x.reshape(1))[0] > Fraction(
            int((ball() * 2**900).floor().unique_fmpz()), 2**900
        )
        assert (bool(x > constant), bool(constant < x)) == (above, above)
        assert x != constant
    assert (mdqr.array([3, 4], precision=precision) < mdqr.pi).tolist() == [True, False]
    assert math.pi != mdqr.pi
    assert math.pi < mdqr.pi < Fraction(22, 7)
    assert mdqr.pi ** (10**7) > precision(1)
    assert mdqr.pi ** -(10**7) < precision(1)


def test_other_numbers_are_what_they_are():
    assert 0.1 * mdqr.pi == Fraction(0.1) * mdqr.pi
    assert Decimal("0.1") * mdqr.pi == mdqr.pi / 10
    assert np.float32(0.1) * mdqr.pi == Fraction(float(np.float32(0.1))) * mdqr.pi
    assert np.int64(3) * mdqr.pi == 3 * mdqr.pi
    third = Fraction(1, 3) ** mdqr.pi  # Python 3.11 hands a float on
    ball = (flint.arb(1) / 3) ** flint.arb.pi()
    assert_same_bits(mdqr.od(third), nearest(ball, mdqr.od))
    assert (int(mdqr.pi * 100), int(-mdqr.pi), abs(-mdqr.pi) == mdqr.pi) == (314, -3, True)
    with pytest.raises(ValueError, match="not an exact number"):
        mdqr.pi * math.inf


def test_numbers_of_other_packages():
    assert flint.fmpz(3) * mdqr.pi == mdqr.pi * 3
    assert mdqr.pi * flint.fmpq(1, 3) == mdqr.pi / 3
    for other in (sympy.Integer(2), sympy.Float(2), mpmath.mpf(2), flint.arb(2)):
        for pair in ((other, mdqr.pi), (mdqr.pi, other)):
            assert operator.mul(*pair) == 2 * mdqr.pi
    assert mdqr.pi - sympy.Rational(1, 3) == mdqr.pi - Fraction(1, 3)
    assert mpmath.mpf("0.1") - mdqr.pi == Fraction(0.1) - mdqr.pi
    assert mdqr.pi * mpmath.mpf("1e-1000000000") > 0  # without a denominator of 10^9 bits
    for wrong in (mpmath.inf, flint.arb(2).sqrt()):
        with pytest.raises(ValueError, match="not a"):
            mdqr.pi * wrong
    for other in (sympy.pi, mpmath.pi, sympy.sqrt(2)):  # not float(mdqr.pi) in silence
        for pair in ((other, mdqr.pi), (mdqr.pi, other)):
            with pytest.raises(TypeError):
                operator.mul(*pair)
    assert mdqr.testing.ulp_error(mdqr.qd(mdqr.pi), mdqr.pi) < 1
    mdqr.testing.assert_close(mdqr.od(2 * mdqr.pi), 2 * mdqr.pi, ulps=1)


@pytest.mark.parametrize("op", ARITHMETIC)
@pytest.mark.parametrize("other", [np.ones(2), np.array(1.0), 1j, np.complex128(1j)], ids=repr)
def test_arrays_of_numpy_and_complex_numbers_need_a_precision(op, other):
    for call in (lambda: op(mdqr.pi, other), lambda: op(other, mdqr.pi)):
        with pytest.raises(TypeError, match=r"mdqr\.array"):
            call()


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_with_arrays_of_numpy_need_a_precision(op):
    """``np.array([1.5, 3.1]) == mdqr.pi`` was one False."""
    for other in (np.array([1.5, 3.1]), np.array(3.0)):
        for pair in ((mdqr.pi, other), (other, mdqr.pi)):
            with pytest.raises(TypeError, match=r"mdqr\.array"):
                op(*pair)


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("beyond", [math.inf, -math.inf, math.nan])
def test_comparisons_with_infinities_and_nan(op, beyond):
    for kind in (float, np.float64, np.float32, Decimal, mpmath.mpf):
        for constant in (mdqr.pi, -mdqr.e, mdqr.pi**10000):
            assert op(constant, kind(beyond)) is op(3.0, beyond)
            assert bool(op(kind(beyond), constant)) is op(beyond, 3.0)


def test_constants_are_rounded_to_decimals():
    """Exactly, to an integer or a fraction, as `Fraction` is."""
    assert [round(mdqr.pi, n) for n in (0, 3, -1)] == [3, Fraction(3142, 1000), 0]
    assert (round(mdqr.pi), round(-mdqr.e), round(mdqr.pi / mdqr.pi * Fraction(5, 2))) == (3, -3, 2)
    digits = round(mdqr.pi, 500) * 10**500
    assert abs(digits - mdqr.pi * 10**500) < Fraction(1, 2)
    with pytest.raises(TypeError, match=r"format\(mdqr\.qd\(mdqr\.pi\), '\.5f'\)"):
        format(mdqr.pi, ".5f")
    assert f"{mdqr.pi}" == "mdqr.pi"


def test_functions_ask_for_a_precision():
    for call in (lambda: mdqr.exp(mdqr.pi), lambda: mdqr.array(mdqr.pi)):
        with pytest.raises(TypeError, match=r"precision.*precision=mdqr\.qd"):
            call()
    for call in (lambda: np.exp(mdqr.pi), lambda: mdqr.pi + "1", lambda: mdqr.pi % 2):
        with pytest.raises(TypeError):
            call()


def test_powers_that_are_not_real():
    with pytest.raises(ValueError, match="not real"):
        (3 - mdqr.pi) ** Fraction(1, 2)
    with pytest.raises(ZeroDivisionError):
        (mdqr.pi - mdqr.pi) ** -mdqr.e
    assert (mdqr.pi - mdqr.pi) ** mdqr.e == 0
    assert mdqr.pi**0 == 1


def test_numbers_beyond_the_doubles(precision):
    large = mdqr.pi ** (10**9)
    assert mdqr.isinf(precision(large))
    assert precision(1 / large) == 0


def test_constants_are_immutable_and_kept_by_name():
    assert pickle.loads(pickle.dumps(mdqr.pi)) is mdqr.pi
    assert copy.deepcopy(mdqr.e) is mdqr.e
    expression = mdqr.pi**2 / 6 + 1 / (mdqr.e + 1)
    for kept in (pickle.loads(pickle.dumps(expression)), eval(repr(expression))):
        assert kept == expression
        assert hash(kept) == hash(expression)
    assert {2 * mdqr.pi: 1}[mdqr.pi * 2] == 1
    with pytest.raises(AttributeError, match="immutable"):
        mdqr.pi.name = "pie"
    with pytest.raises(TypeError, match=r"mdqr\.pi"):
        type(mdqr.pi)()


def test_namespaces_have_the_constants():
    """In the namespace of dd, pi lost half the digits of a qd array."""
    xp = mdqr.array_api(mdqr.dd)
    assert_same_bits(mdqr.qd(1) * xp.pi, mdqr.qd(mdqr.pi))
    assert_same_bits(xp.asarray(xp.e), mdqr.dd(mdqr.e))
    assert_same_bits(xp.full(2, xp.pi)[0], mdqr.dd(mdqr.pi))
    assert_same_bits(xp.multiply(mdqr.od(2), xp.pi), mdqr.od(2 * mdqr.pi))


def test_creation_from_constants(precision):
    assert_same_bits(mdqr.full(2, mdqr.pi, precision=precision)[1], precision(mdqr.pi))
    ends = mdqr.linspace(0, 2 * mdqr.pi, 3, precision=precision)
    assert_same_bits(ends[-1], precision(2 * mdqr.pi))
    mixed = mdqr.array([[mdqr.pi, "0.1"], [1, mdqr.e]], precision=precision)
    assert_same_bits(mixed[1, 1], precision(mdqr.e))


@pytest.mark.parametrize(
    "power",
    [
        lambda: mdqr.pi**0.1,
        lambda: 2 ** (mdqr.pi**0.3),
        lambda: (mdqr.pi / 4) ** 10**7,
        lambda: (4 * mdqr.pi**2) ** Fraction(10**9 + 1, 2),
        lambda: mdqr.pi ** Fraction(1, 10**9),
    ],
)
def test_powers_form_no_long_numbers(power):
    """Exact coefficients of 10^9 bits were formed, without an end to be seen."""
    assert power() == power()
    assert repr(power())


def test_sympy_takes_no_double():
    sympy = pytest.importorskip("sympy")
    with pytest.raises(TypeError, match=r"sympy\.pi"):
        sympy.sympify(mdqr.pi)
