"""Updates of float arrays, 32 or 64 bits, real or complex: LAPACK's reflections and BLAS.

`Floats` is what NumPy and CuPy share, and all that batches have; `cuda_floats` calls the
libraries of a GPU for single matrices. Reflections are tiles ``I - V T V^H`` on both, so that
whatever else makes V and T fits in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from mdqr._backend.blocks import from_native, reflections, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Block, Kind, clear_below, diagonal
from mdqr.linalg._factor import cholesky
from mdqr.linalg._update.arithmetic.engine import Engine, Reflections
from mdqr.linalg._update.arithmetic.matrices import adjoint_multiply

# Masks of triangles are kept for windows, which take longer to make them than to use them.
_LARGE = 2**14
# Squares above it have all their digits.
_SMALL = 2.0**-900


class Floats(Engine):
    """Float arrays, by functions of NumPy and CuPy."""

    tile = 64

    def __init__(self, backend: Backend, dtype: Any) -> None:
        self.backend, self.dtype = backend, np.dtype(dtype)
        self.kind = Kind(1, self.dtype.kind == "c")
        self.eps = float(np.finfo(self.dtype).eps)
        self.fast = False

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
        x = a.conj() if conj_a and self.kind.is_complex else a
        y = b.conj() if conj_b and self.kind.is_complex else b
        product, xp = self._product(x, y), self.backend.xp
        if c is not None:
            return (xp.subtract if subtract else xp.add)(c, product, out=product)
        return xp.negative(product, out=product) if subtract else product

    def _product(self, a: Block, b: Block) -> Block:
        return a @ b

    def accumulate(
        self, x: Block, a: Block, b: Block, *, subtract: bool = False, conj_b: bool = False
    ) -> None:
        """Replace `x` by ``x + a b`` or ``x - a b``."""
        self.add(x, self.multiply(a, b, conj_b=conj_b), subtract=subtract, out=x)

    def add(self, x: Block, y: Block, *, subtract: bool = False, out: Block | None = None) -> Block:
        """Return ``x + y`` or ``x - y``."""
        xp = self.backend.xp
        return xp.subtract(x, y, out=out) if subtract else xp.add(x, y, out=out)

    @property
    def _is_single(self) -> bool:
        return self.dtype.char in "fF"

    def residual(self, term: Block | None, a: Block, b: Block, *, conj_a: bool = False) -> Block:
        """Return ``term - a b`` of blocks: plain float64 is twice the precision of float32."""
        if self._is_single:
            return self.backend.matmul(a, b, c=term, subtract=True, conj_a=conj_a, kind=self.kind)
        terms = [] if term is None else [(1, term)]
        return self.backend.residual(terms, a, b, conj_a=conj_a, kind=self.kind)

    def cholesky(self, gram: Block) -> Block:
        """Return the Cholesky factor; `numpy.linalg` raises where this has to go on."""
        return self.from_block(cholesky.factor(self.backend, self.to_block(gram), self.kind))

    def factor(self, x: Block, tile: int | None = None, *, clear: bool = True) -> Reflections:
        """Replace `x` by R, and return the reflections."""
        if 0 in x.shape[-2:]:
            return FloatFactors(self, x.swapaxes(-1, -2), self.zeros(x, 1, 0)[..., 0, :], 1)
        h, tau = self._reflectors(x)
        r = h.swapaxes(-1, -2)
        x[...] = _upper(self.backend.xp, r) if clear else r
        return FloatFactors(self, h, tau, tile or self.tile)

    def _reflectors(self, x: Block) -> tuple[Block, Block]:
        """Return LAPACK's h, transposed, and tau."""
        h, tau = self.backend.xp.linalg.qr(x, mode="raw")
        return h, tau

    def middle(self, v: Block, tau: Block) -> Block:
        """Return T of one tile: ``(I + D U) T = D``, as in `_factor.householder`."""
        xp = self.backend.xp
        gram, scale = adjoint_multiply(self, v, v), tau[..., None]
        one = xp.eye(int(tau.shape[-1]), dtype=self.dtype)
        unit, right = scale * _upper(xp, gram, 1) + one, scale * one
        try:
            return xp.linalg.solve(unit, right)
        except np.linalg.LinAlgError:
            # NumPy takes NaN for a singular matrix; a batch may have sound ones too.
            sound = xp.isfinite(unit).all(axis=(-2, -1), keepdims=True)
            return xp.where(sound, xp.linalg.solve(xp.where(sound, unit, one), right), np.nan)

    def reflect(self, v: Block, t: Block, x: Block) -> None:
        """Replace `x` by ``(I - V T^H V^H) x``."""
        w = adjoint_multiply(self, t, adjoint_multiply(self, v, x))
        self.accumulate(x, v, w, subtract=True)

    def orthogonal(self, x: Block, columns: int | None = None) -> Block:
        """Replace `x` by R, and return Q."""
        rows = int(x.shape[-2])
        if 0 in x.shape[-2:]:
            return self.factor(x).form_q(rows if columns is None else columns)
        reduced = columns is not None and columns < rows
        q, r = self.backend.xp.linalg.qr(x, mode="reduced" if reduced else "complete")
        x[..., : r.shape[-2], :] = r
        x[..., r.shape[-2] :, :] = 0
        return q

    def finite(self, x: Block) -> Block:
        """Return whether all numbers are finite."""
        if isinstance(x, np.ndarray) and (x.flags.c_contiguous or x.flags.f_contiguous):
            row = x.ravel(order="K").view(x.real.dtype)
            # BLAS needs no array of flags; squares that leave the range say nothing.
            with np.errstate(all="ignore"):
                if np.isfinite(np.dot(row, row)):
                    return np.True_
        return self.backend.xp.isfinite(x).all()

    def inverse(self, triangle: Block) -> Block:
        """Return the inverses of upper triangles of 64 bits without zeros on the diagonals."""
        xp = self.backend.xp
        return xp.linalg.inv(xp.triu(triangle))

    def factored_diagonal(self, block: Block) -> Block:
        """Return the `magnitudes` on the diagonal of R of a block of one limb."""
        x = self.from_block(block)
        self.factor(x)
        return self.diagonal_magnitudes(x)

    def column_norms(self, x: Block) -> Block:
        """Return the float64 norms of columns of any size."""
        xp = self.backend.xp
        parts = (x.real, x.imag) if self.kind.is_complex else (x,)
        if isinstance(x, np.ndarray):
            squares = sum(np.einsum("...ij,...ij->...j", y, y, dtype=np.float64) for y in parts)
            # Where no square left the range, and none came near its end.
            if ((squares > _SMALL) & (squares < 1.0 / _SMALL)).all():
                return np.sqrt(squares)
        if self._is_single:
            # Their squares are within the range of 64 bits.
            return xp.sqrt(sum(xp.square(y, dtype=np.float64).sum(axis=-2) for y in parts))
        return super().column_norms(x)

    def exponents(self, *_: Block) -> None:
        """Return nothing: LAPACK scales by itself."""

    def normalise_signs(self, r: Block, q: Block | None, count: int, columns: int) -> None:
        """Make the diagonal of R not negative, and change Q with it."""
        signs = self.sign_rows(r, count, columns)
        if q is not None:
            part = q[..., count - signs.shape[-1] : count]
            self.backend.xp.multiply(part, signs[..., None, :], out=part)

    def sign_rows(self, r: Block, count: int, columns: int) -> Block:
        """Make the diagonal of the first rows not negative, and clear what lies below it.

        Returns the signs of those rows; the first ones may be left out where they are 1.
        """
        xp, rows = self.backend.xp, r[..., :count, :]
        entries = diagonal(rows)
        negative = entries.real < 0
        # What stands before the first negative entry stays, where that can be told without waiting.
        first = _first(negative) if isinstance(negative, np.ndarray) else 0
        signs = xp.where(negative, -1.0, 1.0).astype(self.dtype)[..., first:]
        rest = rows[..., first:, first:]
        xp.multiply(rest, signs[..., :, None], out=rest)
        clear_below(rows[..., :columns])
        if count < r.shape[-2]:
            r[..., count:, :columns] = 0
        entries += 0
        return signs

    def to_block(self, x: Block) -> Block:
        """Return a block of one limb, of 64 bits."""
        wide = x.astype(np.complex128 if self.kind.is_complex else np.float64, copy=False)
        return from_native(self.backend.xp, wide, self.kind.is_complex)

    def planes(self, x: Block) -> Block:
        """Return `x` as a block of one limb, a view of the same type."""
        if not self.kind.is_complex:
            return x[None]
        part, step = x.real, x.dtype.itemsize // 2
        strided = self.backend.xp.lib.stride_tricks.as_strided
        return strided(part, (2, 1, *x.shape), (step, step, *x.strides))

    def shape(self, x: Block) -> tuple[int, ...]:
        """Return the shape of the values."""
        return tuple(x.shape)

    def broadcast(self, x: Block, shape: tuple[int, ...]) -> Block:
        """Return values of `x` repeated to a shape, a copy."""
        return self.backend.xp.broadcast_to(x, shape).copy()

    def conj(self, x: Block) -> Block:
        """Return the complex conjugates, a copy."""
        return x.conj()

    def from_block(self, block: Block) -> Block:
        """Return the floats of a block of one limb."""
        native = to_native(self.backend.xp, block, self.kind.is_complex)
        return native.astype(self.dtype, copy=False)


def _first(flags: np.ndarray) -> int:
    """Return the first index along the last axis where a flag is true, its length without any."""
    found = np.flatnonzero(flags.any(axis=tuple(range(flags.ndim - 1))))
    return int(found[0]) if found.size else int(flags.shape[-1])


def _upper(xp: ModuleType, x: Block, k: int = 0) -> Block:
    """Return the part of matrices from diagonal `k` on."""
    if xp is not np or x.size > _LARGE:
        return xp.triu(x, k)
    return np.where(_mask(*x.shape[-2:], k - 1), x.dtype.type(0), x)


def _strictly_lower(xp: ModuleType, x: Block) -> Block:
    """Return the part of matrices below the diagonal."""
    if xp is not np or x.size > _LARGE:
        return xp.tril(x, -1)
    return np.where(_mask(*x.shape[-2:], -1), x, x.dtype.type(0))


@lru_cache(maxsize=32)
def _mask(rows: int, columns: int, k: int) -> np.ndarray:
    """Return where matrices have the diagonal `k` and what is below."""
    return np.tri(rows, columns, k, dtype=bool)


@dataclass
class FloatFactors:
    """The reflections of a float matrix: LAPACK's h, transposed, and tau; tiles once wanted."""

    engine: Floats
    h: Block
    tau: Block
    tile: int
    unit = True

    @cached_property
    def vs(self) -> list[Block]:
        """The unit lower trapezoidal V of each tile."""
        found, count = [], int(self.tau.shape[-1])
        for start in range(0, count, self.tile):
            columns = self.h[..., start : min(start + self.tile, count), start:]
            v = _strictly_lower(self.engine.backend.xp, columns.swapaxes(-1, -2))
            diagonal(v)[...] = 1
            found.append(v)
        return found

    @cached_property
    def ts(self) -> list[Block]:
        """The triangular T of each tile."""
        starts = range(0, int(self.tau.shape[-1]), self.tile)
        taus = [self.tau[..., start : start + self.tile] for start in starts]
        return [self.engine.middle(v, tau) for v, tau in zip(self.vs, taus, strict=True)]

    def form_q(self, columns: int) -> Block:
        """Return the first columns of Q."""
        shape = (*self.h.shape[:-2], int(self.h.shape[-1]), columns)
        return formed(self.engine, shape, self.vs, self.ts)


def formed(engine: Floats, shape: tuple[int, ...], vs: list[Block], ts: list[Block]) -> Block:
    """Return the first columns of Q."""
    q = engine.backend.xp.zeros(shape, dtype=engine.dtype)
    diagonal(q)[...] = 1
    for i, (v, t) in enumerate(reflections(vs, ts, adjoint=False)):
        start = shape[-2] - v.shape[-2]
        part = q[..., start:, start:]
        # All that the first one meets is the identity.
        if i == 0:
            w = v[..., : part.shape[-1], :].swapaxes(-1, -2)
            w = w.conj() if engine.kind.is_complex else w
        else:
            w = adjoint_multiply(engine, v, part)
        engine.accumulate(part, v, engine.multiply(t, w), subtract=True)
    return q
