"""Roots of rational polynomials and eigenvalues of rational matrices by flint, to many digits."""

from __future__ import annotations

import flint
import mpmath
import numpy as np
from scipy.optimize import linear_sum_assignment

BITS = 1500


def rational(x):
    return flint.fmpq(int(x.numerator), int(x.denominator))


def roots_of(polynomial):
    """The roots of a `flint.fmpq_poly`, as often as they count, of mpmath."""
    found = []
    with flint.ctx.workprec(BITS), mpmath.workprec(BITS):
        for factor, count in polynomial.factor()[1]:
            found += [z for z, _ in factor.complex_roots()] * count
        parts = [[x.mid().str(400, radius=False) for x in (z.real, z.imag)] for z in found]
        return [mpmath.mpc(*map(mpmath.mpf, part)) for part in parts]


def polynomial_roots(p):
    """The roots for rational coefficients, that of the highest power first."""
    return roots_of(flint.fmpq_poly([rational(c) for c in p[::-1]]))


def eigenvalues(a):
    """The eigenvalues of a real MDArray ``(n, n)``, whose entries are exact."""
    entries = [rational(x) for x in a.to_fractions().ravel()]
    return roots_of(flint.fmpq_mat(*a.shape, entries).charpoly())


def pencil_eigenvalues(a, b):
    """The finite eigenvalues of a real pair: ``det(a - k b)`` is interpolated; None if it is 0."""
    n = a.shape[0]
    x, y = a.to_fractions(), b.to_fractions()
    total = flint.fmpq_poly([])
    for i in range(n + 1):
        entries = [rational(value) for value in (x - i * y).ravel()]
        term = flint.fmpq_poly([flint.fmpq_mat(n, n, entries).det()])
        for j in set(range(n + 1)) - {i}:
            term *= flint.fmpq_poly([flint.fmpq(-j, i - j), flint.fmpq(1, i - j)])
        total += term
    return None if total == 0 else roots_of(total)


def values_of(w):
    """Eigenvalues as numbers of mpmath, exactly."""
    with mpmath.workprec(BITS):
        return [mpmath.mpc(z) for z in np.atleast_1d(w.to_mpmath())]


def each_within(values, bounds, wanted):
    """Return True if the exact ones can be numbered so that each is within its value's bound.

    Those that are missing are infinite, as bounds may be.
    """
    with mpmath.workprec(BITS):
        near = [
            [not np.isfinite(r) or abs(z - x) <= r for x in wanted]
            + [not np.isfinite(r)] * (len(values) - len(wanted))
            for z, r in zip(values, bounds, strict=True)
        ]
    near = np.array(near, dtype=bool).reshape(len(values), len(values))
    return bool(near[linear_sum_assignment(~near)].all())
