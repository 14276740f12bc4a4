"""cuBLAS and cuSOLVER for arrays of floats: called directly, and never waited for.

What `cupy.linalg` offers for the same reads a status after every call. Matrices are rows after
rows; the libraries read them column after column, which makes each its transpose.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.cuda.floats.signs import sign_rows
from mdqr._backend.cuda.runtime.kernels import Kernels
from mdqr._backend.cuda.vendor.cublas import (
    LOWER,
    NON_UNIT,
    NUMBERS,
    UNIT,
    C,
    Cublas,
    N,
    T,
    cublas,
)
from mdqr._backend.cuda.vendor.cusolver import Cusolver, cusolver
from mdqr._limbs.planes import Block


class Part(NamedTuple):
    """A float32 matrix in memory, column by column; the fields of `struct float_matrix`."""

    address: int
    stride: int  # of columns, in elements
    rows: int
    columns: int

    @property
    def place(self) -> tuple[int, int]:
        """The address and the stride."""
        return self.address, self.stride

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns."""
        return self.rows, self.columns

    def part(self, rows: slice, columns: slice) -> Part:
        """Return the part of these rows and columns, whose ends are numbers."""
        first, last, left, right = rows.start, rows.stop, columns.start, columns.stop
        address = self.address + 4 * (first + left * self.stride)
        return Part(address, self.stride, last - first, right - left)


class Library:
    """Products, triangular solutions and reflections of matrices of one type.

    Parameters
    ----------
    kernels : Kernels
        Whose arrays they are.
    dtype : dtype
        float32, float64, complex64 or complex128.
    blas, solver : Cublas, Cusolver
        The libraries.
    """

    def __init__(
        self, kernels: Kernels, dtype: np.dtype[Any], blas: Cublas, solver: Cusolver
    ) -> None:
        self._kernels, self._dtype, self._blas, self._solver = kernels, dtype, blas, solver

    def multiply(
        self, a: Block, b: Block, c: Block, *, alpha: float, beta: float, conj_a: bool, conj_b: bool
    ) -> None:
        """Set `c`, whose rows are contiguous, to ``alpha a b + beta c``."""
        (m, n), k = c.shape, int(a.shape[-1])
        y, flag_y, stride_y = self._operand(b, conj_b)
        x, flag_x, stride_x = self._operand(a, conj_a)
        address = self._kernels.address
        self._blas.gemm(
            NUMBERS[self._dtype.char], (flag_y, flag_x), (n, m, k),
            (address(y), stride_y), (address(x), stride_x), (address(c), row_stride(c)),
            alpha=alpha, beta=beta,
        )  # fmt: skip

    def _operand(self, x: Block, conj: bool) -> tuple[Block, int, int]:
        """Return a matrix, how cuBLAS reads it, and its stride; copied only if need be."""
        conj = conj and self._dtype.kind == "c"
        stride = 0 if conj else row_stride(x)
        if stride:
            return x, N, stride
        stride = row_stride(x.swapaxes(-1, -2))
        if stride:
            return x, C if conj else T, stride
        copy = x.conj() if conj else x.copy()
        copy = self._kernels.xp.ascontiguousarray(copy)
        return copy, N, max(int(copy.shape[-1]), 1)

    def reflectors(self, x: Block) -> tuple[Block, Block]:
        """Return LAPACK's ``(h, tau)`` of a matrix ``(m, n)``, h as ``(n, m)``."""
        xp = self._kernels.xp
        h = xp.ascontiguousarray(x.swapaxes(-1, -2))
        if self._kernels.address(h) == self._kernels.address(x):
            h = h.copy()
        n, m = h.shape
        tau = xp.empty(min(m, n), dtype=self._dtype)
        address = self._kernels.address
        self._solver.call(self._dtype.char, "geqrf", (m, n, address(h), m), (address(tau),))
        return h, tau

    def orthogonal(self, h: Block, tau: Block, columns: int) -> Block:
        """Return the first columns of Q, at least as many as there are reflections."""
        count, m = int(tau.shape[0]), int(h.shape[1])
        q = self._kernels.xp.empty((columns, m), dtype=self._dtype)
        q[:count] = h[:count]
        places = (self.address(q), m, self.address(tau))
        self._solver.call(self._dtype.char, "orgqr", (m, columns, count, *places))
        return q.swapaxes(-1, -2)

    def cholesky(self, gram: Block) -> Block:
        """Return the upper triangular C with ``C^H C = gram``; NaN if that is not definite."""
        xp, order = self._kernels.xp, len(gram)
        if not order:
            return gram.copy()
        c = xp.array(gram, order="C")
        sizing = (LOWER, order, self.address(c), order)
        status = self._solver.call(self._dtype.char, "potrf", sizing)
        return xp.where(status > 0, np.nan, xp.triu(c)).astype(self._dtype, copy=False)

    def sign_rows(self, r: Block, count: int, columns: int) -> Block:
        """Make a diagonal not negative, and clear what lies below it; return the signs."""
        return sign_rows(self._kernels, r, count, columns)

    def unit_solve(self, upper: Block, x: Block) -> None:
        """Replace `x` by ``U^-1 x``, U the part of `upper` above its diagonal, and ones on it.

        Both are contiguous, and square.
        """
        order = len(upper)
        places = (self.address(upper), order), (self.address(x), order)
        self._blas.trsm(self._dtype.char, (LOWER, N, UNIT), (order, order), *places)

    def solve(self, a: Block, x: Block, *, lower: bool) -> None:
        """Replace `x`, which is contiguous, by ``a^-1 x``; the other triangle is not read."""
        stride, flag = row_stride(a), N
        if not stride:
            stride, flag = row_stride(a.swapaxes(-1, -2)), T
            lower = not lower
        order, columns = x.shape
        places = (self.address(a), stride), (self.address(x), columns)
        triangle = (int(lower), flag, NON_UNIT)
        self._blas.trsm(self._dtype.char, triangle, (columns, order), *places)

    def address(self, x: Block) -> int:
        """Return where an array starts."""
        return self._kernels.address(x)

    def transposed(self, x: Block) -> Part:
        """Return the transpose of a matrix whose rows are contiguous."""
        rows, columns = x.shape
        return Part(self.address(x), row_stride(x), columns, rows)

    def gemm(
        self, a: Part, b: Part, c: Part, *, transposed: bool = False, alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:  # fmt: skip
        """Set ``c = alpha a b + beta c``, or with ``a^T`` for a, columns after columns, float32."""
        self._blas.gemm(
            NUMBERS["f"], (T if transposed else N, N), (*c.shape, b.rows),
            a.place, b.place, c.place, alpha=alpha, beta=beta,
        )  # fmt: skip

    def copy(self, x: Part, out: Part, *, transposed: bool = False) -> None:
        """Set `out` to `x` or its transpose, columns after columns, float32."""
        self._blas.copy(T if transposed else N, out.shape, x.place, out.place)

    def clear(self, x: Part) -> None:
        """Set `x` to zero, columns after columns, float32."""
        self._blas.clear(x.shape, x.place)

    def scale_rows(self, signs: int, x: Part) -> None:
        """Multiply the rows of `x` by what lies at `signs`, columns after columns, float32."""
        self._blas.scale_rows(x.shape, x.place, signs)

    def widened(self) -> Library:
        """Return the same for 64 bits."""
        kind = np.complex128 if self._dtype.kind == "c" else np.float64
        return self._with(np.dtype(kind), self._blas)

    def calling(self, blas: Cublas) -> Library:
        """Return the same on the stream of another cuBLAS."""
        return self._with(self._dtype, blas)

    def _with(self, dtype: np.dtype[Any], blas: Cublas) -> Library:
        return Library(self._kernels, dtype, blas, self._solver)


def library(kernels: Kernels, dtype: np.dtype[Any]) -> Library:
    """Return the libraries that CuPy calls."""
    return Library(kernels, dtype, cublas(kernels.xp), cusolver(kernels.xp))


def row_stride(x: Block) -> int:
    """Return the distance of the rows of a matrix in elements; 0 if rows are not contiguous."""
    (rows, columns), item = x.shape, x.dtype.itemsize
    down, right = (stride // item for stride in x.strides)
    if right != 1 and columns > 1:
        return 0
    if rows <= 1:
        return max(columns, 1)
    return int(down) if down >= max(columns, 1) else 0
