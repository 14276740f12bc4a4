"""The C++ compiler of this machine, and CUDA C++ without a GPU: NVRTC by ctypes, or nvcc."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

DEVICE_FLAGS = ("-std=c++17", "--fmad=false", "-ftz=true")


@cache
def host_compiler() -> str:
    """Return the path of the C++ compiler, which whoever builds mdqr has; raise without one."""
    names = (os.environ.get("CXX", ""), "c++", "g++", "clang++")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise RuntimeError("the tests need a C++ compiler, as the build does: set CXX")
    return found


# On Linux the extra `test` brings NVRTC; elsewhere there is no wheel of it.
needs_device_compiler = pytest.mark.skipif(
    platform.system() != "Linux" and shutil.which("nvcc") is None,
    reason="NVRTC's wheel is for Linux, and nvcc is not on the PATH",
)


@cache
def device_compiler() -> Callable[..., str]:
    """Return a function that compiles.

    ``compile(source, include, scratch, options=(), arch="sm_90")`` returns the log: the warnings,
    and ptxas's registers and spills. An error raises RuntimeError.
    """
    library = nvrtc_library()
    nvcc = shutil.which("nvcc")
    if library is None and nvcc is None:
        raise RuntimeError("no compiler for GPUs: pip install '.[test]', or put nvcc on the PATH")

    def compile(
        source: str,
        include: Path,
        scratch: Path,
        options: Sequence[str] = (),
        arch: str = "sm_90",
    ) -> str:
        flags = [f"-arch={arch}", *DEVICE_FLAGS, f"-I{include}", *options]
        if library is not None:
            # As CuPy does: older releases take no lambdas without.
            flags.append("--device-as-default-execution-space")
            return compile_by_nvrtc(library, source, flags)
        return compile_by_nvcc(nvcc, source, flags, scratch)

    return compile


def nvrtc_library() -> ctypes.CDLL | None:
    """Load libnvrtc of the wheel nvidia-cuda-nvrtc, if that is installed."""
    try:
        files = importlib.metadata.files("nvidia-cuda-nvrtc") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    (name,) = [file for file in files if file.name.startswith("libnvrtc.so")]
    return ctypes.CDLL(str(name.locate()))


def nvrtc_version() -> str:
    """Return the version of the wheel nvidia-cuda-nvrtc; empty where nvcc compiles."""
    try:
        return importlib.metadata.version("nvidia-cuda-nvrtc")
    except importlib.metadata.PackageNotFoundError:
        return ""


def compile_by_nvrtc(library: ctypes.CDLL, source: str, flags: Sequence[str]) -> str:
    """Compile to a cubin in memory and return the program log."""
    options = [*flags, "--ptxas-options=-v"]
    program = ctypes.c_void_p()
    text = source.encode()
    created = library.nvrtcCreateProgram(ctypes.byref(program), text, b"probe.cu", 0, None, None)
    assert created == 0
    try:
        argv = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), argv)
        size = ctypes.c_size_t()
        assert library.nvrtcGetProgramLogSize(program, ctypes.byref(size)) == 0
        log = ctypes.create_string_buffer(size.value)
        assert library.nvrtcGetProgramLog(program, log) == 0
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    if status != 0:
        raise RuntimeError(log.value.decode())
    return log.value.decode()


def compile_by_nvcc(nvcc: str, source: str, flags: Sequence[str], scratch: Path) -> str:
    """Compile to a cubin in `scratch` and return what nvcc printed."""
    file = scratch / "probe.cu"
    file.write_text(source)
    command = [nvcc, *flags, "-Xptxas=-v", "-cubin", "-o", "probe.cubin", file.name]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout + done.stderr
