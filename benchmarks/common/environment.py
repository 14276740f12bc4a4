"""What a reader needs to compare two runs: the machine, the versions, the commit."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import mdqr
from benchmarks.common.timing import cupy

PACKAGES = ("mdqr", "numpy", "scipy", "mpmath", "gmpy2", "python-flint", "xprec")
GPU = ("driver", "CUDA", "CuPy", "Python", "mdqr")


def environment(command: str, commit: str | None = None, *, gpu: bool = False) -> dict[str, Any]:
    """Return the environment of a run; `commit` says what a tree without git is a copy of."""
    about = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command,
        "commit": commit or _commit(),
    }
    return about | (_gpu() if gpu else _cpu())


def machine(about: dict[str, Any]) -> str:
    """Return the machine and the versions in one line."""
    if "device" in about:
        return ", ".join([about["device"], *(f"{name} {about[name]}" for name in GPU)])
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    settings = f"{about['mdqr']['cpu']}, {about['mdqr'].get('compiler', 'no extension')}"
    return f"{about['cpu']}, {about['cpus']} CPUs, Python {about['python']}; {settings}; {versions}"


def available_cpus() -> int:
    """Return the number of CPUs that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu() -> dict[str, Any]:
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "cpu": _cpu_model(),
        "cpus": available_cpus(),
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
        # Without the folder of compiled kernels, which belongs to one machine.
        "mdqr": {k: v for k, v in mdqr.config._describe().items() if k != "kernels"},
    }


def _gpu() -> dict[str, Any]:
    runtime = cupy().cuda.runtime
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return {
        "device": runtime.getDeviceProperties(runtime.getDevice())["name"].decode(),
        "driver": (_output(*query).split() or ["unknown"])[0],
        "CUDA": runtime.runtimeGetVersion(),
        "CuPy": cupy().__version__,
        "Python": platform.python_version(),
        "mdqr": mdqr.__version__,
    }


def _output(*command: str) -> str:
    """Return what a program prints, nothing if there is none or if it fails."""
    try:
        where = Path(__file__).parent
        return subprocess.check_output(
            command, cwd=where, text=True, stderr=subprocess.DEVNULL
        ).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _commit() -> str:
    """Return the commit of the tree, with "+changes" where it was not clean."""
    head = _output("git", "rev-parse", "HEAD")
    return head + ("+changes" if _output("git", "status", "--porcelain") else "") or "unknown"


def _cpu_model() -> str:
    """Return the name that the CPU gives itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")


def _version(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return mdqr.__version__ if package == "mdqr" else None
