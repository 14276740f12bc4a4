"""Low-precision products by cuBLAS, and panels by the kernels of ``kernels/cuda/tensorcore``."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from mdqr._backend.cuda.floats.panels import NO_OPERAND, CudaPanels, column_stride
from mdqr._backend.cuda.runtime.kernels import Kernels, Module, divided, fields
from mdqr._backend.float_panels import NO_FLOOR
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.checks import fetch
from mdqr.tensorcore._engine.formats import Format, pairs
from mdqr.tensorcore._engine.protocol import PROBES, TRIANGLE, Loaded, Operand, Report, headroom

SCALE = Module("tensorcore/scale", Kind(1, False))
VECTORS = Module("tensorcore/vectors", Kind(1, False))

_THREADS = 256
# Kernels of formats, as in kernels/cuda/tensorcore/formats.hpp.
_FORMATS = {"": 0, "half": 1, "split": 2, "bfloat": 3, "tf32": 4}
# Of loading: rows of a block, and its columns.
_LOAD_ROWS, _LOAD_COLUMNS = 512, 32
_GRID_Y = 32768
_ALIGN = 8
# Of departures: columns of a block of both kernels.
_IMAGE_COLUMNS, _DEPARTURE_COLUMNS = 256, 4


class Products(Protocol):
    """Dense products and the library's QR, column by column."""

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
        """Set `c` to ``alpha * a @ b + beta * c``, with ``a.T`` if `transposed`.

        `kernel` is that of the format of `a` and `b`. Sums are float32's, and float64's where it is
        empty.
        """
        ...

    def geqrf(self, a: Block, r: Block) -> None:
        """Replace `a` by Q and fill `r`, whose diagonal is not negative."""
        ...

    def doubles(
        self, c: Block, a: Block, x: Block, *, transposed: bool, alpha: float, beta: float
    ) -> None:
        """Implement `Engine.doubles`."""
        ...

    def batch(self, c: Block, a: Block, b: Block, alpha: float) -> None:
        """Set `c` to ``alpha * a @ b``: float64 squares, each column by column."""
        ...


def round_module(form: Format) -> Module:
    """Return the module that rounds to a format."""
    return Module("tensorcore/round", Kind(1, False), (f"MDQR_FORMAT={form.kernel}",))


def _load_grid(a: Block) -> tuple[int, int]:
    return divided(a.shape[0], _LOAD_ROWS), divided(a.shape[1], _LOAD_COLUMNS)


class CudaEngine:
    """The algorithms on a GPU. One engine serves one factorisation."""

    def __init__(self, kernels: Kernels, products: Products) -> None:
        self.xp: ModuleType = kernels.xp
        self._kernels = kernels
        self._products = products
        self._panels = CudaPanels(kernels)
        self._status = self._panels.status

    def load(self, a: Block, *, scaled: bool) -> Loaded:
        """Return a float32 copy of `a` with scaled columns."""
        m, n = a.shape
        work, exponents = self.matrix(m, n), self.xp.empty(n, dtype=np.int64)
        if not a.size:
            return Loaded(work, self.xp.zeros(n, dtype=np.int64))
        maxima = self._maxima(a)
        self._kernels.launch(
            SCALE, "mdqr_tensorcore_load",
            fields(
                self._input(a), self._kernels.address(maxima),
                self._kernels.address(exponents), self._kernels.address(self._status),
                self._panels.view(work), _LOAD_ROWS, headroom(m), int(scaled),
            ),
            grid=_load_grid(a), threads=_THREADS, shared=4 * _LOAD_COLUMNS * (_LOAD_COLUMNS + 1),
        )  # fmt: skip
        return Loaded(work, exponents)

    def exponents(self, a: Block) -> Block:
        """Return exponents such that the columns of a finite `a` are below two to them."""
        return self.xp.frexp(self._maxima(a).view(np.float64))[1].astype(np.int32)

    def _maxima(self, a: Block) -> Block:
        """Return the bits of the largest magnitudes of the columns."""
        maxima = self.xp.zeros(a.shape[1], dtype=np.int64)
        self._kernels.launch(
            SCALE, "mdqr_tensorcore_maxima",
            fields(self._input(a), self._kernels.address(maxima), _LOAD_ROWS),
            grid=_load_grid(a), threads=_THREADS, shared=8 * _THREADS,
        )  # fmt: skip
        return maxima

    def _input(self, a: Block) -> list[int]:
        size = a.dtype.itemsize
        strides = [stride // size for stride in a.strides]
        return [self._kernels.address(a), *a.shape, *strides, int(size == 8)]

    def matrix(self, rows: int, columns: int, *, zero: bool = False) -> Block:
        """Return a new matrix."""
        make = self.xp.zeros if zero else self.xp.empty
        return make((rows, columns), dtype=np.float32, order="F")

    def memory(self, rows: int, columns: int, form: Format) -> Operand:
        """Return memory for an operand; bfloat16 numbers are kept as uint16."""
        if not form.kernel:
            return Operand((), form)
        kinds = {"half": np.float16, "split": np.float16, "bfloat": np.uint16, "tf32": np.float32}
        kind = kinds[form.kernel]
        # Columns start at multiples of 16 bytes, as the fast kernels of cuBLAS want.
        shape = (_ALIGN * divided(rows, _ALIGN), columns)
        terms = (self.xp.empty(shape, dtype=kind, order="F") for _ in range(form.terms))
        return Operand(tuple(term[:rows] for term in terms), form)

    def round(self, x: Block, out: Operand) -> Operand:
        """Round `x` into the first rows and columns of `out`."""
        form = out.form
        if not form.kernel:
            return Operand((x,), form)
        m, n = x.shape
        result = out.corner(m, n)
        high, low = result.terms[0], result.terms[-1]
        view = self._panels.view(x)
        stride, kernels = column_stride(high), self._kernels
        high_address, low_address = kernels.address(high), kernels.address(low)
        size = high.dtype.itemsize
        starts = view[0] // 4 | high_address // size | low_address // size
        by_four = (m | stride | view[1] | starts) % 4 == 0
        kernels.launch(
            round_module(form), "mdqr_tensorcore_round",
            fields(view, high_address, low_address, stride, form.exponent, int(by_four)),
            grid=(divided(m, _THREADS * (4 if by_four else 1)), min(n, _GRID_Y)),
            threads=_THREADS,
        )  # fmt: skip
        return result

    def inner(self, p: Operand, x: Operand, out: Block, rows: int = 0) -> None:
        """Set `out` to ``p.T @ x``, the products of every so many `rows` for themselves."""
        beta, m = 0.0, len(p.terms[0])
        for i, j, exponent in pairs(p.form):
            # Products of lower terms are too small for their errors to matter.
            step = rows if rows and p.form.kernel and i == j else m
            for top in range(0, m, max(step, 1)):
                self._products.multiply(
                    out, p.terms[i][top : top + step], x.terms[j][top : top + step],
                    p.form.kernel, transposed=True, alpha=2.0**exponent, beta=beta,
                )  # fmt: skip
                beta = 1.0

    def doubles(
        self,
        c: Block,
        a: Block,
        x: Block,
        *,
        transposed: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """Set `c` to ``alpha * a @ x + beta * c`` in float64."""
        if a.dtype == np.float64:
            self._products.doubles(c, a, x, transposed=transposed, alpha=alpha, beta=beta)
        else:
            self._dots(c, a if transposed else a.T, x, int(alpha), int(beta))

    def _dots(self, c: Block, a: Block, x: Block, sign: int, keeps: int) -> None:
        """Set `c` to ``sign * a.T @ x + keeps * c``; `a` is float32, column by column."""
        if not c.size:
            return
        address = self._kernels.address
        self._kernels.launch(
            VECTORS, "mdqr_tensorcore_dots",
            fields(
                self._panels.view(a), address(x), column_stride(x), address(c), column_stride(c),
                c.shape[1], sign, keeps,
            ),
            grid=(divided(a.shape[1], _THREADS // 32),), threads=_THREADS,
        )  # fmt: skip

    def squares(self, x: Block) -> Block:
        """Return the squares of the lengths of the columns, in float64."""
        sums = self.xp.empty(x.shape[1])
        self._kernels.launch(
            SCALE, "mdqr_tensorcore_squares",
            fields(self._panels.view(x), self._kernels.address(sums)),
            grid=(min(x.shape[1], _GRID_Y),), threads=_THREADS, shared=8 * _THREADS,
        )  # fmt: skip
        return sums

    def departures(self, q: Block) -> Block:
        """Return the squares of the rows of ``(q.T @ q - I) @ signs``, in float64."""
        (m, n), xp, address = q.shape, self.xp, self._kernels.address
        out = xp.zeros(n)
        if not q.size:
            return out
        view, parts = self._panels.view(q), divided(n, _IMAGE_COLUMNS)
        images = xp.empty((parts, PROBES, m))
        self._kernels.launch(
            VECTORS, "mdqr_tensorcore_images", fields(view, address(images)),
            grid=(divided(m, _THREADS), parts), threads=_THREADS,
            shared=8 * PROBES * _IMAGE_COLUMNS,
        )  # fmt: skip
        image = images[0] if parts == 1 else images.sum(axis=0)
        self._kernels.launch(
            VECTORS, "mdqr_tensorcore_departures", fields(view, address(image), address(out)),
            grid=(divided(n, _DEPARTURE_COLUMNS),), threads=_THREADS,
            shared=8 * PROBES * _DEPARTURE_COLUMNS * _THREADS // 32,
        )  # fmt: skip
        return out

    def inverses(self, r: Block, order: int) -> Block:
        """Return the inverses of the blocks of the diagonal of `r`, ``(blocks, order, order)``.

        Those of small blocks by one launch; then their order is doubled by products.
        """
        xp, n = self.xp, len(r)
        out = xp.zeros((n // order, order, order)).transpose(0, 2, 1)
        for i in range(n // order):
            part = r[i * order : (i + 1) * order, i * order : (i + 1) * order]
            self._invert(part, out[i])
        return out

    def _invert(self, r: Block, out: Block) -> None:
        address, n = self._kernels.address, len(r)
        self._kernels.launch(
            VECTORS, "mdqr_tensorcore_triangles",
            fields(address(r), address(out), column_stride(r), column_stride(out)),
            grid=(n // TRIANGLE,), threads=TRIANGLE,
            shared=8 * (3 * TRIANGLE * (TRIANGLE + 1) // 2 + TRIANGLE),
        )  # fmt: skip
        view = self.xp.lib.stride_tricks.as_strided
        between, width = self.xp.empty((n // 2, n // 2), order="F"), TRIANGLE
        while width < n:
            shape = (n // (2 * width), width, width)

            def blocks(x: Block, size: int = width, shape: tuple[int, ...] = shape) -> Block:
                down, right = x.strides
                return view(x, shape, (2 * size * (down + right), down, right))

            part = view(between, shape, (8 * width * width, 8, 8 * width))
            self._products.batch(part, blocks(r[:, width:]), blocks(out[width:, width:]), 1.0)
            self._products.batch(blocks(out[:, width:]), blocks(out), part, -1.0)
            width *= 2

    def add(self, c: Block, p: Operand, x: Operand, sign: int, *, overwrite: bool = False) -> None:
        """Add ``sign * p @ x`` to `c`, the smallest products first."""
        beta = 0.0 if overwrite else 1.0
        for i, j, exponent in pairs(p.form):
            self._products.multiply(
                c, p.terms[i], x.terms[j], p.form.kernel,
                transposed=False, alpha=sign * 2.0**exponent, beta=beta,
            )  # fmt: skip
            beta = 1.0

    def caqr(self, a: Block, r: Block, low: Operand | None = None) -> None:
        """Factor up to 128 columns by trees of Gram-Schmidt blocks."""
        self._panels.caqr(a, r, self._operand(low))

    def cholesky(
        self, a: Block, r: Block, low: Operand | None = None, *, floor: int = NO_FLOOR
    ) -> None:
        """Factor up to 128 columns by CholeskyQR in float64, twice where once is not enough."""
        self._panels.cholesky(a, r, self._operand(low), floor)

    def _operand(self, low: Operand | None) -> Sequence[int]:
        """Return the fields of `struct operand_matrix`."""
        if low is None or not low.form.kernel:
            return NO_OPERAND
        high, other = low.terms[0], low.terms[-1]
        address, form = self._kernels.address, low.form
        stride, kind = column_stride(high), _FORMATS[form.kernel]
        return address(high), address(other), stride, form.exponent, kind

    def geqrf(self, a: Block, r: Block, low: Operand | None = None) -> None:
        """Factor by the library's Householder QR."""
        self._products.geqrf(a, r)
        if low is not None:
            self.round(a, low)

    def orthonormal(self, a: Block, r: Block, *, done: bool) -> None:
        """Factor up to 128 columns by CholeskyQR, until Q is orthonormal."""
        self._panels.orthonormal(a, r, done=done)

    def reflector(self, q: Block, k: Block, signs: Block) -> None:
        """Turn up to 128 orthonormal columns into Y, K and signs."""
        self._panels.reflector(q, k, signs)

    def report(self, *values: Any) -> tuple[Report, tuple[Any, ...]]:
        """Wait for the device; return what it noted, and small arrays."""
        noted, *found = fetch(self._panels.noted, *values)
        return Report(*map(bool, noted)), tuple(found)
