"""Problems of linear algebra with their exact solutions, and the measures of exact_matrices.py."""

from __future__ import annotations

from fractions import Fraction

import flint
import mpmath
import numpy as np
from exact_matrices import (
    Exact,
    check_form,
    column_errors,
    factor_errors,
    flint_matrix,
    identity,
    orthogonality,
    product,
    quotients,
)
from ranges import in_range, room

import mdqr

__all__ = [
    "Exact",
    "check_form",
    "column_errors",
    "factor_errors",
    "fractions",
    "identity",
    "in_range",
    "orthogonality",
    "quotients",
    "random",
    "rational_solution",
    "room",
    "scaled",
    "shortest_solution",
    "square_solution",
]


def random(m, n, precision, dtype, rng, cond=100):
    """A matrix with full limbs and a condition that the precision can carry.

    As `mdqr.testing.matrix("random")`, in a fifth of its time: the singular factors are orthogonal
    to 30 bits, and so the singular values are in geometric progression but for as much of each.
    """
    bits, rank, is_complex = precision.bits + 64, min(m, n), dtype is complex
    (*left,), (*right,) = (_orthogonal(k, rank, is_complex, rng) for k in (m, n))
    left = [part * _singular_values(rank, cond, bits, rng) for part in left]
    rows = np.concatenate(right, axis=1).T
    parts = [np.concatenate(left, axis=1)]
    if is_complex:
        parts.append(np.concatenate([left[1], -left[0]], axis=1))
    unit = -bits - 2 * FACTOR_BITS
    limbs = [_limbs(product(part, rows), unit, precision.limbs) for part in parts]
    return mdqr.from_limbs(np.stack(limbs) if is_complex else limbs[0], dtype=dtype)


FACTOR_BITS = 30


def _orthogonal(m, n, is_complex, rng):
    """Orthonormal columns of integers in units of 2**-FACTOR_BITS: real parts, imaginary parts."""
    draws = rng.standard_normal((1 + is_complex, m, n))
    q = np.linalg.qr(draws[0] + 1j * draws[1] if is_complex else draws[0])[0]
    parts = [q.real, q.imag] if is_complex else [q]
    # So many bits of them are those of any other BLAS, too.
    return [np.rint(np.ldexp(part, FACTOR_BITS)).astype(np.int64).astype(object) for part in parts]


def _singular_values(count, cond, bits, rng):
    """From 1 to 1 / cond less up to 2**-FACTOR_BITS of each, in units of 2**-bits."""
    with mpmath.workprec(bits + 64):
        step = mpmath.mpf(Fraction(cond).denominator) / Fraction(cond).numerator
        step = int(mpmath.ldexp(mpmath.root(step, max(count - 1, 1)), bits))
    found, value = [], 1 << bits
    for _ in range(count):
        less = int.from_bytes(rng.bytes(bits // 8), "little")
        found.append(value - (value * less >> (bits + FACTOR_BITS)))
        value = value * step >> bits
    return np.array(found, dtype=object)


def _limbs(values, exponent, count):
    """Round integers in units of 2**exponent to normalised limbs."""
    planes = np.empty((count, *values.shape))
    for k in range(count):
        planes[k] = values.astype(float)
        values = values - _integer(planes[k])
    for k in range(count - 1):  # the nearest doubles may tie
        total = planes[k] + planes[k + 1]
        planes[k + 1] -= total - planes[k]
        planes[k] = total
    return np.ldexp(planes, exponent)


_integer = np.frompyfunc(int, 1, 1)


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
