"""The namespace beside array_api_strict, function by function, on the same numbers."""

import operator
import warnings

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from strict_calls import CASES, LINALG
from strict_cases import Numbers, numbers, str_of

import mdqr

# What is compared elsewhere or cannot be: constants and functions without a second opinion.
# array_api_strict 2.6 fails on shapes of different lengths, and ignores `invert`.
APART = {"nextafter", "pow", "broadcast_shapes"}


def plain(x):
    """Return an array as NumPy's, with the name of its dtype in the standard."""
    if isinstance(x, strict._array_object.Array):
        return np.from_dlpack(x).copy(), str_of(x.dtype, strict)
    if isinstance(x, mdqr.MDArray):
        return x.to_numpy(), str_of(x.dtype, x.__array_namespace__())
    if isinstance(x, (np.ndarray, np.generic)):
        assert isinstance(x, np.ndarray)
        return x, x.dtype.name
    return x


def agree(case, data, precision):
    xp = mdqr.array_api(precision)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy below array_api_strict
        wanted = case(Numbers(strict, data))
    with warnings.catch_warnings():
        # Zeros of an inverse that come by cancellation have no digits, which it says.
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        got = case(Numbers(xp, data))
    assert len(got) == len(wanted)
    for i, (ours, theirs) in enumerate(zip(map(plain, got), map(plain, wanted), strict=True)):
        if not isinstance(theirs, tuple) or not isinstance(theirs[0], np.ndarray):
            assert ours == theirs, i
            continue
        assert ours[1] == theirs[1], (i, ours, theirs)
        assert ours[0].shape == theirs[0].shape, (i, ours, theirs)
        # Theirs is rounded at every step.
        close = {"rtol": 2.0**-40, "atol": 2.0**-40}
        np.testing.assert_allclose(ours[0], theirs[0], err_msg=str(i), **close)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=4)
@given(data=numbers())
def test_functions_agree(name, data):
    agree(CASES[name], data, mdqr.qd)


@pytest.mark.parametrize("name", LINALG)
@settings(max_examples=4)
@given(data=numbers())
def test_functions_of_linalg_agree(name, data):
    agree(LINALG[name], data, mdqr.dd)


def functions(namespace):
    names = {
        name for name in dir(namespace) if name[0] != "_" and callable(getattr(namespace, name))
    }
    return {name for name in names if not name[0].isupper() and "strict" not in name}


def test_every_function_is_compared():
    xp = mdqr.array_api
    assert functions(xp) & functions(strict) == {*CASES, *APART}
    assert functions(xp.linalg) == {*LINALG}


def test_what_is_missing_is_known():
    """The page of the array API lists these names."""
    assert functions(strict) <= functions(mdqr.array_api)
    extension = {
        name
        for name in functions(strict.linalg)
        if getattr(getattr(strict.linalg, name), "__module__", "") == "array_api_strict._linalg"
    }
    assert extension <= functions(mdqr.array_api.linalg)


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=4)
@given(data=numbers())
def test_operators_agree(name, data):
    function = getattr(operator, name)
    agree(lambda n: [function(n.x, n.y), function(n.x, 2.0), function(2.0, n.x)], data, mdqr.od)
