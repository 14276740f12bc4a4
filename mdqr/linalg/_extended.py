"""Refinement with unknowns of twice the limbs, where the usual steps leave digits missing.

The corrections still come from the factors of the work, so that every step costs little; x and r
are held, and f and g computed, in the next higher precision (J. Demmel and others 2006, "extra
precise iterative refinement"). Errors are bounded component by component.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from mdqr import _limbs
from mdqr._backend.protocol import Block
from mdqr._precision import Precision
from mdqr.linalg import _scaling
from mdqr.linalg._augmented import Solution, System
from mdqr.linalg._componentwise import NONE, Inverse, Sums, left, lowest_bits, magnitudes
from mdqr.linalg._operands import Callback

_MOST_STEPS = 40
# A step that does not halve the last one changes rounding errors.
_PROGRESS = 0.5
# Of the last place of the work: what is still added where x has settled.
_SETTLED = 2.0**-10
# An exponent below those of all columns, for zeros.
_ABSENT = -(2**20)


@dataclass
class Step:
    """One step from x and r.

    The residuals f and g and the corrections are in units of ``2**powers`` of each column. `r` is
    in units of ``2**unit``, in which g is formed, so that little underflows.
    """

    x: Block
    r: Block
    unit: Block
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
    for more in reversed(range(_MOST_STEPS)):
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
        stop = bool(done) or more == 0 or not bool((now < _PROGRESS * last).any())
        if callback is not None:
            callback("refine", solution.steps, solution.steps + (0 if stop else 1))
        if stop:
            break
        last = now
    return solution, step


def _step(system: System, b: Block, solution: Solution, limbs: int) -> Step:
    """Return residuals and corrections, the columns of both scaled near 1."""
    backend, field = system.backend, system.is_complex
    f = system.residual(b, solution.x, solution.r, limbs)
    f, down = backend.balance_columns(f, None, is_complex=field)
    r, up = backend.balance_columns(solution.r, None, is_complex=field)
    if system.is_square:
        dx, dr = system.correct(_limbs.narrow(f, field, system.limbs), None)
        return Step(solution.x, r, -up, f, None, dx, dr, -down)
    g, further = backend.balance_columns(system.gradient([], r, limbs), None, is_complex=field)
    units = -down, -further - up
    powers = backend.xp.maximum(
        *(_unless_zero(*pair, field) for pair in zip((f, g), units, strict=True))
    )
    powers = backend.xp.where(powers == _ABSENT, 0, powers)
    f, g = (
        _scaling.shifted(backend, block, (unit - powers)[..., None, :], field)
        for block, unit in zip((f, g), units, strict=True)
    )
    short = (_limbs.narrow(block, field, system.limbs) for block in (f, g))
    return Step(solution.x, r, -up, f, g, *system.correct(*short), powers)


def _unless_zero(block: Block, unit: Block, is_complex: bool) -> Block:
    """Return `unit` for columns that are not zero, and less than any for others."""
    held = (_scaling.magnitude_bits(block, is_complex) != 0).any(axis=-2)
    return _limbs.namespace(block).where(held, unit, _ABSENT)


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
    backend, xp, field = system.backend, system.backend.xp, system.is_complex
    size, low = partial(magnitudes, is_complex=field), partial(lowest_bits, is_complex=field)
    inverse, powers = Inverse(system, work.eps), step.powers[..., None, :]
    a, terms, known = size(system.a), [(1, step.f)], [size(b)]
    lows = [_of_products(low(system.a), low(step.x)), low(b)]
    if not system.is_square:
        unit = step.unit[..., None, :]
        terms.append((-1, step.dr))
        known.append(xp.ldexp(size(step.r), unit))
        lows.append(low(step.r) + unit)
    f = left(
        size(backend.residual(terms, system.a, step.dx, **system.options(wide.limbs))),
        size(step.f),
        Sums.of(backend, a, size(step.dx), size(step.f), size(step.dr)),
        Sums.of(backend, a, size(step.x), *known),
        -powers,
        reduce(xp.minimum, lows) - powers if exact else None,
        (wide.eps, system.columns + 8),
    )
    g = None
    if step.g is not None:
        turned, lowest = a.swapaxes(-1, -2), low(system.a).swapaxes(-1, -2)
        if system.weight is not None:
            turned = turned * size(system.weight).swapaxes(-1, -2)
            lowest = lowest + low(system.weight).swapaxes(-1, -2)
        g = left(
            size(system.gradient([(1, step.g)], step.dr, wide.limbs)),
            size(step.g),
            Sums.of(backend, turned, size(step.dr), size(step.g)),
            Sums.of(backend, turned, size(step.r)),
            unit - powers,
            _of_products(lowest, low(step.r)) + unit - powers if exact else None,
            (wide.eps, 2 * (int(a.shape[-2]) + 8)),
        )
    return xp.ldexp(inverse.bound(f, g), powers)


def _of_products(a: Block, x: Block) -> Block:
    """Return exponents of which all products of rows of a and columns of x are multiples."""
    rows, columns = _scaling.largest(-a, -1, -NONE), _scaling.largest(-x, -2, -NONE)
    return -(rows[..., :, None] + columns[..., None, :])
