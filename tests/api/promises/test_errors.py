"""Handlers of the errors of `numpy.linalg` catch those of `mdqr.linalg`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

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


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", INPUTS)
def test_errors_are_of_the_class_of_numpy(name, kind):
    theirs, ours = FUNCTIONS[name]
    wanted = _raised(theirs, INPUTS[kind])
    found = _raised(ours, mdqr.array(INPUTS[kind], precision="dd"))
    if wanted is not None and found is not None:
        assert isinstance(found, type(wanted)), f"{found!r}; NumPy: {wanted!r}"
    # What NumPy answers by NaN is refused.
    assert found is None or isinstance(found, np.linalg.LinAlgError) or wanted is not None
