"""Data are given by position, options by name: one table of names for all public signatures."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from each_case import each_case

import mdqr
from mdqr import array_api, config
from mdqr._array.tables import FUNCTIONS
from mdqr.testing import assert_same_bits

# Names of data; of functions that NumPy has, they are NumPy's.
DATA = {
    *("a", "a1", "a2", "b", "x", "x1", "x2", "y", "p", "v", "f", "xp", "fp", "m", "A", "ar", "ary"),
    *("arr", "array", "arrays", "tup", "val", "values", "condition", "element", "test_elements"),
    *("limbs", "obj", "indices", "file", "n", "nbytes", "dtype", "z", "u", "seq_of_zeros"),
    *("ar1", "ar2", "choices", "bins", "sample", "keys", "condlist", "choicelist", "funclist"),
    *("filt", "mask", "vals", "ind"),
}
# What is no data, of parameters that have no default.
OPTIONS = {
    *(
        "axis",
        "axes",
        "axis1",
        "axis2",
        "source",
        "destination",
        "shape",
        "shift",
        "repeats",
        "reps",
    ),
    *("indices_or_sections", "q", "deg", "fill_value", "precision", "kth"),
    *("pad_width", "new_shape", "digits"),
}
# As NumPy's constructors and files.
BY_NAME = {
    *("empty", "full", "ones", "zeros", "eye", "arange", "linspace", "load", "loadz", "loadtxt"),
    *("logspace", "geomspace", "mmread", "read_touchstone", "identity", "tri", "apply_along_axis"),
    *("bartlett", "blackman", "hamming", "hanning", "kaiser"),
}
# In NumPy object, a, prototype, arr and X.
OTHER_NAMES = {"array", "asarray", "empty_like", "save", "savetxt"}
PUBLIC = {
    name: value
    for name in mdqr.__all__
    if inspect.isfunction(value := getattr(mdqr, name)) and name != "matmul"
}


def required(function):
    parameters = inspect.signature(function).parameters.values()
    return [p for p in parameters if p.default is p.empty and p.kind.name[:4] != "VAR_"]


def test_there_are_functions():
    assert len(PUBLIC) > 150


@each_case("name", PUBLIC)
def test_data_are_given_by_position(name):
    for parameter in required(PUBLIC[name]):
        if name in BY_NAME:
            assert parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        elif parameter.name in OPTIONS:
            assert parameter.kind is not parameter.POSITIONAL_ONLY
        else:
            assert parameter.name in DATA
            assert parameter.kind is parameter.POSITIONAL_ONLY


@each_case("name", PUBLIC)
def test_options_have_names(name):
    for parameter in inspect.signature(PUBLIC[name]).parameters.values():
        if parameter.default is not parameter.empty:
            assert parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


@each_case("name", PUBLIC)
def test_names_are_those_of_numpy(name):
    if not hasattr(np, name) or name in OTHER_NAMES | BY_NAME:
        return
    try:
        theirs = list(inspect.signature(getattr(np, name)).parameters)
    except ValueError:  # functions in C before NumPy 2.4
        return
    ours = [p.name for p in required(PUBLIC[name])]
    skipped = ours[:1] == ["file"]
    assert theirs[skipped : len(ours)] == ours[skipped:]


def test_other_modules_have_data_by_position():
    for module in (config, array_api, array_api.linalg, array_api.special):
        for name in module.__all__:
            function = getattr(module, name)
            if not inspect.isroutine(function):
                continue
            for parameter in required(function):
                if parameter.kind is not parameter.POSITIONAL_ONLY:
                    assert parameter.name in {
                        "shape",
                        "fill_value",
                        "num",
                        "kind",
                        "dtype",
                        *OPTIONS,
                    }
                    assert parameter.name not in {"x", "x1", "x2", "array", "arrays"}


def test_precisions_take_data_by_position():
    with pytest.raises(TypeError, match="positional"):
        mdqr.qd(x=1)
    assert_same_bits(mdqr.qd(1), mdqr.array(1, precision="qd"))


X = mdqr.array([[3, 1], [2, 4]], precision=mdqr.qd)
V = X[0]
CALLS = {
    "sum": {"a": X, "axis": 0},
    "mean": {"axis": 0, "a": X},
    "max": {"a": X},
    "std": {"a": X, "ddof": 1},
    "clip": {"a_min": 2, "a": X, "a_max": 3},
    "round": {"a": X, "decimals": 1},
    "append": {"arr": V, "values": [1.0]},
    "insert": {"arr": V, "obj": 1, "values": 7},
    "delete": {"arr": V, "obj": 0},
    "take": {"a": V, "indices": [1], "axis": 0},
    "interp": {"x": [0.5], "xp": [0.0, 1.0], "fp": V},
    "searchsorted": {"a": V[::-1], "v": [2.0], "side": "right"},
    "tensordot": {"a": X, "b": X, "axes": 1},
    "isclose": {"a": X, "b": X},
    "isin": {"element": X, "test_elements": [1.0]},
    "sort": {"a": X, "axis": 0},
    "stack": {"arrays": [V, V], "axis": 1},
    "broadcast_to": {"array": V, "shape": (2, 2)},
    "zeros_like": {"a": X},
    "polyval": {"p": V, "x": X},
    "polyfit": {"x": V, "y": V + 1, "deg": 1},
    "trapezoid": {"y": V, "x": [0.0, 1.0]},
    "vander": {"x": V, "N": 2},
    "tile": {"A": V, "reps": 2},
    "diag": {"v": V},
    "flip": {"m": X, "axis": 0},
    "unique": {"ar": X},
    "roots": {"p": V},
    "shape": {"a": X},
}


@pytest.mark.parametrize("name", CALLS)
def test_numpy_is_called_by_name(name):
    """NumPy's functions take data by name: ``np.sum(a=x)``."""
    found, wanted = (getattr(np, name)(**call) for call in (CALLS[name], plain(CALLS[name])))
    np.testing.assert_allclose(plain(found), wanted, rtol=1e-14)


def plain(x):
    """Return arrays of mdqr as those of NumPy, also in a list or a dict."""
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, list):
        return [plain(value) for value in x]
    return x.to_numpy() if isinstance(x, mdqr.MDArray) else x


def test_every_numpy_function_finds_its_data():
    """The names by which NumPy takes data are those of the function that answers."""
    for function, answer in FUNCTIONS.items():
        own = [p.name for p in required(answer) if p.kind is p.POSITIONAL_ONLY]
        try:
            theirs = list(inspect.signature(function).parameters)
        except ValueError:
            continue
        assert theirs[: len(own)] == own or function is np.empty_like


def test_what_is_missing_is_an_error():
    with pytest.raises(TypeError, match="values"):
        np.append(arr=V)
    with pytest.raises(TypeError, match="wrong"):
        np.append(V, V, wrong=1)


TWINS = ("cross", "diagonal", "matrix_transpose", "outer", "tensordot", "trace", "vecdot")


@pytest.mark.parametrize("name", TWINS)
def test_twins_say_what_differs(name):
    for function, other in (
        (getattr(mdqr, name), f"`mdqr.linalg.{name}`"),
        (getattr(mdqr.linalg, name), f"`mdqr.{name}`"),
    ):
        assert other in function.__doc__.strip().partition("\n")[0]


def test_all_twins_are_known():
    both = {*mdqr.__all__} & {*mdqr.linalg.__all__}
    assert {n for n in both if getattr(mdqr, n) is not getattr(mdqr.linalg, n)} == {*TWINS}


def test_roots_are_in_linalg_alone():
    assert not hasattr(mdqr, "roots")
    p = [1, -6, 11, -6]
    found = mdqr.linalg.roots(p, precision=mdqr.qd)
    assert_same_bits(np.roots(mdqr.qd(p)), found.roots)
