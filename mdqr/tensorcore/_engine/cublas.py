"""Products by cuBLAS and panels by cuSOLVER, in place on columns of CuPy matrices."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mdqr._backend.protocol import Block
from mdqr.tensorcore._engine.cuda_panels import column_stride

# Constants of cuBLAS. float32 operands: pedantic, so that no setting turns them into others; tf32
# operands have been rounded before.
_CUDA_R_32F, _CUDA_R_16F, _CUDA_R_16BF = 0, 2, 14
_CUDA_R_64F, _COMPUTE_64F_PEDANTIC = 1, 71
_COMPUTE_32F, _COMPUTE_32F_PEDANTIC, _COMPUTE_32F_FAST_TF32 = 68, 69, 77
_KINDS = {
    "half": (_CUDA_R_16F, _COMPUTE_32F),
    "split": (_CUDA_R_16F, _COMPUTE_32F),
    "bfloat": (_CUDA_R_16BF, _COMPUTE_32F),
    "tf32": (_CUDA_R_32F, _COMPUTE_32F_FAST_TF32),
    "": (_CUDA_R_32F, _COMPUTE_32F_PEDANTIC),
}
_GEMM_DEFAULT = -1
# Up to so many entries a matrix times two columns is a product for each: those for both work on
# tiles of many columns, by few blocks.
_SMALL = 2**27
_N, _T = 0, 1


class CublasProducts:
    """cuBLAS and cuSOLVER on the current device and stream."""

    def __init__(self) -> None:
        import cupy

        self._xp = cupy
        self._cublas = cupy.cuda.cublas
        self._handle = cupy.cuda.device.get_cublas_handle()
        self._scalars: dict[tuple[float, Any], Any] = {}

    def _scalar(self, x: float, kind: Any = np.float32) -> int:
        """Return the address of a number in host memory that lives as long as this object."""
        if (x, kind) not in self._scalars:
            kept = np.array([x], dtype=kind)
            self._scalars[x, kind] = (kept, kept.ctypes.data)
        address: int = self._scalars[x, kind][1]
        return address

    def _double(self, x: float) -> int:
        return self._scalar(x, np.float64)

    def multiply(
        self,
        c: Block,
        a: Block,
        b: Block,
        kernel: str,
        *,
        turned: bool,
        alpha: float,
        beta: float,
    ) -> None:
        """Set `c` to ``alpha * a @ b + beta * c``, with ``a.T`` if `turned`."""
        k = len(b)
        m, n = c.shape
        if not (m and n and k):
            if beta == 0.0:
                c[...] = 0.0
            return
        kind, compute = _KINDS[kernel]
        self._cublas.gemmEx(
            self._handle, _T if turned else _N, _N, m, n, k, self._scalar(alpha),
            a.data.ptr, kind, column_stride(a), b.data.ptr, kind, column_stride(b),
            self._scalar(beta), c.data.ptr, _CUDA_R_32F, column_stride(c), compute, _GEMM_DEFAULT,
        )  # fmt: skip

    def doubles(
        self, c: Block, a: Block, x: Block, *, turned: bool, alpha: float, beta: float
    ) -> None:
        """Set `c` to ``alpha * a @ x + beta * c`` in float64; `a` in either order."""
        if not a.size or not c.size:
            c[...] = beta * c if beta else 0.0
            return
        if a.strides[0] != a.itemsize and a.shape[0] > 1:
            a, turned = a.T, not turned
        flag, (rows, columns), stride = _T if turned else _N, a.shape, column_stride(a)
        one, other = self._double(alpha), self._double(beta)
        if c.shape[1] == 1 or (c.shape[1] == 2 and a.size <= _SMALL):
            for j in range(c.shape[1]):
                self._cublas.dgemv(
                    self._handle, flag, rows, columns, one, a.data.ptr, stride,
                    x.data.ptr + 8 * j * column_stride(x), 1,
                    other, c.data.ptr + 8 * j * column_stride(c), 1,
                )  # fmt: skip
            return
        self._cublas.gemmEx(
            self._handle, flag, _N, *c.shape, len(x), one,
            a.data.ptr, _CUDA_R_64F, stride, x.data.ptr, _CUDA_R_64F, column_stride(x),
            other, c.data.ptr, _CUDA_R_64F, column_stride(c), _COMPUTE_64F_PEDANTIC, _GEMM_DEFAULT,
        )  # fmt: skip

    def batch(self, c: Block, a: Block, b: Block, alpha: float) -> None:
        """Set `c` to ``alpha * a @ b``: float64 squares, each column by column."""
        count, n, _ = c.shape
        (pa, la, sa), (pb, lb, sb), (pc, lc, sc) = (
            (x.data.ptr, x.strides[2] // 8, x.strides[0] // 8) for x in (a, b, c)
        )
        self._cublas.gemmStridedBatchedEx(
            self._handle, _N, _N, n, n, n, self._double(alpha),
            pa, _CUDA_R_64F, la, sa, pb, _CUDA_R_64F, lb, sb,
            self._double(0.0), pc, _CUDA_R_64F, lc, sc, count, _COMPUTE_64F_PEDANTIC, _GEMM_DEFAULT,
        )  # fmt: skip

    @cached_property
    def _solver(self) -> Any:
        from cupy_backends.cuda.libs import cusolver

        return cusolver

    def geqrf(self, a: Block, r: Block) -> None:
        """Replace `a` by Q and fill `r`, whose diagonal is not negative."""
        xp, solver = self._xp, self._solver
        handle = xp.cuda.device.get_cusolver_handle()
        (m, n), stride = a.shape, column_stride(a)
        tau, info = xp.empty(n, dtype=np.float32), xp.empty(1, dtype=np.int32)
        first = solver.sgeqrf_bufferSize(handle, m, n, a.data.ptr, stride)
        second = solver.sorgqr_bufferSize(handle, m, n, n, a.data.ptr, stride, tau.data.ptr)
        room = xp.empty(max(first, second), dtype=np.float32)
        solver.sgeqrf(
            handle, m, n, a.data.ptr, stride, tau.data.ptr, room.data.ptr, first, info.data.ptr
        )
        triangle = xp.triu(a[:n])
        solver.sorgqr(
            handle, m, n, n, a.data.ptr, stride, tau.data.ptr, room.data.ptr, second, info.data.ptr
        )
        signs = xp.where(xp.diagonal(triangle) < 0, np.float32(-1), np.float32(1))
        r[...] = triangle * signs[:, None]
        a *= signs
