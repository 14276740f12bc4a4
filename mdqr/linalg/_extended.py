"""Refinement with unknowns of twice the limbs, where the usual steps leave digits missing.

The corrections still come from the factors of the work, so that every step costs little; x and r
are held, and f and g computed, in the next higher precision (J. Demmel and others 2006, "extra
precise iterative refinement"). Errors are bounded component by component.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from mdqr import _limbs
from mdqr._backend.protocol import Block
from mdqr._precision import Precision
from mdqr.linalg import _scaling
from mdqr.linalg._augmented import Solution, System
from mdqr.linalg._bounds import UNDERFLOW
from mdqr.linalg._componentwise import NONE, Inverse, lowest_bits, magnitudes, product
from mdqr.linalg._operands import Callback

_MOST_STEPS = 40
# A step that does not halve the last one changes rounding errors.
_PROGRESS = 0.5
# Of the last place of the work: what is still added where x has settled.
_SETTLED = 2.0**-10


@dataclass
class Step:
    """One step from x and r: residuals and corrections in units of ``2**powers`` of each column."""

    x: Block
    r: Block
    f: Block
    g: Block | None
    dx: Block
    dr: Block
    powers: Block

    def unscaled(self, system: System, block: Block) -> Block:
        """Return `block` in the units of the system."""
        shift = self.powers[..., None, :]
        return _scaling.shifted(system.backend, block, shift, system.is_complex)


def refine_further(
    system: System, b: Block, before: Solution, wide: Precision, callback: Callback | None = None
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
    wide : Precision
        The precision of x and r from here on.
    callback : callable, optional
        Called as ``callback("refine", done, total)``.

    Returns
    -------
    Solution
        The solution, its blocks with the limbs of `wide`.
    Step
        The last step, which the solution has taken.
    """
    xp, field = system.backend.xp, system.is_complex
    x, r = (_limbs.widen(block, field, wide.limbs) for block in (before.x, before.r))
    solution = Solution(x, r, before.dr, list(before.sizes))
    last: Any = np.inf
    for left in reversed(range(_MOST_STEPS)):
        step = _step(system, b, solution, wide.limbs)
        dx, dr = step.unscaled(system, step.dx), step.unscaled(system, step.dr)
        solution.x = system.add_rounded(solution.x, dx, wide.limbs)
        if not system.is_square:
            solution.r, solution.dr = system.add_rounded(solution.r, dr, wide.limbs), dr
        change, size = _scaling.leading(dx, field), _scaling.leading(solution.x, field)
        solution.sizes.append(_scaling.largest(change, -2, 0.0))
        moved = xp.maximum(solution.sizes[-1], _scaling.largest(_scaling.leading(dr, field), -2, 0))
        settled = (change <= _SETTLED * 2.0 ** (-53 * system.limbs) * size).all()
        done, now = system.checks.settle(settled, moved)
        stop = bool(done) or left == 0 or not bool((now < _PROGRESS * last).any())
        if callback is not None:
            callback("refine", solution.steps, solution.steps + (0 if stop else 1))
        if stop:
            break
        last = now
    return solution, step


def _step(system: System, b: Block, solution: Solution, limbs: int) -> Step:
    """Return residuals and corrections, the columns of both scaled near 1."""
    backend, field, xp = system.backend, system.is_complex, system.backend.xp
    f, g = system.residuals(b, solution.x, solution.r, limbs)
    bits = _scaling.largest(_scaling.magnitude_bits(f, field), -2, 0)
    if g is not None:
        bits = xp.maximum(bits, _scaling.largest(_scaling.magnitude_bits(g, field), -2, 0))
    powers = _scaling.exponents_of(bits)

    def scaled(block: Block) -> tuple[Block, Block]:
        block = _scaling.shifted(backend, block, -powers[..., None, :], field)
        return block, _limbs.narrow(block, field, system.limbs)

    f, short = scaled(f)
    g, short_g = (None, None) if g is None else scaled(g)
    return Step(solution.x, solution.r, f, g, *system.correct(short, short_g), powers)


def bound_components(
    system: System, b: Block, step: Step, work: Precision, wide: Precision, *, exact: bool
) -> Block:
    """Bound the distance of the exact solution from that of a step, the rounding of x aside.

    Parameters
    ----------
    system : System
        The factored problem.
    b : Block
        Its right-hand sides.
    step : Step
        The last step.
    work, wide : Precision
        The precisions of the factors, and of x and r.
    exact : bool
        Whether scaling lost nothing of the system and of `b`.

    Returns
    -------
    Block
        Bounds of the components, float64 ``(..., n, k)``.
    """
    backend, field = system.backend, system.is_complex
    a, size = magnitudes(system.a, field), partial(magnitudes, is_complex=field)
    inverse = Inverse(system, work.eps)
    terms, rest, lows = [(1, step.f)], size(b), [lowest_bits(b, field)]
    if not system.is_square:
        terms, rest = [*terms, (-1, step.dr)], rest + size(step.r)
        lows.append(lowest_bits(step.r, field))
    options: dict[str, Any] = {"limbs": wide.limbs, "is_complex": field}
    left = Left(system, step, wide, exact, system.columns + 8)
    f = left.bound(
        size(backend.residual(terms, system.a, step.dx, **options)),
        size(step.f),
        product(backend, a, size(step.dx)) + size(step.dr),
        product(backend, a, size(step.x)) + rest,
        _together([_of_products(lowest_bits(system.a, field), lowest_bits(step.x, field)), *lows]),
    )
    if system.is_square:
        return inverse.bound(f, None)
    turned, low = a.swapaxes(-1, -2), lowest_bits(system.a, field).swapaxes(-1, -2)
    if system.weight is not None:
        turned = turned * size(system.weight).swapaxes(-1, -2)
        low = low + lowest_bits(system.weight, field).swapaxes(-1, -2)
    left = Left(system, step, wide, exact, 2 * (int(a.shape[-2]) + 8))
    g = left.bound(
        size(system.gradient([(1, step.g)], step.dr, wide.limbs)),
        size(step.g),
        product(backend, turned, size(step.dr)),
        product(backend, turned, size(step.r)),
        _of_products(low, lowest_bits(step.r, field)),
    )
    return inverse.bound(f, g)


class Left(NamedTuple):
    """What one kind of residual leaves: `terms` is the factor of eps**2 in their errors."""

    system: System
    step: Step
    wide: Precision
    exact: bool
    terms: int

    def bound(self, after: Block, before: Block, moved: Block, summed: Block, low: Block) -> Block:
        """Bound the exact residuals after the step.

        `after` and `before` are the computed ones in the units of the step, `moved` and `summed`
        the sums of magnitudes behind them, the last in the units of the system, where all terms
        are multiples of ``2**low``.
        """
        xp, eps = self.system.backend.xp, self.wide.eps
        near = after * (1 + eps) + self.terms * (eps**2 + UNDERFLOW) * (moved + before)
        shift = self.step.powers[..., None, :]
        found = xp.ldexp(before, shift)
        wrong = eps * found + self.terms * (eps**2 + UNDERFLOW) * summed
        if self.exact:
            # A multiple of 2**low that is smaller than that is zero.
            unit = xp.ldexp(xp.ones(low.shape), xp.minimum(low, 1000))
            wrong = xp.where(found + wrong < unit, 0.0, wrong)
        return xp.ldexp(near, shift) + wrong


def _of_products(a: Block, x: Block) -> Block:
    """Return exponents of which all products of rows of a and columns of x are multiples."""
    rows, columns = _scaling.largest(-a, -1, -NONE), _scaling.largest(-x, -2, -NONE)
    return -(rows[..., :, None] + columns[..., None, :])


def _together(lows: list[Block]) -> Block:
    """Return the smallest of several exponents."""
    return reduce(_limbs.namespace(lows[0]).minimum, lows)
