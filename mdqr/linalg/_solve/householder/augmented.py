"""Refinement of least-squares solutions through the augmented system, and a normwise bound.

The pair of residual r and solution x solves ``r + A x = b`` and ``A^H W r = 0``. Given the factors
of ``sqrt(W) A`` in working precision, each step computes

    f = b - r - A x,  g = -A^H W r                    (as if in twice the precision)
    [d; e] = Q^H sqrt(W) f,  h = R^-H g
    dx = R^-1 (d - h),  sqrt(W) dr = Q [h; e]

where r and dr are zero for square A. Each step multiplies the error by a small multiple of
``eps * condition`` whatever the size of r (A. Bjorck 1967). The last update is rounded correctly.

Residuals are corrected by the same equations, where the rounded solution's is not near that
of the exact one.

If digits are still missing, further steps have unknowns of twice the limbs. The corrections come
from the same factors, so that every step costs little (J. Demmel and others 2006, "extra-precise
iterative refinement"). x and r are held, and f and g computed, in the next higher precision; in the
highest, x and r are sums of two blocks, and sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import is_any, total
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg._factor.condition import Condition
from mdqr.linalg._shared.operands import square_of
from mdqr.linalg._solve.system import UNDERFLOW, Scaled, System

MAX_STEPS = 3
# The part of residuals in the range of A may be so large: squares of it are rounding errors.
_PART = 2.0**-26
_MOST_STEPS = 100
# A step that does not halve the last one changes rounding errors.
_PROGRESS = 0.5
# Of the last place of the work: what is still added where x has converged.
_CONVERGED = 2.0**-10
# Multiply-adds of exact sums: a few seconds, where others take some hundredths.
_MOST_EXACT = 2**20
# The exponent of the largest terms of exact sums, which many of them do not make overflow.
_TOP = 980
_HUGE = 2.0**1020


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
        system.tell("refine", step + 1, None)
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
    rest = rest + inverse * (n + 8) * (square_of(eps) * terms + UNDERFLOW * m**0.5)
    if not system.is_square:
        rest = rest + 2.0 * limit * inverse * _weighted_norm(system, solution.dr)
        gradient = square_of(eps) * _weighted_norm(system, solution.r) + UNDERFLOW
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
    return 2.0**0.5 * scaling.norms(size, -2)


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
        if not system.checks.settle(is_any(_part(system, block, condition)[1]))[0]:
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
    part = xp.asarray(condition)[..., None] * scaling.norms(found, -2)
    return part, part > _PART * total((r.conj() * weighted).real, -2) ** 0.5


@dataclass
class Step:
    """One step from x and r, lists of blocks to be summed.

    The residuals f and g and the corrections are in units of ``2**powers`` of each column. `r` is
    in units of ``2**unit``, in which g is formed, so that little underflows.
    """

    x: list[Block]
    r: list[Block]
    unit: Block
    f: Block
    g: Block | None
    dx: Block
    dr: Block
    powers: Block
    least: tuple[int | Block, int | Block]

    def unscaled(self, system: System, block: Block) -> Block:
        """Return `block` in the units of the system."""
        shift = self.powers[..., None, :]
        return system.backend.ldexp(block, shift, is_complex=system.kind.is_complex)


class Extension:
    """The arithmetic of x and r beyond the work.

    Attributes
    ----------
    precision : Precision
        That of the blocks of x and r, and of the residuals.
    blocks : int
        How many of them are summed.
    exact : bool
        Whether the sums of f, and without weights those of g, are exact before they are rounded.
    """

    def __init__(self, system: System, work: Precision, columns: int) -> None:
        size = prod(planes.value_shape(system.a, system.kind.is_complex)) * columns
        self.precision = work.next
        self.exact = size <= _MOST_EXACT
        self.blocks = 2 if self.exact and work.next == work else 1
        self.kind = system.kind._replace(limbs=self.precision.limbs)
        self._system = system

    def spread(self, block: Block) -> list[Block]:
        """Return `block` as a sum."""
        first = planes.widen(block, self.kind.is_complex, self.kind.limbs)
        zeros = planes.namespace(block).zeros_like
        return [first, *(zeros(first) for _ in range(self.blocks - 1))]

    def add(self, sums: list[Block], block: Block) -> list[Block]:
        """Return the sum of `sums` and `block`, rounded to as many blocks."""
        field, xp = self._system.kind.is_complex, self._system.backend.xp
        axis, terms, found = planes.lead(field) - 1, [*sums, block], []
        for _ in sums:
            both = xp.concatenate(terms, axis=axis)
            found.append(self._system.backend.unary("renormalize", both, kind=self.kind))
            terms.append(planes.negate(found[-1], field))
        return found

    def rounding(self, x: Block, dx: Block) -> Block:
        """Bound the rounding error of adding dx to the sums of which x is the first."""
        size, change = (scaling.leading(each, self.kind.is_complex) for each in (x, dx))
        # Of one block, or of the rest of it, which is as small; and what underflows.
        for _ in range(self.blocks):
            size = 0.5 * self.precision.eps * size
        return self._system.backend.xp.where(change != 0, size + 2.0**-1074, 0.0)

    def residual(self, b: Block, x: list[Block], r: list[Block]) -> tuple[Block, int]:
        """Return ``b - r - A x`` and the power of two that it is multiplied by."""
        terms = [(1, b)] + ([] if self._system.is_square else [(-1, part) for part in r])
        return self._residual(terms, self._system.a, x, conj_a=False)

    def gradient(self, terms: list[tuple[int, Block]], r: list[Block]) -> tuple[Block, int]:
        """Return the sum of `terms` less ``A^H W r``, as `residual`."""
        system = self._system
        parts = [part for block in r for part in system.weighted(block, self.kind)]
        return self._residual(terms, system.a.swapaxes(-1, -2), parts, conj_a=True)

    def _residual(
        self, terms: list[tuple[int, Block]], a: Block, x: list[Block], *, conj_a: bool
    ) -> tuple[Block, int]:
        system, xp = self._system, self._system.backend.xp
        if not self.exact:
            return system.backend.residual(terms, a, x[0], conj_a=conj_a, kind=self.kind), 0
        # Nothing underflows either: all terms are brought to the upper end of the range.
        room = _TOP - self._highest([*(term for _, term in terms), *x])
        # A is not moved down: it may have bits at the lower end.
        up, shift = max(room // 2, 0), room // 2 if room > 0 else room
        a, x = self._shifted(a, up), [self._shifted(block, shift) for block in x]
        terms = [(sign, self._shifted(term, up + shift)) for sign, term in terms]
        # A zero times a huge number: all others are far below the maxima of row and column.
        column, row = xp.zeros((*a.shape[:-1], 1)), xp.zeros_like(x[0][..., :1, :])
        column[(0, 0) if system.kind.is_complex else 0] = _HUGE
        a, y = xp.concatenate([*[a] * len(x), column], axis=-1), xp.concatenate([*x, row], axis=-2)
        return system.backend.residual(terms, a, y, conj_a=conj_a, kind=self.kind), up + shift

    def _highest(self, blocks: list[Block]) -> int:
        """Return an exponent e such that no value reaches ``2**e``, at least 0."""
        field = self._system.kind.is_complex
        bits = (scaling.largest(scaling.magnitude_bits(b, field), None, 0) for b in blocks)
        return max(0, *((int(found) >> 52) - 1022 for found in self._system.checks.settle(*bits)))

    def _shifted(self, block: Block, shift: int) -> Block:
        backend, field = self._system.backend, self._system.kind.is_complex
        return backend.ldexp(block, backend.xp.asarray(shift), is_complex=field)


def refine_further(
    system: System, b: Block, before: Solution, extension: Extension
) -> tuple[Solution, Step]:
    """Refine until no component changes by eps of the work, or a step does not halve the last.

    Parameters
    ----------
    system : System
        The factored problem.
    b : Block
        Right-hand sides, as `refine` takes them.
    before : Solution
        What `refine` found.
    extension : Extension
        The arithmetic of x and r from here on.

    Returns
    -------
    Solution
        The solution, rounded to the precision of the extension.
    Step
        The last step, which the solution has taken.
    """
    xp, field = system.backend.xp, system.kind.is_complex
    x, r, sizes = extension.spread(before.x), extension.spread(before.r), list(before.sizes)
    last: Any = np.inf
    for more in reversed(range(_MOST_STEPS)):
        step = _step(system, b, (x, r), extension)
        dx, dr = step.unscaled(system, step.dx), step.unscaled(system, step.dr)
        x = extension.add(x, dx)
        if not system.is_square:
            r = extension.add(r, dr)
        change, size = scaling.leading(dx, field), scaling.leading(x[0], field)
        sizes.append(scaling.largest(change, -2, 0.0))
        moved = xp.maximum(sizes[-1], scaling.largest(scaling.leading(dr, field), -2, 0.0))
        converged = change <= _CONVERGED * 2.0 ** (-53 * system.kind.limbs) * size
        # A component that is zero is shown to be so where nothing else moves.
        converged &= (size > 0).all(axis=-2, keepdims=True) | (change == 0)
        done, now = system.checks.settle(converged.all(), moved)
        stop = bool(done) or more == 0 or not bool((now < _PROGRESS * last).any())
        system.tell("refine", len(sizes) - 1, None)
        if stop:
            break
        last = now
    # Steps that leave the range are not taken.
    finite = xp.isfinite(scaling.leading(x[0], field)).all(axis=-2, keepdims=True)
    x, r = (
        [xp.where(finite, *both) for both in zip(sums, extension.spread(first), strict=True)]
        for sums, first in ((x, before.x), (r, before.r))
    )
    return Solution(x[0], r[0], dr, sizes, x[1] if len(x) > 1 else None), step


@np.errstate(all="ignore")
def _step(
    system: System, b: Block, at: tuple[list[Block], list[Block]], extension: Extension
) -> Step:
    """Return residuals and corrections, the columns of both scaled near 1."""
    backend, field, (x, r) = system.backend, system.kind.is_complex, at
    f, lift = extension.residual(b, x, r)
    f, down = backend.balance_columns(f, None, is_complex=field)
    down = down + lift
    if system.is_square:
        dx, dr = system.correct(planes.narrow(f, field, system.kind.limbs), None)
        return Step(x, r, down, f, None, dx, dr, -down, (-lift, 0))
    _, up = backend.balance_columns(r[0], None, is_complex=field)
    # Not down: what r lacks of a solution may be at the lower end of the range.
    up = backend.xp.maximum(up, 0)
    r = [backend.ldexp(block, up[..., None, :], is_complex=field) for block in r]
    g, raised = extension.gradient([], r)
    g, further = backend.balance_columns(g, None, is_complex=field)
    further = further + raised
    pairs = (f, -down), (g, -further - up)
    powers = backend.xp.maximum(*(_unless_zero(block, unit, field) for block, unit in pairs))
    lowest = -lift, -raised - up
    # Of zeros what underflowed is the unit.
    powers = backend.xp.where(powers == scaling.ABSENT, backend.xp.maximum(*lowest), powers)
    f, g = (
        backend.ldexp(block, (unit - powers)[..., None, :], is_complex=field)
        for block, unit in pairs
    )
    short = (planes.narrow(block, field, system.kind.limbs) for block in (f, g))
    least = lowest[0], lowest[1][..., None, :]
    return Step(x, r, -up, f, g, *system.correct(*short), powers, least)


def _unless_zero(block: Block, unit: Block, is_complex: bool) -> Block:
    """Return `unit` for columns that are not zero, and less than any for others."""
    held = (scaling.magnitude_bits(block, is_complex) != 0).any(axis=-2)
    return planes.namespace(block).where(held, unit, scaling.ABSENT)
