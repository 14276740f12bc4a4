"""Texts are numbers wherever a precision is known; in operators they are refused."""

from __future__ import annotations

import operator
from collections import UserString

import numpy as np
import pytest
from each_case import each_case

import mdqr
from mdqr import linalg
from mdqr.testing import assert_same_bits

T = ["0.1", "0.7"]
A = mdqr.array([[2, 1], [1, 3]], precision=mdqr.qd)
V = mdqr.array([3, "0.2"], precision=mdqr.qd)
S = [["2.5", "0.1"], ["0.3", "3"]]

# Each is called with texts and with the numbers that they are.
CALLS = {
    "concatenate": lambda t, s: mdqr.concatenate([V, t]),
    "stack": lambda t, s: mdqr.stack([V, t]),
    "vstack": lambda t, s: mdqr.vstack([A, t]),
    "append": lambda t, s: mdqr.append(V, t),
    "isclose": lambda t, s: mdqr.isclose(V, t),
    "allclose": lambda t, s: mdqr.allclose(V, t),
    "clip": lambda t, s: mdqr.clip(V, t, [9, 9]),
    "searchsorted": lambda t, s: mdqr.searchsorted(mdqr.qd([0, "0.1", 2]), t),
    "isin": lambda t, s: mdqr.isin(V, t),
    "where": lambda t, s: mdqr.where([True, False], t, V),
    "maximum": lambda t, s: mdqr.maximum(V, t),
    "hypot": lambda t, s: mdqr.hypot(t, V),
    "power": lambda t, s: mdqr.power(t, V),
    "arctan2": lambda t, s: mdqr.arctan2(t, V),
    "copysign": lambda t, s: mdqr.copysign(t, V),
    "dot": lambda t, s: mdqr.dot(V, t),
    "outer": lambda t, s: mdqr.outer(t, V),
    "einsum": lambda t, s: mdqr.einsum("i,ij", t, A),
    "polyval": lambda t, s: mdqr.polyval(t, V),
    "interp": lambda t, s: mdqr.interp(t, mdqr.qd([0, 1]), V),
    "convolve": lambda t, s: mdqr.convolve(V, t),
    "full_like": lambda t, s: mdqr.full_like(V, t),
    "matmul": lambda t, s: linalg.matmul(A, s),
    "solve": lambda t, s: linalg.solve(A, t),
    "solve of texts": lambda t, s: linalg.solve(s, t, precision="qd"),
    "solve of integers": lambda t, s: linalg.solve([[2, 1], [1, 3]], t, precision="qd"),
    "lstsq": lambda t, s: linalg.lstsq(s, t, precision="qd").x,
    "weights": lambda t, s: linalg.lstsq([[1], [2]], [3, 4], weights=t, precision="qd").x,
    "det": lambda t, s: linalg.det(s, precision="dd"),
    "inv": lambda t, s: linalg.inv(s, precision="dd"),
    "qr": lambda t, s: linalg.qr(s, precision="dd").R,
    "svdvals": lambda t, s: linalg.svdvals(s, precision="dd"),
    "eigvalsh": lambda t, s: linalg.eigvalsh(s, precision="dd"),
    "norm": lambda t, s: linalg.norm(t, precision="dd"),
    "cholesky": lambda t, s: linalg.cholesky([[s[0][0], 0], [0, s[1][1]]], precision="dd"),
    "solve_triangular": lambda t, s: linalg.solve_triangular(A, t),
    "linspace": lambda t, s: mdqr.linspace(t[0], t[1], 4, precision="qd"),
    "assignment": lambda t, s: assigned(lambda x: operator.setitem(x, slice(None), t)),
    "one value": lambda t, s: assigned(lambda x: operator.setitem(x, 0, t[0])),
    "fill": lambda t, s: assigned(lambda x: x.fill(t[0])),
}


def assigned(change):
    x = V.copy()
    change(x)
    return x


def numbers(x):
    return [numbers(y) for y in x] if isinstance(x, list) else mdqr.od(x)


def texts_of_numpy(x):
    return np.array(x)


def user_strings(x):
    return [user_strings(y) for y in x] if isinstance(x, list) else UserString(x)


@each_case("kind", [list, texts_of_numpy, user_strings])
@each_case("call", CALLS.values())
def test_texts_are_converted_as_by_array(call, kind):
    found = call(kind(T), kind(S))
    exact = call(mdqr.array(T, precision="qd"), mdqr.array(S, precision="qd"))
    if not isinstance(found, mdqr.MDArray):
        assert np.array_equal(found, exact)
    else:
        error = abs(found.astype(mdqr.qd) - exact.astype(mdqr.qd))
        # Rounded once more often at most: texts have the digits of the answer's precision.
        assert (error <= 2.0**-90 * abs(exact.astype(mdqr.qd)).max()).all()
        assert found.precision is exact.precision or found.precision is mdqr.dd


def test_a_text_is_not_a_double():
    assert_same_bits(mdqr.concatenate([V, T])[2], mdqr.qd("0.1"))
    x = V.copy()
    x[0] = "0.1"
    assert_same_bits(x[0], mdqr.qd("0.1"))
    x.fill("1e-30")
    assert_same_bits(x[1], mdqr.qd("1e-30"))
    once = linalg.solve([[1, 0], [0, 1]], T, precision="od")
    assert_same_bits(once, mdqr.od(T))


OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.matmul, operator.eq, operator.lt, operator.iadd),
]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("text", ["0.1", T, np.array(T), [V, T], UserString("1")], ids=repr)
def test_operators_refuse_texts(op, text):
    with pytest.raises(TypeError, match="a string is not a number in arithmetic"):
        op(V.copy(), text)
    if op not in (operator.iadd, operator.mod):  # % formats strings
        with pytest.raises(TypeError, match="a string is not a number in arithmetic"):
            op(str(text) if isinstance(text, UserString) else text, V)


def test_ufuncs_of_numpy_are_operators():
    for ufunc in (np.add, np.less, np.hypot):
        with pytest.raises(TypeError, match="a string is not a number in arithmetic"):
            ufunc(V, "0.1")


@pytest.mark.parametrize("call", [CALLS["concatenate"], CALLS["solve"], CALLS["fill"]])
def test_what_is_no_number_is_named(call):
    with pytest.raises(ValueError, match=r"'0\.1 m'|0\.1 m"):
        call(["0.1 m", "2"], S)


def test_text_alone_has_no_precision():
    with pytest.raises(TypeError, match=r"precision=mdqr\.qd"):
        linalg.solve([[2, 1], [1, 3]], T)
