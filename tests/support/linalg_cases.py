"""Exact oracles for linear algebra: integer matrices of python-flint, and shapes of problems."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

import mdqr
from mdqr.testing import matrix
from mdqr.testing._exact import SCALE, to_integers


class Exact:
    """A real or complex matrix with the exact values of one matrix, in units of 2**-exponent."""

    def __init__(self, real, imag, exponent):
        self.real, self.imag, self.exponent = real, imag, exponent

    @classmethod
    def of(cls, a):
        """Take the limbs of a 2-D array, less their common factor of two."""
        block, is_complex = a.limbs, a.is_complex
        planes = [to_integers(part) for part in (block if is_complex else [block])]
        together = 0
        for plane in planes:
            for value in plane.ravel():
                together |= int(value)
        zeros = (together & -together).bit_length() - 1 if together else 0
        parts = [mat(plane, zeros) for plane in planes]
        return cls(parts[0], parts[1] if is_complex else None, SCALE - zeros)

    @property
    def shape(self):
        return self.real.nrows(), self.real.ncols()

    def at(self, exponent):
        """The same matrix in finer units."""
        factor = flint.fmpz(1) << (exponent - self.exponent)
        imag = None if self.imag is None else self.imag * factor
        return Exact(self.real * factor, imag, exponent)

    def __sub__(self, other):
        exponent = max(self.exponent, other.exponent)
        x, y = self.at(exponent), other.at(exponent)
        imag = None
        if x.imag is not None or y.imag is not None:
            imag = x._imag() - y._imag()
        return Exact(x.real - y.real, imag, exponent)

    def _imag(self):
        return flint.fmpz_mat(*self.shape) if self.imag is None else self.imag

    def __matmul__(self, other):
        exponent = self.exponent + other.exponent
        if self.imag is None and other.imag is None:
            return Exact(self.real * other.real, None, exponent)
        a, b, c, e = self.real, self._imag(), other.real, other._imag()
        return Exact(a * c - b * e, a * e + b * c, exponent)

    @property
    def H(self):
        imag = None if self.imag is None else -self.imag.transpose()
        return Exact(self.real.transpose(), imag, self.exponent)

    @property
    def T(self):
        imag = None if self.imag is None else self.imag.transpose()
        return Exact(self.real.transpose(), imag, self.exponent)

    def squares(self):
        """The squared moduli as an object array of integers, in units of 2**(-2 exponent)."""
        total = entries(self.real) ** 2
        return total if self.imag is None else total + entries(self.imag) ** 2

    def moduli(self):
        """The moduli as an `Exact`, of complex entries rounded up by less than 2**-64 of one."""
        if self.imag is None:
            size = abs(entries(self.real))
            return Exact(mat(size), None, self.exponent)
        root = np.frompyfunc(lambda s: math.isqrt(int(s) << 128) + 1 if s else 0, 1, 1)
        return Exact(mat(np.asarray(root(self.squares()))), None, self.exponent + 64)

    def within(self, factor, other):
        """Whether every entry is at most `factor` (a Fraction) times that of `other`; both real."""
        exponent = max(self.exponent, other.exponent)
        x, y = (entries(m.at(exponent).real) for m in (self, other))
        return bool((x * factor.denominator <= y * factor.numerator).all())


def mat(values, shift=0):
    """A flint matrix of an object array of integers divided by 2**shift."""
    return flint.fmpz_mat(*values.shape, [int(value) >> shift for value in values.ravel()])


def entries(m):
    values = np.array([int(value) for value in m.entries()], dtype=object)
    return values.reshape(m.nrows(), m.ncols())


def identity(n):
    m = flint.fmpz_mat(n, n)
    for i in range(n):
        m[i, i] = 1
    return Exact(m, None, 0)


def quotients(error, exponent, size, unit):
    """Square roots of the quotients of sums of squares, as floats."""

    def one(e, s):
        if e == 0:
            return 0.0
        if s == 0:
            return math.inf
        ratio = Fraction(int(e), int(s)) * Fraction(4) ** (unit - exponent)
        scale = 2 * ((ratio.numerator.bit_length() - ratio.denominator.bit_length()) // 2)
        return math.ldexp(math.sqrt(ratio / Fraction(2) ** scale), scale // 2)

    return np.asarray(np.frompyfunc(one, 2, 1)(error, size), dtype=float)


def factor_errors(a, Q, R):
    """Exact normwise, columnwise, rowwise and orthogonality errors in multiples of eps."""
    exact = Exact.of(a)
    difference = exact - Exact.of(Q) @ Exact.of(R)
    e, s = difference.squares(), exact.squares()
    units = difference.exponent, exact.exponent
    gram = identity(Q.shape[-1]) - Exact.of(Q).H @ Exact.of(Q)
    found = [
        quotients(np.sum(e), units[0], np.sum(s), units[1]),
        quotients(e.sum(axis=0), units[0], s.sum(axis=0), units[1]).max(),
        quotients(e.sum(axis=1), units[0], s.sum(axis=1), units[1]).max(),
        quotients(np.sum(gram.squares()), gram.exponent, 1, 0),
    ]
    return [float(value) / Q.precision.eps for value in found]


def column_errors(a, Q, R):
    """Exact columnwise errors beyond the absolute slack of the acceptance, in multiples of eps."""
    exact = Exact.of(a)
    difference = exact - Exact.of(Q) @ Exact.of(R)
    slack = a.shape[0] * Fraction(2) ** -1070
    allowed = (slack * Fraction(2) ** difference.exponent) ** 2
    e = difference.squares().sum(axis=0)
    e = np.where([value <= allowed for value in e], 0, e)
    return quotients(e, difference.exponent, exact.squares().sum(axis=0), exact.exponent) / (
        Q.precision.eps
    )


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

    def fmpq(values):
        values = np.asarray(values)
        flat = [flint.fmpq(int(v.numerator), int(v.denominator)) for v in values.ravel()]
        return flint.fmpq_mat(*values.shape, flat)

    left, right = fmpq(fractions(a)), fmpq(fractions(b))
    scale = flint.fmpq_mat(m, m)
    for i in range(m):
        w = Fraction(1) if weights is None else Fraction(weights[i])
        scale[i, i] = flint.fmpq(w.numerator, w.denominator)
    normal = left.transpose() * scale * left
    x = normal.solve(left.transpose() * scale * right)
    r = right - left * x
    squares = r.transpose() * scale * r
    inverse = normal.inv()

    def fraction(value):
        return Fraction(int(value.p), int(value.q))

    solution = np.array([fraction(v) for v in x.entries()], dtype=object).reshape(n, -1)
    return (
        solution,
        [fraction(squares[k, k]) for k in range(solution.shape[1])],
        [fraction(inverse[j, j]) for j in range(n)],
    )


def square_solution(a, b):
    """The exact solution of a square system of limbs as held."""
    left, right = Exact.of(a), Exact.of(b.reshape(-1, 1))
    unit = Fraction(2) ** (left.exponent - right.exponent)
    x = left.real.solve(right.real)
    return np.array([Fraction(int(v.p), int(v.q)) * unit for v in x.entries()])


def check_form(R):
    """R is upper triangular to the bit, with a real diagonal that is not negative."""
    limbs = R.limbs
    assert np.array_equal(limbs, np.triu(limbs))
    assert not np.signbit(np.tril(limbs, -1)).any()
    diagonal = np.diagonal(limbs, axis1=-2, axis2=-1)
    if R.is_complex:
        assert (diagonal[1] == 0).all()
        diagonal = diagonal[0]
    assert (diagonal[0] >= 0).all()
    assert not np.signbit(diagonal[0]).any()
