"""NumPy's other names, functions behind operators and attributes, and methods behind functions."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from each_case import each_case
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr.testing import arrays, assert_same_bits

PAIRS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "pow": operator.pow,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


@pytest.mark.parametrize("name", PAIRS)
def test_functions_are_the_operators(name, precision):
    a = mdqr.array([1, "2.5", 3], precision=precision)
    for other in (2, mdqr.dd(["0.1", 2, 3]), np.array([1.0, 2.5, 4])):
        for pair in ((a, other), (other, a)):
            found, wanted = getattr(mdqr, name)(*pair), PAIRS[name](*pair)
            if isinstance(wanted, mdqr.MDArray):
                assert_same_bits(found, wanted)
            else:
                assert np.array_equal(found, wanted)


def test_second_names():
    names = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2"}
    names |= {"acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh"}
    names |= {"concat": "concatenate", "pow": "power"}
    for second, first in names.items():
        assert getattr(mdqr, second) is getattr(mdqr, first)
        assert getattr(np, second) is getattr(np, first)
    assert mdqr.matmul is mdqr.linalg.matmul
    assert (mdqr.inf, mdqr.newaxis, mdqr.nan != mdqr.nan) == (np.inf, None, True)


def numbered(shape, precision, dtype):
    return mdqr.arange(np.prod(shape, dtype=int), precision=precision, dtype=dtype).reshape(shape)


CALLS = [
    *(("transpose", ()), ("transpose", ((1, 0, 2),)), ("ravel", ()), ("ravel", ("F",))),
    *(("copy", ()), ("delete", (1, 1)), ("delete", ([0, 5],)), ("delete", (slice(0, 2), 0))),
    *(("delete", ([True, False, True], 1)), ("delete", (-1, 2)), ("insert", (1, 7, 1))),
    *(("insert", ([0, 2], 7)), ("insert", ([0, 2], [8, 9], 2)), ("insert", (1, [[7], [8]], 1))),
    *(("insert", (slice(0, 2), 5, 0)), ("reshape", ((4, 6), "F")), ("reshape", ((-1, 8),))),
    *(("real", ()), ("imag", ()), ("isreal", ()), ("iscomplexobj", ())),
    *(("argpartition", (2,)), ("partition", (3,))),
]


@each_case("name, arguments", CALLS)
def test_functions_are_those_of_numpy(name, arguments, precision, dtype):
    a = mdqr.arange(24, precision=precision).reshape(2, 3, 4)
    a = a * (1 + 1j) if dtype is complex else a
    wanted = getattr(np, name)(a.to_numpy(), *arguments)
    found = [getattr(np, name)(a, *arguments)]
    if hasattr(mdqr, name):
        found.append(getattr(mdqr, name)(a, *arguments))
    for x in found:
        values = x.to_numpy() if isinstance(x, mdqr.MDArray) else x
        np.testing.assert_array_equal(values, wanted)


@given(data=st.data())
def test_no_limb_is_lost(data, precision):
    a = data.draw(arrays(precision, st.tuples(st.integers(1, 4), st.integers(1, 3))))
    row = data.draw(arrays("hd", (a.shape[1],)))
    place = data.draw(st.integers(-a.shape[0], a.shape[0] - 1))
    longer = mdqr.insert(a, place, row, axis=0)
    assert longer.precision is mdqr.hd
    assert_same_bits(mdqr.delete(longer, place % a.shape[0], axis=0), a.astype("hd"))
    assert_same_bits(longer[place % a.shape[0]], row)


def test_places_that_do_not_exist():
    a = mdqr.qd([1, 2, 3])
    for call in (lambda: mdqr.delete(a, 3), lambda: mdqr.insert(a, 5, 1), lambda: a.put(3, 1)):
        with pytest.raises(IndexError):
            call()
    for call in (lambda: a.partition(3), lambda: a.ravel("X"), lambda: a.flat.__setitem__(0, [])):
        with pytest.raises(ValueError, match=r"kth|order|values"):
            call()


def test_sums_of_a_selection(precision, dtype):
    a = mdqr.array([[1, 2], [3, "4.5"]], precision=precision, dtype=dtype)
    plain, mask = a.to_numpy(), np.array([[True, False], [True, True]])
    for axis in (None, 0, 1):
        for options in ({"initial": 5}, {"where": mask}, {"initial": 2, "where": mask[0]}):
            for name in ("sum", "prod"):
                wanted = getattr(plain, name)(axis, **options)
                for found in (
                    getattr(mdqr, name)(a, axis, **options),
                    getattr(a, name)(axis, **options),
                    getattr(np, name)(a, axis=axis, **options),
                ):
                    np.testing.assert_array_equal(found.to_numpy(), wanted)


def test_functions_of_numpy_that_write(precision):
    a = mdqr.array([3, 1, 2], precision=precision)
    assert np.argpartition(a, 1).tolist() == [1, 2, 0]
    assert np.partition(a, 1).to_numpy().tolist() == [1, 2, 3]
    assert np.partition(a.reshape(3, 1), 1, axis=None).to_numpy().tolist() == [1, 2, 3]
    np.put(a, [0, 2], "0.1")
    a.put([0], [])  # as NumPy: nothing
    a.flat[:2] = []
    assert_same_bits(a[2], precision("0.1"))
    assert a[1] == 1


def test_methods_have_the_options_of_the_functions(precision):
    a = mdqr.array([[3, 1, 2], [6, 4, 5]], precision=precision)
    assert (a.argsort(descending=True) == mdqr.argsort(a, descending=True)).all()
    assert_same_bits(a.var(0, correction=1), mdqr.var(a, 0, ddof=1))
    means = a.mean(1, keepdims=True)
    assert_same_bits(a.std(1, mean=means), mdqr.std(a, 1, mean=means))
    assert not np.shares_memory(a.reshape(6, copy=True).limbs, a.limbs)
    with pytest.raises(ValueError, match="needs a copy"):
        a.T.reshape(6, copy=False)
    assert np.shares_memory(a.reshape(3, 2, copy=False).limbs, a.limbs)
    np.testing.assert_array_equal(a.flatten("F").to_numpy(), a.to_numpy().flatten("F"))
    np.testing.assert_array_equal(
        a.reshape(3, 2, order="F").to_numpy(), a.to_numpy().reshape(3, 2, order="F")
    )
    b = a.copy(order="F")
    b.sort(descending=True)
    assert b.to_numpy().tolist() == [[3, 2, 1], [6, 5, 4]]


def test_flat_is_one_axis(precision, dtype):
    a = mdqr.array([[1, 2, 3], [4, 5, 6]], precision=precision, dtype=dtype)
    plain = a.to_numpy()
    for x, y in ((a, plain), (a.T, plain.T)):
        assert [complex(v) for v in x.flat] == list(y.flat)
        assert len(x.flat) == len(y.flat)
        np.testing.assert_array_equal(x.flat[1:4].to_numpy(), y.flat[1:4])
        assert complex(x.flat[-1]) == y.flat[-1]
        x.flat[[1, 3]] = [7, 8]
        y.flat[[1, 3]] = [7, 8]
        x.put([0, -1, 2], [9, 10])
        y.put([0, -1, 2], [9, 10])
        np.testing.assert_array_equal(a.to_numpy(), plain)
    a.flat = [1, 2]
    plain.flat = [1, 2]
    np.testing.assert_array_equal(a.to_numpy(), plain)
    a.flat[0] = "0.1"
    assert_same_bits(a[0, 0].real, precision("0.1"))


@pytest.mark.parametrize(
    "name",
    [
        "byteswap",
        "choose",
        "compress",
        "ctypes",
        "data",
        "dump",
        "getfield",
        "resize",
        "setflags",
        "tobytes",
        "tofile",
        "view",
        "strides",
        "flags",
        "base",
    ],
)
def test_absent_attributes_name_a_way(name):
    a = mdqr.qd([1, 2])
    assert hasattr(np.ones(2), name)
    assert not hasattr(a, name)
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': \w"):
        getattr(a, name)
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        operator.attrgetter("colour")(a)


def test_limits():
    for x in (mdqr.qd, "qd", mdqr.qd([1]), mdqr.qd([1]).dtype):
        found = mdqr.finfo(x)
        assert (found.eps, found.tiny, found.max) == (mdqr.qd.eps, mdqr.qd.tiny, mdqr.qd.huge)
    assert mdqr.finfo(mdqr.dd) == mdqr.array_api.finfo(mdqr.array_api.float_dd)
    with pytest.raises(TypeError, match="finfo is for precisions"):
        mdqr.finfo(np.float64)
