"""Who flushes subnormal numbers: flags of x86, which the extension sets for tests."""

from __future__ import annotations

import platform
from contextlib import contextmanager

import pytest

needs_mxcsr = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="MXCSR is x86's"
)


@contextmanager
def flushing():
    """Flush subnormal results to zero and take subnormal operands for zeros."""
    import _mdqr_host

    _mdqr_host.set_ftz(True)
    try:
        yield
    finally:
        _mdqr_host.set_ftz(False)
