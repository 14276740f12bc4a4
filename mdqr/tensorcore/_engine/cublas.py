"""Products by cuBLAS and panels by cuSOLVER, in place on columns of CuPy matrices."""

from __future__ import annotations

import numpy as np

from mdqr._backend.cuda.floats.panels import column_stride
from mdqr._backend.cuda.runtime.kernels import Kernels
from mdqr._backend.cuda.vendor.cublas import (
    COMPUTE_32F,
    COMPUTE_32F_FAST_TF32,
    NUMBERS,
    R_16BF,
    R_16F,
    R_32F,
    Cublas,
    N,
    Numbers,
    T,
    cublas,
)
from mdqr._backend.cuda.vendor.cusolver import Cusolver, cusolver
from mdqr._limbs.planes import Block

# tf32 operands have been rounded before. Products of float32 are not among them: their sums are
# float64's, since the rounding errors of float32 sums of equal terms have one sign.
_KINDS = {
    "half": Numbers(R_16F, R_32F, COMPUTE_32F, "f"),
    "split": Numbers(R_16F, R_32F, COMPUTE_32F, "f"),
    "bfloat": Numbers(R_16BF, R_32F, COMPUTE_32F, "f"),
    "tf32": Numbers(R_32F, R_32F, COMPUTE_32F_FAST_TF32, "f"),
}
# Up to so many entries a matrix times two columns is a product for each: those for both work on
# tiles of many columns, by few blocks.
_SMALL = 2**27


class CublasProducts:
    """cuBLAS and cuSOLVER on the current device and stream.

    Parameters
    ----------
    kernels : Kernels
        Whose arrays they are.
    blas, solver : Cublas, Cusolver, optional
        The libraries; by default those that CuPy calls.
    """

    def __init__(
        self, kernels: Kernels, blas: Cublas | None = None, solver: Cusolver | None = None
    ) -> None:
        self._xp, self._address = kernels.xp, kernels.address
        self._blas, self._solver = blas or cublas(kernels.xp), solver or cusolver(kernels.xp)

    def _place(self, x: Block) -> tuple[int, int]:
        return self._address(x), column_stride(x)

    def multiply(
        self,
        c: Block,
        a: Block,
        b: Block,
        kernel: str,
        *,
        transposed: bool,
        alpha: float,
        beta: float,
    ) -> None:
        """Set `c` to ``alpha * a @ b + beta * c``, with ``a.T`` if `transposed`."""
        k = len(b)
        m, n = c.shape
        if not (m and n and k):
            if beta == 0.0:
                c[...] = 0.0
            return
        flags = (T if transposed else N, N)
        if kernel:
            places = (self._place(x) for x in (a, b, c))
            self._blas.gemm(_KINDS[kernel], flags, (m, n, k), *places, alpha=alpha, beta=beta)
            return
        a, b = (x.astype(np.float64, order="F") for x in (a, b))
        total = c.astype(np.float64, order="F") if beta else self._xp.empty(c.shape, order="F")
        places = (self._place(x) for x in (a, b, total))
        self._blas.gemm(NUMBERS["d"], flags, (m, n, k), *places, alpha=alpha, beta=beta)
        c[...] = total

    def doubles(
        self, c: Block, a: Block, x: Block, *, transposed: bool, alpha: float, beta: float
    ) -> None:
        """Set `c` to ``alpha * a @ x + beta * c`` in float64; `a` in either order."""
        if not a.size or not c.size:
            c[...] = beta * c if beta else 0.0
            return
        if a.strides[0] != a.itemsize and a.shape[0] > 1:
            a, transposed = a.T, not transposed
        flag, place, left, right = (
            T if transposed else N,
            self._place(a),
            self._place(x),
            self._place(c),
        )
        if c.shape[1] == 1 or (c.shape[1] == 2 and a.size <= _SMALL):
            for j in range(c.shape[1]):
                columns = (start + 8 * j * stride for start, stride in (left, right))
                self._blas.gemv(flag, a.shape, place, *columns, alpha=alpha, beta=beta)
            return
        shape = (*c.shape, len(x))
        places = place, left, right
        self._blas.gemm(NUMBERS["d"], (flag, N), shape, *places, alpha=alpha, beta=beta)

    def batch(self, c: Block, a: Block, b: Block, alpha: float) -> None:
        """Set `c` to ``alpha * a @ b``: float64 squares, each column by column."""
        count, n, _ = c.shape
        places = ((self._address(x), x.strides[2] // 8, x.strides[0] // 8) for x in (a, b, c))
        self._blas.gemm_batched(NUMBERS["d"], (n, n, n), count, *places, alpha=alpha)

    def geqrf(self, a: Block, r: Block) -> None:
        """Replace `a` by Q and fill `r`, whose diagonal is not negative; in float64."""
        xp, (m, n) = self._xp, a.shape
        wide, tau = a.astype(np.float64, order="F"), xp.empty(n)
        place, address = self._place(wide), self._address(tau)
        self._solver.call("d", "geqrf", (m, n, *place), (address,))
        triangle = xp.triu(wide[:n])
        self._solver.call("d", "orgqr", (m, n, n, *place, address))
        signs = xp.where(xp.diagonal(triangle) < 0, -1.0, 1.0)
        r[...] = triangle * signs[:, None]
        a[...] = wide * signs
