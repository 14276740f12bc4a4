"""Effect of rounding errors on the orders of a series, by random perturbations of first order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.series._arithmetic.products import coefficient
from mdqr.series._solver.equations import Equations
from mdqr.series._solver.online import Start

# Draws, and a factor for those that were not drawn.
_PROBES, _SAFETY = 4, 8.0
# Products of what is smaller are taken for products of this: they may underflow, as their errors.
_SMALL, _LEAST = 2.0**-500, 2.0**-1060


def perturbed(
    equations: Equations, start: Start, values: Block, precision: Precision
) -> tuple[np.ndarray, np.ndarray]:
    """Return the moduli of coefficients, and estimates of their errors.

    Every product, sum of an equation, residual of a refinement and coefficient is changed by about
    eps of its terms, normally distributed (signs alone might cancel in all draws), or by what
    underflows; the changes go through the linearised equations order by order, in float64. There
    they are in units of the root of eps, so that they do not underflow themselves.

    Parameters
    ----------
    equations : Equations
        What was solved.
    start : Start
        Its start, for the inverse of the Jacobian.
    values : Block
        All nodes of the solution, ``(..., nodes, d + 1)``.
    precision : Precision
        That of the solution.

    Returns
    -------
    tuple
        Two arrays ``(..., n, d + 1)``, float64 on the host.
    """
    # What leaves the range is told as an infinite error.
    with np.errstate(over="ignore", invalid="ignore"):
        changes = _Changes(equations, start, values, precision.eps)
        for k in range(values.shape[-1]):
            changes.order(k)
        size = equations.size(values[..., : changes.n, :])
        errors = equations.size(changes.wide[..., : changes.n, :]).max(axis=-3)
        errors = _SAFETY * changes.unit * errors
    size, errors = (x if isinstance(x, np.ndarray) else x.get() for x in (size, errors))
    return size, errors


def _raised(size: Block) -> Block:
    xp = planes.namespace(size)
    return xp.maximum(size, (size > 0) * _SMALL)


class _Changes:
    """Nodes and their changes ``(..., probes, nodes, d + 1)``, in float64."""

    def __init__(self, equations: Equations, start: Start, values: Block, eps: float) -> None:
        field = equations.kind.is_complex
        self.eqs, self.unit = equations.first_limbs(1), eps**0.5
        self.least = _LEAST / eps
        self.n, self.xp = equations.variables, equations.backend.xp
        # An axis for the probes, behind those of the batch, which coefficients may depend on.
        self.values = planes.narrow(values, field, 1)[..., None, :, :]
        self.inverse = planes.narrow(start.inverse.block, field, 1)[..., None, :, :]
        jacobian = planes.narrow(start.jacobian, field, 1)[..., None, :, :]
        self.jacobian = self.eqs.size(jacobian)
        self.size = _raised(self.eqs.size(self.values))
        moduli = self.eqs.moduli
        factors, constants = _raised(moduli.factors), _raised(moduli.constants)
        terms = moduli._replace(factors=factors, constants=constants)
        self.moduli = replace(self.eqs.magnitudes(), terms=terms)
        self.batch = (*planes.value_shape(values, field)[:-2], _PROBES)
        self.wide = self.eqs.kind.zeros(self.xp, (*self.batch, *values.shape[-2:]))
        # Order 1 of two: the changes of one order, linear in each other.
        self._ends = self.eqs.kind.zeros(self.xp, (*self.batch, values.shape[-2], 2))
        self._ends[..., 0] = self._probes(self.values[..., 0])
        self._rng = np.random.default_rng(2)
        self._lead = (0,) * self.eqs.kind.lead

    def order(self, k: int) -> None:
        """Find the changes of order k of the products, then of x, then of the products again."""
        kind, n = self.eqs.kind, self.n
        inner = self._inner(k)
        self._products(k, inner)
        rest = self._equations(k)
        sums = self.moduli.order(self.size[None], k)[0, ..., 0]
        refined = (self.jacobian * self.size[..., None, :n, k]).sum(axis=-1)
        rest[(*self._lead, ..., 0)] += self._noise(sums) + self._noise(refined)
        dx = self.eqs.backend.matmul(self.inverse, rest, kind=kind)[..., 0]
        self.wide[..., :n, k] = -dx
        self.wide[(*self._lead, ..., slice(n), k)] += self._noise(self.size[..., :n, k])
        self._products(k, inner)
        # What underflowed is not zero for products.
        changed = (self.eqs.size(self.wide[..., k]) > 0).any(axis=-2, keepdims=True)
        self.size[..., k] = self.xp.maximum(self.size[..., k], changed * _SMALL)

    def _probes(self, block: Block) -> Block:
        """Repeat nodes ``(..., 1, nodes)`` for all probes."""
        return planes.broadcast(block, self.eqs.kind.is_complex, (*self.batch, *block.shape[-1:]))

    def _noise(self, size: Block) -> Block:
        """Return random changes by about eps of sizes ``(..., 1, p)``."""
        shape = (*self.batch, size.shape[-1])
        size = self.xp.maximum(size, (size > 0) * self.least)
        return self.xp.asarray(self.unit * self._rng.standard_normal(shape)) * size

    def _inner(self, k: int) -> Block:
        """Return what products of order k change by without the changes of order k."""
        graph, kind, wide = self.eqs.products.graph, self.eqs.kind, self.wide
        shape = (*self.batch, len(graph.left), k + 1)
        sizes = [self.size[..., at, : k + 1] for at in (graph.left, graph.right)]
        total = kind.zeros(self.xp, shape[:-1])
        total[self._lead] += self._noise((sizes[0] * sizes[1][..., ::-1]).sum(axis=-1))
        for one, other in ((graph.left, graph.right), (graph.right, graph.left)):
            a = planes.broadcast(self.values[..., one, : k + 1], kind.is_complex, shape)
            # Changes of order k are zeros as yet.
            total = total + coefficient(a, wide[..., other, : k + 1], kind)
        return total

    def _products(self, k: int, sums: Block) -> None:
        products = self.eqs.products
        self._ends[..., : self.n, 1] = self.wide[..., : self.n, k]
        kind = self.eqs.kind
        self.eqs.backend.series_order(self._ends, sums, products.graph, 1, kind=kind, again=True)
        self.wide[..., self.n :, k] = self._ends[..., self.n :, 1]

    def _equations(self, k: int) -> Block:
        return self.eqs.order(self.wide, k, changes=True)
