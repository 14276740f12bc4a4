"""Run the CUDA kernels on the CPU: the sources compiled with tests/cuda/emulate.hpp."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from functools import cache
from math import prod
from pathlib import Path
from types import ModuleType

import numpy as np
from host_compiler import host_compiler

from mdqr._backend.cuda.kernels import Kernels, Module
from mdqr._backend.sources import digest, kernels_folder

# What the smallest device admitted offers: bytes of shared memory of a block, blocks that run
# at the same time, bytes of arguments.
MOST_SHARED = 163 * 1024
MOST_TOGETHER = 96
MOST_ARGUMENTS = 4096

FLAGS = ("-std=c++17", "-O1", "-shared", "-fPIC", "-ffp-contract=off", "-fwrapv", "-DMDQR_EMULATE")
EMULATION = Path(__file__).parent / "cuda"


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
    multiprocessors = MOST_TOGETHER

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._library = cache(self._compile)
        self.launched: list[str] = []
        self.plans = {}

    def address(self, block):
        return block.ctypes.data

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
        emulation = hashlib.sha256((EMULATION / "emulate.hpp").read_bytes()).hexdigest()
        key = digest(kernels, "include")[:8] + digest(kernels, "cuda")[:8] + emulation[:8]
        file = self._folder / f"{name}-{key}.so"
        if not file.exists():
            unfinished = file.with_suffix(f".{os.getpid()}")
            command = [host_compiler(), *FLAGS, *module.options]
            command += [f"-I{path}" for path in (kernels / "include", kernels / "cuda", EMULATION)]
            source = kernels / "cuda" / f"{module.source}.cu"
            done = subprocess.run(
                [*command, "-x", "c++", str(source), "-o", str(unfinished)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            unfinished.replace(file)
        return ctypes.CDLL(str(file))

    def launch(
        self, module, name, arguments, *, grid, threads, shared=0, cooperative=False
    ) -> None:
        assert arguments.dtype == np.int64
        assert min(grid) > 0
        assert 0 < threads <= 1024
        assert shared <= MOST_SHARED
        assert arguments.nbytes <= MOST_ARGUMENTS
        assert not cooperative or prod(grid) <= MOST_TOGETHER
        self.launched.append(name)
        library = self._library(module)
        kernel = ctypes.cast(getattr(library, name), ctypes.c_void_p)
        sizes = (ctypes.c_long * 3)(*(*grid, 1, 1)[:3])
        library.mdqr_emulate_launch(
            kernel,
            ctypes.c_void_p(arguments.ctypes.data),
            sizes,
            ctypes.c_int(threads),
            ctypes.c_long(shared),
            ctypes.c_int(cooperative),
        )
