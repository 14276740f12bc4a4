"""QR from factors in float64, corrected by products to the precision of the work.

A sweep measures ``E = A - Q R`` and ``F = I - Q^H Q`` beyond the precision that Q and R have. With
``Y = E R^-1`` and ``C = Q^H Y``, to first order ``(I + T) R`` and ``Q + Y - Q T`` are the factors
of A, where T is the upper part of ``C + C^H - F`` with half its diagonal: ``A = (Q + dQ) (R + dR)``
and ``(Q + dQ)^H (Q + dQ) = I`` without terms of second order (G. W. Stewart 1993 and X.-W. Chang,
C. C. Paige, G. W. Stewart 1997 on the perturbation of QR). What is left is their square, so the
arithmetic of a sweep needs half of the bits it makes. ``R^-1`` is refined by Newton's iteration
from sweep to sweep, ``X + G X`` with ``G = I - X R`` (G. Schulz 1933), so that all but its start in
float64 is products. What a sweep left is bounded from the norms of E, F, Y, T, X and G and the
rounding errors of the sweep: no further products certify the factors.

Where A is too near to singular for float64, its R in float64 becomes the first of a product: ``A
R^-1``, in as many limbs as its cancellation takes, is factored in float64 again (S. M. Rump 2009
and T. Ogita 2010 on extremely ill-conditioned matrices).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, log2
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend, ExactProducts
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.parts import Shape, slices
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
# Orders of triangles that are inverted by substitution, panels of larger ones, and the power of a
# distance that the inverse may be off from sweep to sweep.
_SMALL, _PANELS, _STALE = 256, 4, 0.75
# Steps of power iteration, from an irregular vector.
_POWER_STEPS, _GOLDEN = 12, 0.6180339887498949
# Each round takes some 45 bits of a condition, and each sweep doubles them.
_MOST_ROUNDS, _MOST_SWEEPS = 12, 12


# Least orders of square matrices whose Q and R take less time than by reflections: on an H200, by
# `python -m benchmarks gpu-products --only factors`; on CPUs there are none.
_CROSSOVER = {
    "cuda": {Kind(p.limbs, field): 2048 for p in PRECISIONS[1:] for field in (False, True)},
}


class Refined(NamedTuple):
    """Q ``(m, k)`` and R ``(k, n)``, with proven bounds of their errors.

    `columnwise` bounds ``norm(a_j - Q r_j) / norm(a_j)``, and `orthogonality` the Frobenius norm
    of ``I - Q^H Q``.
    """

    q: Block
    r: Block
    columnwise: float
    orthogonality: float


def is_faster(backend: Backend, m: int, n: int, columns: int, *, kind: Kind) -> bool:
    """Return whether Q with so many columns, and R, take less time than by reflections."""
    least = _CROSSOVER.get(backend.name, {}).get(kind)
    # Columns that complete Q cost as much as others.
    return least is not None and min(m, n) >= least and columns <= 2 * n


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
        run = _Run(backend, a, kind, start)
        q, r, distance = start.q, start.r, start.distance
        most, before = _BOUND * run.columns * run.eps, inf
        for done in range(1, _MOST_SWEEPS + 1):
            plan = run.plan(distance)
            if plan is None:
                return None
            q, r, found = run.sweep(q, r, plan, distance)
            left = run.left(found, plan)
            worst = float(np.maximum(found.largest, found.stale))
            if not (worst <= _FARTHEST and max(left) <= before / 2):
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
    """Q of float64, R of as many limbs as it takes and its inverse, and what they are worth."""

    q: Block
    r: Block
    inverse: Block
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
        inverse = _inverse(backend, last, Kind(1, field))
        norms = (_spectral_norm(xp, x) for x in (found, to_native(xp, inverse, field)))
        worst = float(np.prod(fetch(*norms)))
        if not np.isfinite(worst):
            return None
        grown *= max(worst, 1.0)
        limbs = min(_limbs(grown / _U), kind.limbs)
        wide = Kind(precision_for(limbs).limbs, field)
        r = last if r is None else _cut(backend.matmul(last, r, kind=wide), field, limbs)
        distance = worst * _U * found.shape[-1] ** 0.5
        if distance <= _START:
            if r is not last:
                inverse = _inverse(backend, planes.first_limbs(r, field, wide.limbs), wide)
            return _Start(from_native(xp, q, field), r, inverse, grown, distance)
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


def _spectral_norm(xp: ModuleType, x: Block) -> Block:
    """Return the 2-norm by some steps of power iteration, 0-d."""
    rows = xp.arange(1.0, x.shape[-1] + 1.0)
    v, size = (rows * rows * _GOLDEN) % 1.0 - 0.5, xp.asarray(1.0)
    for _ in range(_POWER_STEPS):
        y = x @ (v / ((abs(v) ** 2).sum() ** 0.5))
        size = (abs(y) ** 2).sum() ** 0.5
        v = x.conj().T @ (y / size)
    return size


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


def _inverse(backend: Backend, r: Block, kind: Kind) -> Block:
    """Return the inverse of an upper triangle: of blocks by substitution, then by halves."""
    order, xp = int(r.shape[-1]), backend.xp
    parts = slices(order, _SMALL)
    blocks = kind.identity(xp, (len(parts), _SMALL, _SMALL))
    for block, part in enumerate(parts):
        width = part.stop - part.start
        blocks[..., block, :width, :width] = r[..., part, part]
    solved = _triangle(backend, blocks, kind).solve(kind.identity(xp, blocks.shape[kind.lead :]))
    x = kind.zeros(xp, (order, order))
    for block, part in enumerate(parts):
        width = part.stop - part.start
        x[..., part, part] = solved[..., block, :width, :width]
    _join_inverses(backend, r, x, parts, kind)
    return x


def _join_inverses(
    backend: Backend, r: Block, x: Block, parts: Sequence[slice], kind: Kind
) -> None:
    """Set what lies between the inverses of blocks on the diagonal."""
    half = len(parts) // 2
    if half == 0:
        return
    for some in (parts[:half], parts[half:]):
        _join_inverses(backend, r, x, some, kind)
    first, second = (
        slice(parts[0].start, parts[half].start),
        slice(parts[half].start, parts[-1].stop),
    )
    between = exact.matmul(backend, r[..., first, second], x[..., second, second], kind=kind)
    x[..., first, second] = exact.matmul(
        backend, x[..., first, first], between, c=x[..., first, second], subtract=True, kind=kind
    )


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
    """Frobenius norms: of I - X R, of F, Y, T and the change of Q, of E and of X."""

    stale: float
    f: float
    y: float
    t: float
    dq: float
    e: float
    x: float

    @property
    def largest(self) -> float:
        """The largest one of what a sweep corrects; NaN if one is."""
        return float(np.max([self.f, self.y, self.t, self.dq]))


class _Run:
    """Sweeps for one matrix, of which R has some condition and, about, some inverse."""

    def __init__(self, backend: Backend, a: Block, kind: Kind, start: _Start) -> None:
        self.backend, self.a, self.kind = backend, a, kind
        self.condition, self.inverse = start.condition, start.inverse
        self.rows, self.columns = map(int, a.shape[-2:])
        self.root, self.eps = self.columns**0.5, _eps(kind)
        self.hoped = _HOPED * self.columns * self.eps

    def plan(self, distance: float) -> _Plan | None:
        """Return the fewest limbs that square a distance; None where all lose too much of it."""
        field, most = self.kind.is_complex, self.kind.limbs
        for low in (Kind(p.limbs, field) for p in PRECISIONS if p.limbs <= most):
            if distance**2 <= self.hoped:
                found = _Found(0.0, *[distance] * 4, distance * self.root, 1.0)
                rounding = self._rounding(found, low) + self._over_rounding(found, low)
                served = rounding <= self.hoped and self._loss(low) <= _FARTHEST
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
        high = next((p for p in PRECISIONS if p.eps <= wanted), PRECISIONS[-1])
        bits = ceil(-log2(max(wanted, high.eps)))
        return _Plan(low, Kind(high.limbs, field), bits, q, r)

    def expected(self, distance: float, low: Kind) -> float:
        """Return how far from a factorisation a sweep in `low` is likely to leave Q and R."""
        return max(distance**2, self._loss(low) * distance, self.eps)

    def _loss(self, low: Kind) -> float:
        """Return what rounding errors make of a solution with R, relative to it."""
        return _eps(low) * self.condition * self.root

    def sweep(
        self, q: Block, r: Block, plan: _Plan, distance: float
    ) -> tuple[Block, Block, _Found]:
        """Return corrected Q and R, and what was found."""
        backend, field, low = self.backend, self.kind.is_complex, plan.low
        a = planes.first_limbs(self.a, field, plan.high.limbs)
        options: dict[str, Any] = {"kind": plan.high, "bits": plan.bits}
        e = _product(backend, q, r, c=a, shape="triangular", **options)
        adjoint, one = q.swapaxes(-1, -2), self._identity(plan.high)
        f = _product(backend, adjoint, q, conj_a=True, c=one, shape="gram", **options)
        e, f, q_low, r_low = (planes.first_limbs(x, field, low.limbs) for x in (e, f, q, r))
        x, stale = self._newton(r_low, low, distance)
        y = self._times(e, x, low, shape="triangular")
        c = self._times(q_low.swapaxes(-1, -2), y, low, conj_a=True)
        c = backend.binary("add", c, _adjoint(c, field), kind=low)
        t = _half_upper(backend, backend.binary("subtract", c, f, kind=low), field)
        dq = self._times(q_low, t, low, c=y, shape="triangular")
        dr = backend.xp.triu(self._times(t, r_low, low, shape="triangles"))
        f = backend.xp.triu(f)
        norms = map(float, fetch(*(_norm(each, field) for each in (f, y, t, dq, e, x))))
        found = _Found(stale, *norms)
        return self._sum(q, dq, plan.q), self._sum(r, dr, plan.r), found

    def _newton(self, r: Block, low: Kind, distance: float) -> tuple[Block, float]:
        """Return the inverse of R, refined if it is worth less than E, and what it leaves of I."""
        field, xp = self.kind.is_complex, self.backend.xp
        x = planes.first_limbs(self.inverse, field, low.limbs)
        g = xp.triu(self._times(x, r, low, c=self._identity(low), shape="triangles"))
        (size,) = map(float, fetch(_norm(g, field)))
        if size > max(distance**_STALE, self.hoped / distance):
            change = xp.triu(self._times(g, x, low, shape="triangles"))
            x = self.inverse = self._sum(x, change, low.limbs)
            size *= size
        return x, size

    def _identity(self, kind: Kind) -> Block:
        return kind.identity(self.backend.xp, (self.columns, self.columns))

    def _times(
        self,
        x: Block,
        y: Block,
        low: Kind,
        *,
        conj_a: bool = False,
        c: Block | None = None,
        shape: Shape = "full",
    ) -> Block:
        """Return ``x y``, or ``c - x y``, in the arithmetic of a sweep; see `_rounding`."""
        (m, k), n = map(int, x.shape[-2:]), int(y.shape[-1])
        if exact.is_faster(self.backend, m, k, n, kind=low):
            return _product(self.backend, x, y, kind=low, conj_a=conj_a, c=c, shape=shape)
        out = low.empty(self.backend.xp, (m, n))
        for panel in slices(n, n if shape == "full" else max(_SMALL, -(-n // _PANELS))):
            rows = slice(panel.stop if shape == "triangles" else m)
            terms = slice(k if shape == "full" else panel.stop)
            part = (..., rows, panel)
            addend = None if c is None else c[part]
            options: dict[str, Any] = {"conj_a": conj_a, "c": addend, "subtract": c is not None}
            left, right = x[..., rows, terms], y[..., terms, panel]
            self.backend.matmul(left, right, kind=low, out=out[part], **options)
        return out

    def _sum(self, x: Block, change: Block, limbs: int) -> Block:
        field = self.kind.is_complex
        most = max(limbs, *(planes.limb_count(each, field) for each in (x, change)))
        wide = Kind(precision_for(most).limbs, field)
        return _cut(self.backend.binary("add", x, change, kind=wide), field, limbs)

    def left(self, found: _Found, plan: _Plan) -> tuple[float, float]:
        """Bound the errors that a sweep left, of columns and of orthogonality."""
        rounding = self._rounding(found, plan.low)
        # Of the sums that are the new Q and R, and of their cuts.
        limbs = min(plan.q, plan.r)
        kept = self.eps + (2.0 ** (1 - _LIMB * limbs) if limbs < self.kind.limbs else 0.0)
        high = 2.0**-plan.bits + 2.0 * _eps(plan.high)
        columnwise = rounding + self._over_rounding(found, plan.low)
        columnwise += found.dq * found.t + (high + kept) * (self.root + 1.0)
        orthogonality = 2.0 * (rounding + found.f * found.t + kept * self.root)
        orthogonality += found.dq**2 + high * self.columns
        return _UP * columnwise, _UP * orthogonality

    def _rounding(self, found: _Found, low: Kind) -> float:
        """Bound what rounding errors in `low` change in columns of Q R, and in half of Q^H Q.

        Those of products with Q and R, for any order of their terms, and of sums.
        """
        unit = self._unit(low)
        return unit * (1.0 + self.root) * (found.y + found.t) + 4.0 * _eps(low) * found.f

    def _over_rounding(self, found: _Found, low: Kind) -> float:
        """Bound ``E - Y R``: E times what X leaves of I, and rounding errors of E X, X and G."""
        lost = self._unit(low) * found.x
        return 4.0 * found.e * (found.stale + (lost * self.root) ** 2 + lost)

    def _unit(self, low: Kind) -> float:
        """Bound errors of sums of products, relative to those of magnitudes."""
        return (max(self.rows, self.columns) + 20) * (2 if low.is_complex else 1) * _eps(low)


def _product(
    backend: Backend,
    x: Block,
    y: Block,
    *,
    kind: Kind,
    bits: int | None = None,
    conj_a: bool = False,
    c: Block | None = None,
    shape: Shape = "full",
) -> Block:
    """Return ``x y``, or ``c - x y``, with x conjugated if so asked; NaN where it is beyond.

    Shapes are those of `exact.multiply`; of upper parts the rest is not set.

    Entries err by ``2**-bits``, or eps, times the largest ones of their row and column, and by two
    roundings.
    """
    terms = int(x.shape[-1])
    out = kind.empty(backend.xp, (int(x.shape[-2]), int(y.shape[-1])))
    bits = ceil(-log2(_eps(kind))) if bits is None else bits
    runs = slices(terms, MOST_TERMS)
    if len(runs) > 1 and shape != "gram":
        shape = "full"
    # Each operand loses half of what is allowed, in each of its terms.
    options: dict[str, Any] = {"bits": bits + terms.bit_length() + 2 + kind.is_complex}
    options |= {"kind": kind, "conj_a": conj_a, "scaled": False}
    options |= {"subtract": c is not None, "shape": shape}
    for run in runs:
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
