"""Sweeps, each of which doubles the digits of Q and R, and bounds of what they left."""

from __future__ import annotations

from math import ceil, inf, log2
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._factor.refine.products import (
    LIMB,
    LOST,
    SCALE,
    Patterns,
    block_of,
    cut,
    eps_of,
    held,
    limbs_for,
    minus,
    product,
    square_of_norm,
    times,
    with_adjoint,
)
from mdqr.linalg._factor.refine.start import Start
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import half_of, precision_for, precision_with

# The distance from a factorisation at which a sweep of first order may still start.
FARTHEST = 2.0**-4
# For terms of third order, norms of R in place of those of A, and the arithmetic of bounds.
_UP = 1.0 + 2.0**-7
# The part of a bound of 20 n eps that a prediction leaves for unknown errors.
_HOPED = 5.0
# The loss of a correction by arithmetic, times what the correction leaves.
_LOSS = 16.0
# Bits of Q and R below what a sweep makes of them.
_SPARE = 2.0**8
# The power of a distance that the inverse may be off, and how many times T a change of R is
# expected to add: 1 to 25 were seen, 130 for a condition of 1e14.
_STALE, _TURNED = 0.75, 16.0
# Rows of R and columns of its inverse are graded as far as R is near to singular: conditions above
# are worth a look at that.
_GRADED = 2.0**20
# More limbs than squares of their eps have a range for.
_MOST_LIMBS = 8


class Plan(NamedTuple):
    """The arithmetic of a sweep, and that of E and F.

    Entries of E and F have errors of ``2**-bits`` times what is largest in their row and column of
    the factors, and of two roundings in `high`.
    """

    low: Kind
    high: Kind
    bits: int


class Found(NamedTuple):
    """Frobenius norms: of I - X R, of the upper part of F, of T and the change of Q, of E and X."""

    stale: float
    f: float
    t: float
    dq: float
    e: float
    x: float

    @property
    def y(self) -> float:
        """A bound of that of Y, which is the change of Q, and Q T."""
        return self.dq + (1.0 + self.whole_f) * self.t

    @property
    def whole_f(self) -> float:
        """A bound of that of F, which is Hermitian."""
        return 2.0**0.5 * self.f

    @property
    def largest(self) -> float:
        """The largest one of what a sweep corrects; NaN if one is."""
        return float(np.max([self.f, self.t, self.dq]))


class Sweeps:
    """Sweeps for one matrix, of which R has some condition and, about, some inverse."""

    def __init__(
        self, backend: Backend, a: Block, kind: Kind, start: Start, patterns: Patterns
    ) -> None:
        self.backend, self.a, self.kind, self.patterns = backend, a, kind, patterns
        self.condition, self.inverse, self.size = start.condition, start.inverse, start.size
        self.graded = self.condition > _GRADED
        # The rest of I that the inverse is expected to leave.
        self.stale = start.distance
        self.rows, self.columns = map(int, a.shape[-2:])
        self.root, self.eps = self.columns**0.5, eps_of(kind)
        self.hoped = _HOPED * self.columns * self.eps

    def plan(self, distance: float) -> Plan | None:
        """Return the fewest limbs that square a distance; None where all lose too much of it."""
        field, most = self.kind.is_complex, self.kind.limbs
        for low in (Kind(p.limbs, field) for p in PRECISIONS if p.limbs <= most):
            if distance**2 <= self.hoped:
                d = distance
                found = Found(stale=0.0, f=d, t=d, dq=d, e=d * self.root, x=1.0)
                rounding = self._rounding(found, low) + self._over_rounding(found, low)
                served = rounding <= self.hoped and self._loss(low) <= FARTHEST
            else:
                served = self._loss(low) <= _LOSS * distance
            if served:
                break
        else:
            if not self._loss(self.kind) <= FARTHEST:
                return None
            low = self.kind
        # Of E what arithmetic would lose again is not wanted, and of the last one nothing below
        # eps; but the square of what R makes of its errors is left in Q and R.
        wanted = max(eps_of(low) * distance, min(self.eps, self.eps**0.5 / self.condition))
        high = precision_with(wanted)
        bits = ceil(-log2(max(wanted, high.eps)))
        return Plan(low, Kind(high.limbs, field), bits)

    def expected(self, distance: float, low: Kind) -> float:
        """Return how far from a factorisation a sweep in `low` is likely to leave Q and R."""
        return max(distance**2, self._loss(low) * distance, self.eps)

    def _loss(self, low: Kind) -> float:
        """Return what rounding errors make of a solution with R, relative to it."""
        return eps_of(low) * self.condition * self.root

    def sweep(self, q: Block, r: Block, plan: Plan, distance: float) -> tuple[Block, Block, Found]:
        """Return corrected Q and R, and what was found."""
        backend, field, low = self.backend, self.kind.is_complex, plan.low
        a = planes.first_limbs(self.a, field, plan.high.limbs)
        options: dict[str, Any] = {"kind": plan.high, "bits": plan.bits}
        squares, scale = backend.xp.empty(5), SCALE if self.kind.limbs > _MOST_LIMBS else 1.0
        norms = [squares[i, ...] for i in range(5)]
        e = held(backend, product(backend, q, r, c=a, shape="triangular", **options), low)
        square_of_norm(backend, e, low, norms[0], scale)
        q_low, r_low = (held(backend, factor, low) for factor in (q, r))
        x, change = self._newton(r_low, low, distance, norms[1])
        y = times(backend, e, x, kind=low, shape="triangular", scaled=self.graded)
        del e, x
        adjoint, one = q.swapaxes(-1, -2), self.patterns.one
        f = product(backend, adjoint, q, conj_a=True, c=one, shape="gram", **options)
        f = self.patterns.upper(backend, held(backend, f, low))
        square_of_norm(backend, f, low, norms[2], scale)
        c = times(backend, q_low.swapaxes(-1, -2), y, kind=low, conj_a=True)
        t = minus(backend, with_adjoint(backend, c, low), f, low)
        del c, f
        t = self.patterns.half_upper(backend, t, low)
        square_of_norm(backend, t, low, norms[3], scale)
        dq = times(backend, q_low, t, kind=low, c=y, shape="triangular")
        square_of_norm(backend, dq, low, norms[4], scale)
        dr = times(backend, t, r_low, kind=low, shape="triangles", scaled=self.graded)
        e, stale, f, t, moved = map(float, np.sqrt(fetch(squares)[0]) + LOST)
        e, f, t, moved = (norm / scale for norm in (e, f, t, moved))
        before = inf
        if change is not None:
            # Of I, times a column of R.
            left = stale**2 + self._unit(change) * stale * self.size
            before, stale, self.size = stale, left, self.size * (1.0 + stale)
            if not stale <= FARTHEST:
                stale, self.size = self._measured(r_low, low)
        if FARTHEST < stale < before / 2:
            # The inverse was worth less than expected, as where T is large beside rows of R^-1.
            self.stale = stale
            del y, dq, dr, q_low, r_low
            return self.sweep(q, r, plan, distance)
        found = Found(stale, f, t, moved, e, self.size)
        self.stale = stale + _TURNED * t
        first, second = self._limbs(found, low)
        dq, dr = (block_of(change, low) for change in (dq, dr))
        return self._sum(q, dq, first), self._sum(r, dr, second), found

    def _wanted(self, distance: float) -> float:
        """Return how much of I the inverse may leave to be worth E."""
        return min(FARTHEST, max(distance**_STALE, self.hoped / distance))

    def _measured(self, r: Block, low: Kind) -> tuple[float, float]:
        """Return the norms of ``I - X R``, which may be far below the square of before, and of X.

        ``X T R``, for a change T of R, has the powers of T: its norm may be as much larger as R is
        near to singular.
        """
        backend, squares = self.backend, self.backend.xp.empty(2)
        x, one = held(backend, self.inverse, low), self.patterns.identity(low)
        g = times(backend, x, r, kind=low, c=one, shape="triangles", scaled=self.graded)
        for each, out in ((g, squares[0, ...]), (x, squares[1, ...])):
            square_of_norm(backend, each, low, out)
        left, size = map(float, np.sqrt(fetch(squares)[0]) + LOST)
        return left, size

    def _limbs(self, found: Found, low: Kind) -> tuple[int, int]:
        """Return the limbs that hold what a sweep makes of Q and of R."""
        # Cuts of R are found again as T; in the arithmetic of the work nothing is to be gained.
        left = self.eps if low == self.kind else max(self.eps, found.largest**2)
        ratio = _SPARE * self.root / (left if left < 1.0 else 1.0)  # NaN, too
        q, r = (min(self.kind.limbs, limbs_for(x)) for x in (ratio, ratio * self.condition))
        return q, r

    def _newton(
        self, r: Block, low: Kind, distance: float, norm: Block
    ) -> tuple[Block, Kind | None]:
        """Return the inverse of R, refined if it is likely to be worth less than E.

        And the arithmetic of its change, if there was one. The square of the norm of
        ``G = I - X R``, before, is written to `norm`: to wait for it would take longer than
        products that were not needed.
        """
        backend, field = self.backend, self.kind.is_complex
        x, one = held(backend, self.inverse, low), self.patterns.identity(low)
        g = times(backend, x, r, kind=low, c=one, shape="triangles", scaled=self.graded)
        square_of_norm(backend, g, low, norm)
        if self.stale <= self._wanted(distance):
            return x, None
        # Half of the limbs, unless what they lose of the change is more than its square leaves.
        kind = low._replace(limbs=half_of(low.limbs))
        kind = kind if eps_of(kind) * self.size <= self.stale else low
        g, x = (held(backend, v, kind) for v in (block_of(g, low), self.inverse))
        change = times(backend, g, x, kind=kind, shape="triangles", scaled=self.graded)
        change = block_of(change, kind)
        x = planes.first_limbs(self.inverse, field, low.limbs)
        self.inverse = self._sum(x, change, low.limbs)
        return held(backend, self.inverse, low), kind

    def _sum(self, x: Block, change: Block, limbs: int) -> Block:
        field = self.kind.is_complex
        most = max(limbs, *(planes.limb_count(each, field) for each in (x, change)))
        wide = Kind(precision_for(most).limbs, field)
        return cut(self.backend.binary("add", x, change, kind=wide), field, limbs)

    def left(self, found: Found, plan: Plan) -> tuple[float, float]:
        """Bound the errors that a sweep left, of columns and of orthogonality."""
        rounding = self._rounding(found, plan.low)
        # Of the sums that are the new Q and R, and of their cuts.
        limbs = min(self._limbs(found, plan.low))
        kept = self.eps + (2.0 ** (1 - LIMB * limbs) if limbs < self.kind.limbs else 0.0)
        high = 1.5 * 2.0**-plan.bits + 2.0 * eps_of(plan.high)
        columnwise = rounding + self._over_rounding(found, plan.low)
        columnwise += found.dq * found.t + (high + kept) * (self.root + 1.0)
        orthogonality = 2.0 * (rounding + found.whole_f * found.t + kept * self.root)
        orthogonality += found.dq**2 + high * self.columns
        return _UP * columnwise, _UP * orthogonality

    def _rounding(self, found: Found, low: Kind) -> float:
        """Bound what rounding errors in `low` change in columns of Q R, and in half of Q^H Q.

        Those of products with Q and R, for any order of their terms, and of sums.
        """
        unit = self._unit(low)
        return unit * (1.0 + self.root) * (found.y + found.t) + 4.0 * eps_of(low) * found.f

    def _over_rounding(self, found: Found, low: Kind) -> float:
        """Bound ``E - Y R``: E times what X leaves of I, and rounding errors of E X, X and G."""
        lost = self._unit(low) * found.x
        if not lost <= 1.0:
            return inf
        return 4.0 * found.e * (found.stale + (lost * self.root) ** 2 + lost)

    def _unit(self, low: Kind) -> float:
        """Bound errors of sums of products, relative to those of magnitudes."""
        return (max(self.rows, self.columns) + 20) * (2 if low.is_complex else 1) * eps_of(low)
