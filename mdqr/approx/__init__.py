"""Approximation in any precision: AAA, minimax polynomials, interpolation, with SciPy's names."""

from mdqr.approx._aaa import AAA
from mdqr.approx._minimax import MinimaxPolynomial, minimax
from mdqr.approx._weights import BarycentricInterpolator

__all__ = ["AAA", "BarycentricInterpolator", "MinimaxPolynomial", "minimax"]


def __dir__() -> list[str]:
    return sorted(__all__)
