"""Aberth's iteration for all roots of a polynomial at once.

In double precision from the Newton polygon, and in integers where that does not tell roots apart.
"""

from __future__ import annotations

from cmath import exp
from collections.abc import Iterable
from itertools import pairwise
from math import floor, hypot, inf, log2, pi

from mdqr.linalg._roots.dyadic import Point, Polynomial, log_of, ratio

_MOST_STEPS = 120
# Steps before it is asked how far rounding errors let values go down.
_FIRST_STEPS = 6
# The relative size of a last step: the next one would be far below rounding.
_LAST = 2.0**-24
_EPS = 2.0**-52
# The angle of the first start on a circle: no root of a real polynomial is likely to be there.
_TURN = 0.7


def starts(p: Polynomial) -> list[Point]:
    """Return points near the roots, as far as double precision tells (O. Aberth, 1973)."""
    found = _Iteration(p)
    found.run()
    return [Point.of(v, e) for v, e in zip(found.values, found.exponents, strict=True)]


def polygon(p: Polynomial) -> list[tuple[int, float]]:
    """Return how many roots have about which modulus, as a binary logarithm.

    From the upper hull of the logarithms of coefficients (D. A. Bini, Numerical computation of
    polynomial zeros by means of Aberth's method, 1996).
    """
    hull: list[tuple[int, float]] = []
    for k in range(p.degree + 1):
        point = k, p.logs[k]
        if point[1] == -inf:
            continue
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) <= _slope(hull[-2], point):
            hull.pop()
        hull.append(point)
    return [(y[0] - x[0], -_slope(x, y)) for x, y in pairwise(hull)]


def _slope(x: tuple[int, float], y: tuple[int, float]) -> float:
    return (y[1] - x[1]) / (y[0] - x[0])


class _Iteration:
    """Points ``values[i] 2**exponents[i]``, whose values are of moderate size."""

    def __init__(self, p: Polynomial) -> None:
        self.p, self.values, self.exponents = p, [], []
        self._coefficients: dict[int, list[complex] | list[float]] = {}
        done = 0
        for count, log in polygon(p):
            exponent = floor(log + 0.5)
            for k in range(count):
                angle = 2 * pi * (k / count + done / p.degree) + _TURN
                self.values.append(2.0 ** (log - exponent) * exp(1j * angle))
                self.exponents.append(exponent)
            done += count

    def run(self) -> None:
        """Move points until nothing is gained."""
        active = list(range(self.p.degree))
        for step in range(_MOST_STEPS):
            active = [i for i in active if self._moved(i, step >= _FIRST_STEPS)]
            if not active:
                break

    def _scaled(self, exponent: int) -> list[complex] | list[float]:
        """Return coefficients times ``2**(exponent k)``, at most 1, the highest power first."""
        found = self._coefficients.get(exponent)
        if found is None:
            p = self.p
            top = max(n + exponent * k for k, n in enumerate(p.lengths) if n)
            found = [ratio(c, exponent * k - top) for k, c in enumerate(p.re)]
            if p.im is not None:
                pairs = zip(found, p.im, strict=True)
                found = [complex(x, ratio(c, exponent * k - top)) for k, (x, c) in enumerate(pairs)]
            found.reverse()
            self._coefficients[exponent] = found
        return found

    def _moved(self, i: int, is_late: bool) -> bool:
        """Move a point; return whether it is to be moved again."""
        v = self.values[i]
        coefficients = self._scaled(self.exponents[i])
        value: complex = coefficients[0]
        slope: complex = 0.0
        for c in coefficients[1:]:
            slope = slope * v + value
            value = value * v + c
        if is_late and abs(value) <= self._noise(coefficients, abs(v)):
            return False
        others = self._others(i)
        below = slope - value * others
        if not value or not below:
            return bool(value)
        step = value / below
        size = abs(v)
        # No step is longer than the modulus: the next one comes from another place.
        step *= min(1.0, size / abs(step))
        moved = v - step
        if not 2.0**-300 < abs(moved) < 2.0**300:
            moved = v * 0.5
        self.values[i] = moved
        if not 0.5 < abs(moved) < 2.0:
            shift = floor(log2(abs(moved)) + 0.5)
            self.values[i], self.exponents[i] = moved * 2.0**-shift, self.exponents[i] + shift
        return abs(step) > _LAST * size

    def _noise(self, coefficients: Iterable[complex], size: float) -> float:
        total = 0.0
        for c in coefficients:
            total = total * size + abs(c)
        return 4 * _EPS * total

    def _others(self, i: int) -> complex:
        """Return the sum of ``1 / (v_i - v_j)``."""
        values, exponents = self.values, self.exponents
        v, exponent = values[i], exponents[i]
        total: complex = 0.0
        for j, (w, other) in enumerate(zip(values, exponents, strict=True)):
            if other != exponent:
                shift = other - exponent
                w = w * 2.0**shift if abs(shift) < 500 else (0.0 if shift < 0 else 2.0**500)
            if j != i:
                apart = v - w
                total += 1.0 / (apart if apart else v * _EPS)
        return total


def moved(p: Polynomial, points: list[Point], active: list[int], bits: int) -> list[int]:
    """Move some of the points by one step in integers, in place; return those to move again."""
    again = []
    for i in active:
        z = points[i]
        taylor = p.taylor(z, bits, 1)
        if taylor.logs[0] <= taylor.errors[0] or taylor.logs[1] == -inf:
            continue
        # p / (z p') to double precision.
        (x, y), (u, v) = taylor.parts
        log = taylor.logs[0] - taylor.logs[1]
        newton = _direction(x, y) / _direction(u, v) / _direction(z.re, z.im)
        newton *= 2.0 ** min(max(log, -1000), 1000)
        below = 1.0 - newton * _relative_others(points, i)
        step = newton / below if below else newton
        step *= min(1.0, 1.0 / abs(step)) if step else 0.0
        unit = int(z.log) - bits
        by = _times(z, step, unit)
        after = z.rounded(bits).moved(by)
        if after.re or after.im:
            points[i] = after
        if abs(step) > 2.0 ** -min(bits // 3, 900):
            again.append(i)
    return again


def _direction(re: int, im: int) -> complex:
    """Return the value over its modulus."""
    spare = max(re.bit_length(), im.bit_length(), 60) - 60
    x, y = re >> spare, im >> spare
    size = hypot(x, y)
    return complex(x / size, y / size)


def _relative_others(points: list[Point], i: int) -> complex:
    """Return the sum of ``z_i / (z_i - z_j)``."""
    z, total = points[i], 0j
    exponent = int(z.log)
    own = z.native(exponent)
    for j, other in enumerate(points):
        if j == i:
            continue
        apart = z.minus(other)
        log = log_of(apart.re, apart.im) + apart.unit - exponent
        if log > 500:
            continue
        if log < -500:
            total += 2.0**500
            continue
        total += own / apart.native(exponent)
    return total


def _times(z: Point, factor: complex, unit: int) -> Point:
    """Return ``-z factor`` in a unit."""
    re, im = Point.of(factor)[:2]
    shift = z.unit + Point.of(factor).unit - unit
    x, y = -(z.re * re - z.im * im), -(z.re * im + z.im * re)
    return (
        Point(x << shift, y << shift, unit) if shift >= 0 else Point(x >> -shift, y >> -shift, unit)
    )
