"""Roots rounded to a precision, by decreasing modulus, with what is proven of each."""

from __future__ import annotations

from functools import cached_property
from math import inf, log2
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._limbs import planes
from mdqr._limbs.exact import LOWEST, saturated, sum_of_units
from mdqr._precision import Precision
from mdqr._progress import Reporter
from mdqr.linalg._roots.aberth import starts
from mdqr.linalg._roots.clusters import Search, meet
from mdqr.linalg._roots.dyadic import Point, Polynomial, log_of, log_sum
from mdqr.linalg._roots.isolation import MOST_BITS, Disk
from mdqr.linalg._roots.smith import beside, distances, enclosed, spread
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._spectral.disks import Disks, linked

# Relative errors from here on may leave less than two digits.
_FEW_BITS = -10.0
# Bits behind those of the answer: what rounding cuts off is seldom that small.
_GUARD = 32
_LEAST = 2.0**-1074


class Given:
    """A polynomial as it was given: `p` times ``z**zeros``, and the errors of the coefficients.

    `p` is None where no coefficient differs from zero.
    """

    def __init__(self, block: planes.Block, is_complex: bool, errors: Errors) -> None:
        """Take a block of coefficients, the highest power first."""
        parts = [_integers(part)[::-1] for part in (block if is_complex else [block])]
        held = [k for k, values in enumerate(zip(*parts, strict=True)) if any(values)]
        self.errors, self.count = errors, len(parts[0])
        self.zeros = held[0] if held else 0
        self.p: Polynomial | None = None
        if held:
            terms = slice(held[0], held[-1] + 1)
            im = parts[1][terms] if is_complex and any(parts[1]) else None
            self.p = Polynomial(parts[0][terms], im)

    @cached_property
    def _bounds(self) -> np.ndarray:
        """Logarithms of the bounds of errors, that of z**0 first."""
        assert self.p is not None
        sizes = np.full(self.count, -inf)
        sizes[self.zeros : self.zeros + self.p.degree + 1] = self.p.logs
        with np.errstate(divide="ignore"):
            atol, rtol = (
                np.broadcast_to(np.log2(each), sizes.shape)[::-1]
                for each in (self.errors.atol, self.errors.rtol)
            )
        return np.logaddexp2(atol, rtol + sizes) + 2.0**-20

    @property
    def data(self) -> np.ndarray:
        """Logarithms of the bounds up to the highest power that there is."""
        assert self.p is not None
        return self._bounds[: self.zeros + self.p.degree + 1]

    @property
    def leading(self) -> bool:
        """True if a zero in front may be none."""
        return bool((self._bounds[len(self.data) :] > -inf).any())


def _integers(part: planes.Block) -> list[int]:
    """Return the values of the limbs ``(N, count)`` in units of 2**-1074."""
    return [sum_of_units(column) for column in part.T.tolist()]


class Value(NamedTuple):
    """A root: its disk, whose point was rounded to limbs, the limbs and the bound."""

    disk: Disk
    limbs: tuple[list[float], list[float]]
    radius: float


class Found:
    """All roots of a polynomial.

    Attributes
    ----------
    block : Block
        The values, complex.
    radii, counts : numpy.ndarray
        As those of `roots`.
    """

    def __init__(self, given: Given, values: list[Value], disks: Disks, limbs: int) -> None:
        self._given, self._values = given, values
        zeros = given.zeros
        self.radii, self.counts = disks
        rows = [[value.limbs[part] for value in values] for part in (0, 1)]
        empty = np.zeros((2, 0, limbs))
        block = np.array(rows, dtype=np.float64) if values else empty
        block = np.concatenate([block, np.zeros((2, zeros, limbs))], axis=1) if zeros else block
        self.block = np.ascontiguousarray(block.transpose(0, 2, 1))

    def sizes(self) -> np.ndarray:
        """Return the moduli of the values."""
        return native_abs(self.block, True)

    def may_be_lost(self, unit: float | None) -> bool:
        """Return whether, to first order, the errors of the data may leave few digits of a root.

        `unit` is the relative error of all coefficients, None where there are others.
        """
        if self._given.p is None:
            return False
        if unit is not None:
            # Terms are at most 4 sqrt(2) times the scale.
            moved = log2(unit * 6 * (self._given.p.degree + 1))
            disks = (value.disk for value in self._values)
            return any((moved - disk.slack) / disk.multiplicity > _FEW_BITS for disk in disks) and (
                self.may_be_lost(None)
            )
        return bool(self._given.leading or (self._shifts > _FEW_BITS).any())

    @cached_property
    def _shifts(self) -> np.ndarray:
        """Logarithms of what the errors of the data move roots by, relative to their moduli."""
        p, zeros = self._given.p, self._given.zeros
        if p is None:
            return np.zeros(0)
        logs = np.array([value.disk.z.log for value in self._values])
        counts = np.array([value.disk.multiplicity for value in self._values])
        slack = np.array([value.disk.slack + value.disk.top for value in self._values])
        k = np.arange(p.degree + 1 + zeros) - zeros
        with np.errstate(all="ignore"):
            moved = np.logaddexp2.reduce(self._given.data + logs[:, None] * k, axis=1)
            moved = (moved - slack) / counts
        zero = self._given.data[:zeros].max(initial=-inf) > -inf
        return np.concatenate([moved, np.full(zeros, inf if zero else -inf)])

    def conditions(self) -> np.ndarray:
        """Return the condition of each root: infinite for multiple ones, 0 for exact zeros."""
        p = self._given.p
        found = np.zeros(len(self.counts))
        for i, value in enumerate(self._values):
            assert p is not None
            z, disk = value.disk.z, value.disk
            with np.errstate(all="ignore"):
                total = np.logaddexp2.reduce([log + k * z.log for k, log in enumerate(p.logs)])
            log = total - disk.slack - disk.top
            found[i] = 2.0 ** min(log, 1023.0) if disk.multiplicity == 1 and log < 1023 else inf
        return found

    def data_bounds(self, bits: int) -> np.ndarray:
        """Return bounds for the roots of all polynomials within the errors of the coefficients."""
        given, p = self._given, self._given.p
        if p is None or not len(self.counts):
            return np.zeros(0)
        if given.leading or not given.data[-1] < p.logs[-1]:
            return np.full(self.counts.shape, inf)
        zeros = given.zeros if (given.data[: given.zeros] > -inf).any() else 0
        errors = given.data[given.zeros - zeros :]
        whole = p.times_power(zeros)
        if not whole.degree:
            return self.radii
        points = [value.disk.z for value in self._values] + [Point(0, 0, 0)] * zeros
        points = spread(whole, points, errors)
        found = enclosed(whole, points, errors, bits + 64 + 4 * p.degree.bit_length())
        bounds = found.radii + [_length(z.minus(x)) for z, x in zip(points, self._at, strict=False)]
        bounds = np.maximum(bounds * (1 + 2.0**-40) + 4 * _LEAST, self.radii[: len(bounds)])
        return np.concatenate([bounds, np.zeros(given.zeros - zeros)])

    @property
    def _at(self) -> list[Point]:
        """The values."""
        parts = [_integers(part) for part in self.block]
        return [Point(x, y, LOWEST) for x, y in zip(*parts, strict=True)]


def found_roots(given: Given, precision: Precision, report: Reporter | None = None) -> Found:
    """Return the roots of a polynomial, rounded to a precision."""
    p = given.p
    if p is None or not p.degree:
        zeros = Disks(np.zeros(given.zeros), np.full(given.zeros, given.zeros))
        return Found(given, [], zeros, precision.limbs)
    search = Search(p, precision.bits + _GUARD, report=report)
    resolved = search.run()
    disks = search.disks if resolved else _unresolved(p, search)
    if report is not None:
        report("roots", p.degree, p.degree)
    disks = [_simplified(disk, precision.bits + _GUARD - 8) for disk in disks]
    if p.is_real and resolved:
        disks = _conjugate(disks)
    known: dict[Point, Value] = {}
    values = [_rounded(disk, precision.limbs, known) for disk in _ordered(disks)]
    values = [value for value in values for _ in range(value.disk.multiplicity if resolved else 1)]
    counts = np.array([value.disk.multiplicity for value in values] + [given.zeros] * given.zeros)
    # Roots that are exactly zero have a disk of a point.
    radii = np.array([value.radius for value in values] + [0.0] * given.zeros)
    if search.is_close or min(value.disk.z.log for value in values) < -900:
        # Disks of rounded values may meet where those of exact ones do not.
        counts = np.maximum(counts, _linked(values, radii))
    return Found(given, values, Disks(radii, counts), precision.limbs)


def _unresolved(p: Polynomial, search: Search) -> list[Disk]:
    """Return disks of a polynomial whose roots are not told apart: all that meet count together."""
    points = [disk.z for disk in search.disks for _ in range(disk.multiplicity)] + search.pending
    if len(points) != p.degree:
        points = starts(p)
    seen: dict[Point, int] = {}
    for i, z in enumerate(points):
        k = seen[z] = seen.get(z, -1) + 1
        if k:
            points[i] = beside(z, k / p.degree, z.log - search.target)
    found = enclosed(p, points, np.full(p.degree + 1, -inf), MOST_BITS)
    with np.errstate(divide="ignore"):
        logs = np.log2(found.radii)
    return [
        Disk(z, float(log) - z.log + 2.0**-20, int(count), -inf, 0)
        for z, log, count in zip(points, logs, found.counts, strict=True)
    ]


def _simplified(disk: Disk, bits: int) -> Disk:
    """Return a disk about the nearest point of so many bits: parts that are zero become so."""
    z = disk.z
    unit = int(z.log) - bits
    shift = unit - z.unit
    if shift <= 0:
        return disk
    half = 1 << shift - 1
    after = Point(z.re + half >> shift, z.im + half >> shift, unit)
    cut = z.minus(after)
    moved = log_of(cut.re, cut.im) + cut.unit - z.log
    return disk._replace(z=after, radius=log_sum(disk.radius, moved) + 2.0**-18)


def _conjugate(disks: list[Disk]) -> list[Disk]:
    """Return disks of a real polynomial about real points, or exact conjugates.

    All roots in the mirror image of a disk are in disks that meet it.
    """
    points = {disk.z for disk in disks}
    found = list(disks)
    for i, disk in enumerate(disks):
        mirrored = disk._replace(z=disk.z.conj())
        if not disk.z.im or (mirrored.z in points and not meet(disk, mirrored)):
            continue
        near = [j for j, other in enumerate(disks) if meet(mirrored, other)]
        if near == [i]:
            # Nearer to both a root and its conjugate than one of the two points.
            found[i] = disk._replace(z=disk.z.real(), radius=disk.log_radius - disk.z.real().log)
        elif len(near) == 1 and disks[near[0]].multiplicity == disk.multiplicity and disk.z.im > 0:
            found[near[0]] = mirrored
    return found


def _ordered(disks: list[Disk]) -> list[Disk]:
    """Return disks by decreasing modulus; where they do not tell that, by the parts."""
    if len(disks) < 2:
        return disks
    unit = min(disk.z.unit for disk in disks)
    parts = [(disk.z.re << disk.z.unit - unit, disk.z.im << disk.z.unit - unit) for disk in disks]
    squares = [x * x + y * y for x, y in parts]
    order = sorted(range(len(disks)), key=squares.__getitem__, reverse=True)
    found: list[int] = []
    like: list[int] = []
    for i in order:
        if like:
            last = disks[like[-1]]
            gap = log_of(squares[like[-1]] - squares[i], 0) + 2 * unit
            reach = max(last.log_radius, disks[i].log_radius) + last.z.log + 2
            if gap > reach:
                found += sorted(like, key=parts.__getitem__, reverse=True)
                like = []
        like.append(i)
    found += sorted(like, key=parts.__getitem__, reverse=True)
    return [disks[i] for i in found]


def _rounded(disk: Disk, limbs: int, known: dict[Point, Value]) -> Value:
    """Return the value of a disk; of two conjugates, conjugate ones."""
    z = disk.z
    found = known.get(z.conj()) if z.im else None
    if found is not None and found.disk.radius == disk.radius:
        re, im = found.limbs
        return Value(disk, (re, [-x for x in im]), found.radius)
    re, im = saturated(z.re, 1, z.unit, limbs), saturated(z.im, 1, z.unit, limbs)
    radius = inf
    if abs(re[0]) < inf and abs(im[0]) < inf:
        cut = z.minus(Point(sum_of_units(re), sum_of_units(im), LOWEST))
        log = log_sum(disk.log_radius, log_of(cut.re, cut.im) + cut.unit) + 2.0**-18
        # Powers below the normal doubles are rounded to nearest: one unit more.
        radius = 2.0 ** min(log, 1023.0) + _LEAST if log < 1023 else inf
    found = known[z] = Value(disk, (re, im), radius)
    return found


def _linked(values: list[Value], radii: np.ndarray) -> np.ndarray:
    """Return how many of the disks about values, and zeros, meet each other, directly or not."""
    points = [
        Point(sum_of_units(value.limbs[0]), sum_of_units(value.limbs[1]), LOWEST)
        for value in values
    ]
    points += [Point(0, 0, 0)] * (len(radii) - len(points))
    exponent = round(sum(value.disk.z.log for value in values) / len(values))
    with np.errstate(all="ignore"):
        return linked(distances(points, exponent), np.ldexp(radii, -exponent) + 2.0**-1070).counts


def _length(z: Point) -> float:
    return abs(z.native())
