"""Sorting, searching and sets order the exact values."""

import math
from fractions import Fraction

import numpy as np
import pytest
from array_cases import SPECIALS, exact, finite, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr

VALUES = st.sampled_from([*SPECIALS, 2.0, 3.0, 5e-324])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
COMPLEX = st.builds(complex, VALUES, VALUES)


def elements(dtype):
    return COMPLEX if dtype is complex else VALUES


@st.composite
def near_ties(draw):
    """Draw values next to the middle between doubles: sums of limbs in several forms."""
    half = Fraction(1, 2**53)
    tails = [k * Fraction(1, 2**p) for k in (-1, 0, 1) for p in (105, 106, 107, 108, 159, 160, 212)]
    values = draw(st.lists(st.sampled_from([1 + half + tail for tail in tails]), max_size=12))
    forms = []
    for value in values:
        first = draw(st.sampled_from([Fraction(1), 1 + 2 * half]))
        second = Fraction(float(value - first))
        third = Fraction(float(value - first - second))
        forms.append([first, second, third, value - first - second - third])
    block = np.array([[float(limb) for limb in form] for form in forms]).reshape(-1, 4).T
    return mdqr.from_limbs(block, normalize=False)


def values(a):
    return list(exact(a).reshape(-1))


@given(a=near_ties())
def test_values_with_several_forms_are_sorted_exactly_and_stably(a):
    places = mdqr.argsort(a)
    order = sorted(range(a.size), key=lambda i: values(a)[i])
    assert places.tolist() == order
    back = mdqr.argsort(a, descending=True)
    assert back.tolist() == sorted(range(a.size), key=lambda i: -values(a)[i])


@given(data=st.data())
def test_full_width_values_are_sorted_exactly(data, multiple):
    a = data.draw(finite(multiple, 30))
    twice = mdqr.concatenate([a, a[::-1]])
    assert values(mdqr.sort(twice)) == sorted(values(twice))
    order = sorted(range(twice.size), key=lambda i: values(twice)[i])
    assert mdqr.argsort(twice).tolist() == order


@settings(max_examples=80)
@given(data=st.data())
def test_sorting_is_numpys(data, dtype):
    precision = data.draw(st.sampled_from([mdqr.d, mdqr.qd]))
    x = data.draw(hnp.arrays(dtype, SHAPES, elements=elements(dtype)))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.just(-1))
    a = mdqr.array(x, precision=precision)
    if not x.ndim and axis is not None:
        assert mdqr.argsort(a, axis).tolist() == [0]
        assert same_bits(mdqr.sort(a, axis), a)
        return
    places = mdqr.argsort(a, axis)
    np.testing.assert_array_equal(places, np.argsort(x, axis, kind="stable"))
    wanted = np.sort(x, axis, kind="stable")
    np.testing.assert_array_equal(mdqr.sort(a, axis).to_numpy(), wanted)
    if x.ndim and axis is not None:
        b = a.copy()
        b.sort(axis)
        assert same_bits(b, mdqr.sort(a, axis))
        down = mdqr.argsort(a, axis, descending=True)
        last = x.shape[axis] - 1
        flipped = last - np.argsort(np.flip(x, axis), axis, kind="stable")
        np.testing.assert_array_equal(down, np.flip(flipped, axis))
        assert same_bits(mdqr.sort(a, axis, descending=True), mdqr.take_along_axis(a, down, axis))


def test_sorting_takes_numpys_names_of_algorithms(precision):
    a = mdqr.array([2, 1], precision=precision)
    assert np.sort(a, kind="stable").tolist() == np.sort(a, stable=True).tolist() == [1, 2]
    assert np.argsort(a, axis=None, kind="quicksort").tolist() == [1, 0]
    with pytest.raises(TypeError, match="fields"):
        np.sort(a, order="x")
    with pytest.raises(np.exceptions.AxisError):
        mdqr.sort(a, 1)


@settings(max_examples=80)
@given(data=st.data())
def test_searching_is_numpys(data, dtype):
    precision = data.draw(st.sampled_from([mdqr.d, mdqr.qd]))
    x = np.sort(data.draw(hnp.arrays(dtype, st.integers(0, 9), elements=elements(dtype))))
    v = data.draw(hnp.arrays(dtype, SHAPES, elements=elements(dtype)))
    side = data.draw(st.sampled_from(["left", "right"]))
    a = mdqr.array(x, precision=precision)
    got = mdqr.searchsorted(a, v, side)
    np.testing.assert_array_equal(got, np.searchsorted(x, v, side))
    assert np.shape(got) == v.shape
    sorter = np.arange(x.size)[::-1]
    np.testing.assert_array_equal(mdqr.searchsorted(a[::-1], v, side, sorter), got)


@given(a=near_ties(), side=st.sampled_from(["left", "right"]))
def test_values_with_several_forms_are_found_exactly(a, side):
    known = mdqr.sort(a)
    for place, value in zip(mdqr.searchsorted(known, a, side).tolist(), values(a), strict=True):
        below = sum(x < value if side == "left" else x <= value for x in values(a))
        assert place == below


def test_searching_refuses(precision):
    a = mdqr.ones(3, precision=precision)
    with pytest.raises(ValueError, match="side"):
        mdqr.searchsorted(a, 1, "middle")
    with pytest.raises(ValueError, match="vector"):
        mdqr.searchsorted(a[None], 1)


@settings(max_examples=80)
@given(data=st.data())
def test_distinct_values_are_numpys(data, dtype):
    x = data.draw(hnp.arrays(dtype, SHAPES, elements=elements(dtype)))
    a = mdqr.array(x, precision=mdqr.dd)
    for equal_nan in (True, False):
        theirs = np.unique(x, True, True, True, equal_nan=equal_nan)
        ours = mdqr.unique(a, True, True, True, equal_nan=equal_nan)
        for got, wanted in zip(ours, theirs, strict=True):
            found = got.to_numpy() if isinstance(got, mdqr.MDArray) else got
            np.testing.assert_array_equal(found, wanted)
    assert np.array_equal(mdqr.unique(a).to_numpy(), np.unique(x), equal_nan=True)
    everything = mdqr.unique_all(a)
    assert everything._fields == np.unique_all(x)._fields
    np.testing.assert_array_equal(everything.values.to_numpy(), np.unique(x, equal_nan=False))
    assert same_bits(mdqr.unique_values(a), everything.values)
    np.testing.assert_array_equal(mdqr.unique_counts(a).counts, everything.counts)
    inverse = mdqr.unique_inverse(a).inverse_indices
    np.testing.assert_array_equal(inverse, everything.inverse_indices)


@given(a=near_ties())
def test_values_with_several_forms_are_one_value(a):
    found = mdqr.unique_all(a)
    assert values(found.values) == sorted(set(values(a)))
    assert [values(a)[i] for i in found.indices] == values(found.values)
    assert sum(found.counts.tolist()) == a.size
    assert math.prod(found.inverse_indices.shape) == a.size
