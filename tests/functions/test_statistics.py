"""Moments, quantiles and running sums against exact rationals, and NumPy's axes."""

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from array_cases import exact, finite, full_width, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr

SMALL = st.integers(-8, 8).map(float)
AXES = st.none() | st.integers(-3, 2) | st.sampled_from([(0, 1), (-1, 0), (1, -1), (0, 1, 2), ()])


def moderate(rng, precision, shape=()):
    """Return full-width values of one size, so that sums of them are near their terms."""
    return 1 + full_width(rng, precision, shape) / 8


def error(got, wanted):
    """Return the relative error of a real 0-d array."""
    return float(abs(exact(got).item() - wanted) / abs(wanted))


@pytest.mark.parametrize("ddof", [0, 1, Fraction(1, 2)])
def test_variances_are_right(multiple, ddof, rng):
    a = moderate(rng, multiple, 40)
    values = list(exact(a))
    mean = sum(values) / 40
    wanted = sum((v - mean) ** 2 for v in values) / (40 - ddof)
    # Distances lose three bits from values of eight times their size.
    assert error(mdqr.var(a, ddof=float(ddof)), wanted) < (40 + 64) * multiple.eps
    assert error(mdqr.std(a, correction=float(ddof)) ** 2, wanted) < (40 + 72) * multiple.eps
    z = mdqr.from_limbs(np.stack([a.limbs, a[::-1].limbs]), dtype=complex)
    assert error(mdqr.var(z, ddof=float(ddof)), 2 * wanted) < (40 + 64) * multiple.eps


def test_variances_take_means_that_are_known(multiple, rng):
    a = moderate(rng, multiple, (3, 4))
    mean = a.mean(1, keepdims=True)
    assert same_bits(a.var(1), mdqr.var(a, 1, mean=mean))
    with pytest.raises(ValueError, match="one thing"):
        mdqr.var(a, ddof=1, correction=1)


@pytest.mark.parametrize(
    "name", ["var", "std", "median", "mean", "max", "min", "ptp", "any", "all"]
)
@settings(max_examples=30)
@given(data=st.data())
def test_axes_are_numpys(name, data):
    shape = (2, 3, 2)
    x = data.draw(hnp.arrays(float, shape, elements=SMALL))
    axis, keepdims = data.draw(AXES), data.draw(st.booleans())
    got = getattr(mdqr, name)(mdqr.array(x, precision=mdqr.qd), axis, keepdims=keepdims)
    wanted = getattr(np, name)(x, axis, keepdims=keepdims)
    assert got.shape == np.shape(wanted)
    found = got.to_numpy() if isinstance(got, mdqr.MDArray) else got
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["var", "median", "mean", "max", "quantile"])
def test_axes_that_are_not_there(name, precision):
    arguments = (0.5,) if name == "quantile" else ()
    with pytest.raises(np.exceptions.AxisError):
        getattr(mdqr, name)(mdqr.ones((2, 2), precision=precision), *arguments, axis=2)


def test_too_few_values(precision):
    one = mdqr.ones(1, precision=precision)
    with pytest.warns(RuntimeWarning, match="too few"):
        assert np.isnan(float(mdqr.var(one, ddof=1)))
    with pytest.warns(RuntimeWarning, match="too few"):
        assert np.isnan(mdqr.var(mdqr.zeros((0, 2), precision=precision), 0).to_numpy()).all()
    for name in ("median", "max", "ptp"):
        with pytest.raises(ValueError, match="no values"):
            getattr(mdqr, name)(mdqr.zeros((0, 2), precision=precision), 0)


METHODS = ["linear", "lower", "higher", "midpoint", "nearest"]


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_quantiles_are_numpys(method, data):
    x = data.draw(hnp.arrays(float, (3, data.draw(st.integers(1, 6))), elements=SMALL))
    q = data.draw(hnp.arrays(float, (2, 2), elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])))
    axis, keepdims = data.draw(st.sampled_from([None, 0, 1, -1])), data.draw(st.booleans())
    got = mdqr.quantile(mdqr.array(x, precision=mdqr.dd), q, axis, method=method, keepdims=keepdims)
    wanted = np.quantile(x, q, axis, method=method, keepdims=keepdims)
    np.testing.assert_array_equal(got.to_numpy(), wanted)


@given(data=st.data())
def test_quantiles_of_full_width_values(data, multiple):
    a = data.draw(finite(multiple, 9))
    part = Fraction(data.draw(st.integers(0, 64)), 64)
    ordered = sorted(exact(a))
    place = part * 8
    low = ordered[math.floor(place)]
    wanted = low + (place - math.floor(place)) * (ordered[min(math.floor(place) + 1, 8)] - low)
    got = mdqr.quantile(a, float(part))
    largest = max(abs(low), abs(ordered[min(math.floor(place) + 1, 8)]))
    if largest < 2**1000:
        assert abs(exact(got).item() - wanted) <= 8 * multiple.eps * largest + 2**-1060
        assert same_bits(mdqr.median(a), mdqr.quantile(a, 0.5))
        assert exact(mdqr.median(a)).item() == statistics.median(exact(a))


def test_decimal_parts_are_exact():
    """In float64 a tenth of 10 values does not lie at a value."""
    a = mdqr.arange(11, precision=mdqr.qd)
    assert float(mdqr.quantile(a, "0.1")) == 1.0
    assert float(mdqr.percentile(a, 30)) == 3.0


def test_special_values_of_quantiles(precision):
    nan, inf = math.nan, math.inf
    a = mdqr.array([[1, nan, 2], [-inf, inf, inf], [inf, inf, 0]], precision=precision)
    assert np.array_equal(mdqr.median(a, 1).to_numpy(), [nan, inf, inf], equal_nan=True)
    assert mdqr.quantile(a[1:], 0.75, axis=1).tolist() == [inf, inf]
    for q in (-0.1, 1.1, nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            mdqr.quantile(a, q)
    with pytest.raises(ValueError, match="method"):
        mdqr.quantile(a, 0.5, method="hazen")
    with pytest.raises(TypeError, match="real"):
        mdqr.quantile(a * 1j, 0.5)


@given(x=hnp.arrays(float, (3, 4), elements=SMALL), w=hnp.arrays(float, 4, elements=st.just(2.0)))
def test_averages_and_covariances_are_numpys(x, w):
    w[:2] = 1
    a = mdqr.array(x, precision=mdqr.dd)
    got, total = mdqr.average(a, 1, w, returned=True)
    np.testing.assert_allclose(got.to_numpy(), np.average(x, 1, w), rtol=1e-15)
    np.testing.assert_array_equal(total.to_numpy(), [6.0] * 3)
    np.testing.assert_allclose(mdqr.average(a).to_numpy(), np.average(x), rtol=1e-15)
    for options in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 0}, {"y": x}):
        got = mdqr.cov(a, **options)
        np.testing.assert_allclose(got.to_numpy(), np.cov(x, **options), rtol=1e-13, atol=1e-14)


def test_averages_refuse(precision):
    a = mdqr.ones((2, 3), precision=precision)
    with pytest.raises(ValueError, match="weights"):
        mdqr.average(a, weights=[1, 2])
    with pytest.raises(ZeroDivisionError, match="zero"):
        mdqr.average(a, 0, weights=[1, -1])
    with pytest.raises(ValueError, match="two axes"):
        mdqr.cov(a[None])


@given(data=st.data())
def test_running_sums_and_products_are_numpys(data, dtype):
    x = data.draw(hnp.arrays(dtype, (3, data.draw(st.integers(0, 5))), elements=SMALL))
    a = mdqr.array(x, precision=mdqr.qd)
    for axis in (None, 0, 1, -1):
        for name in ("cumsum", "cumprod"):
            got = getattr(mdqr, name)(a, axis)
            np.testing.assert_array_equal(got.to_numpy(), getattr(np, name)(x, axis))
        for name in ("cumulative_sum", "cumulative_prod") if axis is not None else ():
            for initial in (True, False):
                options = {"axis": axis, "include_initial": initial}
                got = getattr(mdqr, name)(a, **options)
                np.testing.assert_array_equal(got.to_numpy(), getattr(np, name)(x, **options))
    with pytest.raises(ValueError, match="axis="):
        mdqr.cumulative_sum(a)


def test_running_products_are_right(multiple, rng):
    a = moderate(rng, multiple, 33)
    wanted = Fraction(1)
    for value, got in zip(exact(a), mdqr.cumprod(a), strict=True):
        wanted *= value
        assert error(got, wanted) < 2 * 33 * multiple.eps


def test_medians_next_to_infinities(precision):
    def median(*values):
        return float(mdqr.median(mdqr.array(np.array(values), precision=precision)))

    with np.errstate(all="ignore"):
        for values in (
            [-np.inf, 1.0],
            [1.0, np.inf],
            [-np.inf, -np.inf],
            [np.inf, np.inf, 1.0, 0.0],
        ):
            assert median(*values) == np.median(values)
        assert np.isnan(median(-np.inf, np.inf))


def test_quantiles_between_far_values(precision):
    """The difference of the two is beyond the largest double."""
    a = mdqr.array(np.array([-1.5e308, 1.5e308]), precision=precision)
    assert mdqr.quantile(a, [0, 0.25, 0.5, 0.75, 1]).to_numpy().tolist() == [
        -1.5e308,
        -0.75e308,
        0.0,
        0.75e308,
        1.5e308,
    ]


def test_the_average_of_nothing_is_its_mean():
    empty = mdqr.zeros((0, 2), precision="qd")
    assert np.isnan(mdqr.average(empty, 0).to_numpy()).all()
    with pytest.raises(ZeroDivisionError):
        mdqr.average(empty, 0, weights=np.zeros((0, 2)))


def test_places_of_percentiles_lose_no_digits(precision, rng):
    """In d the error was up to 12 eps: the place p / 100 (n - 1) was rounded."""
    for _ in range(40):
        values, parts = rng.normal(size=int(rng.integers(2, 60))), rng.uniform(0, 100, 4)
        got = mdqr.percentile(mdqr.array(values, precision=precision), parts)
        ordered = sorted(map(Fraction, values))
        for part, value in zip(map(Fraction, parts), got, strict=True):
            place = part * (len(values) - 1) / 100
            low, high = ordered[int(place)], ordered[min(int(place) + 1, len(values) - 1)]
            error = Fraction(*value.as_integer_ratio()) - low - (place - int(place)) * (high - low)
            assert abs(error) <= 3 * Fraction(precision.eps) * max(abs(low), abs(high))


def test_parts_may_have_the_precision(multiple):
    part = mdqr.array("0.1", precision=multiple)
    for quantile in (mdqr.quantile, np.quantile):
        assert mdqr.allclose(quantile([1.0, 2.0], part), multiple("1.1"))
    with pytest.raises(TypeError, match="no operand is an MDArray"):
        mdqr.quantile([1.0, 2.0], 0.1)
