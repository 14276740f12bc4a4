"""Data arguments of `mdqr.linalg`: by position only, with names from one table."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from each_case import each_case

import mdqr
from mdqr import linalg

FUNCTIONS = {
    name: function
    for name in linalg.__all__
    if inspect.isfunction(function := getattr(linalg, name))
}
PAGE = Path(__file__).parents[3] / "docs/developer/vocabulary.md"
# Data that users give by name: what a function does without, and with.
OPTIONAL = {
    "eig": {"b"},
    "eigvals": {"b"},
    "eigh": {"b"},
    "eigvalsh": {"b"},
    "qr_delete": {"u"},
    "qr_insert": {"a"},
    "toeplitz": {"r"},
    "hankel": {"r"},
    "lowrank": {"r"},  # the rank
}
DATA = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


def table() -> set[str]:
    """Return the names of the page."""
    section = PAGE.read_text().partition("## Data arguments")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.M)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@each_case("name", FUNCTIONS)
def test_data_are_positional_only_and_of_the_table(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    data = [p.name for p in parameters if p.kind in DATA]
    others = {p.name for p in parameters if p.kind not in DATA}
    assert data
    assert set(data) <= table()
    assert others & table() - {"p"} == OPTIONAL.get(name, set())


def test_the_table_has_no_more_names():
    found = {
        p.name
        for function in FUNCTIONS.values()
        for p in inspect.signature(function).parameters.values()
        if p.kind in DATA
    }
    assert found == table()


@pytest.mark.parametrize("name", ["solve", "qr", "svd", "det", "matrix_rank", "cond", "norm"])
def test_by_keyword_is_a_type_error(name):
    data = {p: mdqr.eye(2, precision="dd") for p in ("a", "b")}
    with pytest.raises(TypeError):
        FUNCTIONS[name](**(data if name == "solve" else {"a": data["a"]}))


A = mdqr.random.normal((3, 3), precision="dd", rng=1)
B = A @ A.T
BY_NAME = {
    "solve": ({"a": B, "b": A}, {}),
    "solve, other order": ({"b": A, "a": B}, {}),
    "lstsq": ({"a": A, "b": B}, {"rcond": None}),
    "inv": ({"a": A}, {}),
    "det": ({"a": A}, {}),
    "svd": ({"a": A}, {"full_matrices": False}),
    "qr": ({"a": A}, {"mode": "r"}),
    "eigh": ({"a": B}, {"UPLO": "U"}),
    "eigvals": ({"a": A}, {}),
    "matrix_rank": ({"A": A}, {"tol": None}),
    "matrix_power": ({"a": A, "n": 3}, {}),
    "norm": ({"x": A}, {"ord": "fro"}),
    "cond": ({"x": A}, {"p": 2}),
    "pinv": ({"a": A}, {"rcond": None}),
}


def limbs(found):
    parts = found if isinstance(found, tuple) else (found,)
    return [x.limbs if isinstance(x, mdqr.MDArray) else x for x in parts]


@pytest.mark.parametrize("call", BY_NAME)
def test_numpy_takes_its_own_names(call):
    """``np.linalg.solve(a=..., b=...)`` of NumPy's signature, with an `MDArray`."""
    name = call.partition(",")[0]
    data, options = BY_NAME[call]
    found = getattr(np.linalg, name)(**data, **options)
    order = [
        data[key] for key in inspect.signature(getattr(np.linalg, name)).parameters if key in data
    ]
    known = getattr(linalg, name)(*order, **options)
    for x, y in zip(limbs(found), limbs(known), strict=True):
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("call", ["solve", "lstsq"])
def test_numpy_takes_one_by_place_and_one_by_name(call):
    found = getattr(np.linalg, call)(B, b=A)
    known = getattr(linalg, call)(B, A)
    np.testing.assert_array_equal(limbs(found)[0], limbs(known)[0])
