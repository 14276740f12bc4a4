"""Polynomials at many points in integers: no rounding, so that nothing has to be bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, lcm, ldexp
from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.products import Products
from mdqr.series._systems.terms import Terms

# Floats of integers are wrong by less than this, relatively: three roundings and two truncations
# to 60 bits; and by as much as `LEAST` where they underflow.
UNIT, LEAST = 2.0**-51, 2.0**-1074
_BITS = 60


@dataclass(frozen=True)
class Fixed:
    """Complex numbers ``(real + i imag) / 2**bits``, object arrays of integers."""

    real: np.ndarray
    imag: np.ndarray
    bits: int

    def at(self, which: list[int]) -> Fixed:
        """Return some of points ``(n, points)``."""
        return Fixed(self.real[:, which], self.imag[:, which], self.bits)

    @property
    def floats(self) -> np.ndarray:
        """The numbers in complex128, moduli wrong by less than `UNIT` of them and `2 LEAST`."""
        return _floats(self.real, 1, -self.bits) + 1j * _floats(self.imag, 1, -self.bits)

    @classmethod
    def of(cls, x: MDArray, bits: int) -> Fixed:
        """Return complex values, cut off: each limb loses less than ``2**-bits``."""
        parts = []
        for part in (x.real.limbs, x.imag.limbs):
            whole = np.trunc(np.ldexp(part, bits))
            if not np.isfinite(whole).all():
                raise OverflowError("values leave the range of doubles")
            total = _integers(whole[0])
            for limb in whole[1:]:
                total = total + _integers(limb)
            parts.append(total)
        return cls(parts[0], parts[1], bits)


class Scaled(NamedTuple):
    """Complex numbers ``(real + i imag) / (2**bits below)``, rows of object arrays of integers."""

    real: list[np.ndarray]
    imag: list[np.ndarray]
    bits: list[int]
    below: list[int]


def numerators(terms: Terms, x: Fixed) -> Scaled:
    """Return the equations at points ``(n, points)``, exactly."""
    n, m, points = terms.variables, terms.equations, x.real.shape[1]
    keys = [tuple(np.repeat(np.arange(n), row).tolist()) for row in terms.exponents]
    places = {key: i for i, key in enumerate(dict.fromkeys(key for key in keys if key))}
    products = Products.of(places, n)
    real, imag = (np.empty((products.nodes, points), dtype=object) for _ in range(2))
    real[:n], imag[:n] = x.real, x.imag
    left, right, layers = products.graph
    for start, stop in pairwise(map(int, layers)):
        a, b = left[start:stop], right[start:stop]
        place = slice(n + start, n + stop)
        real[place] = real[a] * real[b] - imag[a] * imag[b]
        imag[place] = real[a] * imag[b] + imag[a] * real[b]
    found = Scaled([], [], [], [])
    degrees = terms.exponents.sum(axis=1)
    for row in range(m):
        which = np.flatnonzero(terms.equation == row)
        degree, below = int(degrees[which].max(initial=0)), _denominator(terms, which)
        sums: list[np.ndarray] = [_integers(np.zeros(points)) for _ in range(2)]
        for term in which.tolist():
            c, shift = terms.coefficients[term], x.bits * (degree - int(degrees[term]))
            p, q = int(c.real * below) << shift, int(c.imag * below) << shift
            node = products.monomials[places[keys[term]]] if keys[term] else None
            u, v = (1, 0) if node is None else (real[node], imag[node])
            sums[0] = sums[0] + (p * u - q * v if q else p * u)
            sums[1] = sums[1] + (p * v + q * u if q else p * v)
        found.real.append(sums[0])
        found.imag.append(sums[1])
        found.bits.append(x.bits * degree)
        found.below.append(below)
    return found


def values(terms: Terms, x: Fixed) -> np.ndarray:
    """Return the equations ``(m, points)`` in complex128 at points ``(n, points)``.

    Each modulus is wrong by less than ``UNIT`` of itself and ``2 LEAST``.
    """
    rows = zip(*numerators(terms, x), strict=True)
    return np.array(
        [
            _floats(real, below, -bits) + 1j * _floats(imag, below, -bits)
            for real, imag, bits, below in rows
        ]
    )


def matrix(terms: Terms, x: Fixed) -> Fixed:
    """Return the derivatives ``(m, n)`` of equations with integer coefficients at one point."""
    m, n = terms.equations, terms.variables
    at, variable = np.nonzero(terms.exponents)
    lowered = terms.exponents[at].copy()
    lowered[np.arange(len(at)), variable] -= 1
    factors = terms.exponents[at, variable].tolist()
    slopes = [
        Gaussian(terms.coefficients[i].real * factor, terms.coefficients[i].imag * factor)
        for i, factor in zip(at.tolist(), factors, strict=True)
    ]
    found = numerators(Terms(lowered, slopes, terms.equation[at] * n + variable, m * n), x)
    bits = max(found.bits, default=0)
    parts = []
    for part in found[:2]:
        entries = [int(row[0]) << (bits - own) for row, own in zip(part, found.bits, strict=True)]
        whole = np.empty(m * n, dtype=object)
        whole[:] = entries
        parts.append(whole.reshape(m, n))
    return Fixed(parts[0], parts[1], bits)


def without_denominators(terms: Terms) -> Terms:
    """Return the equations times the denominators of their coefficients."""
    found = list(terms.coefficients)
    for row in range(terms.equations):
        which = np.flatnonzero(terms.equation == row)
        below = Fraction(_denominator(terms, which))
        for i in which.tolist():
            found[i] = Gaussian(found[i].real * below, found[i].imag * below)
    return Terms(terms.exponents, found, terms.equation, terms.equations)


def product_minus_one(b: Fixed, a: Fixed) -> np.ndarray:
    """Return ``B A - 1`` of matrices ``(n, n)`` in complex128, rounded as `Fixed.floats`."""
    real = b.real.dot(a.real) - b.imag.dot(a.imag)
    imag = b.real.dot(a.imag) + b.imag.dot(a.real)
    bits = a.bits + b.bits
    for i in range(len(real)):
        real[i, i] -= 1 << bits
    return Fixed(real, imag, bits).floats


def _denominator(terms: Terms, which: np.ndarray) -> int:
    rows = [terms.coefficients[term] for term in which.tolist()]
    return lcm(*(part.denominator for c in rows for part in (c.real, c.imag)))


def _integers(whole: np.ndarray) -> np.ndarray:
    found = np.empty(whole.shape, dtype=object)
    found.reshape(-1)[:] = [int(value) for value in whole.flat]
    return found


def _floats(numbers: np.ndarray, below: int, exponent: int) -> np.ndarray:
    """Return ``numbers 2**exponent / below`` in float64."""
    cut = max(below.bit_length() - _BITS, 0)
    divisor = float(below >> cut)

    def one(number: int) -> float:
        shift = max(number.bit_length() - _BITS, 0)
        # A negative number is cut off downward: by less than one in 60 bits, too.
        try:
            return ldexp(float(number >> shift) / divisor, shift - cut + exponent)
        except OverflowError:
            return inf if number > 0 else -inf

    function: Callable[..., np.ndarray] = np.frompyfunc(one, 1, 1)
    return np.asarray(function(numbers)).astype(float)
