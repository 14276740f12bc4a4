"""Arithmetic of the updates: one text over multiple doubles and over floats.

Matrices of two limbs and more are blocks, those of one limb are float arrays of any width; both
are indexed as ``x[..., i, j]``. One limb is LAPACK's, so that float32 stays float32.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mdqr import _limbs
from mdqr._backend.blocks import from_native, reflections, to_native
from mdqr._backend.protocol import Backend, Block
from mdqr.linalg import _householder
from mdqr.linalg._householder import diagonal
from mdqr.linalg._operands import covering

_FLOAT_TILE = 64


class Reflections(Protocol):
    """Householder reflections of a matrix: ``Q = H_1 ... H_k`` by tiles ``I - V T V^H``.

    Each V in `vs` has the rows from the first column of its tile on; `ts` has the T.
    """

    vs: list[Block]
    ts: list[Block]

    def form_q(self, columns: int) -> Block:
        """Return the first columns of Q."""
        ...


class Engine(Protocol):
    """What the updates need of numbers; arrays have their values along the last axes."""

    backend: Backend
    limbs: int
    is_complex: bool
    eps: float
    dtype: Any

    def zeros(self, like: Block, rows: int, columns: int) -> Block:
        """Return a zero matrix with the kind of numbers and the batch of `like`."""
        ...

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
        ...

    def add(self, x: Block, y: Block, *, subtract: bool = False) -> Block:
        """Return ``x + y`` or ``x - y``."""
        ...

    def factor(self, x: Block, tile: int | None = None) -> Reflections:
        """Replace `x` by R with zeros below its diagonal, and return the reflections."""
        ...

    def reflect(self, v: Block, t: Block, x: Block) -> None:
        """Replace `x` by ``(I - V T^H V^H) x``."""
        ...

    def orthogonal(self, x: Block, columns: int | None = None) -> Block:
        """Replace `x` by R as `factor`, and return Q: square, or its first columns."""
        ...

    def to_block(self, x: Block) -> Block:
        """Return `x` as a block of float64 limbs."""
        ...

    def from_block(self, block: Block) -> Block:
        """Return a block of as many limbs as numbers of this arithmetic."""
        ...

    def width(self, kind: str, p: int) -> int:
        """Return the number of columns that a window takes, for `p` rows or columns."""
        ...


class Planes:
    """Blocks of at least two limbs, by the kernels of a backend."""

    def __init__(self, backend: Backend, limbs: int, is_complex: bool) -> None:
        self.backend, self.limbs, self.is_complex = backend, limbs, is_complex
        self.eps = covering(limbs).eps
        self.dtype = np.dtype(np.float64)
        self._options: dict[str, Any] = {"limbs": limbs, "is_complex": is_complex}

    def zeros(self, like: Block, rows: int, columns: int) -> Block:
        """Return a zero matrix with the batch of `like`."""
        front = like.shape[: _limbs.lead(self.is_complex) - 1]
        batch = _limbs.value_shape(like, self.is_complex)[:-2]
        return self.backend.xp.zeros((*front, self.limbs, *batch, rows, columns))

    def multiply(self, a: Block, b: Block, **options: Any) -> Block:
        """Return ``c + a b`` or ``c - a b``."""
        return self.backend.matmul(a, b, **options, **self._options)

    def add(self, x: Block, y: Block, *, subtract: bool = False) -> Block:
        """Return ``x + y`` or ``x - y``."""
        return self.backend.binary("subtract" if subtract else "add", x, y, **self._options)

    def factor(self, x: Block, tile: int | None = None) -> Reflections:
        """Replace `x` by R, and return the reflections."""
        factors = _householder.factor(self.backend, x, tile=tile, **self._options)
        # The vectors are copied to the tiles; what stays below the diagonal is not needed.
        clear_below(x)
        return factors

    def reflect(self, v: Block, t: Block, x: Block) -> None:
        """Replace `x` by ``(I - V T^H V^H) x``."""
        self.backend.reflect(v, t, x, adjoint=True, **self._options)

    def orthogonal(self, x: Block, columns: int | None = None) -> Block:
        """Replace `x` by R, and return Q."""
        factors = _householder.factor(self.backend, x, **self._options)
        clear_below(x)
        return factors.form_q(x.shape[-2] if columns is None else columns)

    def to_block(self, x: Block) -> Block:
        """Return `x`."""
        return x

    def from_block(self, block: Block) -> Block:
        """Return the block with all limbs."""
        return _limbs.widen(block, self.is_complex, self.limbs)

    def width(self, kind: str, p: int) -> int:
        """Return the number of columns that a window takes."""
        return window_width(self.backend.name, kind, p, _householder_leaf(self))


def _householder_leaf(engine: Planes) -> int:
    return _householder.leaf_width(engine.limbs, engine.backend.name)


class Floats:
    """Float arrays of 32 or 64 bits, real or complex, by LAPACK and BLAS."""

    limbs = 1

    def __init__(self, backend: Backend, dtype: Any) -> None:
        self.backend, self.dtype = backend, np.dtype(dtype)
        self.is_complex = self.dtype.kind == "c"
        self.eps = float(np.finfo(self.dtype).eps)

    def zeros(self, like: Block, rows: int, columns: int) -> Block:
        """Return a zero matrix with the batch of `like`."""
        return self.backend.xp.zeros((*like.shape[:-2], rows, columns), dtype=self.dtype)

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
        x = a.conj() if conj_a and self.is_complex else a
        y = b.conj() if conj_b and self.is_complex else b
        product = self._product(x, y)
        if c is None:
            return -product if subtract else product
        return c - product if subtract else c + product

    def _product(self, a: Block, b: Block) -> Block:
        """Multiply; the backend of a GPU keeps 64 bits from being emulated by integers."""
        wide = self.dtype.itemsize // (2 if self.is_complex else 1) == 8
        if self.backend.name == "cpu" or not wide:
            return a @ b
        planes = (from_native(self.backend.xp, x, self.is_complex) for x in (a, b))
        found = self.backend.matmul(*planes, limbs=1, is_complex=self.is_complex)
        return to_native(self.backend.xp, found, self.is_complex)

    def add(self, x: Block, y: Block, *, subtract: bool = False) -> Block:
        """Return ``x + y`` or ``x - y``."""
        return x - y if subtract else x + y

    def factor(self, x: Block, tile: int | None = None) -> Reflections:
        """Replace `x` by R, and return the reflections."""
        xp = self.backend.xp
        if 0 in x.shape[-2:]:
            return FloatFactors(self, x.shape)
        h, tau = xp.linalg.qr(x, mode="raw")
        h = h.swapaxes(-1, -2)
        factors = FloatFactors(self, x.shape)
        count, step = tau.shape[-1], tile or _FLOAT_TILE
        for start in range(0, count, step):
            stop = min(start + step, count)
            v, t = self._forward(h, tau, start, stop)
            factors.vs.append(v)
            factors.ts.append(t)
        x[...] = xp.triu(h)
        return factors

    def _forward(self, h: Block, tau: Block, start: int, stop: int) -> tuple[Block, Block]:
        """Return V and T of one tile: ``(I + D U) T = D``, as in `_householder`."""
        xp = self.backend.xp
        v = xp.tril(h[..., start:, start:stop], -1)
        diagonal(v)[...] = 1
        gram = self.multiply(v.swapaxes(-1, -2), v, conj_a=True)
        scale = tau[..., start:stop, None]
        one = xp.eye(stop - start, dtype=self.dtype)
        return v, xp.linalg.solve(scale * xp.triu(gram, 1) + one, scale * one)

    def reflect(self, v: Block, t: Block, x: Block) -> None:
        """Replace `x` by ``(I - V T^H V^H) x``."""
        w = adjoint_multiply(self, t, adjoint_multiply(self, v, x))
        x[...] = self.multiply(v, w, c=x, subtract=True)

    def orthogonal(self, x: Block, columns: int | None = None) -> Block:
        """Replace `x` by R, and return Q."""
        rows = int(x.shape[-2])
        if 0 in x.shape[-2:]:
            return FloatFactors(self, x.shape).form_q(rows if columns is None else columns)
        reduced = columns is not None and columns < rows
        q, r = self.backend.xp.linalg.qr(x, mode="reduced" if reduced else "complete")
        x[..., : r.shape[-2], :] = r
        x[..., r.shape[-2] :, :] = 0
        return q

    def to_block(self, x: Block) -> Block:
        """Return a block of one limb, of 64 bits."""
        wide = x.astype(np.complex128 if self.is_complex else np.float64, copy=False)
        return from_native(self.backend.xp, wide, self.is_complex)

    def from_block(self, block: Block) -> Block:
        """Return the floats of a block of one limb."""
        native = to_native(self.backend.xp, block, self.is_complex)
        return native.astype(self.dtype, copy=False)

    def width(self, kind: str, p: int) -> int:
        """Return the number of columns that a window takes."""
        return window_width(self.backend.name, kind, p, _FLOAT_TILE // 2)


@dataclass
class FloatFactors:
    """The reflections of a float matrix by tiles."""

    engine: Floats
    shape: tuple[int, ...]
    vs: list[Block] = field(default_factory=list)
    ts: list[Block] = field(default_factory=list)

    def form_q(self, columns: int) -> Block:
        """Return the first columns of Q."""
        engine = self.engine
        xp = engine.backend.xp
        q = xp.zeros((*self.shape[:-1], columns), dtype=engine.dtype)
        diagonal(q)[...] = 1
        for v, t in reflections(self.vs, self.ts, adjoint=False):
            start = self.shape[-2] - v.shape[-2]
            part = q[..., start:, start:]
            w = engine.multiply(v.swapaxes(-1, -2), part, conj_a=True)
            part[...] = engine.multiply(v, engine.multiply(t, w), c=part, subtract=True)
        return q


# For each backend and kind of window: the fewest columns in units of a leaf of panels, the most
# columns, and their number for each row or column that comes or goes.
_WINDOWS: dict[str, dict[str, tuple[float, int, float]]] = {
    "cpu": {"band": (1, 96, 1.0), "spike": (1, 96, 1.0), "rows": (1, 48, 0.5)},
    "cuda": {"band": (1, 128, 1.0), "spike": (2, 512, 2.0), "rows": (1, 64, 0.5)},
}


def window_width(backend: str, kind: str, p: int, leaf: int) -> int:
    """Return the number of columns of a window, a multiple of `leaf`."""
    least, most, share = _WINDOWS[backend][kind]
    wanted = max(least * leaf, min(share * p, most))
    return leaf * max(1, round(wanted / leaf))


def apply_left(engine: Engine, factors: Reflections, x: Block) -> None:
    """Replace `x` by ``Q^H x``."""
    for v, t in reflections(factors.vs, factors.ts, adjoint=True):
        engine.reflect(v, t, x[..., x.shape[-2] - v.shape[-2] :, :])


def apply_right(engine: Engine, factors: Reflections, x: Block) -> None:
    """Replace `x` by ``x Q``."""
    for v, t in zip(factors.vs, factors.ts, strict=True):
        part = x[..., x.shape[-1] - v.shape[-2] :]
        w = engine.multiply(engine.multiply(part, v), t)
        part[...] = engine.multiply(w, v.swapaxes(-1, -2), c=part, subtract=True, conj_b=True)


def adjoint_multiply(engine: Engine, a: Block, b: Block, **options: Any) -> Block:
    """Return ``a^H b``, plus or minus `c`."""
    return engine.multiply(a.swapaxes(-1, -2), b, conj_a=True, **options)


def adjoint(engine: Engine, x: Block) -> Block:
    """Return the conjugate transpose, a view if real."""
    turned = x.swapaxes(-1, -2)
    if not engine.is_complex:
        return turned
    if not isinstance(engine, Planes):
        return turned.conj()
    turned = turned.copy()
    turned[1] = _limbs.negate(turned[1], False)
    return turned


def clear_below(x: Block) -> None:
    """Write zeros below the diagonal."""
    xp = _limbs.namespace(x)
    xp.copyto(x, 0, where=xp.tri(*x.shape[-2:], k=-1, dtype=bool))


def set_identity(engine: Engine, x: Block) -> None:
    """Write ones on the diagonal of a zero matrix."""
    plane = x
    if isinstance(engine, Planes):
        plane = x[0, 0] if engine.is_complex else x[0]
    diagonal(plane)[...] = 1


def joined(engine: Engine, parts: list[Block], axis: int) -> Block:
    """Join matrices along their last axis (-1) or the one before (-2), in an own array."""
    return engine.backend.xp.concatenate(parts, axis=axis)
