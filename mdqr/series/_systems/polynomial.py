"""Polynomials with exact coefficients: what texts and SymPy expressions become."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

# A product may have so many terms, no exponent may be larger, and no coefficient longer.
MOST_TERMS, MOST_DEGREE, MOST_BITS = 300_000, 10_000, 40_000
# Products of terms that one text may take: numbers of 256 bits more count as one more.
MOST_WORK, _UNIT = 1_000_000, 256


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

    @property
    def bits(self) -> int:
        """The length of its longest numerator or denominator, in bits."""
        return max(
            n.bit_length() for x in (self.real, self.imag) for n in (x.numerator, x.denominator)
        )

    def inverse(self) -> Gaussian:
        """Return 1 over it; ZeroDivisionError for zero."""
        square = self.real**2 + self.imag**2
        return Gaussian(self.real / square, -self.imag / square)


ZERO, ONE = Gaussian(Fraction(0), Fraction(0)), Gaussian(Fraction(1), Fraction(0))
IMAGINARY = Gaussian(Fraction(0), Fraction(1))

Exponents = tuple[int, ...]
Polynomial = dict[Exponents, Gaussian]


class TooLarge(ValueError):
    """Exception for a polynomial with too many terms, or of too high a degree."""


def constant(value: Gaussian, variables: int) -> Polynomial:
    """Return a polynomial without variables."""
    return {(0,) * variables: value} if value != ZERO else {}


def variable(index: int, variables: int) -> Polynomial:
    """Return one variable."""
    return {tuple(int(i == index) for i in range(variables)): ONE}


class Work:
    """The work that one text may still take."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def spend(self, products: int, bits: int) -> None:
        """Take off products of terms whose coefficients have so many bits.

        Raises
        ------
        TooLarge
            If no more are left.
        """
        self._left -= products * (1 + bits // _UNIT)
        if self._left < 0:
            raise TooLarge(f"expanding it takes more than {MOST_WORK} products of terms")


def add_to(total: Polynomial, term: Polynomial, sign: int) -> None:
    """Add a polynomial, times 1 or -1, to another.

    Raises
    ------
    TooLarge
        If a coefficient gets too long.
    """
    for exponents, value in term.items():
        value = value if sign > 0 else -value
        if exponents in total:
            value = _checked(total[exponents] + value)
        if value == ZERO:
            total.pop(exponents, None)
        else:
            total[exponents] = value


def _checked(value: Gaussian) -> Gaussian:
    if value.bits > MOST_BITS:
        raise TooLarge(f"a coefficient has more than {MOST_BITS} bits")
    return value


def _bits(a: Polynomial) -> int:
    return max((value.bits for value in a.values()), default=0)


def multiply(a: Polynomial, b: Polynomial, work: Work) -> Polynomial:
    """Return a product.

    Raises
    ------
    TooLarge
        If it might have too many terms or too long coefficients, has too high a degree, or takes
        more than is left of the work.
    """
    if len(a) * len(b) > MOST_TERMS:
        raise TooLarge(f"a product of {len(a)} and {len(b)} terms has more than {MOST_TERMS}")
    bits = _bits(a) + _bits(b)
    if bits > 2 * MOST_BITS:
        raise TooLarge(f"a coefficient has more than {MOST_BITS} bits")
    work.spend(len(a) * len(b), bits)
    found: Polynomial = {}
    for first, u in a.items():
        for second, v in b.items():
            exponents = tuple(map(int.__add__, first, second))
            found[exponents] = found.get(exponents, ZERO) + u * v
    for exponents, value in found.items():
        _checked(value)
        if sum(exponents) > MOST_DEGREE:
            raise TooLarge(f"degree {sum(exponents)} is above {MOST_DEGREE}")
    return {exponents: value for exponents, value in found.items() if value != ZERO}


def power(a: Polynomial, exponent: int, variables: int, work: Work) -> Polynomial:
    """Return a power with a natural exponent, by squaring."""
    if exponent > MOST_DEGREE:
        raise TooLarge(f"the exponent {exponent} is above {MOST_DEGREE}")
    if len(a) == 1 and ONE in a.values():
        (powers,) = a
        if exponent * sum(powers) > MOST_DEGREE:
            raise TooLarge(f"degree {exponent * sum(powers)} is above {MOST_DEGREE}")
        return {tuple(exponent * power for power in powers): ONE}
    found = constant(ONE, variables)
    while exponent:
        if exponent & 1:
            found = multiply(found, a, work)
        exponent >>= 1
        if exponent:
            a = multiply(a, a, work)
    return found
