"""Options that users have, and choices that the package makes by itself."""

from __future__ import annotations

import inspect
import types

import numpy as np
import pytest

import mdqr
from mdqr import series, tensorcore

PRIVATE = {"panel", "block", "approximant", "min_step"}


@pytest.mark.parametrize("module", [mdqr, mdqr.linalg, series, tensorcore, mdqr.testing], ids=str)
def test_no_function_has_a_knob_without_users(module):
    functions = {name: getattr(module, name) for name in module.__all__}
    functions = {k: f for k, f in functions.items() if isinstance(f, types.FunctionType)}
    assert functions
    for name, function in functions.items():
        assert not PRIVATE & inspect.signature(function).parameters.keys(), name


@pytest.mark.parametrize(
    "call",
    [
        lambda a, **how: mdqr.linalg.qr(a, **how),
        lambda a, **how: mdqr.linalg.qr_factor(a, **how),
        lambda a, **how: mdqr.linalg.qr_insert(*FACTORS, a[0], 0, **how),
        lambda a, **how: mdqr.linalg.qr_update(*FACTORS, a[:, 0], [1.0, 0.0], **how),
        lambda a, **how: mdqr.linalg.qr_delete(FACTORS.Q, a[:2], 0, **how),
        lambda a, **how: mdqr.linalg.repair(a, *FACTORS, **how),
    ],
    ids=["qr", "qr_factor", "qr_insert", "qr_update", "qr_delete", "repair"],
)
def test_check_means_one_thing(call):
    """True raises for what is not finite; False lets it through."""
    a = mdqr.array([[1.0, 2.0], [3.0, 5.0], [7.0, 9.0]], precision="dd")
    call(a)
    a[0, 0] = np.nan
    with pytest.raises(np.linalg.LinAlgError):
        call(a)
    with np.errstate(all="ignore"):
        call(a, check=False)


FACTORS = mdqr.linalg.qr(
    mdqr.array([[1.0, 2.0], [3.0, 5.0], [7.0, 9.0]], precision="dd"),
)
