"""The equations of a system at one point of the parameter, in one precision on one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from types import ModuleType

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend, EquationTerms
from mdqr._limbs import planes
from mdqr._limbs.device import place
from mdqr._limbs.planes import Block, Kind
from mdqr.series._arithmetic.products import binomials, shift_matrix
from mdqr.series._solver.scaling import Scale, balanced
from mdqr.series._systems.products import Products
from mdqr.series._systems.system import Layout, System

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
    def of(cls, system: System, t0: MDArray, start: np.ndarray, device: str) -> Equations:
        """Round the coefficients, and expand those that depend on t about t0, on the host.

        Scales are those of start points of the moduli `start` ``(items, n)``; zeros tell nothing.

        Raises
        ------
        ValueError
            If they leave the range of doubles there.
        """
        field = t0.is_complex
        series, moduli, values = _expanded(system, t0, field)
        scale = balanced(values, start, system)
        if scale.powers.any():
            powers = scale.powers[..., None]
            series = for_block(series).ldexp(series, powers, is_complex=field)
            moduli = _scaled_moduli(np, np.ldexp(moduli, powers), moduli)
        kind = Kind(t0.precision.limbs, field)
        terms = _terms(series, kind, system._layout, system.equations, device)
        magnitudes = _terms(moduli[None], Kind(1, False), system._layout, system.equations, device)
        products = system._monomials[0].on(for_block(terms.factors).xp)
        return cls(kind, products, terms, magnitudes, scale, np.zeros(1, int))

    @cached_property
    def backend(self) -> Backend:
        """The backend of the blocks."""
        return for_block(self.terms.factors)

    @property
    def variables(self) -> int:
        """The number of unknowns."""
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

        def scale_moduli(block: Block) -> Block:
            return _scaled_moduli(backend.xp, scale(block, False), block)

        terms = _changed(self.terms, lambda block: scale(block, self.kind.is_complex))
        moduli = _changed(self.moduli, scale_moduli)
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
        if (found <= self.exponent).all():
            return found
        # No factor that is a function of t may leave the range.
        for part in (self.moduli.factors[0], self.moduli.constants[0]):
            size = part if isinstance(part, np.ndarray) else part.get()
            if size.shape[-1] > 1 and size.size:
                with np.errstate(divide="ignore"):
                    room = _MOST - np.log2(size.max(axis=-2)[:, 1:])
                room = np.floor((room / np.arange(1, size.shape[-1])).min(axis=1)) + self.exponent
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
        wide = self.products.derivatives(values[..., 0], self.backend, self.kind)
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
        return native_abs(block, self.kind.is_complex)


def _expanded(
    system: System, t0: MDArray, is_complex: bool
) -> tuple[Block, np.ndarray, np.ndarray]:
    """Return the coefficients ``(sets, terms, orders)`` about t0, and what they are made of.

    That is the sums of the moduli of their parts, with what the smallest lost, and order 0 of
    those without it.
    """
    series = system._rounded(t0.precision)
    if is_complex:
        series = series.astype(dtype=complex)
    size = native_abs(series._block, is_complex)
    moduli = size + (size > 0) * (_LEAST / t0.precision.eps)
    if not t0._block.any():
        return np.expand_dims(series._block, 1 + is_complex), moduli[None], size[None, :, 0]
    flat, orders = t0.reshape(-1), series.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        series = series @ shift_matrix(flat, orders)
        shift = binomials(native_abs(flat._block, is_complex), orders)
        moduli, values = moduli @ shift, (size @ shift)[..., 0]
    if not np.isfinite(moduli).all():
        raise ValueError("the coefficients of the system at t0 leave the range of doubles")
    return series._block, moduli, values


def _terms(block: Block, kind: Kind, layout: Layout, rows: int, device: str) -> EquationTerms:
    """Return terms by their equations on a device, and the sums of those without unknowns."""
    factors = block[..., layout.held, :]
    used = np.flatnonzero(factors.any(axis=tuple(range(factors.ndim - 1))))
    sums = kind.zeros(np, (block.shape[kind.lead], rows, block.shape[-1]))
    for count, (equation, term) in enumerate(layout.constants):
        part = block[..., term, :]
        if count:
            before = sums[..., equation, :]
            part = for_block(block).binary("add", before, part, kind=kind)
        sums[..., equation, :] = part
    factors = np.ascontiguousarray(factors[..., : 1 + used.max(initial=0)])
    found = EquationTerms(layout.starts, layout.nodes, factors, sums)
    return found if device == "cpu" else EquationTerms(*(place(part, device) for part in found))


def _scaled_moduli(xp: ModuleType, scaled: Block, before: Block) -> Block:
    """Return scaled moduli, none of them zero that was not."""
    return xp.maximum(scaled, (before > 0) * _LEAST)


def _changed(terms: EquationTerms, change: Callable[[Block], Block]) -> EquationTerms:
    return terms._replace(factors=change(terms.factors), constants=change(terms.constants))
