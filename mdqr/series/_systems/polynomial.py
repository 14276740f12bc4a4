"""Polynomials with exact coefficients: what texts and SymPy expressions become."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

# An expanded system may have so many terms, and no exponent may be larger.
MOST_TERMS, MOST_DEGREE = 300_000, 10_000


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A rational complex number."""

    real: Fraction
    imag: Fraction

    def __add__(self, other: Gaussian) -> Gaussian:
        return Gaussian(self.real + other.real, self.imag + other.imag)

    def __mul__(self, other: Gaussian) -> Gaussian:
        a, b, c, d = self.real, self.imag, other.real, other.imag
        if not (b or d):
            return Gaussian(a * c, b)
        return Gaussian(a * c - b * d, a * d + b * c)

    def __neg__(self) -> Gaussian:
        return Gaussian(-self.real, -self.imag)

    def inverse(self) -> Gaussian:
        """Return 1 over it; ZeroDivisionError for zero."""
        square = self.real**2 + self.imag**2
        return Gaussian(self.real / square, -self.imag / square)


ZERO, ONE = Gaussian(Fraction(0), Fraction(0)), Gaussian(Fraction(1), Fraction(0))
IMAGINARY = Gaussian(Fraction(0), Fraction(1))

Exponents = tuple[int, ...]
Polynomial = dict[Exponents, Gaussian]


class TooLarge(ValueError):
    """A polynomial has more terms, or a higher degree, than is taken."""


def constant(value: Gaussian, variables: int) -> Polynomial:
    """Return a polynomial without variables."""
    return {(0,) * variables: value} if value != ZERO else {}


def variable(index: int, variables: int) -> Polynomial:
    """Return one variable."""
    return {tuple(int(i == index) for i in range(variables)): ONE}


def add(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a sum."""
    found = dict(a)
    for exponents, value in b.items():
        total = found.get(exponents, ZERO) + value
        if total == ZERO:
            found.pop(exponents, None)
        else:
            found[exponents] = total
    return found


def negative(a: Polynomial) -> Polynomial:
    """Return it with the other sign."""
    return {exponents: -value for exponents, value in a.items()}


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a product.

    Raises
    ------
    TooLarge
        If it might have too many terms, or has too high a degree.
    """
    if len(a) * len(b) > MOST_TERMS:
        raise TooLarge(f"a product of {len(a)} and {len(b)} terms has more than {MOST_TERMS}")
    found: Polynomial = {}
    for first, u in a.items():
        for second, v in b.items():
            exponents = tuple(map(int.__add__, first, second))
            found[exponents] = found.get(exponents, ZERO) + u * v
    for exponents in found:
        if sum(exponents) > MOST_DEGREE:
            raise TooLarge(f"degree {sum(exponents)} is above {MOST_DEGREE}")
    return {exponents: value for exponents, value in found.items() if value != ZERO}


def power(a: Polynomial, exponent: int, variables: int) -> Polynomial:
    """Return a power with a natural exponent, by squaring."""
    if exponent > MOST_DEGREE:
        raise TooLarge(f"the exponent {exponent} is above {MOST_DEGREE}")
    found = constant(ONE, variables)
    while exponent:
        if exponent & 1:
            found = multiply(found, a)
        exponent >>= 1
        if exponent:
            a = multiply(a, a)
    return found
