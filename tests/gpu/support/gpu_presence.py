"""Why there is no GPU to test on; cheap, since every run of the test suite asks."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache


@cache
def why_absent() -> str | None:
    """Return None where tests can run on a GPU, else the reason why not.

    The driver is asked before CuPy is looked for, and CuPy is not imported.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver on this machine"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "the NVIDIA driver finds no GPU"
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    return None


@cache
def why_no_host() -> str | None:
    """Return None where CPU arrays can be computed with, else the reason why not."""
    from mdqr._backend.host.backend import extension

    try:
        extension()
    except ImportError as error:
        return f"nothing to compare with: {error}"
    return None
