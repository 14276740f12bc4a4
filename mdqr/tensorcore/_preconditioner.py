"""R as right preconditioner: solutions of triangular systems in float64, by products.

A solve with one right-hand side waits for each row; with the inverses of the blocks of the diagonal
it waits for one in a thousand, and the rest are products that read R once.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from mdqr._backend.protocol import Block
from mdqr.tensorcore._engine import Engine

_MOST_ORDER = 1024
_STEPS = 4


class Preconditioner:
    """``M = R * 2**exponents``; R upper triangular, with a diagonal that is not zero."""

    def __init__(self, engine: Engine, r: Block, exponents: Block) -> None:
        xp, n = engine.xp, r.shape[1]
        self._engine, self._n = engine, n
        self._exponents = exponents[:, None].astype(np.int32)
        self._order = min(_MOST_ORDER, 1 << (n - 1).bit_length())
        padded = -(-n // self._order) * self._order
        self._r = xp.zeros((padded, padded), order="F")
        self._r[:n, :n] = r
        self._r.reshape(-1, order="F")[n * (padded + 1) :: padded + 1] = 1.0
        self._inverses = _inverses(xp, self._r, self._order)

    def _blocks(self) -> list[tuple[int, slice]]:
        order = self._order
        return [(i, slice(i * order, (i + 1) * order)) for i in range(len(self._r) // order)]

    def _padded(self, y: Block) -> Block:
        x = self._engine.xp.zeros((len(self._r), y.shape[1]), order="F")
        x[: self._n] = y
        return x

    def solve(self, y: Block) -> Block:
        """Return ``M**-1 @ y``."""
        x, product = self._padded(y), self._engine.doubles
        out = self._engine.xp.zeros_like(x)
        for i, rows in reversed(self._blocks()):
            if rows.stop < len(x):
                behind = slice(rows.stop, None)
                product(x[rows], self._r[rows, behind], out[behind], alpha=-1.0, beta=1.0)
            product(out[rows], self._inverses[i], x[rows])
        return self._engine.xp.ldexp(out[: self._n], -self._exponents)

    def solve_turned(self, y: Block) -> Block:
        """Return ``M**-T @ y``."""
        xp = self._engine.xp
        x, product = self._padded(xp.ldexp(y, -self._exponents)), self._engine.doubles
        out = xp.zeros_like(x)
        for i, rows in self._blocks():
            if i:
                front = slice(0, rows.start)
                product(
                    x[rows], self._r[front, rows], out[front], turned=True, alpha=-1.0, beta=1.0
                )
            product(out[rows], self._inverses[i], x[rows], turned=True)
        return out[: self._n]

    def condition(self) -> float:
        """Estimate the 2-norm of ``R**-1``, where the columns of R have norms near 1."""
        engine, xp = self._engine, self._engine.xp
        x = xp.asarray(np.random.default_rng(1).standard_normal((self._n, 1)))
        scales, size = self._exponents, xp.ones(1)
        for _ in range(_STEPS):
            x = x / xp.sqrt((x * x).sum(axis=0))
            y = self.solve_turned(xp.ldexp(x, scales))
            x = xp.ldexp(self.solve(y), scales)
            size = xp.sqrt((y * y).sum(axis=0))
        _, (found,) = engine.report(size)
        return float(found[0])


def _inverses(xp: ModuleType, r: Block, order: int) -> Block:
    """Return the inverses of the blocks of the diagonal, by doubling their order."""
    n, (down, right) = len(r), r.strides
    inverses = (1.0 / xp.diagonal(r)).reshape(n, 1, 1)
    width = 1
    while width < order:
        count, both = n // (2 * width), 2 * width
        corners = xp.lib.stride_tricks.as_strided(
            r[:, width:], (count, width, width), (both * (down + right), down, right)
        )
        first, second = inverses[::2], inverses[1::2]
        inverses = xp.zeros((count, both, both))
        inverses[:, :width, :width] = first
        inverses[:, width:, width:] = second
        inverses[:, :width, width:] = -(first @ corners @ second)
        width = both
    return inverses
