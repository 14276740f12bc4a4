"""Run the CUDA kernels on the CPU: the sources compiled with emulate.hpp's names."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from math import prod
from pathlib import Path
from types import ModuleType

import numpy as np
from compilers import host_compiler
from fake_cuda_libraries import libraries
from stand_ins import STAND_INS

from mdqr._backend.cuda.runtime.device import Device
from mdqr._backend.cuda.runtime.kernels import Kernels, Module
from mdqr._backend.sources import digest, kernels_folder

# Bytes of arguments that every device takes.
MOST_ARGUMENTS = 4096

# Fibers leave a stack by longjmp, which fortified libraries take for a mistake.
FLAGS = ("-std=c++17", "-O1", "-shared", "-fPIC", "-ffp-contract=off", "-fwrapv")
FLAGS = (*FLAGS, "-U_FORTIFY_SOURCE", "-DMDQR_EMULATE")
EMULATION = Path(__file__).parent


@cache
def emulation() -> str:
    """Return the hash of what stands for the device."""
    files = sorted(EMULATION.glob("*.?pp"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def build(file: Path, source: Path, *options: str, after: Sequence[Path] = ()) -> None:
    """Compile a library unless it is there, linked with those of `after`."""
    if file.exists():
        return
    unfinished = file.with_suffix(f".{os.getpid()}")
    command = [host_compiler(), *FLAGS, *options, f"-I{kernels_folder() / 'include'}"]
    command += [f"-I{EMULATION}", "-include", "emulate.hpp", "-x", "c++", str(source)]
    command += ["-x", "none", *map(str, after), "-o", str(unfinished)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    unfinished.replace(file)


class Reflectors:
    """Q by one reflector at a time, for what ``np.linalg.qr(a, mode="raw")`` returned."""

    def __init__(self, raw, tau):
        v = np.tril(raw.swapaxes(-1, -2), -1)[..., : tau.shape[-1]]
        np.einsum("...ii->...i", v[..., : tau.shape[-1], :])[...] = 1.0
        self.v, self.tau = v, tau

    def form(self, columns):
        m = self.v.shape[-2]
        one = np.eye(m, columns, dtype=self.v.dtype)
        return self.apply(np.broadcast_to(one, (*self.v.shape[:-2], m, columns)), adjoint=False)

    def apply(self, x, *, adjoint):
        x = x.copy()
        order = range(self.tau.shape[-1])
        for j in order if adjoint else reversed(order):
            v, tau = self.v[..., :, j : j + 1], self.tau[..., j, None, None]
            w = v.conj().swapaxes(-1, -2) @ x
            x -= (tau.conj() if adjoint else tau) * v * w
        return x


class EmulatedKernels(Kernels):
    """Kernels over NumPy blocks; compiled libraries are kept in `folder`."""

    xp: ModuleType = np
    device: Device = STAND_INS["a100"]
    memory = 2**33

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._library = cache(self._compile)
        self.launched: list[str] = []
        self.plans = {}
        self.constants = {}

    def address(self, block):
        return block.ctypes.data

    def constant(self, key, make):
        if key not in self.constants:
            self.constants[key] = make()
        return self.constants[key]

    def multiply(self, a, b):
        return a @ b

    def reflectors(self, raw, tau):
        return Reflectors(raw, tau)

    def scratch(self, words, *, zero=False):
        # Memory that nobody wrote reads as NaN.
        memory = np.zeros(max(words, 1)) if zero else np.full(max(words, 1), np.nan)
        return memory, self.address(memory)

    def _compile(self, module: Module) -> ctypes.CDLL:
        kernels = kernels_folder()
        name = "-".join(["kernel", *module.options, module.source]).replace("/", "_")
        key = digest(kernels, "include")[:8] + digest(kernels, "cuda")[:8] + emulation()
        file = self._folder / f"{name}-{key}.so"
        source = kernels / "cuda" / f"{module.source}.cu"
        build(file, source, *module.options, f"-I{kernels / 'cuda'}", after=[self._fibers])
        return ctypes.CDLL(str(file))

    @cached_property
    def cublas(self):
        """The library over NumPy arrays."""
        return libraries()[0]

    @cached_property
    def _fibers(self) -> Path:
        """The compiled program that runs the threads."""
        file = self._folder / f"emulate-{emulation()}.so"
        build(file, EMULATION / "emulate.cpp")
        return file

    @cached_property
    def _run(self) -> Callable[..., int]:
        return ctypes.CDLL(str(self._fibers)).mdqr_emulate_launch

    def launch(
        self, module, name, arguments, *, grid, threads, shared=0, cooperative=False
    ) -> None:
        assert arguments.dtype == np.int64
        assert min(grid) > 0
        assert 0 < threads <= 1024
        assert shared <= self.device.shared
        assert arguments.nbytes <= MOST_ARGUMENTS
        assert not cooperative or prod(grid) <= self.device.multiprocessors
        self.launched.append(name)
        kernel = ctypes.cast(getattr(self._library(module), name), ctypes.c_void_p)
        sizes = (ctypes.c_long * 3)(*(*grid, 1, 1)[:3])
        stuck = self._run(
            kernel,
            ctypes.c_void_p(arguments.ctypes.data),
            sizes,
            ctypes.c_int(threads),
            ctypes.c_long(shared),
            ctypes.c_int(cooperative),
        )
        assert stuck == 0, f"{name}: {stuck} threads wait for others that never come"
