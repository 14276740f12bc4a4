"""Matrices whose spectra are known exactly, through every decomposition that has them."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import flint
import numpy as np
import pytest

import mdqr
from mdqr import linalg
from mdqr._precision import PRECISIONS

N = 8


def hadamard(n):
    """Sylvester's matrix of signs."""
    return np.array([[(-1) ** (i & j).bit_count() for j in range(n)] for i in range(n)])


def mixed(spectrum, precision):
    """Return ``H diag(spectrum) H^T / n``, exact where the sums fit the precision."""
    h, exact = hadamard(len(spectrum)), [Fraction(x) for x in spectrum]
    n = len(exact)
    entries = [
        [sum(h[i, k] * h[j, k] * exact[k] for k in range(n)) / n for j in range(n)]
        for i in range(n)
    ]
    a = mdqr.array(entries, precision=precision)
    assert [list(row) for row in a.to_fractions()] == entries
    return a


def errors(values, exact):
    """Return the absolute errors of real values, as Fractions, both sorted."""
    return [abs(x - y) for x, y in zip(sorted(values.to_fractions()), sorted(exact), strict=True)]


def ball(x):
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


NEAR, NEARER = Fraction(1, 2**50), Fraction(1, 2**150)
SPECTRA = {
    "multiple": [3, 3, 3, -1, -1, 2, 0, 0],
    "cluster": [1, 1 + NEAR, 1 - NEAR, 5, 5 + NEAR, 2, -2, 4],
    "near": [1, 1 + NEARER, 1 - NEARER, -1, 3, 3 + NEARER, 7, 2],
    "graded": [Fraction(1, 2 ** (20 * i)) for i in range(N)],
    "signs": [1, -1, 1, -1, Fraction(1, 4), Fraction(-1, 4), 2, -2],
}
FITS = {"multiple": 1, "cluster": 2, "near": 4, "graded": 4, "signs": 1}
CASES = [
    (name, precision)
    for name in SPECTRA
    for precision in PRECISIONS
    if precision.limbs >= FITS[name]
]


@pytest.mark.parametrize(("name", "precision"), CASES, ids=str)
def test_mixes_by_hadamards_matrix(name, precision):
    exact = [Fraction(x) for x in SPECTRA[name]]
    a, top = mixed(exact, precision), max(map(abs, exact))
    # Backward stable: a few n eps of the norm.
    limit = 8 * N * Fraction(precision.eps) * top
    assert max(errors(linalg.eigvalsh(a), exact)) <= limit
    assert max(errors(linalg.svdvals(a), [abs(x) for x in exact])) <= limit
    found = linalg.eigvals(a)
    assert max(errors(found.real, exact)) <= limit
    w, v = linalg.eigh(a)
    assert float(abs(a @ v - v * w).max()) <= limit
    assert float(abs(v.T @ v - np.eye(N)).max()) <= limit / top


def test_pascals_matrix_has_reciprocal_eigenvalues(multiple):
    n = 6
    pascal = mdqr.array([[comb(i + j, i) for j in range(n)] for i in range(n)], precision=multiple)
    w = linalg.eigvalsh(pascal)
    # The least is the reciprocal of the largest, and as far off as that is large.
    limit = 8 * n * multiple.eps * float(w[-1]) ** 2
    assert float(abs(w * w[::-1] - 1).max()) <= limit
    assert abs(linalg.det(pascal) - 1) <= 8 * multiple.eps


def test_blocks_of_zeros(precision):
    a = np.zeros((7, 7))
    a[:2, :2] = [[2.0, 1.0], [1.0, 2.0]]
    a[4:6, 4:6] = [[0.0, 5.0], [5.0, 0.0]]
    exact = [Fraction(x) for x in (0, 0, 0, 1, 3, 5, -5)]
    x, limit = mdqr.array(a, precision=precision), 40 * Fraction(precision.eps)
    assert max(errors(linalg.eigvalsh(x), exact)) <= limit
    assert max(errors(linalg.eigvals(x).real, exact)) <= limit
    assert max(errors(linalg.svdvals(x), [abs(v) for v in exact])) <= limit
    assert linalg.matrix_rank(x) == 4


def test_graded_cauchy_matrices_have_relatively_right_singular_values(multiple):
    """All to the condition of ``1 / (i + j + 1)``, whose rows are scaled by ``2^-40 i``."""
    n = 6
    i = mdqr.arange(n, precision=multiple)
    cauchy = 1 / (i[:, None] + i + 1)
    a = cauchy * mdqr.array([2.0 ** (-40 * k) for k in range(n)], precision=multiple)[:, None]
    found = linalg.svdvals(a)
    with flint.ctx.workprec(3000):
        exact = flint.arb_mat([[ball(x) for x in row] for row in a.to_fractions()])
        squares = flint.acb_mat(exact * exact.transpose()).eig(multiple=True)
        wanted = sorted((x.real.sqrt() for x in squares), key=float, reverse=True)
        condition = float(linalg.cond(cauchy))
        for x, y in zip(found.to_fractions(), wanted, strict=True):
            relative = abs(ball(x) / y - 1)
            assert float(relative.mid()) <= 8 * n * multiple.eps * condition
