"""The hardware that mdqr runs on, and the number of threads."""

from __future__ import annotations

import importlib
import operator
import os
import platform
from importlib.util import find_spec
from typing import SupportsIndex

import numpy as np

import mdqr
from mdqr._backend import workspace
from mdqr._backend.host import backend

__all__ = ["set_num_threads", "set_workspace", "show"]


def __dir__() -> list[str]:
    return sorted(__all__)


def set_num_threads(n: SupportsIndex) -> None:
    """Set the number of threads of the kernels on the CPU; results do not depend on it.

    Parameters
    ----------
    n : int
        At least 1. The start value is the environment variable ``MDQR_NUM_THREADS``, or else the
        number of CPUs that the process may use.

    Raises
    ------
    TypeError, ValueError
        If `n` is not a positive integer.
    ImportError
        If the compiled extension is missing.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.config.set_num_threads(1)
    """
    count = operator.index(n)
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1; got {count}")
    backend.extension().set_num_threads(count)


def set_workspace(count: SupportsIndex) -> None:
    """Set the memory that a call may take in addition to its operands and results.

    Large exact products are formed in parts where they would take more, of at least 64 rows and
    64 columns. Results do not depend on it.

    Parameters
    ----------
    count : int
        Bytes, at least 2**20. Unless it is set, 2**30 on a CPU and a quarter of the memory of a
        GPU.

    Raises
    ------
    TypeError, ValueError
        If `count` is not such an integer.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.config.set_workspace(2**30)
    """
    bytes_ = operator.index(count)
    if bytes_ < 2**20:
        raise ValueError(f"a workspace must have at least 2**20 bytes; got {bytes_}")
    workspace.set_bound(bytes_)


def show() -> None:
    """Print what mdqr runs on: the first thing in a report of a defect.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.config.show()  # doctest: +ELLIPSIS
    mdqr ...
    """
    print("\n".join(f"{name:<12} {value}" for name, value in _describe().items()))


def _describe() -> dict[str, str]:
    """Return what `show` prints, by name."""
    lines = {
        "mdqr": mdqr.__version__,
        "python": f"{platform.python_version()} on {platform.platform()}",
        "numpy": np.__version__,
    }
    try:
        extension = backend.extension()
    except ImportError as error:
        lines["cpu"] = f"no arithmetic: {error}"
    else:
        lines["cpu"] = f"level {extension.level()}, {extension.num_threads()} threads"
        lines["compiler"] = extension.compiler
    variables = {name: os.environ.get(name) for name in ("MDQR_NUM_THREADS", "MDQR_CPU_LEVEL")}
    lines["environment"] = ", ".join(f"{k}={v}" for k, v in variables.items() if v) or "no MDQR_*"
    lines["gpu"] = _describe_gpu()
    return lines


def _describe_gpu() -> str:
    """Return what there is to say about GPUs, without starting one."""
    if find_spec("cupy") is None:
        return 'CuPy is not installed: `pip install "mdqr[cuda12]"` or `pip install "mdqr[cuda13]"`'
    try:
        cupy = importlib.import_module("cupy")
        runtime = cupy.cuda.runtime
        names = [
            runtime.getDeviceProperties(i)["name"].decode() for i in range(runtime.getDeviceCount())
        ]
    except Exception as error:  # a broken driver or installation raises many kinds
        return f"CuPy is installed, but finds no GPU: {error}"
    return f"{', '.join(names)}; CuPy {cupy.__version__}, CUDA {runtime.runtimeGetVersion()}"
