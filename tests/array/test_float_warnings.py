"""`config.warn_float` warns of floats with fewer digits than the array, and of nothing else."""

from __future__ import annotations

import math
import threading
import warnings

import numpy as np
import pytest

import mdqr

X = mdqr.array(["0.1", "0.2"], precision="qd")


def warned(call):
    with warnings.catch_warnings(record=True) as caught, mdqr.config.warn_float():
        warnings.simplefilter("always")
        call()
    assert all(w.category is mdqr.DataPrecisionWarning and w.filename == __file__ for w in caught)
    return len(caught)


def in_place(x):
    x += 0.1


LONG = {
    "pi": lambda: X * math.pi,
    "reversed": lambda: 0.1 + X,
    "in place": lambda: in_place(X.copy()),
    "array": lambda: np.array([0.5, 0.1]) * X,
    "scalar of NumPy": lambda: X / np.float64(np.pi),
    "complex": lambda: X * 0.1j,
    "list": lambda: mdqr.add(X, [0.1, 2]),
    "function": lambda: mdqr.hypot(X, 0.1),
    "single value": lambda: mdqr.dd(1) * 0.3,
}
SHORT = {
    "half": lambda: X * 0.5 + 3.0 - 2.0**-1000,
    "integers": lambda: X * 2 + np.arange(2),
    "floats of 32 bits": lambda: X * np.array([0.1, 0.2], dtype=np.float32),
    "strings": lambda: mdqr.add(X, ["0.1", "0.3"]),
    "constants": lambda: X * mdqr.pi,
    "not finite": lambda: X * math.inf + math.nan,
    "precision d": lambda: mdqr.array([1.0], precision="d") * 0.1,
    "conversion": lambda: mdqr.array([0.1], precision="qd"),
    "comparison": lambda: X < 0.15,
    "inside": lambda: (mdqr.exp(X), mdqr.linalg.lstsq(np.eye(2), X), mdqr.std(X), X.mean()),
}


@pytest.mark.parametrize("name", LONG)
def test_long_floats_warn(name):
    assert 1 <= warned(LONG[name]) <= 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LONG[name]()


@pytest.mark.parametrize("name", SHORT)
def test_nothing_else_warns(name):
    assert warned(SHORT[name]) == 0


def test_other_threads_do_not_see_it():
    found = []

    def other():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            X * 0.1
        found.append(len(caught))

    with mdqr.config.warn_float():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert found == [0]


def test_the_warning_names_the_float():
    match = r"the float 0\.1 has 16 digits"
    warned = pytest.warns(mdqr.DataPrecisionWarning, match=match)
    with warned as caught, mdqr.config.warn_float():
        X * 0.1
    assert caught[0].message.precision is mdqr.qd
