"""Matrices of simple structure, evenly spaced values, joining."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from array_cases import counted, exact, full_width, planes, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr
from mdqr.testing import arrays


@given(n=st.integers(0, 4), m=st.one_of(st.none(), st.integers(0, 4)), k=st.integers(-5, 5))
def test_eye(n, m, k, precision, dtype):
    a = mdqr.eye(n, m, k, precision=precision, dtype=dtype)
    assert a.is_complex == (dtype is complex)
    np.testing.assert_array_equal(a.to_numpy(), np.eye(n, m, k))


@given(data=st.data())
def test_triangles_and_diagonals(data, multiple, dtype):
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4))
    k = data.draw(st.integers(-5, 5))
    a = counted(multiple, shape, dtype)
    cases = [(mdqr.tril, np.tril, a), (mdqr.triu, np.triu, a), (mdqr.diag, np.diag, a.ravel())]
    if len(shape) == 2:
        cases.append((mdqr.diag, np.diag, a))
    for ours, numpys, x in cases:
        got = ours(x, k)
        for plane, wanted in zip(planes(got), planes(x), strict=True):
            np.testing.assert_array_equal(plane, numpys(wanted, k))
        assert not np.shares_memory(got.limbs, a.limbs)


def test_structure_of_wrong_shapes(precision):
    a = mdqr.ones((2, 2, 2), precision=precision)
    with pytest.raises(ValueError, match="one axis or two"):
        mdqr.diag(a)
    for function in (mdqr.tril, mdqr.triu):
        with pytest.raises(ValueError, match="at least two axes"):
            function(a[0, 0])
    with pytest.raises(ValueError, match="along one axis"):
        mdqr.vander(a)
    with pytest.raises(ValueError, match="not be negative; got -1"):
        mdqr.vander(a[0, 0], -1)


@given(
    x=st.lists(st.integers(-20, 20), max_size=4),
    n=st.one_of(st.none(), st.integers(0, 6)),
    increasing=st.booleans(),
)
def test_vander_of_small_integers_is_exact(x, n, increasing, precision):
    got = mdqr.vander(x, n, increasing, precision=precision)
    np.testing.assert_array_equal(
        got.to_numpy(), np.vander(np.array(x, dtype=float), n, increasing)
    )


# Column k: k - 1 products of 2 eps each (complex 4 eps), to first order; 1 % above.
def test_vander_keeps_its_bound(multiple, dtype, rng):
    x = full_width(rng, multiple, 5, dtype)
    got = mdqr.vander(x, 12, increasing=True)
    assert same_bits(got[:, 1], x)
    with mpmath.workprec(4 * multiple.bits):
        for i, k in np.ndindex(5, 12):
            truth = x.to_mpmath()[i] ** k
            bound = 2.02 * max(k - 1, 0) * multiple.eps * (2 if dtype is complex else 1)
            assert abs(got.to_mpmath()[i, k] - truth) <= bound * abs(truth)


# -- sequences -------------------------------------------------------------------------------


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


def test_arange_counts_exactly(multiple):
    # 0.1 is not a double: float64 would give the wrong number of values somewhere.
    for n in range(1, 60):
        stop = Fraction(n, 10)
        tenth = exact(multiple("0.1")).item()
        got = mdqr.arange(0, stop, "0.1", precision=multiple)
        assert len(got) == math.ceil(exact(multiple(stop)).item() / tenth)
    assert mdqr.arange(mdqr.qd(3)).precision is mdqr.qd
    for arguments, message in (
        ((0, 1, 0), "step that is not zero"),
        ((0, np.inf), "finite scalars"),
        ((0, [1, 2]), "finite scalars"),
    ):
        with pytest.raises(ValueError, match=message):
            mdqr.arange(*arguments, precision=multiple)
    with pytest.raises(TypeError, match="complex"):
        mdqr.arange(1j, precision=multiple)


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
    got = mdqr.concatenate([a, np.ones((1, 3)) * 1j, mdqr.zeros((1, 3), precision=mdqr.od)])
    assert (got.precision, got.is_complex, got.shape) == (mdqr.od, True, (4, 3))
    assert mdqr.stack([a, [[1, 2, 3]] * 2]).shape == (2, 2, 3)
    assert mdqr.stack(a).shape == (2, 3)
    with pytest.raises(ValueError, match=r"differ in axis 0 only; got the shapes \(2, 3\), \(2,\)"):
        mdqr.concatenate([a, a[:, 0]])
    with pytest.raises(ValueError, match=r"arrays of one shape; got \[\(2,\), \(2, 3\)\]"):
        mdqr.stack([a, a[:, 0]])
    with pytest.raises(ValueError, match="nothing to join"):
        mdqr.concatenate([])
    with pytest.raises(ValueError, match=r"use mdqr\.stack"):
        mdqr.concatenate([a[0, 0], a[0, 0]])
    with pytest.raises(TypeError, match="no operand is an MDArray"):
        mdqr.concatenate([[1], [2]])
    for call in (lambda: mdqr.concatenate([a, a], 2), lambda: mdqr.stack([a, a], 3)):
        with pytest.raises(np.exceptions.AxisError):
            call()
