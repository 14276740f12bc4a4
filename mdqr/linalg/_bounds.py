"""Error bounds and digits of refined solutions, and the warning when digits are missing."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from mdqr import _limbs
from mdqr._backend.protocol import Block
from mdqr._errors import PrecisionWarning
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg import _scaling
from mdqr.linalg._augmented import Solution, System
from mdqr.linalg._condition import Condition

_LOG10_2 = 0.30102999566398120
_SMALLEST = 2.0**-1073


class Bounds(NamedTuple):
    """Bounds of the errors of scaled unknowns, and the digits that they leave.

    `absolute` and `digits` are float64 of the shape of x; `missing`, a 0-d bool, tells whether a
    component has fewer digits than promised, and `worst`, 0-d, is the smallest number of digits.
    """

    absolute: Block
    digits: Block
    missing: Block
    worst: Block


def contraction_limit(system: System, condition: Condition, eps: float) -> Block:
    """Return the factor by which one step multiplies the error at worst: ``4 n eps condition``.

    The backward error of the factorisation is below ``n eps`` in practice; 4 covers the estimate
    of the condition, which may be too small.
    """
    return 4.0 * max(system.columns, 1) * eps * condition.value


def bounds(
    system: System, solution: Solution, condition: Condition, work: Precision, answer: Precision
) -> Bounds:
    """Bound the error of a refined solution.

    Three parts: the rounding of x; what the next steps would still change, a geometric series with
    the larger of the observed and the expected contraction; and the rounding of g, which moves x
    by ``condition**2 eps**2 norm(r)``.

    Parameters
    ----------
    system, solution : System, Solution
        The problem and its refined solution, in scaled unknowns.
    condition : Condition
        The condition estimate of the scaled matrix.
    work, answer : Precision
        The precisions of the work and of the answer.

    Returns
    -------
    Bounds
        Bounds and digits.
    """
    xp, eps = system.backend.xp, work.eps
    size = _scaling.leading(solution.x, system.is_complex)
    largest = _scaling.largest(size, -2, 0.0)
    drift = (eps * condition.value)[..., None]
    limit = contraction_limit(system, condition, eps)[..., None]
    with np.errstate(all="ignore"):
        rate = xp.maximum(limit, _observed_rate(solution, eps, largest))
        rest = 2.0 * rate / (1.0 - rate) * solution.sizes[-1]
        rest = rest + limit * drift * _root_sum(system, solution.r) / xp.maximum(
            condition.largest[..., None], 2.0**-500
        )
    rest = xp.where((rate < 0.5) & xp.isfinite(rest), rest, xp.inf)
    half = 0.5 * answer.eps
    absolute = half * size + rest[..., None, :]
    allowed = 4.0 * answer.eps * xp.maximum(size, (limit * largest)[..., None, :])
    promised = absolute <= allowed
    with np.errstate(all="ignore"):
        digits = -xp.log2(absolute / size) * _LOG10_2
    digits = xp.where(xp.isnan(digits), 0.0, digits)
    digits = xp.where((size == 0) & (rest[..., None, :] == 0), float(answer.digits), digits)
    digits = xp.clip(digits, 0.0, float(answer.digits))
    counted = xp.where(promised, float(answer.digits), digits)
    worst = -_scaling.largest(-counted, None, -float(answer.digits))
    return Bounds(absolute, digits, ~promised.all(), worst)


def _observed_rate(solution: Solution, eps: float, largest: Block) -> Block:
    """Return the last ratio of two steps of which the first was above the rounding of x."""
    xp = _limbs.namespace(solution.x)
    rate = xp.zeros_like(largest)
    for before, after in zip(solution.sizes[:-1], solution.sizes[1:], strict=True):
        ratio = after / xp.where(before > 0, before, 1.0)
        rate = xp.where(before > 8.0 * eps * largest, ratio, rate)
    return rate


def _root_sum(system: System, r: Block) -> Block:
    """Return the float64 norms of the columns of ``sqrt(W) r``."""
    size = _scaling.leading(r, system.is_complex)
    if system.root is not None:
        size = size * _scaling.leading(system.root, system.is_complex)
    return ((2.0 * size**2).sum(axis=-2)) ** 0.5


def unscaled(values: Block, exponent: Block) -> Block:
    """Return bounds of the unknowns as they are before scaling, rounded away from zero."""
    xp = _limbs.namespace(values)
    with np.errstate(all="ignore"):
        return xp.ldexp(values, exponent) + xp.where(values > 0, _SMALLEST, 0.0)


def warn_of_missing(
    function: str, worst: float, condition: float, work: Precision, answer: Precision
) -> None:
    """Warn that only `worst` digits are correct, fewer than the precision promises."""
    higher = [p for p in PRECISIONS if p > work]
    advice = (
        f"; if the data have more digits, give them and precision=mdqr.{higher[0].name}"
        if higher
        else ""
    )
    warnings.warn(
        f"{function}: about {int(worst)} of {answer.digits} digits are correct "
        f"(condition about {condition:.1e}){advice}",
        PrecisionWarning,
        stacklevel=4,
    )
