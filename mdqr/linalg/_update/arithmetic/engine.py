"""Arithmetic of the updates: one text over multiple doubles and over floats.

Matrices of two limbs and more are blocks, those of one limb are float arrays of any width; both
are indexed as ``x[..., i, j]``. One limb is LAPACK's (`floats`), so that float32 stays float32.
A fast path that can break down is tried first where the result is checked anyway.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce, wraps
from typing import Any, Concatenate, NamedTuple, NoReturn, ParamSpec, Protocol, TypeVar

import numpy as np

from mdqr._backend.blocks import from_native, reflections, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, clear_below, diagonal
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.cholesky import cholesky
from mdqr.linalg._factor.qr import clear_diagonal_signs, multiply_signs
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import precision_for


class Reflections(Protocol):
    """Householder reflections of a matrix: ``Q = H_1 ... H_k`` by tiles ``I - V T V^H``.

    Each V in `vs` has the rows from the first column of its tile on; `ts` has the T. Where `unit`
    is true, V is unit lower trapezoidal.
    """

    @property
    def unit(self) -> bool:
        """Whether V is unit lower trapezoidal."""

    @property
    def vs(self) -> list[Block]:
        """The V."""

    @property
    def ts(self) -> list[Block]:
        """The T."""

    def form_q(self, columns: int) -> Block:
        """Return the first columns of Q."""


class Engine(ABC):
    """The arithmetic of updates; arrays have their values along the last axes.

    Where `fast` is true matrices may be factored by a fast path that can break down: panels, if it
    `has_panels` then.
    """

    fast: bool = False
    has_panels: bool = False
    backend: Backend
    kind: Kind
    eps: float
    dtype: Any

    @property
    def breakdown(self) -> Block | None:
        """An integer array of one element, not zero after a breakdown; None if none can be."""
        return None

    @abstractmethod
    def zeros(self, like: Block, rows: int, columns: int) -> Block:
        """Return a zero matrix with the kind of numbers and the batch of `like`."""

    @abstractmethod
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

    @abstractmethod
    def accumulate(
        self, x: Block, a: Block, b: Block, *, subtract: bool = False, conj_b: bool = False
    ) -> None:
        """Replace `x` by ``x + a b`` or ``x - a b``."""

    @abstractmethod
    def add(self, x: Block, y: Block, *, subtract: bool = False, out: Block | None = None) -> Block:
        """Return ``x + y`` or ``x - y``; `out` may be one of them."""

    @abstractmethod
    def residual(self, term: Block | None, a: Block, b: Block, *, conj_a: bool = False) -> Block:
        """Return ``term - a b`` of blocks, as if in twice the precision; no term means 0."""

    @abstractmethod
    def cholesky(self, gram: Block) -> Block:
        """Return the upper triangular C with ``C^H C = gram``; NaN if that is not definite."""

    @abstractmethod
    def factor(self, x: Block, tile: int | None = None, *, clear: bool = True) -> Reflections:
        """Replace `x` by R, with zeros below its diagonal if `clear`; return the reflections."""

    @abstractmethod
    def reflect(self, v: Block, t: Block, x: Block) -> None:
        """Replace `x` by ``(I - V T^H V^H) x``."""

    @abstractmethod
    def orthogonal(self, x: Block, columns: int | None = None) -> Block:
        """Replace `x` by R as `factor`, and return Q: square, or its first columns."""

    @abstractmethod
    def finite(self, x: Block) -> Block:
        """Return whether all numbers are finite, a 0-d bool."""

    @abstractmethod
    def to_block(self, x: Block) -> Block:
        """Return `x` as a block of float64 limbs."""

    @abstractmethod
    def from_block(self, block: Block) -> Block:
        """Return a block of as many limbs as numbers of this arithmetic."""

    @abstractmethod
    def planes(self, x: Block) -> Block:
        """Return `x` as a block, a view of the same type."""

    @abstractmethod
    def shape(self, x: Block) -> tuple[int, ...]:
        """Return the shape of the values."""

    @abstractmethod
    def broadcast(self, x: Block, shape: tuple[int, ...]) -> Block:
        """Return values of `x` repeated to a shape, a copy."""

    @abstractmethod
    def conj(self, x: Block) -> Block:
        """Return the complex conjugates, a copy."""

    def triangle(self, r: Block, function: str, checks: Checks) -> Triangle:
        """Return the square upper triangle `r`, solved by the kernels of the backend."""
        return Triangle(
            self.backend, self.to_block(r), kind=self.kind, function=function, checks=checks
        )

    def width(self, sweep: str, p: int) -> int:
        """Return the number of columns of a window of a sweep, for `p` rows or columns."""
        return window_width(self.backend.name, sweep, p, self.kind.limbs)

    @abstractmethod
    def exponents(self, *parts: Block) -> Block | None:
        """Return the exponents of common columns of matrices; None where LAPACK scales itself."""

    @abstractmethod
    def normalise_signs(self, r: Block, q: Block | None, count: int, columns: int) -> None:
        """Make the real diagonal of the first `count` rows of R not negative, and change Q with it.

        What lies below the diagonal of the first `columns` columns is cleared.
        """

    @abstractmethod
    def inverse(self, triangle: Block) -> Block:
        """Return the inverses of upper triangles of 64 bits without zeros on the diagonals."""

    @abstractmethod
    def factored_diagonal(self, block: Block) -> Block:
        """Return the `magnitudes` on the diagonal of R of a block of one limb, overwritten."""

    def magnitudes(self, x: Block) -> Block:
        """Return float64 moduli, of first limbs."""
        block = self.to_block(x)
        if self.kind.is_complex:
            return self.backend.xp.hypot(block[0, 0], block[1, 0])
        return abs(block[0])

    def diagonal_magnitudes(self, x: Block) -> Block:
        """Return the `magnitudes` on the diagonals."""
        block = self.planes(x)
        parts = block[:, 0] if self.kind.is_complex else block[:1]
        entries = [diagonal(part).astype(np.float64, copy=False) for part in parts]
        return self.backend.xp.hypot(*entries) if self.kind.is_complex else abs(entries[0])

    def column_norms(self, x: Block) -> Block:
        """Return the float64 norms of columns of any size."""
        xp, size = self.backend.xp, self.magnitudes(x)
        # Floats come unscaled, and their squares would leave the range.
        _, bits = xp.frexp(scaling.largest(size, -2, 0.0))
        scaled = xp.ldexp(size, -bits[..., None, :])
        return xp.ldexp(xp.sqrt((scaled**2).sum(axis=-2)), bits)


class Planes(Engine):
    """Blocks of at least two limbs, by the kernels of a backend."""

    def __init__(self, backend: Backend, kind: Kind) -> None:
        self.backend, self.kind, self._lead = backend, kind, kind.lead
        self.eps = precision_for(kind.limbs).eps
        self.dtype = np.dtype(np.float64)

    def zeros(self, like: Block, rows: int, columns: int) -> Block:
        """Return a zero matrix with the batch of `like`."""
        front, batch = like.shape[: self._lead - 1], like.shape[self._lead : -2]
        return self.backend.xp.zeros((*front, self.kind.limbs, *batch, rows, columns))

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
        return self.backend.matmul(
            a, b, c=c, subtract=subtract, conj_a=conj_a, conj_b=conj_b, kind=self.kind
        )

    def accumulate(
        self, x: Block, a: Block, b: Block, *, subtract: bool = False, conj_b: bool = False
    ) -> None:
        """Replace `x` by ``x + a b`` or ``x - a b``."""
        self.backend.matmul(a, b, c=x, subtract=subtract, conj_b=conj_b, out=x, kind=self.kind)

    def add(self, x: Block, y: Block, *, subtract: bool = False, out: Block | None = None) -> Block:
        """Return ``x + y`` or ``x - y``."""
        operation = "subtract" if subtract else "add"
        return self.backend.binary(operation, x, y, out=out, kind=self.kind)

    def residual(self, term: Block | None, a: Block, b: Block, *, conj_a: bool = False) -> Block:
        """Return ``term - a b``, as if in twice the precision."""
        terms = [] if term is None else [(1, term)]
        return self.backend.residual(terms, a, b, conj_a=conj_a, kind=self.kind)

    def cholesky(self, gram: Block) -> Block:
        """Return the Cholesky factor."""
        return cholesky(self.backend, gram, self.kind)

    def factor(self, x: Block, tile: int | None = None, *, clear: bool = True) -> Reflections:
        """Replace `x` by R, and return the reflections."""
        factors = householder.factor(self.backend, x, tile=tile, kind=self.kind)
        # The vectors are copied to the tiles; what stays below the diagonal is not needed.
        if clear:
            clear_below(x)
        return factors

    def reflect(self, v: Block, t: Block, x: Block) -> None:
        """Replace `x` by ``(I - V T^H V^H) x``."""
        self.backend.reflect(v, t, x, adjoint=True, kind=self.kind)

    def orthogonal(self, x: Block, columns: int | None = None) -> Block:
        """Replace `x` by R, and return Q."""
        factors = householder.factor(self.backend, x, kind=self.kind)
        clear_below(x)
        return factors.form_q(x.shape[-2] if columns is None else columns)

    def finite(self, x: Block) -> Block:
        """Return whether all numbers are finite."""
        first = x[:, 0] if self.kind.is_complex else x[0]
        return self.backend.xp.isfinite(first).all()

    def to_block(self, x: Block) -> Block:
        """Return `x`."""
        return x

    def planes(self, x: Block) -> Block:
        """Return `x`."""
        return x

    def shape(self, x: Block) -> tuple[int, ...]:
        """Return the shape of the values."""
        return tuple(x.shape[self._lead :])

    def broadcast(self, x: Block, shape: tuple[int, ...]) -> Block:
        """Return values of `x` repeated to a shape, a copy."""
        return planes.broadcast(x, self.kind.is_complex, shape).copy()

    def conj(self, x: Block) -> Block:
        """Return the complex conjugates, a copy."""
        return planes.conjugate(x) if self.kind.is_complex else x.copy()

    def from_block(self, block: Block) -> Block:
        """Return the block with all limbs."""
        return planes.widen(block, self.kind.is_complex, self.kind.limbs)

    def exponents(self, *parts: Block) -> Block:
        """Return the exponents of common columns."""
        bits = [scaling.magnitude_bits(part, self.kind.is_complex) for part in parts]
        found = [scaling.largest(part, -2, 0) for part in bits]
        return scaling.exponents_of(reduce(self.backend.xp.maximum, found))

    def normalise_signs(self, r: Block, q: Block | None, count: int, columns: int) -> None:
        """Make the diagonal of R not negative, and change Q with it."""
        field, rows = self.kind.is_complex, r[..., :count, :]
        entries = diagonal(rows[0, 0] if field else rows[0])
        signs = self.backend.xp.where(entries < 0, -1.0, 1.0)
        multiply_signs(rows, signs[..., :, None], field)
        clear_below(r[..., :columns])
        clear_diagonal_signs(rows, field)
        if q is not None:
            multiply_signs(q[..., :count], signs[..., None, :], field)

    def inverse(self, triangle: Block) -> Block:
        """Return the inverses of triangles of one limb."""
        # No LAPACK: its threads and those of the kernels would wait for each other's.
        xp, kind = self.backend.xp, Kind(1, self.kind.is_complex)
        one = xp.broadcast_to(xp.eye(int(triangle.shape[-1]), dtype=triangle.dtype), triangle.shape)
        blocks = [from_native(xp, x, kind.is_complex) for x in (triangle, one)]
        checks = Checks(ignore=True)
        system = Triangle(self.backend, blocks[0], kind=kind, function="inverse", checks=checks)
        return to_native(xp, system.solve(blocks[1]), kind.is_complex)

    def factored_diagonal(self, block: Block) -> Block:
        """Return the diagonal of R in float64: signs are left out."""
        field = self.kind.is_complex
        householder.factor(self.backend, block, kind=Kind(1, field))
        return abs(diagonal(to_native(self.backend.xp, block, field)))


class Window(NamedTuple):
    """The columns of a window for p rows or columns that come or go: ``sqrt(p^2 + pull p)``.

    That is where two costs of a window of w columns meet: its products, of which each column of R
    and row of Q has ``(w + p)^2 / w`` a reflection, and what it takes besides, which grows with p.
    Widths lie between `least` and `most` and are multiples of `unit`.
    """

    unit: int
    least: int
    most: int
    pull: float = 0.0

    def width(self, p: float) -> int:
        """Return the number of columns."""
        wanted = max(self.least, min((p * p + self.pull * p) ** 0.5, self.most))
        return self.unit * max(1, round(wanted / self.unit))


def window_width(backend: str, sweep: str, p: int, limbs: int) -> int:
    """Return the number of columns of a window; `limbs` is 1 for floats."""
    if backend == "cpu":
        unit = 32 if limbs == 1 else householder.leaf_width(limbs, backend)
        return _host_window(sweep, unit).width(p / 2 if sweep == "rows" else p)
    return (_FLOAT_WINDOWS[sweep] if limbs == 1 else _device_window(sweep, limbs)).width(p)


def _host_window(sweep: str, unit: int) -> Window:
    return Window(unit, unit, 48 if sweep == "rows" else 96)


def _device_window(sweep: str, limbs: int) -> Window:
    """Return the window of multiple doubles on a GPU.

    Where numbers are cheap, launches and the latency of panels are not.
    """
    if sweep == "subdiagonals":
        return Window(32, 32, 32)
    if sweep == "rows":
        return Window(32, 512 // limbs, 512 // limbs)
    return Window(32, 512 // limbs, 1536, 1600 / limbs)


# On a GPU the panels of floats take nearly all of the time, whatever their windows.
_FLOAT_WINDOWS = {
    "subdiagonals": Window(64, 256, 256),
    "rows": Window(64, 256, 256),
    "spike": Window(64, 512, 1536),
}


def apply_left(engine: Engine, factors: Reflections, x: Block) -> None:
    """Replace `x` by ``Q^H x``."""
    for v, t in reflections(factors.vs, factors.ts, adjoint=True):
        engine.reflect(v, t, x[..., x.shape[-2] - v.shape[-2] :, :])


def apply_right(engine: Engine, factors: Reflections, x: Block) -> None:
    """Replace `x` by ``x Q``."""
    for v, t in zip(factors.vs, factors.ts, strict=True):
        part = x[..., x.shape[-1] - v.shape[-2] :]
        w = engine.multiply(engine.multiply(part, v), t)
        engine.accumulate(part, w, v.swapaxes(-1, -2), subtract=True, conj_b=True)


def make_triangular(
    engine: Engine, x: Block, left: Block, right: Block | None, *, clear: bool = True
) -> None:
    """Replace `x` by R, `left` by ``Q^H left`` and `right` by ``right Q``."""
    factors = engine.factor(x, clear=clear)
    if left.shape[-1]:
        apply_left(engine, factors, left)
    if right is not None:
        apply_right(engine, factors, right)


def adjoint_multiply(
    engine: Engine, a: Block, b: Block, *, c: Block | None = None, subtract: bool = False
) -> Block:
    """Return ``a^H b``, plus or minus `c`."""
    return engine.multiply(a.swapaxes(-1, -2), b, c=c, subtract=subtract, conj_a=True)


def adjoint(engine: Engine, x: Block) -> Block:
    """Return the conjugate transpose, a view if real."""
    transposed = x.swapaxes(-1, -2)
    return engine.conj(transposed) if engine.kind.is_complex else transposed


def set_identity(engine: Engine, x: Block) -> None:
    """Write ones on the diagonal of a zero matrix."""
    plane = x
    if engine.kind.limbs > 1:
        plane = x[0, 0] if engine.kind.is_complex else x[0]
    diagonal(plane)[...] = 1


def joined(engine: Engine, parts: list[Block], axis: int) -> Block:
    """Join matrices along their last axis (-1) or the one before (-2), a new array."""
    return engine.backend.xp.concatenate(parts, axis=axis)


def inserted(engine: Engine, x: Block | None, more: Block, k: int, axis: int = -1) -> Block | None:
    """Return matrices, or exponents, with more of them before the k-th; None for none."""
    return _spliced(engine, x, [more], (k, k), axis)


def removed(engine: Engine, x: Block | None, k: int, p: int, axis: int = -1) -> Block | None:
    """Return matrices, or exponents, without p of them from the k-th on; None for none."""
    return _spliced(engine, x, [], (k, k + p), axis)


def _spliced(
    engine: Engine, x: Block | None, more: list[Block], place: tuple[int, int], axis: int
) -> Block | None:
    if x is None:
        return None
    behind = (slice(None),) * (-1 - axis)
    head, tail = (x[(..., part, *behind)] for part in (slice(place[0]), slice(place[1], None)))
    return joined(engine, [head, *more, tail], axis)


_T = TypeVar("_T")
_Self = TypeVar("_Self", bound=Any)
_P = ParamSpec("_P")


class Breakdown(Exception):
    """The fast path has broken down: its results have to be computed by the other one."""


def settle(engine: Engine, checks: Checks, *values: Block) -> tuple[Any, ...]:
    """Return `checks.settle(*values)`; raise `Breakdown` first, since nothing else means anything.

    Raises
    ------
    Breakdown
        If the fast path has broken down.
    """
    if engine.breakdown is not None:
        checks.require_first((engine.breakdown == 0).all(), _raise_breakdown)
    return checks.settle(*values)


def _raise_breakdown() -> NoReturn:
    raise Breakdown


def attempted(
    engine: Engine, call: Callable[_P, _T], *arguments: _P.args, **options: _P.kwargs
) -> _T:
    """Return what a call returns by the fast path, or by the other one after a breakdown."""
    engine.fast = True
    try:
        return call(*arguments, **options)
    except Breakdown:
        engine.fast = False
        return call(*arguments, **options)
    finally:
        engine.fast = False


def fast_path(
    method: Callable[Concatenate[_Self, _P], None],
) -> Callable[Concatenate[_Self, _P], None]:
    """Make a method try the fast path, of an object whose `_fit` changes only on success.

    Warnings have two more frames between them and the caller.
    """

    @wraps(method)
    def call(self: _Self, /, *arguments: _P.args, **options: _P.kwargs) -> None:
        attempted(self._fit.engine, method, self, *arguments, **options)

    return call
