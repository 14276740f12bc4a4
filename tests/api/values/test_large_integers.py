"""Integers beyond 2**53 are exact numbers: nothing rounds them to a double in silence."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr
from mdqr import linalg
from mdqr.testing import assert_same_bits

LARGE = 10**17 + 1
KINDS = {
    "lists": lambda x: x,
    "int64": lambda x: np.array(x, dtype=np.int64),
    "uint64": lambda x: np.array(x, dtype=np.uint64),
    "objects": lambda x: np.array(x, dtype=object),
    "rows": lambda x: [np.array(row) for row in x],
    "mixed": lambda x: [[float(x[0][0]), *x[0][1:]], *x[1:]],
}
CALLS = {
    "det": linalg.det,
    "inv": linalg.inv,
    "matmul": lambda a, **o: linalg.matmul(a, [[1, 2], [3, 4]], **o),
    "solve": lambda a, **o: linalg.solve(a, [1, 2], **o),
    "solve b": lambda a, **o: linalg.solve([[2, 1], [1, 3]], a, **o),
    "lstsq": lambda a, **o: linalg.lstsq([[1, 0], [0, 1], [1, 1]], [1, 2, a[0][1]], **o).x,
    "qr": lambda a, **o: linalg.qr(a, **o).R,
    "norm": linalg.norm,
    "eigvals": linalg.eigvals,
    "companion": lambda a, **o: linalg.companion(a[0], **o),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_precision_is_asked_for(call, kind):
    a = kind([[3, LARGE], [5, 7]])
    with pytest.raises(TypeError, match="exact numbers have no precision of their own"):
        call(a)
    exact = mdqr.array([[3, LARGE], [5, 7]], precision="qd")
    assert_same_bits(call(a, precision="qd"), call(exact))


@pytest.mark.parametrize("kind", [KINDS[name] for name in KINDS if name != "objects"])
def test_small_integers_count_as_doubles(kind):
    assert linalg.matmul(kind([[2**53, 1]]), [[1], [0]]).precision is mdqr.d
