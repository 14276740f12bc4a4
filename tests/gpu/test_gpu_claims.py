"""Hard problems on the device: its bounds, digits and disks against exact solutions."""

from __future__ import annotations

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr import linalg

pytest.importorskip("flint")
from tests.adversarial.run import FUNCTIONS
from tests.adversarial.verdicts import DEFECTS

pytestmark = pytest.mark.gpu

# Problems of a run: a small problem takes some 20 launches.
COUNTS = {
    "lstsq": 60,
    "lstsq by Householder": 40,
    "lstsq of wide matrices": 40,
    "lstsq near its limit": 30,
    "solve": 60,
    "eig": 30,
    "roots": 20,
}


def _there(x):
    """Move an operand, or those in a dict."""
    if isinstance(x, mdqr.MDArray):
        return x.to_device(cases.DEVICE)
    if isinstance(x, np.ndarray):
        return pytest.importorskip("cupy").asarray(x)
    return {key: _there(value) for key, value in x.items()} if isinstance(x, dict) else x


class _Result:
    """A result, its arrays on the host."""

    def __init__(self, result):
        self._result = result

    def __getattr__(self, name):
        return _here(getattr(self._result, name))

    def __iter__(self):
        return map(_here, self._result)


def _here(x):
    if isinstance(x, mdqr.MDArray):
        return x.to_device("cpu")
    return _Result(x) if isinstance(x, tuple) else x


def on_device(function):
    """Return a function of `linalg` that moves operands to the device and results back."""

    def call(*operands, **options):
        options = {name: _there(value) for name, value in options.items()}
        return _here(function(*map(_there, operands), **options))

    return call


@pytest.mark.parametrize("name", COUNTS)
def test_claims(name, monkeypatch):
    for function in ("lstsq", "solve", "eig", "roots"):
        monkeypatch.setattr(linalg, function, on_device(getattr(linalg, function)))
    gaps = []
    for index in range(COUNTS[name]):
        _, verdict = FUNCTIONS[name](31, index)
        wrong = verdict.flags & set(DEFECTS)
        assert not wrong, (index, wrong, verdict.message)
        gaps += [gap for kind, gap in verdict.gaps if kind != "vectors"]
    # Bounds are within a digit of errors, as a rule.
    assert np.median(gaps) < 1
