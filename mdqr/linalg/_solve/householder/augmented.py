"""Refinement of least-squares solutions through the augmented system, and a normwise bound.

The pair of residual r and solution x solves ``r + A x = b`` and ``A^H W r = 0``. Given the factors
of ``sqrt(W) A`` in working precision, each step computes

    f = b - r - A x,  g = -A^H W r                    (as if in twice the precision)
    [d; e] = Q^H sqrt(W) f,  h = R^-H g
    dx = R^-1 (d - h),  sqrt(W) dr = Q [h; e]

where r and dr are zero for square A. Each step multiplies the error by a small multiple of
``eps * condition`` whatever the size of r (A. Bjorck 1967). The last update is rounded correctly.

Residuals are corrected by the same equations, where that of the rounded solution is not near that
of the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.condition import Condition
from mdqr.linalg._solve.system import UNDERFLOW, Scaled, System

MAX_STEPS = 3
# The part of residuals in the range of A may be so large: squares of it are rounding errors.
_PART = 2.0**-26


@dataclass
class Solution:
    """A refined solution: x, r, and what the steps changed.

    `sizes` holds ``max |x|``, then ``max |dx|`` of each step, ``(..., k)``; `dr` is the last change
    of r. `low` is what the last rounding of x cut off, None for nothing.
    """

    x: Block
    r: Block
    dr: Block
    sizes: list[Block] = field(default_factory=list)
    low: Block | None = None

    @property
    def steps(self) -> int:
        """Number of refinement steps after the first solution."""
        return len(self.sizes) - 1


def refine(system: System, b: Block, eps: float, floor: Block) -> Solution:
    """Solve, then correct until no component changes by more than `eps` of itself.

    Parameters
    ----------
    system : System
        The factored problem.
    b : Block
        Right-hand sides ``(..., m, k)`` of magnitude near 1, with the batch of the system.
    eps : float
        The unit of the bound.
    floor : Block
        Components below ``floor * max |x|`` need not converge: float64 of the batch shape.

    Returns
    -------
    Solution
        The solution after at most three steps.

    Notes
    -----
    All steps but the last wait for a device, once each: whether the solution has converged.
    """
    field_, xp = system.kind.is_complex, system.backend.xp
    x, r = system.correct(planes.widen(b, field_, system.kind.limbs), None)
    size = scaling.leading(x, field_)
    solution = Solution(x, r, r, [scaling.largest(size, -2, 0.0)])
    for step in range(MAX_STEPS):
        dx, dr = system.correct(*system.residuals(b, solution.x, solution.r))
        solution.x, solution.low = system.add_rounded(solution.x, dx)
        if not system.is_square:
            solution.r, solution.dr = system.binary("add", solution.r, dr), dr
        change = scaling.leading(dx, field_)
        size = scaling.leading(solution.x, field_)
        solution.sizes.append(scaling.largest(change, -2, 0.0))
        system.report("refine", step + 1, MAX_STEPS)
        if step + 1 == MAX_STEPS:
            break
        largest = scaling.largest(size, -2, 0.0, keepdims=True)
        least = xp.minimum(floor, 1.0)[..., None, None] * largest
        converged = (change <= eps * xp.maximum(size, least)).all()
        if system.checks.settle(converged)[0]:
            break
    return solution


def contraction_limit(system: System, condition: Condition, eps: float) -> Block:
    """Return the factor by which one step multiplies the error at worst: ``4 n eps condition``.

    The backward error of the factorisation is below ``n eps`` in practice; 4 covers the estimate
    of the condition, which may be too small.
    """
    return 4.0 * max(system.columns, 1) * eps * condition.value


@np.errstate(all="ignore")
def normwise_bound(
    system: System,
    b: Block,
    solution: Solution,
    condition: Condition,
    limit: Block,
    eps: float,
) -> Block:
    """Bound the distance of a refined solution from the exact one, the rounding of x aside.

    Three parts: what the next steps would still change, a geometric series with the larger of the
    observed and the expected contraction; what the last change of r, whose own error is as large
    relative to it, does to x; and the errors of f and g, evaluated as if in twice the precision,
    times the norms of the pseudo-inverse and of its square, with what may underflow in them.

    Parameters
    ----------
    system : System
        The factored problem.
    b : Block
        Its right-hand sides, of magnitude near 1.
    solution : Solution
        Their refined solution, in scaled unknowns.
    condition : Condition
        The condition estimate of the scaled matrix.
    limit : Block
        Its `contraction_limit`.
    eps : float
        That of the work.

    Returns
    -------
    Block
        A bound for all components of each column, float64 ``(..., k)``; infinite where the steps
        need not converge.
    """
    xp, field = system.backend.xp, system.kind.is_complex
    (m, n), limit = system.a.shape[-2:], limit[..., None]
    leading = scaling.leading(solution.x, field)
    right = scaling.largest(scaling.leading(b, field), -2, 0.0)
    largest = scaling.largest(leading, -2, 0.0)
    inverse = condition.value[..., None] / xp.maximum(condition.largest[..., None], 2.0**-500)
    rate = xp.maximum(limit, _observed_rate(solution, eps, largest))
    rest = 2.0 * rate / (1.0 - rate) * solution.sizes[-1]
    terms = 4.0 * m**0.5 * (leading.sum(axis=-2) + right)
    rest = rest + inverse * (n + 8) * (eps**2 * terms + UNDERFLOW * m**0.5)
    if not system.is_square:
        rest = rest + 2.0 * limit * inverse * _weighted_norm(system, solution.dr)
        gradient = eps**2 * _weighted_norm(system, solution.r) + UNDERFLOW
        rest = rest + inverse**2 * (m + 8) * (m * n) ** 0.5 * gradient
    rest = xp.where((rate < 0.5) & xp.isfinite(rest), rest, xp.inf)
    # Zeros are solved by zeros.
    return xp.where(right > 0, rest, 0.0)


def _observed_rate(solution: Solution, eps: float, largest: Block) -> Block:
    """Return the largest ratio of two steps of which the second was above the rounding of x."""
    rate = planes.namespace(solution.x).zeros_like(largest)
    for before, after in zip(solution.sizes[:-1], solution.sizes[1:], strict=True):
        rate = _larger_rate(rate, before, after, 8.0 * eps * largest)
    return rate


def _larger_rate(rate: Block, before: Block, after: Block, floor: Block) -> Block:
    xp = planes.namespace(rate)
    ratio = after / xp.where(before > 0, before, 1.0)
    return xp.where((after > floor) & (ratio > rate), ratio, rate)


def _weighted_norm(system: System, r: Block) -> Block:
    """Return the float64 norms of the columns of ``sqrt(W) r``, at most 1.5 times too large."""
    size = scaling.leading(r, system.kind.is_complex)
    if system.root is not None:
        size = size * scaling.leading(system.root, system.kind.is_complex)
    return ((2.0 * size**2).sum(axis=-2)) ** 0.5


def orthogonal(system: System, r: Scaled, condition: np.ndarray) -> Scaled:
    """Return residuals less their part in the range of A, in the inner product of the weights.

    Of a row that is large beside others ``b - A x`` has what is missing of x times its length,
    which may be above all that others leave. With ``W^(1/2) A = Q R`` the part is ``Q R^-H A^H W
    r``, no longer than the condition times ``A^H W r``, of scaled columns, which float64 tells.
    Each correction by the augmented system leaves eps times the condition of that part.
    """
    if system.is_square or not r.block.size or not system.columns:
        return r
    block, before = r.block, np.inf
    while True:
        if not system.checks.settle(_part(system, block, condition)[1].any())[0]:
            break
        # In float64 that may be rounding errors.
        gradient = system.gradient([], block)
        part, shows = _part(system, block, condition, gradient)
        # So is a part that is not halved.
        if not system.checks.settle((shows & (part < 0.5 * before)).any())[0]:
            break
        _, dr = system.correct(system.backend.xp.zeros_like(block), gradient)
        block, before = system.binary("add", block, dr), part
    return Scaled(block, r.exponents)


@np.errstate(all="ignore")
def _part(
    system: System, r: Block, condition: np.ndarray, gradient: Block | None = None
) -> tuple[Block, Block]:
    """Return bounds of the parts of residuals in the range of A, and whether squares show them.

    `gradient` is ``A^H W r``, in float64 by default; its sign and conjugate change no modulus.
    """
    xp, field = system.backend.xp, system.kind.is_complex
    a, r = (to_native(xp, block, field) for block in (system.a, r))
    weighted = r if system.weight is None else to_native(xp, system.weight, field) * r
    if gradient is None:
        found = a.swapaxes(-1, -2) @ weighted.conj()
    else:
        found = to_native(xp, gradient, field)
    part = xp.asarray(condition)[..., None] * (abs(found) ** 2).sum(axis=-2) ** 0.5
    return part, part > _PART * (r.conj() * weighted).real.sum(axis=-2) ** 0.5
