"""Arithmetic of the updates: one text over multiple doubles and over floats.

Matrices of two limbs and more are blocks, those of one limb are float arrays of any width; both
are indexed as ``x[..., i, j]``. One limb is LAPACK's (`floats`), so that float32 stays float32.
Fast ways that can fail are tried first where the result is looked at anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NamedTuple, NoReturn, ParamSpec, Protocol, TypeVar

import numpy as np

from mdqr._backend.blocks import reflections
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind, clear_below, diagonal
from mdqr._limbs.scaling import finite
from mdqr.linalg._factor import householder
from mdqr.linalg._factor.cholesky import cholesky
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import covering


class Reflections(Protocol):
    """Householder reflections of a matrix: ``Q = H_1 ... H_k`` by tiles ``I - V T V^H``.

    Each V in `vs` has the rows from the first column of its tile on; `ts` has the T. Where `unit`
    is true, V is unit lower trapezoidal.
    """

    @property
    def unit(self) -> bool:
        """Whether V is unit lower trapezoidal."""
        ...

    @property
    def vs(self) -> list[Block]:
        """The V."""
        ...

    @property
    def ts(self) -> list[Block]:
        """The T."""
        ...

    def form_q(self, columns: int) -> Block:
        """Return the first columns of Q."""
        ...


class Engine(Protocol):
    """What the updates need of numbers; arrays have their values along the last axes.

    Where `quick` is true matrices may be factored by means that can fail: `doubtful`, an integer
    array of one element, is not zero then. None says that nothing can have failed.
    """

    quick: bool
    backend: Backend
    kind: Kind
    eps: float
    dtype: Any

    @property
    def has_panels(self) -> bool:
        """Whether matrices are factored by panels that may be in doubt."""
        ...

    @property
    def doubtful(self) -> Block | None:
        """Whether something failed."""
        ...

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

    def accumulate(
        self, x: Block, a: Block, b: Block, *, subtract: bool = False, conj_b: bool = False
    ) -> None:
        """Replace `x` by ``x + a b`` or ``x - a b``."""
        ...

    def add(self, x: Block, y: Block, *, subtract: bool = False, out: Block | None = None) -> Block:
        """Return ``x + y`` or ``x - y``; `out` may be one of them."""
        ...

    def residual(self, term: Block | None, a: Block, b: Block, *, conj_a: bool = False) -> Block:
        """Return ``term - a b`` of blocks, as if in twice the precision; no term means 0."""
        ...

    def cholesky(self, gram: Block) -> Block:
        """Return the upper triangular C with ``C^H C = gram``; NaN if that is not definite."""
        ...

    def factor(self, x: Block, tile: int | None = None, *, clear: bool = True) -> Reflections:
        """Replace `x` by R, with zeros below its diagonal if `clear`; return the reflections."""
        ...

    def reflect(self, v: Block, t: Block, x: Block) -> None:
        """Replace `x` by ``(I - V T^H V^H) x``."""
        ...

    def orthogonal(self, x: Block, columns: int | None = None) -> Block:
        """Replace `x` by R as `factor`, and return Q: square, or its first columns."""
        ...

    def finite(self, x: Block) -> Block:
        """Return whether all numbers are finite, a 0-d bool."""
        ...

    def to_block(self, x: Block) -> Block:
        """Return `x` as a block of float64 limbs."""
        ...

    def from_block(self, block: Block) -> Block:
        """Return a block of as many limbs as numbers of this arithmetic."""
        ...

    def planes(self, x: Block) -> Block:
        """Return `x` as a block, a view of its own type."""
        ...

    def shape(self, x: Block) -> tuple[int, ...]:
        """Return the shape of the values."""
        ...

    def broadcast(self, x: Block, shape: tuple[int, ...]) -> Block:
        """Return values of `x` repeated to a shape, a copy."""
        ...

    def conj(self, x: Block) -> Block:
        """Return the complex conjugates, a copy."""
        ...

    def triangle(self, r: Block, function: str, checks: Checks) -> Triangle:
        """Return the square upper triangle `r`, ready for solutions."""
        ...

    def width(self, kind: str, p: int) -> int:
        """Return the number of columns that a window takes, for `p` rows or columns."""
        ...


class Arithmetic:
    """What all engines do in the same way, or most of them."""

    @property
    def has_panels(self) -> bool:
        """Whether matrices are factored by panels that may be in doubt."""
        return False

    def triangle(self: Engine, r: Block, function: str, checks: Checks) -> Triangle:
        """Return the square upper triangle `r`, solved by the kernels of the backend."""
        return Triangle(
            self.backend,
            self.to_block(r),
            kind=self.kind,
            function=function,
            checks=checks,
        )

    def width(self: Engine, kind: str, p: int) -> int:
        """Return the number of columns that a window takes."""
        return window_width(self.backend.name, kind, p, self.kind.limbs)


class Planes(Arithmetic):
    """Blocks of at least two limbs, by the kernels of a backend."""

    quick = False
    doubtful: Block | None = None

    def __init__(self, backend: Backend, kind: Kind) -> None:
        self.backend, self.kind = backend, kind
        self.eps = covering(kind.limbs).eps
        self.dtype = np.dtype(np.float64)

    def zeros(self, like: Block, rows: int, columns: int) -> Block:
        """Return a zero matrix with the batch of `like`."""
        front = like.shape[: self.kind.lead - 1]
        batch = planes.value_shape(like, self.kind.is_complex)[:-2]
        return self.backend.xp.zeros((*front, self.kind.limbs, *batch, rows, columns))

    def multiply(self, a: Block, b: Block, **options: Any) -> Block:
        """Return ``c + a b`` or ``c - a b``."""
        return self.backend.matmul(a, b, **options, kind=self.kind)

    def accumulate(
        self, x: Block, a: Block, b: Block, *, subtract: bool = False, conj_b: bool = False
    ) -> None:
        """Replace `x` by ``x + a b`` or ``x - a b``."""
        options: dict[str, Any] = {"subtract": subtract, "conj_b": conj_b}
        self.backend.matmul(a, b, c=x, out=x, kind=self.kind, **options)

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
        return finite(x, self.kind.is_complex)

    def to_block(self, x: Block) -> Block:
        """Return `x`."""
        return x

    def planes(self, x: Block) -> Block:
        """Return `x`."""
        return x

    def shape(self, x: Block) -> tuple[int, ...]:
        """Return the shape of the values."""
        return tuple(planes.value_shape(x, self.kind.is_complex))

    def broadcast(self, x: Block, shape: tuple[int, ...]) -> Block:
        """Return values of `x` repeated to a shape, a copy."""
        return planes.broadcast(x, self.kind.is_complex, shape).copy()

    def conj(self, x: Block) -> Block:
        """Return the complex conjugates, a copy."""
        found = x.copy()
        if self.kind.is_complex:
            found[1] = planes.negate(found[1], False)
        return found

    def from_block(self, block: Block) -> Block:
        """Return the block with all limbs."""
        return planes.widen(block, self.kind.is_complex, self.kind.limbs)


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


def window_width(backend: str, kind: str, p: int, limbs: int) -> int:
    """Return the number of columns of a window; `limbs` is 1 for floats."""
    if backend == "cpu":
        unit = 32 if limbs == 1 else householder.leaf_width(limbs, backend)
        return _host_window(kind, unit).width(p / 2 if kind == "rows" else p)
    return (_FLOAT_WINDOWS[kind] if limbs == 1 else _device_window(kind, limbs)).width(p)


def _host_window(kind: str, unit: int) -> Window:
    return Window(unit, unit, 48 if kind == "rows" else 96)


def _device_window(kind: str, limbs: int) -> Window:
    """Return the window of multiple doubles on a GPU.

    Where numbers are cheap, launches and the latency of panels are not.
    """
    if kind == "band":
        return Window(32, 32, 32)
    if kind == "rows":
        return Window(32, 512 // limbs, 512 // limbs)
    return Window(32, 512 // limbs, 1536, 1600 / limbs)


# On a GPU the panels of floats take nearly all of the time, whatever their windows.
_FLOAT_WINDOWS = {
    "band": Window(64, 256, 256),
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


def adjoint_multiply(engine: Engine, a: Block, b: Block, **options: Any) -> Block:
    """Return ``a^H b``, plus or minus `c`."""
    return engine.multiply(a.swapaxes(-1, -2), b, conj_a=True, **options)


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
    """Join matrices along their last axis (-1) or the one before (-2), in an own array."""
    return engine.backend.xp.concatenate(parts, axis=axis)


_T = TypeVar("_T")
_Self = TypeVar("_Self", bound=Any)
_P = ParamSpec("_P")


class Doubtful(Exception):
    """What was computed by quick means has to be done again."""


class SureChecks(Checks):
    """Conditions that are looked at only if quick means have not failed.

    Parameters
    ----------
    engine : Engine
        What they belong to.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def settle(self, *values: Block) -> tuple[Any, ...]:
        """Do what `Checks.settle` does; raise `Doubtful` first."""
        if self._engine.doubtful is not None:
            self.require((self._engine.doubtful == 0).all(), _complain)
            # Nothing else means anything if this does not hold.
            self._pending[:] = self._pending[-1:] + self._pending[:-1]
        return super().settle(*values)


def _complain() -> NoReturn:
    raise Doubtful


def attempted(engine: Engine, call: Callable[[], _T]) -> _T:
    """Return ``call()``, by quick means if they do not fail."""
    engine.quick = True
    try:
        return call()
    except Doubtful:
        engine.quick = False
        return call()
    finally:
        engine.quick = False


def quickly(
    method: Callable[Concatenate[_Self, _P], None],
) -> Callable[Concatenate[_Self, _P], None]:
    """Make a method try quick means, of an object with a `_fit` that changes only on success.

    Warnings have three more frames between them and the caller.
    """

    @wraps(method)
    def call(self: _Self, /, *arguments: _P.args, **options: _P.kwargs) -> None:
        attempted(self._fit.engine, lambda: method(self, *arguments, **options))

    return call
