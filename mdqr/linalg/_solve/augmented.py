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
from functools import cached_property

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.householder import Factors
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Callback

MAX_STEPS = 3
# A limb that underflows loses less than half of 2^-1074, in both parts of a complex value.
LOST = -1074


@dataclass
class System:
    """A factored least-squares problem with scaled columns.

    `a` has the matrices that the residuals use, `given` multiplied by ``2**(rows[i] + powers[j])``;
    `rows` ``(..., m)`` is None for zeros. `weight` and `root` are columns ``(..., m, 1)`` near 1 or
    0, None for ones; `order` ``(..., m)`` sorts the rows for the factorisation, None keeps them.
    Who refines settles `checks`, and looks for overflow.
    """

    backend: Backend
    kind: Kind
    a: Block
    factors: Factors
    triangle: Triangle
    checks: Checks
    given: Block
    powers: Block
    rows: Block | None = None
    weight: Block | None = None
    root: Block | None = None
    order: Block | None = None

    @cached_property
    def columns(self) -> int:
        """Number of unknowns."""
        return int(self.a.shape[-1])

    @cached_property
    def is_square(self) -> bool:
        """Whether a solution leaves no residual: r is zero, and no step changes it."""
        return self.columns == self.a.shape[-2]

    @cached_property
    def lost(self) -> Block | None:
        """As `underflow`, of the scaling of `given`."""
        return self.underflow(self.given, self.a, self.powers)

    def underflow(self, given: Block, scaled: Block, powers: Block) -> Block | None:
        """Return a bound of what scaling lost to underflow, or None for nothing; who asks waits.

        `scaled` is `given`, the rows multiplied by those of the system and the columns by
        ``2**powers``. The bound is a real block of one limb, in units of ``2**LOST``.
        """
        field, rows = self.kind.is_complex, 0 if self.rows is None else -self.rows[..., :, None]
        back = self.backend.ldexp(scaled, rows - powers[..., None, :], is_complex=field)
        if bool(self.checks.settle((back == given).all())[0]):
            return None
        limbs = planes.limb_count(given, field)
        return (scaling.magnitude_bits(given, field) != 0)[None] * float(limbs)

    def identity(self) -> Block:
        """Return the identity of the order and the batch of the triangle, of one limb."""
        shape = self.triangle.block.shape[self.kind.lead :]
        return self.kind._replace(limbs=1).identity(self.backend.xp, shape)

    def binary(self, op: str, x: Block, y: Block) -> Block:
        """Apply an elementwise operation."""
        return self.backend.binary(op, x, y, kind=self.kind)

    def correct(self, f: Block, g: Block | None) -> tuple[Block, Block]:
        """Return dx and dr for the right-hand sides f and g; no g stands for zeros."""
        scaled = f if self.root is None else self.binary("multiply", self.root, f)
        qhf = self.factors.apply_qh(self._sorted(scaled))
        if self.is_square:
            return self.triangle.solve(qhf), self.backend.xp.zeros(qhf.shape)
        t = qhf[..., : self.columns, :].copy()
        qhf[..., : self.columns, :] = 0.0
        if g is not None:
            h = self.triangle.solve(g, "C")
            t = self.binary("subtract", t, h)
            qhf[..., : self.columns, :] = h
        dr = self._unsorted(self.factors.apply_q(qhf))
        if self.root is not None:
            dr = self.binary("divide", dr, self._divisor)
        return self.triangle.solve(t), dr

    def residuals(self, b: Block, x: Block, r: Block) -> tuple[Block, Block | None]:
        """Return f and g, as if computed in twice the precision and rounded once."""
        return self.residual(b, x, r), None if self.is_square else self.gradient([], r)

    def residual(self, b: Block, x: Block, r: Block) -> Block:
        """Return f."""
        terms = [(1, b)] if self.is_square else [(1, b), (-1, r)]
        return self.backend.residual(terms, self.a, x, kind=self.kind)

    def gradient(self, terms: list[tuple[int, Block]], r: Block, kind: Kind | None = None) -> Block:
        """Return the sum of `terms` less ``A^H W r``; `kind` is that of the work by default."""
        transposed = self.a.swapaxes(-1, -2)
        for part in self.weighted(r, kind):
            g = self.backend.residual(terms, transposed, part, conj_a=True, kind=kind or self.kind)
            terms = [(1, g)]
        return g

    def weighted(self, r: Block, kind: Kind | None = None) -> list[Block]:
        """Return blocks whose sum is ``W r`` to twice the precision."""
        if self.weight is None:
            return [r]
        kind = kind or self.kind
        scalars, rows = self.weight[..., None], r[..., None, :]
        high = self.backend.matmul(scalars, rows, kind=kind)
        low = self.backend.residual([(1, high)], scalars, rows, kind=kind)
        return [high[..., 0, :], planes.negate(low[..., 0, :], self.kind.is_complex)]

    def add_rounded(self, x: Block, dx: Block) -> Block:
        """Return ``x + dx``, correctly rounded."""
        axis = self.kind.lead - 1
        terms = self.backend.xp.concatenate([x, dx], axis=axis)
        return self.backend.unary("renormalize", terms, kind=self.kind)

    @cached_property
    def _divisor(self) -> Block:
        """The roots of the weights with ones for zeros, whose rows of Q are zero."""
        assert self.root is not None
        divisor = self.root.copy()
        plane = divisor[0, 0] if self.kind.is_complex else divisor[0]
        plane[...] = self.backend.xp.where(plane == 0, 1.0, plane)
        return divisor

    @cached_property
    def _original_order(self) -> Block:
        """The order that undoes `order`."""
        return self.backend.xp.argsort(self.order, axis=-1)

    def form_q(self) -> Block:
        """Return as many columns of Q as there are unknowns, in the order of the rows."""
        return self._unsorted(self.factors.form_q(self.columns))

    def _sorted(self, x: Block) -> Block:
        return x if self.order is None else take_rows(x, self.order)

    def _unsorted(self, x: Block) -> Block:
        return x if self.order is None else take_rows(x, self._original_order)


def take_rows(block: Block, order: Block) -> Block:
    """Return `block` with the rows of each matrix in the given order."""
    xp = planes.namespace(block)
    missing = block.ndim - order.ndim - 1
    index = order[(None,) * missing + (..., None)]
    return xp.take_along_axis(block, xp.broadcast_to(index, (*block.shape[:-1], 1)), axis=-2)


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
