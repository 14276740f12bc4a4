"""Functions of NumPy's names that round or promise not to: against exact values and mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from array_cases import exact, full_width, same_bits

import mdqr
from mdqr._precision import PRECISIONS

HIGHEST = PRECISIONS[-1]
BITS = HIGHEST.bits + 276


def to_mpf(x):
    value = Fraction(x)
    return mpmath.mpf(value.numerator) / value.denominator


def of(a):
    return [to_mpf(x) for x in exact(a).reshape(-1)]


def worst(found, wanted, bounds):
    """Return the largest part of its bound that an error is, 0 where both are zero."""
    return max(
        float(abs(x - y) / bound) if x != y else 0.0
        for x, y, bound in zip(of(found), wanted, bounds, strict=True)
    )


def judge(found, wanted, bounds):
    """Errors are within bounds, and the largest is not far below its own.

    Octo-double operations are some 2**10 times better than their bounds, hexa-double ones far more.
    """
    least = {mdqr.od: 2.0**-16, HIGHEST: 0.0}.get(found.precision, 2.0**-10)
    assert least <= worst(found, wanted, bounds) <= 1


def spread(rng, precision, count=40, powers=(-12, 3)):
    x = full_width(rng, precision, count)
    return mdqr.ldexp(x, rng.integers(*powers, count))


def test_sinc(multiple, rng):
    x = spread(rng, multiple)
    with mpmath.workprec(BITS):
        wanted = [mpmath.sinc(mpmath.pi * v) for v in of(x)]
        judge(mdqr.sinc(x), wanted, [8 * multiple.eps * abs(v) for v in wanted])
    np.testing.assert_array_equal(
        mdqr.sinc(
            mdqr.array([0, 5e-324, 1e-290, -2, np.inf, np.nan], precision=multiple)
        ).to_numpy(),
        [1, 1, 1, 0, np.nan, np.nan],
    )


@pytest.mark.parametrize("powers", [(-40, -3), (-3, 6), (7, 9)])
def test_bessel(precision, rng, powers):
    x = spread(rng, precision, 12, powers)
    with mpmath.workprec(BITS):
        wanted = [mpmath.besseli(0, v) for v in of(x)]
        factors = [2 if precision < HIGHEST else 2 * abs(v) + 4 for v in of(x)]
        bounds = [f * precision.eps * w for f, w in zip(factors, wanted, strict=True)]
        found = mdqr.i0(x)
        if powers[0] > -40:
            judge(found, wanted, bounds)
        assert worst(found, wanted, bounds) <= 1
    assert same_bits(mdqr.i0(-x), found)
    assert same_bits(np.i0(x), found)
    assert same_bits(np.sinc(x), mdqr.sinc(x))


def test_bessel_at_the_ends(precision):
    x = mdqr.array([0, np.inf, -np.inf, np.nan, 713, 714, 1e300], precision=precision)
    with np.errstate(all="ignore"):
        found = mdqr.i0(x).to_numpy()
    np.testing.assert_array_equal(found[:4], [1, np.inf, np.inf, np.nan])
    with mpmath.workprec(BITS):
        assert abs(found[4] / mpmath.besseli(0, 713) - 1) < 1e-12
    assert found[5:].tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(precision, name):
    formulas = {
        "bartlett": lambda t: 1 - abs(2 * t - 1),
        "hanning": lambda t: mpmath.sinpi(t) ** 2,
        "hamming": lambda t: mpmath.mpf(27) / 50 - mpmath.mpf(23) / 50 * mpmath.cospi(2 * t),
        "blackman": lambda t: (
            (21 - 25 * mpmath.cospi(2 * t) + 4 * mpmath.cospi(4 * t)) / mpmath.mpf(50)
        ),
    }
    with mpmath.workprec(2 * BITS):
        for count in (2, 7, 50):
            found = getattr(mdqr, name)(count, precision=precision)
            wanted = [formulas[name](mpmath.mpf(k) / (count - 1)) for k in range(count)]
            factor = 24 if name == "blackman" else 16
            bounds = [factor * precision.eps * abs(v) + mpmath.mpf(2) ** -BITS for v in wanted]
            assert worst(found, wanted, bounds) <= 1
        judge(found, wanted, bounds)
        assert same_bits(found, found[::-1].copy())


def test_kaiser_windows(precision):
    with mpmath.workprec(BITS):
        beta = mpmath.mpf(17) / 2
        wanted = [
            mpmath.besseli(0, beta * mpmath.sqrt(1 - (mpmath.mpf(k) / 15 - 1) ** 2))
            / mpmath.besseli(0, beta)
            for k in range(31)
        ]
        factor = 8 + 4 * 8.5 if precision < HIGHEST else 16 + 8 * 8.5
        found = mdqr.kaiser(31, "8.5", precision=precision)
        judge(found, wanted, [factor * precision.eps * v for v in wanted])


def test_sums_of_powers_of_two(precision, rng):
    x = spread(rng, precision, 40, (-4, 5))
    y = x + spread(rng, precision, 40, (-4, 7))
    with mpmath.workprec(BITS):
        wanted = [mpmath.log(2**a + 2**b, 2) for a, b in zip(of(x), of(y), strict=True)]
        bounds = [(2 * abs(v) + 16) * precision.eps for v in wanted]
        judge(mdqr.logaddexp2(x, y), wanted, bounds)
    ends = mdqr.array([np.inf, -np.inf, 3, -1e308], precision=precision)
    for others in (ends, ends[::-1], ends * np.nan):
        with np.errstate(invalid="ignore"):
            wanted = np.logaddexp2(ends.to_numpy(), others.to_numpy())
        np.testing.assert_array_equal(mdqr.logaddexp2(ends, others).to_numpy(), wanted)


def test_fractions_and_exponents_are_exact(precision, rng):
    x = spread(rng, precision, 60, (-300, 300))
    eps = precision.eps / 4
    x[:6] = mdqr.array([1, 2, -4, 1, -1, 8], precision=precision) * 2.0**20
    x[3:6] -= x[3:6] * eps  # powers of two less a limb
    fractions, exponents = mdqr.frexp(x)
    for value, part, power in zip(exact(x), exact(fractions), exponents.tolist(), strict=True):
        assert Fraction(1, 2) <= abs(part) < 1
        assert part * Fraction(2) ** power == value
    assert same_bits(mdqr.ldexp(fractions, exponents), x)
    small = mdqr.array(["1e-320", "-5e-324", 0], precision=precision)
    parts, powers = mdqr.frexp(small)
    np.testing.assert_array_equal(parts.to_numpy(), np.frexp(small.to_numpy())[0])
    np.testing.assert_array_equal(powers, np.frexp(small.to_numpy())[1])


def test_parts_before_and_behind_the_point_are_exact(precision, rng):
    x = spread(rng, precision, 200, (-20, 230))
    x[:2] = mdqr.array([3, -3], precision=precision)
    x[:2] -= x[:2] * precision.eps
    whole = mdqr.array([2.0**80, -(2.0**80)], precision=precision)
    x[2:4] = whole - whole * precision.eps
    behind, before = mdqr.modf(x)
    for value, part, integer in zip(exact(x), exact(behind), exact(before), strict=True):
        assert integer == int(value)
        assert part == value - integer
    assert all(x.precision is precision for x in (behind, before))
    mdqr.from_limbs(behind.limbs)  # which refuses what is not normalised


def test_spacing(precision, rng):
    x = spread(rng, precision, 50, (-200, 200))
    found = exact(mdqr.spacing(x))
    for value, unit in zip(exact(x), found, strict=True):
        assert (unit > 0) == (value > 0)
        size = abs(value) / abs(unit)
        # The leading limb may be a power of two above the value.
        assert 2 ** (precision.bits - 1) * (1 - 2 * Fraction(precision.eps)) <= size
        assert size < 2**precision.bits
    ends = mdqr.array([0, -0.0, np.inf, np.nan, 1], precision=precision)
    np.testing.assert_array_equal(
        mdqr.spacing(ends).to_numpy()[:4], [5e-324, -5e-324, np.nan, np.nan]
    )
    if precision is mdqr.d:
        np.testing.assert_array_equal(mdqr.spacing(x).to_numpy(), np.spacing(x.to_numpy()))


def test_remainders_of_c(precision, rng):
    x, y = spread(rng, precision, 30, (-3, 90)), spread(rng, precision, 30, (-3, 3))
    for value, by, rest in zip(exact(x), exact(y), exact(mdqr.fmod(x, y)), strict=True):
        wanted = value - by * int(value / by)
        assert abs(rest - wanted) <= Fraction(precision.eps) * abs(wanted)
    quotient, rest = mdqr.divmod(x, y)
    assert same_bits(quotient, mdqr.floor_divide(x, y))
    assert same_bits(rest, mdqr.remainder(x, y))


def test_unwrapped_angles(precision, rng):
    steps = rng.uniform(-3, 3, 60)
    angles = mdqr.cumsum(full_width(rng, precision, 60) * 0.01 + steps)
    period = 2 * precision.pi
    turns = mdqr.rint(angles / period)
    wrapped = angles - turns * period
    found = mdqr.unwrap(wrapped)
    start = float(turns[0])
    for place, (x, y) in enumerate(zip(of(found), of(angles), strict=True)):
        with mpmath.workprec(BITS):
            wanted = y - start * 2 * mpmath.pi
            # What `wrapped` has lost, and the bound.
            slack = (4 + 8) * precision.eps * (abs(x) + (place + 2) * 2 * mpmath.pi)
            assert abs(x - wanted) <= slack
    assert same_bits(mdqr.unwrap(found), found)


def test_half_periods_stay():
    """As NumPy's: a jump of exactly half a period is none."""
    for precision in (mdqr.d, mdqr.qd, mdqr.od):
        x = mdqr.stack([0 * precision.pi, precision.pi, 0 * precision.pi])
        assert same_bits(mdqr.unwrap(x), x)


def test_sums_by_number(precision, rng):
    weights, places = full_width(rng, precision, 300), rng.integers(0, 20, 300)
    found, values = exact(mdqr.bincount(places, weights, 22)), exact(weights)
    ratios = []
    for i in range(22):
        terms = values[places == i]
        bound = (len(terms) + 8) * Fraction(precision.eps) * sum(map(abs, terms))
        error = abs(found[i] - sum(terms))
        assert error <= bound
        ratios.append(float(error / bound) if bound else 0.0)
    assert max(ratios) >= 2.0**-10 or precision.limbs > 2
    counts, edges = mdqr.histogram(weights, 7, weights=weights)
    for i in range(7):
        inside = (values >= exact(edges)[i]) & (values < exact(edges)[i + 1])
        inside |= (values == exact(edges)[-1]) & (i == 6)
        assert abs(exact(counts)[i] - sum(values[inside])) <= 300 * Fraction(precision.eps) * sum(
            map(abs, values[inside])
        )


def test_moved_values_keep_all_limbs(precision, dtype, rng):
    a = full_width(rng, precision, (3, 4), dtype)
    assert same_bits(mdqr.concatenate(mdqr.array_split(a, 3, 1), 1), a)
    assert same_bits(mdqr.rot90(mdqr.rot90(a), -1).copy(), a)
    assert same_bits(mdqr.pad(a, 2)[2:-2, 2:-2].copy(), a)
    assert same_bits(mdqr.resize(a, (6, 4))[3:].copy(), a)
    assert same_bits(mdqr.choose(np.zeros((3, 4), int), [a, 0.0]), a)
    assert same_bits(mdqr.select([np.ones((3, 4), bool)], [a]), a)
    assert same_bits(mdqr.trim_zeros(mdqr.pad(a, 1)).copy(), a)
    b = mdqr.zeros_like(a)
    mdqr.put(b, np.arange(12), a)
    assert same_bits(b, a)


def test_choices_in_a_lower_precision_round_nothing():
    """Texts and lower precisions beside an array are taken in its precision."""
    x = mdqr.qd([1.0, 2.0])
    assert bool(mdqr.select([x > 1], [["0.1", "0.1"]], default=x)[1] == mdqr.qd("0.1"))
    assert bool(mdqr.choose([1, 0], [x, "0.1"])[0] == mdqr.qd("0.1"))
    assert bool(mdqr.pad(x, 1, constant_values="0.1")[0] == mdqr.qd("0.1"))
    assert bool(mdqr.ediff1d(x, to_end="0.1")[1] == mdqr.qd("0.1"))


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (np.add.reduce, lambda a: a.sum(0)),
        (np.multiply.reduce, lambda a: mdqr.prod(a, 0)),
        (np.maximum.reduce, lambda a: a.max(0)),
        (np.minimum.reduce, lambda a: a.min(0)),
        (np.add.accumulate, lambda a: mdqr.cumsum(a, 0)),
        (np.multiply.accumulate, lambda a: mdqr.cumprod(a, 0)),
        (lambda a: np.subtract.outer(a[0], a[1]), lambda a: a[0][:, None] - a[1]),
        (lambda a: np.multiply.outer([1.0, 2], a[0]), lambda a: np.array([[1.0], [2]]) * a[0]),
        (lambda a: np.multiply.outer(a[0], 2.0), lambda a: a[0] * 2.0),
        (lambda a: np.add.reduce(a, axis=None, keepdims=True), lambda a: a.sum(keepdims=True)),
        (lambda a: np.add.reduce(a, axis=1), lambda a: a.sum(1)),
    ],
)
def test_reductions_by_ufuncs(call, method, rng):
    a = full_width(rng, mdqr.qd, (3, 4))
    assert same_bits(call(a), method(a))


def test_other_ufunc_methods_are_refused():
    a = mdqr.qd([1, 2])
    with pytest.raises(TypeError, match=r"numpy\.add\.reduceat has no implementation"):
        np.add.reduceat(a, [0, 1])
    with pytest.raises(TypeError, match=r"numpy\.add\.at has no implementation"):
        np.add.at(a, np.array([0, 1]), 1.0)
    with pytest.raises(TypeError, match=r"subtract\.reduce"):
        np.subtract.reduce(a)
