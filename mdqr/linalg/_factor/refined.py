"""QR from factors in float64, corrected by products to the precision of the work.

A sweep measures ``E = A - Q R`` and ``F = I - Q^H Q`` beyond the precision that Q and R have. With
``Y = E R^-1`` and ``C = Q^H Y``, to first order ``(I + T) R`` and ``Q + Y - Q T`` are the factors
of A, where T is the upper part of ``C + C^H - F`` with half its diagonal: ``A = (Q + dQ) (R + dR)``
and ``(Q + dQ)^H (Q + dQ) = I`` without terms of second order (G. W. Stewart 1993 and X.-W. Chang,
C. C. Paige, G. W. Stewart 1997 on the perturbation of QR). What is left is their square, so the
arithmetic of a sweep needs half of the bits it makes. What it left is bounded from the norms of E,
F, Y and T and the rounding errors of the sweep: no further products certify the factors.

Where A is too near to singular for float64, its R in float64 becomes the first of a product: ``A
R^-1``, in as many limbs as its cancellation takes, is factored in float64 again (S. M. Rump 2009
and T. Ogita 2010 on extremely ill-conditioned matrices).
"""

from __future__ import annotations

from math import ceil, inf, log2
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend, ExactProducts
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.parts import slices
from mdqr.linalg._products.exact.plan import MOST_TERMS
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import Callback, precision_for

# Unit roundoff of float64, and the bits of a limb.
_U, _LIMB = 2.0**-53, 53
# How far from a factorisation a start in float64 may be, and a sweep of first order.
_START, _FARTHEST = 2.0**-12, 2.0**-4
# Of a condition times eps of the work: beyond, there is no room for corrections.
_ROOM = 2.0**-12
# For terms of third order, norms of R in place of those of A, and the arithmetic of bounds.
_UP = 1.0 + 2.0**-7
# The bound that is kept, in n eps, and what a prediction leaves for what it does not know.
_BOUND, _HOPED = 20.0, 5.0
# What arithmetic may lose of a correction, times what the correction leaves.
_LOSS = 16.0
# Bits of Q and R below what a sweep makes of them.
_SPARE = 2.0**8
# Each round takes some 45 bits of a condition, and each sweep doubles them.
_MOST_ROUNDS, _MOST_SWEEPS = 12, 12


class Refined(NamedTuple):
    """Q ``(m, k)`` and R ``(k, n)``, with proven bounds of their errors.

    `columnwise` bounds ``norm(a_j - Q r_j) / norm(a_j)``, and `orthogonality` the Frobenius norm
    of ``I - Q^H Q``.
    """

    q: Block
    r: Block
    columnwise: float
    orthogonality: float


def factor(
    backend: Backend, a: Block, *, columns: int, kind: Kind, callback: Callback | None = None
) -> Refined | None:
    """Factor one matrix ``(m, n)`` by sweeps of products.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    a : Block
        The matrix, finite, with columns scaled near 1.
    columns : int
        Those of Q: ``min(m, n)``, or m.
    kind : Kind
        That of the work, of two limbs or more.
    callback : callable, optional
        Called as ``callback("refine", done, total)`` after each sweep, with the most sweeps that
        there can be as `total` before the last one.

    Returns
    -------
    Refined or None
        Factors within ``20 n eps``, R with a positive diagonal; None where that cannot be shown:
        the matrix is too near to singular, or its rows are graded over the bits of the work.
    """
    count, field = min(a.shape[-2:]), kind.is_complex
    first = a[..., :count] if columns == count else _bordered(backend, a, columns, field)
    found = _corrected(backend, first, kind, callback)
    if found is None:
        return None
    r = found.r[..., :count]
    if a.shape[-1] == count:
        return found._replace(r=r)
    rest = _product(backend, found.q.swapaxes(-1, -2), a[..., count:], kind=kind, conj_a=True)
    # Of the square Q, I - Q Q^H is as small as I - Q^H Q.
    columnwise = found.orthogonality + 4.0 * _eps(kind) * (count**0.5 + 1.0)
    r = backend.xp.concatenate([r, rest], axis=-1)
    return found._replace(r=r, columnwise=max(found.columnwise, columnwise))


def _bordered(backend: Backend, a: Block, columns: int, is_complex: bool) -> Block:
    """Return a matrix and columns of float64 that are orthogonal to its own, to complete Q."""
    xp, n = backend.xp, int(a.shape[-1])
    q, _ = xp.linalg.qr(to_native(xp, a, is_complex), mode="complete")
    border = from_native(xp, q[:, n:columns], is_complex)
    border = planes.widen(border, is_complex, planes.limb_count(a, is_complex))
    return xp.concatenate([a, border], axis=-1)


def _corrected(backend: Backend, a: Block, kind: Kind, callback: Callback | None) -> Refined | None:
    """Factor a matrix with no more columns than rows; see `factor`."""
    with np.errstate(all="ignore"):
        start = _start(backend, a, kind)
        if start is None:
            return None
        run = _Run(backend, a, kind, start.condition)
        q, r, distance = start.q, start.r, start.distance
        most, before = _BOUND * run.columns * run.eps, inf
        for done in range(1, _MOST_SWEEPS + 1):
            plan = run.plan(distance)
            if plan is None:
                return None
            q, r, found = run.sweep(q, r, plan)
            left = run.left(found, plan)
            if not (found.largest <= _FARTHEST and max(left) <= before / 2):
                return None
            before = max(left)
            served = max(left) <= most
            if callback is not None:
                callback("refine", done, done if served else _MOST_SWEEPS)
            if served:
                q, r = (planes.widen(x, kind.is_complex, kind.limbs) for x in (q, r))
                return Refined(q, r, *left)
            distance = run.expected(found.largest, plan.low)
    return None


class _Start(NamedTuple):
    """Q of float64, R of as many limbs as it takes, the condition of R, and what they are worth."""

    q: Block
    r: Block
    condition: float
    distance: float


def _start(backend: Backend, a: Block, kind: Kind) -> _Start | None:
    """Return factors that a sweep can correct; None where the work has no room for them."""
    xp, field = backend.xp, kind.is_complex
    eps = precision_for(kind.limbs).eps
    b = to_native(xp, planes.first_limbs(a, field, 1), field)
    r: Block | None = None
    grown = 1.0
    for _ in range(_MOST_ROUNDS):
        q, found = _by_library(xp, b)
        last = from_native(xp, found, field)
        (worst,) = map(float, fetch(condition(_triangle(backend, last, Kind(1, field))).value))
        if not np.isfinite(worst):
            return None
        grown *= worst
        limbs = min(_limbs(grown / _U), kind.limbs)
        wide = Kind(precision_for(limbs).limbs, field)
        r = last if r is None else _cut(backend.matmul(last, r, kind=wide), field, limbs)
        distance = worst * _U * found.shape[-1] ** 0.5
        if distance <= _START:
            return _Start(from_native(xp, q, field), r, grown, distance)
        if not grown * eps <= _ROOM:
            return None
        wide = Kind(precision_for(_limbs(grown / _START)).limbs, field)
        over = _over(backend, r, planes.first_limbs(a, field, wide.limbs), wide)
        b = to_native(xp, over, field)
    return None


def _by_library(xp: ModuleType, b: Block) -> tuple[Block, Block]:
    """Return Q and R of float64, with a positive diagonal that is not lost beside its column."""
    q, r = xp.linalg.qr(b)
    r = xp.triu(r)
    diagonal, sizes = planes.diagonal(r), xp.abs(r).max(axis=-2)
    size = xp.abs(diagonal)
    turn = xp.where(size > 0, diagonal, 1.0) / xp.where(size > 0, size, 1.0)
    r = turn.conj()[:, None] * r
    planes.diagonal(r)[...] = xp.maximum(size, _U * xp.maximum(sizes, _U))
    return q * turn, r


def _limbs(ratio: float) -> int:
    """Return the limbs that hold a whole and what is so many times smaller."""
    return max(1, min(PRECISIONS[-1].limbs, ceil(log2(ratio) / _LIMB)))


def _cut(x: Block, is_complex: bool, limbs: int) -> Block:
    """Return `x` with the limbs of a precision, of which only the first ones are not zero."""
    kept = planes.first_limbs(x, is_complex, precision_for(limbs).limbs)
    (kept[:, limbs:] if is_complex else kept[limbs:])[...] = 0.0
    return kept


def _triangle(backend: Backend, r: Block, kind: Kind) -> Triangle:
    held = planes.first_limbs(r, kind.is_complex, kind.limbs)
    return Triangle(backend, held, kind=kind, function="qr", checks=Checks(ignore=True))


def _over(backend: Backend, r: Block, x: Block, kind: Kind) -> Block:
    """Return ``x R^-1``."""
    field = kind.is_complex
    return _adjoint(_triangle(backend, r, kind).solve(_adjoint(x, field), "C"), field)


def _adjoint(x: Block, is_complex: bool) -> Block:
    transposed = x.swapaxes(-1, -2)
    return planes.conjugate(transposed) if is_complex else transposed


class _Plan(NamedTuple):
    """The arithmetic of a sweep, that of E and F, and the limbs of the Q and R that it makes.

    Entries of E and F err by ``2**-bits`` times what is largest in their row and column of the
    factors, and by two roundings in `high`.
    """

    low: Kind
    high: Kind
    bits: int
    q: int
    r: int


class _Found(NamedTuple):
    """Frobenius norms of F, Y and T, and of the change of Q."""

    f: float
    y: float
    t: float
    dq: float

    @property
    def largest(self) -> float:
        """The largest one; NaN if one is."""
        return float(np.max(self))


class _Run:
    """Sweeps for one matrix, of which R has some condition."""

    def __init__(self, backend: Backend, a: Block, kind: Kind, condition: float) -> None:
        self.backend, self.a, self.kind, self.condition = backend, a, kind, condition
        self.rows, self.columns = map(int, a.shape[-2:])
        self.root, self.eps = self.columns**0.5, _eps(kind)

    def plan(self, distance: float) -> _Plan | None:
        """Return the fewest limbs that square a distance; None where all lose too much of it."""
        field, most = self.kind.is_complex, self.kind.limbs
        hoped = _HOPED * self.columns * self.eps
        for low in (Kind(p.limbs, field) for p in PRECISIONS if p.limbs <= most):
            if distance**2 <= hoped:
                found = _Found(*[distance] * len(_Found._fields))
                served = self._rounding(found, low) <= hoped and self._loss(low) <= _FARTHEST
            else:
                served = self._loss(low) <= _LOSS * distance
            if served:
                break
        else:
            if not self._loss(self.kind) <= _FARTHEST:
                return None
            low = self.kind
        # Cuts of R are found again as T; in the arithmetic of the work nothing is to be gained.
        ratio = _SPARE * self.root / (self.eps if low == self.kind else max(distance**2, self.eps))
        q, r = (min(most, _limbs(x)) for x in (ratio, ratio * self.condition))
        # Of E what arithmetic would lose again is not wanted, and of the last one nothing below
        # eps; but the square of what R makes of its errors is left in Q and R.
        wanted = max(_eps(low) * distance, min(self.eps, self.eps**0.5 / self.condition))
        found = next((p for p in PRECISIONS if p.eps <= wanted), PRECISIONS[-1])
        bits = ceil(-log2(max(wanted, found.eps)))
        return _Plan(low, Kind(found.limbs, field), bits, q, r)

    def expected(self, distance: float, low: Kind) -> float:
        """Return how far from a factorisation a sweep in `low` is likely to leave Q and R."""
        return max(distance**2, self._loss(low) * distance, self.eps)

    def _loss(self, low: Kind) -> float:
        """Return what rounding errors make of a solution with R, relative to it."""
        return _eps(low) * self.condition * self.root

    def sweep(self, q: Block, r: Block, plan: _Plan) -> tuple[Block, Block, _Found]:
        """Return corrected Q and R, and what was found."""
        backend, field, low = self.backend, self.kind.is_complex, plan.low
        a = planes.first_limbs(self.a, field, plan.high.limbs)
        e = _product(backend, q, r, kind=plan.high, bits=plan.bits, c=a)
        f = self._defect(q, plan)
        e, f, q_low, r_low = (planes.first_limbs(x, field, low.limbs) for x in (e, f, q, r))
        y = _over(backend, r, e, low)
        c = self._times(q_low.swapaxes(-1, -2), y, low, conj_a=True)
        c = backend.binary("add", c, _adjoint(c, field), kind=low)
        t = _half_upper(backend, backend.binary("subtract", c, f, kind=low), field)
        dq = self._times(q_low, t, low, c=y)
        dr = self._times(t, r_low, low)
        found = _Found(*map(float, fetch(*(_norm(x, field) for x in (f, y, t, dq)))))
        return self._sum(q, dq, plan.q), self._sum(r, dr, plan.r), found

    def _times(
        self, x: Block, y: Block, low: Kind, *, conj_a: bool = False, c: Block | None = None
    ) -> Block:
        """Return ``x y``, or ``c - x y``, in the arithmetic of a sweep; see `_rounding`."""
        (m, k), n = map(int, x.shape[-2:]), int(y.shape[-1])
        if exact.is_faster(self.backend, m, k, n, kind=low):
            return _product(self.backend, x, y, kind=low, conj_a=conj_a, c=c)
        options: dict[str, Any] = {"conj_a": conj_a, "c": c, "subtract": c is not None}
        return self.backend.matmul(x, y, kind=low, **options)

    def _sum(self, x: Block, change: Block, limbs: int) -> Block:
        field = self.kind.is_complex
        most = max(limbs, *(planes.limb_count(each, field) for each in (x, change)))
        wide = Kind(precision_for(most).limbs, field)
        return _cut(self.backend.binary("add", x, change, kind=wide), field, limbs)

    def left(self, found: _Found, plan: _Plan) -> tuple[float, float]:
        """Bound the errors that a sweep left, of columns and of orthogonality."""
        f, _, t, dq = found
        rounding = self._rounding(found, plan.low)
        # Of the sums that are the new Q and R, and of their cuts.
        limbs = min(plan.q, plan.r)
        kept = self.eps + (2.0 ** (1 - _LIMB * limbs) if limbs < self.kind.limbs else 0.0)
        high = 2.0**-plan.bits + 2.0 * _eps(plan.high)
        columnwise = rounding + dq * t + (high + kept) * (self.root + 1.0)
        orthogonality = 2.0 * (rounding + f * t + kept * self.root) + dq**2 + high * self.columns
        return _UP * columnwise, _UP * orthogonality

    def _rounding(self, found: _Found, low: Kind) -> float:
        """Bound what rounding errors in `low` change in columns of Q R, and in half of Q^H Q.

        Those of products and substitutions, for any order of their terms, and of sums.
        """
        f, y, t, _ = found
        unit = (max(self.rows, self.columns) + 20) * (2 if low.is_complex else 1) * _eps(low)
        return unit * (1.0 + self.root) * (y + t) + 4.0 * _eps(low) * f

    def _defect(self, q: Block, plan: _Plan) -> Block:
        """Return the upper part of ``I - Q^H Q``."""
        one = plan.high.identity(self.backend.xp, (self.columns, self.columns))
        options: dict[str, Any] = {"kind": plan.high, "bits": plan.bits, "conj_a": True}
        found = _product(self.backend, q.swapaxes(-1, -2), q, c=one, upper=True, **options)
        return self.backend.xp.triu(found)


def _product(
    backend: Backend,
    x: Block,
    y: Block,
    *,
    kind: Kind,
    bits: int | None = None,
    conj_a: bool = False,
    c: Block | None = None,
    upper: bool = False,
) -> Block:
    """Return ``x y``, or ``c - x y``, with x conjugated if so asked; NaN where it is beyond.

    With `upper`, what lies above the diagonal of the product of x and its transpose.

    Entries err by ``2**-bits``, or eps, times the largest ones of their row and column, and by two
    roundings.
    """
    terms = int(x.shape[-1])
    out = kind.empty(backend.xp, (int(x.shape[-2]), int(y.shape[-1])))
    bits = ceil(-log2(_eps(kind))) if bits is None else bits
    # Each operand loses half of what is allowed, in each of its terms.
    options: dict[str, Any] = {"bits": bits + terms.bit_length() + 2 + kind.is_complex}
    options |= {"kind": kind, "conj_a": conj_a, "scaled": False}
    options |= {"subtract": c is not None, "upper": upper}
    for run in slices(terms, MOST_TERMS):
        if run.start > 0:
            c = out
        parts = x[..., run], y[..., run, :]
        if not exact.multiply(cast(ExactProducts, backend), *parts, c=c, out=out, **options):
            out[...] = np.nan
            break
    return out


def _eps(kind: Kind) -> float:
    return precision_for(kind.limbs).eps


def _half_upper(backend: Backend, x: Block, is_complex: bool) -> Block:
    """Return the upper part of a Hermitian matrix with half its diagonal, which is made real."""
    x = backend.xp.triu(x)
    for limb in planes.flat_planes(x, is_complex):
        planes.diagonal(limb)[...] *= 0.5
    if is_complex:
        for limb in x[1]:
            planes.diagonal(limb)[...] = 0.0
    return x


def _norm(x: Block, is_complex: bool) -> Block:
    """Return the Frobenius norm of the leading limbs."""
    first = x[:, 0] if is_complex else x[0]
    return (first**2).sum() ** 0.5
