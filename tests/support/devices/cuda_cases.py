"""Cases and comparisons that the tests of emulated CUDA kernels share."""

from __future__ import annotations

import numpy as np
import pytest

from mdqr._backend import protocol
from mdqr._precision import PRECISIONS

# Every module takes a compiler about a second: the plain run leaves out what others imply.
IMPLIED = {"square", "reciprocal", "subtract", "floor", "ceil", "hypot", "min", "prod"}
# Those of an elementary function take several: the plain run has one of each kind of argument.
SAMPLE = {"exp", "sin", "arctan2"}
ELEMENTARY = {*protocol.ELEMENTARY_UNARY, *protocol.ELEMENTARY_BINARY}
REAL_ONLY = protocol.REAL_ONLY | {"compare", "ldexp", "max", "min"}


FIELDS = [float, complex]
EVERY = [
    pytest.param(precision, dtype, id=f"{precision}-{dtype.__name__}")
    for precision in PRECISIONS
    for dtype in FIELDS
]


def cases(operations, dtypes=(float, complex)):
    """Return operations by precisions and fields; those that others imply are `long`."""
    pair, quadruple = PRECISIONS[1:3]
    result = []
    for precision in PRECISIONS:
        for dtype in dtypes:
            for op in operations:
                if dtype is complex and op in REAL_ONLY:
                    continue
                wanted = precision is pair or (
                    precision is quadruple and dtype is float and op not in IMPLIED
                )
                if op in ELEMENTARY:
                    wanted = op in SAMPLE and precision is pair and dtype is float
                marks = [] if wanted else [pytest.mark.long]
                name = f"{op}-{precision}-{dtype.__name__}"
                result.append(pytest.param(op, precision, dtype, marks=marks, id=name))
    return result


def flipped_axes(block, count):
    """Return a view with the last `count` axes in the opposite order."""
    leading = block.ndim - count
    return block.transpose(*range(leading), *reversed(range(leading, block.ndim)))


def assert_same(x, y):
    """Compare bit for bit; all NaNs are one value."""
    assert x.shape == y.shape
    assert x.dtype == y.dtype
    if x.dtype != np.float64:
        np.testing.assert_array_equal(x, y)
        return
    differ = np.ascontiguousarray(x).view(np.int64) != np.ascontiguousarray(y).view(np.int64)
    differ &= ~(np.isnan(x) & np.isnan(y))
    assert not differ.any(), np.argwhere(differ)[:5]
