"""cuBLAS: products, sums and triangular solutions of matrices in memory.

A matrix is a place, ``(address, stride)``: its columns are contiguous and `stride` elements apart.
Sums of float64 are pedantic: no emulation by integers, whatever the environment says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

# Constants of cuBLAS: types of numbers, what sums are computed in, flags of its functions.
R_32F, R_64F, R_16F, C_32F, C_64F, R_16BF = 0, 1, 2, 4, 5, 14
_R_8I, _R_32I = 3, 10
COMPUTE_32F, COMPUTE_32F_FAST_TF32 = 68, 77
_COMPUTE_64F_PEDANTIC, _COMPUTE_32I = 71, 72
_GEMM_DEFAULT = -1
N, T, C = 0, 1, 2
LEFT, RIGHT, LOWER, UPPER, NON_UNIT, UNIT = 0, 1, 0, 1, 0, 1
LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}

Place = tuple[int, int]
Batch = tuple[int, int, int]  # with the distance of its matrices


class Numbers(NamedTuple):
    """Types of the operands and the result of a product, what it sums in, the type of scalars."""

    operands: int
    result: int
    compute: int
    scalar: str


# By the letters of NumPy's types.
NUMBERS = {
    "f": Numbers(R_32F, R_32F, COMPUTE_32F, "f"),
    "d": Numbers(R_64F, R_64F, _COMPUTE_64F_PEDANTIC, "d"),
    "F": Numbers(C_32F, C_32F, COMPUTE_32F, "F"),
    "D": Numbers(C_64F, C_64F, _COMPUTE_64F_PEDANTIC, "D"),
}
# Sums of products of bytes. Tensor cores serve operands along k, T and N, with all lengths and
# addresses multiples of 16.
BYTES = Numbers(_R_8I, _R_32I, _COMPUTE_32I, "i")
# Results from which on products of bytes take a call each: of order 4096 an H100 has 1391 T
# operations a second in one, 1115 in a batch of 30, of order 3072 1205 and 1307, and of order 1024
# 215 and 692.
_LARGE = 3 * 2**22


class Cublas:
    """The functions on the current device and stream, asynchronous.

    Parameters
    ----------
    functions : object
        CuPy's module of cuBLAS, or what has functions of these names and arguments.
    handle : callable
        Returns the handle of a call.
    """

    def __init__(self, functions: Any, handle: Callable[[], Any]) -> None:
        self._functions, self._handle = functions, handle
        # Read by address: they live as long as this object.
        self._scalars: dict[tuple[float, str], tuple[Any, int]] = {}

    def _scalar(self, x: float, kind: str) -> int:
        """Return the address of a number in host memory."""
        found = self._scalars.get((x, kind))
        if found is None:
            kept = np.full(1, x, dtype=kind)
            # Not replaced by that of another thread: it is read by address.
            found = self._scalars.setdefault((x, kind), (kept, int(kept.ctypes.data)))
        return found[1]

    def gemm(
        self,
        numbers: Numbers,
        flags: tuple[int, int],
        shape: tuple[int, int, int],
        a: Place,
        b: Place,
        c: Place,
        *,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """Set ``c = alpha a b + beta c`` for `shape` ``(m, n, k)``; flags are N, T or C."""
        kind, scalar = numbers.operands, numbers.scalar
        self._functions.gemmEx(
            self._handle(), *flags, *shape, self._scalar(alpha, scalar),
            a[0], kind, a[1], b[0], kind, b[1], self._scalar(beta, scalar),
            c[0], numbers.result, c[1], numbers.compute, _GEMM_DEFAULT,
        )  # fmt: skip

    def gemm_batched(
        self,
        numbers: Numbers,
        shape: tuple[int, int, int],
        count: int,
        a: Batch,
        b: Batch,
        c: Batch,
        *,
        flags: tuple[int, int] = (N, N),
        alpha: float = 1.0,
    ) -> None:
        """Set ``c = alpha a b`` for `count` matrices each; flags are N, T or C."""
        if numbers is BYTES and shape[0] * shape[1] >= _LARGE:
            for i in range(count):
                places = a[0] + i * a[2], b[0] + i * b[2], c[0] + 4 * i * c[2]
                x, y, to = ((place, each[1]) for place, each in zip(places, (a, b, c), strict=True))
                self.gemm(numbers, flags, shape, x, y, to, alpha=alpha)
            return
        kind, scalar = numbers.operands, numbers.scalar
        self._functions.gemmStridedBatchedEx(
            self._handle(), *flags, *shape, self._scalar(alpha, scalar),
            a[0], kind, *a[1:], b[0], kind, *b[1:], self._scalar(0.0, scalar),
            c[0], numbers.result, *c[1:], count, numbers.compute, _GEMM_DEFAULT,
        )  # fmt: skip

    def gemv(
        self,
        flag: int,
        shape: tuple[int, int],
        a: Place,
        x: int,
        y: int,
        *,
        alpha: float,
        beta: float,
    ) -> None:
        """Set ``y = alpha a x + beta y`` in float64; `shape` is that of `a` before its flag."""
        self._functions.dgemv(
            self._handle(), flag, *shape, self._scalar(alpha, "d"), *a, x, 1,
            self._scalar(beta, "d"), y, 1,
        )  # fmt: skip

    def trsm(
        self,
        kind: str,
        triangle: tuple[int, int, int],
        shape: tuple[int, int],
        a: Place,
        x: Place,
    ) -> None:
        """Replace `x` by ``x a^-1``; `triangle` is LOWER or UPPER, N or T, and UNIT or NON_UNIT."""
        getattr(self._functions, LETTERS[kind] + "trsm")(
            self._handle(), RIGHT, *triangle, *shape, self._scalar(1.0, kind), *a, *x
        )

    def copy(self, flag: int, shape: tuple[int, int], x: Place, out: Place) -> None:
        """Set `out` to the float32 matrix `x`, or to its transpose."""
        self._functions.sgeam(
            self._handle(), flag, N, *shape, self._scalar(1.0, "f"), *x,
            self._scalar(0.0, "f"), *out, *out,
        )  # fmt: skip

    def clear(self, shape: tuple[int, int], x: Place) -> None:
        """Set a float32 matrix to zero."""
        zero = self._scalar(0.0, "f")
        self._functions.sgeam(self._handle(), N, N, *shape, zero, *x, zero, *x, *x)

    def scale_rows(self, shape: tuple[int, int], x: Place, factors: int) -> None:
        """Multiply the rows of a float32 matrix by what lies at `factors`."""
        self._functions.sdgmm(self._handle(), LEFT, *shape, *x, factors, 1, *x)


@cache
def cublas(xp: ModuleType) -> Cublas:
    """Return the library that CuPy calls, `xp`."""
    functions = import_module("cupy_backends.cuda.libs.cublas")
    return Cublas(functions, xp.cuda.device.get_cublas_handle)
