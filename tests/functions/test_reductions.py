"""Reductions over axes and products of vectors, against NumPy on exact values."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from array_cases import exact, few_examples, full_width, same_bits
from each_case import each_case
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
INTEGERS = st.integers(-9, 9)


@st.composite
def integer_values(draw, dtype):
    """Draw an array of small integers: every sum and product of them is exact."""
    x = draw(hnp.arrays(np.int64, SHAPES, elements=INTEGERS))
    if dtype is complex:
        return x + 1j * draw(hnp.arrays(np.int64, x.shape, elements=INTEGERS))
    return x.astype(float)


@st.composite
def axes(draw, ndim, *, several=True):
    """Draw None, one axis or a tuple of axes, some counted from the end."""
    kinds = [st.none()]
    if ndim:
        kinds.append(st.integers(-ndim, ndim - 1))
    if several:
        kinds.append(
            st.lists(st.integers(-ndim, ndim - 1), unique_by=lambda i: i % ndim).map(tuple)
            if ndim
            else st.just(())
        )
    return draw(st.one_of(kinds))


def outcome(function):
    """Return the result of a call, or ValueError."""
    try:
        return function()
    except ValueError:
        return ValueError


def agree(got, wanted):
    """Assert that two outcomes have the same shape and the same values."""
    if wanted is ValueError or got is ValueError:
        assert got is wanted
        return
    assert got.shape == np.shape(wanted)
    assert mdqr.array_equal(got, wanted) if isinstance(got, mdqr.MDArray) else (got == wanted).all()


@few_examples
@given(data=st.data())
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_sums_and_products_over_axes(name, data, precision, dtype):
    x = data.draw(integer_values(dtype))
    axis = data.draw(axes(x.ndim))
    keepdims = data.draw(st.booleans())
    # Products of more values would not be exact in complex128.
    if name == "prod":
        x = np.sign(x.real) + (1j * np.sign(x.imag) if dtype is complex else 0)
    a = mdqr.array(x, precision=precision, dtype=dtype)
    wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    agree(getattr(a, name)(axis, keepdims=keepdims), wanted)
    agree(getattr(mdqr, name)(a, axis=axis, keepdims=keepdims), wanted)
    agree(getattr(np, name)(a, axis=axis, keepdims=keepdims), wanted)


@few_examples
@given(data=st.data())
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_over_axes(name, data, precision, dtype):
    x = data.draw(integer_values(dtype))
    axis = data.draw(axes(x.ndim))
    keepdims = data.draw(st.booleans())
    a = mdqr.array(x, precision=precision, dtype=dtype)
    agree(
        outcome(lambda: getattr(a, name)(axis, keepdims=keepdims)),
        outcome(lambda: getattr(np, name)(x, axis=axis, keepdims=keepdims)),
    )


@few_examples
@given(data=st.data())
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extremes(name, data, precision, dtype):
    x = data.draw(integer_values(dtype))
    axis = data.draw(axes(x.ndim, several=False))
    keepdims = data.draw(st.booleans())
    a = mdqr.array(x, precision=precision, dtype=dtype)
    got = outcome(lambda: getattr(a, name)(axis, keepdims=keepdims))
    agree(got, outcome(lambda: getattr(np, name)(x, axis=axis, keepdims=keepdims)))
    assert got is ValueError or got.dtype == np.int64


@few_examples
@given(data=st.data())
@pytest.mark.parametrize("name", ["any", "all"])
def test_truth_over_axes(name, data, precision, dtype):
    x = np.sign(data.draw(integer_values(dtype)).real) * (1j if dtype is complex else 1)
    axis = data.draw(axes(x.ndim))
    keepdims = data.draw(st.booleans())
    a = mdqr.array(x, precision=precision, dtype=dtype)
    got = getattr(a, name)(axis, keepdims=keepdims)
    agree(got, getattr(np, name)(x, axis=axis, keepdims=keepdims))
    assert got.dtype == np.bool_


@few_examples
@given(data=st.data())
def test_mean_over_axes(data, precision, dtype):
    x = data.draw(integer_values(dtype))
    axis = data.draw(axes(x.ndim))
    a = mdqr.array(x, precision=precision, dtype=dtype)
    count = math.prod(x.shape if axis is None else np.take(x.shape, axis, 0).ravel())
    if count:
        agree(a.mean(axis), mdqr.asarray(a.sum(axis) / int(count)))
        agree(a.mean(axis, keepdims=True), a.sum(axis, keepdims=True) / int(count))
        return
    with pytest.warns(RuntimeWarning, match="mean of no values"):
        got = a.mean(axis)
    assert got.shape == np.sum(x, axis=axis).shape
    assert mdqr.isnan(got).all()


@few_examples
@given(data=st.data())
def test_running_sums(data, precision, dtype):
    x = data.draw(integer_values(dtype))
    axis = data.draw(axes(x.ndim, several=False))
    a = mdqr.array(x, precision=precision, dtype=dtype)
    if x.ndim or axis is None:
        agree(a.cumsum(axis), np.cumsum(x, axis=axis))


# |error| <= (K + 8) eps sum |x| (protocol); the running sum i has at most that error, too.
@given(data=st.data())
def test_sums_keep_their_bound(data, multiple):
    a = data.draw(
        arrays(multiple, (3, 40), allow_nan=False, allow_infinity=False, max_exponent=900)
    )
    values, sizes = exact(a), np.abs(exact(a))
    bound = (40 + 8) * Fraction(multiple.eps)
    underflow = 40 * Fraction(2) ** -1074 * multiple.limbs**2
    for got, wanted, size in (
        (a.sum(1), values.sum(1), sizes.sum(1)),
        (a.cumsum(1), values.cumsum(1), sizes.cumsum(1)),
    ):
        assert (np.abs(exact(got) - wanted) <= bound * size + underflow).all()


def test_products_keep_their_bound(multiple, dtype, rng):
    a = full_width(rng, multiple, 40, dtype)
    with mpmath.workprec(4 * multiple.bits):
        truth = mpmath.fprod(a.to_mpmath())
        error = abs(a.prod().to_mpmath().item() - truth)
        assert error <= 2 * (40 + 8) * multiple.eps * (2 if dtype is complex else 1) * abs(truth)


def test_reductions_of_special_values(precision):
    x = np.array([[1, np.nan, 3], [np.inf, 2, -np.inf], [4, 5, 5]])
    a = mdqr.array(x, precision=precision)
    z = mdqr.array(x[:, ::-1] + 0.0, precision=precision, dtype=complex)
    z.imag = np.array([[0, 1, 2], [3, 4, 5], [7, 6, np.nan]])
    w = z.to_numpy()
    for name in ("max", "min"):
        np.testing.assert_array_equal(getattr(a, name)(1).to_numpy(), getattr(x, name)(1))
        np.testing.assert_array_equal(getattr(a, "arg" + name)(1), getattr(x, "arg" + name)(1))
        np.testing.assert_array_equal(getattr(z, "arg" + name)(1), getattr(w, "arg" + name)(1))
    np.testing.assert_array_equal(a.argmax(), np.argmax(x))
    assert a[:1, 1:2].any()
    infinite = mdqr.array([complex(1, -np.inf), complex(0, 5)], precision=precision)
    assert infinite.argmax() == 0
    assert mdqr.array([complex(0, 5), complex(1, -np.inf)], precision=precision).argmax() == 1


NAMES = ["sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "cumsum"]


@each_case("axis", [0, -1, np.int64(0), 1, -2, (), (0,), None])
@each_case("name", NAMES)
def test_axes_of_a_single_value_are_numpys(name, axis, precision):
    if name in {"argmax", "argmin", "cumsum"} and isinstance(axis, tuple):
        return  # these take one axis

    def outcome(x):
        try:
            found = getattr(x, name)(axis=axis)
        except (np.exceptions.AxisError, TypeError) as error:
            return type(error)
        return np.shape(found), np.asarray(getattr(found, "limbs", found)).ravel()[0]

    assert outcome(precision(3)) == outcome(np.array(3.0))


def test_axes_that_do_not_exist(precision):
    a = mdqr.ones((2, 3), precision=precision)
    for call in (a.sum, a.max, a.argmin, a.cumsum, a.any):
        with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds"):
            call(2)
    with pytest.raises(ValueError, match=r"named twice in \(0, -2\)"):
        a.sum((0, -2))
    for call in (a[:0].max, a[:0].argmin):
        with pytest.raises(ValueError, match="of no values: axis None of shape"):
            call()
    with pytest.raises(TypeError):
        a.sum(0.5)


VECTOR_SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((2, 5, 3), (4, 3, 2)),
    ((3,), (2, 3, 4)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((0,), (0,)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
]


@each_case("shapes", VECTOR_SHAPES)
def test_dot_is_numpys(shapes, precision, dtype, rng):
    x, y = (
        rng.integers(-9, 10, shape) + (1j * rng.integers(-9, 10, shape) if dtype is complex else 0)
        for shape in shapes
    )
    a, b = (mdqr.array(v, precision=precision, dtype=dtype) for v in (x, y))
    for got in (mdqr.dot(a, b), mdqr.dot(a, y), mdqr.dot(x, b), np.dot(a, b)):
        assert got.precision is precision
        agree(got, np.dot(x, y))
    agree(mdqr.outer(a, b), np.outer(x, y))
    if x.size == y.size:
        agree(mdqr.vdot(a, b), np.vdot(x, y))
        agree(mdqr.vdot(a.real, b), np.vdot(x.real, y))
        agree(np.vdot(a, b), np.vdot(x, y))


def test_dot_promotes_and_checks(precision):
    a = mdqr.ones(3, precision=precision)
    highest = PRECISIONS[-1]
    assert mdqr.dot(a, mdqr.ones(3, precision=highest)).precision is highest
    with pytest.raises(ValueError, match=r"\(3,\) and \(2, 3\): 3 against 2"):
        mdqr.dot(a, np.ones((2, 3)))
    with pytest.raises(ValueError, match="3 against 2"):
        mdqr.vdot(a, np.ones(2))
    with pytest.raises(TypeError, match="no operand is an MDArray; got ndarray, list"):
        mdqr.dot(np.ones(2), [1, 2])


def test_dot_keeps_its_bound(multiple, rng):
    a, b = (full_width(rng, multiple, 50) for _ in range(2))
    x, y = exact(a), exact(b)
    error = abs(exact(mdqr.dot(a, b)).item() - (x * y).sum())
    assert error <= (50 + 8) * Fraction(multiple.eps) * np.abs(x * y).sum()


@few_examples
@given(data=st.data())
def test_trace(data, precision, dtype):
    x = data.draw(integer_values(dtype).filter(lambda x: x.ndim >= 2))
    pair = data.draw(st.permutations(range(-x.ndim, 0)).map(lambda p: p[:2]))
    offset = data.draw(st.integers(-3, 3))
    a = mdqr.array(x, precision=precision, dtype=dtype)
    agree(mdqr.trace(a, offset, *pair), np.trace(x, offset, *pair))
    with pytest.raises(ValueError, match="at least two axes"):
        mdqr.trace(a.ravel())
    with pytest.raises(ValueError, match="named twice"):
        mdqr.trace(a, 0, 1, 1)


def test_polynomials(precision, dtype):
    p = np.array([3, -2, 0, 5]) * (1 + 2j if dtype is complex else 1)
    x = np.array([[1, -2], [0, 4]])
    a, b = mdqr.array(p, precision=precision), mdqr.array(x, precision=precision)
    for got in (mdqr.polyval(a, b), mdqr.polyval(p, b), mdqr.polyval(a, x), np.polyval(a, b)):
        agree(got, np.polyval(p, x))
    agree(mdqr.polyval([], b), np.zeros((2, 2)))
    assert same_bits(mdqr.polyval([7], b), mdqr.full((2, 2), 7, precision=precision))
    with pytest.raises(ValueError, match=r"one axis; got shape \(2, 2\)"):
        mdqr.polyval(b, a)


# Horner's rule: |error| <= 2 n (1 + ...) 2 eps sum |p_i x^i|, to first order; 1 % above.
def test_polynomials_keep_their_bound(multiple, rng):
    p, x = full_width(rng, multiple, 9), full_width(rng, multiple, 20)
    coefficients, points = exact(p), exact(x)
    for got, point in zip(exact(mdqr.polyval(p, x)), points, strict=True):
        truth, size = Fraction(0), Fraction(0)
        for coefficient in coefficients:
            truth, size = truth * point + coefficient, size * abs(point) + abs(coefficient)
        assert abs(got - truth) <= Fraction(1.01) * 4 * 8 * Fraction(multiple.eps) * size


@pytest.mark.parametrize("name", [p.name for p in PRECISIONS[1:]])
def test_extremes_of_values_whose_leading_limbs_are_neighbours(name):
    """In a normal form the larger of two neighbours may lead the smaller value."""
    ulp = 2.0**-53  # below 1
    forms = [
        (1.0, -ulp / 2, -(ulp**2), -(ulp**3) / 4),
        (1.0 - ulp, ulp / 2 - ulp**2 / 2, ulp**3 / 8),
        (1.0, -ulp / 2),
        (1.0,),
        (1.0 - ulp, ulp / 2 - ulp**2 / 2),
        (1.0 - 2 * ulp, ulp / 2),
        (1.0, -ulp / 2, -(ulp**2) / 2),
    ]
    limbs = mdqr._precision.as_precision(name).limbs
    values = np.zeros((limbs, len(forms)))
    for i, form in enumerate(forms):
        values[: len(form), i] = form[:limbs]
    exact_forms = [sum(map(Fraction, column)) for column in values.T.tolist()]
    rng = np.random.default_rng(5)
    for sign in (1, -1):
        # The last rows lack some forms; pieces of 4096 meet.
        picks = np.stack([rng.integers(i, len(forms), 9000) for i in range(len(forms))])
        a = mdqr.from_limbs(sign * values[:, picks], normalize=False)
        ordered = np.array([sorted(exact_forms).index(x) for x in exact_forms])[picks] * sign
        np.testing.assert_array_equal(a.argmax(axis=1), ordered.argmax(axis=1))
        np.testing.assert_array_equal(a.argmin(axis=1), ordered.argmin(axis=1))
    a[3, 5000] = float("nan")
    assert a.argmax(axis=1)[3] == a.argmin(axis=1)[3] == 5000
    assert a.argmax() == 3 * 9000 + 5000
