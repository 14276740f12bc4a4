"""A second argument that two libraries mean differently has the meaning of one."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mdqr
from mdqr.linalg import eigh, eigvalsh


@pytest.mark.parametrize("function", [eigh, eigvalsh], ids=["eigh", "eigvalsh"])
@pytest.mark.parametrize("b", [np.eye(2), [[1, 0], [0, 1]], mdqr.eye(2, precision="dd"), None])
def test_the_matrix_of_a_generalised_problem_is_a_keyword(function, b):
    name = function.__name__
    with pytest.raises(TypeError, match=rf"{name}: UPLO must be .*is a keyword: {name}\(a, b=b\)"):
        function(np.eye(2), b)
    function(np.eye(2), b=b)
    assert inspect.signature(function).parameters["b"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("function", [eigh, eigvalsh], ids=["eigh", "eigvalsh"])
def test_another_triangle(function):
    with pytest.raises(ValueError, match=r"UPLO must be \"L\" or \"U\"; got 'x'"):
        function(np.eye(2), "x")


def test_what_numpy_takes_by_position():
    """`equal_nan`, as `isclose` takes it."""
    x = mdqr.array([1, np.nan], precision="qd")
    assert mdqr.array_equal(x, x, True)
    assert mdqr.allclose(x, x, 0.0, 0.0, True)
    assert mdqr.isclose(x, x, 0.0, 0.0, True).all()
