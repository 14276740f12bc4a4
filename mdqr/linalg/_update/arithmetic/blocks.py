"""The arithmetic of blocks of two limbs and more, by the kernels of a backend."""

from __future__ import annotations

from functools import reduce

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, clear_below, diagonal
from mdqr.linalg._factor import cholesky, householder
from mdqr.linalg._factor.scaled import clear_diagonal_signs, multiply_signs
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._update.arithmetic.engine import Engine, Reflections


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
        return cholesky.factor(self.backend, gram, self.kind)

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
        if triangle.ndim == 2 and not isinstance(triangle, np.ndarray):
            return self.backend.invert_triangle(triangle)
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
