"""cuBLAS and cuSOLVER for updates of float matrices: called directly, and never waited for.

What `cupy.linalg` offers for the same reads a status after every call. Matrices are rows after
rows; the libraries read them column after column, which makes each its transpose.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.cuda.floats.signs import sign_rows
from mdqr._backend.cuda.runtime.kernels import Kernels
from mdqr._backend.cuda.vendor.cublas import Cublas
from mdqr._backend.protocol import Block

# Constants of cuBLAS. Pedantic: no emulation of float64 by integers, whatever the environment says.
_KINDS = {"f": (0, 68), "d": (1, 71), "F": (4, 68), "D": (5, 71)}
_GEMM_DEFAULT = -1
_N, _T, _C = 0, 1, 2
_LEFT, _RIGHT, _LOWER, _NON_UNIT, _UNIT = 0, 1, 0, 0, 1
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


class Part(NamedTuple):
    """A float32 matrix in memory, column by column; the fields of `struct float_matrix`."""

    address: int
    stride: int  # of columns, in elements
    rows: int
    columns: int

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
    cublas : Cublas, optional
        That of a stream that is being recorded.
    """

    def __init__(
        self, kernels: Kernels, dtype: np.dtype[Any], cublas: Cublas | None = None
    ) -> None:
        self._kernels, self._dtype, self._recording = kernels, dtype, cublas
        self._cublas: Any = cublas or import_module("cupy_backends.cuda.libs.cublas")
        self._cusolver: Any = import_module("cupy_backends.cuda.libs.cusolver")
        # Read by address: they live as long as this object.
        self._scalars = {x: np.full(1, x, dtype=dtype) for x in (-1.0, 0.0, 1.0)}

    @cached_property
    def _addresses(self) -> dict[float, int]:
        return {x: int(scalar.ctypes.data) for x, scalar in self._scalars.items()}

    def _scalar(self, x: float) -> int:
        return self._addresses[x]

    def multiply(
        self, a: Block, b: Block, c: Block, *, alpha: float, beta: float, conj_a: bool, conj_b: bool
    ) -> None:
        """Set `c`, whose rows are contiguous, to ``alpha a b + beta c``."""
        (m, n), k = c.shape, int(a.shape[-1])
        kind, compute = _KINDS[self._dtype.char]
        y, flag_y, stride_y = self._operand(b, conj_b)
        x, flag_x, stride_x = self._operand(a, conj_a)
        address = self._kernels.address
        self._cublas.gemmEx(
            self._handle("cublas"), flag_y, flag_x, n, m, k,
            self._scalar(alpha), address(y), kind, stride_y, address(x), kind, stride_x,
            self._scalar(beta), address(c), kind, row_stride(c), compute, _GEMM_DEFAULT,
        )  # fmt: skip

    def _operand(self, x: Block, conj: bool) -> tuple[Block, int, int]:
        """Return a matrix, whether cuBLAS is to turn it, and its stride; copied only if need be."""
        conj = conj and self._dtype.kind == "c"
        stride = 0 if conj else row_stride(x)
        if stride:
            return x, _N, stride
        stride = row_stride(x.swapaxes(-1, -2))
        if stride:
            return x, _C if conj else _T, stride
        own = x.conj() if conj else x.copy()
        own = self._kernels.xp.ascontiguousarray(own)
        return own, _N, max(int(own.shape[-1]), 1)

    def reflectors(self, x: Block) -> tuple[Block, Block]:
        """Return LAPACK's ``(h, tau)`` of a matrix ``(m, n)``, h as ``(n, m)``."""
        xp = self._kernels.xp
        h = xp.ascontiguousarray(x.swapaxes(-1, -2))
        if self._kernels.address(h) == self._kernels.address(x):
            h = h.copy()
        n, m = h.shape
        tau = xp.empty(min(m, n), dtype=self._dtype)
        address = self._kernels.address
        self._solve("geqrf", (m, n, address(h), m), (address(tau),))
        return h, tau

    def orthogonal(self, h: Block, tau: Block, columns: int) -> Block:
        """Return the first columns of Q, at least as many as there are reflections."""
        count, m = int(tau.shape[0]), int(h.shape[1])
        q = self._kernels.xp.empty((columns, m), dtype=self._dtype)
        q[:count] = h[:count]
        name = "ungqr" if self._dtype.kind == "c" else "orgqr"
        address = self._kernels.address
        self._solve(name, (m, columns, count, address(q), m, address(tau)), ())
        return q.swapaxes(-1, -2)

    def cholesky(self, gram: Block) -> Block:
        """Return the upper triangular C with ``C^H C = gram``; NaN if that is not definite."""
        xp, order = self._kernels.xp, len(gram)
        if not order:
            return gram.copy()
        c = xp.array(gram, order="C")
        status = self._solve("potrf", (_LOWER, order, self._kernels.address(c), order), ())
        return xp.where(status > 0, np.nan, xp.triu(c)).astype(self._dtype, copy=False)

    def _solve(self, name: str, sizing: tuple[int, ...], rest: tuple[int, ...]) -> Block:
        """Call a function of cuSOLVER with the memory that it wants; return its status."""
        name, handle = _LETTERS[self._dtype.char] + name, self._handle("cusolver")
        size = getattr(self._cusolver, f"{name}_bufferSize")(handle, *sizing)
        xp, address = self._kernels.xp, self._kernels.address
        room, status = xp.empty(max(size, 1), dtype=self._dtype), xp.empty(1, dtype=np.int32)
        getattr(self._cusolver, name)(handle, *sizing, *rest, address(room), size, address(status))
        return status

    def sign_rows(self, r: Block, count: int, columns: int) -> Block:
        """Make a diagonal not negative, and clear what lies below it; return the signs."""
        return sign_rows(self._kernels, r, count, columns)

    def unit_solve(self, upper: Block, x: Block) -> None:
        """Replace `x` by ``U^-1 x``, U the part of `upper` above its diagonal, and ones on it.

        Both are contiguous, and square.
        """
        order = len(upper)
        address = self._kernels.address
        getattr(self._cublas, _LETTERS[self._dtype.char] + "trsm")(
            self._handle("cublas"), _RIGHT, _LOWER, _N, _UNIT, order, order, self._scalar(1.0),
            address(upper), order, address(x), order,
        )  # fmt: skip

    def solve(self, a: Block, x: Block, *, lower: bool) -> None:
        """Replace `x`, which is contiguous, by ``a^-1 x``; the other triangle is not read."""
        stride, flag = row_stride(a), _N
        if not stride:
            stride, flag = row_stride(a.swapaxes(-1, -2)), _T
            lower = not lower
        order, columns = x.shape
        address = self._kernels.address
        getattr(self._cublas, _LETTERS[self._dtype.char] + "trsm")(
            self._handle("cublas"), _RIGHT, int(lower), flag, _NON_UNIT, columns, order,
            self._scalar(1.0), address(a), stride, address(x), columns,
        )  # fmt: skip

    def address(self, x: Block) -> int:
        """Return where an array starts."""
        return self._kernels.address(x)

    def turned(self, x: Block) -> Part:
        """Return the transpose of a matrix whose rows are contiguous."""
        rows, columns = x.shape
        return Part(self.address(x), row_stride(x), columns, rows)

    def gemm(
        self, a: Part, b: Part, c: Part, *, turned: bool = False, alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:  # fmt: skip
        """Set ``c = alpha a b + beta c``, or with ``a^T`` for a, columns after columns, float32."""
        kind, compute = _KINDS["f"]
        self._cublas.gemmEx(
            self._handle("cublas"), _T if turned else _N, _N, c.rows, c.columns, b.rows,
            self._scalar(alpha), a.address, kind, a.stride, b.address, kind, b.stride,
            self._scalar(beta), c.address, kind, c.stride, compute, _GEMM_DEFAULT,
        )  # fmt: skip

    def copy(self, x: Part, out: Part, *, turned: bool = False) -> None:
        """Set `out` to `x` or its transpose, columns after columns, float32."""
        self._cublas.sgeam(
            self._handle("cublas"), _T if turned else _N, _N, out.rows, out.columns,
            self._scalar(1.0), x.address, x.stride, self._scalar(0.0), out.address, out.stride,
            out.address, out.stride,
        )  # fmt: skip

    def clear(self, x: Part) -> None:
        """Set `x` to zero, columns after columns, float32."""
        zero, own = self._scalar(0.0), (x.address, x.stride)
        self._cublas.sgeam(
            self._handle("cublas"), _N, _N, x.rows, x.columns, zero, *own, zero, *own, *own
        )

    def scale_rows(self, signs: int, x: Part) -> None:
        """Multiply the rows of `x` by what lies at `signs`, columns after columns, float32."""
        own = (x.address, x.stride)
        self._cublas.sdgmm(self._handle("cublas"), _LEFT, x.rows, x.columns, *own, signs, 1, *own)

    def widened(self) -> Library:
        """Return the same for 64 bits."""
        kind = np.complex128 if self._dtype.kind == "c" else np.float64
        return Library(self._kernels, np.dtype(kind))

    def calling(self, cublas: Cublas) -> Library:
        """Return the same on the stream of another cuBLAS."""
        return Library(self._kernels, self._dtype, cublas)

    def _handle(self, library: str) -> Any:
        if self._recording is not None and library == "cublas":
            return self._recording.handle
        return getattr(self._kernels.xp.cuda.device, f"get_{library}_handle")()


def row_stride(x: Block) -> int:
    """Return the distance of the rows of a matrix in elements; 0 if rows are not contiguous."""
    (rows, columns), item = x.shape, x.dtype.itemsize
    down, right = (stride // item for stride in x.strides)
    if right != 1 and columns > 1:
        return 0
    if rows <= 1:
        return max(columns, 1)
    return int(down) if down >= max(columns, 1) else 0
