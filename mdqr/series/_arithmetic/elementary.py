"""Elementary functions of power series, as methods that `mdqr` and NumPy call."""

from __future__ import annotations

from fractions import Fraction
from operator import add, mul
from typing import Any, TypeVar

import mdqr
from mdqr._array.array import MDArray
from mdqr._core.answers import Answers
from mdqr.series._arithmetic import functions, hyperbolic

_S = TypeVar("_S", bound="Elementary")

_NAMES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "square"),
    *("reciprocal", "sin", "cos", "tan", "sinpi", "cospi", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "erf", "erfc", "hypot", "sum"),
)


class Elementary(Answers):
    """Functions of series with coefficients ``(..., d + 1)``."""

    __slots__ = ()
    coeffs: MDArray
    _answered = frozenset(_NAMES)

    def _like(self: _S, coeffs: MDArray) -> _S:
        """Return series with other coefficients, and what else these have."""
        raise TypeError("a kind of series without coefficients")

    def reciprocal(self: _S) -> _S:
        """Return 1 over it.

        Raises
        ------
        ZeroDivisionError
            If a constant coefficient is zero, as all powers but natural ones do.
        """
        return self._like(functions.reciprocal(self.coeffs))

    def square(self: _S) -> _S:
        """Return the square."""
        found: _S = mul(self, self)
        return found

    def sqrt(self: _S) -> _S:
        """Return the square root, starting from the root of the constant term."""
        first = mdqr.sqrt(self.coeffs[..., 0])
        return self._like(functions.power(self.coeffs, 0.5, first))

    def cbrt(self: _S) -> _S:
        """Return the cube root, real where the series is."""
        first = mdqr.cbrt(self.coeffs[..., 0])
        return self._like(functions.power(self.coeffs, Fraction(1, 3), first))

    def hypot(self: _S, other: Any) -> _S:
        """Return the root of the sum of two squares."""
        leg: _S = add(mul(self, 0), other)  # a constant is not squared in float64
        squares: _S = add(self.square(), leg.square())
        return squares.sqrt()

    def exp(self: _S) -> _S:
        """Return the exponential."""
        return self._like(functions.exp(self.coeffs))

    def exp2(self: _S) -> _S:
        """Return two to its power."""
        return self._like(hyperbolic.exp2(self.coeffs))

    def expm1(self: _S) -> _S:
        """Return the exponential less 1."""
        return self._like(hyperbolic.expm1(self.coeffs))

    def log(self: _S) -> _S:
        """Return the logarithm; the constant term may not be zero."""
        return self._like(functions.log(self.coeffs))

    def log2(self: _S) -> _S:
        """Return the logarithm to base 2."""
        return self._like(hyperbolic.log_to_base(self.coeffs, 2))

    def log10(self: _S) -> _S:
        """Return the logarithm to base 10."""
        return self._like(hyperbolic.log_to_base(self.coeffs, 10))

    def log1p(self: _S) -> _S:
        """Return the logarithm of 1 and the series."""
        return self._like(hyperbolic.log1p(self.coeffs))

    def sin(self: _S) -> _S:
        """Return the sine."""
        return self._like(functions.sin_cos(self.coeffs)[0])

    def cos(self: _S) -> _S:
        """Return the cosine."""
        return self._like(functions.sin_cos(self.coeffs)[1])

    def tan(self: _S) -> _S:
        """Return the tangent."""
        return self._like(functions.tan(self.coeffs))

    def sinpi(self: _S) -> _S:
        """Return the sine of pi times the series."""
        return self._like(hyperbolic.sinpi_cospi(self.coeffs)[0])

    def cospi(self: _S) -> _S:
        """Return the cosine of pi times the series."""
        return self._like(hyperbolic.sinpi_cospi(self.coeffs)[1])

    def arcsin(self: _S) -> _S:
        """Return the inverse sine."""
        return self._like(functions.arcsin(self.coeffs))

    def arccos(self: _S) -> _S:
        """Return the inverse cosine."""
        return self._like(functions.arccos(self.coeffs))

    def arctan(self: _S) -> _S:
        """Return the inverse tangent."""
        return self._like(functions.arctan(self.coeffs))

    def sinh(self: _S) -> _S:
        """Return the hyperbolic sine."""
        return self._like(hyperbolic.sinh_cosh(self.coeffs)[0])

    def cosh(self: _S) -> _S:
        """Return the hyperbolic cosine."""
        return self._like(hyperbolic.sinh_cosh(self.coeffs)[1])

    def tanh(self: _S) -> _S:
        """Return the hyperbolic tangent."""
        return self._like(hyperbolic.tanh(self.coeffs))

    def arcsinh(self: _S) -> _S:
        """Return the inverse hyperbolic sine."""
        return self._like(hyperbolic.arcsinh(self.coeffs))

    def arccosh(self: _S) -> _S:
        """Return the inverse hyperbolic cosine."""
        return self._like(hyperbolic.arccosh(self.coeffs))

    def arctanh(self: _S) -> _S:
        """Return the inverse hyperbolic tangent."""
        return self._like(hyperbolic.arctanh(self.coeffs))

    def erf(self: _S) -> _S:
        """Return the error function."""
        return self._like(hyperbolic.erf(self.coeffs, mdqr.erf, 1))

    def erfc(self: _S) -> _S:
        """Return the complementary error function."""
        return self._like(hyperbolic.erf(self.coeffs, mdqr.erfc, -1))
