"""Block-diagonal factors with pivots of one or two rows (J. R. Bunch and L. Kaufman 1977)."""

from __future__ import annotations

import math

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import native_abs
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr.linalg._products.matmul import matmul

# Of the largest entries, so much as a pivot of one row needs.
_ALPHA = (1 + math.sqrt(17)) / 8


class Factors:
    """``a[perm][:, perm] = L D L^H`` for one matrix ``(n, n)``, which is overwritten.

    L has a unit diagonal, and D blocks of one or two rows; with ``L^T`` unless `hermitian`.
    """

    def __init__(self, a: MDArray, *, hermitian: bool) -> None:
        self._a, self._hermitian = a, hermitian
        n, kind = a.shape[-1], Kind(a.precision.limbs, a.is_complex)
        self.perm = np.arange(n)
        self.lower = a._like(kind.identity(np, (n, n)))
        self.d = a._like(kind.zeros(np, (n, n)))
        k = 0
        while k < n:
            k += self._eliminate(k)

    def _adjoint(self, x: MDArray) -> MDArray:
        return x.mT.conj() if self._hermitian else x.mT

    def _with_real_diagonal(self, a: MDArray) -> MDArray:
        if self._hermitian:
            planes.diagonal(a._block)[1] = 0.0
        return a

    def _eliminate(self, k: int) -> int:
        """Find a pivot, and one or two columns of L; return their number."""
        size, row = self._pivot(k)
        self._exchange(k + size - 1, row)
        rows, after = slice(k, k + size), slice(k + size, None)
        if size == 2:
            self._a[k : k + 1, k + 1 : k + 2] = self._adjoint(self._a[k + 1 : k + 2, k : k + 1])
        self.d[rows, rows] = self._a[rows, rows]
        given = self._a[after, rows].copy()
        pivot = self._a[k, k]
        if size == 1:
            if pivot == 0:
                return 1
            found = given / pivot
        else:
            found = self._of_two(given, k)
        self.lower[after, rows] = found
        if given.size:
            rest = self._a[after, after] - matmul(found, self._adjoint(given))
            self._a[after, after] = self._with_real_diagonal(rest)
        return size

    def _of_two(self, given: MDArray, k: int) -> MDArray:
        """Return columns times the inverse of two rows of D, without products that overflow."""
        corner = self._a[k : k + 2, k : k + 2]
        x, y = given[:, :1], given[:, 1:]
        last, first = corner[1, 1] / corner[1, 0], corner[0, 0] / corner[0, 1]
        inverse = 1 / (last * first - 1)
        found = given.copy()
        found[:, :1] = (x * last - y) * (inverse / corner[0, 1])
        found[:, 1:] = (y * first - x) * (inverse / corner[1, 0])
        return found

    def _pivot(self, k: int) -> tuple[int, int]:
        """Return the number of rows of the pivot, and the row that becomes its last one."""
        column = self._sizes(k, k)
        if len(column) == 1:
            return 1, k
        row = int(column[1:].argmax()) + 1
        largest, here = column[row], column[0]
        if here >= _ALPHA * largest:
            return 1, k
        beside = self._sizes(k, k + row)
        there = beside[row]
        beside[row] = 0.0
        most = beside.max()
        if here * most >= _ALPHA * largest**2:
            return 1, k
        if there >= _ALPHA * most:
            return 1, k + row
        return 2, k + row

    def _sizes(self, first: int, column: int) -> np.ndarray:
        return native_abs(self._a[first:, column]._block, self._a.is_complex)

    def _exchange(self, i: int, j: int) -> None:
        """Exchange two rows, and the same columns."""
        if i == j:
            return
        pair, other = [i, j], [j, i]
        self._a[pair, :] = self._a[other, :]
        self._a[:, pair] = self._a[:, other]
        self.lower[pair, :i] = self.lower[other, :i]
        self.perm[pair] = self.perm[other]
