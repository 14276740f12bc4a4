"""Refinement by an approximate inverse, on a ladder of precisions, with proven bounds.

Each step adds ``X (b - A x)``, or ``X X^H A^H (b - A x)`` for more rows than columns, and leaves
``I - X A``, or ``I - (A X)^H (A X)``, of the error (A. Bjorck 1987 on seminormal equations; J.
Demmel and others 2006 on residuals). The first residuals need few limbs: those that X has, and one
more. Once x has all limbs of the work, residuals are evaluated as if in twice as many, and a
correction of two limbs or more is found in the same way; each of its steps bounds what it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._shared.operands import Callback, Inputs, precision_for
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.augmented import Solution
from mdqr.linalg._solve.refine.approximate_inverse import UP, ApproximateInverse
from mdqr.linalg._solve.refine.rounds import approximate_inverse
from mdqr.linalg._solve.separate import reached
from mdqr.linalg._solve.system import System, taken
from mdqr.linalg._solve.ways.mixed import Served, all_items

_MOST_STEPS = 100
# What errors of residuals may grow to on a level that is worth its steps.
_LEVEL = 2.0**-20
# What rounding errors of corrections are bounded by, beside their growth; and how many of them.
_BOUND, _CORRECTIONS = 2.0**10, 4
# Nothing here is below: subnormal numbers may count as zeros to the caller.
_LEAST = 2.0**-1000
# What a correction should leave relative to eps, so that x is nearly always the same whatever the
# order of sums in float64; and with what another is made.
_WANTED, _ENOUGH = 2.0**-30, 2.0**-8
# The condition is an estimate.
SMALL = 0.1


@dataclass(frozen=True)
class Problem:
    """A scaled problem, its approximate inverse, and right-hand sides near 1.

    The sizes are moduli of leading limbs; that of the weights is 1.0 for none. `held` tells which
    unknowns may differ from zero; None stands for all.
    """

    system: System
    inverse: ApproximateInverse
    b: Block
    a_size: Block
    b_size: Block
    weight_size: Block | float
    held: Block | None = None

    @classmethod
    def of(cls, system: System, inverse: ApproximateInverse, b: Block) -> Problem:
        """Compute the sizes."""
        xp, field = system.backend.xp, system.kind.is_complex
        a, b_size = (xp.abs(to_native(xp, block, field)) for block in (system.a, b))
        weight = 1.0 if system.weight is None else xp.abs(to_native(xp, system.weight, field))
        return cls(system, inverse, b, a, b_size, weight)

    @cached_property
    def growth(self) -> float:
        """What errors of residuals grow by in bounds."""
        return float(self.inverse.condition.max()) ** (1 if self.inverse.is_square else 2)

    @cached_property
    def levels(self) -> list[int]:
        """The limbs of x and residuals, one level after the other."""
        most = self.system.kind.limbs
        lower = [p.limbs for p in PRECISIONS if self.growth * p.eps <= _LEVEL]
        return [*(n for n in lower if 1 < n < most), most]

    @cached_property
    def low(self) -> int:
        """The limbs of corrections: two of them should do."""
        kept = [p for p in PRECISIONS if p.limbs > 1]
        left = ((self.growth * p.eps * _BOUND) ** 2 * self.growth for p in kept)
        good = [p.limbs for p, rest in zip(kept, left, strict=True) if rest <= _WANTED]
        return good[0] if good else kept[-1].limbs

    def native(self, block: Block) -> Block:
        """Return the leading limbs as float64 or complex128."""
        return to_native(self.system.backend.xp, block, self.system.kind.is_complex)

    def size(self, block: Block) -> Block:
        """Return the moduli of the leading limbs."""
        return self.system.backend.xp.abs(self.native(block))

    def less(self, c: Block, x: Block, limbs: int) -> Block:
        """Return ``c - A x``, computed in so many limbs."""
        return self._less(c, self.system.a, x, limbs, adjoint=False)

    def gradient(self, c: Block | None, r: Block, limbs: int) -> Block:
        """Return ``c - A^H W r``, computed in so many limbs."""
        if self.system.weight is not None:
            field = self.system.kind.is_complex
            pair = (planes.first_limbs(block, field, limbs) for block in (self.system.weight, r))
            r = self.system.backend.binary("multiply", *pair, kind=Kind(limbs, field))
        return self._less(c, self.system.a.swapaxes(-1, -2), r, limbs, adjoint=True)

    def _less(self, c: Block | None, a: Block, x: Block, limbs: int, *, adjoint: bool) -> Block:
        field = self.system.kind.is_complex
        a, x = (planes.first_limbs(block, field, limbs) for block in (a, x))
        c = None if c is None else planes.first_limbs(c, field, limbs)
        kind = Kind(limbs, field)
        return self.system.backend.matmul(a, x, conj_a=adjoint, c=c, subtract=True, kind=kind)

    def step(self, x: Block, limbs: int) -> tuple[Block, Block]:
        """Return r, and the correction of x that it asks for."""
        r = self.less(self.b, x, limbs)
        return r, self.inverse.times(r if self.inverse.is_square else self._pull(r, limbs))

    def start(self) -> Block:
        """Return a first solution."""
        if self.inverse.is_square:
            return self.inverse.times(self.b)
        limbs = self.inverse.kind.limbs
        return self.inverse.times(self._pull(self.b, limbs if limbs == 1 else self.levels[0]))

    def _pull(self, r: Block, limbs: int) -> Block:
        """Return ``A^H W r``."""
        return planes.negate(self.gradient(None, r, limbs), self.system.kind.is_complex)

    def masked(self, x: Block) -> Block:
        """Return `x` with zeros for unknowns that are zero."""
        return x if self.held is None else self.system.backend.xp.where(self.held, x, 0.0)

    def add(self, x: Block, dx: Block, limbs: int) -> Block:
        """Return ``x + dx`` in so many limbs."""
        kind = Kind(limbs, self.system.kind.is_complex)
        x, dx = (planes.first_limbs(block, kind.is_complex, limbs) for block in (x, dx))
        return self.system.backend.binary("add", x, dx, kind=kind)

    def products(self, x: Block, c: Block, eps: float) -> Block:
        """Bound the error of ``c - A x`` whose terms err by eps, where `c` are sizes."""
        return self._products(self.a_size, self.size(x), c, eps)

    def gradients(self, r: Block, c: Block, eps: float) -> Block:
        """Bound the error of ``c - A^H W r`` whose terms err by eps, where `c` are sizes."""
        size = self.weight_size * self.size(r)
        return self._products(self.a_size.swapaxes(-1, -2), size, c, eps)

    def through(self, delta: Block) -> Block:
        """Return what errors of residuals do to ``A^H W r``."""
        return self.a_size.swapaxes(-1, -2) @ (self.weight_size * delta)

    def _products(self, a: Block, size: Block, c: Block, eps: float) -> Block:
        # What underflows: of products of limbs, and of limbs when a and b were scaled.
        tiny = _LEAST * (1.0 + scaling.largest(size, -2, 0.0, keepdims=True))
        factor = (a.shape[-1] + 12) * (2 if self.system.kind.is_complex else 1)
        return factor * (eps * (a @ size + c) + tiny) * UP


@np.errstate(all="ignore")
def refined(
    system: System,
    given: Block,
    inputs: Inputs,
    limit: float,
    callback: Callback | None = None,
    *,
    at_any_cost: bool,
) -> list[Served]:
    """Solve scaled problems by approximate inverses.

    Parameters
    ----------
    system : System
        The problems, not empty, which need not be factored.
    given : Block
        Their right-hand sides ``(..., m, k)`` as they came, with the batch of the system.
    inputs : Inputs
        The operands, for the precisions.
    limit : float
        Matrices whose condition times this is not small are left to who decides about ranks.
    callback : callable, optional
        Called as ``callback("refine", done, total)``.
    at_any_cost : bool
        Whether to refine where Householder QR would be cheaper.

    Returns
    -------
    list of Served
        Answers for all matrices where steps contract, and bounds show what the precision promises.
    """
    tall_weights = system.root is not None and not system.is_square
    found = approximate_inverse(
        system.backend,
        system.weighted_matrix if tall_weights else system.a,
        system.checks,
        kind=system.kind,
        # Of the root, and of the product with it.
        unit=8.0 * inputs.work.eps if tall_weights else 0.0,
        at_any_cost=at_any_cost,
    )
    if found is None:
        return []
    inverse, fast = found
    condition, lead = inverse.condition, system.kind.lead
    good, served = fast & (condition * limit < SMALL), []
    if good.all():
        answer = _climbed(system, given, inverse, inputs, callback)
        return [] if answer is None else Served.of(answer, condition, all_items(good.shape))
    if good.any():
        items = np.nonzero(good)
        part = system.take(items), taken(given, lead, items), inverse.take(items)
        answer = _climbed(*part, inputs, callback)
        served = [] if answer is None else Served.of(answer, condition, items)
    if fast.any() and not fast.all():
        rest = np.nonzero(~fast)
        others = refined(
            system.take(rest),
            taken(given, lead, rest),
            inputs,
            limit,
            callback,
            at_any_cost=at_any_cost,
        )
        served += [part.within(rest) for part in others]
    return served


def _climbed(
    system: System,
    given: Block,
    inverse: ApproximateInverse,
    inputs: Inputs,
    callback: Callback | None,
) -> Answer | None:
    """Return the answers of a ladder."""
    if callback is not None:
        callback("factor", system.columns, system.columns)
        callback("condition", 1, 1)
    b, powers = system.backend.balance_columns(
        given, system.rows, is_complex=system.kind.is_complex
    )
    problem = Problem.of(system, inverse, b)

    def answer(problem: Problem) -> Answer | None:
        climbed = climb(problem, callback)
        if climbed is None:
            return None
        solution, error = climbed
        rounded = scaling.leading(solution.low, system.kind.is_complex) != 0
        return Answer(system, [Part(given, b, powers, solution, error, rounded)], inputs)

    found = answer(problem)
    if found is None or found.kept.all():
        return found
    # No bound is below a component that is zero.
    held = reached(system, given)
    return found if held is None else answer(replace(problem, held=held))


@np.errstate(all="ignore")
def climb(problem: Problem, callback: Callback | None = None) -> tuple[Solution, Block] | None:
    """Solve to all limbs of the work.

    Parameters
    ----------
    problem : Problem
        What to solve.
    callback : callable, optional
        Called as ``callback("refine", done, total)`` after each step, `total` at least one more.

    Returns
    -------
    tuple or None
        The solution, and a proven bound of the error of each component before its last rounding,
        float64 ``(..., n, k)``; None where the steps do not contract.
    """
    system, xp, inverse = problem.system, problem.system.backend.xp, problem.inverse
    x = problem.start()
    sizes, lost = [_largest(problem.size(x))], xp.zeros(inverse.condition.shape, dtype=bool)
    noise = xp.full(sizes[0].shape, xp.inf)
    for limbs in problem.levels:
        noise, before = None, noise
        while True:
            r, dx = problem.step(x, limbs)
            x = problem.add(x, dx, limbs)
            if noise is None:
                noise = _noise(problem, x, r, limbs)
            size = _largest(problem.size(dx))
            # The first x of seminormal equations errs by the square of the condition.
            ratio = size / sizes[-1] if len(sizes) > 1 else xp.minimum(size / sizes[-1], 0.5)
            sizes.append(size)
            # Errors are mostly far below their bounds; where they are not, steps stop shrinking.
            idle = size * ratio <= noise / system.columns**2
            # The first step of a level takes what the one before left.
            lost = lost | (~(ratio <= 0.5) & ~(size <= xp.maximum(noise, before))).any(axis=-1)
            before = noise
            idle = idle | ((ratio > 0.25) & (size <= noise)) | lost[..., None]
            stuck, ready = system.checks.settle(lost.all(), idle.all())
            if callback is not None:
                callback("refine", len(sizes) - 1, len(sizes))
            if stuck or len(sizes) > _MOST_STEPS:
                return None
            if ready:
                break
    x = problem.masked(x)
    r = r if inverse.is_square else problem.less(problem.b, x, system.kind.limbs)
    return _finished(problem, x, r, sizes)


def _largest(sizes: Block) -> Block:
    """Return the largest component of each column, at least the smallest double."""
    return scaling.largest(sizes, -2, 0.0) + _LEAST


def _noise(problem: Problem, x: Block, r: Block, limbs: int) -> Block:
    """Return the size of steps that are nothing but rounding errors of the residuals."""
    eps = precision_for(limbs).eps
    delta = problem.products(x, problem.b_size, eps)
    if not problem.inverse.is_square:
        below = problem.gradients(r, 0.0, eps)
        delta = problem.through(delta) + below
    return 4.0 * _largest(problem.inverse.spread(delta))


class _Corrected(NamedTuple):
    """A correction of two limbs, a bound of its error, and whether it will do."""

    low: Block
    limbs: int
    error: Block
    good: bool


def _finished(
    problem: Problem, x: Block, r: Block, sizes: list[Block]
) -> tuple[Solution, Block] | None:
    """Correct x and r until the last rounding decides, as long as that helps."""
    kind, square = problem.system.kind, problem.inverse.is_square
    found = _corrected(problem, x, r, problem.low, _WANTED)
    for _ in range(_CORRECTIONS - 1):
        if found.good:
            break
        x = _rounded(problem, kind, x, found.low)
        r = r if square else problem.less(problem.b, x, kind.limbs)
        found = _corrected(problem, x, r, problem.low, _WANTED)
    rounded, error = _whole(problem, x, found), found.error
    if not square and _is_nearly_exact(problem, rounded.r, found.error):
        x, r = rounded.x, problem.less(problem.b, rounded.x, kind.limbs)
        limbs = max(kind.limbs, problem.low)
        found = _corrected(problem, x, r, limbs, precision_for(kind.limbs).eps)
        rounded = _whole(problem, x, found)
        right = _is_right(problem, rounded.r)[..., None, None]
        error = problem.system.backend.xp.where(right, found.error, np.inf)
    return Solution(rounded.x, rounded.r, rounded.r, sizes, rounded.low), error


class _Whole(NamedTuple):
    """A solution, what it was rounded from less itself, and what is left of b before."""

    x: Block
    low: Block
    r: Block


def _whole(problem: Problem, x: Block, found: _Corrected) -> _Whole:
    """Round the sum of x and its correction."""
    system, kind = problem.system, problem.system.kind
    whole = _rounded(problem, kind, x, found.low)
    negative = planes.negate(whole, kind.is_complex)
    low = _rounded(problem, kind._replace(limbs=found.limbs), x, found.low, negative)
    if problem.inverse.is_square:
        return _Whole(whole, low, system.backend.xp.zeros_like(problem.b))
    # The distance of x from what was rounded counts where little or nothing is left.
    r = system.backend.residual([(1, problem.b)], system.a, whole, kind=kind)
    return _Whole(whole, low, problem.less(r, low, kind.limbs))


def _is_right(problem: Problem, r: Block) -> Block:
    """Return where r is as right as sums of squares promise: little of it lies in A's range."""
    system = problem.system
    eps, root = precision_for(system.kind.limbs).eps, problem.weight_size**0.5
    inside = problem.size(problem.inverse.image(system.gradient([], r)))
    condition = system.backend.xp.asarray(problem.inverse.condition)[..., None]
    most = eps * _largest(root * problem.size(r))
    most = most + eps**2 * condition * _largest(root * problem.b_size)
    return (_largest(inside) <= 16.0 * most).all(axis=-1)


def _is_nearly_exact(problem: Problem, r: Block, error: Block) -> bool:
    """Return whether errors of x might show in a sum of squares, to which they add their own."""
    eps = precision_for(problem.system.kind.limbs).eps
    xp = problem.system.backend.xp
    # No square may vanish that counts.
    root = problem.weight_size**0.5
    r, moved = root * problem.size(r), root * (problem.a_size @ error)
    unit = xp.maximum(_largest(r), _largest(moved))[..., None, :]
    least, most = (((size / unit) ** 2).sum(axis=-2) for size in (r, moved))
    least = least * eps
    return bool(problem.system.checks.settle((most > least).any())[0])


def _rounded(problem: Problem, kind: Kind, *blocks: Block) -> Block:
    """Return the sum of blocks, correctly rounded."""
    backend = problem.system.backend
    return backend.unary(
        "renormalize", backend.xp.concatenate(blocks, axis=kind.lead - 1), kind=kind
    )


def _corrected(problem: Problem, x: Block, r: Block, limbs: int, wanted: float) -> _Corrected:
    """Find what is missing of x in so many limbs, from residuals as if in twice those of the work.

    It is finished when what is left is below `wanted` eps, or becomes no less.
    """
    system, inverse, kind = problem.system, problem.inverse, problem.system.kind
    eps, own = precision_for(kind.limbs).eps, precision_for(limbs).eps
    terms = [(1, problem.b)] if inverse.is_square else [(1, problem.b), (-1, r)]
    f = system.backend.residual(terms, system.a, x, kind=kind)
    known = problem.b_size if inverse.is_square else problem.b_size + problem.size(r)
    error_f = problem.products(x, known, eps**2) + eps * problem.size(f)
    if not inverse.is_square:
        g = system.gradient([], r)
        # Weights are another factor, whose product with r is rounded to twice the limbs.
        error_g = 2.0 * (problem.gradients(r, 0.0, eps**2) + eps * problem.size(g))
    low = kind._replace(limbs=limbs).zeros(
        system.backend.xp, planes.value_shape(x, kind.is_complex)
    )
    size, before = problem.size(x), None
    for _ in range(_MOST_STEPS):
        rest = problem.less(f, low, limbs)
        v, delta = rest, error_f + problem.products(low, problem.size(f), own)
        if not inverse.is_square:
            v = planes.negate(problem.gradient(g, rest, limbs), kind.is_complex)
            delta = problem.through(delta) + error_g
            delta = delta + problem.gradients(rest, problem.size(g), own)
        dx, error = inverse.correction(v, delta)
        low, error = problem.add(low, problem.masked(dx), limbs), problem.masked(error)
        # Of the sum, and of its rounding when x is rounded.
        error = error + 3.0 * own * problem.size(low)
        good, done = ((error <= part * eps * size).all() for part in (_ENOUGH, wanted))
        stuck = done if before is None else done | ~(error < 0.5 * before).any()
        good, stuck = system.checks.settle(good, stuck)
        if stuck:
            break
        before = error
    # Zeros are solved by zeros.
    held = scaling.largest(problem.b_size, -2, 0.0, keepdims=True) > 0.0
    error = system.backend.xp.where(held, error, 0.0)
    return _Corrected(low, limbs, error, bool(good))
