"""Short reflectors of some rows or columns, and exchanges of eigenvalues by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind


class Reflection(NamedTuple):
    """A unitary ``E = I - V T V^H`` whose adjoint maps a vector to a multiple of the first axis."""

    backend: Backend
    kind: Kind
    v: Block
    t: Block

    @classmethod
    def of(cls, backend: Backend, vector: Block, kind: Kind) -> Reflection:
        """Return E for a vector ``(m, 1)``; the identity for zeros."""
        panel = backend.qr_panel(vector, kind=kind)
        return cls(backend, kind, panel.v, panel.t)

    @classmethod
    def of_row(cls, backend: Backend, row: Block, kind: Kind) -> Reflection:
        """Return an E that leaves the last entry of ``row E`` alone, for a row ``(1, m)``.

        It acts on columns in reverse order: `right` takes them by a slice of step -1.
        """
        column = row[..., ::-1].swapaxes(-1, -2)
        return cls.of(backend, planes.conjugate(column) if kind.is_complex else column, kind)

    def left(self, rows: Block) -> None:
        """Replace rows ``(m, n)`` by ``E^H rows``."""
        self.backend.reflect(self.v, self.t, rows, kind=self.kind, adjoint=True)

    def right(self, *blocks: Block) -> None:
        """Replace columns ``(n, m)`` by ``columns E``."""
        v = planes.conjugate(self.v) if self.kind.is_complex else self.v
        for block in blocks:
            self.backend.reflect(v, self.t, block.swapaxes(-1, -2), kind=self.kind, adjoint=False)


def reorder(backend: Backend, t: Block, q: Block, keys: np.ndarray, kind: Kind) -> None:
    """Sort the diagonal of an upper triangular matrix by keys, in place; ``Q T Q^H`` stays.

    Neighbours are exchanged by reflectors (G. W. Stewart, Algorithm 506, 1976), no more than the
    order needs.
    """
    keys = keys.copy()
    for last in range(1, len(keys)):
        for k in range(last - 1, -1, -1):
            if keys[k] <= keys[k + 1]:
                break
            _exchange(backend, t, q, k, kind)
            keys[[k, k + 1]] = keys[[k + 1, k]]


def _exchange(backend: Backend, t: Block, q: Block, k: int, kind: Kind) -> None:
    """Exchange the entries k and k + 1 of the diagonal."""
    pair, first = slice(k, k + 2), t[..., k, k : k + 1].copy()
    vector = t[..., pair, k + 1 : k + 2].copy()
    last = vector[..., 1, :].copy()
    vector[..., 1, :] = backend.binary("subtract", last, first, kind=kind)
    found = Reflection.of(backend, vector, kind)
    found.left(t[..., pair, k:])
    found.right(t[..., : k + 2, pair], q[..., pair])
    t[..., k + 1, k] = 0.0
