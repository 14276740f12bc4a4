"""A 0-d array is a number: no name of it changes with another one."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from each_case import each_case

import mdqr
from mdqr.testing import assert_same_bits

IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv),
    *(operator.ifloordiv, operator.imod, operator.ipow),
]


def test_a_number_stays_under_its_other_names():
    x = mdqr.qd(1)
    y = x
    y += 1
    assert (x, y) == (1, 2)


def test_a_default_argument_stays():
    zero = mdqr.qd(0)

    def mean(values, start=zero):
        total = start
        for value in values:
            total += value
        return total / len(values)

    v = mdqr.qd([1, 2, 3])
    assert [mean(v), mean(v)] == [2, 2]


@each_case("op", IN_PLACE)
@each_case("other", [2, 0.5, mdqr.dd(2), mdqr.od("0.1"), np.float64(3)])
def test_every_operator_makes_a_new_number_of_the_same_kind(precision, op, other):
    x = precision("7.3")
    array = x.reshape(1).copy()
    found = op(x, other)
    assert x == precision("7.3")
    assert found is not x
    assert not np.shares_memory(found.limbs, x.limbs)
    assert_same_bits(found, op(array, other)[0])


def test_numbers_keep_field_and_shape(precision):
    x = precision(1)
    with pytest.raises(TypeError, match="complex result"):
        x += 1j
    with pytest.raises(ValueError, match="does not grow"):
        x += mdqr.ones(2, precision=precision)
    with pytest.raises(TypeError):
        x += "1"
    assert x == 1


@each_case(
    "view", [lambda a: a[1, ...], lambda a: a[1:].reshape(()), lambda a: mdqr.squeeze(a[1:])]
)
@each_case("op", IN_PLACE)
def test_a_view_of_one_value_goes_on_writing(precision, op, view):
    a = mdqr.array([1, 7], precision=precision)
    v = view(a)
    found = op(v, 2)
    assert found is v
    assert a[1] == op(7, 2)


def test_parts_of_a_complex_value(precision):
    z = mdqr.array(1 + 2j, precision=precision)
    part = z.real
    part += 1
    z.imag += 1
    assert (z, part) == (1 + 3j, 2)
    a = z.reshape(1).copy()
    part = a[0, ...].real
    part += 1
    assert a[0] == 2 + 3j


def test_views_of_a_number_are_numbers(precision):
    x = precision(1)
    for view in (x[...], x.T, x.reshape(()), x.real, x.squeeze(), mdqr.asarray(x)):
        other = view
        other += 1
        assert (x, other) == (1, 2)


def test_numbers_of_larger_arrays_are_numbers(precision):
    a = mdqr.array([1, 2], precision=precision)
    for x in (a[0], a.item(0), next(iter(a)), a.sum(), a.tolist()[0], a.max()):
        before, y = x.copy(), x
        y += 1
        assert x == before
    assert (a == [1, 2]).all()


def results(v, m, x):
    """Every function that reduces arrays to one value."""
    yield from (v.sum(), v.mean(), v.prod(), v @ v, v.dot(v), m.trace(), v.var(), v.std())
    yield from (mdqr.vdot(v, v), mdqr.inner(v, v), mdqr.vecdot(v, v), mdqr.tensordot(v, v, 1))
    yield from (mdqr.einsum("i,i", v, v), mdqr.trapezoid(v), mdqr.average(v), mdqr.cov(v))
    yield from (mdqr.polyval(v, x), mdqr.interp(x.real, v.real, v.real), mdqr.take(v, 0))
    yield from (mdqr.median(v.real), mdqr.quantile(v.real, 0.3), mdqr.ptp(v.real), v.real.max())
    yield from (mdqr.linalg.norm(v), mdqr.linalg.norm(m), mdqr.linalg.det(m), mdqr.linalg.cond(m))
    yield from (*mdqr.linalg.slogdet(m), mdqr.linalg.vector_norm(v), mdqr.linalg.matrix_norm(m))
    yield from (mdqr.random.normal((), precision=x.precision), x.precision.pi, x.copy(), x + v[0])
    yield from (mdqr.zeros((), precision=x.precision), mdqr.from_limbs(x.real.limbs), mdqr.exp(x))


@pytest.mark.parametrize("field", [1, 1 + 1j], ids=["real", "complex"])
def test_results_of_one_value_are_numbers(precision, field):
    v = mdqr.array([1, 2, 3], precision=precision) * field
    m = mdqr.array([[2, 1], [1, 3]], precision=precision) * field
    for found in results(v, m, v[1]):
        assert found.shape == ()
        before, other = found.copy(), found
        other += 1
        assert_same_bits(found, before)
