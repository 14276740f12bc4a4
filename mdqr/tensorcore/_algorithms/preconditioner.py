"""R as right preconditioner: solutions of triangular systems by products.

A solve with one right-hand side has a barrier a row; with the inverses of the blocks of the
diagonal it has one in thousands of rows, and the rest are products that read R once.

Of a float32 R the inverses are float32 too, of half the size: they need not be accurate. Conjugate
gradients find the same x with every M that is one fixed matrix, as is what such products do in
float64 arithmetic, and the errors of float32 in R**-1 change ``A M**-1`` less than those of the
format that R was made in.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from mdqr._limbs.planes import Block
from mdqr.tensorcore._engine.protocol import TRIANGLE, Engine

_MOST_ORDER = 4096
_STEPS = 4


class BothOrders(NamedTuple):
    """A matrix column by column, and row by row."""

    columns: Block
    rows: Block


class Size(NamedTuple):
    """Estimates of norms of ``R**-1``, where the columns of R have norms near 1."""

    norm: float  # the 2-norm
    rank: float  # the square of the Frobenius norm over that of the 2-norm
    longest: float  # the length of the longest column of R
    weak: Block  # of length 1: a vector that ``R**-1`` makes nearly as long as any


class Preconditioner:
    """``M = R * 2**exponents``; R upper triangular, with a diagonal that is not zero."""

    def __init__(self, engine: Engine, r: Block, exponents: Block) -> None:
        xp, n = engine.xp, r.shape[1]
        self._engine, self._n = engine, n
        self.exponents = exponents
        self._up = exponents[:, None].astype(np.int32)
        self._down = -self._up
        order = min(_MOST_ORDER, max(TRIANGLE, 1 << (n - 1).bit_length()))
        padded = -(-n // order) * order
        whole = xp.zeros((padded, padded), order="F")
        whole[:n, :n] = r
        whole.reshape(-1, order="F")[n * (padded + 1) :: padded + 1] = 1.0
        self._blocks = [slice(i, min(i + order, n)) for i in range(0, n, order)]
        inverses = engine.inverses(whole, order)
        self._inverses = [
            _both_orders(xp, inverses[i, :size, :size].astype(r.dtype))
            for i, size in enumerate(rows.stop - rows.start for rows in self._blocks)
        ]
        self._r = _both_orders(xp, r) if len(self._blocks) > 1 else None
        squares = engine.squares(r) if r.dtype == np.float32 else (r * r).sum(axis=0)
        self.lengths = xp.sqrt(squares)[:, None]

    def scaled(self, x: Block) -> Block:
        """Return `x`, its entries multiplied by the lengths of the columns of M."""
        return self._engine.xp.ldexp(x, self._up) * self.lengths

    def solve(self, y: Block) -> Block:
        """Return ``M**-1 @ y``."""
        x = self._solve(y)
        self._engine.xp.ldexp(x, self._down, x)
        return x

    def solve_transposed(self, y: Block) -> Block:
        """Return ``M**-T @ y``."""
        xp = self._engine.xp
        down = xp.empty(y.shape, order="F")
        xp.ldexp(y, self._down, down)
        return self._solve_transposed(down)

    def _solve(self, y: Block) -> Block:
        """Return ``R**-1 @ y``."""
        xp, product = self._engine.xp, self._engine.doubles
        x = y.copy(order="F") if self._r else xp.asfortranarray(y)
        out = xp.empty(y.shape, order="F")
        for i, rows in reversed([*enumerate(self._blocks)]):
            if self._r and rows.stop < self._n:
                behind = slice(rows.stop, None)
                product(x[rows], self._r.rows[rows, behind], out[behind], alpha=-1.0, beta=1.0)
            product(out[rows], self._inverses[i].rows, x[rows])
        return out

    def _solve_transposed(self, y: Block) -> Block:
        """Return ``R**-T @ y``; `y` may be changed."""
        xp, product = self._engine.xp, self._engine.doubles
        out = xp.empty(y.shape, order="F")
        for i, rows in enumerate(self._blocks):
            if self._r and i:
                above, r = slice(0, rows.start), self._r.columns
                product(y[rows], r[above, rows], out[above], transposed=True, alpha=-1.0, beta=1.0)
            product(out[rows], self._inverses[i].columns, y[rows], transposed=True)
        return out

    def size(self) -> Size:
        """Estimate what ``R**-1`` is, by the power method; infinite where that overflows."""
        engine, xp = self._engine, self._engine.xp
        x = xp.asarray(np.random.default_rng(1).standard_normal((self._n, 1)), order="F")
        squares = []
        for _ in range(_STEPS):
            squares.append((x * x).sum())
            y = self._solve_transposed(x)
            squares.append((y * y).sum())
            x = self._solve(y)
        _, (found, longest) = engine.report(xp.stack(squares), self.lengths.max())
        ratios = found[1::2] / found[::2]
        first, last = ratios[0], ratios[-1]
        if not np.isfinite(last):
            return Size(np.inf, 1.0, float(longest), y)
        # A random unit vector has one n-th of the square of the Frobenius norm, on average.
        rank = max(float(self._n * first / last), 1.0)
        weak = y / float(found[-1]) ** 0.5
        return Size(float(last) ** 0.5, rank, float(longest), weak)


def _both_orders(xp: ModuleType, x: Block) -> BothOrders:
    return BothOrders(xp.asfortranarray(x), xp.ascontiguousarray(x))
