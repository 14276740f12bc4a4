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
from mdqr._backend.protocol import Backend, RoundedSum
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._factor.refine.products import LIMB, cut, unseen
from mdqr.linalg._inverse import split
from mdqr.linalg._inverse.approximate_inverse import ApproximateInverse
from mdqr.linalg._products.exact.product import is_within_range
from mdqr.linalg._products.exact.residual import whole_residual
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import kind_with, precision_for
from mdqr.linalg._solve.answer import Answer, Part, unknowns
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.problem import Problem
from mdqr.linalg._solve.refinement import LEAST, Correction, Refinement, largest
from mdqr.linalg._solve.solvers.planned import started
from mdqr.linalg._solve.system import System

# Bits of a float64 square of E, bits below eps that a correction should reach, bits to spare.
_SQUARE, _BELOW, _SPARE = 40.0, 12.0, 8.0
# By how many bits entries may be below the largest one.
_SMALL = 20.0
# Further bits of the last residual: its errors count for all entries of a column.
_GIVEN = 16.0
# Bits of products are multiples of this, so that few are recorded.
_BITS = 8
# More limbs take more time than a product of twice the terms.
_LONG = 8
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
    inverse, answer = start.inverse, problem.inputs.precision
    operands = found.x, found.f, system.a, inverse.x, inverse.rate, inverse.rows
    form = found.form
    work = partial(_corrected, system=system, form=form, answer=answer)
    key = "corrected inverse", kind, form, answer
    whole, bound, relative, kept, size, *words = system.backend.recorded(
        key, (*operands, system.powers, start.powers), work
    )
    served, *seen = system.checks.settle(kept, *words, *found.words)
    if not served.all() or not all(map(is_within_range, seen)):
        return None
    r = system.backend.xp.zeros_like(start.b)
    solution = Solution(whole, r, r, [*found.sizes, size])
    part = Part(problem.given, start.b, start.powers, solution, bound)
    settled = RoundedSum(whole, bound, relative, kept), served
    return Answer(system, [part], problem.inputs, start.condition, settled=settled)


class _Form(NamedTuple):
    """The kind of a correction, and the bits of its residual, its product and the last residual.

    A residual of 0 bits is rounded, as if in twice the limbs.
    """

    kind: Kind
    given: int
    first: int
    rest: int


class _Found(NamedTuple):
    """An approximation, its residual, the form of its correction, and the sizes of steps.

    The residual has the limbs of the correction. `words` are read by `is_within_range`.
    """

    x: Block
    f: Block
    form: _Form
    sizes: list[Block]
    words: list[Block]


def _found(refinement: Refinement) -> _Found | None:
    """Return an approximation with its residual; None beyond integers."""
    system, gain = refinement.system, refinement.inverse.gain
    backend, kind, growth = system.backend, system.kind, log2(refinement.growth)
    bits = -log2(precision_for(kind.limbs).eps) + _BELOW
    # The right-hand side is half of the identity.
    x, known = 0.5 * refinement.inverse.x, gain
    sizes, words = [largest(refinement.size(x))], list[Block]()
    while _cubed(known) + gain < bits:
        step = _step(refinement, x, known, _cubed(known), growth, words)
        if step is None:
            return None
        x, known = backend.binary("add", x, step, kind=kind), _cubed(known)
        # Limbs that are wrong would only make integers longer.
        x = cut(x, kind.is_complex, min(kind.limbs, ceil((known + _SPARE) / LIMB)))
        sizes.append(largest(refinement.size(step)))
    # The bits of a step count the terms of sums. A step follows the first product.
    wanted = bits - known + growth + _SMALL
    low_kind = _kind_of(wanted, kind._replace(limbs=PRECISIONS[-1].limbs))
    most = bits + growth + _SMALL + _GIVEN
    f = _residual(refinement, x, most, max(kind, low_kind), words)
    if f is None:
        return None
    form = _Form(low_kind, f.bits, _rounded(wanted - gain), _rounded(wanted))
    return _Found(x, planes.first_limbs(f.e, kind.is_complex, low_kind.limbs), form, sizes, words)


class _Residual(NamedTuple):
    """A residual of so many bits, or rounded; see `_Form`."""

    e: Block
    bits: int


def _residual(
    refinement: Refinement, x: Block, bits: float, kind: Kind, words: list[Block]
) -> _Residual | None:
    """Return ``b - A x`` to so many bits below 1, or where no precision has them in a kind.

    That is as if in twice the limbs, and rounded; None where bits would be cut off.
    """
    backend, a, b = refinement.system.backend, refinement.system.a, refinement.b
    high = _kind_of(bits, kind._replace(limbs=max(kind.limbs, _LONG)))
    held = int(-log2(precision_for(high.limbs).eps))
    if held < bits:
        e = whole_residual(backend, b, a, x, kind=kind)
        return None if e is None else _Residual(e, 0)
    count = min(_rounded(bits), held)
    e, seen = unseen(backend, a, x, c=b, kind=high, bits=count)
    words.append(seen)
    return _Residual(e, count)


def _rounded(bits: float) -> int:
    return _BITS * ceil(bits / _BITS)


def _corrected(
    backend: Backend,
    x: Block,
    f: Block,
    a: Block,
    inverse: Block,
    rate: Block,
    rows: Block,
    powers: Block,
    columns: Block,
    *,
    system: System,
    form: _Form,
    answer: Precision,
) -> list[Block]:
    """Return x with a correction, rounded, its bounds, and whether it has all digits.

    Then follow the size of the correction, and words for `is_within_range`.
    """
    kind, field, low_kind = system.kind, system.kind.is_complex, form.kind
    near = System(system.caller, backend, kind, a, Checks(ignore=True), a, powers)
    one = Kind(1, field)
    known = ApproximateInverse(backend, one, True, inverse, rate, rows, rate, np.ones(()))
    half = 0.5 * one.identity(backend.xp, a.shape[-2:])
    refinement = Refinement.of(near, known, half)
    low, first = unseen(backend, x, _squared(backend, f, low_kind), kind=low_kind, bits=form.first)
    rest, second = unseen(backend, a, low, c=f, kind=low_kind, bits=form.rest)
    dx, error, good = _bounded(refinement, x, f, low, rest, form)
    low = backend.binary("add", low, dx, kind=low_kind)
    x = planes.widen(x, field, kind.limbs)
    part = Part(x, x, columns, Solution(x, x, x, [], low), error)
    found = unknowns(near, [part], answer)
    size = largest(refinement.size(low))
    return [found.x, found.bound, found.relative, found.kept & good, size, first, second]


def _bounded(
    refinement: Refinement, x: Block, f: Block, low: Block, rest: Block, form: _Form
) -> tuple[Block, Block, Block]:
    """Return the change of a correction, bounds of its errors, and whether these will do.

    `rest` is ``f - A low`` as `unseen` has it, f a rounded residual cut to as many limbs.
    """
    size, size_of_low = refinement.size, refinement.size(low)
    own, most = precision_for(form.kind.limbs).eps, partial(scaling.largest, axis=-2, empty=0.0)
    # The bits that `unseen` cuts off; f is rounded, and cut, the product and the rest are rounded.
    size_of_x = size(x)
    largest_of_a = scaling.largest(refinement.a_size, None, 0.0)
    error = (8.0 * 2.0**-form.rest) * largest_of_a * most(size_of_low) + LEAST
    error = error + (4.0 * own) * (most(size(f)) + most(size(rest)))
    if form.given:
        # Of a product near 1 in magnitude, and of the residual, roundings are fewer bits behind.
        error = error + 2.0**-form.given * (8.0 * largest_of_a * most(size_of_x) + 4.0)
    dx, error = refinement.inverse.correction_by_columns(rest, error[..., None, :])
    # Of the sum, and of its rounding when x is rounded.
    error = error + 3.0 * own * (size_of_low + size(dx))
    correction = Correction(refinement, form.kind.limbs, size_of_x, f, error, None, low, error)
    return dx, error, correction.is_enough()


def _cubed(known: float) -> float:
    """Return the bits behind a step, whose square is of float64."""
    return min(3.0 * known, 2.0 * known + _SQUARE)


def _kind_of(bits: float, most: Kind) -> Kind:
    """Return the lowest precision of so many bits as a kind, with no more limbs than another."""
    return kind_with(2.0**-bits, most, least=2)


def _step(
    refinement: Refinement,
    x: Block,
    known: float,
    wanted: float,
    growth: float,
    words: list[Block],
) -> Block | None:
    """Return the change of x, known to so many bits, that leads to others.

    It is ``x (2 E + (2 E)^2)``, for x near half of an inverse.
    """
    backend, spare = refinement.system.backend, growth + _SPARE
    kind = _kind_of(wanted - known + spare, refinement.system.kind)
    rest = _residual(refinement, x, wanted + spare, kind, words)
    if rest is None:
        return None
    change, seen = unseen(backend, x, _squared(backend, rest.e, kind), kind=kind)
    words.append(seen)
    return change


def _squared(backend: Backend, e: Block, kind: Kind) -> Block:
    """Return ``2 E + (2 E)^2`` in the limbs of a kind, the square in float64."""
    xp, field = backend.xp, kind.is_complex
    e = 2.0 * planes.first_limbs(e, field, kind.limbs)
    first = to_native(xp, e, field)
    square = from_native(xp, split.multiplied(backend, first, first), field)
    return backend.binary("add", e, square, kind=kind)
