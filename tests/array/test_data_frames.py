"""Data frames and their columns: every entry is taken exactly, or what is missing is said."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from array_cases import same_bits

import mdqr
from mdqr import linalg
from mdqr._convert.array_like import plain

P = mdqr.qd


class Nullable:
    """A column of a type of its own, as pandas' Int64: missing places make NumPy's floats of it."""

    dtype = "Int64"

    def __init__(self, *values):
        self._values = values

    def isna(self):
        return np.array([value is None for value in self._values])

    def __array__(self, dtype=None, copy=None):
        if dtype is not None and np.dtype(dtype).kind == "O":
            return np.array(self._values, dtype=object)
        return np.array(self._values, dtype=float if None in self._values else None)


class Unasked(Nullable):
    """The same without a method that tells the missing places."""

    isna = None


class Frame:
    """A table of named columns, as those of pandas answer NumPy: by a type common to all."""

    def __init__(self, **columns):
        self._columns = {
            name: values if isinstance(values, Nullable) else np.asarray(values)
            for name, values in columns.items()
        }

    @property
    def dtypes(self):
        return [column.dtype for column in self._columns.values()]

    @property
    def shape(self):
        return len(next(iter(self._columns.values()))), len(self._columns)

    def __array__(self, dtype=None, copy=None):
        return np.stack(list(self._columns.values()), axis=1)

    def items(self):
        return self._columns.items()

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return SimpleNamespace(by=ufunc)

    def __radd__(self, other):
        return "the frame adds"


EXACT = {
    "texts": [["0.1", "1e-30"], ["-7", "0.3"]],
    "decimals": [[Decimal("0.1"), Decimal("1e-30")], [Decimal(-7), Decimal("0.3")]],
    "fractions": [[Fraction(1, 10), Fraction(1, 10**30)], [Fraction(-7), Fraction(3, 10)]],
    "texts and integers": [["0.1", "1e-30"], [2**62 + 1, -3]],
}
TABLES = {name: [np.array(x, dtype=object) for x in columns] for name, columns in EXACT.items()} | {
    "integers and floats": [np.array([2**62 + 1, -3]), np.array([0.5, 0.1])],
    "two types of integers": [np.array([2**63, 1], dtype=np.uint64), np.array([-1, 2])],
    "floats": [np.array([0.5, 0.1]), np.array([1.0, np.nan])],
    "short floats": [np.array([1e-45, 0.1], dtype=np.float32), np.array([0.5, 0.1])],
    "truths": [np.array([True, False]), np.array([0.5, 0.1])],
    "the largest doubles among integers": [np.array([2**53, -(2**53)]), np.array([0.5, 0.1])],
    "the least integer that is none": [np.array([2**53 + 1, 0]), np.array([0.5, 0.1])],
    "the most negative integer": [np.array([-(2**63), 0]), np.array([0.5, 0.1])],
}


@pytest.mark.parametrize("table", TABLES)
def test_data_frames_convert_exactly(table, precision):
    first, second = TABLES[table]
    rows = [list(row) for row in zip(first.tolist(), second.tolist(), strict=True)]
    wanted = mdqr.array(rows, precision=precision)
    assert same_bits(mdqr.array(Frame(x=first, y=second), precision=precision), wanted)
    assert same_bits(mdqr.asarray(Frame(x=first, y=second), precision=precision), wanted)


def test_columns_of_plain_numbers_do_not_become_objects():
    """A hundred thousand rows took a second, for one column of integers among floats."""
    for first in (np.array([1, 2]), np.array([True, False]), np.float32([1, 2])):
        x = plain(Frame(x=first, y=np.array([0.5, 0.1])))
        assert x.dtype == np.float64
        np.testing.assert_array_equal(x[:, 0], first)
    x = plain(Frame(x=np.int8([1, 2]), y=np.array([2**62 + 1, 3])))
    assert x.dtype == np.int64
    dates = np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")
    with pytest.raises(TypeError, match="cannot convert date to a number"):
        mdqr.array(Frame(x=dates, y=np.array([0.5, 0.1])), precision=P)


@pytest.mark.parametrize("column", [Nullable, Unasked])
def test_columns_of_their_own_types_stay_exact(column, precision):
    wanted = mdqr.array([2**60 + 1, -3], precision=precision)
    x = column(2**60 + 1, -3)
    assert same_bits(mdqr.array(x, precision=precision), wanted)
    assert same_bits(mdqr.array([x, x], precision=precision)[1], wanted)
    for frame in (Frame(x=x, y=x), Frame(x=x, y=np.array([0.5, 0.1]))):
        assert same_bits(mdqr.array(frame, precision=precision)[:, 0], wanted)


def test_places_without_a_value_are_refused():
    """They made floats of the integers beside them, and NaN of themselves."""
    x = Nullable(2**60 + 1, None)
    for given in (x, [x], Frame(x=x, y=x), Frame(x=x, y=np.ones(2))):
        with pytest.raises(TypeError, match=r"places without a value; fill them with x\.fillna"):
            mdqr.array(given, precision=P)
    with pytest.raises(TypeError, match="cannot convert NoneType"):
        mdqr.array(Unasked(2**60 + 1, None), precision=P)


def test_data_frames_of_exact_numbers_are_taken_by_linalg():
    columns = {"x": [Decimal("0.1"), Decimal(2)], "y": [Decimal(1), Decimal("0.3")]}
    frame = Frame(**{name: np.array(x, dtype=object) for name, x in columns.items()})
    a = mdqr.array([["0.1", "1"], ["2", "0.3"]], precision=P)
    assert same_bits(linalg.solve(frame, [1, 2], precision=P), linalg.solve(a, [1, 2]))
    with pytest.raises(TypeError, match="no precision of their own"):
        linalg.solve(frame, [1, 2])


def test_pandas_leaves_arithmetic_to_arrays(multiple):
    a = mdqr.array([["0.1", "2"], ["3", "0.7"]], precision=multiple)
    frame = pd.DataFrame({"x": [1.5, 2.0], "y": [3, 5]})
    values = mdqr.array([[1.5, 3], [2, 5]], precision=multiple)
    for got, wanted in (
        (a + frame, a + values),
        (frame - a, values - a),
        (a @ frame, a @ values),
        (frame["x"] * a[0], values[:, 0] * a[0]),
        (np.multiply(frame["y"], a[0]), values[:, 1] * a[0]),
        (mdqr.column_stack([a[0], frame["x"]]), mdqr.column_stack([a[0], values[:, 0]])),
    ):
        assert same_bits(got, wanted)
    assert (frame < a).tolist() == (values < a).tolist()
    texts = pd.DataFrame({"x": ["0.1", "3"], "y": ["2", "0.7"]})
    assert same_bits(mdqr.array(texts, precision=multiple), a)
    assert same_bits(mdqr.array(texts["x"], precision=multiple), a[:, 0])
    fit = mdqr.linalg.lstsq(frame, frame["x"], precision=multiple)
    assert mdqr.allclose(fit.x, [1, 0], atol=1e-25)
    with pytest.raises(TypeError, match="string is not a number"):
        a + texts


def test_data_frames_answer_for_their_own_arithmetic():
    frame = Frame(x=np.ones(2), y=np.ones(2))
    assert mdqr.ones(2, precision=P) + frame == "the frame adds"
    assert np.add(mdqr.ones(2, precision=P), frame).by is np.add


def test_what_has_no_precision_is_named_by_its_type():
    for x, name in ((Frame(x=[1.0]), "Frame"), (deque([1]), "deque"), ([1], "list")):
        with pytest.raises(TypeError, match=rf"no operand is an MDArray; got {name}:"):
            mdqr.sqrt(x)


class Counted(Nullable):
    """A column that counts its missing places, as those of polars (a method) and Arrow do."""

    dtype = "Float64"
    isna = None

    def null_count(self):
        return sum(value is None for value in self._values)


class CountedFrame:
    """A frame of such columns, as that of polars."""

    def __init__(self, *columns):
        self._columns = columns

    @property
    def dtypes(self):
        return [column.dtype for column in self._columns]

    def get_columns(self):
        return list(self._columns)

    def null_count(self):
        return np.array([[column.null_count() for column in self._columns]])

    def __array__(self, dtype=None, copy=None):
        return np.stack([np.asarray(column) for column in self._columns], axis=1).astype(float)


def test_counted_places_without_a_value_are_refused():
    """They became NaN in silence."""
    missing, whole = Counted(1.5, None), Counted(1.5, 2.5)
    number = Counted(1.5, None)
    number.null_count = 1
    for given in (missing, [missing], number, CountedFrame(whole, missing)):
        with pytest.raises(TypeError, match=r"places without a value; fill them with x\.fill_null"):
            mdqr.array(given, precision=P)
    assert mdqr.array(whole, precision=P).to_numpy().tolist() == [1.5, 2.5]
    a = mdqr.array(CountedFrame(whole, Counted(2**60 + 1, 3)), precision=P)
    assert [int(value) for value in a[:, 1]] == [2**60 + 1, 3]


def _objects(*values):
    x = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        x[i] = value
    return x


def test_objects_that_are_arrays_are_numbers(precision):
    """A column that `map` makes, and arrays of objects; they were refused."""
    thirds = mdqr.arange(1, 4, precision=precision) / 3
    for x in (_objects(*thirds), pd.Series(list(range(1, 4))).map(lambda i: precision(i) / 3)):
        assert same_bits(mdqr.array(x), thirds)
        assert same_bits(mdqr.asarray(x, precision=precision), thirds)
        for sum_ in (x + thirds, thirds + x):
            assert same_bits(mdqr.array(sum_), thirds + thirds)
        assert same_bits(mdqr.sqrt(x), mdqr.sqrt(thirds))
    frame = pd.DataFrame({"a": _objects(*thirds), "b": [1, 2**60 + 1, 0.5]})
    assert same_bits(mdqr.array(frame)[:, 0], thirds)
    mixed = _objects(precision(1) / 3, "0.1", Fraction(1, 3), 2**60 + 1)
    wanted = mdqr.array([mixed[0], "0.1", Fraction(1, 3), 2**60 + 1], precision=precision)
    assert same_bits(mdqr.array(mixed, precision=precision), wanted)
    with pytest.raises(TypeError, match="a string is not a number"):
        thirds[0] + mixed
    alone = np.empty((), dtype=object)
    alone[()] = thirds[0]
    assert same_bits(mdqr.array(alone), thirds[0])
    product = linalg.matmul(frame, [[1.0], [2.0]])
    assert same_bits(product, linalg.matmul(mdqr.array(frame), [[1.0], [2.0]]))


@pytest.mark.parametrize(
    "x",
    [
        range(0),
        range(5, 0, -2),
        range(-(2**63) + 1, 2**63 - 1, 2**61 + 1),
        range(2**62, 2**64, 2**60),
        range(-(2**63), 2**63, 2**63 - 1),
        range(2**70, 2**70 + 3),
    ],
)
def test_ranges_are_exact(x, multiple):
    for given in (x, list(x)):
        a = mdqr.array(given, precision=multiple)
        assert a.shape == (len(x),)
        assert [int(value) for value in a] == list(x)


def test_long_ranges_need_no_list():
    """A range of 10**8 took minutes."""
    a = mdqr.array(range(7, 4 * 10**6, 2), precision="dd")
    np.testing.assert_array_equal(a.to_numpy(), np.arange(7, 4 * 10**6, 2))
    for far in (range(10**25), range(10**15)):
        with pytest.raises(MemoryError, match="take fewer values"):
            mdqr.array(far, precision="dd")


@pytest.mark.parametrize(
    "x",
    [
        [True, 2, 2**63],
        [-(2**63), 2**63 - 1],
        [2**53 + 1, 0.5],
        [-(2**53) - 1, 0.5, True],
        [2**53, -0.0, 5e-324],
        [np.inf, 3],
        [True, False],
    ],
)
def test_lists_of_numbers_are_exact(x, multiple):
    a = mdqr.array(x, precision=multiple)
    for got, wanted in zip(a, x, strict=True):
        if wanted == np.inf:
            assert float(got) == wanted
        else:
            assert Fraction(*got.as_integer_ratio()) == Fraction(wanted)
            assert np.signbit(float(got)) == np.signbit(float(wanted))


@pytest.mark.parametrize("name", ["mean", "std", "var", "median", "sem", "skew", "kurt"])
def test_statistics_of_pandas_do_not_round(name):
    """They were float64 without a word."""
    column = pd.Series([1.0, 2.0, 4.0, 8.0]).map(lambda x: mdqr.qd(x) / 3)
    for data in (column, pd.DataFrame({"a": column})):
        with pytest.raises((TypeError, ValueError)):  # pandas has its own words for it
            getattr(data, name)()
    with pytest.raises((TypeError, ValueError)):
        column.groupby([0, 0, 1, 1]).std()
    assert column.astype(float).dtype == float
    mdqr.testing.assert_same_bits(column.sum(), mdqr.array(column, precision="qd").sum())
    assert isinstance(column.max(), mdqr.MDArray)
    assert isinstance(column.groupby([0, 0, 1, 1]).sum()[0], mdqr.MDArray)
