"""The equations of a system at one point of the parameter, in one precision on one device."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.device import place
from mdqr._limbs.planes import Block, Kind
from mdqr.series._arithmetic.products import shift_matrix
from mdqr.series._systems.products import Products
from mdqr.series._systems.system import System


@dataclass(frozen=True)
class Equations:
    """``F(x, t0 + rho s) = right(s) + sum_j matrices[j] s^j monomials(x)``.

    `matrices` are blocks ``(m, monomials)``, `right` is one ``(m, orders)``; `exponent` is that of
    rho, a power of two.
    """

    kind: Kind
    products: Products
    matrices: list[Block]
    right: Block
    exponent: int = 0

    @classmethod
    def of(cls, system: System, t0: MDArray, is_complex: bool, device: str) -> Equations:
        """Round the coefficients, and expand those that depend on t about t0, on the host."""
        precision = t0.precision
        kind = Kind(precision.limbs, is_complex)
        series = system.coefficients(precision).astype(dtype=complex if is_complex else None)
        if (t0 != 0).any():
            series = series @ shift_matrix(t0, series.shape[1])
        products, monomial = system.monomials
        block, equation, m = series.limbs, system.term_equations, system.equations
        orders, lead = series.shape[1], (slice(None),) * kind.lead
        held = monomial >= 0
        right = kind.zeros(np, (m, orders))
        # Terms of one monomial in one equation come once.
        right[(*lead, equation[~held])] = block[(*lead, ~held)]
        used = np.flatnonzero(block[(*lead, held)].any(axis=(*range(kind.lead), -2)))
        matrices = []
        for j in range(1 + used.max(initial=0)):
            matrix = kind.zeros(np, (m, len(products.monomials)))
            matrix[(*lead, equation[held], monomial[held])] = block[(*lead, held, j)]
            matrices.append(place(matrix, device))
        right = place(right, device)
        return cls(kind, products.on(for_block(right).xp), matrices, right)

    @property
    def backend(self) -> Backend:
        """Where the blocks are."""
        return for_block(self.right)

    def scaled(self, exponent: int) -> Equations:
        """Return the equations with ``t = t0 + 2**exponent s``."""
        if exponent == self.exponent:
            return self
        step = exponent - self.exponent
        backend, field = self.backend, self.kind.is_complex
        matrices = [
            backend.ldexp(block, backend.xp.asarray(step * j), is_complex=field)
            for j, block in enumerate(self.matrices)
        ]
        orders = backend.xp.arange(self.right.shape[-1])
        right = backend.ldexp(self.right, step * orders, is_complex=field)
        return replace(self, matrices=matrices, right=right, exponent=exponent)

    def first_limbs(self, limbs: int) -> Equations:
        """Return the equations in fewer limbs."""
        field = self.kind.is_complex

        def cut(block: Block) -> Block:
            return planes.narrow(block, field, limbs)

        return replace(
            self,
            kind=Kind(limbs, field),
            matrices=[cut(block) for block in self.matrices],
            right=cut(self.right),
        )

    def empty(self, batch: tuple[int, ...], orders: int) -> Block:
        """Return zeros for the nodes ``(..., nodes, orders)``."""
        return self.kind.zeros(self.backend.xp, (*batch, self.products.nodes, orders))

    def order(self, values: Block, k: int) -> Block:
        """Return order k of the equations, ``(..., m, 1)``."""
        backend, xp = self.backend, self.backend.xp
        batch = planes.value_shape(values, self.kind.is_complex)[:-2]
        if k < self.right.shape[-1]:
            found = planes.broadcast(
                self.right[..., k, None], self.kind.is_complex, (*batch, self.right.shape[-2], 1)
            )
        else:
            found = self.kind.zeros(xp, (*batch, self.right.shape[-2], 1))
        for j, matrix in enumerate(self.matrices[: k + 1]):
            column = values[..., self.products.monomials, k - j, None]
            found = backend.matmul(matrix, column, c=found, kind=self.kind)
        return found

    def jacobian(self, values: Block) -> Block:
        """Return the Jacobian ``(..., m, n)`` at points, of which `values` has the nodes."""
        derivatives = self.products.derivatives(values[..., 0], self.kind)
        some = derivatives[..., self.products.monomials].swapaxes(-1, -2)
        return self.backend.matmul(self.matrices[0], some, kind=self.kind)

    def jacobian_series(self, values: Block) -> list[Block]:
        """Return the orders of the Jacobian, each ``(..., m, n)``, along series."""
        derivatives = self.products.derivative_series(values, self.kind)
        some = derivatives[..., self.products.monomials, :, :]
        found = []
        for k in range(values.shape[-1]):
            total = None
            for j, matrix in enumerate(self.matrices[: k + 1]):
                column = some[..., k - j]
                total = self.backend.matmul(matrix, column, c=total, kind=self.kind)
            found.append(total)
        return found

    def sizes(self, values: Block, k: int) -> Block:
        """Return the sums of the moduli of the terms of order k, float64 ``(..., m)``."""
        xp = self.backend.xp
        found = self.size(self.right[..., k]) if k < self.right.shape[-1] else 0.0
        for j, matrix in enumerate(self.matrices[: k + 1]):
            column = self.size(values[..., self.products.monomials, k - j, None])
            found = found + (self.size(matrix) @ column)[..., 0]
        return xp.asarray(found)

    def size(self, block: Block) -> Block:
        """Return the moduli of the leading limbs."""
        xp = self.backend.xp
        return xp.hypot(block[0, 0], block[1, 0]) if self.kind.is_complex else abs(block[0])
