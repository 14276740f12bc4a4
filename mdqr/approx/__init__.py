"""Rational approximation in any precision: the AAA algorithm, with SciPy's names."""

from mdqr.approx._aaa import AAA

__all__ = ["AAA"]


def __dir__() -> list[str]:
    return sorted(__all__)
