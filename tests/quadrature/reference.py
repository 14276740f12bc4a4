"""Nodes and weights to 320 digits: Newton's method on the recurrence, in mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath

from mdqr.quadrature._classical import weight_of

DIGITS = 320


def integral(kind: str, alpha: Fraction, beta: Fraction) -> mpmath.mpf:
    """The integral of a weight, by its formula in tables."""
    a, b = (mpmath.mpf(x.numerator) / x.denominator for x in (alpha, beta))
    if kind == "jacobi":
        return mpmath.mpf(2) ** (a + b + 1) * mpmath.beta(a + 1, b + 1)
    if kind == "laguerre":
        return mpmath.gamma(a + 1)
    if kind == "gegenbauer":
        return mpmath.sqrt(mpmath.pi) * mpmath.gamma(a + 0.5) / mpmath.gamma(a + 1)
    return {
        "legendre": mpmath.mpf(2),
        "chebyshev": +mpmath.pi,
        "chebyshev2": mpmath.pi / 2,
        "hermite": mpmath.sqrt(mpmath.pi),
        "hermite_e": mpmath.sqrt(2 * mpmath.pi),
    }[kind]


def rule(
    kind: str, n: int, starts: list[Fraction], alpha: Fraction | None, beta: Fraction | None
) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    """The rule whose nodes are next to `starts`."""
    weight = weight_of(kind, n, alpha, beta)
    with mpmath.workdps(DIGITS + 60):
        mass = integral(kind, alpha or Fraction(0), beta or Fraction(0))
        a = [mpmath.mpf(v.numerator) / v.denominator for v in weight.diagonal]
        squares = [mpmath.mpf(v.numerator) / v.denominator for v in weight.squares]
        nodes, weights = [], []
        for start in starts:
            x = mpmath.mpf(start.numerator) / start.denominator
            for _ in range(4):
                value, slope, _ = _monic(x, a, squares)
                x -= value / slope
            nodes.append(x)
            weights.append(mass / _monic(x, a, squares)[2])
    return nodes, weights


def _monic(
    x: mpmath.mpf, a: list[mpmath.mpf], squares: list[mpmath.mpf]
) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """The monic polynomial, its slope, and the sum of squares of the orthonormal ones below."""
    before, value = mpmath.mpf(0), mpmath.mpf(1)
    slope_before, slope = mpmath.mpf(0), mpmath.mpf(0)
    total, norm = mpmath.mpf(0), mpmath.mpf(1)
    for k, diagonal in enumerate(a):
        if k:
            norm *= squares[k - 1]
        total += value**2 / norm
        square = squares[k - 1] if k else mpmath.mpf(0)
        before, value, slope_before, slope = (
            value,
            (x - diagonal) * value - square * before,
            slope,
            value + (x - diagonal) * slope - square * slope_before,
        )
    return value, slope, total
