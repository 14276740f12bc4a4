"""Inverses of one matrix on a device, by Newton's steps of exact products.

With X near ``A^-1`` and ``E = I - A X``, ``X + X (E + E^2)`` leaves the cube of E (G. Schulz 1933).
From a float64 inverse few steps lead to all limbs. The last one is a correction of X whose error
the ladder bounds in each entry.
"""

from __future__ import annotations

from functools import partial
from math import ceil, log2
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._factor.refine.products import LIMB, cut, formed
from mdqr.linalg._inverse import split
from mdqr.linalg._inverse.approximate_inverse import ApproximateInverse
from mdqr.linalg._products.exact.residual import residual
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._solve.answer import Answer, Part, Unknowns, unknowns
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.problem import Problem
from mdqr.linalg._solve.refinement import Correction, Refinement, largest
from mdqr.linalg._solve.solvers.planned import started
from mdqr.linalg._solve.system import System

# Bits of a float64 square of E, bits below eps that a correction should reach, bits to spare.
_SQUARE, _BELOW, _SPARE = 40.0, 12.0, 8.0
# By how many bits entries may be below the largest one.
_SMALL = 20.0
# With fewer bits of a step the ladder takes less time.
_LEAST_GAIN = 20.0


@np.errstate(all="ignore")
def solve(problem: Problem) -> Answer | None:
    """Solve for the inverse of one matrix.

    Parameters
    ----------
    problem : Problem
        The problem, whose right-hand side is an identity if `is_inverse`.

    Returns
    -------
    Answer or None
        The inverse; None where a digit is missing, or others take less time.
    """
    system, n = problem.system, problem.system.columns
    kind = system.kind
    if not (problem.is_inverse and tuning.plans_steps(system.backend)) or problem.batch:
        return None
    if system.report is not None or not tuning.exact_residuals_are_faster(
        system.backend, n, n, n, kind=kind
    ):
        return None
    start = started(problem)
    if start is None or start.inverse.gain < _LEAST_GAIN:
        return None
    refinement = Refinement.of(system, start.inverse, start.b)
    found = _found(refinement)
    if found is None:
        return None
    x, correction, sizes = found
    operands = x, correction.low, correction.error, correction.good, system.powers, start.powers
    work = partial(_rounded, system=system, answer=problem.inputs.precision)
    key = "rounded inverse", kind, problem.inputs.precision
    whole, bound, relative, kept = system.backend.recorded(key, operands, work)
    (served,) = system.checks.settle(kept)
    if not served.all():
        return None
    r = system.backend.xp.zeros_like(start.b)
    part = Part(problem.given, start.b, start.powers, Solution(whole, r, r, sizes), bound)
    settled = Unknowns(whole, bound, relative, kept), served
    return Answer(system, [part], problem.inputs, start.condition, settled=settled)


class _Corrected(NamedTuple):
    """A correction of fewer limbs, a bound of its error, and whether it will do."""

    low: Block
    error: Block
    good: Block


def _found(refinement: Refinement) -> tuple[Block, _Corrected, list[Block]] | None:
    """Return an approximation, its correction and the sizes of steps; None beyond integers."""
    system, gain = refinement.system, refinement.inverse.gain
    backend, kind, growth = system.backend, system.kind, log2(refinement.growth)
    bits = -log2(precision_for(kind.limbs).eps) + _BELOW
    # The right-hand side is half of the identity.
    x, known = 0.5 * refinement.inverse.x, gain
    sizes = [largest(refinement.size(x))]
    while _cubed(known) + gain < bits:
        step = _step(refinement, x, known, _cubed(known), growth)
        if step is None:
            return None
        x, known = backend.binary("add", x, step, kind=kind), _cubed(known)
        # Limbs that are wrong would only make integers longer.
        x = cut(x, kind.is_complex, min(kind.limbs, ceil((known + _SPARE) / LIMB)))
        sizes.append(largest(refinement.size(step)))
    f = residual(backend, refinement.b, system.a, x, kind=kind)
    # Rounding errors of the correction grow with the terms, and beside small entries.
    wanted = bits - known + growth + log2(system.columns) + _SMALL
    low_kind = _kind_of(wanted, kind._replace(limbs=PRECISIONS[-1].limbs))
    low = _change(backend, x, f, low_kind)
    if low is None:
        return None
    a, c = (planes.first_limbs(y, kind.is_complex, low_kind.limbs) for y in (system.a, f))
    cut_at = ceil(-log2(precision_for(low_kind.limbs).eps))
    rest = formed(backend, a, low, c=c, kind=low_kind, bits=cut_at)
    if rest is None:
        return None
    inverse = refinement.inverse
    blocks = (planes.first_limbs(y, kind.is_complex, 1) for y in (system.a, x, f, low, rest))
    work = partial(_bounded, system=system, limbs=low_kind.limbs)
    operands = *blocks, inverse.x, inverse.rate, inverse.rows
    dx, error, good = backend.recorded(("bounded inverse", kind, low_kind), operands, work)
    low = backend.binary("add", low, dx, kind=low_kind)
    sizes.append(largest(refinement.size(low)))
    return x, _Corrected(low, error, good), sizes


def _bounded(
    backend: Backend,
    a: Block,
    x: Block,
    f: Block,
    low: Block,
    rest: Block,
    inverse: Block,
    rate: Block,
    rows: Block,
    *,
    system: System,
    limbs: int,
) -> list[Block]:
    """Return the change of a correction, bounds of its errors, and whether these will do.

    Of all blocks the leading limbs; `rest` is ``f - A low`` in so many limbs, as `formed` has it.
    """
    xp, kind = backend.xp, system.kind
    near = System(system.caller, backend, kind, a, Checks(ignore=True), a, rate)
    one = Kind(1, kind.is_complex)
    known = ApproximateInverse(backend, one, True, inverse, rate, rows, rate, np.ones(()))
    refinement = Refinement.of(near, known, 0.5 * one.identity(xp, a.shape[-2:]))
    eps, own = (precision_for(count).eps for count in (kind.limbs, limbs))
    error = refinement.products(x, refinement.b_size, square_of(eps)) + eps * refinement.size(f)
    # The bits that `formed` cuts off.
    rows_of_a = refinement.a_size.max(axis=-1, keepdims=True)
    columns = refinement.size(low).max(axis=-2, keepdims=True)
    error = error + (8.0 * own) * rows_of_a * columns
    correction = Correction(refinement, limbs, refinement.size(x), f, error, None, low)
    dx, error = correction.bounded(rest)
    # Of the sum, and of its rounding when x is rounded.
    correction.error = error + 3.0 * own * (refinement.size(low) + refinement.size(dx))
    return [dx, correction.error, correction.is_enough()]


def _cubed(known: float) -> float:
    """Return the bits behind a step, whose square is of float64."""
    return min(3.0 * known, 2.0 * known + _SQUARE)


def _kind_of(bits: float, most: Kind) -> Kind:
    """Return the lowest precision of so many bits as a kind, with no more limbs than another."""
    found = next((p for p in PRECISIONS[1:] if -log2(p.eps) >= bits), PRECISIONS[-1])
    return Kind(min(found.limbs, most.limbs), most.is_complex)


def _step(
    refinement: Refinement, x: Block, known: float, wanted: float, growth: float
) -> Block | None:
    """Return the change of x, known to so many bits, that leads to others."""
    kind = _kind_of(wanted - known + growth + _SPARE, refinement.system.kind)
    e = residual(refinement.system.backend, refinement.b, refinement.system.a, x, kind=kind)
    return _change(refinement.system.backend, x, e, kind)


def _change(backend: Backend, x: Block, e: Block, kind: Kind) -> Block | None:
    """Return ``x (2 E + (2 E)^2)`` in the limbs of a kind, for x near half of an inverse."""
    xp, field = backend.xp, kind.is_complex
    e = 2.0 * planes.first_limbs(e, field, kind.limbs)
    first = to_native(xp, e, field)
    square = from_native(xp, split.multiplied(backend, first, first), field)
    return formed(backend, x, backend.binary("add", e, square, kind=kind), kind=kind)


def _rounded(
    backend: Backend,
    x: Block,
    low: Block,
    error: Block,
    good: Block,
    powers: Block,
    columns: Block,
    *,
    system: System,
    answer: Precision,
) -> list[Block]:
    """Return x with its correction, rounded, its bounds, and whether it has all digits."""
    near = System(system.caller, backend, system.kind, x, Checks(ignore=True), x, powers)
    x = planes.widen(x, system.kind.is_complex, system.kind.limbs)
    part = Part(x, x, columns, Solution(x, x, x, [], low), error)
    found = unknowns(near, [part], answer)
    return [found.x, found.bound, found.relative, found.kept & good]
