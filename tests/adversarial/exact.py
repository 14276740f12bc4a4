"""Exact least squares over the rationals, of limbs as they are held."""

from __future__ import annotations

import math
from functools import cached_property

import flint
import numpy as np

_NONE = 1 << 30


def integers(block, axes):
    """Return integers and exponents with ``ints * 2**exponents`` the exact values of `block`.

    `block` is ``(parts, N, ...)``; entries along `axes` of the values share one exponent.
    """
    mantissa, exponent = np.frexp(block)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    zeros = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    zeros = np.where(digits == 0, 0, zeros)
    digits >>= zeros
    exponent = np.where(digits == 0, _NONE, exponent - 53 + zeros)
    around = (0, 1, *(axis + 2 for axis in axes))
    common = exponent.min(axis=around, keepdims=True)
    shift = np.where(digits == 0, 0, exponent - common)
    ints = (digits.astype(object) << shift.astype(object)).sum(axis=1)
    common = np.where(common == _NONE, 0, common)
    return ints, common.reshape(common.shape[2:])


def flint_matrix(ints):
    """Return a flint matrix of a 2-D object array of integers."""
    return flint.fmpz_mat(*ints.shape, ints.ravel().tolist())


def log2(value):
    """Return log2 of a positive integer."""
    excess = max(value.bit_length() - 64, 0)
    return math.log2(int(value >> excess)) + excess


def embedded(parts):
    """Return the real matrix that acts as a complex one does on real over imaginary parts."""
    if len(parts) == 1:
        return parts[0]
    re, im = parts
    return np.block([[re, -im], [im, re]])


class Truth:
    """The exact solution of ``min norm(sqrt(W) (A x - b))`` of one matrix and its columns of b.

    Of fewer rows than columns it is the shortest of ``A x = b``.

    Component j of column k is ``(re + i im) / denominator * 2**exponents[j, k]``, where
    ``numerators[part][j][k]`` are integers; `singular` tells whether there is none.

    Parameters
    ----------
    a, b : numpy.ndarray
        Limbs ``(parts, N, m, n)`` and ``(parts, N, m, k)``.
    weights : numpy.ndarray, optional
        Limbs ``(1, N, m)``.
    """

    def __init__(self, a, b, weights=None):
        right, beta = integers(b, (0,))
        self.rows, self.columns = a.shape[2:]
        is_wide = self.rows < self.columns
        # Columns of their own units have another shortest solution.
        left, alpha = integers(a, (0, 1) if is_wide else (0,))
        alpha = np.broadcast_to(alpha.ravel(), self.columns)
        self.parts = max(len(left), len(right))
        zero = np.zeros_like
        if len(left) < self.parts:
            left = np.concatenate([left, zero(left)])
        if len(right) < self.parts:
            right = np.concatenate([right, zero(right)])
        matrix = embedded(left)
        transposed, self._omega = flint_matrix(matrix.T), 0
        if weights is None or is_wide:
            weighted = transposed.transpose()
            target = flint_matrix(right.reshape(-1, right.shape[-1]))
        else:
            ints, omega = integers(weights, (0,))
            self._omega = omega.item()
            diagonal = np.tile(ints[0], self.parts)[:, None]
            weighted = flint_matrix(matrix * diagonal)
            target = flint_matrix(right.reshape(-1, right.shape[-1]) * diagonal)
        self._matrix, self._weighted = matrix, weighted
        self.gram = weighted * transposed if is_wide else transposed * weighted
        self._target, self._beta = target, beta.ravel()
        self._right = flint_matrix(right.reshape(-1, right.shape[-1]))
        self.exponents = beta - alpha.reshape(-1, 1)
        self.alpha = alpha.ravel()
        self.singular = False
        try:
            if is_wide:
                solution = transposed * self.gram.solve(target)
            else:
                solution = self.gram.solve(transposed * target)
        except ZeroDivisionError:
            self.singular = True
            return
        numerators, self.denominator = solution.numer_denom()
        rows = numerators.tolist()
        n = self.columns
        self.numerators = [rows[part * n : (part + 1) * n] for part in range(self.parts)]

    @cached_property
    def rank(self):
        """The exact rank of ``sqrt(W) A``, or of A with fewer rows than columns."""
        return self.gram.rank() // self.parts

    @cached_property
    def condition(self):
        """The condition of ``sqrt(W) A`` with its columns, or fewer rows, of norms in [1, 2)."""
        if self.singular:
            return math.inf
        n = self.gram.nrows()
        half = [-(int(self.gram[i, i]).bit_length() // 2) for i in range(n)]
        exact = flint.arb_mat(self.gram)
        for precision in (512, 2048, 8192, 32768):
            with flint.ctx.workprec(precision):
                scale = flint.arb_mat(n, n)
                for i in range(n):
                    scale[i, i] = flint.arb(2) ** half[i]
                scaled = scale * exact * scale
                try:
                    inverse = scaled.inv()
                except ZeroDivisionError:
                    continue
                sizes = _floats(inverse)
                if sizes is not None:
                    break
        else:
            return math.inf
        values, exponent = sizes
        direct, _ = _floats(scaled)
        top = np.linalg.norm(direct, 2) * 2.0 ** _floats(scaled)[1]
        square = math.log2(np.linalg.norm(values, 2)) + exponent + math.log2(top)
        return 2.0 ** min(square / 2, 1023.0)

    @cached_property
    def log2_norms(self):
        """Log2 of the norms of the columns of ``sqrt(W) A`` in units of ``2**alpha``."""
        squares = [self.gram[j, j] for j in range(self.columns)]
        return np.array([log2(square) / 2 if square else -math.inf for square in squares])

    def residual(self, k):
        """Return p, q, e with ``p / q * 2**e`` the squares of column k of ``sqrt(W) (b - A x)``."""
        rows = self._target.nrows()
        b = [self._right[i, k] for i in range(rows)]
        total = sum((b[i] * self._target[i, k] for i in range(rows)), flint.fmpz(0))
        matrix, weighted = self._matrix, self._target
        projected = flint.fmpz(0)
        flat = [row[k] for part in self.numerators for row in part]
        for j, x in enumerate(flat):
            inner = sum((int(matrix[i, j]) * weighted[i, k] for i in range(rows)), flint.fmpz(0))
            projected += x * inner
        rest = total * self.denominator - projected
        return rest, self.denominator, 2 * int(self._beta[k]) + self._omega

    def log2_right_side(self, k):
        """Return log2 of the norm of column k of ``sqrt(W) b``."""
        squares = (self._right[i, k] * self._target[i, k] for i in range(self._target.nrows()))
        total = sum(squares, flint.fmpz(0))
        return (log2(total) + 2 * int(self._beta[k]) + self._omega) / 2 if total else -math.inf

    def log2_residual(self, k):
        """Return log2 of the norm of column k of ``sqrt(W) (b - A x)``."""
        p, q, exponent = self.residual(k)
        return (log2(p) - log2(q) + exponent) / 2 if p else -math.inf

    def log2_residual_error(self, value, exponent, k):
        """Return log2 of the distance of ``value * 2**exponent`` from the square of the same."""
        p, q, scale = self.residual(k)
        given = q * value
        if scale >= exponent:
            p = p << (scale - exponent)
        else:
            given = given << (exponent - scale)
        distance = abs(given - p)
        return log2(distance) - log2(q) + min(scale, exponent) if distance else -math.inf

    def strings(self, digits):
        """Return the components as decimal strings of so many digits, a list for each unknown."""
        with flint.ctx.workdps(digits + 10):
            found = []
            for j, row in enumerate(self.exponents.tolist()):
                parts = [
                    [
                        flint.arb(part[j][k]) / self.denominator * flint.arb(2) ** e
                        for part in self.numerators
                    ]
                    for k, e in enumerate(row)
                ]
                found.append(
                    [", ".join(p.str(digits, radius=False) for p in part) for part in parts]
                )
        return found

    def log2_size(self, j, k):
        """Return log2 of the modulus of a component, -inf for 0."""
        square = sum(part[j][k] ** 2 for part in self.numerators)
        if square == 0:
            return -math.inf
        return log2(square) / 2 - log2(self.denominator) + int(self.exponents[j, k])

    def log2_largest(self):
        """Return log2 of the largest component."""
        places = np.ndindex(self.exponents.shape)
        return max((self.log2_size(j, k) for j, k in places), default=-math.inf)

    def log2_error(self, value, exponent, j, k):
        """Return log2 of the distance of ``value * 2**exponent`` (a part each) from a component."""
        shift = int(self.exponents[j, k]) - exponent
        square = flint.fmpz(0)
        for part, x in zip(self.numerators, value, strict=True):
            given, true = self.denominator * x, part[j][k]
            if shift >= 0:
                true = true << shift
            else:
                given = given << -shift
            square += (given - true) ** 2
        if square == 0:
            return -math.inf
        return log2(square) / 2 - log2(self.denominator) + exponent + min(shift, 0)


def _floats(matrix):
    """Return a ball matrix as floats times a power of two, or None where it is not accurate."""
    entries = [entry.mid().man_exp() for entry in matrix.entries()]
    largest = max(int(m).bit_length() + int(e) for m, e in entries)
    radius = max(float(entry.rad() * flint.arb(2) ** -largest) for entry in matrix.entries())
    if not radius < 2.0**-10:
        return None
    values = [_ldexp(int(m), int(e) - largest) for m, e in entries]
    return np.array(values).reshape(matrix.nrows(), -1), largest


def _ldexp(mantissa, exponent):
    excess = max(abs(mantissa).bit_length() - 60, 0)
    return math.ldexp(mantissa >> excess, max(exponent + excess, -2000))
