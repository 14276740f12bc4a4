"""Series order by order: one pseudo-inverse of the Jacobian at the start serves all orders.

Order k of the equations is ``J0 x_k`` and what lower orders make (the recurrence of the asymptotic
numerical method): with ``x_k = 0`` first, what is left of them gives x_k.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning
from mdqr._functions.matrices import eye
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg import lstsq, qr, solve
from mdqr.series._errors import NotASolutionError, SingularJacobianError
from mdqr.series._solver.equations import Equations

# Newton's method at the start, and by how much a step with an old inverse has to gain.
_MOST_STEPS, _GAIN = 50, 2.0**-10
# Equations that are left with less, at a Jacobian near singular, tell of a singular solution.
_NEAR = 2.0**-20
# A condition times eps above this is that of a singular Jacobian.
_SINGULAR = 2.0**-6


class Start(NamedTuple):
    """A solution at t0: its nodes, the Jacobian, and the inverse of that or a left inverse."""

    values: Block
    jacobian: Block
    inverse: Block
    steps: int


def start(equations: Equations, x: Block, precision: Precision) -> Start:
    """Refine start points ``(..., n)`` by Newton's method, and factor the Jacobian there.

    Raises
    ------
    NotASolutionError
        If the steps do not become small.
    SingularJacobianError
        If the columns of the Jacobian depend on each other.
    """
    kind, xp = equations.kind, equations.backend.xp
    batch = planes.value_shape(x, kind.is_complex)[:-1]
    n = x.shape[-1]
    values = equations.empty(batch, 1)
    values[..., :n, 0] = x
    inverse, before = None, np.inf
    steps = 0
    while steps < _MOST_STEPS:
        steps += 1
        equations.products.evaluate(values, kind)
        rest = equations.order(values, 0)
        if inverse is None:
            inverse = left_inverse(equations.jacobian(values), equations, precision)
        dx = equations.backend.matmul(inverse, rest, kind=kind)
        size = equations.size(values[..., :n, 0]).max(axis=-1)
        change = equations.size(dx[..., 0]).max(axis=-1)
        worst = float((change / xp.where(size > 0, size, 1.0)).max())
        values[..., :n, :] = equations.backend.binary("subtract", values[..., :n, :], dx, kind=kind)
        if worst <= 4.0 * precision.eps or (
            worst <= precision.eps**0.75 and worst > _GAIN * before
        ):
            break
        if not np.isfinite(worst):
            break
        if worst > _GAIN * before:
            inverse, before = None, np.inf
        else:
            before = worst
    equations.products.evaluate(values, kind)
    rest = equations.size(equations.order(values, 0)[..., 0])
    # Where all terms of an equation vanish, others tell what is small.
    terms = equations.sizes(values, 0).max(axis=-1, keepdims=True)
    left = float((rest / xp.where(terms > 0, terms, 1.0)).max())
    jacobian = equations.jacobian(values)
    if not left <= precision.eps**0.5:
        # Near a singular solution Newton's method is slow, or leaves.
        near = MDArray._wrap(jacobian, precision, kind.is_complex)
        error = _singular(near)
        raise error if left < _NEAR and error.sigma < left**0.25 else NotASolutionError(left)
    return Start(values, jacobian, left_inverse(jacobian, equations, precision), steps)


def left_inverse(jacobian: Block, equations: Equations, precision: Precision) -> Block:
    """Return inverses, or left inverses, of Jacobians ``(..., m, n)``.

    Raises
    ------
    SingularJacobianError
        If one has not full column rank, as far as the precision tells.
    """
    kind = equations.kind
    matrix = MDArray._wrap(jacobian, precision, kind.is_complex)
    m, n = matrix.shape[-2:]
    one = eye(m, precision=precision, device=matrix.device)
    if not n:
        return matrix.mT._block
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        try:
            found = solve(matrix, one) if m == n else lstsq(matrix, one, rcond=0).x
        except np.linalg.LinAlgError:
            raise _singular(matrix) from None
    sizes = [(equations.size(x) ** 2).sum(axis=(-2, -1)) for x in (jacobian, found._block)]
    if not float((sizes[0] * sizes[1]).max()) ** 0.5 * precision.eps < _SINGULAR:
        raise _singular(matrix)
    return found._block


def _singular(matrix: MDArray) -> SingularJacobianError:
    """Return the error with the least rank of a batch."""
    n, least = matrix.shape[-1], matrix.shape[-1] * matrix.precision.eps / _SINGULAR
    diagonal = abs(qr(matrix, "r").to_device("cpu").to_numpy()).diagonal(axis1=-2, axis2=-1)
    ratio = diagonal / np.maximum(diagonal.max(axis=-1, keepdims=True), np.finfo(float).tiny)
    ranks = (ratio > least).sum(axis=-1)
    return SingularJacobianError(min(int(ranks.min()), n - 1), float(ratio.min()), n)


def expand(
    equations: Equations,
    begin: Start,
    degree: int,
    callback: Callable[[str, int, int], object] | None = None,
) -> Block:
    """Return the nodes ``(..., nodes, degree + 1)`` of the series from a start."""
    kind, backend, n = equations.kind, equations.backend, begin.jacobian.shape[-1]
    batch = planes.value_shape(begin.values, kind.is_complex)[:-2]
    values = equations.empty(batch, degree + 1)
    values[..., 0] = begin.values[..., 0]
    products = equations.products
    sums, nothing = (products.sums(values, kind) for _ in range(2))
    changes = equations.empty(batch, 2)  # of one order, as order 1 of two
    changes[..., 0] = values[..., 0]
    for k in range(1, degree + 1):
        backend.series_order(values, sums, products.graph, k, kind=kind)
        rest = equations.order(values, k)
        x = backend.matmul(begin.inverse, rest, kind=kind)
        again = backend.matmul(begin.jacobian, x, c=rest, subtract=True, kind=kind)
        x = backend.matmul(begin.inverse, again, c=x, kind=kind)
        x = planes.negate(x, kind.is_complex)
        values[..., :n, k] = x[..., 0]
        # What x changes is added at once: rounding errors of a product stay with it.
        changes[..., :n, 1] = x[..., 0]
        backend.series_order(changes, nothing, products.graph, 1, kind=kind, again=True)
        values[..., n:, k] = backend.binary(
            "add", values[..., n:, k], changes[..., n:, 1], kind=kind
        )
        if callback is not None:
            callback("orders", k, degree)
    return values
