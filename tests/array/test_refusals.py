"""What refused conversions say: who called, and what keeps the digits."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.linalg

import mdqr

A = mdqr.eye(2, precision="qd") / 3

REFUSED = {
    "asarray": (lambda: np.asarray(A), r"^an MDArray of precision qd is not rounded .* a data fr"),
    "eigh": (lambda: scipy.linalg.eigh(A), r"^scipy\.linalg\.eigh asks .*mdqr\.linalg\.eigh keeps"),
    "ldl": (lambda: scipy.linalg.ldl(A), r"^scipy\.linalg\.ldl asks .*mdqr\.linalg\.ldl keeps"),
    "assert_allclose": (
        lambda: np.testing.assert_allclose(A, A),
        r"^numpy\.testing\.assert_allclose asks .*mdqr\.testing\.assert_allclose\(.* keeps",
    ),
    "Series": (lambda: pd.Series(A[0]), "convert a data frame or a masked array"),
    "save": (lambda: np.save("x", A), r"mdqr\.save\(file, a\) keeps all digits"),
    "savez": (lambda: np.savez("x", A), r"mdqr\.savez\(file, a\) keeps all digits"),
    "savetxt": (lambda: np.savetxt("x", A), r"mdqr\.savetxt\(file, a\) keeps all digits"),
    "array2string": (lambda: np.array2string(A), "mdqr.printoptions.*to_strings"),
    "common_type": (
        lambda: np.common_type(A),
        r"numpy\.common_type\(a\.to_numpy\(\)\) computes",
    ),
    "float": (
        lambda: A.astype(float),
        r"a\.astype\(float64\) would leave.*a\.to_numpy\(\) returns",
    ),
    "float64": (lambda: A.astype(np.float64), r"a\.to_numpy\(\) returns an array of NumPy"),
    "f4": (lambda: A.astype("f4"), r"a\.astype\(float32\) would leave"),
    "int": (lambda: A.astype(int), r"xp\.astype\(a, xp\.int64\)"),
    "list": (lambda: A.astype([1]), "precision must be one of"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_messages_name_the_caller_and_the_way_to_keep_digits(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        call()
    assert not list(tmp_path.iterdir())


def test_a_function_that_is_called_like_one_of_a_package_is_none():
    """Only functions of known packages are named, not those of the caller."""

    def eigh(a):
        return np.asarray(a)

    with pytest.raises(TypeError, match=r"^an MDArray"):
        eigh(A)


def test_complex_is_a_field():
    for kind in (complex, np.complex128, "complex128"):
        a = A.astype(kind)
        assert a.is_complex
        assert a.precision is mdqr.qd
        np.testing.assert_array_equal(a.real.limbs, A.limbs)
    assert A.astype("d").precision is mdqr.d
    with pytest.raises(ValueError, match="precision must be one of"):
        A.astype("quad")


def test_dtypes_say_that_they_are_not_numpys():
    for name in ("type", "names", "fields"):
        with pytest.raises(AttributeError, match=rf"is no dtype of NumPy.*'{name}'"):
            getattr(A.dtype, name)
    assert pickle.loads(pickle.dumps(A.dtype)) is A.dtype
    assert copy.deepcopy(A.dtype) is A.dtype


@pytest.mark.parametrize("old", ["amax", "amin", "around"])
def test_other_names_of_numpy(old):
    new = {"amax": "max", "amin": "min", "around": "round"}[old]
    np.testing.assert_array_equal(getattr(np, old)(A).limbs, getattr(mdqr, new)(A).limbs)


def test_what_an_array_lacks_is_not_there():
    """Attributes that say what to use instead are neither listed nor found."""
    a = mdqr.ones(2, precision=mdqr.dd)
    for name in ("strides", "flags", "tobytes", "resize"):
        assert name not in dir(a)
        assert not hasattr(a, name)
        assert not hasattr(type(a), name)
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': .*(mdqr|limbs)"):
            getattr(a, name)
    assert "real" in dir(a)
    with pytest.raises(AttributeError):
        a.strides = (8,)
    # With it, each access to a slot or a method takes a slower way.
    assert not hasattr(type(a), "__getattr__")
