"""Arithmetic of the updates: one text over multiple doubles and over floats.

Matrices of two limbs and more are blocks, those of one limb are float arrays of any width; both
are indexed as ``x[..., i, j]``. One limb is LAPACK's (`floats`), so that float32 stays float32.
A fast path that can break down is tried first where the result is checked anyway.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks

_T = TypeVar("_T")
_Self = TypeVar("_Self", bound=Any)
_P = ParamSpec("_P")


class Reflections(Protocol):
    """Householder reflections of a matrix: ``Q = H_1 ... H_k`` by tiles ``I - V T V^H``.

    Each V in `vs` has the rows from the first column of its tile on; `ts` has the T. Where `unit`
    is true, V is unit lower trapezoidal.
    """

    @property
    def unit(self) -> bool:
        """True if V is unit lower trapezoidal."""

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
        return tuning.window_width(self.backend, sweep, p, self.kind.limbs)

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
        return native_abs(self.to_block(x), self.kind.is_complex)

    def diagonal_magnitudes(self, x: Block) -> Block:
        """Return the `magnitudes` on the diagonals."""
        block = self.planes(x)
        parts = block[:, 0] if self.kind.is_complex else block[:1]
        entries = [diagonal(part).astype(np.float64, copy=False) for part in parts]
        return self.backend.xp.hypot(*entries) if self.kind.is_complex else abs(entries[0])

    def column_norms(self, x: Block) -> Block:
        """Return the float64 norms of columns of any size."""
        return scaling.norms(self.magnitudes(x), -2)


class Breakdown(Exception):
    """Exception for a breakdown of the fast path: the other one has to compute its results."""


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
    """Return what a call returns by the fast path, or by the other one after a breakdown.

    What overflows is raised by checks of the result, not warned of by NumPy.
    """
    with np.errstate(over="ignore", invalid="ignore"):
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
