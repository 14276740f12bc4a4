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
from mdqr._backend.protocol import ELEMENTARY_UNARY, UNARY
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
    assert values._load("operate", "add", mdqr.qd(1), mdqr.qd(2)) is None
    assert values._load("order", mdqr.qd(1), 2) is None
    for name in ("operate", "apply", "order"):
        monkeypatch.setattr(values, name, lambda *_: None)
    one = mdqr.qd(1)
    assert bool(-one < one)
    assert bool(mdqr.exp(one - 1) == 1)


def test_only_the_class_of_arrays_is_registered():
    for wrong in (int, mdqr.qd):
        with pytest.raises((ValueError, AttributeError)):
            extension().register_arrays(wrong)
    assert isinstance(values.operate("add", mdqr.qd(1), mdqr.qd(2)), mdqr.MDArray)


FUNCTIONS = ["negative", "abs", *sorted({*UNARY, *ELEMENTARY_UNARY} - {"abs", "renormalize"})]


@given(data=st.data(), name=st.sampled_from(FUNCTIONS))
def test_functions_are_those_of_arrays(data, name):
    precision = data.draw(precisions)
    x = data.draw(floats(precision, allow_nan=True, allow_infinity=True))
    found = values.apply(name, x)
    assert found.shape == ()
    assert found.precision is precision
    function = getattr(mdqr, name)
    assert same_bits(found, function(x))
    assert same_bits(found, function(x.reshape(1))[0])
    assert same_bits(found, function(mdqr.stack([x, x])[1, ...]))


def test_functions_of_others_are_not_computed_here():
    one = mdqr.qd(1)
    for x in (1.0, "1", None, one.reshape(1), one.astype(dtype=complex), one.limbs):
        assert values.apply("sqrt", x) is None
    assert values.apply("hypot", one) is None
    assert values.apply("renormalize", one) is None
    with pytest.raises(TypeError, match="unhashable"):
        values.apply([], one)


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@given(data=st.data(), compare=st.sampled_from(COMPARISONS), pair=st.tuples(precisions, precisions))
def test_comparisons_are_those_of_arrays(data, compare, pair):
    x, y = (data.draw(floats(p, allow_nan=True, allow_infinity=True)) for p in pair)
    if data.draw(st.booleans()):
        y = data.draw(st.sampled_from([x, x.astype(pair[1]), -x]) | NUMBERS)
    found = compare(x, y)
    assert type(found) is np.bool_
    assert found == compare(x.reshape(1), y)[0]
    assert compare(y, x) == compare(y, x.reshape(1))[0]


@given(data=st.data(), precision=precisions)
def test_conversions_are_those_of_arrays(data, precision):
    x = data.draw(floats(precision, allow_nan=True, allow_infinity=True))
    assert np.array_equal(float(x), x.reshape(1).to_numpy()[0], equal_nan=True)
    assert bool(x) == bool(np.any(x.limbs[0] != 0))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_double_next_to_a_tie_is_the_nearest(multiple, sign):
    """The second limb is half a unit of the first, and the third says to which side."""
    if multiple.limbs > 2:
        limbs = np.zeros(multiple.limbs)
        limbs[:3] = 1.0, 2.0**-53, 2.0**-200
        assert float(mdqr.from_limbs(sign * limbs)) == sign * (1 + 2.0**-52)
    limbs = np.zeros(multiple.limbs)
    limbs[:2] = 1.0, 2.0**-53
    assert float(mdqr.from_limbs(sign * limbs)) == sign


@given(data=st.data(), name=st.sampled_from(["iadd", "isub", "imul", "itruediv"]))
def test_in_place(data, name):
    x, y = data.draw(floats("qd")), data.draw(floats("qd") | floats("dd") | floats("od"))
    before, array = x.copy(), x.copy().reshape(1)
    wanted = getattr(operator, name)(array, y)[0]
    found = getattr(operator, name)(x, y)
    assert same_bits(found, wanted)
    assert same_bits(x, before)
    assert not np.shares_memory(found.limbs, x.limbs)
    fixed = mdqr.broadcast_to(x, (2,))[0, ...]
    with pytest.raises(ValueError, match="read-only"):
        getattr(operator, name)(fixed, y)
