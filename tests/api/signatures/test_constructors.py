"""Classes that only functions make say so, and show no plumbing."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import mdqr
from mdqr import series

SYSTEM = series.System.from_strings(["x^2 - 1 - 3*t"], ["x"], "t")
MADE = {
    series.System: (SYSTEM, "from_strings"),
    series.SeriesSolution: (series.newton_series(SYSTEM, [1], degree=2), "newton_series"),
    mdqr.linalg.QRFactor: (mdqr.linalg.qr_factor(np.eye(2)), "qr_factor"),
    mdqr.MDArray: (mdqr.eye(2, precision="dd"), "mdqr.array"),
}


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_made_by_functions_alone(kind):
    made, maker = MADE[kind]
    assert type(made) is kind
    with pytest.raises(TypeError, match=f"{kind.__name__} cannot be constructed directly.*{maker}"):
        kind(np.eye(2))
    assert not {"exponents", "inputs", "scaled"} & inspect.signature(kind).parameters.keys()


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_copies_and_pickles_need_no_constructor(kind):
    made, _ = MADE[kind]
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert repr(other) == repr(made)


def test_plumbing_is_private():
    public = {name for name in dir(SYSTEM) if name[0] != "_"}
    assert public == {
        *("equations", "from_arrays", "from_strings", "from_sympy", "from_text"),
        *("is_complex", "parameter", "variables"),
    }
    assert "compare" not in dir(series.SeriesSolution)
