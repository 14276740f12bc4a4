"""Arithmetic of power series against exact rational series."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from each_case import each_case
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr.series import PowerSeries


def numbers(low, size):
    """Draw `low` and a fraction of a modulus up to `size`; `st.fractions` takes twice the time."""
    return st.builds(
        lambda p, q: low + Fraction((1 if p > 0 else -1) * (abs(p) % (size * q + 1)), q),
        st.integers(-(2**40), 2**40),
        st.integers(1, 10**9),
    )


# Orders of all sizes, constants away from zero so that quotients are tame.
NUMBERS = numbers(0, 4)
ORDERS = st.lists(NUMBERS, min_size=1, max_size=12)
STARTED = st.tuples(numbers(2, 1), st.lists(NUMBERS, max_size=11))


def made(orders, precision):
    """The series, and the fractions that it holds."""
    series = PowerSeries(np.array(orders, dtype=object), precision=precision)
    return series, list(series.coeffs.to_fractions())


def product(a, b):
    return [sum(a[j] * b[k - j] for j in range(k + 1)) for k in range(min(len(a), len(b)))]


def quotient(a, b):
    """The exact series a / b."""
    found = []
    for k in range(min(len(a), len(b))):
        found.append((a[k] - sum(b[j] * found[k - j] for j in range(1, k + 1))) / b[0])
    return found


def sizes(a):
    return list(map(abs, a))


def check(found, exact, bounds, factor=1):
    """Errors of at most `factor (d + 10) eps` of bounds."""
    assert found.degree == len(exact) - 1
    eps = Fraction(found.precision.eps) * factor * (len(exact) + 9)
    for k, (value, bound) in enumerate(zip(found.coeffs.to_fractions(), bounds, strict=True)):
        assert abs(value - exact[k]) <= eps * bound


@given(ORDERS, ORDERS, NUMBERS)
def test_ring(precision, a, b, c):
    x, a = made(a, precision)
    y, b = made(b, precision)
    orders = min(len(a), len(b))
    for found, sign in ((x + y, 1), (x - y, -1), (y + x, 1)):
        exact = [u + sign * v for u, v in zip(a, b, strict=False)]
        check(found, exact, sizes(exact))
    check(x * y, product(a, b), product(sizes(a), sizes(b)))
    shifted = [a[0] + c, *a[1:]]
    rounded = abs(c) / 64
    for found in (x + c, c + x, -(-x - c)):
        check(found, shifted, [abs(shifted[0]) + rounded, *sizes(a[1:])], 8)
    check(x * c, [u * c for u in a], sizes(u * c for u in a))
    cube = product(product(a, a), a)
    size = sizes(a)
    check(x**3, cube, product(product(size, size), size), 2)
    assert (x * y).degree == orders - 1


@given(ORDERS, STARTED)
def test_quotients(precision, a, b):
    """Forward errors of substitution: those of the residual times the inverse."""
    x, a = made(a, precision)
    y, b = made([b[0], *b[1]], precision)
    orders = min(len(a), len(b))
    one = [Fraction(1), *[Fraction(0)] * (len(b) - 1)]
    inverse = quotient(one, b)
    size = sizes(inverse)
    bounds = product(product(size, size), sizes(b))
    check(1 / y, inverse, bounds, 2)
    check(x / y, quotient(a[:orders], b), product(sizes(a), bounds), 4)
    check(y**-2, product(inverse, inverse), product(bounds, size), 8)


@given(STARTED)
def test_roots(precision, a):
    """The square of the root is the series; so is the cube of the third."""
    x, a = made([a[0], *a[1]], precision)
    for root, n in ((x.sqrt(), 2), (x.root(3), 3), (x ** Fraction(1, 3), 3)):
        size = sizes(root.coeffs.to_fractions())
        bound = size
        for _ in range(n - 1):
            bound = product(bound, size)
        # The effect of rounding errors of the root on it, by its recurrence.
        inverse = sizes(quotient([Fraction(1), *[Fraction(0)] * (len(a) - 1)], a))
        bound = product(bound, product(inverse, sizes(a)))
        check(root**n, a, bound, 8 * len(a))


@given(ORDERS, NUMBERS)
def test_calculus(precision, a, c):
    x, a = made(a, precision)
    slope = [k * u for k, u in enumerate(a)][1:] or [Fraction(0)]
    check(x.deriv(), slope, sizes(slope))
    whole = [Fraction(0), *(u / (k + 1) for k, u in enumerate(a))]
    check(x.integ(), whole, sizes(whole))
    at = sum(u * c**k for k, u in enumerate(a))
    size = sum(abs(u * c**k) for k, u in enumerate(a))
    found = mdqr.array(x(c)).to_fractions().item()
    assert abs(found - at) <= 8 * (len(a) + 1) * Fraction(precision.eps) * size
    moved = [
        sum(math.comb(j, k) * a[j] * c ** (j - k) for j in range(k, len(a))) for k in range(len(a))
    ]
    bound = [
        sum(math.comb(j, k) * abs(a[j] * c ** (j - k)) for j in range(k, len(a)))
        for k in range(len(a))
    ]
    check(x.shift(c), moved, bound, 4)


@given(ORDERS, ORDERS)
def test_composition(precision, a, b):
    x, a = made(a, precision)
    y, b = made([0, *b], precision)
    orders = min(len(a), len(b))
    exact, bound = [Fraction(0)] * orders, [Fraction(0)] * orders
    for k in range(orders - 1, -1, -1):
        exact, bound = product(exact, b), product(bound, sizes(b))
        exact[0] += a[k]
        bound[0] += abs(a[k])
    check(x.compose(y), exact, bound, orders)
    check(x(y), exact, bound, orders)


def test_reversion(multiple):
    """That of t / (1 + t)^2 has Catalan's numbers as its coefficients."""
    t = PowerSeries.identity(20, precision=multiple)
    found = (t / (1 + t) ** 2).reversion()
    exact = [0, *(Fraction(math.comb(2 * k, k), k + 1) for k in range(1, 21))]
    for value, wanted in zip(found.coeffs.to_fractions(), exact, strict=True):
        assert abs(value - wanted) <= 2**20 * Fraction(multiple.eps) * wanted
    check(found.compose(t / (1 + t) ** 2), [0, 1, *[0] * 19], [4**40] * 21)


def test_elementary_functions(multiple):
    """Identities, and mpmath's Taylor coefficients."""
    t = PowerSeries.identity(15, precision=multiple, at=Fraction(1, 3))
    tolerance = 2**20 * multiple.eps
    with mpmath.workdps(multiple.digits + 25):
        for name in ("exp", "log", "sin", "cos", "tan", "arcsin", "arccos", "arctan"):
            function = getattr(mpmath, {"arc": "a" + name[3:]}.get(name[:3], name))
            found = getattr(t, name)().to_mpmath()
            for k, wanted in enumerate(mpmath.taylor(function, mpmath.mpf(1) / 3, 15)):
                start = t.coeffs[0].to_mpmath()
                assert abs(found[k] - wanted) <= tolerance * (1 + abs(wanted)), (name, k, start)


def test_exponents_of_less_precision_are_no_fractions():
    t = PowerSeries.identity(5, precision="hd", at=2)
    assert abs(t.root(3).coeffs - (t ** Fraction(1, 3)).coeffs).max() <= 16 * mdqr.hd.eps
    third = mdqr.array(Fraction(1, 3), precision="od")  # which is not 1/3 in hd
    assert abs((t**third - t.root(3)).coeffs).max() > 2.0**100 * mdqr.hd.eps


@pytest.mark.parametrize("dtype", [float, complex])
def test_identities_of_functions(multiple, dtype):
    a = mdqr.random.normal((3, 13), precision=multiple, dtype=dtype, rng=1) / 8
    a[:, 0] = 0
    x = PowerSeries(a)
    s, c, e = x.sin(), x.cos(), x.exp()
    one = x * 0 + 1
    for found, wanted in (
        (e.log(), x),
        (s * s + c * c, one),
        (x.tan() * c, s),
        (x.cosh() * 2, e + 1 / e),
        (x.sinh() * 2, e - 1 / e),
        (x.tanh() * x.cosh(), x.sinh()),
        (x.expm1().log1p(), x),
        (s.arcsin(), x),
        (x.tan().arctan(), x),
        (x.sinh().arcsinh(), x),
        (x.tanh().arctanh(), x),
        ((1 + x) ** 0.3, ((1 + x).log() * 0.3).exp()),
        (e**0.3, (x * 0.3).exp()),
    ):
        assert found.precision is multiple
        assert np.abs((found - wanted).coeffs.to_numpy()).max() <= 2**12 * multiple.eps
    exact = [Fraction(1, math.factorial(k)) for k in range(13)]
    check(PowerSeries.identity(12, precision=multiple).exp(), exact, exact)


def test_functions_of_constants(multiple):
    c = PowerSeries([Fraction(1, 3)], precision=multiple)
    for name in ("exp", "log", "sin", "cos", "arcsin", "arccos", "arctan"):
        found = getattr(c, name)().coeffs[0]
        assert found == getattr(mdqr, name)(c.coeffs[0])


def test_complex_series(multiple):
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-9, 9, 8) + 1j * rng.integers(-9, 9, 8) for _ in range(2))
    x, y = (PowerSeries(z, precision=multiple) for z in (a, b))
    np.testing.assert_array_equal((x * y).to_numpy(), np.convolve(a, b)[:8])
    np.testing.assert_array_equal((x * 1j - y).to_numpy(), a * 1j - b)
    mixed = x * PowerSeries(b.real, precision=multiple)
    np.testing.assert_array_equal(mixed.to_numpy(), np.convolve(a, b.real)[:8])
    root = (x * x + 1).sqrt()
    assert abs((root * root - x * x - 1).coeffs).max() <= 2**20 * multiple.eps
    assert abs((x / x).coeffs - [1, *[0] * 7]).max() <= 2**20 * multiple.eps


def test_arrays_of_series(multiple):
    rng = np.random.default_rng(4)
    a, b = rng.integers(-9, 9, (3, 1, 6)), rng.integers(-9, 9, (2, 6))
    x, y = (PowerSeries(z, precision=multiple) for z in (a, b))
    for found in (x * y, y * x):
        assert found.shape == (3, 2)
        for i, j in np.ndindex(3, 2):
            wanted = np.convolve(a[i, 0], b[j])[:6]
            np.testing.assert_array_equal(found[i, j].to_numpy(), wanted)
    assert (x + np.ones((3, 2))).shape == (3, 2)
    assert len(y) == 2
    assert y[1].shape == ()
    assert y(2).shape == (2,)
    assert repr(x) == f"<PowerSeries of shape (3, 1), degree 5, {multiple}>"


@pytest.mark.parametrize(
    "number", [2, 0.5, Fraction(1, 3), Decimal("0.1"), mpmath.mpf(3) / 7, sympy.Rational(2, 7)]
)
def test_scalars_of_all_kinds(number):
    t = PowerSeries.identity(2, precision="od")
    exact = mdqr.od(number)
    for found in (t + number, number + t):
        assert found.coeffs[0] == exact
    assert (number * t).coeffs[1] == exact
    assert (number - t).coeffs[0] == exact
    assert ((1 + t) / number).coeffs[0] == 1 / exact
    assert (number / (1 + t)).coeffs[0] == exact


@each_case("kind", [
        float, np.float64, np.float32, np.int16, Fraction, Decimal, mpmath.mpf, mpmath.mpc, complex,
        np.array, sympy.Integer, lambda n: mdqr.array(n, precision="d"),
    ])  # fmt: skip
@each_case("n", [-1, 0, 1, 2, 5])
def test_integers_of_all_types_are_exponents(multiple, kind, n):
    """Once integers of other types went through a root of float64."""
    s = PowerSeries(mdqr.array([10, 3, 7], precision=multiple) / 3)
    assert ((s ** kind(n)).coeffs == (s**n).coeffs).all()
    t = PowerSeries.identity(2, precision=multiple)
    if n >= 0:
        assert ((t ** kind(n)).coeffs == (t**n).coeffs).all()


def test_other_exponents(multiple):
    s = PowerSeries(mdqr.array([10, 3, 7], precision=multiple) / 3)
    assert (s.root(1).coeffs == s.coeffs).all()
    third = s ** Fraction(1, 3)
    near = mdqr.array(Fraction(1, 3), precision=max(multiple, mdqr.od))
    for exponent in (sympy.Rational(1, 3), near):
        assert abs((s**exponent).coeffs - third.coeffs).max() <= 16 * multiple.eps
    assert (s ** mdqr.od(2)).precision is max(multiple, mdqr.od)
    assert (s**True).coeffs[0] == s.coeffs[0]
    for wrong, error in (("2", TypeError), ([2, 3], ValueError), (math.nan, ValueError)):
        with pytest.raises(error, match="exponent"):
            s**wrong


@pytest.mark.parametrize("start", [0.3 + 40j, -1.3 - 80j, 0.3 + 0.9j, 1.5 - 1.1j, 2 + 800j])
def test_tangents_far_from_the_real_axis(multiple, start):
    """Sine over cosine lost all digits, and was NaN from 710 on."""
    found = PowerSeries([start, 1, 0.25, 0], precision=multiple).tan().to_mpmath()
    with mpmath.workdps(900):
        exact = mpmath.taylor(lambda t: mpmath.tan(mpmath.mpc(start) + t + t * t / 4), 0, 3)
        for value, wanted in zip(found, exact, strict=True):
            # Of what is below 1e-160 lower limbs are lost.
            assert abs(value - wanted) <= 2**8 * multiple.eps * abs(wanted) + mpmath.mpf(2) ** -1074


def test_reversions_that_overflow_are_not_finite():
    found = PowerSeries([0, 1e-200, 1e200, 1], precision="dd").extended(9).reversion()
    assert not mdqr.isfinite(found.coeffs).all()


def test_precisions_mix():
    """As for arrays, the higher one wins."""
    x, y = (PowerSeries.identity(3, precision=p, at=1) for p in ("dd", "od"))
    for found in (x + y, x * y, y / x, x - y):
        assert found.precision is mdqr.od


@pytest.mark.parametrize(
    ("series", "text"),
    [
        ([1, -0.5, 0, 0.125], "1 - 0.5 t + 0.125 t^3 + O(t^4)"),
        ([0, 1, -1], "t - t^2 + O(t^3)"),
        ([0], "0 + O(t)"),
        ([1 + 2j, 3, -1j], "(1+2j) + 3 t + (-0-1j) t^2 + O(t^3)"),
        ([1] * 12, "1 + t + t^2 + t^3 + t^4 + t^5 + t^6 + t^7 + ... + O(t^12)"),
    ],
)
def test_text(series, text):
    assert repr(PowerSeries(series, precision="qd")) == text


def test_other_packages():
    s = sympy.Symbol("s")
    series = PowerSeries([Fraction(1, 3), 0, 2], precision="qd")
    found = series.to_sympy(s)
    assert sympy.Poly(found, s).degree() == 2
    with mpmath.workdps(70):
        assert abs(mpmath.mpf(1) / 3 - series.to_mpmath()[0]) < mpmath.mpf(10) ** -62
    assert abs(found.coeff(s, 0) - sympy.Rational(1, 3)) < 1e-62
    assert (PowerSeries([1, 2j], precision="dd").to_sympy(s) - 1 - 2 * sympy.I * s).equals(0)
    assert series.to_numpy().tolist() == [1 / 3, 0.0, 2.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: 1 / t, ZeroDivisionError, "no constant term: its inverse"),
        (lambda t: t.sqrt(), ZeroDivisionError, "no constant term: its power"),
        (lambda t: t(t + 1), ValueError, "use shift first"),
        (lambda t: (t * t).reversion(), ValueError, "starts with its term of order 1"),
        (lambda t: (t + 1).reversion(), ValueError, "starts with its term of order 1"),
        (lambda t: t.truncated(-1), ValueError, "degree must be at least 0; got -1"),
        (lambda t: (1 + t).root(0), ValueError, "must be a natural number; got 0"),
        (lambda t: len(t), TypeError, "numbers are in coefficients"),
        (lambda t: PowerSeries(mdqr.qd(1)), ValueError, "along the last axis"),
        (lambda t: PowerSeries([1, 2]), TypeError, "precision"),
        (lambda t: t + "1", TypeError, "str"),
        (lambda t: PowerSeries([[1, 2]], precision="dd").to_sympy(), ValueError, "one series"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(PowerSeries.identity(3, precision="dd"))


def test_high_powers_by_floats_keep_their_digits():
    """Forty squarings lose some 2**40 eps; the power of the first coefficient does not."""
    c = mdqr.array([1 + 2.0**-41 + 2.0**-52, 1, 0], precision="dd")
    found = (PowerSeries(c) ** 2.0**40).coeffs[0]
    wanted = (PowerSeries(c.astype("qd")) ** 2.0**40).coeffs[0]
    assert abs(float(found / wanted - 1)) <= 8 * mdqr.dd.eps
