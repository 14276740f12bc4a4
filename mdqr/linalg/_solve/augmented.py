"""Refinement of least-squares solutions through the augmented system.

The pair of residual r and solution x solves ``r + A x = b`` and ``A^H W r = 0``. Given the factors
of ``sqrt(W) A`` in working precision, each step computes

    f = b - r - A x,  g = -A^H W r                    (as if in twice the precision)
    [d; e] = Q^H sqrt(W) f,  h = R^-H g
    dx = R^-1 (d - h),  sqrt(W) dr = Q [h; e]

where r and dr are zero for square A. Each step multiplies the error by a small multiple of
``eps * condition`` whatever the size of r (A. Bjorck 1967). The last update is rounded correctly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.operands import Callback
from mdqr.linalg._solve.system import System

MAX_STEPS = 3


@dataclass
class Solution:
    """A refined solution: x, r, and what the steps changed.

    `sizes` holds ``max |x|``, then ``max |dx|`` of each step, ``(..., k)``; `dr` is the last change
    of r. `low` is what x was rounded from less x, where that is known.
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


def refine(
    system: System, b: Block, eps: float, floor: Block, callback: Callback | None = None
) -> Solution:
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
        Components below ``floor * max |x|`` need not settle: float64 of the batch shape.
    callback : callable, optional
        Called as ``callback("refine", done, total)``.

    Returns
    -------
    Solution
        The solution after at most three steps.

    Notes
    -----
    All steps but the last wait for a device, once each: whether the solution has settled.
    """
    field_, xp = system.kind.is_complex, system.backend.xp
    x, r = system.correct(planes.widen(b, field_, system.kind.limbs), None)
    size = scaling.leading(x, field_)
    solution = Solution(x, r, r, [scaling.largest(size, -2, 0.0)])
    for step in range(MAX_STEPS):
        dx, dr = system.correct(*system.residuals(b, solution.x, solution.r))
        solution.x = system.add_rounded(solution.x, dx)
        if not system.is_square:
            solution.r, solution.dr = system.binary("add", solution.r, dr), dr
        change = scaling.leading(dx, field_)
        size = scaling.leading(solution.x, field_)
        solution.sizes.append(scaling.largest(change, -2, 0.0))
        if callback is not None:
            callback("refine", step + 1, MAX_STEPS)
        if step + 1 == MAX_STEPS:
            break
        largest = scaling.largest(size, -2, 0.0, keepdims=True)
        least = xp.minimum(floor, 1.0)[..., None, None] * largest
        settled = (change <= eps * xp.maximum(size, least)).all()
        if system.checks.settle(settled)[0]:
            break
    return solution
