"""The equations of a system at one point of the parameter, in one precision on one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.protocol import Backend, EquationTerms
from mdqr._limbs import planes
from mdqr._limbs.device import place
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.series._arithmetic.products import binomials, shift_matrix
from mdqr.series._solver.scaling import Scale, balanced
from mdqr.series._systems.products import Products
from mdqr.series._systems.system import System

# Many underflows together make no larger errors.
_LEAST = 2.0**-1060
# The binary logarithm of what factors may become.
_MOST = 900.0


@dataclass(frozen=True)
class Equations:
    """Sums of terms, series in s with ``t = t0 + 2**exponent s`` times products, and of constants.

    Unknowns, equations and t are scaled by powers of two, all start points alike or each in its
    own way: then there are sets of factors, as many as start points. `moduli` has the sums of the
    moduli of what factors and constants were made of, in float64.
    """

    kind: Kind
    products: Products
    terms: EquationTerms
    moduli: EquationTerms
    scale: Scale
    exponent: np.ndarray  # (sets,)

    @classmethod
    def of(cls, system: System, t0: MDArray, x: MDArray) -> Equations:
        """Round the coefficients, and expand those that depend on t about t0, on the host.

        Raises
        ------
        ValueError
            If they leave the range of doubles there.
        """
        series, moduli = _expanded(system, t0, x.is_complex)
        start = sizes(x.reshape(-1, x.shape[-1])._block, x.is_complex)
        scale = balanced(
            sizes(series._block[..., 0], x.is_complex),
            start if isinstance(start, np.ndarray) else start.get(),
            system,
        )
        if scale.powers.any():
            series = MDArray._wrap(
                for_block(series._block).ldexp(
                    series._block, scale.powers[..., None], is_complex=x.is_complex
                ),
                series.precision,
                x.is_complex,
            )
            moduli = np.ldexp(moduli, scale.powers[..., None])
        products, monomial = system.monomials
        kind = Kind(t0.precision.limbs, x.is_complex)
        found = [
            _terms(each, products, monomial, system, x.device)
            for each in (series, MDArray._wrap(moduli[None], PRECISIONS[0], False))
        ]
        on_device = products.on(for_block(found[0].factors).xp)
        return cls(kind, on_device, *found, scale, np.zeros(1, int))

    @property
    def backend(self) -> Backend:
        """Where the blocks are."""
        return for_block(self.terms.factors)

    @property
    def variables(self) -> int:
        """How many unknowns there are."""
        return self.products.variables

    def scaled(self, exponent: np.ndarray) -> Equations:
        """Return the equations with ``t = t0 + 2**exponent s``, exponents ``(sets,)``."""
        if (exponent == exponent[0]).all():
            exponent = exponent[:1]
        step = exponent - self.exponent
        if not step.any():
            return self
        backend = self.backend
        powers = backend.xp.asarray(step)[:, None, None]

        def scale(block: Block, is_complex: bool) -> Block:
            orders = powers * backend.xp.arange(block.shape[-1])
            return backend.ldexp(block, orders, is_complex=is_complex)

        def scale_moduli(block: Block, is_complex: bool) -> Block:
            # What is not zero stays so.
            return backend.xp.maximum(scale(block, is_complex), (block > 0) * _LEAST)

        terms = _changed(self.terms, lambda block: scale(block, self.kind.is_complex))
        moduli = _changed(self.moduli, lambda block: scale_moduli(block, False))
        return replace(self, terms=terms, moduli=moduli, exponent=exponent)

    def inward(self, x: Block) -> Block:
        """Return unknowns ``(..., n)``, as they were given, scaled."""
        scale, field = self.scale.unknowns, self.kind.is_complex
        if not scale.any():
            return x
        powers = self.backend.xp.asarray(-scale).reshape(planes.value_shape(x, field))
        return self.backend.ldexp(x, powers, is_complex=field)

    def slower(self, rates: np.ndarray) -> np.ndarray:
        """Return the exponents with which orders grow less by a factor ``2**rates``."""
        found = self.exponent - np.rint(rates).astype(int)
        # Nothing that is a function of t may leave the range.
        parts = (self.moduli.factors[0], self.moduli.constants[0])
        for part in parts:
            top = part.max(axis=-2, initial=0.0)[:, 1:]
            top = top if isinstance(top, np.ndarray) else top.get()
            with np.errstate(divide="ignore"):
                room = (_MOST - np.log2(top)) / np.arange(1, 1 + top.shape[1])
            room = np.floor(room.min(axis=1, initial=np.inf)) + self.exponent
            found = np.minimum(found, np.where(np.isinf(room), found, room)).astype(int)
        return found

    def exponents(self, batch: tuple[int, ...]) -> int | np.ndarray:
        """Return the exponents of the start points: one number where there is one point."""
        if not batch:
            return int(self.exponent[0])
        return np.broadcast_to(self.exponent, prod(batch)).reshape(batch).copy()

    def powers(self, scale: np.ndarray, batch: tuple[int, ...], orders: int) -> np.ndarray:
        """Return by which powers of two numbers ``(..., p, orders)`` are to be multiplied.

        `scale` is one of `Scale`; then they are those of unknowns or equations as they were given.
        """
        found = scale[:, :, None] - self.exponent[:, None, None] * np.arange(orders)
        return found[0] if len(found) == 1 else found.reshape(*batch, *found.shape[1:])

    def first_limbs(self, limbs: int) -> Equations:
        """Return the equations in fewer limbs."""
        field = self.kind.is_complex
        terms = _changed(self.terms, lambda block: planes.narrow(block, field, limbs))
        return replace(self, terms=terms, kind=Kind(limbs, field))

    def magnitudes(self) -> Equations:
        """Return the equations with the moduli of all factors and constants, in float64."""
        return replace(self, terms=self.moduli, kind=Kind(1, False))

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
        return sizes(block, self.kind.is_complex)


def sizes(block: Block, is_complex: bool) -> Block:
    """Return the moduli of the leading limbs."""
    xp = planes.namespace(block)
    return xp.hypot(block[0, 0], block[1, 0]) if is_complex else abs(block[0])


def _expanded(system: System, t0: MDArray, is_complex: bool) -> tuple[MDArray, np.ndarray]:
    """Return the coefficients ``(sets, terms, orders)`` about t0, and the moduli of their parts."""
    precision = t0.precision
    series = system.coefficients(precision).astype(dtype=complex if is_complex else None)
    moduli = sizes(series._block, is_complex)
    # Of the smallest some limbs are lost.
    moduli = moduli + (moduli > 0) * (_LEAST / precision.eps)
    if not (t0 != 0).any():
        return series[None], moduli[None]
    flat, orders = t0.reshape(-1), np.arange(series.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        series = series @ shift_matrix(flat, len(orders))
        moduli = moduli @ binomials(sizes(flat._block, is_complex), len(orders))
    if not np.isfinite(moduli).all():
        raise ValueError("the coefficients of the system at t0 leave the range of doubles")
    return series, moduli


def _terms(
    series: MDArray, products: Products, monomial: np.ndarray, system: System, device: str
) -> EquationTerms:
    """Return terms by their equations on a device, and the sums of those without unknowns."""
    equation, m = system.term_equations, system.equations
    held = np.flatnonzero(monomial >= 0)
    held = held[np.argsort(equation[held], kind="stable")]
    starts = np.searchsorted(equation[held], np.arange(m + 1)).astype(np.int64)
    factors = series[:, held].limbs
    used = np.flatnonzero(factors.any(axis=tuple(range(factors.ndim - 1))))
    found = EquationTerms(
        starts,
        products.monomials[monomial[held]],
        np.ascontiguousarray(factors[..., : 1 + used.max(initial=0)]),
        _constants(series, equation, np.flatnonzero(monomial < 0), m).limbs,
    )
    return EquationTerms(*(place(part, device) for part in found))


def _changed(terms: EquationTerms, change: Callable[[Block], Block]) -> EquationTerms:
    return terms._replace(factors=change(terms.factors), constants=change(terms.constants))


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
