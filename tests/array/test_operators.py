"""Operators: promotion, scalars of all kinds, in place."""

import itertools
import operator
from collections import UserList
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

import mpmath
import numpy as np
import pytest
import sympy
from array_cases import exact, full_width, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr
from mdqr._precision import PRECISIONS

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv]


@given(data=st.data())
def test_the_highest_precision_wins(data):
    left, right = (data.draw(st.sampled_from(PRECISIONS)) for _ in range(2))
    fields = [data.draw(st.sampled_from([float, complex])) for _ in range(2)]
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_side=3))
    a, b = (
        mdqr.full(shape, 3, precision=p, dtype=field)
        for shape, p, field in zip(shapes.input_shapes, (left, right), fields, strict=True)
    )
    for op in OPERATORS:
        c = op(a, b)
        assert c.precision is max(left, right)
        assert c.shape == shapes.result_shape
        assert c.is_complex == (complex in fields)
        assert (c == op(3.0, 3.0)).all()


EXACT_SCALARS = [
    3,
    10**30 + 7,
    -0.1,
    True,
    Fraction(22, 7),
    Decimal("0.1"),
    mpmath.mpf("0.1"),
    sympy.Rational(1, 3),
    sympy.Integer(5),
    sympy.sqrt(2),
    sympy.pi,
    np.float64(0.1),
    np.float32(0.1),
    np.int64(2**62 + 1),
    np.uint64(2**64 - 1),
    np.longdouble(1) / 3,
    np.bool_(True),
]
COMPLEX_SCALARS = [1 + 2j, np.complex64(2j), mpmath.mpc(1, "0.1"), np.clongdouble(1j) / 3]


@pytest.mark.parametrize("scalar", [*EXACT_SCALARS, *COMPLEX_SCALARS], ids=repr)
def test_scalars_are_rounded_once_to_the_precision_of_the_array(scalar):
    for precision, dtype, op in itertools.product(PRECISIONS, (float, complex), OPERATORS):
        a = full_width(1, precision, 3, dtype)
        converted = mdqr.array(scalar, precision=precision)
        assert same_bits(op(a, scalar), op(a, converted))
        assert same_bits(op(scalar, a), op(converted, a))


ARRAYS = [
    np.array([0.1, 0.2, 0.3]),
    np.array([1, 2, 2**62 + 1]),
    np.array([1, 2, 2**64 - 1], dtype=np.uint64),
    np.array([1, 2, 3], dtype=np.int8),
    np.array([True, False, True]),
    np.array([0.1, 0.2, 0.3], dtype=np.float16),
    np.array([1, 2, 3], dtype=np.longdouble) / 7,
    np.array([1j, 2, 3], dtype=np.complex64),
    np.array([Fraction(1, 3), 2, 0.5], dtype=object),
    [Fraction(1, 3), 2, 0.5],
    (1, 2.5, 3j),
    [np.float64(0.1), mdqr.dd("0.1"), Decimal("0.1")],
]


@pytest.mark.parametrize("other", ARRAYS, ids=repr)
def test_arrays_of_numbers_are_converted_exactly(other):
    for precision, op in itertools.product(PRECISIONS, OPERATORS):
        a = full_width(2, precision, 3)
        nested = [x.precision for x in other if isinstance(x, mdqr.MDArray)]
        converted = mdqr.array(other, precision=max([precision, *nested]))
        assert same_bits(op(a, other), op(a, converted))
        assert same_bits(op(other, a), op(converted, a))


def test_integer_arrays_do_not_go_through_float64(multiple):
    big = np.array([2**62 + 1, -(2**63) + 1])
    assert exact(mdqr.zeros(2, precision=multiple) + big).tolist() == [2**62 + 1, -(2**63) + 1]
    assert exact(mdqr.zeros((), precision=multiple) + np.uint64(2**64 - 1)).item() == 2**64 - 1


@pytest.mark.parametrize("op", [*OPERATORS, operator.eq, operator.lt])
def test_strings_and_strangers_are_no_operands(op, precision):
    a = mdqr.ones(2, precision=precision)
    for text in ("0.1", ["0.1", 1], np.array(["0.1", "2"]), np.array(["1", 2], dtype=object)):
        for pair in ((a, text), (text, a)):
            with pytest.raises(TypeError, match=r"mdqr\.array\('0\.1', precision"):
                op(*pair)
    for stranger in (None, object(), {1: 2}, {3}):
        if op is operator.eq:
            assert op(a, stranger) is False
            continue
        with pytest.raises(TypeError, match=r"not supported|unsupported operand"):
            op(a, stranger)
    with pytest.raises(TypeError, match="dtype datetime64"):
        op(a, np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"))


def test_fields_of_records_and_other_byte_orders(precision):
    records = np.array([(1, 0.1), (2, 0.2)], dtype=[("flag", "i1"), ("value", "f8")])
    a = mdqr.ones(2, precision=precision)
    for x in (records["value"], records["value"].astype(">f8"), records["flag"].astype(">i8")):
        assert same_bits(a + x, a + x.astype(x.dtype.newbyteorder("=")).copy())


def test_masked_values_are_refused(precision):
    a, x = mdqr.ones(2, precision=precision), np.ma.array([1.0, 2.0], mask=[False, True])
    for call in (lambda: a + x, lambda: mdqr.array(x, precision=precision)):
        with pytest.raises(TypeError, match=r"x\.filled\(value\)"):
            call()
    assert ((a + np.ma.array([1.0, 2.0])) == [2, 3]).all()


def test_shapes_that_do_not_broadcast_are_named(precision):
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\) do not broadcast"):
        mdqr.ones(2, precision=precision) + mdqr.ones(3, precision=precision)


def test_numbers_beyond_the_range(precision):
    a = mdqr.ones(2, precision=precision)
    assert mdqr.isinf(a + 10**400).all()
    assert (a < 10**400).all()
    assert (a > -(10**400)).all()


@given(data=st.data())
def test_in_place_writes_into_the_buffer_and_rounds_once(data, dtype):
    left, right = (data.draw(st.sampled_from(PRECISIONS)) for _ in range(2))
    shape = data.draw(hnp.array_shapes(min_side=0, max_side=3))
    seed = data.draw(st.integers(0, 2**32))
    b_shape = data.draw(st.sampled_from([shape, (), shape[1:], (1,) * len(shape)]))
    a = full_width(seed, left, shape, dtype)
    b = full_width(seed + 1, right, b_shape, data.draw(st.sampled_from([float, dtype])))
    for op, in_place in zip(OPERATORS, IN_PLACE, strict=True):
        target = a.copy()
        limbs = target.limbs
        assert in_place(target, b) is target
        assert target.limbs.base is limbs.base
        assert same_bits(target, op(a, b).astype(left))


@given(data=st.data())
def test_in_place_on_overlapping_memory_acts_on_a_copy(data, multiple):
    n = data.draw(st.integers(2, 6))
    buffer = full_width(data.draw(st.integers(0, 99)), multiple, (n, n))
    shift = data.draw(st.integers(0, n - 1))
    views = [
        (lambda x: x, lambda x: x.T),
        (lambda x: x, lambda x: x[::-1]),
        (lambda x: x, lambda x: x[:1]),
        (lambda x: x[shift:], lambda x: x[: n - shift]),
        (lambda x: x[: n - shift], lambda x: x[shift:]),
        (lambda x: x, lambda x: x),
    ]
    target, source = data.draw(st.sampled_from(views))
    for op, in_place in zip(OPERATORS, IN_PLACE, strict=True):
        a = buffer.copy()
        expected = op(target(buffer), source(buffer))
        view = target(a)
        in_place(view, source(a))
        assert same_bits(target(a), expected)


def test_in_place_that_does_not_fit(precision):
    a = mdqr.ones((1, 3), precision=precision)
    with pytest.raises(TypeError, match=r"complex result.*astype\(dtype=complex\)"):
        a += 1j
    with pytest.raises(ValueError, match=r"shape \(2, 3\) and does not fit"):
        a += np.ones((2, 3))
    with pytest.raises(ValueError, match="read-only"):
        a.imag.__iadd__(1)
    assert (a == 1).all()
    z = a.astype(dtype=complex)
    z *= 1j
    assert (z == 1j).all()


def test_numpy_arrays_do_not_take_results(precision):
    a = mdqr.ones(2, precision=precision)
    x = np.ones(2)
    with pytest.raises(TypeError, match=r"x = x \+ a instead of x \+= a"):
        x += a
    np.testing.assert_array_equal(x, [1, 1])


def test_floats_are_no_indices(precision):
    a = precision(1)
    uses = [operator.index, range, [1, 2, 3].__getitem__, "ab".__mul__, bytes(3).__getitem__]
    for use in uses:
        with pytest.raises(TypeError, match="MDArray"):
            use(a)
    assert not isinstance(a, SupportsIndex)
    # NumPy takes precision d for an array of floats, which it refuses by an error of its own.
    with pytest.raises(IndexError if precision is mdqr.d else TypeError):
        np.arange(3)[a]
    with pytest.raises(TypeError, match="MDArray"):
        mdqr.ones((2, 2), precision=precision).sum(axis=a)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.intp])
def test_numpy_integers_are_exponents_and_axes(kind, precision):
    a = mdqr.array([[1, 2, 3], [4, 5, 6]], precision=precision)
    assert same_bits(a.sum(axis=kind(1)), a.sum(axis=1))
    assert same_bits(a.transpose(kind(1), kind(0)), a.T)
    assert same_bits(a[kind(1), kind(2)], a[1, 2])
    assert same_bits(mdqr.linalg.norm(a, kind(1), axis=kind(1)), mdqr.linalg.norm(a, 1, axis=1))
    assert same_bits(a ** kind(3), a * a * a)
    a **= kind(2)
    assert (a == [[1, 4, 9], [16, 25, 36]]).all()


class Counted(list):
    """A list that counts how often it is gone through."""

    rounds = 0

    def __iter__(self):
        self.rounds += 1
        return super().__iter__()


def test_rounds_through_nested_lists_do_not_grow_with_their_depth(precision):
    rounds = []
    for depth in (1, 6):
        inner = Counted([1, Fraction(1, 3)])
        nested = inner
        for _ in range(depth):
            nested = [nested]
        total = operator.add(precision(1), nested)
        assert same_bits(
            total.ravel(), precision(1) + mdqr.array([1, Fraction(1, 3)], precision=precision)
        )
        assert total.shape == (1,) * depth + (2,)
        rounds.append(inner.rounds)
    assert 0 < rounds[0] == rounds[1]


def test_arrays_in_nested_lists(precision):
    one = precision(1)
    for row in ([one, 2], np.array([1, 2]), one * [1, 2], (1, np.array(2))):
        total = operator.add(one, [row, [3, Fraction(4)]])
        np.testing.assert_array_equal(total.to_numpy(), [[2, 3], [4, 5]])
        with pytest.raises(TypeError, match="string is not a number"):
            operator.add(one, [row, [3, "4"]])


def objects(*entries):
    x = np.empty(len(entries), dtype=object)
    for i, entry in enumerate(entries):
        x[i] = entry
    return x


@pytest.mark.parametrize(
    "x",
    [
        objects(np.array(1), "0.1"),
        objects(np.ones(2), "0.1"),
        objects("0.1", np.array(1)),
        objects(1, np.array("0.1")),
        objects(np.array("0.1", dtype=object), 1),
        objects(1, b"0.1"),
        [1, objects(np.array(1), "0.1")],
        [UserList([1, 2]), UserList([1, "0.1"])],
    ],
    ids=repr,
)
def test_strings_beside_arrays_are_refused(x, precision):
    for call in (lambda: precision(1) + x, lambda: x + precision(1), lambda: precision(1) < x):
        with pytest.raises(
            TypeError, match=r"a string is not a number in arithmetic; got b?'0\.1'"
        ):
            call()


def test_arrays_as_entries_of_object_arrays(precision):
    x = objects(np.array(0.5), np.array(2**60 + 1), np.array(Fraction(1, 3), dtype=object))
    plain = mdqr.array([0.5, 2**60 + 1, Fraction(1, 3)], precision=precision)
    assert same_bits(precision(1) + x, precision(1) + plain)
    with pytest.raises(
        TypeError, match=r"at \[1\]: an array of shape \(2,\) stands where one number"
    ):
        precision(1) + objects(1, np.ones(2))


def test_lists_that_contain_themselves(precision):
    endless = []
    endless.append(endless)
    twice = [np.ones(2)]
    twice += [twice, twice]
    a = mdqr.ones(2, precision=precision)
    for x in (endless, [1, endless], [a, endless], twice):
        calls = [
            lambda x=x: a + x,
            lambda x=x: x < a,
            lambda x=x: a.__setitem__(0, x),
            lambda x=x: mdqr.array(x, precision=precision),
            lambda x=x: mdqr.array(x),
        ]
        for call in calls:
            with pytest.raises(
                ValueError, match="nested more than 64 deep; does a list contain it"
            ):
                call()
