"""Disks that contain a known number of roots of a polynomial, proven, and as small as one wants.

By Pellet's theorem: where ``abs(a_m) r**m > sum_(k != m) abs(a_k) r**k`` for the coefficients of
``p(z + t)``, the disk of radius r about z has exactly m roots (A. E. Pellet, Sur un mode de
separation des racines des equations, 1881). All radii here are binary logarithms, of radii over
``abs(z)``.
"""

from __future__ import annotations

from math import inf, log2
from typing import NamedTuple

from mdqr.linalg._roots.dyadic import Point, Polynomial, Taylor, log_of, log_sum

# Bits that are right of what double precision finds.
_STARTS = 46
# Bits that points carry beyond those that are known to be right.
_SPARE = 8
# Beyond these no more is spent on roots that are not told apart.
MOST_BITS = 8192


class Disk(NamedTuple):
    """A disk with as many roots as `multiplicity` says: all within ``2**radius abs(z)`` of z.

    `slack` is the logarithm of ``abs(a_m z**m)`` over a power of two near the largest term of p,
    whose logarithm is `top`.
    """

    z: Point
    radius: float
    multiplicity: int
    slack: float
    top: int

    @property
    def log_radius(self) -> float:
        """The binary logarithm of the radius."""
        return self.radius + self.z.log + 2.0**-20


def isolated(p: Polynomial, z: Point, target: int, bits: int = 0) -> Disk | None:
    """Return a disk of a simple root near z, of radius ``2**-target``; None if not proven.

    Newton's method. From ``q = T rho / abs(a_1 z)``, rho of ``abs(a_0 / (a_1 z))``, at most 1/8,
    one root lies within ``rho (1 + 2 q)``, and at a distance of at most ``(T rho**2 + errors) /
    abs(a_1)`` from ``z - a_0 / a_1``.
    """
    guard = 24 + 2 * p.degree.bit_length()
    goal = _next_goal(_STARTS, target)
    bits = bits or _whole(goal + guard)
    while True:
        found = _newton(p, z, bits, max(goal, bits - guard))
        if found is None or found.radius <= -target or bits >= 4 * MOST_BITS:
            return found
        z = found.z
        goal = _next_goal(-found.radius, target)
        bits = max(_whole(goal - found.slack + guard), bits + 32)


def _next_goal(known: float, target: int) -> int:
    """Return how many bits are to be right next: the last steps double what is known."""
    goal = target
    while goal > 2 * known:
        goal = goal // 2 + 1
    return goal


def _whole(bits: float) -> int:
    """Return so many bits, a little more: coefficients are cut once for many points."""
    return (int(bits) // 32 + 1) * 32


def _newton(p: Polynomial, z: Point, bits: int, goal: int) -> Disk | None:
    """Return the disk about the next point, which gets no more bits than those asked for."""
    taylor, log = p.taylor(z, bits, 1), z.log
    least = taylor.at_least(1)
    rho = taylor.at_most(0) - least
    q = taylor.tail + rho - least
    if not (q <= -3 and rho <= -2 - p.degree.bit_length()):
        return None
    rho += log2(1.0 + 2.0 ** (1 + max(q, -100)))
    # a_0 / a_1 in units of 2**unit, beside which rounding is far below the new radius.
    known = max(2 * rho + taylor.tail, taylor.errors[0]) - least
    keep = min(max(int(-known), 0), goal) + _SPARE
    unit = int(log) - keep
    (x, y), (u, v) = taylor.parts
    shift = taylor.shifts[1] - unit
    re, im, size = x * u + y * v, y * u - x * v, u * u + v * v
    if shift >= 0:
        step = Point(-(re << shift) // size, -(im << shift) // size, unit)
    else:
        step = Point(-re // (size << -shift), -im // (size << -shift), unit)
    moved = z.rounded(keep + _SPARE)
    after = moved.moved(step)
    if not (after.re or after.im):
        return None
    radius = log_sum(taylor.tail + 2 * rho, log_sum(taylor.errors[0], taylor.errors[1] + rho))
    radius -= least
    if moved is not z:
        cut = z.minus(moved)
        radius = log_sum(radius, log_of(cut.re, cut.im) + cut.unit - log)
    # Rounding of the quotient is below 2 units; the modulus of the point changed a little.
    radius = log_sum(radius, unit + 1 - log) + 2 * 2.0 ** max(rho, -40) + 2.0**-18
    return Disk(after, radius, 1, least, taylor.top)


def centred(p: Polynomial, z: Point, m: int, target: int, bits: int) -> Disk | None:
    """Return a disk with m roots about their mean, nearly; None if there is none near z.

    Newton's method for the derivative of order m - 1, which has one root there that is
    well-conditioned.
    """
    spread = inf
    while True:
        taylor = p.taylor(z, bits, m)
        least = taylor.at_least(m)
        step = taylor.at_most(m - 1) - log2(m) - least
        if not step <= min(spread, -2 - p.degree.bit_length()):
            break
        if taylor.logs[m - 1] <= taylor.errors[m - 1] + 2 or step < -target - 2 * _SPARE:
            break
        spread = step - 2
        after = _shifted_centre(z, taylor, m, min(target, bits) + 2 * _SPARE)
        if after is None:
            return None
        z = after
    return _pellet(z, taylor, m, p.degree)


def _shifted_centre(z: Point, taylor: Taylor, m: int, keep: int) -> Point | None:
    """Return ``z - a_(m-1) / (m a_m)``."""
    unit = int(z.log) - keep
    (x, y), (u, v) = taylor.parts[m - 1 :]
    shift = taylor.shifts[m] - taylor.shifts[m - 1] - unit
    re, im, size = x * u + y * v, y * u - x * v, m * (u * u + v * v)
    up, down = max(shift, 0), max(-shift, 0)
    step = Point(-(re << up) // (size << down), -(im << up) // (size << down), unit)
    moved = z.rounded(keep + 2).moved(step)
    return moved if moved.re or moved.im else None


def _pellet(z: Point, taylor: Taylor, m: int, degree: int) -> Disk | None:
    """Return the smallest disk about z, within a bit, that Pellet's theorem gives m roots."""
    least = taylor.at_least(m)
    if least == -inf:
        return None
    below = [taylor.at_most(k) - least for k in range(m)]
    # Each lower term is at most 1/4 of its share: 2**-(m-k) at this radius.
    radius = max((size + 2) / (m - k) + 1 for k, size in enumerate(below))
    for _ in range(3):
        if radius > -2 - degree.bit_length():
            return None
        rest = taylor.tail + radius - least
        for k, size in enumerate(below):
            rest = log_sum(rest, size + (k - m) * radius)
        if rest < -(2.0**-10):
            return Disk(z, radius, m, least, taylor.top)
        radius += 1
    return None
