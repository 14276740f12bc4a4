"""Terms of a system with exact coefficients, without a parameter, affine or homogeneous."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._functions.from_limbs import from_limbs
from mdqr._precision import Precision
from mdqr.series._systems.evaluation import Polynomials
from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.precise import PrecisePolynomials
from mdqr.series._systems.system import System


@dataclass(frozen=True)
class Terms:
    """Terms ``coefficient x_1^e_1 ... x_n^e_n``, each of an equation; none is zero."""

    exponents: np.ndarray  # (terms, n)
    coefficients: list[Gaussian]
    equation: np.ndarray  # (terms,)
    equations: int
    _precise: dict[Precision, PrecisePolynomials] = field(default_factory=dict, repr=False)

    @classmethod
    def grouped(cls, found: dict[tuple[int, ...], Gaussian], n: int, equations: int) -> Terms:
        """Return terms by their equation and exponents, sorted, those that vanish left out."""
        held = sorted((key, value) for key, value in found.items() if _is_some(value))
        table = np.array([key for key, _ in held], np.int64).reshape(-1, n + 1)
        return cls(table[:, 1:], [value for _, value in held], table[:, 0], equations)

    @classmethod
    def ordered(cls, terms: Terms, columns: list[int]) -> Terms:
        """Return terms in some of the unknowns, in an order: all that occur."""
        return cls(terms.exponents[:, columns], terms.coefficients, terms.equation, terms.equations)

    @property
    def variables(self) -> int:
        """The number of unknowns."""
        return self.exponents.shape[1]

    @cached_property
    def is_real(self) -> bool:
        """True if all coefficients are real."""
        return all(value.imag == 0 for value in self.coefficients)

    @cached_property
    def degrees(self) -> np.ndarray:
        """The degrees of the equations; -1 of one without terms."""
        found = np.full(self.equations, -1)
        np.maximum.at(found, self.equation, self.exponents.sum(axis=1))
        return found

    @cached_property
    def counts(self) -> np.ndarray:
        """The numbers of terms of the equations."""
        return np.bincount(self.equation, minlength=self.equations)

    def homogenised(self, parameters: int = 0, degrees: np.ndarray | None = None) -> Terms:
        """Return the terms with a variable in front that makes each equation homogeneous.

        Of the degrees that are given, or of their own. The last unknowns may be parameters, which
        do not count.
        """
        sizes = self.exponents[:, : self.variables - parameters].sum(axis=1)
        if degrees is None:
            degrees = np.zeros(self.equations, int)
            np.maximum.at(degrees, self.equation, sizes)
        missing = degrees[self.equation] - sizes
        return replace(self, _precise={}, exponents=np.column_stack([missing, self.exponents]))

    def scaled(self, period: int | None = None) -> Terms:
        """Return the equations times powers of two, their largest coefficients near 1.

        Other factors would round coefficients, and split multiple roots. Equations whose numbers
        differ by a `period` have one factor.
        """
        places = (self.equation % (period or self.equations)).tolist()
        top: dict[int, int] = {}
        for place, value in zip(places, self.coefficients, strict=True):
            size = max(abs(value.real), abs(value.imag))
            bits = size.numerator.bit_length() - size.denominator.bit_length()
            top[place] = max(top.get(place, bits), bits)
        factors = {place: _power_of_two(-bits) for place, bits in top.items()}
        scaled = [
            Gaussian(value.real * factors[place], value.imag * factors[place])
            for place, value in zip(places, self.coefficients, strict=True)
        ]
        return replace(self, _precise={}, coefficients=scaled)

    def beside(self, other: Terms) -> Terms:
        """Return the equations, and behind them another system in the same unknowns."""
        return Terms(
            np.concatenate([self.exponents, other.exponents]),
            self.coefficients + other.coefficients,
            np.concatenate([self.equation, self.equations + other.equation]),
            self.equations + other.equations,
        )

    @cached_property
    def floats(self) -> np.ndarray:
        """The coefficients in float64, complex if one is.

        Raises
        ------
        ValueError
            If one leaves the range of doubles.
        """
        try:
            real = np.array([float(value.real) for value in self.coefficients])
            if self.is_real:
                return real
            return real + 1j * np.array([float(value.imag) for value in self.coefficients])
        except OverflowError:
            raise ValueError(
                "a coefficient of the system is outside the range of doubles"
            ) from None

    @property
    def is_in_range(self) -> bool:
        """True if no coefficient leaves the range of doubles."""
        try:
            return bool(np.isfinite(self.floats).all())
        except ValueError:
            return False

    @cached_property
    def polynomials(self) -> Polynomials:
        """The equations in float64."""
        return Polynomials(self.exponents, self.floats, self.equation, self.equations)

    @cached_property
    def moduli(self) -> Polynomials:
        """The equations in float64 with the moduli of the coefficients."""
        return Polynomials(self.exponents, abs(self.floats), self.equation, self.equations)

    def precise(self, precision: Precision) -> PrecisePolynomials:
        """Return the equations in a precision."""
        if precision not in self._precise:
            self._precise[precision] = PrecisePolynomials(
                self.exponents, self.rounded(precision), self.equation, self.equations
            )
        return self._precise[precision]

    def rounded(self, precision: Precision) -> MDArray:
        """Return the coefficients ``(terms,)``, complex, in a precision."""
        return rounded(self.coefficients, precision)


def rounded(numbers: list[Gaussian], precision: Precision) -> MDArray:
    """Return complex numbers ``(k,)`` in a precision.

    Raises
    ------
    ValueError
        If one leaves the range of doubles.
    """
    parts = []
    for name in ("real", "imag"):
        values = np.empty(len(numbers), dtype=object)
        values[:] = [getattr(value, name) for value in numbers]
        parts.append(array(values, precision=precision).limbs)
    return from_limbs(np.stack(parts), dtype=complex)


def exact(system: System) -> list[list[Gaussian]]:
    """Return the coefficients of the series in the parameter that terms are, exactly.

    Raises
    ------
    ValueError
        If one is not finite.
    """
    held = system._coefficients
    if held._exact is not None:
        return held._exact
    given = held.given if isinstance(held.given, MDArray) else array(held.given, precision="d")
    if not np.isfinite(given.to_numpy()).all():
        raise ValueError("coefficients of the system must be finite")
    return [[gaussian(value) for value in row] for row in given]


def gaussian(value: Any) -> Gaussian:
    """Return a number exactly: of Python, of NumPy, an MDArray, or a text."""
    if isinstance(value, MDArray):
        return Gaussian(
            Fraction(*value.real.as_integer_ratio()), Fraction(*value.imag.as_integer_ratio())
        )
    if isinstance(value, complex | np.complexfloating):
        return Gaussian(Fraction(float(value.real)), Fraction(float(value.imag)))
    return Gaussian(Fraction(value), Fraction(0))


def _is_some(value: Gaussian) -> bool:
    return bool(value.real or value.imag)


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)
