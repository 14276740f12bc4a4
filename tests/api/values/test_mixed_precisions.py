"""Operands of every kind beside a matrix in qd: the result is in qd, and nothing was rounded."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from each_case import each_case

import mdqr
from mdqr import linalg

sympy = pytest.importorskip("sympy")

# Three, of every kind of number.
KINDS = {
    "d": mdqr.d(3),
    "dd": mdqr.dd(3),
    "od": mdqr.od(3),
    "float64": np.float64(3),
    "float32": np.float32(3),
    "longdouble": np.longdouble(3),
    "int64": np.int64(3),
    "int8": np.int8(3),
    "int": 3,
    "float": 3.0,
    "Fraction": Fraction(3),
    "Decimal": Decimal(3),
    "mpf": mpmath.mpf(3),
    "SymPy": sympy.Integer(3),
}
# Of a matrix of thirds and three.
CALLS = {
    "add": lambda x, three: x + three * np.eye(2, dtype=int),
    "multiply": lambda x, three: x * three,
    "divide": lambda x, three: x / three,
    "power": lambda x, three: x ** (three * 0 + 2),
    "where": lambda x, three: mdqr.where([True, False], x, three),
    "maximum": lambda x, three: mdqr.maximum(x, three),
    "hypot": lambda x, three: mdqr.hypot(x, three),
    "concatenate": lambda x, three: mdqr.concatenate([x, three * mdqr.ones_like(x)]),
    "clip": lambda x, three: mdqr.clip(x, 0, three),
    "polyval": lambda x, three: mdqr.polyval([three, 1], x),
}


def _expected(name):
    """Return the exact entry [1, 1] of what a call returns, or None where it is irrational."""
    third = Fraction(1, 3)
    return {
        "add": third + 3,
        "multiply": Fraction(1),
        "divide": third / 3,
        "power": third**2,
        "where": Fraction(3),
        "maximum": Fraction(3),
        "concatenate": third,
        "clip": third,
        "polyval": 3 * third + 1,
    }.get(name)


@each_case("kind", KINDS)
@each_case("name", CALLS)
def test_a_second_operand_rounds_nothing(name, kind):
    three = KINDS[kind]
    x = mdqr.full((2, 2), Fraction(1, 3), precision=mdqr.qd)
    found = CALLS[name](x, three)
    assert found.precision is (mdqr.od if kind == "od" else mdqr.qd)
    expected = _expected(name)
    if expected is not None:
        # Two roundings in qd, of which one is that of a third.
        assert abs(found[1, 1].to_fractions().item() / expected - 1) <= 2 * mdqr.qd.eps


@pytest.mark.parametrize("kind", ["d", "dd", "od", "float64", "float32", "int64", "longdouble"])
@pytest.mark.parametrize("name", ["solve", "lstsq", "matmul", "lu_solve", "solve_triangular"])
def test_a_second_matrix_rounds_nothing(name, kind):
    given = KINDS[kind]
    ones = np.array([1, 1], dtype=np.int64)
    b = ones * given // given if kind == "int64" else ones * given / given
    a = mdqr.array([[3, 0], [1, 7]], precision=mdqr.qd)
    found = {
        "solve": lambda: linalg.solve(a, b),
        "lstsq": lambda: linalg.lstsq(a, b).x,
        "matmul": lambda: a @ b,
        "lu_solve": lambda: linalg.lu_solve(linalg.lu_factor(a), b),
        "solve_triangular": lambda: linalg.solve_triangular(a, b, lower=True),
    }[name]()
    assert found.precision is (mdqr.od if kind == "od" else mdqr.qd)
    expected = Fraction(8) if name == "matmul" else Fraction(2, 21)
    assert abs(found[1].to_fractions().item() / expected - 1) <= 64 * mdqr.qd.eps


@pytest.mark.parametrize("wrong", ["3", None])
@pytest.mark.parametrize("name", ["add", "multiply", "divide"])
def test_what_has_no_precision_is_refused(name, wrong):
    x = mdqr.full((2, 2), Fraction(1, 3), precision=mdqr.qd)
    with pytest.raises(TypeError):
        CALLS[name](x, wrong)
