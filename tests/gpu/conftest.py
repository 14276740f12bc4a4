"""Fixtures of the device, and the record of a run; those of tests/conftest.py serve here too."""

from __future__ import annotations

import json
import os

import pytest
from gpu_presence import why_no_host
from stand_ins import STAND_INS

# Bytes that a process keeps between two tests.
MOST_KEPT = 2**30
# With processes side by side, the one that collects their results records them.
RECORD = None if "PYTEST_XDIST_WORKER" in os.environ else os.environ.get("MDQR_GPU_RECORD")


def pytest_configure(config):
    # CuPy warns about its own installation, and of functions that NumPy has renamed.
    config.addinivalue_line("filterwarnings", "default:::cupy")


@pytest.fixture(scope="session")
def cupy():
    """CuPy; with MDQR_GPU_NO_POOL every array has memory of its own, as memcheck wants it."""
    import cupy

    if "MDQR_GPU_NO_POOL" in os.environ:
        cupy.cuda.set_allocator(None)
    return cupy


@pytest.fixture(scope="session", autouse=True)
def _stand_in(cupy):
    """Let the device stand in for the smaller one that MDQR_GPU_STAND_IN names."""
    from mdqr._backend.cuda.backend import backend

    name = os.environ.get("MDQR_GPU_STAND_IN")
    if name is not None:
        backend().kernels.limit = STAND_INS[name]


@pytest.fixture(autouse=True)
def _device(cupy):
    """Report the errors of kernels in the test that started them, and leave memory to others.

    Many processes share a device, and kernels need memory for the stacks of their threads, too.
    """
    yield
    cupy.cuda.runtime.deviceSynchronize()
    pool = cupy.get_default_memory_pool()
    if pool.total_bytes() > MOST_KEPT:
        pool.free_all_blocks()


@pytest.fixture(scope="session")
def host():
    """Skip where CPU arrays cannot be computed with."""
    reason = why_no_host()
    if reason is not None:
        pytest.skip(reason)


def pytest_runtest_logreport(report):
    """Append what a finished test says to the file named by MDQR_GPU_RECORD, for run.py."""
    if RECORD is None or (report.when != "call" and report.outcome == "passed"):
        return
    reason = ""
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
    elif report.failed:
        reason = report.longreprtext[-4000:]
    line = {
        "test": report.nodeid,
        "outcome": report.outcome,
        "seconds": report.duration,
        "properties": dict(report.user_properties),
        "reason": reason,
    }
    with open(RECORD, "a") as file:
        file.write(json.dumps(line) + "\n")
