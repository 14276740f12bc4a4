"""Evenly spaced values, joining."""

import math
from decimal import Decimal
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest
from array_cases import counted, exact, planes, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays


@given(data=st.data())
def test_linspace(data, multiple):
    start, stop = (
        data.draw(arrays(multiple, (), allow_nan=False, allow_infinity=False, max_exponent=900))
        for _ in range(2)
    )
    num, endpoint = data.draw(st.integers(0, 9)), data.draw(st.booleans())
    got = mdqr.linspace(start, stop, num, endpoint)
    assert got.shape == (num,)
    intervals = num - 1 if endpoint else num
    first, last = exact(start).item(), exact(stop).item()
    for i, value in enumerate(exact(got)):
        truth = first + (last - first) * Fraction(i, intervals) if intervals else first
        bound = 8 * Fraction(multiple.eps) * max(abs(first), abs(last)) + Fraction(2) ** -1060
        assert abs(value - truth) <= bound
    if num:
        assert same_bits(got[0], start)
    if num > 1 and endpoint:
        assert same_bits(got[-1], stop)


def test_linspace_between_arrays(precision, dtype):
    start = np.array([0, 1]) * (1j if dtype is complex else 1)
    got = mdqr.linspace(start, [[4], [8]], 5, precision=precision)
    np.testing.assert_array_equal(got.to_numpy(), np.linspace(start, [[4], [8]], 5))
    assert mdqr.linspace(start, 1, 1, precision=precision).shape == (1, 2)
    assert mdqr.linspace(start, 1, 0, precision=precision).shape == (0, 2)
    with pytest.raises(ValueError, match="not negative; got -1"):
        mdqr.linspace(0, 1, -1, precision=precision)


@given(
    start=st.integers(-50, 50),
    stop=st.integers(-50, 50),
    step=st.integers(-7, 7).filter(bool),
    scale=st.sampled_from([1, 0.25]),
)
def test_arange_of_exact_numbers_is_numpys(start, stop, step, scale, precision):
    arguments = [scale * start, scale * stop, scale * step]
    got = mdqr.arange(*arguments, precision=precision)
    np.testing.assert_array_equal(got.to_numpy(), np.arange(*arguments, dtype=float))
    np.testing.assert_array_equal(
        mdqr.arange(stop, precision=precision).to_numpy(), np.arange(float(stop))
    )


def as_text(x):
    """Return a decimal text of a fraction whose denominator divides a power of ten."""
    return f"{x * 10**6}e-6"


def as_decimal(x):
    return Decimal(as_text(x))


DECIMAL = st.integers(-(10**5), 10**5).map(lambda n: Fraction(n, 10**4))


KINDS = st.sampled_from([as_text, as_decimal, Fraction, lambda x: np.array(as_text(x))])


@given(data=st.data(), steps=st.integers(-3, 200), start=DECIMAL, step=DECIMAL.filter(bool))
def test_arange_counts_before_it_rounds(data, precision, steps, start, step):
    # whole steps, or the least that matters more, or less
    beyond = data.draw(st.sampled_from([0, 0, Fraction(1, 10**6), Fraction(-1, 10**6)]))
    stop = start + steps * step + beyond
    count = max(0, math.ceil((stop - start) / step))
    given = [data.draw(KINDS)(x) for x in (start, stop, step)]
    got = mdqr.arange(*given, precision=precision)
    assert got.precision is precision
    assert len(got) == count
    eps = Fraction(precision.eps)
    for i, value in enumerate(exact(got)):
        assert abs(value - start - i * step) <= 4 * eps * (abs(start) + i * abs(step))


@pytest.mark.parametrize(
    ("step", "count"), [("0.1", 10), ("0.2", 5), ("0.05", 20), ("0.001", 1000)]
)
def test_arange_leaves_the_stop_out(precision, step, count):
    sympy = pytest.importorskip("sympy", reason="SymPy (extra series) is not installed")
    for kind in (str, Fraction, Decimal, sympy.Rational):
        assert len(mdqr.arange(0, 1, kind(step), precision=precision)) == count
        down = mdqr.arange("1", kind("0"), kind(f"-{step}"), precision=precision)
        assert len(down) == count


def test_arange_counts_from_what_is_given(precision):
    sympy = pytest.importorskip("sympy", reason="SymPy (extra series) is not installed")
    # a float is the double it is, an array the limbs it has, whatever it will be rounded to
    assert len(mdqr.arange(0, 1, 0.1, precision=precision)) == 10
    for one in (1, True, np.True_, np.int8(1), np.float16(1), np.longdouble(1), gmpy2.mpq(1)):
        assert len(mdqr.arange(0, 10, one, precision=precision)) == 10
        assert len(mdqr.arange(one, 10, precision=precision)) == 9
    tenth = mdqr.od("0.1")
    below = exact(tenth).item() < Fraction(1, 10)
    assert len(mdqr.arange(0, 1, tenth, precision=precision)) == 10 + below
    assert len(mdqr.arange(0, mpmath.mpf(1), "0x1p-4+0x1p-60", precision=precision)) == 16
    assert len(mdqr.arange(0, 10, mpmath.mp.pi, precision=precision)) == 4
    assert len(mdqr.arange(0, 10, sympy.pi, precision=precision)) == 4
    assert len(mdqr.arange(0, 10, sympy.Float("2.5", 50), precision=precision)) == 4
    assert len(mdqr.arange(0, 1, "1e-1" + " " * 9, precision=precision)) == 10


def test_arange_of_other_numbers(multiple):
    assert mdqr.arange(mdqr.qd(3)).precision is mdqr.qd
    for arguments, message in (
        ((0, 1, 0), "step that is not zero; got 0"),
        ((0, 1, "1e-999999999"), "step that is not zero; got '1e-999999999'"),
        ((0, "1e999999999", 1), "finite scalars; got inf"),
        ((0, 1, "0." + "3" * 200_000), "number of 200002 characters .* at most 100000"),
        ((0, np.inf), "finite scalars"),
        ((0, [1, 2]), "finite scalars"),
    ):
        with pytest.raises(ValueError, match=message):
            mdqr.arange(*arguments, precision=multiple)
    with pytest.raises(TypeError, match="complex"):
        mdqr.arange(1j, precision=multiple)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: mdqr.arange(10**15, precision=p), r"no memory for .* shape \(10{15},\) in"),
        (lambda p: mdqr.arange("1e300", precision=p), r"no memory for .* shape \(2\*\*996,\) in"),
        (lambda p: mdqr.arange(0, 1, "1e-300", precision=p), r"no memory for \S+ GiB: real"),
        (lambda p: mdqr.linspace(0, 1, 10**15, precision=p), r"no memory for .*10{15},"),
        (lambda p: mdqr.linspace([0, 1j], 1, 10**30, precision=p), r"complex values of .*99, 2\)"),
        (lambda p: mdqr.random.normal((10**8, 10**8), precision=p), r"shape \(10{8}, 10{8}\)"),
        (lambda p: mdqr.random.uniform(2**60, precision=p, dtype=complex), r"complex values of"),
    ],
)
def test_too_many_values_are_refused_with_their_size(make, message, precision):
    with pytest.raises(MemoryError, match=f"{message}.*take fewer values at a time"):
        make(precision)


@given(data=st.data())
def test_joining_is_numpys_on_every_plane(data, multiple, dtype):
    shape = data.draw(hnp.array_shapes(max_dims=3, min_side=0, max_side=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    count = data.draw(st.integers(1, 3))
    parts = [counted(multiple, shape, dtype) * (i + 1) for i in range(count)]
    others = [a.copy() for a in parts]
    others[0] = mdqr.concatenate([parts[0], parts[0]], axis)
    for got, numpys, source in (
        (mdqr.concatenate(others, axis), lambda x: np.concatenate(x, axis), others),
        (mdqr.concatenate(parts, None), lambda x: np.concatenate(x, None), parts),
        (mdqr.stack(parts, axis), lambda x: np.stack(x, axis), parts),
    ):
        for i, plane in enumerate(planes(got)):
            np.testing.assert_array_equal(plane, numpys([planes(a)[i] for a in source]))


def test_joining_promotes_and_checks(multiple):
    a = mdqr.ones((2, 3), precision=multiple)
    highest = PRECISIONS[-1]
    got = mdqr.concatenate([a, np.ones((1, 3)) * 1j, mdqr.zeros((1, 3), precision=highest)])
    assert (got.precision, got.is_complex, got.shape) == (highest, True, (4, 3))
    assert mdqr.stack([a, [[1, 2, 3]] * 2]).shape == (2, 2, 3)
    assert mdqr.stack(a).shape == (2, 3)
    with pytest.raises(ValueError, match=r"as many axes each; got the shapes \(2, 3\), \(2,\)"):
        mdqr.concatenate([a, a[:, 0]])
    with pytest.raises(ValueError, match=r"arrays of one shape; got \[\(2,\), \(2, 3\)\]"):
        mdqr.stack([a, a[:, 0]])
    with pytest.raises(ValueError, match="nothing to join"):
        mdqr.concatenate([])
    with pytest.raises(ValueError, match=r"use mdqr\.stack"):
        mdqr.concatenate([a[0, 0], a[0, 0]])
    with pytest.raises(TypeError, match="no operand is an MDArray"):
        mdqr.concatenate([[1], [2]])
    for join in (mdqr.concatenate, mdqr.stack):
        with pytest.raises(TypeError, match=rf"in one list, as in mdqr\.{join.__name__}\(\[a, b"):
            join(a, a)
    for call in (lambda: mdqr.concatenate([a, a], 2), lambda: mdqr.stack([a, a], 3)):
        with pytest.raises(np.exceptions.AxisError):
            call()
