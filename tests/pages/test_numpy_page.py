"""The page of NumPy's functions is that of the tables."""

import numpy as np
import pytest
from numpy_page import ATTRIBUTES, PAGE, other_names, page

import mdqr
from mdqr._array.tables import FUNCTIONS, UFUNCS


def test_the_page_is_that_of_the_tables():
    assert PAGE.read_text() == page(), "python tests/pages/numpy_page.py writes it anew"


def test_what_the_page_names_is_there():
    text = page()
    assert text.count("| `numpy.") > 150
    for line in text.split("\n"):
        if line.startswith("| `numpy."):
            assert (
                "| of NumPy's name alone |" in line or "`mdqr." in line or "a" in line.split("|")[2]
            )
            value: object = np
            for part in line.split("`")[1].split(".")[1:]:
                value = getattr(value, part)
            assert callable(value) or hasattr(value, "__getitem__")  # mgrid


def test_every_function_of_numpy_has_a_state():
    answered = {f.__name__ for f in (*FUNCTIONS, *UFUNCS)}
    states = other_names()
    for name in dir(np):
        function = getattr(np, name)
        if name[0] != "_" and callable(function) and not isinstance(function, type):
            assert getattr(function, "__name__", name) in answered or name in states, name
    assert not [name for name in states if name in answered]


@pytest.mark.parametrize("name", sorted({n for n in dir(np.ndarray) if n[0] != "_"}))
def test_attributes_of_arrays_are_there_or_named(name):
    """So that no attribute of NumPy's arrays is forgotten."""
    absent = {"choose", "compress", "resize", "setflags", "byteswap", "view"}
    elsewhere = {"base", "ctypes", "data", "dump", "dumps", "flags", "strides", "tofile"}
    later = {
        "tobytes",
        "getfield",
        "setfield",
        "newbyteorder",
        "tostring",
        "device",
        # Methods of NumPy before 2.3 that only say where they went.
        "itemset",
        "ptp",
    }
    if name in absent | elsewhere:
        assert not hasattr(mdqr.MDArray, name)
        assert f"`{name}" in ATTRIBUTES or name in ("dumps", "flat")
    elif name not in later:
        assert hasattr(mdqr.MDArray, name)
