"""Handlers of the errors of `numpy.linalg` catch those of `mdqr.linalg`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from each_case import each_case

import mdqr
from mdqr import linalg

FUNCTIONS = {
    name: (getattr(np.linalg, name), getattr(linalg, name))
    for name in (
        "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_rank",
        "norm", "pinv", "qr", "slogdet", "svd",
    )
}  # fmt: skip
FUNCTIONS["solve"] = tuple(
    lambda a, f=f: f(a, np.ones(np.shape(a)[-1:])) for f in (np.linalg.solve, linalg.solve)
)
FUNCTIONS["lstsq"] = tuple(
    lambda a, f=f: f(a, np.ones(np.shape(a)[:1])) for f in (np.linalg.lstsq, linalg.lstsq)
)
INPUTS = {
    "regular": np.array([[4.0, 1.0], [1.0, 3.0]]),
    "singular": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "indefinite": np.array([[1.0, 2.0], [2.0, 1.0]]),
    "NaN": np.array([[1.0, np.nan], [2.0, 3.0]]),
    "infinite": np.array([[1.0, np.inf], [2.0, 3.0]]),
    "wide": np.ones((2, 3)) + np.eye(2, 3),
    "tall": np.ones((3, 2)) + np.eye(3, 2),
    "a vector": np.ones(3),
    "a number": np.array(2.0),
    "empty": np.empty((0, 0)),
    "no rows": np.empty((0, 3)),
    "three axes": np.stack([np.eye(2), 2 * np.eye(2)]),
}


def _raised(function, a):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(a)
        except Exception as error:
            return error
    return None


@each_case("name", FUNCTIONS)
@each_case("kind", INPUTS)
def test_errors_are_of_the_class_of_numpy(name, kind):
    theirs, ours = FUNCTIONS[name]
    wanted = _raised(theirs, INPUTS[kind])
    found = _raised(ours, mdqr.array(INPUTS[kind], precision="dd"))
    if wanted is not None and found is not None:
        assert isinstance(found, type(wanted)), f"{found!r}; NumPy: {wanted!r}"
    # What NumPy answers by NaN is refused.
    assert found is None or isinstance(found, np.linalg.LinAlgError) or wanted is not None


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in FUNCTIONS if name not in ("norm", "matrix_rank")),
        *("null_space", "polar", "lowrank", "schur", "lu_factor", "qr_factor"),
    ],
)
def test_errors_name_the_function_that_was_called(name):
    """Not one that it calls: cond, null_space and polar are found by singular values."""
    _, function = FUNCTIONS.get(name, (None, getattr(linalg, name)))
    for wrong in (np.full((2, 2), np.nan), np.array(2.0)):
        error = _raised(function, wrong)
        assert error is not None
        assert str(error).startswith(f"{name}: "), error


@pytest.mark.parametrize("p", ["trace", 3, np.nan, [1]])
def test_cond_names_its_norms(p):
    with pytest.raises(ValueError, match="cond: p must be None or one of"):
        linalg.cond(INPUTS["regular"], p)
    assert linalg.cond(INPUTS["regular"], "nuc") > 1


@pytest.mark.parametrize("name", ["lu_solve", "cho_solve"])
@pytest.mark.parametrize("factors", [np.ones((2, 1, 1)), mdqr.qd(np.ones((2, 1, 1))), (1, 2, 3)])
def test_factors_without_their_second_part_are_refused(name, factors):
    """The two rows of an array are not a factor and its pivots."""
    with pytest.raises(TypeError, match=f"{name}: .* must be a tuple of two"):
        getattr(linalg, name)(factors, [1.0])


def test_a_precision_as_a_function_names_its_options():
    assert mdqr.qd("0.1", dtype=complex).is_complex
    with pytest.raises(TypeError, match=r"__call__\(\) got an unexpected .*'precision'"):
        mdqr.qd(1, precision="dd")
