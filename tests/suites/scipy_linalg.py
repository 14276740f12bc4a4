"""SciPy's tests of polar factors, Toeplitz systems, Cholesky factors and LDL, run with mdqr.

``MDQR_SUITE_PRECISION=qd python -m pytest -c /dev/null -p tests.suites.scipy_linalg --pyargs
scipy.linalg.tests.test_decomp_polar``, in the source tree; `NAMES` has the other modules. The tests
are those of the installed SciPy. Calls are bound by SciPy's signatures. Arrays become arrays of the
precision, and results the nearest numbers of the type that the operands have.

Options to overwrite operands and not to check them are dropped. Three differences are deliberate,
and a run succeeds if no other test fails and none of these passes: SciPy warns of an imaginary
diagonal, which mdqr does not read, and refuses two regular Toeplitz matrices with a singular
leading block, which mdqr solves. For a third one SciPy expects its own test to fail; with mdqr it
passes.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import mdqr
from tests.suites.differences import Differences

PRECISION = os.environ.get("MDQR_SUITE_PRECISION", "qd")
NAMES = {
    "test_decomp_polar": ("polar",),
    "test_solve_toeplitz": ("solve_toeplitz",),
    "test_decomp_cholesky": ("cholesky", "cho_solve"),
    "test_decomp_ldl": ("ldl",),
}
DELIBERATE = (
    "::test_args",  # of LDL
    "::test_zero_diag_error",  # of Toeplitz systems
    "::test_wikipedia_counterexample",
)
DROPPED = ("overwrite_a", "overwrite_b", "check_finite")


def to_mdqr(value: Any) -> Any:
    """Return arrays of numbers, also in tuples, as arrays of the precision."""
    if isinstance(value, tuple):
        return tuple(map(to_mdqr, value))
    if np.ndim(value) and np.asarray(value).dtype.kind in "iufc":
        return mdqr.array(np.asarray(value), precision=PRECISION)
    return value


def to_numpy(value: Any, dtype: np.dtype) -> Any:
    """Return arrays of mdqr, also in tuples, as arrays of NumPy."""
    if isinstance(value, tuple):
        return tuple(to_numpy(x, dtype) for x in value)
    return value.to_numpy().astype(dtype) if isinstance(value, mdqr.MDArray) else value


def dtype_of(values: Any) -> np.dtype:
    """Return the type of SciPy's results for operands, of float32 at least."""
    flat = [x for v in values for x in (v if isinstance(v, tuple) else (v,))]
    return np.result_type(np.float32, *(np.asarray(x).dtype for x in flat if np.ndim(x)))


def converted(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return mdqr's function of a name, called as SciPy's is."""
    function = getattr(mdqr.linalg, original.__name__)
    signature = inspect.signature(original)
    own = inspect.signature(function).parameters.values()
    operands = sum(p.kind is p.POSITIONAL_ONLY for p in own)

    def call(*arguments: Any, **options: Any) -> Any:
        bound = signature.bind(*arguments, **options).arguments
        kept = {k: v for k, v in bound.items() if k not in DROPPED}
        if original.__name__ == "cholesky":
            kept["upper"] = not kept.pop("lower", False)
        values = [kept.pop(name) for name in list(signature.parameters)[:operands]]
        found = function(*map(to_mdqr, values), **kept)
        return to_numpy(found, dtype_of(values))

    return call


def pytest_configure(config: pytest.Config) -> None:
    """Let the run succeed if the tests that fail are the deliberate differences."""
    config.pluginmanager.register(Differences(lambda test: test.endswith(DELIBERATE)))


for _module, _names in NAMES.items():
    _tests = import_module(f"scipy.linalg.tests.{_module}")
    for _name in _names:
        setattr(_tests, _name, converted(getattr(_tests, _name)))
