"""Compile CUDA C++ for sm_90 without a GPU: NVRTC from its wheel by ctypes, or nvcc."""

from __future__ import annotations

import ctypes
import importlib.metadata
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

Compile = Callable[[str, Path, Path], str]

FLAGS = ("-arch=sm_90", "-std=c++17", "--fmad=false")


def device_compiler() -> Compile | None:
    """Return ``compile(source, include, scratch) -> log``, or None where there is no compiler.

    The log holds the warnings and ptxas's registers and spills; an error raises RuntimeError.
    """
    library = nvrtc_library()
    if library is not None:
        return lambda source, include, scratch: compile_by_nvrtc(library, source, include)
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        return lambda source, include, scratch: compile_by_nvcc(nvcc, source, include, scratch)
    return None


def nvrtc_library() -> ctypes.CDLL | None:
    """Load libnvrtc of the wheel nvidia-cuda-nvrtc, if that is installed."""
    try:
        files = importlib.metadata.files("nvidia-cuda-nvrtc") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    (name,) = [file for file in files if file.name.startswith("libnvrtc.so")]
    return ctypes.CDLL(str(name.locate()))


def compile_by_nvrtc(library: ctypes.CDLL, source: str, include: Path) -> str:
    """Compile to a cubin in memory and return the program log."""
    options = [*FLAGS, "--ptxas-options=-v", f"-I{include}"]
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


def compile_by_nvcc(nvcc: str, source: str, include: Path, scratch: Path) -> str:
    """Compile to a cubin in `scratch` and return what nvcc printed."""
    file = scratch / "probe.cu"
    file.write_text(source)
    command = [nvcc, *FLAGS, "-Xptxas=-v", f"-I{include}", "-cubin", "-o", "probe.cubin", file.name]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout + done.stderr
