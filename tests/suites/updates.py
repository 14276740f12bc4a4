"""SciPy's tests of QR updates, run with mdqr's functions: a plugin for pytest.

``MDQR_SUITE_PRECISION=qd python -m pytest -c /dev/null -p tests.suites.updates --pyargs
scipy.linalg.tests.test_decomp_update``, in the source tree. The tests are those of the installed
SciPy. Arrays become arrays of the precision, and results the nearest float32 or float64.

The option to overwrite operands is dropped, since mdqr's arrays share no memory with NumPy's. So
64 tests of overwritten memory have to fail, and so have 16 of integers and of types that SciPy
refuses and mdqr takes. These differences are deliberate: a run succeeds if no other test fails,
and none of these passes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg.tests import test_decomp_update

import mdqr
from tests.suites.differences import Differences

PRECISION = os.environ.get("MDQR_SUITE_PRECISION", "qd")
DELIBERATE = re.compile(
    r"test_(overwrite_|unsupported_dtypes|integer_input)"
    r"|QRdelete_.::test_non_unit_strides_(1_row|1_col|p_row)"  # operands that are overwritten
    r"|QRupdate_.::test_non_unit_strides_(economic_)?rank_1"
)
# SciPy's arguments after the arrays, in its order.
ARGUMENTS = {
    "qr_delete": (2, ("k", "p", "which", "overwrite_qr", "check_finite")),
    "qr_insert": (3, ("k", "which", "rcond", "overwrite_qru", "check_finite")),
    "qr_update": (4, ("overwrite_qruv", "check_finite")),
}


def converted(name: str) -> Callable[..., tuple[np.ndarray, ...]]:
    """Return mdqr's function of a name, called as SciPy's is."""
    function = getattr(mdqr.linalg, name)
    operands, names = ARGUMENTS[name]

    def call(*arguments: Any, **options: Any) -> tuple[np.ndarray, ...]:
        arrays = [np.asarray(x) for x in arguments[:operands]]
        options |= dict(zip(names, arguments[operands:], strict=False))
        kept = {k: v for k, v in options.items() if not k.startswith("overwrite")}
        if "check_finite" in kept:
            kept["check"] = kept.pop("check_finite")
        found = function(*(mdqr.array(x, precision=PRECISION) for x in arrays), **kept)
        dtype = np.result_type(np.float32, *arrays)
        return tuple(x.to_numpy().astype(dtype) for x in found)

    return call


def pytest_configure(config: pytest.Config) -> None:
    """Let the run succeed if the tests that fail are the deliberate differences."""
    config.pluginmanager.register(Differences(DELIBERATE.search))


for _name in ARGUMENTS:
    setattr(test_decomp_update, _name, converted(_name))
