"""Low-precision products by cuBLAS, and panels by the kernels of ``kernels/cuda/tensorcore_*``."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from mdqr._backend.cuda.kernels import Kernels, Module, divided, fields
from mdqr._backend.protocol import Block
from mdqr.linalg._checks import fetch
from mdqr.tensorcore._engine import CUTOFF, NO_FLOOR, SMALL, Loaded, Operand, Report
from mdqr.tensorcore._formats import Format
from mdqr.tensorcore._numpy_engine import headroom, pairs

SCALE = Module("tensorcore_scale", 1, False)
CAQR = Module("tensorcore_caqr", 1, False)
GRAM = Module("tensorcore_gram", 1, False)
CHOLESKY = Module("tensorcore_cholesky", 1, False)

_THREADS = 256
# Of loading: rows of a block, and its columns.
_LOAD_ROWS, _LOAD_COLUMNS = 512, 32
# Of a caqr panel: blocks of 128 threads that meet, two a multiprocessor, and their shared words.
_CAQR_BLOCKS, _CAQR_THREADS, _CAQR_ROWS, _CAQR_WORDS = 192, 128, 256, 3 * 128 + 32 * 36 + 32 * 32
# Of the Gram matrix: parts that are summed, rows of a tile, and its stride in shared memory.
_GRAM_BLOCKS, _TILE_ROWS, _TILE_STRIDE, _FACTOR_STRIDE = 128, 64, 68, 132
_SUM_THREADS = 4 * CUTOFF
_GRID_Y = 32768
_ALIGN = 8
# Words that kernels share, the first for the report; each panel takes some.
_WORDS = 4096


class Products(Protocol):
    """Dense products and the library's QR, column by column."""

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
        """Set `c` to ``alpha * a @ b + beta * c``, with ``a.T`` if `turned`; sums in float32.

        `kernel` is that of the format of `a` and `b`.
        """
        ...

    def geqrf(self, a: Block, r: Block) -> None:
        """Replace `a` by Q and fill `r`, whose diagonal is not negative."""
        ...

    def doubles(
        self, c: Block, a: Block, x: Block, *, turned: bool, alpha: float, beta: float
    ) -> None:
        """Do what `Engine.doubles` does."""
        ...


def round_module(form: Format) -> Module:
    """Return the module that rounds to a format."""
    return Module("tensorcore_round", 1, False, (f"MDQR_FORMAT={form.kernel}",))


class CudaEngine:
    """The algorithms on a GPU. One engine serves one factorisation."""

    def __init__(self, kernels: Kernels, products: Products) -> None:
        self.xp: ModuleType = kernels.xp
        self._kernels = kernels
        self._products = products
        self._words = self.xp.zeros(_WORDS, dtype=np.int64)
        self._status = self._words[:1]
        self._used = 1
        self._trees: dict[int, Block] = {}

    def _view(self, x: Block) -> list[int]:
        """Return the fields of `struct float_matrix`."""
        return [self._kernels.address(x), column_stride(x), *x.shape]

    def _new_word(self) -> int:
        """Return the address of a word that is zero and nobody else's."""
        if self._used == len(self._words):
            self._words, self._used = self.xp.zeros(_WORDS, dtype=np.int64), 0
        self._used += 1
        return self._kernels.address(self._words) + 8 * (self._used - 1)

    def load(self, a: Block, *, scaled: bool) -> Loaded:
        """Return a float32 copy of `a` with scaled columns."""
        m, n = a.shape
        work, exponents = self.matrix(m, n), self.xp.empty(n, dtype=np.int64)
        if not a.size:
            return Loaded(work, self.xp.zeros(n, dtype=np.int64))
        maxima = self.xp.zeros(n, dtype=np.int64)
        size = a.dtype.itemsize
        strides = [stride // size for stride in a.strides]
        x = [self._kernels.address(a), m, n, *strides, int(size == 8)]
        grid = (divided(m, _LOAD_ROWS), divided(n, _LOAD_COLUMNS))
        largest = self._kernels.address(maxima)
        self._kernels.launch(
            SCALE, "mdqr_tensorcore_maxima", fields(x, largest, _LOAD_ROWS),
            grid=grid, threads=_THREADS, shared=8 * _THREADS,
        )  # fmt: skip
        self._kernels.launch(
            SCALE, "mdqr_tensorcore_load",
            fields(
                x, largest, self._kernels.address(exponents), self._kernels.address(self._status),
                self._view(work), _LOAD_ROWS, headroom(m), int(scaled),
            ),
            grid=grid, threads=_THREADS, shared=4 * _LOAD_COLUMNS * (_LOAD_COLUMNS + 1),
        )  # fmt: skip
        return Loaded(work, exponents)

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
        view = self._view(x)
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
                    p.form.kernel, turned=True, alpha=2.0**exponent, beta=beta,
                )  # fmt: skip
                beta = 1.0

    def doubles(
        self,
        c: Block,
        a: Block,
        x: Block,
        *,
        turned: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """Set `c` to ``alpha * a @ x + beta * c`` in float64."""
        self._products.doubles(c, a, x, turned=turned, alpha=alpha, beta=beta)

    def squares(self, x: Block) -> Block:
        """Return the squares of the lengths of the columns, in float64."""
        sums = self.xp.empty(x.shape[1])
        self._kernels.launch(
            SCALE, "mdqr_tensorcore_squares", fields(self._view(x), self._kernels.address(sums)),
            grid=(min(x.shape[1], _GRID_Y),), threads=_THREADS, shared=8 * _THREADS,
        )  # fmt: skip
        return sums

    def add(self, c: Block, p: Operand, x: Operand, sign: int) -> None:
        """Add ``sign * p @ x`` to `c`, the smallest products first."""
        for i, j, exponent in pairs(p.form):
            self._products.multiply(
                c, p.terms[i], x.terms[j], p.form.kernel,
                turned=False, alpha=sign * 2.0**exponent, beta=1.0,
            )  # fmt: skip

    def caqr(self, a: Block, r: Block) -> None:
        """Factor up to 32 columns by a tree of Gram-Schmidt blocks."""
        m = len(a)
        leaves = divided(m, _CAQR_ROWS)
        blocks = min(leaves, _CAQR_BLOCKS)
        if m not in self._trees:
            self._trees[m] = self.xp.empty(tree_floats(m), dtype=np.float32)
        self._kernels.launch(
            CAQR, "mdqr_tensorcore_caqr",
            fields(
                self._view(a), self._view(r), self._kernels.address(self._trees[m]),
                self._new_word(), blocks,
            ),
            grid=(blocks,), threads=_CAQR_THREADS, shared=4 * _CAQR_WORDS,
            cooperative=blocks > 1,
        )  # fmt: skip

    @cached_property
    def _panel_memory(self) -> Block:
        """The parts of a Gram matrix, then the matrix and the inverse of its triangle."""
        return self.xp.empty((_GRAM_BLOCKS + 2, CUTOFF, CUTOFF))

    def cholesky(self, a: Block, r: Block, floor: int = NO_FLOOR) -> None:
        """Factor up to 128 columns by CholeskyQR in float64, twice where once is not enough."""
        wanted = 0
        for second in (False, True):
            again = self._new_word()
            self._cholesky_pass(a, r, (wanted, again, int(second), floor))
            wanted = again

    def _cholesky_pass(self, a: Block, r: Block, options: tuple[int, int, int, int]) -> None:
        wanted = options[0]
        launch, panel = self._kernels.launch, self._view(a)
        tiles = divided(len(a), _TILE_ROWS)
        each = divided(tiles, _GRAM_BLOCKS)
        blocks, square = divided(tiles, each), 8 * CUTOFF * CUTOFF
        parts = self._kernels.address(self._panel_memory)
        gram, inverse = (parts + (_GRAM_BLOCKS + i) * square for i in range(2))
        tile = 8 * CUTOFF * _TILE_STRIDE
        launch(
            GRAM, "mdqr_tensorcore_gram", fields(panel, parts, wanted, each),
            grid=(blocks,), threads=_THREADS, shared=tile,
        )  # fmt: skip
        launch(
            GRAM, "mdqr_tensorcore_gram_sum", fields(parts, gram, wanted, blocks),
            grid=(CUTOFF,), threads=_SUM_THREADS, shared=8 * _SUM_THREADS,
        )  # fmt: skip
        launch(
            CHOLESKY, "mdqr_tensorcore_cholesky",
            fields(
                gram, inverse, self._view(r), *options,
            ),
            grid=(1,), threads=_THREADS, shared=8 * CUTOFF * (CUTOFF + 1 + 3),
        )  # fmt: skip
        launch(
            GRAM, "mdqr_tensorcore_multiply", fields(panel, inverse, wanted, each),
            grid=(blocks,), threads=_THREADS, shared=tile + 8 * CUTOFF // 2 * _FACTOR_STRIDE,
        )  # fmt: skip

    def geqrf(self, a: Block, r: Block) -> None:
        """Factor by the library's Householder QR."""
        self._products.geqrf(a, r)

    def report(self, *values: Any) -> tuple[Report, tuple[Any, ...]]:
        """Wait for the device; return what it noted, and small arrays."""
        status, *found = fetch(self._status, *values)
        return Report(bool(status[0])), tuple(found)


def column_stride(x: Block) -> int:
    """Return the distance of the columns of a matrix in elements, at least its rows."""
    return max(x.strides[1] // x.dtype.itemsize if x.shape[1] > 1 else 0, len(x), 1)


def tree_floats(rows: int) -> int:
    """Return the size of all levels of a caqr panel behind the first."""
    total, blocks = 0, divided(rows, _CAQR_ROWS)
    while blocks > 1:
        total += SMALL * blocks * SMALL
        blocks = divided(SMALL * blocks, _CAQR_ROWS)
    return max(total, 1)
