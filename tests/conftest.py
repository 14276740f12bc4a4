"""Hypothesis profiles and the fixtures that run a test over precisions and fields."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from mdqr._cli import main
from mdqr._precision import PRECISIONS, Precision

# Arrays of 128 values (support/elementwise_cases.py): at least 2,000 in every run, padding aside.
settings.register_profile(
    "default",
    max_examples=20,
    deadline=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# As many values from half as many draws, which take most of the time where arrays are short.
settings.register_profile("arrays", settings.get_profile("default"), max_examples=10)
# For what is marked `long`: 200,000 values from arrays of 2,000.
settings.register_profile(
    "long",
    settings.get_profile("default"),
    max_examples=200,
    derandomize=False,
)
settings.load_profile("default")

# Plugins for tests of others, which import those: a run of its own each.
collect_ignore = ["suites"]

# Collecting makes millions of objects that stay: each search for garbage would go through them.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
    # Fractions and draws of Hypothesis come by the thousand, and few of them in circles.
    gc.set_threshold(20_000, 20, 20)


# The precisions of which a usual run has one test in so many.
_SAMPLED, _ONE_IN = [p for p in PRECISIONS if p.limbs > 8], 40


def pytest_itemcollected(item):
    """Mark what is beyond the sample of a precision whose operations take long."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    long = [each for p in _SAMPLED for each in (p, p.name)]
    is_long = any(isinstance(x, Precision | str) and x in long for x in given)
    if is_long and zlib.crc32(item.nodeid.encode()) % _ONE_IN:
        item.add_marker("hexa")


def pytest_configure(config):
    # Where modules are not to be compiled into the tree, processes that tests start share a folder.
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
        os.environ["PYTHONPYCACHEPREFIX"] = folder = tempfile.mkdtemp()
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Plots are drawn without a screen.
    os.environ.setdefault("MPLBACKEND", "Agg")
    # A worker has a core: the threads of BLAS would wait for the cores of other workers.
    if config.getoption("numprocesses", None):
        os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "kernel_folder" in item.fixturenames:
            item.add_marker("kernels")


# Session scope, since Hypothesis runs many examples in one call of a test.
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


@pytest.fixture
def no_cupy(monkeypatch):
    """Make CuPy look as if it were not installed."""
    monkeypatch.setitem(sys.modules, "cupy", None)


@pytest.fixture(scope="session")
def kernel_folder(tmp_path_factory):
    """Return the folder of the CUDA kernels that are compiled for this run's emulation."""
    root = tmp_path_factory.getbasetemp()
    # The processes of one run share what they compile.
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "kernels"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def kernels(kernel_folder):
    """Return the CUDA kernels, run by the CPU."""
    from emulation.kernels import EmulatedKernels

    return EmulatedKernels(kernel_folder)


@pytest.fixture(scope="session")
def cuda(kernels):
    """Return the CUDA backend over kernels run by the CPU."""
    from mdqr._backend.cuda.backend import CudaBackend

    return CudaBackend(kernels)


@pytest.fixture
def run(capsys):
    """The command line: arguments to the exit code and what was written to the two streams."""

    def runner(*arguments):
        code = main.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return runner
