"""The AAA algorithm: functions with known poles, SciPy's results in float64, and bad input."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest
import scipy.interpolate
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr.approx import AAA

PRECISIONS = ("d", "dd", "qd", "od")


def worst(values):
    return float(abs(values).max())


@pytest.mark.parametrize("precision", PRECISIONS)
def test_exp_to_the_tolerance_everywhere(precision):
    """Between the points the error is as at them, but for a factor."""
    x = mdqr.linspace(-1, 1, 120, precision=precision)
    r = AAA(x, mdqr.exp(x))
    between = (x[1:] + x[:-1]) / 2
    rtol = x.precision.eps**0.75
    assert r.errors[-1] <= rtol * math.e
    assert worst(r(between) - mdqr.exp(between)) <= 10 * rtol
    assert worst(r(x) - mdqr.exp(x)) == pytest.approx(r.errors[-1])
    assert bool((r(r.support_points) == r.support_values).all())


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_rational_functions_are_found(data):
    """Poles, residues and zeros to their conditions; data with all limbs filled."""
    precision = data.draw(st.sampled_from(("dd", "qd")))
    k = data.draw(st.integers(1, 4))
    seed = data.draw(st.integers(0, 10**6))
    field = data.draw(st.sampled_from((float, complex)))
    unit = mdqr.random.uniform((k, 2), precision=precision, rng=seed)
    poles = (mdqr.arange(k, precision=precision) + 2 + unit[:, 0] / 2).astype(dtype=field)
    sizes = (unit[:, 1] + 1).astype(dtype=field)
    if field is complex:
        poles, sizes = poles * (0.8 + 0.6j), sizes * (1 - 1j)
    x = mdqr.linspace(-1, 1, 60, precision=precision)
    y = (sizes / (x[:, None] - poles)).sum(axis=1)
    r = AAA(x, y)
    found, residues = r.poles(), r.residues()
    assert len(found) == k
    rows = [int(abs(found - pole).argmin()) for pole in poles]
    assert sorted(rows) == list(range(k))
    eps = mdqr.Precision(precision).eps
    assert worst(found[rows] - poles) <= eps**0.4
    assert worst(residues[rows] - sizes) <= eps**0.4
    if field is float:
        assert bool((found.imag == 0).all())
    if len(zeros := r.roots()):
        assert worst(r(zeros)) <= eps**0.4
    outside = mdqr.array([5.5j, -3], precision=precision)
    assert worst(r(outside) - (sizes / (outside[:, None] - poles)).sum(axis=1)) <= eps**0.4


def test_poles_of_the_gamma_function():
    """From values on [-1.5, 1.5] only; SciPy's in float64 have 14, 16, 7, 3 and 1 digits."""
    x = mdqr.linspace("-1.5", "1.5", 100, precision="qd")
    r = AAA(x, mdqr.gamma(x))
    poles = r.poles()
    poles = poles[np.argsort(abs(poles.to_numpy()))]
    for k, tolerance in enumerate((1e-45, 1e-45, 1e-28, 1e-17)):
        assert poles[k].imag == 0
        assert abs(float(poles[k].real + k)) < tolerance


def test_poles_of_real_data_are_real_or_pairs():
    x = mdqr.linspace(-1, 1, 150, precision="qd")
    poles = AAA(x, 1 / (1 + 25 * x**2)).poles()
    assert len(poles) == 2
    assert worst(abs(poles.imag) - mdqr.array("0.2", precision="qd")) < 1e-40
    assert poles.imag[0] * poles.imag[1] < 0
    assert worst(poles.real) < 1e-40
    poles = AAA(x, mdqr.tan(2 * x)).poles()
    near = poles[np.asarray(abs(poles) < 4)]
    assert bool((near.imag == 0).all())
    odd = np.round(near.to_numpy().real * 4 / np.pi)
    assert sorted(odd.tolist()) == [-5, -3, -1, 1, 3, 5]


def test_weights_without_a_sum_have_a_zero_at_infinity():
    """1 / x^2 at points around 0: the numerator has no zeros but at infinity."""
    z = mdqr.exp(2j * mdqr.qd.pi * mdqr.arange(32, precision="qd") / 32)
    r = AAA(z, 1 / z**2)
    assert len(r.poles()) == 2
    assert worst(r.poles()) < 1e-20
    assert abs(r(np.inf)) < 1e-40


@pytest.mark.parametrize("function", [np.exp, np.cos, lambda x: np.abs(x - 0.3j), np.arctan])
def test_float64_agrees_with_scipy(function):
    x = np.linspace(-1, 1, 80)
    ours = AAA(x, function(x), rtol=1e-9, precision="d")
    theirs = scipy.interpolate.AAA(x, function(x), rtol=1e-9)
    assert len(ours.support_points) <= len(theirs.support_points) + 1
    points = np.linspace(-0.99, 0.99, 57)
    np.testing.assert_allclose(ours(points).to_numpy(), theirs(points), atol=1e-7)


def test_spurious_poles_are_removed():
    """Noise of 1e-12 with a tolerance below it makes doublets."""
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, 100)
    y = np.exp(x) + 1e-12 * rng.standard_normal(100)
    with pytest.warns(RuntimeWarning, match="20 support points"):
        raw = AAA(x, y, rtol=1e-13, max_terms=20, clean_up=False, precision="dd")
    with pytest.warns(RuntimeWarning, match="20 support points"):
        clean = AAA(x, y, rtol=1e-13, max_terms=20, clean_up_tol=1e-9, precision="dd")
    assert len(clean.poles()) < len(raw.poles())
    assert worst(clean(x) - np.exp(x)) < 1e-8


def test_data_that_are_not_finite_are_left_out():
    x = mdqr.linspace(-1, 1, 51, precision="dd")
    y = mdqr.cos(x)
    y[3], y[7] = mdqr.nan, mdqr.inf
    r = AAA(x, y)
    assert worst(r(x) - mdqr.cos(x)) < 1e-22


def test_few_and_constant_data():
    assert AAA([1, 2], [3, 3], precision="dd")(5) == 3
    assert AAA([1], [4], precision="dd")(2) == 4
    zero = AAA([1, 2, 3], [0, 0, 0], precision="dd")
    assert zero([5, 6]).tolist() == [0, 0]
    assert len(zero.poles()) == len(zero.roots()) == 0
    exact = AAA([1, 2, 3], ["1", "1/2".replace("1/2", "0.5"), "0.25"], precision="qd")
    assert bool((exact([1, 2, 3]) == mdqr.array(["1", "0.5", "0.25"], precision="qd")).all())


def test_shapes_and_special_points():
    x = mdqr.linspace(0, 1, 20, precision="dd")
    r = AAA(x, 1 / (x + 1))
    assert r(mdqr.zeros((2, 3), precision="dd")).shape == (2, 3)
    assert r(0.5).shape == ()
    assert abs(float(r(0.5)) - 2 / 3) < 1e-15
    assert bool(mdqr.isnan(r(math.nan)))
    assert abs(float(r(math.inf))) < 1e-20
    assert r(1j).is_complex


def test_pickles_and_repr():
    x = mdqr.linspace(-1, 1, 50, precision="dd")
    r = AAA(x, mdqr.exp(x))
    again = pickle.loads(pickle.dumps(r))
    assert bool((again(0.3) == r(0.3)).all())
    assert again.precision is mdqr.dd
    assert (again.errors == r.errors).all()
    assert repr(r).startswith(f"<AAA {len(r.weights)} support points, error ")


def test_progress_and_the_warning():
    x = mdqr.linspace(-1, 1, 50, precision="dd")
    steps = []
    with pytest.warns(RuntimeWarning, match="AAA: 3 support points leave a relative error of"):
        AAA(x, mdqr.exp(x), max_terms=3, progress=lambda *step: steps.append(step))
    assert steps == [("add", k, 3) for k in (1, 2, 3)]


@pytest.mark.parametrize(
    ("x", "y", "options", "error", "message"),
    [
        ([1, 2], [1], {}, ValueError, "same length"),
        ([[1, 2]], [[1, 2]], {}, ValueError, "one-dimensional"),
        ([1, 1], [1, 2], {}, ValueError, "two points of x are equal"),
        ([1, 1j, 1], [1, 2, 3], {}, ValueError, "two points of x are equal"),
        ([1, 2], [math.nan, math.inf], {}, ValueError, "no pair of finite"),
        ([], [], {}, ValueError, "no pair of finite"),
        ([1, 2], [1, 2], {"rtol": -1}, ValueError, "rtol must be"),
        ([1, 2], [1, 2], {"rtol": math.nan}, ValueError, "rtol must be"),
        ([1, 2], [1, 2], {"clean_up_tol": -1}, ValueError, "clean_up_tol must be"),
        ([1, 2], [1, 2], {"max_terms": 0}, ValueError, "max_terms must be"),
        ([1, 2], [1, 2], {"max_terms": 1.5}, TypeError, "integer"),
        ([1, 2], [1, 2], {"progress": 3}, TypeError, "progress must be"),
        (["1", "x"], [1, 2], {}, ValueError, "cannot read 'x'"),
    ],
)
def test_bad_input(x, y, options, error, message):
    with pytest.raises(error, match=message):
        AAA(x, y, precision="dd", **options)


def test_floats_are_float64():
    assert AAA([1.0, 2.0], [1.0, 2.0]).precision is mdqr.d


@pytest.mark.parametrize("exponent", [-300, 300])
def test_values_near_the_ends_of_the_range(exponent):
    x = mdqr.linspace(-1, 1, 100, precision=mdqr.dd)
    y = mdqr.exp(x) / (x - 1.5) * mdqr.dd(f"1e{exponent}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mdqr.approx.AAA(x, y)
    assert len(found.support_points) < 15
    assert float(abs(found(x) - y).max()) < 1e-21 * float(abs(y).max())
    poles = found.poles().to_numpy()
    assert np.min(np.abs(poles - 1.5)) < 1e-15
    assert mdqr.array_equal(pickle.loads(pickle.dumps(found))(x), found(x))
