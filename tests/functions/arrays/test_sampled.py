"""Polynomials and sampled functions: exact where integers are, else with derived bounds."""

import tracemalloc

import numpy as np
import pytest
from array_cases import exact, full_width, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr

SMALL = st.integers(-9, 9).map(float)
# Powers of two, so that quotients of differences are exact.
STEPS = st.sampled_from([0.5, 1.0, 2.0])


@settings(max_examples=50)
@given(data=st.data())
def test_differences_are_numpys(data, dtype):
    x = data.draw(hnp.arrays(dtype, (3, data.draw(st.integers(0, 4))), elements=SMALL))
    a = mdqr.array(x, precision=mdqr.qd)
    n, axis = data.draw(st.integers(0, 3)), data.draw(st.sampled_from([0, 1, -1]))
    options = data.draw(st.sampled_from([{}, {"prepend": 1.0}, {"append": x}, {"prepend": x}]))
    got = mdqr.diff(a, n, axis, **options)
    np.testing.assert_array_equal(got.to_numpy(), np.diff(x, n, axis, **options))


def test_differences_refuse(precision):
    with pytest.raises(ValueError, match="negative"):
        mdqr.diff(mdqr.ones(2, precision=precision), -1)
    with pytest.raises(ValueError, match="0-d"):
        mdqr.diff(mdqr.array(1, precision=precision))


@given(data=st.data())
def test_gradients_are_numpys(data):
    x = data.draw(hnp.arrays(float, (4, 3), elements=SMALL))
    a = mdqr.array(x, precision=mdqr.dd)
    order = data.draw(st.sampled_from([1, 2]))
    points = np.cumsum(data.draw(hnp.arrays(float, 4, elements=STEPS)))
    for arguments, axis in (
        ((), None),
        ((0.5,), None),
        ((2.0, 0.5), None),
        ((points,), 0),
        ((), 1),
    ):
        theirs = np.gradient(x, *arguments, axis=axis, edge_order=order)
        ours = mdqr.gradient(a, *arguments, axis=axis, edge_order=order)
        pairs = zip(ours, theirs, strict=True) if axis is None else [(ours, theirs)]
        for got, wanted in pairs:
            np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-14, atol=1e-14)


def test_gradients_next_to_values_that_are_not_finite(precision):
    """Between points of one distance, the value in the middle does not count."""
    x = np.array([1.0, 2.0, np.nan, 4.0, 7.0, np.inf, 11.0, 13.0])
    got = mdqr.gradient(mdqr.array(x, precision=precision), 0.5)
    np.testing.assert_array_equal(got.to_numpy(), np.gradient(x, 0.5))


def test_gradients_of_parabolas_are_exact(multiple):
    points = mdqr.array([0, "0.25", 1, "1.5", 4], precision=multiple)
    got = mdqr.gradient(3 * points**2, points, edge_order=2)
    assert (abs(got - 6 * points) <= 64 * multiple.eps * 24).all()
    for match, arguments, options in (
        ("distances", (1, 2), {}),
        ("coordinates", ([1, 2],), {}),
        ("edge_order", (), {"edge_order": 3}),
    ):
        with pytest.raises((TypeError, ValueError), match=match):
            mdqr.gradient(points, *arguments, **options)
    with pytest.raises(ValueError, match="points are wanted"):
        mdqr.gradient(points[:1])


@given(data=st.data())
def test_integrals_are_numpys(data, dtype):
    y = data.draw(hnp.arrays(dtype, (3, 4), elements=SMALL))
    points = np.cumsum(data.draw(hnp.arrays(float, 4, elements=STEPS)))
    a = mdqr.array(y, precision=mdqr.qd)
    for options in ({}, {"dx": 0.5}, {"x": points}, {"axis": 0}, {"x": y.real, "axis": 0}):
        np.testing.assert_array_equal(
            mdqr.trapezoid(a, **options).to_numpy(), np.trapezoid(y, **options)
        )
    got = mdqr.trapezoid(y, mdqr.array(points, precision=mdqr.dd))
    np.testing.assert_array_equal(got.to_numpy(), np.trapezoid(y, points))


@settings(max_examples=50)
@given(data=st.data())
def test_values_between_are_numpys(data, dtype):
    count = data.draw(st.integers(1, 5))
    points = np.cumsum(data.draw(hnp.arrays(float, count, elements=STEPS)))
    values = data.draw(hnp.arrays(dtype, count, elements=SMALL))
    x = data.draw(hnp.arrays(float, (2, 3), elements=st.integers(-16, 48).map(lambda k: k / 4)))
    x[0, 0] = data.draw(st.sampled_from([np.inf, -np.inf, points[0]]))
    for options in ({}, {"left": -1.0, "right": 2.0}):
        got = mdqr.interp(mdqr.array(x, precision=mdqr.dd), points, values, **options)
        np.testing.assert_allclose(got.to_numpy(), np.interp(x, points, values, **options))
        assert got.is_complex == (dtype is complex)
    finite = np.where(np.isfinite(x), x, 0)
    wanted = np.interp(finite, points, values, period=11.0)
    got = mdqr.interp(mdqr.array(finite, precision=mdqr.dd), points, values, period=11)
    np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-14, atol=1e-14)


def test_values_between_are_right(multiple, rng):
    points = mdqr.sort(full_width(rng, multiple, 9))
    values, x = full_width(rng, multiple, 9), full_width(rng, multiple, 30)
    got, known, heights = mdqr.interp(x, points, values), exact(points), exact(values)
    for where, found in zip(exact(x), exact(got), strict=True):
        i = int(np.searchsorted(known, where)) - 1
        if 0 <= i < 8:
            slope = (heights[i + 1] - heights[i]) / (known[i + 1] - known[i])
            wanted = heights[i] + slope * (where - known[i])
            size = abs(heights[i]) + abs(slope * (where - known[i]))
            assert abs(found - wanted) <= 12 * multiple.eps * size
    assert same_bits(mdqr.interp(points, points, values), values)


def test_values_between_refuse(precision):
    a = mdqr.ones(2, precision=precision)
    with pytest.raises(ValueError, match="vectors"):
        mdqr.interp(a, a, [1.0])
    with pytest.raises(ValueError, match="vectors"):
        mdqr.interp(a, [], [])
    with pytest.raises(ValueError, match="period"):
        mdqr.interp(a, a, a, period=0)


@given(data=st.data())
def test_convolutions_are_numpys(data, dtype):
    a, v = (
        data.draw(hnp.arrays(dtype, data.draw(st.integers(1, 6)), elements=SMALL)) for _ in "av"
    )
    for mode in ("full", "same", "valid"):
        got = mdqr.convolve(mdqr.array(a, precision=mdqr.qd), v, mode)
        np.testing.assert_array_equal(got.to_numpy(), np.convolve(a, v, mode))


def test_convolutions_refuse(precision):
    a = mdqr.ones(2, precision=precision)
    for arguments in ((a, []), (a, [[1.0]]), (a, a, "half")):
        with pytest.raises(ValueError, match=r"convolve|mode"):
            mdqr.convolve(*arguments)


@given(p=hnp.arrays(float, st.integers(0, 6), elements=SMALL), m=st.integers(0, 4))
def test_derivatives_are_numpys(p, m):
    got = mdqr.polyder(mdqr.array(p, precision=mdqr.dd), m)
    np.testing.assert_array_equal(got.to_numpy(), np.polyder(p, m))


def test_polynomials_in_increasing_order(multiple, rng):
    p, x = full_width(rng, multiple, 4), full_width(rng, multiple, 3)
    assert same_bits(mdqr.polyval(p, x, increasing=True), mdqr.polyval(p[::-1], x))
    product = mdqr.vander(x, 4, increasing=True) @ p
    assert mdqr.allclose(product, mdqr.polyval(p, x, increasing=True))


def test_a_period_is_that_of_finite_places_too(multiple):
    """NaN in `x` stays where it is; `x` may be empty."""
    points = mdqr.arange(5, precision=multiple)
    x = np.array([np.nan, 1.0, 2.5, -np.inf, -0.5])
    with np.errstate(all="ignore"):
        wanted = np.interp(x, np.arange(5.0), np.arange(5.0) ** 2, period=4.5)
    got = mdqr.interp(x, points, points * points, period=4.5)
    np.testing.assert_allclose(got.to_numpy(), wanted)
    assert (
        mdqr.interp(np.zeros(0), points, points, period=mdqr.array("2", precision="od")).size == 0
    )


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_what_is_not_finite_stays_in_its_window(mode, is_complex, precision):
    """Zeros behind the ends of a vector do not meet infinities of the other."""
    a = np.array([1.0, 2.0, np.inf, 3.0])
    b = np.array([1.0, 0.0, 2.0, np.nan, 5.0, 6.0])
    with np.errstate(all="ignore"):
        for x, y in ((a, b), (b, a), (b[::-1], a[1:])):
            wanted = np.convolve(x, y, mode)
            got = mdqr.convolve(mdqr.array(x + 0j * is_complex, precision=precision), y, mode)
            finite = np.isfinite(wanted)
            np.testing.assert_array_equal(np.isfinite(got.to_numpy()), finite)
            np.testing.assert_array_equal(got.to_numpy()[finite], wanted[finite])


def test_windows_of_a_convolution_take_no_memory():
    x = mdqr.ones(3000, precision="od")
    tracemalloc.start()
    mdqr.convolve(x, x)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20 * x.limbs.nbytes  # copies of all windows: 6000 times


def test_points_at_infinity_are_those_of_numpy(multiple, rng):
    """Between a finite point and one at infinity they were NaN."""
    ends = [-np.inf, -1.0, 0.0, 1.0, 2.5, np.inf]
    for _ in range(60):
        points = np.unique(rng.choice(ends, 4))
        values = rng.choice([0.0, 1.0, 2.0, -3.0, np.inf, -np.inf], points.size)
        x = rng.choice([*ends, -0.5, 0.3, 4.0, np.nan], 5)
        x = np.nan_to_num(x) if points.size == 1 else x
        with np.errstate(all="ignore"):
            wanted = np.interp(x, points, values)
            got = mdqr.interp(mdqr.array(x, precision=multiple), points, values)
        np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-14, atol=1e-15)
