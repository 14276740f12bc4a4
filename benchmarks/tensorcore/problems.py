"""Test matrices on a GPU, cuSOLVER to compare with, and errors."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.common.rows import FASTER, Row
from benchmarks.common.timing import Call, cupy, timed
from mdqr import tensorcore
from mdqr._limbs.planes import Block
from mdqr.tensorcore._plan import with_panel

# With an option `panel`.
qr = with_panel(tensorcore.qr)
blocked_householder = with_panel(tensorcore.blocked_householder)


def random(m: int, n: int, kind: str = "normal", dtype: Any = np.float32) -> Block:
    """Return a random matrix, column by column."""
    state = cupy().random.RandomState(1)
    if kind == "normal":
        return state.standard_normal((n, m), dtype=dtype).T
    a = state.random_sample((n, m), dtype=dtype).T
    return a if kind == "uniform (0, 1)" else 2 * a - 1


class Bases:
    """Orthonormal matrices of one shape, for matrices of given singular values."""

    def __init__(self, m: int, n: int) -> None:
        xp = cupy()
        self._left, _ = xp.linalg.qr(random(m, n, dtype=np.float64))
        self._right, _ = xp.linalg.qr(random(n, n, "uniform (-1, 1)", np.float64))

    def matrix(self, cond: float, spectrum: str) -> Block:
        """Return a float64 matrix, column by column, whose largest singular value is 1."""
        n = len(self._right)
        values = {
            "arithmetic": np.linspace(1, 1 / cond, n),
            "geometric": np.geomspace(1, 1 / cond, n),
            "cluster": np.r_[np.ones(n - 1), 1 / cond],
        }[spectrum]
        scaled = self._left * cupy().asarray(values)
        return (self._right.T @ scaled.T).T


@lru_cache(maxsize=1)
def bases(m: int, n: int) -> Bases:
    """Return bases, kept until others are asked for: they cost more than a matrix made of them."""
    return Bases(m, n)


def conditioned(m: int, n: int, cond: float, spectrum: str) -> Block:
    """Return a float64 matrix of given singular values, the largest 1."""
    return bases(m, n).matrix(cond, spectrum)


def rate(m: int, n: int, ms: float) -> float:
    """Return TFLOP/s, counted as Householder QR without Q."""
    return 2e-9 * n * n * (m - n / 3) / ms


def faster(
    group: str, what: str, by: str, size: str, values: tuple[float, float], aim: float | None
) -> Row:
    """Return a row that says how many times faster, with the aim as a rate."""
    return Row(group, what, "mdqr", by, size, values[0] / values[1], FASTER, aim)


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

    def _run(self, name: str, *arguments: Any, tau: int | None = None) -> None:
        """Call a function with its workspace; the size of one does not depend on a `tau` apart."""
        size = self._call(f"{name}_bufferSize")(self._handle, *arguments)
        workspace = self._xp.empty(max(size, 1), dtype=self._a.dtype)
        more = () if tau is None else (tau,)
        last = (workspace.data.ptr, size, self._info.data.ptr)
        self._call(name)(self._handle, *arguments, *more, *last)

    def geqrf(self) -> None:
        """Factor in place."""
        (m, n), a = self._a.shape, self._a
        self._run("geqrf", m, n, a.data.ptr, m, tau=self._tau.data.ptr)

    def orgqr(self) -> None:
        """Form Q in place."""
        self._form(self._a)

    def _form(self, q: Block) -> None:
        """Form the columns of Q that fit a matrix, whose first are the reflectors."""
        m, k = q.shape
        self._run("orgqr", m, k, len(self._tau), q.data.ptr, m, self._tau.data.ptr)

    def solve(self, b: Block) -> Block:
        """Return the least-squares solution after `geqrf`."""
        from cupyx.scipy.linalg import solve_triangular

        (m, n), a, b = self._a.shape, self._a, b.copy(order="F")
        factors = (a.data.ptr, m, self._tau.data.ptr)
        self._run("ormqr", 0, 1, m, b.shape[1], n, *factors, b.data.ptr, m)
        return solve_triangular(a[:n], b[:n])

    def times(self, *steps: Call, repeats: int = 3, skip: int = 1) -> list[float]:
        """Return the medians of the milliseconds of steps that begin with the matrix."""
        return timed(*steps, repeats=repeats, skip=skip, before=self._reset)[0]

    def _reset(self) -> None:
        self._xp.copyto(self._a, self._base)


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


def gradient(a: Block, b: Block, x: Block) -> float:
    """Return the norm of ``a.T @ (b - a @ x)`` relative to those of a and b."""
    xp = cupy()
    size = xp.linalg.norm(a) * xp.linalg.norm(b)
    return float(xp.linalg.norm(a.T @ (b - a @ x)) / size)
