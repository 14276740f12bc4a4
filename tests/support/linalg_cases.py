"""Problems of linear algebra with their exact solutions, and the measures of exact_matrices.py."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
from exact_matrices import (
    Exact,
    check_form,
    column_errors,
    factor_errors,
    flint_matrix,
    identity,
    quotients,
)
from ranges import in_range, room

import mdqr
from mdqr.testing import matrix

__all__ = [
    "Exact",
    "check_form",
    "column_errors",
    "factor_errors",
    "fractions",
    "identity",
    "in_range",
    "quotients",
    "random",
    "rational_solution",
    "room",
    "scaled",
    "shortest_solution",
    "square_solution",
]


def random(m, n, precision, dtype, rng, cond=100):
    """A matrix with full limbs and a condition that the precision can carry."""
    return matrix("random", m, n, cond=cond, precision=precision, dtype=dtype, rng=rng)


def scaled(a, rows=0, columns=0):
    """Multiply row i by 2**(rows i) and column j by 2**(columns j)."""
    exponent = rows * np.arange(a.shape[-2])[:, None] + columns * np.arange(a.shape[-1])
    return mdqr.from_limbs(
        np.ldexp(a.limbs, exponent.astype(np.int32)), dtype=complex if a.is_complex else float
    )


def fractions(a):
    """The entries as exact fractions, an object array of the shape of `a` (real)."""
    return np.asarray(a.to_fractions())


def rational_solution(a, b, weights=None):
    """The exact solution, residual sums of squares and inverse normal matrix of limbs as held."""
    m, n = a.shape
    left, right = _rational(a), _rational(b)
    scale = flint.fmpq_mat(m, m)
    for i in range(m):
        w = Fraction(1) if weights is None else Fraction(weights[i])
        scale[i, i] = flint.fmpq(w.numerator, w.denominator)
    normal = left.transpose() * scale * left
    x = normal.solve(left.transpose() * scale * right)
    r = right - left * x
    squares = r.transpose() * scale * r
    inverse = normal.inv()
    solution = values_of(x)
    return (
        solution,
        [_fraction(squares[k, k]) for k in range(solution.shape[1])],
        [_fraction(inverse[j, j]) for j in range(n)],
    )


def shortest_solution(a, b):
    """The exact solution of fewer equations than unknowns that is shortest, of limbs as held."""
    left, right = _rational(a), _rational(b)
    adjoint = left.transpose()
    return values_of(adjoint * (left * adjoint).solve(right))


def rational_inverse(a):
    """The inverse of a square matrix of fractions."""
    flat = [flint.fmpq(int(v.numerator), int(v.denominator)) for v in a.ravel()]
    return values_of(flint.fmpq_mat(*a.shape, flat).inv())


def _rational(a):
    values = fractions(a)
    flat = [flint.fmpq(int(v.numerator), int(v.denominator)) for v in values.ravel()]
    return flint.fmpq_mat(*values.shape, flat)


def values_of(x):
    """The entries of a rational matrix, as fractions."""
    found = [_fraction(v) for v in x.entries()]
    return np.array(found, dtype=object).reshape(x.nrows(), x.ncols())


def _fraction(value):
    return Fraction(int(value.p), int(value.q))


def square_solution(a, b):
    """The exact solution of a square system of limbs as held."""
    left, right = Exact.of(a), Exact.of(b.reshape(-1, 1))
    unit = Fraction(2) ** (left.exponent - right.exponent)
    x = flint_matrix(left.real).solve(flint_matrix(right.real))
    return np.array([Fraction(int(v.p), int(v.q)) * unit for v in x.entries()])
