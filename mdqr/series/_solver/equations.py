"""The equations of a system at one point of the parameter, in one precision on one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.protocol import Backend, EquationTerms
from mdqr._limbs import planes
from mdqr._limbs.device import place
from mdqr._limbs.planes import Block, Kind
from mdqr.series._arithmetic.products import shift_matrix
from mdqr.series._systems.products import Products
from mdqr.series._systems.system import System


@dataclass(frozen=True)
class Equations:
    """Sums of terms, series in s with ``t = t0 + rho s`` times products, and of constants.

    `exponent` is that of rho, a power of two.
    """

    kind: Kind
    products: Products
    terms: EquationTerms
    exponent: int = 0

    @classmethod
    def of(cls, system: System, t0: MDArray, is_complex: bool, device: str) -> Equations:
        """Round the coefficients, and expand those that depend on t about t0, on the host."""
        precision = t0.precision
        kind = Kind(precision.limbs, is_complex)
        series = system.coefficients(precision).astype(dtype=complex if is_complex else None)
        if (t0 != 0).any():
            series = series @ shift_matrix(t0.reshape(-1), series.shape[1])
        else:
            series = series[None]
        products, monomial = system.monomials
        equation, m = system.term_equations, system.equations
        held = np.flatnonzero(monomial >= 0)
        held = held[np.argsort(equation[held], kind="stable")]
        starts = np.searchsorted(equation[held], np.arange(m + 1)).astype(np.int64)
        factors = series[:, held].limbs
        used = np.flatnonzero(factors.any(axis=tuple(range(factors.ndim - 1))))
        terms = EquationTerms(
            starts,
            products.monomials[monomial[held]],
            np.ascontiguousarray(factors[..., : 1 + used.max(initial=0)]),
            _constants(series, equation, np.flatnonzero(monomial < 0), m).limbs,
        )
        on_device = EquationTerms(*(place(part, device) for part in terms))
        return cls(kind, products.on(for_block(on_device.factors).xp), on_device)

    @property
    def backend(self) -> Backend:
        """Where the blocks are."""
        return for_block(self.terms.factors)

    @property
    def variables(self) -> int:
        """How many unknowns there are."""
        return self.products.variables

    def scaled(self, exponent: int) -> Equations:
        """Return the equations with ``t = t0 + 2**exponent s``."""
        if exponent == self.exponent:
            return self
        step, backend = exponent - self.exponent, self.backend

        def scale(block: Block) -> Block:
            orders = step * backend.xp.arange(block.shape[-1])
            return backend.ldexp(block, orders, is_complex=self.kind.is_complex)

        return replace(self._with(scale), exponent=exponent)

    def first_limbs(self, limbs: int) -> Equations:
        """Return the equations in fewer limbs."""
        field = self.kind.is_complex
        found = self._with(lambda block: planes.narrow(block, field, limbs))
        return replace(found, kind=Kind(limbs, field))

    def magnitudes(self) -> Equations:
        """Return the equations with the moduli of all factors and constants, in float64."""
        found = self._with(lambda block: self.size(block)[None])
        return replace(found, kind=Kind(1, False))

    def _with(self, change: Callable[[Block], Block]) -> Equations:
        factors, constants = change(self.terms.factors), change(self.terms.constants)
        return replace(self, terms=self.terms._replace(factors=factors, constants=constants))

    def empty(self, batch: tuple[int, ...], orders: int) -> Block:
        """Return zeros for the nodes ``(..., nodes, orders)``."""
        return self.kind.zeros(self.backend.xp, (*batch, self.products.nodes, orders))

    def order(self, values: Block, k: int, *, changes: bool = False) -> Block:
        """Return order k of the equations, ``(..., m, 1)``, of nodes or of changes of nodes.

        `values` may have further axes behind those of the batch.
        """
        terms = self._changing if changes else self.terms
        return self.backend.series_equations(values, terms, k, kind=self.kind)[..., None]

    @property
    def _changing(self) -> EquationTerms:
        """The terms without the constants."""
        return self.terms._replace(constants=self.terms.constants[..., :0])

    def _derivatives(self, wide: Block, k: int, terms: EquationTerms) -> Block:
        """Return order k of the Jacobian, from derivatives ``(..., n, nodes, orders)``."""
        found = self.backend.series_equations(wide, terms, k, kind=self.kind)
        return self.backend.xp.ascontiguousarray(found.swapaxes(-1, -2))

    def jacobian(self, values: Block) -> Block:
        """Return the Jacobian ``(..., m, n)`` at points, of which `values` has the nodes."""
        wide = self.products.derivatives(values[..., 0], self.kind)
        # Order 1 is the derivative, and t stays.
        terms = self._changing._replace(factors=self.terms.factors[..., :1])
        return self._derivatives(wide, 1, terms)

    def jacobian_series(self, values: Block) -> list[Block]:
        """Return the orders of the Jacobian, each ``(..., m, n)``, along series."""
        wide = self.products.derivative_series(values, self.kind).swapaxes(-2, -3)
        wide = self.backend.xp.ascontiguousarray(wide)
        orders = range(values.shape[-1])
        return [self._derivatives(wide, k, self._changing) for k in orders]

    def size(self, block: Block) -> Block:
        """Return the moduli of the leading limbs."""
        xp = self.backend.xp
        return xp.hypot(block[0, 0], block[1, 0]) if self.kind.is_complex else abs(block[0])


def _constants(series: MDArray, equation: np.ndarray, terms: np.ndarray, m: int) -> MDArray:
    """Return the sums ``(sets, m, orders)`` of the terms without unknowns."""
    sets, _, orders = series.shape
    kind = Kind(series.precision.limbs, series.is_complex)
    found = MDArray._wrap(kind.zeros(np, (sets, m, orders)), series.precision, series.is_complex)
    while terms.size:
        rows, first = np.unique(equation[terms], return_index=True)
        found[:, rows] = found[:, rows] + series[:, terms[first]]
        terms = np.delete(terms, first)
    return found
