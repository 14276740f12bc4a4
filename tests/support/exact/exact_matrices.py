"""Matrices of exact numbers, what of a factorisation they measure, and the form of R."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

try:
    import flint
except ImportError:  # on the machines of tests/gpu
    flint = None


class Exact:
    """A real or complex matrix of exact values in units of ``2**-exponent``.

    Its parts are object arrays of integers; `imag` is None in a real one.
    """

    def __init__(self, real, imag, exponent):
        self.real, self.imag, self.exponent = real, imag, exponent
        self._flint = None

    @classmethod
    def of(cls, a):
        """Take the limbs of an array, in units of the lowest bit of any."""
        limbs = a.to_device("cpu").limbs
        planes = np.moveaxis(limbs, 1, 0) if a.is_complex else limbs
        mantissas, exponents = np.frexp(planes)
        digits = np.ldexp(mantissas, 53).astype(np.int64)
        zeros = np.frexp((digits & -digits).astype(float))[1] - 1  # at the end of each
        exponents = np.where(digits, exponents + (zeros - 53), 2000)
        unit = min(int(exponents.min(initial=2000)), 1024)
        digits = (digits >> np.maximum(zeros, 0)).astype(object)
        total = np.sum(digits << (exponents - unit).astype(object), axis=0)
        real, imag = total if a.is_complex else (total, None)
        return cls(real, imag, -unit)

    def at(self, exponent):
        """The same matrix in finer units."""
        shift = exponent - self.exponent
        return Exact(
            self.real << shift, None if self.imag is None else self.imag << shift, exponent
        )

    def _parts(self):
        return [self.real] if self.imag is None else [self.real, self.imag]

    def _imag(self):
        return 0 * self.real if self.imag is None else self.imag

    def __neg__(self):
        return Exact(-self.real, None if self.imag is None else -self.imag, self.exponent)

    def __add__(self, other):
        exponent = max(self.exponent, other.exponent)
        x, y = self.at(exponent), other.at(exponent)
        is_real = x.imag is None and y.imag is None
        return Exact(x.real + y.real, None if is_real else x._imag() + y._imag(), exponent)

    def __sub__(self, other):
        return self + -other

    def __matmul__(self, other):
        exponent = self.exponent + other.exponent
        if flint is None:
            return Exact(*_multiplied(self._parts(), other._parts()), exponent)
        parts = _multiplied(self._matrices(), other._matrices())
        found = Exact(*(None if part is None else integers(part) for part in parts), exponent)
        found._flint = [part for part in parts if part is not None]
        return found

    def _matrices(self):
        """The parts as matrices of python-flint, which are made once."""
        if self._flint is None:
            self._flint = [flint_matrix(part) for part in self._parts()]
        return self._flint

    @property
    def T(self):
        found = Exact(self.real.T, None if self.imag is None else self.imag.T, self.exponent)
        found._flint = self._flint and [part.transpose() for part in self._flint]
        return found

    @property
    def H(self):
        found = self.T
        if self.imag is not None:
            found.imag = -found.imag
            found._flint = found._flint and [found._flint[0], -found._flint[1]]
        return found

    def squares(self):
        """The squared moduli as an object array of integers, in units of 2**(-2 exponent)."""
        return self.real**2 if self.imag is None else self.real**2 + self.imag**2

    def norm(self):
        """The Frobenius norm, to 30 digits."""
        with mpmath.workdps(30):
            total = mpmath.mpf(sum(int(v) for v in self.squares().ravel()))
            return float(mpmath.sqrt(total) * mpmath.mpf(2) ** -self.exponent)

    def moduli(self):
        """The moduli as an `Exact`, of complex entries rounded up by less than 2**-64 of one."""
        if self.imag is None:
            return Exact(abs(self.real), None, self.exponent)
        root = np.frompyfunc(lambda s: math.isqrt(int(s) << 128) + 1 if s else 0, 1, 1)
        return Exact(root(self.squares()), None, self.exponent + 64)

    def within(self, factor, other):
        """Return True if entries are at most `factor` times those of `other`; all are real."""
        exponent = max(self.exponent, other.exponent)
        x, y = (m.at(exponent).real for m in (self, other))
        return bool((x * factor.denominator <= y * factor.numerator).all())


def product(a, b):
    """The product of integer matrices, by FLINT where it is installed: object arrays are slow."""
    if flint is None:
        return a.dot(b)
    return integers(flint_matrix(a) * flint_matrix(b))


def flint_matrix(values):
    return flint.fmpz_mat(*values.shape, [int(value) for value in values.ravel()])


def integers(matrix):
    """A matrix of python-flint as an object array."""
    found = np.array([int(value) for value in matrix.entries()], dtype=object)
    return found.reshape(matrix.nrows(), matrix.ncols())


def _multiplied(a, b):
    """The real and imaginary parts of a product, of one or two parts each; a real one has None."""
    if len(a) == len(b) == 2:
        x, y = _times(a[0], b[0]), _times(a[1], b[1])
        return x - y, _times(a[0] + a[1], b[0] + b[1]) - x - y
    if len(a) == 2:
        return _times(a[0], b[0]), _times(a[1], b[0])
    return _times(a[0], b[0]), _times(a[0], b[1]) if len(b) == 2 else None


def _times(a, b):
    return a.dot(b) if isinstance(a, np.ndarray) else a * b


def identity(n):
    return Exact(np.eye(n, dtype=object), None, 0)


def flushed(shape, precision, power=1):
    """Losses of limbs below the range, in units of a power of eps."""
    unit = int(precision.limbs / Fraction(precision.eps) ** power)
    return Exact(np.full(shape, unit, dtype=object), None, 1074)


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


def orthogonality(Q):
    """The exact norm of ``I - Q^H Q`` in multiples of eps."""
    q = Exact.of(Q)
    gap = identity(Q.shape[-1]) - q.H @ q
    return float(quotients(np.sum(gap.squares()), gap.exponent, 1, 0)) / Q.precision.eps


def factor_errors(a, Q, R):
    """Exact normwise, columnwise, rowwise and orthogonality errors in multiples of eps."""
    exact = Exact.of(a)
    difference = exact - Exact.of(Q) @ Exact.of(R)
    e, s = difference.squares(), exact.squares()
    units = difference.exponent, exact.exponent
    found = [
        quotients(np.sum(e), units[0], np.sum(s), units[1]),
        quotients(e.sum(axis=0), units[0], s.sum(axis=0), units[1]).max(),
        quotients(e.sum(axis=1), units[0], s.sum(axis=1), units[1]).max(),
    ]
    return [*(float(value) / Q.precision.eps for value in found), orthogonality(Q)]


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


def check_form(R):
    """R is upper triangular to the bit, with a real diagonal that is not negative."""
    limbs = R.to_device("cpu").limbs
    assert not np.tril(limbs, -1).view(np.int64).any()
    diagonal = np.diagonal(limbs, axis1=-2, axis2=-1)
    if R.is_complex:
        assert (diagonal[1] == 0).all()
        diagonal = diagonal[0]
    assert (diagonal[0] >= 0).all()
    assert not np.signbit(diagonal[0]).any()
