"""Matrices of exact rank, and their exact shortest solutions of least squares."""

from __future__ import annotations

from fractions import Fraction

import flint
import linalg_cases as cases
import numpy as np

import mdqr


def _rational(values):
    """An exact matrix of Fractions or integers."""
    flat = [flint.fmpq(int(v.numerator), int(v.denominator)) for v in np.asarray(values).ravel()]
    return flint.fmpq_mat(*np.shape(values), flat)


def _embedded(real, imag):
    """Complex matrices as real ones of twice the order."""
    return np.block([[real, -imag], [imag, real]])


def _solution(x, y, weights, b):
    """The exact shortest solution of ``x y z = b``, x of full column and y of full row rank."""
    x, y, b = (_rational(v) for v in (x, y, b))
    scale = _rational(np.diag(np.array([Fraction(w) for w in weights], dtype=object)))
    left = x.transpose() * scale
    z = (left * x).solve(left * b)
    z = y.transpose() * (y * y.transpose()).solve(z)
    found = [Fraction(int(v.p), int(v.q)) for v in z.entries()]
    return np.array(found, dtype=object).reshape(z.nrows(), z.ncols())


def factors(m, n, rank, dtype, rng):
    """Factors of integers, parts of complex ones apart."""
    parts = 2 if dtype is complex else 1
    x = rng.integers(-99, 99, (parts, m, rank)).astype(object)
    y = rng.integers(-99, 99, (parts, rank, n)).astype(object)
    return x, y


def product(x, y, precision):
    if len(x) == 1:
        return mdqr.array((x[0] @ y[0]).tolist(), precision=precision)
    real, imag = x[0] @ y[0] - x[1] @ y[1], x[0] @ y[1] + x[1] @ y[0]
    real, imag = (mdqr.array(v.tolist(), precision=precision) for v in (real, imag))
    return real + imag * 1j


def shortest(x, y, weights, b):
    """The shortest solution as pairs of exact parts."""
    if len(x) == 1:
        return _solution(x[0], y[0], weights, cases.fractions(b)), None
    parts = cases.fractions(b.real), cases.fractions(b.imag)
    z = _solution(_embedded(*x), _embedded(*y), [*weights, *weights], np.concatenate(parts))
    return z[: len(z) // 2], z[len(z) // 2 :]


def errors(x, wanted):
    """Exact moduli of errors, as floats."""
    if not x.is_complex:
        return abs(cases.fractions(x) - wanted[0]).astype(float)
    real, imag = cases.fractions(x.real) - wanted[0], cases.fractions(x.imag) - wanted[1]
    return np.hypot(real.astype(float), imag.astype(float))
