"""Skips without a GPU, fixtures that need nothing beside this folder, and the record of a run."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import numpy as np
import pytest
from gpu_presence import why_absent, why_no_host

from mdqr._precision import PRECISIONS

HERE = Path(__file__).parent
# With processes side by side, the one that collects their results records them.
RECORD = None if "PYTEST_XDIST_WORKER" in os.environ else os.environ.get("MDQR_GPU_RECORD")


def pytest_configure(config):
    # CuPy warns about its own installation, and of functions that NumPy has renamed.
    config.addinivalue_line("filterwarnings", "default:::cupy")


def pytest_collection_modifyitems(items):
    reason = why_absent()
    if reason is not None:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def cupy():
    """CuPy; with MDQR_GPU_NO_POOL every array has memory of its own, as memcheck wants it."""
    import cupy

    if "MDQR_GPU_NO_POOL" in os.environ:
        cupy.cuda.set_allocator(None)
    return cupy


@pytest.fixture(autouse=True)
def _device(request):
    """Report the errors of kernels in the test that started them."""
    if why_absent() is None:
        cupy = request.getfixturevalue("cupy")
        yield
        cupy.cuda.runtime.deviceSynchronize()
    else:
        yield


@pytest.fixture(scope="session")
def host():
    """Skip where CPU arrays cannot be computed with."""
    reason = why_no_host()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session", params=PRECISIONS, ids=str)
def precision(request):
    """Every precision of the registry."""
    return request.param


@pytest.fixture(scope="session", params=PRECISIONS[1:], ids=str)
def multiple(request):
    """Every precision of more than one limb."""
    return request.param


@pytest.fixture(scope="session", params=[float, complex], ids=["real", "complex"])
def dtype(request):
    """Both fields."""
    return request.param


@pytest.fixture
def rng(request):
    """Return a generator whose seed is the name of the test."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


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
