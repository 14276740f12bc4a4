"""Small problems take few Python calls: most users have small ones."""

from __future__ import annotations

import pytest

from benchmarks.cpu.walks import calls, walk

MOST = {
    "qr 8x4": 125,
    "lstsq 8x4": 130,
    "lstsq 4x8": 480,
    "solve 4x4": 95,
    "svd 4x4": 350,
    "eigh 4x4": 335,
    "eig 4x4": 520,
    "pinv 4x4": 650,
    "qr_insert, a row into 8x4": 180,
    "UpdatableLstsq.insert_rows, a row": 100,
    "UpdatableLstsq, a row and R": 260,
    "newton_series, 2 unknowns, degree 8": 355,
}


@pytest.mark.parametrize("name", MOST)
def test_calls_are_few(name):
    """The limits leave room for other versions of Python, whose comprehensions are no calls."""
    assert walk(calls()[name]).total() <= MOST[name]
