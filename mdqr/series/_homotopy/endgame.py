"""Ends of paths: regular, singular with a winding number, or at infinity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.path_calls import PathGoal
from mdqr._functions.creation import array
from mdqr._precision import PRECISIONS, Precision
from mdqr.series._homotopy import loops
from mdqr.series._homotopy.homotopy import Homotopy, condition, doubles, noise, part_of_x0
from mdqr.series._homotopy.tracker import FAILED as LOST
from mdqr.series._homotopy.tracker import (
    Paths,
    advance,
    by_kernel,
    in_double,
    in_precision,
)

# Where the end begins, the ratio of radii from there on, and how many there are for a limb: of four
# limbs or more so many that x0 becomes small on the way to infinity, also as a root of s.
BEGIN, RATIO, _RADII, _MORE_RADII = 0.1, 4.0, 18, 45
# Steps from one radius to the next, at most.
_MOST_STEPS = 2000
UNDECIDED, REGULAR, SINGULAR, INFINITY, FAILED = range(5)
# Ends with worse conditions are singular.
MOST_CONDITION = 1e9
# The valuation of x0 tends to a positive number on the way to infinity, else to zero: it is taken
# for settled where it changes by so little from one radius to the next, and less each time.
_KNOWN = 3
_SETTLED, _EXACT, _LEAST_VALUATION, _LAST_RADIUS = 0.05, 1e-9, 0.05, 2e-3
_SMALL_X0 = {False: 1e-3, True: 1e-14}
# A finite end moves the valuation by its part of x0 now: it is less than this, else not infinite.
_LEAST_X0 = 1e-8
# Loops from this radius on, for paths whose valuation is no larger, and for their cycles.
_LOOPS, _MOST_VALUATION = 1e-3, 0.1
# Points may have errors as large as this; else the next precision is taken.
NOISE = 1e-8
# Pairs of Newton's corrections in qd, and the size of the last ones at a regular end.
_CALLS, _REGULAR = 3, 1e-24
# What counts as zero where large solutions are as likely as infinity.
_ZERO = 1e-45
# From this radius on ends of generic homotopies are singular ones at infinity.
_LATE = 1e-10
# From this radius on loops are made at two radii of so many.
_DEEP, _SELDOM = 1e-40, 6
# Ends of two radii are the same within this.
_SAME_END = 1e-8


@dataclass
class Ends:
    """The ends of paths.

    Attributes
    ----------
    kind : numpy.ndarray
        REGULAR, SINGULAR, INFINITY or FAILED, or UNDECIDED before.
    x : numpy.ndarray
        Their ends ``(v, paths)``, complex128.
    winding : numpy.ndarray
        The winding numbers of singular ends, else 1.
    cycle : numpy.ndarray
        A number that the paths of one cycle share, else -1.
    points : numpy.ndarray
        Where paths with singular ends were on the last loop ``(v, paths)``.
    radius : numpy.ndarray
        And the radius of that loop, else 0.
    """

    kind: np.ndarray
    x: np.ndarray
    winding: np.ndarray
    cycle: np.ndarray
    points: np.ndarray
    radius: np.ndarray

    @classmethod
    def unknown(cls, variables: int, count: int) -> Ends:
        """Return the ends of paths of which nothing is known."""
        return cls(
            np.zeros(count, np.int8), np.zeros((variables, count), complex),
            np.ones(count, int), np.full(count, -1), np.zeros((variables, count), complex),
            np.zeros(count),
        )  # fmt: skip

    def put(self, which: np.ndarray, other: Ends) -> None:
        """Take the ends of some paths."""
        start = self.cycle.max(initial=-1) + 1
        self.kind[which], self.x[:, which] = other.kind, other.x
        self.winding[which], self.points[:, which] = other.winding, other.points
        self.radius[which] = other.radius
        self.cycle[which] = np.where(other.cycle < 0, -1, other.cycle + start)


def finish(
    homotopy: Homotopy,
    paths: Paths,
    most: Precision,
    *,
    first: int = 1,
    radii: int | None = None,
    tolerance: float,
) -> Ends:
    """Follow paths from ``BEGIN / 4**(first - 1)`` to their ends.

    Those that a precision loses go on in the next one, up to `most`. With `radii` no further than
    to so many: others are undecided then.
    """
    run = _Run(homotopy, paths, most, tolerance)
    limbs = (homotopy.precision or PRECISIONS[0]).limbs
    last = (_RADII if limbs < 4 else _MORE_RADII) * limbs
    hard = run.ill_conditioned()
    run.refine(hard, paths[hard], first)
    if radii is not None:
        last = first + radii - 1
    for k in range(first, last + 1):
        lost, before = run.advance(BEGIN / RATIO**k)
        run.refine(*run.without_x0(lost, before), k)
        if not run.live.size:
            break
        run.valuations()
        run.loops()
        hard = run.ill_conditioned()
        run.refine(hard, paths[hard], k + 1)
    if radii is None:
        run.refine(run.live, paths[run.live], last + 1)
    return run.ends


def _more_precise(
    homotopy: Homotopy, paths: Paths, most: Precision, first: int, tolerance: float
) -> Ends:
    """Go on with paths, which are at the radius before `first`, in the next precision."""
    now = homotopy.precision or PRECISIONS[0]
    if now >= most:
        ends = Ends.unknown(homotopy.variables, len(paths))
        ends.kind[:] = FAILED
        return ends
    higher = now.next
    moved = in_precision(in_double(paths) if homotopy.precision is None else paths, higher)
    moved.held[:] = 0
    return finish(homotopy.within(higher), moved, most, first=first, tolerance=tolerance)


class _Run:
    """Paths of one precision between the last tenth and their ends."""

    def __init__(self, homotopy: Homotopy, paths: Paths, most: Precision, tolerance: float) -> None:
        self._homotopy, self._paths, self._most, self._tolerance = homotopy, paths, most, tolerance
        count = len(paths)
        self.ends = Ends.unknown(homotopy.variables, count)
        self._may_jump = np.ones(count, bool)
        self._valuation = np.full((_KNOWN, count), np.nan, complex)
        self._leaving = np.zeros(count, bool)
        self._last_end = np.full((homotopy.variables, count), np.nan, complex)
        self._last_winding = np.zeros(count, int)
        self._radius = BEGIN
        self._looped = 0

    @property
    def live(self) -> np.ndarray:
        """The paths that are not decided."""
        return np.flatnonzero(self.ends.kind == UNDECIDED)

    def refine(self, which: np.ndarray, paths: Paths, first: int) -> None:
        """Take the ends of paths, which are at the radius before `first`, in the next precision."""
        if which.size:
            ends = _more_precise(self._homotopy, paths, self._most, first, self._tolerance)
            self.ends.put(which, ends)

    def advance(self, radius: float) -> tuple[np.ndarray, Paths]:
        """Follow all paths to a radius, or to zero; return those that are lost, before it."""
        live = self.live
        before = self._paths[live]
        jump = self._may_jump[live]
        state = np.zeros(len(live), np.int8)
        state[jump] = self._to(radius, live[jump], True)
        there = live[jump & (self._paths.s[live] == 0)]
        bad = self._at_zero(there)
        if bad.size:
            places = np.searchsorted(live, bad)
            self._paths[bad] = before[places]
            self._may_jump[bad] = False
        late = ~self._may_jump[live]
        state[late] = self._to(radius, live[late], False)
        self._radius = radius
        lost = state == LOST
        if lost.any() and radius < _LOOPS:
            # Those of one cycle shall stay together.
            lost |= (self.ends.kind[live] == UNDECIDED) & ~self._leaving[live]
        return live[lost], before[np.flatnonzero(lost)]

    def without_x0(self, lost: np.ndarray, before: Paths) -> tuple[np.ndarray, Paths]:
        """Decide paths whose x0 is a rounding error, and return the others."""
        x = doubles(self._paths.x[:, lost])
        far = part_of_x0(self._homotopy, x) < self._homotopy.no_x0
        self.ends.kind[lost[far]] = kind_without_x0(self._homotopy)
        self.ends.x[:, lost[far]] = x[:, far]
        return lost[~far], before[np.flatnonzero(~far)]

    def _to(self, radius: float, which: np.ndarray, jump: bool) -> np.ndarray:
        return advance(
            self._homotopy, self._paths, which, radius,
            tolerance=self._tolerance, least=1e-11 * radius, jump=jump, most=_MOST_STEPS,
        )  # fmt: skip

    def _at_zero(self, which: np.ndarray) -> np.ndarray:
        """Decide paths whose end is regular; return the others."""
        if not which.size:
            return which
        x = doubles(self._paths.x[:, which])
        zero = np.zeros(len(which), complex)
        good = condition(self._homotopy, x, zero) < MOST_CONDITION
        good &= noise(self._homotopy, x, zero) < NOISE
        if self._homotopy.precision is not None:
            good[~good] = last_corrections(self._homotopy, x[:, ~good])[0] < _REGULAR
        here = which[good]
        far, points = is_at_infinity(self._homotopy, x[:, good])
        self.ends.kind[here] = np.where(far, INFINITY, REGULAR)
        self.ends.x[:, here] = points
        return which[~good]

    def valuations(self) -> None:
        """Decide paths to infinity by the valuation of x0."""
        live, paths = self.live, self._paths
        x, tangent = doubles(paths.x[:, live]), paths.tangent[:, live]
        with np.errstate(divide="ignore", invalid="ignore"):
            both = self._radius * tangent[0] / x[0]
        v, known = both.real, np.concatenate([self._valuation[:, live], both[None]])
        changes = abs(np.diff(known, axis=0))
        # On the way past a large finite solution changes grow.
        smaller = (changes[1:] < changes[:-1]) | (changes[1:] < _EXACT)
        settled = smaller.all(axis=0) & (changes < _SETTLED * abs(v)).all(axis=0)
        ratio = part_of_x0(self._homotopy, x)
        far = settled & (v > _LEAST_VALUATION) & (self._radius < _LAST_RADIUS)
        # Where large solutions are as likely as infinity, x0 has to be smaller.
        near = far & (ratio < _SMALL_X0[self._homotopy.generic])
        if not self._homotopy.generic:
            near &= ratio * changes.max(axis=0) < _LEAST_X0 * v
        kind = np.where(near, INFINITY, kind_without_x0(self._homotopy))
        far = near | (ratio < self._homotopy.no_x0)
        self._leaving[live] = v > _MOST_VALUATION
        self._valuation[:, live] = known[1:]
        self.ends.kind[live[far]] = kind[far]
        self.ends.x[:, live[far]] = x[:, far]

    def ill_conditioned(self) -> np.ndarray:
        """Return paths near the end of the digits of the precision, unless it is the highest."""
        now = self._homotopy.precision or PRECISIONS[0]
        which = self.live[~self._leaving[self.live]]
        if now >= self._most or not which.size:
            return which[:0]
        x, s = doubles(self._paths.x[:, which]), self._paths.s[which]
        return which[noise(self._homotopy, x, s) > NOISE]

    def loops(self) -> None:
        """Decide paths by loops around zero."""
        live, radius = self.live, self._radius
        self._looped += radius <= _LOOPS
        if radius > _LOOPS or (radius < _DEEP and self._looped % _SELDOM > 1):
            return
        staying = np.flatnonzero(~self._leaving[live])
        found = loops.turn(self._homotopy, self._paths[live], radius, staying)
        known = np.zeros(len(live), int)
        points = np.full((self._homotopy.variables, len(live)), np.nan, complex)
        for cycle in loops.cycles(self._homotopy, found):
            own = cycle.members[cycle.members < len(live)]
            members, w = live[own], cycle.winding
            near = abs(self._last_end[:, members] - cycle.end[:, None]).max(axis=0)
            same = (self._last_winding[members] == w) & (near < _SAME_END * abs(cycle.end).max())
            if same.all():
                self._decide(members, w, cycle.end)
            known[own], points[:, own] = w, cycle.end[:, None]
        self._last_winding[live], self._last_end[:, live] = known, points

    def _decide(self, members: np.ndarray, w: int, end: np.ndarray) -> None:
        ends = self.ends
        size = abs(end).max()
        last, point = last_corrections(self._homotopy, end[:, None])
        singular = w > 1 or not last < _REGULAR
        far = abs(end[0]) < _SAME_END * size
        if far and self._homotopy.generic:
            # It may be a large solution.
            if not singular:
                end = point[:, 0]
                far = abs(end[0]) < _REGULAR * size
            elif self._radius > _LATE:
                return
        ends.kind[members] = INFINITY if far else SINGULAR if singular else REGULAR
        ends.x[:, members] = end[:, None]
        ends.winding[members], ends.points[:, members] = w, doubles(self._paths.x[:, members])
        ends.radius[members] = self._radius
        ends.cycle[members] = ends.cycle.max(initial=-1) + 1


def kind_without_x0(homotopy: Homotopy) -> int:
    """Return the kind of ends whose x0 is as small as rounding errors.

    Of generic homotopies they may be large solutions.
    """
    return FAILED if homotopy.generic else INFINITY


def is_at_infinity(homotopy: Homotopy, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find for regular ends whether x0 is zero, and return them with a refined x0.

    Newton's steps in qd make a rounding error less.
    """
    size = abs(x).max(axis=0)
    doubtful = np.flatnonzero(abs(x[0]) < 1e-3 * size)
    found, refined = np.zeros(x.shape[1], bool), x.copy()
    _, points = last_corrections(homotopy, x[:, doubtful])
    least = _ZERO if homotopy.generic else _REGULAR
    found[doubtful] = abs(points[0]) < least * size[doubtful]
    refined[:, doubtful] = points
    return found, refined


def last_corrections(homotopy: Homotopy, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the relative size of the last of some of Newton's corrections in qd, and the points.

    Corrections of a regular end lose at least 8 digits each, at a singular one a factor.
    """
    if not x.shape[1]:
        return np.zeros(0), x
    before, point = corrected(homotopy, x)
    size = abs(x).max(axis=0)
    last = abs(doubles(point - before)).max(axis=0) / size
    return np.where(np.isnan(last), np.inf, last), doubles(point)


def corrected(homotopy: Homotopy, x: np.ndarray) -> tuple[MDArray, MDArray]:
    """Return ends in qd before and after the last of some pairs of Newton's corrections."""
    qd, every = PRECISIONS[2], np.arange(x.shape[1])
    before = point = array(x, precision=qd)
    goal = PathGoal(0.0, 1.0, 1.0, 1.0)
    for _ in range(_CALLS):
        # Two corrections at s = 0.
        paths, before = Paths.at(point, 0.0), point
        by_kernel(homotopy.within(qd).tables, paths, every, goal, homotopy.device)
        point = paths.x
    return before, point
