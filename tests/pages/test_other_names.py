"""The page of names from other libraries: all that it names is there, and the rest is not."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import mdqr

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "other-names.md"
ROWS = [
    [part.strip() for part in line.strip("|").split("|")]
    for line in PAGE.read_text().split("\n")
    if line.startswith("| `")
]


def found(path):
    module, _, name = path.rpartition(".")
    return hasattr(import_module(module), name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_is_there(row):
    wanted, state = row
    paths = re.findall(r"`(mdqr(?:\.\w+)+)", state)
    for path in paths:
        assert path == "mdqr.linalg" or found(path), path
    if state.endswith("and so on"):
        home = paths[0].rpartition(".")[0]
        for name in re.findall(r"`(\w+)`", wanted):
            assert found(f"{home}.{name}"), name


def test_what_is_absent_is_not_there():
    for name in ("chebfit", "lfilter", "minimize", "odeint", "solve_ivp"):
        assert not any(hasattr(m, name) for m in (mdqr, mdqr.linalg, mdqr.approx, mdqr.optimize))


def test_numpys_own_take_arrays():
    x = mdqr.qd(["0.1", "0.2"])
    c = np.array([1.0, 2.0, 3.0])
    found = np.polynomial.chebyshev.chebval(x, c)
    assert isinstance(found, mdqr.MDArray)
    assert float(abs(found - (1 + 2 * x + 3 * (2 * x * x - 1))).max()) <= 16 * mdqr.qd.eps
    found = np.polynomial.polynomial.polyval(x, c)
    assert float(abs(found - (1 + 2 * x + 3 * x * x)).max()) <= 16 * mdqr.qd.eps
    places = np.arange(2)[:, None] + np.arange(1)
    assert x[places].shape == (2, 1)
