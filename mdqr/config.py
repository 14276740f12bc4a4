"""The hardware that mdqr runs on, and the number of threads."""

from __future__ import annotations

import importlib
import operator
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Literal, SupportsIndex, overload

import numpy as np

import mdqr
from mdqr._backend import workspace
from mdqr._backend.host import backend
from mdqr._core.float_warnings import warn_float
from mdqr._errors import shown
from mdqr._stability import experimental

__all__ = [
    "get_num_threads",
    "get_workspace",
    "num_threads",
    "set_num_threads",
    "set_workspace",
    "show",
    "warn_float",
]


# For each open `with` of `num_threads` the number of threads to put back, in order of entry.
_entered: list[list[int]] = []
_lock = threading.Lock()


def __dir__() -> list[str]:
    return sorted(__all__)


def get_num_threads() -> int:
    """Return the number of threads of the kernels on the CPU.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ImportError
        If the compiled extension is missing.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.config.set_num_threads(1)
    >>> mdqr.config.get_num_threads()
    1
    """
    return int(backend.extension().num_threads())


def set_num_threads(n: SupportsIndex, /) -> None:
    """Set the number of threads of the kernels on the CPU; results do not depend on it.

    It holds for the whole process, for all of its threads. A library that must not change it for
    its callers takes `num_threads`.

    Parameters
    ----------
    n : int
        From 1 to 1024. The start value is the environment variable ``MDQR_NUM_THREADS``, or else
        the number of CPUs that the process may use.

    Raises
    ------
    TypeError, ValueError
        If `n` is not such an integer.
    ImportError
        If the compiled extension is missing.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.config.set_num_threads(1)
    """
    if isinstance(n, bool):
        raise TypeError(f"the number of threads must be an integer; got {n}")
    count = operator.index(n)
    if not 1 <= count <= 1024:
        raise ValueError(f"the number of threads must be from 1 to 1024; got {shown(count)}")
    backend.extension().set_num_threads(count)


@contextmanager
def num_threads(n: SupportsIndex, /) -> Iterator[None]:
    """Set the number of threads for the statements of a ``with``, and put it back.

    The setting belongs to the process: in the meantime it holds for its other threads, too. Where
    several threads are in such statements the last one to enter counts, and the number before the
    first is back when all have left, in whatever order.

    Parameters
    ----------
    n : int
        As for `set_num_threads`.

    Yields
    ------
    None
        The ``with`` has no value.

    Raises
    ------
    TypeError, ValueError, ImportError
        As `set_num_threads`.

    Examples
    --------
    >>> import mdqr
    >>> with mdqr.config.num_threads(1):
    ...     mdqr.config.get_num_threads()
    1
    """
    with _lock:
        mine = [get_num_threads()]
        set_num_threads(n)
        _entered.append(mine)
    try:
        yield
    finally:
        with _lock:
            place = next(i for i, each in enumerate(_entered) if each is mine)
            del _entered[place]
            if place < len(_entered):  # one that entered later counts
                _entered[place][:] = mine
            else:
                set_num_threads(*mine)


@experimental
def get_workspace() -> int | None:
    """Return the bytes that `set_workspace` has set, or None.

    Returns
    -------
    int or None
        None for the start value.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.config.set_workspace(2**30)
    >>> mdqr.config.get_workspace()
    1073741824
    >>> mdqr.config.set_workspace(None)
    """
    return workspace.bound_set()


@experimental
def set_workspace(nbytes: SupportsIndex | None, /) -> None:
    """Set the memory that a call may take in addition to its operands and results.

    Large exact products are formed in parts where they would take more, of at least 64 rows and
    64 columns. Results do not depend on it.

    Parameters
    ----------
    nbytes : int or None
        At least 2**20. None, the start value: 2**30 on a CPU and a quarter of the memory of a GPU.

    Raises
    ------
    TypeError, ValueError
        If `nbytes` is not such an integer.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.config.set_workspace(2**30)
    >>> mdqr.config.set_workspace(None)
    """
    bytes_ = None if nbytes is None else operator.index(nbytes)
    if bytes_ is not None and bytes_ < 2**20:
        raise ValueError(f"a workspace must have at least 2**20 bytes; got {bytes_}")
    workspace.set_bound(bytes_)


@overload
def show(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show(mode: Literal["dicts"]) -> dict[str, str]: ...
def show(mode: Literal["stdout", "dicts"] = "stdout") -> dict[str, str] | None:
    """Print what mdqr runs on: the first thing in a report of a defect.

    Parameters
    ----------
    mode : {"stdout", "dicts"}, optional
        Print it, or return it, as `numpy.show_config` does.

    Returns
    -------
    dict of str or None
        With "dicts" what is printed otherwise, by its names.

    Raises
    ------
    ValueError
        If `mode` is unknown.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.config.show()  # doctest: +ELLIPSIS
    mdqr ...
    >>> mdqr.config.show("dicts")["mdqr"] == mdqr.__version__
    True
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f'mode must be "stdout" or "dicts"; got {shown(mode)}')
    if mode == "dicts":
        return _describe()
    print("\n".join(f"{name:<12} {value}" for name, value in _describe().items()))
    return None


def _describe() -> dict[str, str]:
    """Return the lines of `show`, by name."""
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
    lines["kernels"] = _describe_kernels()
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


def _describe_kernels() -> str:
    """Return the number, size and place of compiled kernels of GPUs."""
    from mdqr._backend.cuda.runtime.cubins import kept

    folder, count, size = kept()
    return f"{count} compiled, {size / 2**20:.1f} MiB in {folder}" if count else "none compiled"
