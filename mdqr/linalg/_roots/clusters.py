"""All roots of a polynomial in disks that do not meet: multiple ones together."""

from __future__ import annotations

from itertools import pairwise
from math import inf

from mdqr._progress import Reporter
from mdqr.linalg._roots.aberth import moved, starts
from mdqr.linalg._roots.dyadic import Point, Polynomial, Taylor, log_of
from mdqr.linalg._roots.isolation import MOST_BITS, Disk, centred, isolated

_FIRST_BITS = 128
# Steps of Aberth's iteration for each number of bits.
_STEPS = 24
# How much farther than its members the next point is from a cluster, in bits.
_GAP = 3
# So many groups are tried for each point.
_GROUPS = 3


class Search:
    """The disks found so far, and points near the other roots."""

    def __init__(
        self,
        p: Polynomial,
        target: int,
        points: list[Point] | None = None,
        report: Reporter | None = None,
    ) -> None:
        self.p, self.target, self.report = p, target, report
        self.disks: list[Disk] = []
        self.is_close = False
        self.pending = starts(p) if points is None else points
        if p.is_real:
            self.pending = _symmetric(self.pending)

    def run(self) -> bool:
        """Search; return whether disks with all roots were found that do not meet."""
        self._isolate(0)
        self._finish(_FIRST_BITS)
        return not self.pending and sum(disk.multiplicity for disk in self.disks) == self.p.degree

    def _finish(self, bits: int) -> None:
        """Look for what is left with more and more bits."""
        while self.pending and bits <= MOST_BITS:
            self._gather(bits)
            if self.pending:
                self._move(bits)
                self._isolate(bits)
            bits *= 2

    def _isolate(self, bits: int) -> None:
        """Look for disks of single roots about the points."""
        left: list[Point] = []
        known: dict[Point, Disk] = {}
        found: list[tuple[Disk, Point | None]] = []
        for z in self.pending:
            disk = known.get(z.conj()) if self.p.is_real and z.im else None
            disk = disk or self._single(z, bits)
            if disk is None:
                left.append(z)
                continue
            found.append((disk, z))
            if self.report is not None:
                done = sum(disk.multiplicity for disk in self.disks) + len(found)
                self.report("roots", done, self.p.degree)
            if self.p.is_real and z.im:
                known[z] = disk._replace(z=disk.z.conj())
        self.disks, again, close = apart([*((disk, None) for disk in self.disks), *found])
        self.pending, self.is_close = left + again, self.is_close or close

    def _single(self, z: Point, bits: int) -> Disk | None:
        if self.p.is_real and z.is_nearly_real:
            found = isolated(self.p, z.real(), self.target, bits)
            if found is not None:
                return found
        return isolated(self.p, z, self.target, bits)

    def _is_known(self, found: Disk) -> bool:
        """Return whether a disk meets one that was found before."""
        return any(meet(found, other) for other in self.disks)

    def _gather(self, bits: int) -> None:
        """Look for disks of several roots."""
        self.is_close = True
        tried: set[frozenset[int]] = set()
        k = 0
        while k < len(self.pending):
            found = None
            for members in self._groups(k):
                if members in tried:
                    continue
                tried.add(members)
                found = self._cluster([self.pending[i] for i in members], bits)
                if found is not None:
                    self.pending = [z for i, z in enumerate(self.pending) if i not in members]
                    self.disks += found
                    tried.clear()
                    break
            k = 0 if found is not None else k + 1

    def _groups(self, k: int) -> list[frozenset[int]]:
        """Return groups of points with point k that lie apart from all others, best ones first."""
        z = self.pending[k]
        logs = [(_distance(z, other), i) for i, other in enumerate(self.pending) if i != k]
        logs += [(_distance(z, disk.z), -1) for disk in self.disks]
        logs.sort()
        logs.append((inf, -1))
        widest = z.log - 2 - self.p.degree.bit_length()
        found: list[tuple[float, int]] = []
        for j, ((last, i), (log, _)) in enumerate(pairwise(logs)):
            if i < 0 or last > widest:
                break
            if log - last > _GAP:
                found.append((log - last, j + 1))
        found.sort(reverse=True)
        return [frozenset([k, *(i for _, i in logs[:j])]) for _, j in found[:_GROUPS]]

    def _cluster(self, members: list[Point], bits: int) -> list[Disk] | None:
        """Return disks of the roots near some points, None where nothing is proven."""
        m, z = len(members), _mean(members)
        if z is None:
            return None
        while True:
            found = self._centred(z, m, bits)
            if found is None or found.radius <= -self.target:
                break
            taylor = self.p.taylor(found.z, bits, m)
            if _is_split(taylor, m):
                return self._parts(taylor, found, bits)
            if bits >= MOST_BITS:
                break
            more = m * (self.target + found.radius) + 16
            bits, z = min(bits + int(more), MOST_BITS), found.z
        return None if found is None or self._is_known(found) else [found]

    def _centred(self, z: Point, m: int, bits: int) -> Disk | None:
        if self.p.is_real and z.is_nearly_real:
            found = centred(self.p, z.real(), m, self.target, bits)
            if found is not None:
                return found
        return centred(self.p, z, m, self.target, bits)

    def _parts(self, taylor: Taylor, disk: Disk, bits: int) -> list[Disk] | None:
        """Return disks of the roots of the polynomial that the first terms are."""
        m = disk.multiplicity
        shifts = [max(taylor.shifts) - shift for shift in taylor.shifts]
        re = [x << s for (x, _), s in zip(taylor.parts, shifts, strict=True)]
        im = [y << s for (_, y), s in zip(taylor.parts, shifts, strict=True)]
        if not (re[0] or im[0]):
            re[0] = 1
        local = starts(Polynomial(re, im if any(im) else None))
        points = [disk.z.moved(step) for step in local]
        if self.p.is_real and not disk.z.im:
            points = _symmetric(points)
        inner = Search(self.p, self.target, points)
        # Where roots lie near each other a disk is proven of points that are nearer still.
        inner._move(2 * bits)
        inner._isolate(2 * bits)
        if len(inner.pending) < m:
            inner._finish(2 * bits)
        if inner.pending or any(self._is_known(found) for found in inner.disks):
            return None
        return inner.disks

    def _move(self, bits: int) -> None:
        """Move the points that are left by Aberth's iteration."""
        points = self.pending + [disk.z for disk in self.disks for _ in range(disk.multiplicity)]
        active = list(range(len(self.pending)))
        for _ in range(_STEPS):
            active = moved(self.p, points, active, bits)
            if not active:
                break
        self.pending = points[: len(self.pending)]


def apart(found: list[tuple[Disk, Point | None]]) -> tuple[list[Disk], list[Point], bool]:
    """Return the disks that meet none before them, where the others came from; if any are close."""
    exponent = round(max((disk.z.log for disk, _ in found), default=0.0))
    disks: list[Disk] = []
    again: list[Point] = []
    kept: list[tuple[complex, float]] = []
    is_close = False
    for disk, z in found:
        at = disk.z.native(exponent)
        # What double precision takes from a distance, beside the radius.
        size = 2.0**-40 * abs(at) + 2.0 ** min(max(disk.log_radius - exponent, -1000.0), 1000.0)
        near = [i for i, (other, reach) in enumerate(kept) if not abs(at - other) > size + reach]
        is_close = is_close or bool(near)
        if z is not None and any(meet(disk, disks[i]) for i in near):
            again.append(z)
        else:
            disks.append(disk)
            kept.append((at, size))
    return disks, again, is_close


def meet(x: Disk, y: Disk) -> bool:
    """Return whether two disks may have a point in common."""
    apart = _distance(x.z, y.z)
    return not apart > max(x.log_radius, y.log_radius) + 1.0 + 2.0**-10


def _distance(x: Point, y: Point) -> float:
    apart = x.minus(y)
    return log_of(apart.re, apart.im) + apart.unit


def _mean(points: list[Point]) -> Point | None:
    total = points[0]
    for z in points[1:]:
        total = total.moved(z)
    m = len(points)
    spare = m.bit_length() + 8
    found = Point((total.re << spare) // m, (total.im << spare) // m, total.unit - spare)
    return found if found.re or found.im else None


def _is_split(taylor: Taylor, m: int) -> bool:
    """Return whether the coefficient that makes the disk so large is one, and no rounding error."""
    sizes = [(taylor.at_most(k) / (m - k) - taylor.logs[m] / (m - k), k) for k in range(m)]
    _, k = max(sizes)
    return taylor.logs[k] > taylor.errors[k] + 8


def _symmetric(points: list[Point]) -> list[Point]:
    """Return points near the roots of a real polynomial with exact conjugates where that fits."""
    near = [z for z in points if z.is_nearly_real or not z.im]
    upper = [z for z in points if z.im > 0 and not z.is_nearly_real]
    if len(near) + 2 * len(upper) != len(points):
        return points
    return near + upper + [z.conj() for z in upper]
