"""A pair of matrices while unitary matrices multiply it: Hessenberg and triangular form."""

from __future__ import annotations

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._general.subspaces.reflections import Reflection
from mdqr.linalg._shared.operands import precision_for


class Form:
    """H, T, Q and Z with ``a = Q H Z^H`` and ``b = Q T Z^H``, blocks ``(n, n)`` in host memory.

    Entries of H and T are at most 1: they are divided by ``2**powers``.
    """

    def __init__(self, backend: Backend, a: Block, b: Block, kind: Kind) -> None:
        self.backend, self.kind, self.n = backend, kind, int(a.shape[-1])
        field = kind.is_complex
        self.powers = [scaling.top_exponents(x, field, None) for x in (a, b)]
        self.h, self.t = (
            backend.ldexp(planes.widen(x, field, kind.limbs), -power, is_complex=field)
            for x, power in zip((a, b), self.powers, strict=True)
        )
        self.q, self.z = (kind.identity(np, (self.n, self.n)) for _ in range(2))
        self.eps = precision_for(kind.limbs).eps

    def values(self, block: Block) -> MDArray:
        """Return a block as an array, a view."""
        return MDArray._wrap(block, precision_for(self.kind.limbs), self.kind.is_complex)

    def factors(self) -> tuple[Block, Block, Block, Block]:
        """Return AA, BB, Q and Z."""
        aa, bb = (
            self.backend.ldexp(x, power, is_complex=self.kind.is_complex)
            for x, power in zip((self.h, self.t), self.powers, strict=True)
        )
        return aa, bb, self.q, self.z

    def left(self, found: Reflection, rows: slice, of_h: int, of_t: int) -> None:
        """Multiply rows of H and T, from these columns on."""
        found.left(self.h[..., rows, of_h:])
        found.left(self.t[..., rows, of_t:])
        found.right(self.q[..., rows])

    def right(self, found: Reflection, columns: slice, of_h: int, of_t: int) -> None:
        """Multiply columns of H and T in reverse order, up to these rows."""
        for block in (self.h[..., :of_h, :], self.t[..., :of_t, :], self.z):
            found.right(block[..., columns][..., ::-1])

    def multiply(self, rows: slice, left: Block, right: Block) -> None:
        """Multiply some rows by the adjoint of a unitary matrix, the same columns by another."""
        backend, kind = self.backend, self.kind
        for block in (self.h, self.t):
            turned = planes.adjoint(left, kind.is_complex)
            block[..., rows, :] = backend.matmul(turned, block[..., rows, :].copy(), kind=kind)
        for block, factor in ((self.h, right), (self.t, right), (self.q, left), (self.z, right)):
            block[..., rows] = backend.matmul(block[..., rows].copy(), factor, kind=kind)

    def reduce(self, report: Reporter | None) -> None:
        """Make T triangular and H a Hessenberg matrix (C. B. Moler and G. W. Stewart 1973)."""
        n, kind = self.n, self.kind
        for j in range(n - 1):
            rows = slice(j, n)
            self.left(Reflection.of(self.backend, self.t[..., rows, j : j + 1], kind), rows, 0, j)
            self.t[..., j + 1 :, j] = 0.0
        for j in range(n - 2):
            for i in range(n - 1, j + 1, -1):
                pair = slice(i - 1, i + 1)
                vector = self.h[..., pair, j : j + 1].copy()
                self.left(Reflection.of(self.backend, vector, kind), pair, j, i - 1)
                self.h[..., i, j] = 0.0
                self.restore(i, i - 1, n)
            if report is not None:
                report("reduce", j + 1, n - 2)

    def restore(self, i: int, first: int, stop: int) -> None:
        """Make row i of T zero from column `first` to the diagonal; H has `stop` rows there."""
        columns = slice(first, i + 1)
        row = self.t[..., i : i + 1, columns].copy()
        self.right(Reflection.of_row(self.backend, row, self.kind), columns, stop, i + 1)
        self.t[..., i, first:i] = 0.0

    def deflate(self, row: int, first: int, last: int) -> None:
        """Make a row of H zero in columns from `first` to before `last`, by these columns.

        T is zero in them from row `last` on.
        """
        columns = slice(first, last + 1)
        vector = self.h[..., row : row + 1, columns].copy()
        found = Reflection.of_row(self.backend, vector, self.kind)
        self.right(found, columns, row + 1, last)
        self.h[..., row, first:last] = 0.0
