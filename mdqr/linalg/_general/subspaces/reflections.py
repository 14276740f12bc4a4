"""Short reflectors that act on some rows of a matrix, or on some columns."""

from __future__ import annotations

from typing import NamedTuple

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
        """Return that of a vector ``(m, 1)``; it is the identity for zeros."""
        panel = backend.qr_panel(vector, kind=kind)
        return cls(backend, kind, panel.v, panel.t)

    @classmethod
    def of_row(cls, backend: Backend, row: Block, kind: Kind) -> Reflection:
        """Return an E for which ``row E``, of a row ``(1, m)``, has zeros but for its last entry.

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
