"""Reflections of float32 matrices by panels of CholeskyQR in float64, a launch or two each.

A panel of 128 columns gets an orthonormal Q, and from it ``I - Y K Y^T`` (Y. Yamamoto 2012;
G. Ballard and others 2014); halves of a tile are joined by ``K12 = -K1 (Y1^T Y2) K2`` (E. Elmroth
and F. Gustavson 2000). Products are those of float32. Where columns of a panel depend on others,
its Q is in doubt, which the panels note: then everything has to be done again by LAPACK.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol

from mdqr._backend.cuda.kernels import Kernels
from mdqr._backend.protocol import Block
from mdqr.linalg._update_engine import Engine

# Columns of a panel at most. Below the least, LAPACK's panels are as fast.
MOST, LEAST = 128, 33


class Panels(Protocol):
    """What factors panels; matrices are float32, column by column."""

    doubtful: Block

    def orthonormal(self, a: Block, r: Block, *, done: bool) -> None:
        """Replace `a` by Q and fill the upper triangle of `r`."""
        ...

    def reflector(self, q: Block, k: Block, signs: Block) -> None:
        """Turn Q into Y, K and signs S: ``(I - Y K Y^T) E = Q S``."""
        ...


def cuda_panels(kernels: Kernels) -> Panels:
    """Return the panels of a GPU, which notes doubts in memory of its own."""
    found: Panels = import_module("mdqr.tensorcore._cuda_panels").CudaPanels(kernels)
    return found


class Factoring:
    """A matrix that is being factored, turned: all arrays are transposes, rows after rows.

    Attributes
    ----------
    y : Block
        ``(n, m)``: the columns to factor, then Y.
    r : Block
        ``(n, n)``: R, lower triangular as it is turned.
    k : Block
        ``(n, n)``: the K of each tile.
    """

    def __init__(self, engine: Engine, panels: Panels, x: Block) -> None:
        xp, (m, n) = engine.backend.xp, x.shape
        self._engine, self._panels = engine, panels
        self.y = xp.empty((n, m), dtype=engine.dtype)
        self.y[...] = x.swapaxes(-1, -2)
        self.r, self.k = (xp.zeros((n, n), dtype=engine.dtype) for _ in range(2))
        self._signs = xp.empty(n, dtype=engine.dtype)

    def run(self, tile: int) -> Iterator[tuple[Block, Block]]:
        """Factor tile after tile, and yield V and T of each."""
        n = len(self.y)
        for first in range(0, n, tile):
            last = min(first + tile, n)
            self._factor(first, last)
            if last < n:
                self._apply(first, last, n)
            yield self.y[first:last, first:].T, self.k[first:last, first:last].T

    def _factor(self, first: int, last: int) -> None:
        width = last - first
        own = slice(first, last)
        if width <= MOST:
            y, r, signs = self.y[own, first:], self.r[own, own], self._signs[own]
            self._panels.orthonormal(y.T, r.T, done=False)
            self._panels.reflector(y.T, self.k[own, own].T, signs)
            # H^T A is E S R.
            r *= signs
            return
        middle = first + MOST * -(-width // (2 * MOST))
        self._factor(first, middle)
        self._apply(first, middle, last)
        self._factor(middle, last)
        self._join(first, middle, last)

    def _apply(self, first: int, middle: int, last: int) -> None:
        """Apply the reflections of columns `first` to `middle` to those up to `last`."""
        engine, own = self._engine, slice(first, middle)
        y, k, right = self.y[own, first:], self.k[own, own], self.y[middle:last, first:]
        short = engine.multiply(engine.multiply(right, y.T), k.T)
        engine.accumulate(right, short, y, subtract=True)
        self.r[middle:last, own] = right[:, : middle - first]
        right[:, : middle - first] = 0

    def _join(self, first: int, middle: int, last: int) -> None:
        """Fill the corner of K between two parts of a tile."""
        engine, own, other = self._engine, slice(first, middle), slice(middle, last)
        short = engine.multiply(self.y[other, middle:], self.y[own, middle:].T)
        short = engine.multiply(self.k[other, other], short)
        engine.accumulate(self.k[other, own], short, self.k[own, own], subtract=True)
