"""Gauss rules in any precision: nodes and weights with proven error bounds.

Data flow in one direction. `gauss` (`_gauss.py`) takes the recurrence of the orthogonal polynomials
of a weight from `_classical.py`, exact rationals; `_tridiagonal.py` refines the eigenvalues of its
Jacobi matrix in growing precision and bounds them and the weights.
"""

from mdqr.quadrature._gauss import gauss
from mdqr.quadrature._rule import QuadratureInfo, QuadratureRule

__all__ = ["QuadratureInfo", "QuadratureRule", "gauss"]


def __dir__() -> list[str]:
    return sorted(__all__)
