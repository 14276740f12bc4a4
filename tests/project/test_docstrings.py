"""Docstrings that share sections: complete for a reader of `help`, and the functions themselves."""

from __future__ import annotations

import importlib
import inspect
import re
import typing

import pytest

from mdqr._docstrings import documented

MODULES = ["mdqr", "mdqr.linalg", "mdqr.optimize", "mdqr.plot", "mdqr.series", "mdqr.series.plot"]
MODULES += [
    "mdqr.approx",
    "mdqr.distributed",
    "mdqr.fft",
    "mdqr.quadrature",
    "mdqr.random",
    "mdqr.sparse",
    "mdqr.pandas",
    "mdqr.tensorcore",
    "mdqr.testing",
]

FAMILY = """
Parameters
----------
x : int
    The value.
y, z : int
    Others.
w : int
    Not of every function.

Returns
-------
int
    A number.

Raises
------
ValueError
    If `x` is negative.
KeyError
    If `w` is missing.
"""


@documented(FAMILY)
def example(x: int, z: int = 0, *y: int, u: int) -> int:
    """Return a number.

    Special values come here.

    Parameters
    ----------
    u : int
        A keyword.

    Raises
    ------
    TypeError
        If `u` is not a number.

    >>> 1 + 1
    2
    """
    return x


def test_sections_are_completed_in_the_order_of_the_signature():
    assert inspect.getdoc(example) == (
        "Return a number.\n\nSpecial values come here.\n\n"
        "Parameters\n----------\nx : int\n    The value.\ny, z : int\n    Others.\n"
        "u : int\n    A keyword.\n\n"
        "Returns\n-------\nint\n    A number.\n\n"
        "Raises\n------\nValueError\n    If `x` is negative.\n"
        "TypeError\n    If `u` is not a number."
        "\n\nExamples\n--------\n>>> import mdqr\n>>> 1 + 1\n2"
    )


def test_the_function_is_the_same():
    assert inspect.isfunction(example)
    assert not hasattr(example, "__wrapped__")
    assert typing.get_type_hints(example)["return"] is int


def test_sections_of_another_function():
    @documented(example)
    def other(x: int) -> int:
        """Return another number.

        Returns
        -------
        int
            Another number.
        """
        return x

    text = inspect.getdoc(other)
    assert "u : int" not in text
    assert "`u`" not in text, "errors of parameters that it lacks"
    assert "Another number." in text
    assert "    A number." not in text
    assert ">>>" not in text, "examples are of one function"


def test_without_docstrings():
    def bare(x: int) -> int:
        return x

    assert documented(FAMILY)(bare).__doc__ is None


def described(text: str) -> list[str]:
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^[A-Z]\w[\w ]*\n--|\Z)", text, re.M | re.S)
    heads = re.findall(r"^(\S.*)$", section[1], re.MULTILINE) if section else []
    return [name.strip(" *") for head in heads for name in head.partition(" :")[0].split(",")]


@pytest.mark.parametrize("module", MODULES)
def test_help_describes_all_parameters_in_order_and_no_others(module):
    public = importlib.import_module(module)
    functions = {name: getattr(public, name) for name in public.__all__}
    wrong = {}
    for name, function in functions.items():
        if inspect.isfunction(function):
            names = list(inspect.signature(function).parameters)
            texts = described(inspect.getdoc(function))
            if names != texts:
                wrong[name] = texts, names
    assert wrong == {}
