"""Single values are computed apart from arrays: with the same limbs, and for the same operands."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest
from array_cases import same_bits
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._backend.host import values
from mdqr._backend.host.backend import extension
from mdqr._precision import PRECISIONS
from mdqr.testing import floats

OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
}
NUMBERS = st.floats() | st.integers(-(2**60), 2**60) | st.booleans() | st.complex_numbers()
precisions = st.sampled_from(PRECISIONS)


@given(
    data=st.data(), name=st.sampled_from(sorted(OPERATORS)), pair=st.tuples(precisions, precisions)
)
def test_limbs_are_those_of_arrays(data, name, pair):
    x, y = (data.draw(floats(p, allow_nan=True, allow_infinity=True)) for p in pair)
    found = OPERATORS[name](x, y)
    assert found.shape == ()
    assert found.precision is max(pair)
    assert same_bits(found, OPERATORS[name](x.reshape(1), y.reshape(1))[0])
    rows = mdqr.stack([x, x])
    assert same_bits(OPERATORS[name](rows[1, ...], y), found)  # whose limbs do not lie side by side


@given(
    data=st.data(), name=st.sampled_from(sorted(OPERATORS)), number=NUMBERS, precision=precisions
)
def test_numbers_of_python(data, name, number, precision):
    x, function = data.draw(floats(precision)), OPERATORS[name]
    assert same_bits(function(x, number), function(x.reshape(1), number)[0])
    assert same_bits(function(number, x), function(number, x.reshape(1))[0])


@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_computed_here(name, precision):
    """So that the tests above compare two things."""
    one, three = mdqr.ones((), precision=precision), mdqr.array(3, precision=precision)
    for x, y in ((one, three), (one, 0.5), (-7, three), (one, 2**53), (three, mdqr.od(1))):
        assert isinstance(values.operate(name, x, y), mdqr.MDArray)
    others = (2**53 + 1, True, np.float64(1), Fraction(1), "1", None, 1j, one.reshape(1))
    for other in (*others, one.astype(dtype=complex)):
        assert values.operate(name, one, other) is None
        assert values.operate(name, other, one) is None
    assert values.operate("hypot", one, three) is None
    assert values.operate(name, 1.0, 2.0) is None


def test_operands_are_not_changed_and_results_are_new(precision):
    x, y = mdqr.array("0.3", precision=precision), mdqr.array("0.7", precision=precision)
    total = x + y
    total[...] = 0
    assert x.to_strings().item() == "0.3"
    assert y.to_strings().item() == "0.7"


def test_without_the_extension(monkeypatch):
    def missing():
        raise ImportError("no extension")

    monkeypatch.setattr(values, "extension", missing)
    monkeypatch.setattr(values, "operate", values._load)
    assert values.operate("add", mdqr.qd(1), mdqr.qd(2)) is None
    assert values.operate is values._load


def test_only_the_class_of_arrays_is_registered():
    for wrong in (int, mdqr.qd):
        with pytest.raises((ValueError, AttributeError)):
            extension().register_arrays(wrong)
    assert isinstance(values.operate("add", mdqr.qd(1), mdqr.qd(2)), mdqr.MDArray)
