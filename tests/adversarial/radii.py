"""Verdicts on `series.radius`: functions whose nearest singularity is known exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

import mdqr
from mdqr import series

from .draws import Draw
from .problems import Problem
from .verdicts import Verdict, answered

_BITS = 1200
_EXPONENTS = [Fraction(n, 6) for n in (-18, -12, -6, -9, -3, 3, 9, -2, 2, -4, 1, -1, 15)]


def radius(seed, index):
    """Judge one radius of convergence."""
    r = Draw(f"radius/{seed}/{index}")
    with flint.ctx.workprec(_BITS):
        return _judged(r, seed, index)


def _judged(r, seed, index):
    precision = r.precision(30, 30, 25, 15)
    degree = r.choice([4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40, 64])
    family = r.choice(FAMILIES)
    stride, first = (r.choice([2, 2, 3, 4, 5]), r.randint(0, 3)) if r.chance(0.25) else (1, 0)
    inner = _Function(r, max(degree // stride, 1))
    family(inner)
    while not inner.is_shown():
        inner = _Function(r, inner.degree)
        family(inner)
    function = inner if stride == 1 else _strided(inner, stride, first, degree)
    c = function.rounded(precision, r)
    method = "auto" if r.chance(0.6) else r.choice(["fabry", "recurrence", "pade"])
    given = Problem(
        seed, index, family.__name__.strip("_"), f"{method}, stride {stride}", c, None, None, None,
        precision,
    )  # fmt: skip
    found, error, caught = answered(lambda: series.radius(series.PowerSeries(c), method))
    verdict = Verdict(components=1)
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    claimed = found.uncertainty
    verdict.outcome = "claimed" if math.isfinite(claimed) else "not claimed"
    if math.isnan(claimed) or math.isnan(float(found.value)):
        verdict.note("crashed")
    elif math.isfinite(claimed):
        wrong = function.distance(found.value)
        if wrong > claimed:
            verdict.note("bound_violated", "excess", _log10(wrong) - _log10(claimed))
            verdict.message = f"{found.value} +- {claimed} by {found.method}, degree {degree}"
        elif wrong > 0:
            verdict.gaps.append(("ordinary", _log10(claimed) - _log10(wrong)))
    return given, verdict


def _log10(x):
    return math.log10(x) if 0 < x < math.inf else math.inf if x > 0 else -400.0


class _Function:
    """Coefficients up to a degree as balls, and the radius of convergence."""

    def __init__(self, r, degree):
        self.r, self.degree = r, degree
        self.c = [flint.acb(0)] * (degree + 1)
        self.radius = self.farthest = flint.arb("inf")
        self.is_real = r.chance(0.7)
        # What each place adds to the middle order.
        self.parts = []

    def distance(self, value):
        """By how much a radius is wrong."""
        if math.isinf(self.radius) or math.isinf(float(value)):
            return math.inf
        exact = _arb(value.to_fractions().item())
        low, high = sorted((self.radius, self.farthest), key=_middle)
        return max(0.0, _middle(low - exact), _middle(exact - high))

    # What is drawn ----------------------------------------------------------------------------

    def place(self, low=1.0, high=1.0):
        """A singularity of modulus low to high, on the real axis, a simple number, or anywhere."""
        size = Fraction(self.r.uniform(low, high)).limit_denominator(10 ** self.r.choice([1, 3, 9]))
        kind = self.r.random()
        if kind < 0.35:
            return _ball(size if self.r.chance(0.5) else -size)
        angle = flint.arb(self.r.uniform(0.05, 3.09))
        return flint.acb(angle.cos() * _arb(size), angle.sin() * _arb(size))

    def amplitude(self):
        value = self.r.choice([-1, 1]) * math.exp(self.r.gauss(0, 1))
        return flint.acb(value) if self.is_real else flint.acb(value, self.r.gauss(0, 1))

    # What is made -----------------------------------------------------------------------------

    def add(self, c, places):
        """Add a function that is singular at places, with its conjugate in real functions."""
        if self.is_real:
            c = [flint.acb(x.real) for x in c]
        self.c = [a + b for a, b in zip(self.c, c, strict=True)]
        for place in places:
            self.parts.append((abs(place), c[self.degree // 2]))
            self.radius = min(self.radius, abs(place), key=_middle)
        self.farthest = self.radius

    def is_shown(self):
        """Return whether the nearest singularity makes up half of the middle coefficient."""
        if len(self.parts) < 2:
            return True
        parts = sorted((float(size.mid()), float(abs(c).mid())) for size, c in self.parts)
        nearest = parts[0][0] * (1 + 1e-9)
        shown, hidden = (
            sum(c for size, c in parts if (size <= nearest) is near) for near in (True, False)
        )
        return shown > hidden

    def times(self, c):
        self.c = _product(self.c, c)

    def power(self, place, exponent):
        """``(1 - t / place)^exponent``; its logarithm for 0."""
        c = [flint.acb(1 if exponent else 0)]
        for k in range(self.degree):
            if exponent:
                c.append(c[-1] * _ball(k - exponent) / (k + 1) / place)
            else:
                c.append(-1 / (place ** (k + 1) * (k + 1)))
        return c

    def entire(self):
        """An entire function that is no polynomial."""
        a = self.amplitude()
        kind = self.r.randint(0, 3)
        c = [flint.acb(1)]
        for k in range(self.degree):
            below = [k + 1, (k + 1) ** 2, (2 * k + 1) * (2 * k + 2), (3 * k + 1) * (k + 1)][kind]
            c.append(c[-1] * a / below)
        return c

    def rounded(self, precision, r):
        """The coefficients in another unit, rounded; now and then with errors of a few eps."""
        room = 400 // max(self.degree, 1)
        unit = flint.arb(2) ** (r.randint(-room, room) if r.chance(0.5) else 0)
        if r.chance(0.3):
            unit *= flint.arb(r.uniform(0.3, 3.0))
        size = flint.arb(2) ** r.randint(-200, 200) if r.chance(0.3) else flint.arb(1)
        if self.radius.is_finite():
            self.radius, self.farthest = self.radius * unit, self.farthest * unit
        wrong = r.chance(0.3)
        parts = []
        for k, value in enumerate(self.c):
            value = value * size / unit**k
            if wrong:
                value *= 1 + flint.arb(r.uniform(-4, 4) * precision.eps)
            parts.append((_fraction(value.real), _fraction(value.imag)))
        real, imag = (np.array(part, dtype=object) for part in zip(*parts, strict=True))
        c = mdqr.array(real, precision=precision)
        return c + mdqr.array(imag, precision=precision) * 1j if imag.any() else c


def _product(a, b):
    return [sum((a[j] * b[k - j] for j in range(k + 1)), flint.acb(0)) for k in range(len(a))]


def _strided(inner, stride, first, degree):
    """``t^first f(t^stride)``, now and then with a polynomial."""
    found = _Function(inner.r, degree)
    for k, value in enumerate(inner.c):
        if first + stride * k <= degree:
            found.c[first + stride * k] = value
    if inner.r.chance(0.2):
        for k in range(min(2, degree)):
            found.c[k] += inner.amplitude()
    if inner.radius.is_finite():
        found.radius, found.farthest = inner.radius.root(stride), inner.farthest.root(stride)
    return found


def _middle(x):
    return float(x.mid())


def _arb(x):
    x = Fraction(x)
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def _ball(x):
    return flint.acb(_arb(x))


def _fraction(x):
    man, exp = x.mid().man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


# -- families ------------------------------------------------------------------------------------


def _pole(f):
    place, amplitude = f.place(), f.amplitude()
    f.add([x * amplitude for x in f.power(place, -f.r.randint(1, 3))], [place])


def _branch(f):
    place, amplitude = f.place(), f.amplitude()
    exponent = f.r.choice([*_EXPONENTS[3:], 0])
    f.add([x * amplitude for x in f.power(place, exponent)], [place])


def _mixture(f):
    for _ in range(f.r.randint(2, 4)):
        place, amplitude = f.place(1, f.r.choice([1.2, 2, 4])), f.amplitude()
        f.add([x * amplitude for x in f.power(place, f.r.choice([*_EXPONENTS, 0]))], [place])
    if f.r.chance(0.3):
        f.add(f.entire(), [])


def _near(f):
    """Two singularities that are near each other."""
    first = f.place()
    gap = 10 ** f.r.uniform(-4, -0.3)
    turn = f.r.choice([0.0, 0.0, f.r.uniform(0, 6.28)])
    second = first * (1 + flint.acb(gap * math.cos(turn), gap * math.sin(turn)))
    exponents = [-1, -1] if f.r.chance(0.5) else f.r.choices(_EXPONENTS, k=2)
    for place, exponent in zip((first, second), exponents, strict=True):
        amplitude = f.amplitude()
        f.add([x * amplitude for x in f.power(place, exponent)], [place])
    if gap * f.degree < 1:
        # They count as one, anywhere between them.
        f.farthest = max(abs(first), abs(second), key=_middle)


def _weak(f):
    """The nearest singularity is the weaker one."""
    for low, high, size in ((1, 1, 10 ** f.r.uniform(-8, 0)), (1.05, 2, 1)):
        place, amplitude = f.place(low, high), f.amplitude() * size
        f.add([x * amplitude for x in f.power(place, f.r.choice([*_EXPONENTS, 0]))], [place])


def _product_of_powers(f):
    """Branch points of one algebraic function, times an entire one now and then."""
    places = [f.place(1, 3) for _ in range(f.r.randint(1, 2))]
    f.c[0] = flint.acb(1)
    f.is_real, is_real = False, f.is_real
    factors = []
    for place in places:
        exponent = f.r.choice(_EXPONENTS)
        both = is_real and float(place.imag.mid())
        factors += [(each, exponent) for each in ((place, place.conjugate()) if both else (place,))]
    for place, exponent in factors:
        f.times(f.power(place, exponent))
    entire = [flint.acb(1)]
    if f.r.chance(0.3):
        f.is_real = is_real
        entire = f.entire()
        f.times(entire)
    for place, exponent in factors:
        # What the other factors are at a branch point multiplies its coefficients.
        others = sum((c * place**k for k, c in enumerate(entire)), flint.acb(0))
        for other, power in factors:
            if other is not place:
                others *= (1 - place / other) ** _ball(power)
        f.parts.append((abs(place), others * f.power(place, exponent)[f.degree // 2]))
    f.radius = f.farthest = min((abs(place) for place in places), key=_middle)
    f.c = [flint.acb(x.real) for x in f.c] if is_real else f.c


def _exponential(f):
    """The exponential of a square root."""
    place, a = f.place(), f.amplitude()
    inner = [x * a for x in f.power(place, Fraction(1, 2))]
    # y' = g' y
    c = [flint.acb(1)]
    for k in range(1, f.degree + 1):
        c.append(sum((inner[j] * c[k - j] * j for j in range(1, k + 1)), flint.acb(0)) / k)
    f.add(c, [place])


def _entire(f):
    f.c = f.entire()
    if f.is_real:
        f.c = [flint.acb(x.real) for x in f.c]
    if f.r.chance(0.3):
        polynomial = [f.amplitude() if k < 3 else flint.acb(0) for k in range(f.degree + 1)]
        f.times(polynomial)


def _polynomial(f):
    for k in range(f.degree // 3 + 1):
        f.c[k] = f.amplitude()


FAMILIES = [
    _pole, _branch, _mixture, _mixture, _near, _near, _weak, _product_of_powers, _product_of_powers,
    _exponential, _entire, _polynomial,
]  # fmt: skip
