"""Operators ``A E + E B`` and ``E - A E B`` in float64: their inverses, and bounds of them.

In bases ``E = V_A Y W_B`` these are ``T_A Y + Y T_B`` and ``Y - T_A Y T_B`` with additional terms
of the small G and J of both bases, ``W_A A V_A = T_A + G_A`` and ``W_A V_A = I + J_A``: the inverse
for triangles, entry by entry, and a contraction that bounds what the small terms add.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr.linalg._matrix.given import frobenius
from mdqr.linalg._matrix.refined.bases import LEAST, Basis, unit
from mdqr.linalg._spectral.disks import SLACK


class Operator(NamedTuple):
    """``A E + E B``, or ``E - A E B`` if `stein`, for batches of bases of A and B."""

    left: Basis
    right: Basis
    stein: bool = False

    @np.errstate(all="ignore")
    def solve(self, f: np.ndarray) -> np.ndarray:
        """Return approximately what has the image `f`, ``(batch, m, n)``."""
        (va, wa), (vb, wb) = self.left.vectors[:2], self.right.vectors[:2]
        symbol = self._symbols()
        symbol = np.where(symbol == 0, np.inf, symbol)  # no corrections there
        return np.asarray(va @ self._inverse(wa @ f @ vb, symbol) @ wb)

    @property
    def is_singular(self) -> np.ndarray:
        """True where the operators for triangles have an eigenvalue 0."""
        return np.asarray((self._symbols() == 0).any(axis=(-2, -1)))

    def _symbols(self) -> np.ndarray:
        """Return the eigenvalues of the operator for triangles."""
        a, b = self.left.values[..., :, None], self.right.values[..., None, :]
        return np.asarray(1 - a * b if self.stein else a + b)

    def _inverse(self, f: np.ndarray, symbol: np.ndarray) -> np.ndarray:
        left, right = self.left, self.right
        if left.vectors.diagonal and right.vectors.diagonal:
            return np.asarray(f / symbol)
        ta, tb = left.above(), right.above()
        if self.stein:
            return _stein(f, symbol, ta, tb, left.values, right.values)
        return _sylvester(f, symbol, -ta, -tb)

    @np.errstate(all="ignore")
    def _moduli(self, f: np.ndarray) -> np.ndarray:
        """Return bounds of the moduli of the solution for triangles, given bounds of the image."""
        left, right = (x._replace(t=abs(x.t)) for x in (self.left, self.right))
        a, b = self.left.values[..., :, None], self.right.values[..., None, :]
        symbol = abs(self._symbols()) / SLACK
        if self.stein:
            symbol = symbol - 2.0**-50 * (1 + abs(a) * abs(b))
        symbol = np.where(symbol > 0, symbol, 0.0)
        if not (left.vectors.diagonal and right.vectors.diagonal):
            ta, tb = left.above(), right.above()
            if self.stein:
                return SLACK * _stein(f, symbol, ta, tb, left.values, right.values)
            return SLACK * _sylvester(f, symbol, ta, tb)
        return np.asarray(SLACK * f / symbol)

    @np.errstate(all="ignore")
    def inverse_norm(self) -> np.ndarray:
        """Return bounds, in the Frobenius norm, of the inverse for triangles."""
        shape = (*self.left.t.shape[:-1], self.right.t.shape[-1])
        found = self._moduli(np.ones(shape))
        if self.left.vectors.diagonal and self.right.vectors.diagonal:
            return np.asarray(found.max(axis=(-2, -1), initial=0.0))
        return frobenius(found)

    @np.errstate(all="ignore")
    def bounded(
        self,
        f: np.ndarray,
        lost: np.ndarray,
        square: np.ndarray | float = 0.0,
        image_lost: np.ndarray | float = 0.0,
    ) -> Bounded:
        """Return bounds of an E with ``L E + Q(E) = F``, for F within `lost` of `f`.

        `image_lost` are bounds of errors of ``W_A F V_B`` besides. In the basis
        ``norm(Q(Y)) <= square norm(Y)**2``. There is such an E within the bounds,
        which are infinite where none is proven.
        """
        (va, wa), (vb, wb) = self.left.vectors[:2], self.right.vectors[:2]
        few = 4 * unit(max(f.shape[-2:]))
        image = wa @ f @ vb
        symbol = self._symbols()
        y = np.where(image == 0, 0.0, self._inverse(image, symbol))
        of_y, of_va, of_wb = abs(y), abs(va), abs(wb)
        # What rounding adds to the image, and to that of y.
        defect = abs(wa) @ (few * abs(f) + lost) @ abs(vb) + few * self._image_of(of_y) + LEAST
        defect = defect + image_lost
        rest = self._moduli(defect)
        inverse, rate = self.inverse_norm(), self._rate()
        start = SLACK * (frobenius(y) + frobenius(rest)) / (1 - rate)
        curve = SLACK * 4 * inverse * square / (1 - rate)
        root = np.sqrt(1 - curve * start)
        size = SLACK * 2 * start / (1 + root)
        added = rest + (rate * size + inverse * square * size**2)[..., None, None]
        entries = abs(va @ y @ wb) + of_va @ (few * of_y + added) @ of_wb
        proven = (rate < 1) & (root >= 0) & np.isfinite(size)
        found = (entries, (1 + few) * of_y + added)
        entries, basis = (
            np.where(proven[..., None, None] & np.isfinite(x), SLACK**2 * x, np.inf) for x in found
        )
        return Bounded(entries, basis, np.where(proven, size, np.inf))

    def _image_of(self, y: np.ndarray) -> np.ndarray:
        """Return bounds of the terms of the image of Y, from moduli."""
        ta, tb = abs(self.left.t), abs(self.right.t)
        return np.asarray(y + ta @ y @ tb if self.stein else ta @ y + y @ tb)

    def _rate(self) -> np.ndarray:
        """Return bounds of the contraction by the terms with G and J, in the Frobenius norm."""
        left, right = self.left, self.right
        ga, ja, gb, jb = map(frobenius, (left.g, left.j, right.g, right.j))
        ta, tb = frobenius(left.t), frobenius(right.t)
        if self.stein:
            small = ja + jb + ja * jb + ga * (tb + gb) + ta * gb
        else:
            small = ga + (ta + ga) * jb + ja * (tb + gb) + gb
        rate = SLACK**2 * self.inverse_norm() * small
        return np.where((ja < 1) & (jb < 1), rate, np.inf)


class Bounded(NamedTuple):
    """Bounds of the moduli of entries of E and of Y, and of the norm of Y."""

    entries: np.ndarray
    basis: np.ndarray
    norm: np.ndarray


def _sylvester(f: np.ndarray, symbol: np.ndarray, ta: np.ndarray, tb: np.ndarray) -> np.ndarray:
    """Solve ``symbol * Y = F + T_A Y + Y T_B``, both strictly upper triangular.

    Entries of an antidiagonal depend on those before it alone.
    """
    y = np.zeros(f.shape, dtype=np.result_type(f, ta, tb))
    for i, j in _antidiagonals(*f.shape[-2:]):
        terms = _dots(ta[..., i, :], y[..., :, j]) + _dots(y[..., i, :], tb[..., :, j])
        y[..., i, j] = (f[..., i, j] + terms) / symbol[..., i, j]
    return y


def _stein(
    f: np.ndarray,
    symbol: np.ndarray,
    ta: np.ndarray,
    tb: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
) -> np.ndarray:
    """Solve ``Y = F + (diag(a) + T_A) Y (diag(b) + T_B)``."""
    y = np.zeros(f.shape, dtype=np.result_type(f, ta, tb))
    product = np.zeros_like(y)  # of the left matrix and Y
    for i, j in _antidiagonals(*f.shape[-2:]):
        inner = _dots(ta[..., i, :], y[..., :, j])
        terms = inner * b[..., j] + _dots(product[..., i, :], tb[..., :, j])
        y[..., i, j] = (f[..., i, j] + terms) / symbol[..., i, j]
        product[..., i, j] = inner + a[..., i] * y[..., i, j]
    return y


def _antidiagonals(m: int, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows and columns, from the lower left corner on."""
    found = []
    for k in range(m + n - 1):
        j = np.arange(max(0, k - m + 1), min(n, k + 1))
        found.append((m - 1 - k + j, j))
    return found


def _dots(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.einsum("...kn,...nk->...k", rows, columns)
