"""Series whose numbers are far from 1: scales of each start point, and digits that doubles hold."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.series import NotASolutionError, SingularJacobianError, System, newton_series
from mdqr.series._solver.inverse import left_inverse

ROOT = System.from_strings(["x^2 - t"], ["x"])


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def mp(x):
    if isinstance(x, mpmath.mpf):
        return x
    x = Fraction(x)
    return mpmath.mpf(x.numerator) / x.denominator


def true_digits(found, wanted):
    """Digits of one order that are right, of exact numbers; 400 for all."""
    wanted = [mp(w) for w in wanted]
    error = max(abs(mp(f) - w) for f, w in zip(found, wanted, strict=True))
    if not error:
        return 400.0
    size = max(map(abs, wanted))
    return float(-mpmath.log10(error / size)) if size else 0.0


@mpmath.workdps(300)
def check(s, wanted):
    """Orders ``(n, d + 1)`` have the digits that they claim; say how many they have."""
    limbs, true = s.coeffs.to_numpy(), []
    for k in range(s.degree + 1):
        if not np.isfinite(limbs[:, k]).all():
            true.append(0.0)
        else:
            found = s.coeffs[:, k].to_fractions()
            true.append(true_digits(found, [w[k] for w in wanted]))
    assert (s.digits <= true).all()
    return np.array(true)


@mpmath.workdps(300)
def root_series(x, degree):
    """The coefficients of sqrt(t) about x^2."""
    half = mpmath.mpf(1) / 2
    return [mpmath.binomial(half, k) * mp(x) ** (1 - 2 * k) for k in range(degree + 1)]


def test_every_start_point_has_its_scale(precision):
    """One exponent for all made high orders of one of them zero, with all digits claimed."""
    x = np.array([[1.0], [2.0**-17], [2.0**40]])
    s = newton_series(ROOT, x, t0=x[:, 0] ** 2, degree=45, precision=precision)
    assert s.info.exponent.shape == (3,)
    for i, start in enumerate(x[:, 0]):
        wanted = root_series(start, 45)
        one = newton_series(ROOT, x[i], t0=start**2, degree=45, precision=precision)
        np.testing.assert_array_equal(one.coeffs.limbs, s.coeffs[i].limbs)
        assert abs(one.digits - s.digits[i]).max() <= 1
        true = check(one, [wanted])
        held = [1e-300 / precision.eps < abs(w) < 1e307 for w in wanted]
        assert (true[held] >= precision.digits - 4).all()
        # What doubles do not hold has no digits.
        assert (s.digits[i][[abs(w) > 2e308 or abs(w) < 1e-323 for w in wanted]] == 0).all()


def test_a_start_near_zero_does_not_set_the_scale(precision):
    """Order 0 is the rounding of 0.1: high orders underflowed by its rate to order 1."""
    system = System.from_strings(["x^2 + x - (t - 1/10)"], ["x"])
    s = newton_series(system, [0], t0=0.1, degree=30, precision=precision, max_distance=math.inf)
    with mpmath.workdps(300):
        w = mp(0.1) - mpmath.mpf(1) / 10 + mpmath.mpf(1) / 4
        half = [
            mpmath.binomial(mpmath.mpf(1) / 2, k) * w ** (mpmath.mpf(1) / 2 - k) for k in range(31)
        ]
        true = check(s, [[half[0] - mpmath.mpf(1) / 2, *half[1:]]])
    assert true[1:].min() >= precision.digits - 4
    # 1/10 was rounded: of the difference few digits are known.
    assert s.digits[0] < precision.digits - 15 + 3


@pytest.mark.parametrize("noise", [1e-17, 1e-40, 1e-120, 1e-200, 1e-300])
def test_noise_in_place_of_zero_does_not_set_the_scale(noise, precision):
    """Unknowns scaled by it made high orders zero or NaN, some with all digits claimed."""
    system = System.from_strings(["x*y - t", "y + x^2*y - 1 - t"], ["x", "y"])
    wanted = newton_series(system, [0, 1], degree=30, precision=precision)
    found = newton_series(system, [[noise, 1], [0, 1]], degree=30, precision=precision)
    for s in found.coeffs:
        assert (abs(s - wanted.coeffs)[:, 1:] <= wanted.error_bound[:, 1:]).all()
    np.testing.assert_allclose(found.digits, [wanted.digits] * 2, atol=1)
    again = newton_series(system, wanted.coeffs[:, 0] + [noise, 0], degree=30, precision=precision)
    assert (again.digits >= wanted.digits - 1).all()


def test_one_large_order_among_others(precision):
    """It was taken for growth: scaled by that, later orders left the range."""
    system = System.from_strings([f"x - {2**664}*t - y", "y*(1 - t) - 1"], ["x", "y"])
    s = newton_series(system, [1, 1], degree=40, precision=precision)
    check(s, [[1, 1 + 2**664, *[1] * 39], [1] * 41])
    assert s.digits.min() >= precision.digits - 3


def test_orders_behind_those_that_underflow(precision):
    """y is 2^(-300 k): from order 5 on zeros had all digits."""
    small = Fraction(1, 2**300)
    system = System.from_strings([f"x - {2**900}*t - y", f"y*(1 - ({small})*t) - 1"], ["x", "y"])
    s = newton_series(system, [1, 1], degree=12, precision=precision)
    y = [small**k for k in range(13)]
    check(s, [[1, 2**900 + y[1], *y[2:]], y])
    assert (s.digits[4:] == 0).all()


@pytest.mark.parametrize("exponent", [-1000, -700, -300, 300, 1000])
def test_one_coefficient_near_the_ends_of_the_range(exponent, precision):
    size = Fraction(2) ** exponent
    s = newton_series(
        System.from_strings([f"x - 1/3*t*({size})"], ["x"]), [0], degree=2, precision=precision
    )
    check(s, [[0, size / 3, 0]])
    full = exponent - precision.bits > -1060
    assert (s.digits[1] > precision.digits - 3) == full


@given(
    st.lists(st.integers(-300, 300), min_size=4, max_size=4),
    st.sampled_from(PRECISIONS[:3]),
)
def test_systems_of_any_scale(powers, precision):
    """x y = 1 + t, x - y = t/2, with powers of two for unknowns and equations: the same series."""
    a, b, p, q = (Fraction(2) ** k for k in powers)
    x, y = f"x*({1 / a})", f"y*({1 / b})"
    system = System.from_strings(
        [f"({p})*({x}*{y} - 1 - t)", f"({q})*({x} - {y} - t/2)"], ["x", "y"]
    )
    plain = System.from_strings(["x*y - 1 - t", "x - y - t/2"], ["x", "y"])
    s = newton_series(system, [float(a), float(b)], degree=12, precision=precision)
    one = newton_series(plain, [1, 1], degree=12, precision="od")
    wanted = one.coeffs.to_fractions()
    check(s, [[w * f for w in row] for row, f in zip(wanted, (a, b), strict=True)])
    for found, w, f in zip(s.coeffs, wanted, (a, b), strict=True):
        errors = [abs(u / f - v) for u, v in zip(found.to_fractions(), w, strict=True)]
        assert max(errors) <= 64 * precision.eps


@pytest.mark.parametrize("size", [1e160, 1e-170, 1e300, 1e-300])
def test_jacobians_of_any_size(size):
    """Squares of sizes left the range: Jacobians were singular that are not."""
    a = mdqr.array(np.array([[2.0, 1.0], [1.0, 3.0]]) * size, precision="d")
    inverse = left_inverse(a._block, Kind(1, False))
    assert 2 < inverse.condition < 4


@pytest.mark.parametrize("n", [3, 70])
def test_unknowns_of_tiny_and_huge_sizes(n):
    """Also those whose inverse has fewer limbs."""
    size = [Fraction(10) ** (100 * (-1) ** i) for i in range(n)]
    names = [f"x{i}" for i in range(n)]
    rows = [f"x{i}*({1 / size[i]}) - 1 - t" for i in range(n)]
    s = newton_series(
        System.from_strings(rows, names), list(map(float, size)), degree=2, precision="dd"
    )
    error = s.coeffs[:, :2] / mdqr.array(size, precision="dd")[:, None] - 1
    assert abs(error).max() <= 8 * mdqr.dd.eps


def test_orders_that_few_powers_of_the_parameter_make():
    """A first order that is small says nothing of the twentieth."""
    s = newton_series(
        System.from_strings(["x - 1 - t/2^100 - t^20 - 2^70*t^30"], ["x"]),
        [1],
        degree=31,
        precision="od",
    )
    wanted = [0] * 32
    wanted[0], wanted[1], wanted[20], wanted[30] = 1, Fraction(1, 2**100), 1, 2**70
    assert s.coeffs[0].to_fractions().tolist() == wanted
    assert (s.digits > 120).all()


def test_steps_at_the_start_do_not_end_too_early():
    """An old inverse may gain 2^9.6 a step: y had 22 digits, and 30 were claimed."""
    system = System.from_strings(["x^2 - 2 - t", "2^28*y^2 - 2 - t"], ["x", "y"])
    root = mdqr.sqrt(mdqr.dd(2))
    for near in np.arange(9, 11, 0.2):
        start = np.sqrt(2) * np.array([1 + 2**-11.5, 2.0**-14 * (1 + 2.0**-near)])
        s = newton_series(system, start, degree=0, precision="dd")
        assert (abs(s.coeffs[:, 0] * [1, 2**14] - root) <= 4 * mdqr.dd.eps * root).all()


def test_verified_digits_of_points_with_their_own_parameter():
    """1/3 rounded to dd, and not 1/3 itself, is where the better series are expanded as well."""
    where = [Fraction(1, 3), Fraction(10, 3), Fraction(1, 10**20)]
    x = [[float(t) ** 0.5] for t in where]
    s = newton_series(ROOT, x, t0=where, degree=9, precision="dd", verify=True)
    assert s.digits.shape == (3, 10)
    assert s.digits.min() > 29
    single = newton_series(ROOT, x[0], t0=where[0], degree=9, precision="dd", verify=True)
    np.testing.assert_array_equal(single.digits, s.digits[0])


def test_verified_digits_of_orders_out_of_range():
    with pytest.warns(mdqr.PrecisionWarning, match="orders from 2 on"):
        s = newton_series(ROOT, [1e-150], t0=1e-300, degree=4, precision="dd", verify=True)
    assert (s.digits[2:] == 0).all()
    assert np.isinf(s.error_bound[0, 2:]).all()


@pytest.mark.parametrize("t0", [np.nan, np.inf, -np.inf, [0.0, np.nan]])
def test_points_of_the_parameter_that_are_no_numbers(t0):
    with pytest.raises(ValueError, match="t0 must be finite"):
        newton_series(ROOT, np.ones((*np.shape(t0), 1)), t0=t0, degree=2, precision="dd")


@pytest.mark.parametrize("x0", [np.nan, np.inf])
def test_starts_that_are_no_numbers(x0):
    with pytest.raises(ValueError, match="x0 must be finite"):
        newton_series(ROOT, [[1.0], [x0]], t0=1, degree=2, precision="dd")


def test_large_points_of_the_parameter():
    """A line serves for any t0; a square of t0 has to be a double."""
    line = System.from_strings(["x - 1 - t"], ["x"])
    s = newton_series(line, [1e300], t0=1e300, degree=2, precision="d")
    np.testing.assert_array_equal(s.to_numpy(), [[1e300, 1, 0]])
    square = System.from_strings(["x - 1 - t^2"], ["x"])
    with pytest.raises(ValueError, match="coefficients of the system at t0 leave the range"):
        newton_series(square, [1.0], t0=1e200, degree=2, precision="d")


@pytest.mark.parametrize("coefficient", ["1e400", "1e-400"])
def test_coefficients_out_of_range(coefficient):
    with pytest.raises(ValueError, match="outside the range of doubles"):
        newton_series(
            System.from_strings([f"x - {coefficient}*t"], ["x"]), [0], degree=1, precision="dd"
        )


def test_one_singular_start_of_a_batch():
    """The error names it; the other starts are solved without it."""
    system = System.from_strings(["x^2 - t", "y - x"], ["x", "y"])
    starts = np.array([[[1.0, 1], [-1, -1]], [[2, 2], [0, 0]]])
    points = starts[..., 0] ** 2
    with pytest.raises(
        SingularJacobianError, match="at the start point 1, 1 has rank 1 < 2"
    ) as error:
        newton_series(system, starts, t0=points, degree=3, precision="dd")
    assert error.value.place == (1, 1)
    s = newton_series(system, starts[0], t0=points[0], degree=3, precision="dd")
    np.testing.assert_array_equal(s.coeffs[:, 0, 0].to_numpy(), [1, -1])
    with pytest.raises(NotASolutionError):
        newton_series(
            System.from_strings(["x^2 + 1"], ["x"]), [[1j], [0.3]], degree=1, precision="dd"
        )


@pytest.mark.parametrize("method", ["online", "newton"])
@pytest.mark.parametrize("degree", [0, 1])
def test_lowest_degrees(method, degree, precision):
    s = newton_series(
        ROOT, [[2], [-3]], t0=[4, 9], degree=degree, precision=precision, method=method
    )
    wanted = mdqr.array([[2, Fraction(1, 4)], [-3, Fraction(-1, 6)]], precision=precision)
    assert (abs(s.coeffs[:, 0] - wanted[:, : degree + 1]) <= 4 * precision.eps).all()
    assert s.digits.shape == (2, degree + 1)
    assert s.residual().shape == (2, 1, degree + 1)


def test_unknowns_that_are_zero_take_no_more_steps():
    """Rounding errors of z are as large as z, which says nothing of the inverse."""
    system = System.from_strings(
        [
            "26*x^2 + 34/7*y*x - 9*z - t - 250/63",
            "35*x*y + 3*z - 30*x + 20/9",
            "31*y^2 - 2*z + 2*x - 130/9",
        ],
        ["x", "y", "z"],
    )
    s = newton_series(system, [1 / 3, 2 / 3, 0], degree=0, precision="d")
    assert s.info.start_steps <= 3


@pytest.mark.parametrize("precision", [p for p in PRECISIONS[1:] if p.next > p], ids=str)
def test_verified_digits_of_orders_that_lose_limbs_with_their_scale(precision):
    """Both precisions lost the same limbs: orders right to 2.4e-8 had all digits."""
    system = System.from_strings(["x^2 - 1 - t/1024/1024"], ["x"])
    with pytest.warns(mdqr.PrecisionWarning, match="orders from"):
        s = newton_series(system, [1.0], degree=53, precision=precision, verify=True)
    exact = [Fraction(1)]
    for k in range(1, 54):
        exact.append(exact[-1] * (Fraction(3, 2) - k) / k / 2**20)
    found = s.coeffs[0].to_fractions()
    for value, known, bound in zip(found, exact, s.error_bound[0], strict=True):
        assert abs(value - known) <= bound
