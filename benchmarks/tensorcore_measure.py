"""Test matrices on a GPU, cuSOLVER to compare with, errors, and the parts of a factorisation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
from gpu_measure import Phases, cupy

from mdqr._backend.protocol import Block
from mdqr.tensorcore import _correction, _passes
from mdqr.tensorcore._cuda_engine import CudaEngine


def random(m: int, n: int, kind: str = "normal", dtype: Any = np.float32) -> Block:
    """Return a random matrix, column by column."""
    state = cupy().random.RandomState(1)
    if kind == "normal":
        return state.standard_normal((n, m), dtype=dtype).T
    a = state.random_sample((n, m), dtype=dtype).T
    return a if kind == "uniform (0, 1)" else 2 * a - 1


def conditioned(m: int, n: int, cond: float, spectrum: str) -> Block:
    """Return a float64 matrix of given singular values, the largest 1."""
    xp = cupy()
    values = {
        "arithmetic": np.linspace(1, 1 / cond, n),
        "geometric": np.geomspace(1, 1 / cond, n),
        "cluster": np.r_[np.ones(n - 1), 1 / cond],
    }[spectrum]
    left, _ = xp.linalg.qr(random(m, n, dtype=np.float64))
    right, _ = xp.linalg.qr(random(n, n, "uniform (-1, 1)", np.float64))
    left *= xp.asarray(values)
    a: Block = left @ right
    return xp.asfortranarray(a)


class Cusolver:
    """geqrf and what follows it, without a copy of the matrix in the time."""

    def __init__(self, a: Block) -> None:
        from cupy_backends.cuda.libs import cusolver

        xp = cupy()
        self._xp, self._base = xp, xp.asfortranarray(a)
        self._a = self._base.copy(order="F")
        letter = "s" if a.dtype == np.float32 else "d"
        self._call = lambda name: getattr(cusolver, letter + name)
        self._handle = xp.cuda.device.get_cusolver_handle()
        self._tau = xp.empty(a.shape[1], dtype=a.dtype)
        self._info = xp.empty(1, dtype=np.int32)

    def _room(self, size: int) -> Block:
        return self._xp.empty(max(size, 1), dtype=self._a.dtype)

    def geqrf(self) -> None:
        """Factor in place."""
        (m, n), a = self._a.shape, self._a
        size = self._call("geqrf_bufferSize")(self._handle, m, n, a.data.ptr, m)
        room = self._room(size)
        self._call("geqrf")(
            self._handle, m, n, a.data.ptr, m, self._tau.data.ptr, room.data.ptr, size,
            self._info.data.ptr,
        )  # fmt: skip

    def orgqr(self) -> None:
        """Form Q in place."""
        (m, n), a = self._a.shape, self._a
        tau = self._tau.data.ptr
        size = self._call("orgqr_bufferSize")(self._handle, m, n, n, a.data.ptr, m, tau)
        room = self._room(size)
        self._call("orgqr")(
            self._handle, m, n, n, a.data.ptr, m, tau, room.data.ptr, size, self._info.data.ptr
        )

    def solve(self, b: Block) -> Block:
        """Return the least-squares solution after `geqrf`."""
        from cupyx.scipy.linalg import solve_triangular

        (m, n), a, b = self._a.shape, self._a, b.copy(order="F")
        k, tau = b.shape[1], self._tau.data.ptr
        arguments = (self._handle, 0, 1, m, k, n, a.data.ptr, m, tau, b.data.ptr, m)
        size = self._call("ormqr_bufferSize")(*arguments)
        room = self._room(size)
        self._call("ormqr")(*arguments, room.data.ptr, size, self._info.data.ptr)
        return solve_triangular(a[:n], b[:n])

    def times(self, *steps: Callable[[], Any], repeats: int = 3) -> list[float]:
        """Return the medians of the milliseconds of steps, after one run that does not count."""
        found = []
        for _ in range(repeats + 1):
            self._xp.copyto(self._a, self._base)
            events = [self._event()]
            for step in steps:
                step()
                events.append(self._event())
            events[-1].synchronize()
            found.append([self._xp.cuda.get_elapsed_time(a, b) for a, b in pairwise(events)])
        return [float(median(times)) for times in zip(*found[1:], strict=True)]

    def _event(self) -> Any:
        event = self._xp.cuda.Event()
        event.record()
        return event


def backward_error(a: Block, q: Block, r: Block) -> float:
    """Return the Frobenius norm of ``a - q @ r`` relative to that of a, of at most 2048 columns."""
    xp = cupy()
    some = slice(max(0, r.shape[1] - 2048), None)
    top = r[:, some].astype(np.float64)
    total = 0.0
    for first in range(0, len(a), 8192):
        rows = slice(first, first + 8192)
        error = a[rows, some].astype(np.float64) - q[rows].astype(np.float64) @ top
        total += float((error * error).sum())
    return float(np.sqrt(total)) / float(xp.linalg.norm(a[:, some].astype(np.float64)))


def orthogonality(q: Block) -> float:
    """Return the Frobenius norm of ``q.T @ q - I`` over the root of the columns."""
    n = q.shape[1]
    total = 0.0
    for first in range(0, n, 4096):
        part = q[:, first : first + 4096].astype(np.float64)
        for other in range(first, n, 4096):
            gram = part.T @ q[:, other : other + 4096].astype(np.float64)
            if other == first:
                gram -= cupy().eye(gram.shape[0])
            total += (1 if other == first else 2) * float((gram * gram).sum())
    return float(np.sqrt(total / n))


METHODS = ("load", "round", "inner", "add", "caqr", "cholesky", "squares", "report", "doubles")


class Parts(Phases):
    """Where the time of a call goes: the methods of the engine, and some functions."""

    def of(self, call: Callable[[], Any]) -> dict[str, float]:
        """Return the milliseconds of each part of a call, after one that does not count."""
        call()
        functions = ((_passes, "departure"), (_passes, "departure_of"), (_passes, "correct"))
        functions += ((_correction, "_size"),)
        with ExitStack() as stack:
            for name in METHODS:
                timed = self.timed(name, getattr(CudaEngine, name))
                stack.enter_context(mock.patch.object(CudaEngine, name, timed))
            for module, name in functions:
                timed = self.timed(name, getattr(module, name))
                stack.enter_context(mock.patch.object(module, name, timed))
            self.boundary()
            call()
            self.boundary()
        self.events[-1][1].synchronize()
        found: dict[str, float] = {}
        for (name, first), (_, second) in pairwise(self.events):
            found[name] = found.get(name, 0.0) + cupy().cuda.get_elapsed_time(first, second)
        return found
