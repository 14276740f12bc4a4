"""Updates of float arrays on a GPU: its libraries, panels of float32, and recordings of windows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.floats.library import Library, library, row_stride
from mdqr._backend.cuda.floats.panels import CudaPanels
from mdqr._backend.cuda.floats.reflections import Factoring, Panels, vectors
from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update.arithmetic.engine import Reflections
from mdqr.linalg._update.arithmetic.floats import Floats, formed
from mdqr.linalg._update.arithmetic.matrices import adjoint_multiply

if TYPE_CHECKING:
    from mdqr._backend.cuda.runtime.graphs import Graphs
    from mdqr._backend.cuda.vendor.cublas import Cublas

# Above so many reflections Q is better formed by the library.
_MOST_FORMED = 1024
# Up to so many right-hand sides one launch for all of a substitution is faster than the library.
_FEW_SIDES = 8
# Entries of a matrix whose factorisation is recorded: beyond, devices take longer than hosts.
_MOST_RECORDED = 2**21
# Columns of a window: its panels take as long as those of two, what surrounds them is done once.
_LEAST_WINDOW = 512


def floats(backend: Backend, dtype: Any) -> Floats:
    """Return the arithmetic of float arrays on a backend."""
    if not isinstance(backend, CudaBackend):
        return Floats(backend, dtype)
    kind, kernels = np.dtype(dtype), backend.kernels
    found = library(kernels, kind)
    if kind != np.float32:
        return CudaFloats(backend, kind, found)
    return CudaFloats(backend, kind, found, lambda: CudaPanels(kernels), kernels.graphs)


@dataclass
class PanelFactors:
    """The reflections of tiles of panels, from what `Factoring` leaves."""

    engine: Floats
    rows: int
    y: Block
    k: Block
    tile: int
    unit = False

    @cached_property
    def _vectors(self) -> tuple[list[Block], list[Block]]:
        return vectors(self.y, self.k, (self.rows, len(self.y)), self.tile)

    @property
    def vs(self) -> list[Block]:
        """The lower trapezoidal V of each tile."""
        return self._vectors[0]

    @property
    def ts(self) -> list[Block]:
        """The T of each tile."""
        return self._vectors[1]

    def form_q(self, columns: int) -> Block:
        """Return the first columns of Q."""
        return formed(self.engine, (self.rows, columns), self.vs, self.ts)


class LibraryTriangle(Triangle):
    """A triangle of one limb whose solutions come from the library of a GPU if there are many."""

    def __init__(
        self,
        library: Library,
        backend: Backend,
        block: Block,
        *,
        kind: Kind,
        function: str,
        checks: Checks,
    ) -> None:
        super().__init__(backend, block, kind=kind, function=function, checks=checks)
        self._library = library

    def _substitute(
        self, a: Block, b: Block, *, lower: bool, conjugate: bool, report: Reporter | None
    ) -> Block:
        if b.shape[-1] <= _FEW_SIDES:
            return super()._substitute(a, b, lower=lower, conjugate=conjugate, report=report)
        xp, field = self.backend.xp, self.kind.is_complex
        matrix = to_native(xp, a, field, conjugate)
        x = xp.array(to_native(xp, b, field), order="C")
        if x.size:
            self._library.solve(matrix, x, lower=lower)
        if report is not None:
            report("substitute", self.order, self.order)
        return from_native(xp, x, field)


class CudaFloats(Floats):
    """Float arrays on a GPU: single matrices by its libraries, without waiting for the device."""

    tile = 512

    def __init__(
        self,
        backend: Backend,
        dtype: Any,
        library: Library,
        panels: Callable[[], Panels] | None = None,
        graphs: Graphs | None = None,
    ) -> None:
        self._library, self._make_panels, self._graphs = library, panels, graphs
        self._panels: Panels | None = None
        super().__init__(backend, dtype)

    @property
    def fast(self) -> bool:
        """True if panels may be used; setting it forgets a breakdown."""
        return self._fast

    @fast.setter
    def fast(self, value: bool) -> None:
        self._fast, self._panels = value, None
        self.has_panels = value and self._make_panels is not None

    @property
    def breakdown(self) -> Block | None:
        """Not zero if a panel broke down; None if none was asked."""
        return None if self._panels is None else self._panels.breakdown

    @property
    def panels(self) -> Panels:
        """The panels, made when they are first wanted.

        Raises
        ------
        TypeError
            If this arithmetic has none.
        """
        if self._make_panels is None:
            raise TypeError(f"no panels for {self.dtype}")
        if self._panels is None:
            self._panels = self._make_panels()
        return self._panels

    def multiply(
        self,
        a: Block,
        b: Block,
        *,
        c: Block | None = None,
        subtract: bool = False,
        conj_a: bool = False,
        conj_b: bool = False,
    ) -> Block:
        """Return ``c + a b`` or ``c - a b``."""
        if a.ndim > 2 or b.ndim > 2 or 0 in (*a.shape, *b.shape):
            return super().multiply(a, b, c=c, subtract=subtract, conj_a=conj_a, conj_b=conj_b)
        shape = (int(a.shape[0]), int(b.shape[1]))
        out = self.backend.xp.empty(shape, dtype=self.dtype) if c is None else c.copy(order="C")
        self._library.multiply(
            a,
            b,
            out,
            alpha=-1.0 if subtract else 1.0,
            beta=0.0 if c is None else 1.0,
            conj_a=conj_a,
            conj_b=conj_b,
        )
        return out

    def triangle(self, r: Block, function: str, checks: Checks) -> Triangle:
        """Return the square upper triangle `r`, for solutions in 64 bits."""
        if r.ndim > 2:
            return super().triangle(r, function, checks)
        kind = self.kind
        return LibraryTriangle(
            self._wide, self.backend, self.to_block(r), function=function, checks=checks, kind=kind
        )

    @cached_property
    def _wide(self) -> Library:
        return self._library.widened()

    def _product(self, a: Block, b: Block) -> Block:
        """Multiply batches; the backend keeps 64 bits from being emulated by integers."""
        if self._is_single:
            return a @ b
        planes = (from_native(self.backend.xp, x, self.kind.is_complex) for x in (a, b))
        found = self.backend.matmul(*planes, kind=self.kind)
        return to_native(self.backend.xp, found, self.kind.is_complex)

    def factor(self, x: Block, tile: int | None = None, *, clear: bool = True) -> Reflections:
        """Replace `x` by R, and return the reflections."""
        if not self._suits_panels(x):
            return super().factor(x, tile, clear=clear)
        tile = tile or self.tile

        def work(x: Block, cublas: Cublas) -> list[Block]:
            engine = self._recording(cublas)
            factors = engine.panelled(x, tile, clear=clear)
            return [x, factors.y, factors.k, engine.panels.breakdown]

        found = self._recorded(("factor", tile, clear), x, work)
        if found is None:
            return self.panelled(x, tile, clear=clear)
        return PanelFactors(self, int(x.shape[0]), found[0], found[1], tile)

    def panelled(self, x: Block, tile: int, *, clear: bool) -> PanelFactors:
        """Implement `factor` by panels."""
        (m, n), xp = x.shape, self.backend.xp
        # Columns after columns, which is how cuBLAS reads, it is the transpose.
        r = x if row_stride(x) else xp.ascontiguousarray(x)
        work = Factoring(xp, self._library, self.panels, (m, n), tile)
        work.run(self._library.transposed(r), clear=clear)
        if r is not x:
            x[...] = r
        return PanelFactors(self, m, work.y, work.k, tile)

    def width(self, sweep: str, p: int) -> int:
        """Return the number of columns of a window of a sweep."""
        found = super().width(sweep, p)
        return max(found, _LEAST_WINDOW) if self.has_panels else found

    def _suits_panels(self, x: Block) -> bool:
        m, n = x.shape[-2:]
        return self.has_panels and x.ndim == 2 and m >= n > 0

    def _recording(self, cublas: Cublas) -> CudaFloats:
        """Return the same arithmetic for work that is being recorded."""
        library = self._library.calling(cublas)
        engine = CudaFloats(self.backend, self.dtype, library, self._make_panels)
        engine.fast = True
        return engine

    def _recorded(
        self, key: Hashable, x: Block, work: Callable[[Block, Cublas], list[Block]]
    ) -> list[Block] | None:
        """Replace `x` by the first result of recorded work, and return those behind it.

        The last one tells whether a panel broke down.
        """
        if self._graphs is None or x.size > _MOST_RECORDED:
            return None
        found = self._graphs.run(key, x, work)
        if found is None:
            return None
        x[...], *results, breakdown = found
        self.panels.breakdown += breakdown
        return results

    def inverse(self, triangle: Block) -> Block:
        """Return the inverses of upper triangles of 64 bits without zeros on the diagonals."""
        if triangle.ndim > 2:
            return super().inverse(triangle)
        found = self.backend.xp.eye(len(triangle), dtype=triangle.dtype)
        self._wide.solve(triangle, found, lower=False)
        return found

    def sign_rows(self, r: Block, count: int, columns: int) -> Block:
        """Implement `Floats.sign_rows`; signs of all rows."""
        if r.ndim > 2 or not row_stride(r):
            return super().sign_rows(r, count, columns)
        return self._library.sign_rows(r, count, columns)

    def cholesky(self, gram: Block) -> Block:
        """Return the Cholesky factor."""
        return super().cholesky(gram) if gram.ndim > 2 else self._library.cholesky(gram)

    def _reflectors(self, x: Block) -> tuple[Block, Block]:
        return super()._reflectors(x) if x.ndim > 2 else self._library.reflectors(x)

    def middle(self, v: Block, tau: Block) -> Block:
        """Return T of one tile."""
        if v.ndim > 2:
            return super().middle(v, tau)
        t, upper = self.backend.xp.diag(tau), adjoint_multiply(self, v, v)
        upper *= tau[:, None]
        self._library.unit_solve(upper, t)
        return t

    def accumulate(
        self, x: Block, a: Block, b: Block, *, subtract: bool = False, conj_b: bool = False
    ) -> None:
        """Replace `x` by ``x + a b`` or ``x - a b``."""
        if x.ndim > 2 or 0 in (*a.shape, *b.shape) or not row_stride(x):
            super().accumulate(x, a, b, subtract=subtract, conj_b=conj_b)
            return
        alpha = -1.0 if subtract else 1.0
        self._library.multiply(a, b, x, alpha=alpha, beta=1.0, conj_a=False, conj_b=conj_b)

    def orthogonal(self, x: Block, columns: int | None = None) -> Block:
        """Replace `x` by R, and return Q."""
        if x.ndim > 2 or not x.size:
            return super().orthogonal(x, columns)
        columns, count = int(x.shape[0]) if columns is None else columns, min(x.shape)
        if self._suits_panels(x):
            return self._orthogonal(x, columns)
        if count <= _MOST_FORMED:
            return self.factor(x, tile=count).form_q(columns)
        h, tau = self._library.reflectors(x)
        q = self._library.orthogonal(h, tau, columns)
        x[...] = self.backend.xp.triu(h.swapaxes(-1, -2))
        return q

    def _orthogonal(self, x: Block, columns: int) -> Block:
        """Implement `orthogonal` by panels."""
        count = int(x.shape[1])
        tile = count if count <= _MOST_FORMED else self.tile

        def work(x: Block, cublas: Cublas) -> list[Block]:
            engine = self._recording(cublas)
            q = engine.panelled(x, tile, clear=True).form_q(columns)
            return [x, q, engine.panels.breakdown]

        found = self._recorded(("orthogonal", columns), x, work)
        return found[0] if found else self.panelled(x, tile, clear=True).form_q(columns)
