"""Rounds that make approximate inverses: float64 first, and a limb more each time it takes.

The first X is made from leading limbs in float64. Where that leaves too much, ``P = X A``, or ``B =
A X`` for more rows than columns, is computed in as many limbs as their cancellation takes and
rounded to float64: its condition is that of A less some 45 bits, whatever X is worth. Its own
inverse in float64, or that of its R, multiplies X, and so on (S. M. Rump 2009 and T. Ogita 2010 on
extremely ill-conditioned matrices).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil, inf, log2
from types import ModuleType
from typing import Any

import numpy as np

from mdqr._backend.blocks import from_native, or_nan, turned
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.folds import fold, is_all
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._inverse import split
from mdqr.linalg._inverse.approximate_inverse import (
    SPLIT,
    ApproximateInverse,
    Operand,
    Plan,
    U,
    largest_singular_value,
)
from mdqr.linalg._inverse.split import Halves
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import precision_for

# What is left is multiplied by at most this in each step.
MOST = 2.0**-6
# What rounding may leave in float64 products that show this, in those of more limbs, whose inverse
# may be the next, and in steps; and what X may lose beyond its limbs.
PROOF, _CLOSE, _STEP, _CUT = 2.0**-7, 2.0**-24, 2.0**-12, 2.0**-20
# What a product by halves may leave.
_HALVES = 2.0**-16
# What X may lose that can have no more.
_LOST = 2.0**-6
# Of a condition, or its square for more rows than columns, times eps of the work.
ROOM = 2.0**-12
# What the last round may leave by bounds, which are above the truth.
_HOPE = 0.5
# Of the diagonal of a Cholesky factor: below, QR tells more about a matrix than its Gram matrix.
_REGULAR = 2.0**-24
# Of the trace of a Gram matrix, for its rounding errors.
_SHIFT = 2.0**-51
# By what part of the largest entry diagonals are changed where float64 finds a pivot of zero.
_NEARBY = 2.0**-50
# An inverse in float64 leaves so many bits of a step at most.
_BITS = 40.0
# Each takes a limb more, or some bits; eight limbs and the last take ten.
_MOST_ROUNDS = PRECISIONS[-1].limbs + 4
# X is improved from the Gram matrix of A X where that shows less than this, until steps gain so
# many bits.
_NEAR, _GAIN = 0.5, 33.0
# The most of ``I - X A`` before a step, of which the square is left; LU leaves about as much.
_GRAM_LEFT = 2.0**-16
# Triangles of at most this order are inverted by the library.
_LEAF = 64
_COUNTS = tuple(precision.limbs for precision in PRECISIONS)


def approximate_inverse(
    backend: Backend,
    a: Block,
    checks: Checks,
    *,
    kind: Kind,
    unit: float = 0.0,
    most: int | None = None,
    at_any_cost: bool = False,
    watch: Callable[[np.ndarray], object] | None = None,
    first: Block | None = None,
) -> tuple[ApproximateInverse, np.ndarray] | None:
    """Invert scaled matrices approximately.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    a : Block
        Matrices ``(..., m, n)``, m >= n, with columns near 1.
    checks : Checks
        Asked for what decides.
    kind : Kind
        That of the work.
    unit : float, optional
        By how much entries differ from those that are meant, relative to them.
    most : int, optional
        The most limbs of the inverses, whatever the work can carry; by default as many as that and
        are cheaper than Householder QR.
    at_any_cost : bool, optional
        Take as many limbs as the work can carry.
    watch : callable, optional
        Called with estimates of the conditions before each further round; it may raise.
    first : Block, optional
        The result of `float_inverse` for square matrices.

    Returns
    -------
    tuple or None
        The inverses, and a bool for each matrix: whether its rate is small. None where none is,
        since the matrices are too near to singular for the work, or for this to be cheap.
    """
    with np.errstate(all="ignore"):
        eps, widest = 0.0, PRECISIONS[-1].limbs
        if most is None:
            eps, most = precision_for(kind.limbs).eps, kind.limbs
            if not at_any_cost:
                most, widest = tuning.inverse_limbs(backend, kind.limbs)
        operand = Operand.of(backend, a, kind.is_complex, unit, most, widest, eps)
        if first is None:
            shifts = tuning.shifts_grams(backend)
            first = _inverse(operand, operand.native, checks, shifts=shifts)
        x: Block | None = from_native(backend.xp, first, kind.is_complex)
        found: tuple[ApproximateInverse, np.ndarray] | None = None
        for count in range(_MOST_ROUNDS):
            plan = None if x is None else _plan(operand, x, kind, checks)
            if plan is None and not count and operand.is_square and most > 1:
                x = from_native(
                    backend.xp, _inverse_nearby(operand, operand.native, checks), kind.is_complex
                )
                plan = _plan(operand, x, kind, checks)
            if x is None or plan is None:
                break
            p = operand.product(x, plan.product)
            inverse, good, left = _shown(operand, x, p, plan, kind, checks)
            if found is not None:
                return (inverse, good) if (good | ~found[1]).all() else found
            if good.any():
                found = inverse, good
                if not _saved(kind, inverse.gain) > tuning.round_cost(backend) * operand.columns:
                    break
            further = partial(_further, operand, x, p, kind, checks, watch)
            x = further() if np.isfinite(left).any() else None
    return found


def _shown(
    operand: Operand, x: Block, p: Block, plan: Plan, kind: Kind, checks: Checks
) -> tuple[ApproximateInverse, np.ndarray, np.ndarray]:
    """Return X, improved where that is cheap, whether it leaves little, and what float64 shows."""
    if operand.is_square:
        return _judged(operand.measured(x, p, plan), checks)
    gram = operand.gram(x, p, plan)
    first, good, seen = _judged(gram.inverse, checks)
    worst = float(seen.max(where=seen < _NEAR, initial=0.0))
    if planes.limb_count(x, operand.is_complex) > split.LIMBS or worst == 0.0:
        return first, good, seen
    # Each time leaves the cube.
    times = max(1, ceil(log2(_GAIN / -log2(worst)) / log2(3.0)))
    price = times * tuning.improvement_cost(operand.backend) * operand.columns
    if good.all() and _saved(kind, first.gain) <= price:
        return first, good, seen
    for _ in range(times):
        gram = gram.improved()
    found, better, less = _judged(gram.inverse, checks)
    return (found, better, less) if (better | ~good).all() else (first, good, seen)


def _judged(
    inverse: ApproximateInverse, checks: Checks
) -> tuple[ApproximateInverse, np.ndarray, np.ndarray]:
    """Return X with the bits of a step, whether it leaves little, and what float64 shows."""
    rate, seen = checks.settle(inverse.rate[..., 0, 0], inverse.seen[..., 0, 0])
    good = rate <= MOST
    return replace(inverse, gain=gain_of(inverse, seen, good)), good, seen


def gain_of(inverse: ApproximateInverse, seen: np.ndarray, good: Any = True) -> float:
    """Return the bits of a step with inverses that are `good`, of which float64 shows this."""
    # Rounding errors of steps grow by the condition, and rates of 1/2 are the largest.
    loose = 4 * U * inverse.condition if inverse.kind.limbs == 1 else 0.0
    # A condition that overflows is NaN, of a matrix that no step will serve.
    left = np.fmax(seen, loose).max(initial=2.0**-_BITS, where=good)
    return max(float(-np.log2(left)), 1.0)


def _plan(operand: Operand, x: Block, kind: Kind, checks: Checks) -> Plan | None:
    """Return the fewest limbs that will do; None where none do, or the work has not enough."""
    limbs, most = planes.limb_count(x, kind.is_complex), operand.most
    absolute = operand.absolute(x)
    known, condition = checks.settle(absolute[..., 0, 0], operand.condition(x))
    # Those that there is no room for do not count: their own bounds tell of them.
    served = _has_room(operand, condition) & (U**most * known <= _LOST)
    if not served.any():
        return None
    worst = float(known[served].max())
    product = _fewest(operand, worst, (PROOF, _CLOSE), 1)
    steps = 1 if limbs == 1 else _fewest(operand, worst, (_STEP, _STEP), limbs)
    if not product or product > operand.widest or not steps:
        return None
    off = None
    if product > 1 and limbs <= split.LIMBS:
        off = operand.off(x, SPLIT, absolute)
        (found,) = checks.settle(scaling.largest(off, (-2, -1), 0.0))
        product, off = (SPLIT, off) if (found[served] <= _HALVES).all() else (product, None)
    off = operand.off(x, product, absolute) if off is None else off
    return Plan(product, kind._replace(limbs=steps), absolute, np.maximum(condition, 1.0), off)


def _fewest(operand: Operand, worst: float, most: tuple[float, float], least: int) -> int:
    """Return the fewest limbs, at least `least`, whose products are accurate enough; 0 for none.

    `most` is allowed for products of one limb, and for others.
    """
    for limbs in _COUNTS:
        if limbs >= least and operand.constant(limbs) * worst <= most[limbs > 1]:
            return limbs
    return 0


def _least(values: np.ndarray) -> float:
    """Return the smallest finite value; infinity where there is none."""
    return float(values[np.isfinite(values)].min(initial=inf))


def _has_room(operand: Operand, condition: np.ndarray) -> np.ndarray:
    """Return whether the work can carry conditions, a bool for each."""
    growth = condition if operand.is_square else condition * condition
    return np.asarray(growth * operand.eps <= ROOM)


def _saved(kind: Kind, gain: float) -> float:
    """Return how many steps are saved if each gains all the bits it can."""
    return 53.0 * (kind.limbs + 1) * (1.0 / max(gain, 1.0) - 1.0 / _BITS)


def _further(
    operand: Operand,
    x: Block,
    p: Block,
    kind: Kind,
    checks: Checks,
    watch: Callable[[np.ndarray], object] | None,
) -> Block | None:
    """Return the next X, from the product of the last one with A; None where that is too dear."""
    xp, field = operand.backend.xp, kind.is_complex
    first = operand.first(x)
    for invert in (_inverse, _inverse_nearby):
        y = invert(operand, p, checks)
        pair = (y, first) if operand.is_square else (first, y)
        product = split.multiplied(operand.backend, *pair)
        (known,) = checks.settle(operand.norm * largest_singular_value(operand.backend, product))
        served = _has_room(operand, known * ROOM**0.5)
        if served.any() or not operand.is_square or operand.most == 1:
            break
    if watch is not None:
        watch(known)
    if not served.any():
        return None
    worst = float(known[served].max())
    limbs, most = 1, operand.most
    while U**limbs * worst > _CUT and limbs <= planes.limb_count(x, field):
        limbs += 1
    root = operand.columns**0.5
    if limbs > most or not U**most * worst * root <= MOST:
        return None
    if limbs == most:
        # The last one has to do: it leaves what rounding errors leave of the inverse of P.
        sizes = [xp.abs(each) for each in ((y, p) if operand.is_square else (p, y))]
        left = sizes[0] @ sizes[1].sum(axis=-1, keepdims=True)
        if not U * _least(checks.settle(left.max(axis=(-2, -1)))[0]) <= _HOPE:
            return None
    y = from_native(xp, y, field)
    pair = (y, x) if operand.is_square else (x, y)
    if limbs == split.LIMBS and planes.limb_count(x, field) == 1:
        left, right = Halves.of(pair[0], field, -1), Halves.of(pair[1], field, -2)
        if 2.0**-left.bits * root * U * worst <= _CUT:
            return split.pair(operand.backend, left, right)
    # X may have more limbs than the next one takes.
    held = max(limbs, planes.limb_count(x, field))
    wide = Kind(precision_for(held).limbs, field)
    return planes.first_limbs(exact.matmul(operand.backend, *pair, kind=wide), field, limbs)


def _inverse(operand: Operand, p: Block, checks: Checks, *, shifts: bool = False) -> Block:
    """Return the inverse of float64 matrices, or of R of theirs; NaN where there is none.

    Where the Gram matrix is not regular to float64 R is that of QR, or if it `shifts` of a Gram
    matrix with more on its diagonal, which leaves a condition that the next round can take.
    """
    xp = operand.backend.xp
    if operand.is_square:
        return float_inverse(operand.backend, p)
    gram = split.multiplied(operand.backend, turned(p), p)
    lower = or_nan(xp, xp.linalg.cholesky, gram)
    regular = _is_regular(lower)
    if not checks.settle(is_all(regular))[0]:
        shifted = _shifted(xp, gram) if shifts else None
        sound = None if shifted is None else checks.settle(xp.isfinite(shifted).all())[0]
        other = shifted if sound else _lower_by_qr(xp, p)
        lower = xp.where(regular[..., None, None], lower, other)
    return turned(or_nan(xp, partial(inverse_of_lower, xp), lower))


def float_inverse(backend: Backend, a: Block) -> Block:
    """Return inverses of square float64 matrices, not finite for singular ones."""
    n, shape = a.shape[-1], a.shape
    if a.size != n * n or not tuning.factored_inverses_are_faster(backend, n):
        return or_nan(backend.xp, backend.xp.linalg.inv, a)
    a, found = a.reshape(n, n), None
    if tuning.gram_inverses_are_faster(backend, n):
        found = _by_gram(backend, a)
    return (backend.invert_floats(a) if found is None else found).reshape(shape)


def _by_gram(backend: Backend, a: Block) -> Block | None:
    """Return the inverse of a square float64 matrix by its Gram matrix, and a step of Newton.

    None where ``I - X A`` is so large before the step that LU is better.
    """
    (gram,) = backend.recorded(("gram", a.dtype.char), (a,), _gram)
    y = backend.invert_triangle(backend.cholesky_floats(gram))
    found, size = backend.recorded(("inverse by Gram", a.dtype.char), (a, y), _improved)
    return found if fetch(size)[0] <= _GRAM_LEFT else None


def _improved(backend: Backend, a: Block, y: Block) -> list[Block]:
    """Return ``X + (I - X A) X`` for ``X = Y (A Y)^H``, and the norm of ``I - X A``."""
    multiplied = partial(split.multiplied, backend)
    x = multiplied(y, turned(multiplied(a, y)))
    rest = backend.xp.eye(len(a)) - multiplied(x, a)
    return [x + multiplied(rest, x), (backend.xp.abs(rest) ** 2).sum() ** 0.5]


def float_inverse_of_r(backend: Backend, a: Block) -> Block:
    """Return the inverse of R of one float64 matrix ``(m, n)``, by its Gram matrix.

    NaN where the Gram matrix is not definite to float64.
    """
    (gram,) = backend.recorded(("gram", a.dtype.char), (a,), _gram)
    return backend.invert_triangle(backend.cholesky_floats(gram))


def _gram(backend: Backend, a: Block) -> list[Block]:
    return [split.multiplied(backend, turned(a), a)]


def _inverse_nearby(operand: Operand, p: Block, checks: Checks) -> Block:
    """Return inverses in float64 of matrices near those that are singular to it."""
    size = scaling.largest(operand.backend.xp.abs(p), (-2, -1), 0.0, keepdims=True)
    return _inverse(operand, p + _NEARBY * size * operand.backend.xp.eye(operand.columns), checks)


def _is_regular(lower: Block) -> Block:
    """Return whether Cholesky factors show more than rounding errors, a bool for each."""
    diagonal = planes.diagonal(lower).real
    return fold("min", diagonal, -1) >= _REGULAR * fold("max", diagonal, -1)


def _shifted(xp: ModuleType, gram: Block) -> Block:
    """Return Cholesky factors of Gram matrices with what rounds in them added (T. Fukaya 2020)."""
    shift = _SHIFT * planes.diagonal(gram).real.sum(axis=-1)[..., None, None]
    return or_nan(xp, xp.linalg.cholesky, gram + shift * xp.eye(gram.shape[-1]))


def _lower_by_qr(xp: ModuleType, p: Block) -> Block:
    """Return R^H of QR, with a diagonal that is not lost beside its column."""
    r = xp.linalg.qr(p, mode="r").copy()
    diagonal, sizes = planes.diagonal(r), xp.abs(r).max(axis=-2)
    diagonal[...] = xp.where(xp.abs(diagonal) < U * sizes, U * sizes, diagonal)
    return turned(r)


def inverse_of_lower(xp: ModuleType, a: Block) -> Block:
    """Return the inverses of lower triangles ``(..., n, n)``, nearly all by products.

    The inverses of diagonal blocks are joined in pairs, all pairs of one size at once.
    """
    n = a.shape[-1]
    pairs = max(0, (n - 1) // _LEAF).bit_length()
    width = -(-n // 2**pairs)
    padded = width * 2**pairs
    wide = xp.broadcast_to(xp.eye(padded, dtype=a.dtype), (*a.shape[:-2], padded, padded)).copy()
    wide[..., :n, :n] = a
    found = xp.linalg.inv(_diagonal_blocks(wide, width, 0))
    while width < padded:
        below = _diagonal_blocks(wide, width, 1)
        first, second = found[..., ::2, :, :], found[..., 1::2, :, :]
        joined = xp.zeros((*first.shape[:-2], 2 * width, 2 * width), dtype=a.dtype)
        joined[..., :width, :width], joined[..., width:, width:] = first, second
        joined[..., width:, :width] = -(second @ (below @ first))
        found, width = joined, 2 * width
    return found[..., 0, :n, :n]


def _diagonal_blocks(a: Block, width: int, below: int) -> Block:
    """Return the blocks of a width on the diagonal, or all second ones from one further down."""
    count = a.shape[-1] // width
    blocks = a.reshape(*a.shape[:-2], count, width, count, width)
    xp = planes.namespace(a)
    at = xp.arange(below, count, 1 + below)
    return xp.moveaxis(blocks[..., at, :, at - below, :], 0, -3)
