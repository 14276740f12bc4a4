"""Series order by order: one pseudo-inverse of the Jacobian at the start serves all orders.

Order k of the equations is ``J0 x_k`` and what lower orders make (the recurrence of the asymptotic
numerical method): with ``x_k = 0`` first, what is left of them gives x_k.
"""

from __future__ import annotations

from math import log2, prod
from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr._progress import Reporter
from mdqr.series._errors import NotASolutionError, SingularJacobianError
from mdqr.series._solver.equations import Equations
from mdqr.series._solver.inverse import MOST_SMALL, Inverse, left_inverse, singular

# Newton's method at the start, and how many bits a step with an old inverse has to gain. While they
# do, further steps find all bits of a precision.
_MOST_STEPS, _GAIN, _NEW_STEPS = 50, 10, 7
# How far a point may be, relative to its unknowns, from that of an inverse that ends the steps.
_CLOSE = 2.0**-20
# Equations that are left with less, at a Jacobian near singular, tell of a singular solution.
_NEAR = 2.0**-20
# Rounding errors of an equation, in eps of its terms.
_NOISE = 64.0
# One start point of more products is shared out: as one task, of a thread or a block of them, it
# would take longer. The tasks of more start points run side by side, each of as many times this.
_MOST_PRODUCTS = 1024


class Start(NamedTuple):
    """A solution at t0: its nodes, the Jacobian, and the inverse of that or a left inverse."""

    values: Block
    jacobian: Block
    inverse: Inverse
    steps: int

    def first_limb(self, kind: Kind) -> Start:
        """Return the same in float64."""
        values, jacobian, inverse = (
            planes.narrow(block, kind.is_complex, 1)
            for block in (self.values, self.jacobian, self.inverse.block)
        )
        first = self.inverse._replace(block=inverse, limbs=1, steps=1)
        return Start(values, jacobian, first, self.steps)


def start(equations: Equations, x: Block, precision: Precision) -> Start:
    """Refine given start points ``(..., n)`` by Newton's method, and factor the Jacobian there.

    Raises
    ------
    NotASolutionError
        If the steps do not become small.
    SingularJacobianError
        If the columns of the Jacobian depend on each other.
    """
    kind, xp = equations.kind, equations.backend.xp
    x = equations.inward(x)
    batch = planes.value_shape(x, kind.is_complex)[:-1]
    n = x.shape[-1]
    values = equations.empty(batch, 1)
    values[..., :n, 0] = x
    inverse, before, moved = None, np.inf, 0.0
    steps, slow = 0, False
    most = round(-log2(precision.eps) / _GAIN) + _NEW_STEPS
    while steps < _MOST_STEPS or (steps < most and not slow):
        steps += 1
        equations.products.evaluate(values, equations.backend, kind)
        rest = equations.order(values, 0)
        if inverse is None:
            inverse, before, moved = left_inverse(equations.jacobian(values), kind), np.inf, 0.0
        dx = inverse.times(rest, kind)
        size, change = equations.size(values[..., :n, 0]), equations.size(dx[..., 0])
        top = size.max(axis=-1, keepdims=True)
        worst = float(_ratio(change, top).max())
        values[..., :n, :] = equations.backend.binary("subtract", values[..., :n, :], dx, kind=kind)
        slow, passed = worst > 2.0**-_GAIN * before, moved
        before = worst
        # Small unknowns tell by themselves how far the point of the inverse is; zeros do not.
        moved += float(_ratio(change, xp.maximum(size, precision.eps**0.25 * top)).max())
        # An inverse of a point far away leaves errors behind, and that of one not so far may be why
        # a step is slow; if of a point near, rounding errors are.
        is_small = worst <= 4.0 * precision.eps and passed <= _CLOSE
        is_rounding = slow and worst <= precision.eps**0.75 and passed <= precision.eps**0.5
        if is_small or is_rounding or not np.isfinite(worst):
            break
        if slow or worst <= 4.0 * precision.eps:
            inverse = None
    equations.products.evaluate(values, equations.backend, kind)
    left = _left(equations, values)
    if not left <= precision.eps**0.5:
        raise _no_solution(equations, x, values, left, precision)
    jacobian = equations.jacobian(values)
    # A step of refinement squares what is left of an inverse.
    if inverse is None or not moved <= precision.eps**0.75:
        inverse = left_inverse(jacobian, kind)
    return Start(values, jacobian, inverse, steps)


def _no_solution(
    equations: Equations, begin: Block, values: Block, left: float, precision: Precision
) -> SingularJacobianError | NotASolutionError:
    """Return the error for points of residual `left` to which Newton's method led from others.

    Near a singular solution the method is slow, or leaves: then its start shows that.
    """
    for now in (left, None):
        if now is None:
            values[..., : equations.variables, 0] = begin
            equations.products.evaluate(values, equations.backend, equations.kind)
            now = _left(equations, values)
        if now < _NEAR:
            jacobian = equations.jacobian(values)
            error = singular(MDArray._wrap(jacobian, precision, equations.kind.is_complex))
            if error.sigma < now**0.25:
                return error
    return NotASolutionError(left)


def is_noise(equations: Equations, begin: Start, precision: Precision) -> Block:
    """Tell the unknowns ``(..., n)`` that may be rounding errors, or what steps left, of zeros."""
    kind, n = equations.kind, equations.variables
    rest = equations.order(begin.values, 0)
    change = equations.size(begin.inverse.times(rest, kind)[..., 0])
    inverse = equations.size(begin.inverse.block)
    rounding = (inverse * _sums(equations, begin.values)[..., None, :]).sum(axis=-1)
    return (
        equations.size(begin.values[..., :n, 0]) <= 2 * change + _NOISE * precision.eps * rounding
    )


def _ratio(change: Block, size: Block) -> Block:
    return change / planes.namespace(size).where(size > 0, size, 1.0)


def _left(equations: Equations, values: Block) -> float:
    """Return what is left of equations at points, relative to the sums of their terms."""
    rest = equations.size(equations.order(values, 0)[..., 0])
    # Where all terms of an equation vanish, others tell what is small.
    top = _sums(equations, values).max(axis=-1, keepdims=True)
    return float(_ratio(rest, top).max())


def _sums(equations: Equations, values: Block) -> Block:
    """Return the sums of the moduli of the terms of equations at points."""
    return equations.magnitudes().order(equations.size(values)[None], 0)[0, ..., 0]


def expand(
    equations: Equations,
    begin: Start,
    degree: int,
    report: Reporter | None = None,
) -> Block:
    """Return the nodes ``(..., nodes, degree + 1)`` of the series from a start."""
    kind = equations.kind
    batch = planes.value_shape(begin.values, kind.is_complex)[:-2]
    values = equations.empty(batch, degree + 1)
    values[..., 0] = begin.values[..., 0]
    write = _write_small if _is_small(equations, begin.inverse, prod(batch)) else _write_large
    if report is None:
        write(equations, begin, values, range(1, degree + 1))
        return values
    for k in range(1, degree + 1):
        write(equations, begin, values, range(k, k + 1))
        report("orders", k, degree)
    return values


def _is_small(equations: Equations, inverse: Inverse, items: int) -> bool:
    """Return whether systems are small enough, or many enough, for one task each."""
    products = equations.products.nodes - equations.variables
    few = equations.variables <= MOST_SMALL and products <= _MOST_PRODUCTS * items
    return few and inverse.limbs == equations.kind.limbs


def _write_small(equations: Equations, begin: Start, values: Block, orders: range) -> None:
    """Write orders by one kernel."""
    equations.backend.series_expand(
        values, begin.jacobian, begin.inverse.block, equations.products.graph, equations.terms,
        orders, kind=equations.kind,
    )  # fmt: skip


def _write_large(equations: Equations, begin: Start, values: Block, orders: range) -> None:
    """Write orders by kernels that share the work of one order."""
    kind, backend, n = equations.kind, equations.backend, equations.variables
    batch = planes.value_shape(begin.values, kind.is_complex)[:-2]
    products = equations.products
    sums, nothing = (products.sums(values) for _ in range(2))
    changes = equations.empty(batch, 2)  # of one order, as order 1 of two
    changes[..., 0] = values[..., 0]
    for k in orders:
        backend.series_order(values, sums, products.graph, k, kind=kind)
        rest = equations.order(values, k)
        x = begin.inverse.solve(begin.jacobian, rest, kind)
        x = planes.negate(x, kind.is_complex)
        values[..., :n, k] = x[..., 0]
        # What x changes is added at once: rounding errors of a product stay with it.
        changes[..., :n, 1] = x[..., 0]
        backend.series_order(changes, nothing, products.graph, 1, kind=kind, again=True)
        values[..., n:, k] = backend.binary(
            "add", values[..., n:, k], changes[..., n:, 1], kind=kind
        )
