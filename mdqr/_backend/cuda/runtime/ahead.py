"""Kernels compiled before a call needs them, also for devices that this machine has not."""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from mdqr._backend.cuda.runtime import archive, calls, cubins, examples
from mdqr._backend.cuda.runtime.cupy_kernels import CupyCompilations
from mdqr._backend.cuda.runtime.device import Device
from mdqr._limbs.device import check_device
from mdqr._progress import Reporter

_ARCHITECTURE = re.compile(r"sm_(\d+)(\d)")


def compile_kernels(
    names: Sequence[str],
    limbs: Collection[int],
    device: str,
    report: Reporter,
    path: Path | None = None,
) -> tuple[int, int]:
    """Compile what functions of linear algebra launch, and keep it on disk.

    On a device of this machine, CuPy compiles kernels of its own, too.

    Parameters
    ----------
    names : sequence of str
        Functions; all of them if it is empty.
    limbs : collection of int
        Limb counts of results; all of them if it is empty.
    device : str
        "cuda", "cuda:k", or an architecture such as "sm_90".
    report : callable
        Called with the number of compiled modules.
    path : Path, optional
        An archive that gets all of them.

    Returns
    -------
    tuple of int
        The numbers of compiled modules and kernels of CuPy, and of modules that were on disk.

    Raises
    ------
    ValueError
        If a device or a function is unknown.
    ImportError
        If CuPy is missing.
    RuntimeError, OSError
        If NVRTC is missing, or a file cannot be written.
    """
    known = calls.TABLE.functions
    for name in names:
        if name not in known:
            raise ValueError(f"{name} is none of the functions with kernels: {', '.join(known)}")
    modules = calls.modules_for(names or known, limbs)
    made, target = _code_for(device)
    jobs = made.expect(modules, target)
    cupy = CupyCompilations(importlib.import_module("cupy"), made)
    number = None if _ARCHITECTURE.fullmatch(device) else check_device(device)
    texts = [] if number is None else examples.TABLE.of_functions(names or known, limbs)
    steps = [job.result for job in jobs]
    steps += [future.result for future in cupy.expect(texts, number or 0)]
    for done, finish in enumerate(steps):
        report("compiling", done, len(steps))
        finish()
    if path is not None:
        archive.pack(path, made, modules, target)
    return len(jobs) + cupy.compiled, len(modules) - len(jobs)


def unpack_kernels(path: Path, device: str) -> tuple[int, int]:
    """Keep the kernels of an archive on disk; see `archive.unpack` and `compile_kernels`."""
    return archive.unpack(path, *_code_for(device))


def _code_for(device: str) -> tuple[cubins.Cubins, cubins.Target]:
    capability = _capability(device)
    made = cubins.Cubins(cubins.library())
    return made, cubins.Target(cubins.arch_of(capability, made.architectures))


def _capability(device: str) -> tuple[int, int]:
    """Return the compute capability of a device, with the compiler loaded."""
    try:
        cupy: Any = importlib.import_module("cupy")
    except ImportError as error:
        raise ImportError(
            "kernels are compiled by way of CuPy: install it with "
            '`pip install "mdqr[cuda12]"` or `pip install "mdqr[cuda13]"`'
        ) from error
    cupy.cuda.nvrtc.getVersion()
    found = _ARCHITECTURE.fullmatch(device)
    if found:
        return int(found[1]), int(found[2])
    number = check_device(device)
    if number is None:
        raise ValueError(f"kernels are for cuda, cuda:k or an architecture; got {device}")
    return Device.of(cupy.cuda.runtime.getDeviceProperties(number)).capability
