"""Reflections of float32 matrices by panels of CholeskyQR in float64, a launch or two each.

A panel of 128 columns gets an orthonormal Q, and from it ``I - Y K Y^T`` (Y. Yamamoto 2012;
G. Ballard and others 2014); halves of a tile are joined by ``K12 = -K1 (Y1^T Y2) K2`` (E. Elmroth
and F. Gustavson 2000). Products are those of float32. Where columns of a panel depend on others,
CholeskyQR breaks down, which the panels note: then everything has to be done again by LAPACK.

Parts of a matrix are addresses: slices of arrays take longer than what is done with them.
"""

from __future__ import annotations

from types import ModuleType
from typing import Protocol

from mdqr._backend.cuda.floats.library import Library, Part
from mdqr._backend.float_panels import CUTOFF
from mdqr._limbs.planes import Block


def _aligned(x: int) -> int:
    """Round up so that columns start where those of all products are read fastest."""
    return -(-x // 32) * 32


class Panels(Protocol):
    """The factorisation of panels; matrices are float32, column by column."""

    breakdown: Block

    def reflections(self, a: Part, r: Part, k: Part, signs: int) -> None:
        """Factor ``A = Q R``, then turn Q into Y, K and signs S: ``(I - Y K Y^T) E = Q S``.

        `a` becomes Y; `r`, which is zero, gets R in its upper triangle; `signs` is an address.
        """
        ...


def vectors(
    y: Block, k: Block, shape: tuple[int, int], tile: int
) -> tuple[list[Block], list[Block]]:
    """Return V and T of the tiles of a matrix of that shape, by what `Factoring` leaves."""
    n, v = shape[1], y[:, : shape[0]].T
    ranges = [(first, min(first + tile, n)) for first in range(0, n, tile)]
    return [v[i:, i:j] for i, j in ranges], [k[i:j, : j - i].T for i, j in ranges]


class Factoring:
    """A matrix that is being factored, by tiles of columns.

    Parameters
    ----------
    xp : module
        The arrays.
    library : Library
        Products of float32, and copies.
    panels : Panels
        Their reflections.
    shape : tuple of int
        ``(m, n)`` with ``m >= n``.
    tile : int
        Columns of a tile at most.
    """

    def __init__(
        self, xp: ModuleType, library: Library, panels: Panels, shape: tuple[int, int], tile: int
    ) -> None:
        (m, n), self._library, self._panels = shape, library, panels
        self._tile, rows = tile, _aligned(m)
        self._stride = stride = _aligned(min(tile, n))
        # Two products, signs.
        between = stride * n if n > CUTOFF else 0
        self._memory = memory = xp.empty(2 * between + n, dtype="float32")
        # R and K of the tiles in one array: zero where no panel writes.
        squares = xp.zeros((2, n, stride), dtype="float32")
        self.y, self.k = xp.empty((n, rows), dtype="float32"), squares[1]
        start, square = library.address(memory), library.address(squares)
        self._y = Part(library.address(self.y), rows, m, n)
        self._short, self._other, self._signs = (start + 4 * between * i for i in range(3))
        self._r, self._k = (square + 4 * n * stride * i for i in range(2))

    def run(self, x: Part, *, clear: bool) -> None:
        """Factor a matrix ``(m, n)`` tile after tile; `y` and `k` hold V and T; see `vectors`.

        `x` is its transpose column by column, and becomes R^T; `clear` writes all of its zeros.
        """
        n, m = x.rows, x.columns
        self._library.copy(x, self._y, transposed=True)
        for first in range(0, n, self._tile):
            last = min(first + self._tile, n)
            columns, behind = slice(first, last), slice(last, n)
            self._start = first
            self._factor(first, last)
            self._library.copy(
                self._square(self._r, columns, columns), x.part(columns, columns), transposed=True
            )
            if last < n:
                self._apply(first, last, n)
                top = self._y.part(columns, behind)
                self._library.copy(top, x.part(behind, columns), transposed=True)
            if clear and last < m:
                self._library.clear(x.part(columns, slice(last, m)))

    def _square(self, start: int, rows: slice, columns: slice) -> Part:
        """Return a part of R or K, of the tile that is being factored."""
        address = start + 4 * (rows.start - self._start + columns.start * self._stride)
        return Part(address, self._stride, rows.stop - rows.start, columns.stop - columns.start)

    def _factor(self, first: int, last: int) -> None:
        width, columns = last - first, slice(first, last)
        if width <= CUTOFF:
            r, k = self._square(self._r, columns, columns), self._square(self._k, columns, columns)
            signs = self._signs + 4 * first
            self._panels.reflections(self._y.part(slice(first, self._y.rows), columns), r, k, signs)
            # H^T A is E S R.
            self._library.scale_rows(signs, r)
            return
        middle = first + CUTOFF * -(-width // (2 * CUTOFF))
        self._factor(first, middle)
        self._apply(first, middle, last)
        columns, other = slice(first, middle), slice(middle, last)
        top = self._y.part(columns, other)
        self._library.copy(top, self._square(self._r, columns, other))
        self._library.clear(top)
        self._factor(middle, last)
        self._join(columns, other)

    def _apply(self, first: int, middle: int, last: int) -> None:
        """Apply the reflections of columns `first` to `middle` to those up to `last`."""
        library, columns = self._library, slice(first, middle)
        rows, width, count = slice(first, self._y.rows), middle - first, last - middle
        y, right = self._y.part(rows, columns), self._y.part(rows, slice(middle, last))
        short = Part(self._short, width, width, count)
        other = Part(self._other, width, width, count)
        library.gemm(y, right, short, transposed=True)
        library.gemm(self._square(self._k, columns, columns), short, other, transposed=True)
        library.gemm(y, other, right, alpha=-1.0, beta=1.0)

    def _join(self, columns: slice, other: slice) -> None:
        """Fill the corner of K between two parts of a tile."""
        library, y, rows = self._library, self._y, slice(other.start, self._y.rows)
        shape = (columns.stop - columns.start,) * 2 + (other.stop - other.start,)
        short, product = Part(self._short, *shape), Part(self._other, *shape)
        library.gemm(y.part(rows, columns), y.part(rows, other), short, transposed=True)
        library.gemm(short, self._square(self._k, other, other), product)
        corner = self._square(self._k, columns, other)
        library.gemm(self._square(self._k, columns, columns), product, corner, alpha=-1.0)
