"""Exact measures of linear algebra in Python integers, for matrices of some tens of rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mdqr.testing._exact import SCALE, to_integers


class Exact:
    """A matrix of exact complex numbers in units of ``2**-exponent``, as arrays of integers."""

    def __init__(self, real, imag, exponent):
        self.real, self.imag, self.exponent = real, imag, exponent

    @classmethod
    def of(cls, a):
        """Take the limbs of an array, less their common power of two."""
        limbs = a.to_device("cpu").limbs
        parts = [to_integers(part) for part in (limbs if a.is_complex else limbs[None])]
        together = 0
        for value in np.concatenate([part.ravel() for part in parts]):
            together |= int(value)
        zeros = (together & -together).bit_length() - 1 if together else 0
        real, *rest = [part >> zeros for part in parts]
        return cls(real, rest[0] if rest else 0 * real, SCALE - zeros)

    @property
    def H(self):
        return Exact(self.real.T, -self.imag.T, self.exponent)

    def __matmul__(self, other):
        a, b, c, d = self.real, self.imag, other.real, other.imag
        exponent = self.exponent + other.exponent
        return Exact(a.dot(c) - b.dot(d), a.dot(d) + b.dot(c), exponent)

    def __sub__(self, other):
        exponent = max(self.exponent, other.exponent)
        x, y = self.at(exponent), other.at(exponent)
        return Exact(x.real - y.real, x.imag - y.imag, exponent)

    def at(self, exponent):
        """The same numbers in units of ``2**-exponent``, no coarser ones."""
        shift = exponent - self.exponent
        return Exact(self.real << shift, self.imag << shift, exponent)

    def squares(self):
        """The squared moduli as Fractions."""
        unit = (
            Fraction(1, 4) ** self.exponent
            if self.exponent > 0
            else Fraction(4) ** (-self.exponent)
        )
        total = self.real**2 + self.imag**2
        return np.frompyfunc(lambda value: value * unit, 1, 1)(total)

    def moduli(self):
        """The moduli as Fractions, too large by less than ``2**-64`` of themselves."""
        return np.frompyfunc(modulus, 1, 1)(self.squares())


def modulus(square):
    """Return a square root, too large by less than ``2**-64`` of itself."""
    if not square:
        return Fraction(0)
    ratio = square.numerator.bit_length() - square.denominator.bit_length()
    shift = 2 * (140 - ratio // 2)
    scaled = int(square * Fraction(2) ** shift)
    return Fraction(math.isqrt(scaled) + 1) / Fraction(2) ** (shift // 2)


def identity(n):
    eye = np.array([[int(i == j) for j in range(n)] for i in range(n)], dtype=object)
    return Exact(eye.reshape(n, n), 0 * eye.reshape(n, n), 0)


def root(square):
    """Return the root of a Fraction as a float, whatever its size."""
    return float(modulus(square))


def factor_errors(a, Q, R):
    """Return the largest columnwise error beyond the slack and the orthogonality, in eps."""
    exact = Exact.of(a)
    error = (exact - Exact.of(Q) @ Exact.of(R)).squares().sum(axis=0)
    size = exact.squares().sum(axis=0)
    slack = (a.shape[0] * Fraction(2) ** -1070) ** 2
    worst = 0.0
    for e, s in zip(error, size, strict=True):
        if e > slack:
            worst = max(worst, root(e / s) if s else math.inf)
    gram = (identity(Q.shape[-1]) - Exact.of(Q).H @ Exact.of(Q)).squares().sum()
    return worst / Q.precision.eps, root(gram) / Q.precision.eps


def accept(a, Q, R):
    """The acceptance of factors of one matrix: ``20 n eps``, and the form of R."""
    n = a.shape[-1]
    columnwise, orthogonality = factor_errors(a, Q, R)
    assert columnwise <= 20 * n
    assert orthogonality <= 20 * n
    check_form(R)


def check_form(R):
    """R is upper triangular to the bit, its diagonal real and not negative."""
    limbs = R.to_device("cpu").limbs
    assert not np.tril(limbs, -1).view(np.int64).any()
    diagonal = np.diagonal(limbs, axis1=-2, axis2=-1)
    if R.is_complex:
        assert (diagonal[1] == 0).all()
        diagonal = diagonal[0]
    assert (diagonal[0] >= 0).all()
    assert not np.signbit(diagonal[0]).any()


def assert_product(a, b, product, c=None, factor=1):
    """``|error| <= factor (k + 8) eps (|a| |b| + |c|)`` in every entry."""
    x, y = Exact.of(a), Exact.of(b)
    error = Exact.of(product) - x @ y
    size = x.moduli().dot(y.moduli())
    if c is not None:
        error = error - Exact.of(c)
        size = size + Exact.of(c).moduli()
    terms = a.shape[-1] + 8
    # Each part of a complex entry is a sum of 2k real products, below sqrt(2) of their moduli.
    bound = factor * terms * Fraction(product.precision.eps) * (3 if product.is_complex else 1)
    assert (error.moduli() <= bound * size * (1 + Fraction(2) ** -50)).all()
