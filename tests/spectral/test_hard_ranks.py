"""Random hard matrices for pivots, singular values, nearest matrices and solutions by rank.

Factors are measured exactly; singular values, of a part of the cases, are compared with those of
mpmath in 400 digits.
"""

from __future__ import annotations

import warnings

import linalg_cases as cases
import mpmath
import numpy as np
import pytest
import rank_cases
from test_lowrank import adjoint

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import lowrank, lstsq, norm, polar, qr, svd

# What is below the smallest doubles, or near them in products.
TINY = 2.0**-1020
FAMILIES = {}


def family(function):
    FAMILIES[function.__name__] = function
    return function


@family
def graded(a, rng):
    m, n = a.shape
    columns, rows = rng.integers(-100, 101, n), rng.integers(-60, 61, (m, 1))
    return a * 2.0 ** (columns + rows * int(rng.integers(0, 2)))


@family
def deficient(a, rng):
    r = int(rng.integers(1, min(a.shape) + 1))
    return a[:, :r] @ a[:r]


@family
def near_deficient(a, rng):
    return deficient(a, rng) + a * 2.0 ** -int(rng.integers(10, 53 * a.precision.limbs))


@family
def zero_rows_and_columns(a, rng):
    a[rng.random(a.shape[0]) < 0.4] = 0
    a[:, rng.random(a.shape[1]) < 0.4] = 0
    return a


@family
def few_integers(a, rng):
    return mdqr.array(rng.integers(-1, 2, a.shape), precision=a.precision) + 0 * a


@family
def cluster(a, rng):
    u, s, vh = svd(a, False)
    spread = rng.integers(5, 53 * a.precision.limbs, len(s))
    return (u * (1 + 0 * s + 2.0**-spread)) @ vh


@family
def kahan(a, rng):
    m, n = a.shape
    c = 0.1 + 0.5 * rng.random()
    rows = (1 - c * c) ** (0.5 * np.arange(m))[:, None]
    return 0 * a + rows * (np.triu(np.full((m, n), -c), 1) + np.eye(m, n))


@family
def hilbert(a, rng):
    i, j = (mdqr.arange(1, k + 1, precision=a.precision) for k in a.shape)
    return 0 * a + 1 / (i[:, None] + j - 1)


@family
def laeuchli(a, rng):
    a = 0 * a + 1
    for i in range(min(a.shape[0] - 1, a.shape[1])):
        a[i + 1] = 0
        a[i + 1, i] = 2.0 ** -int(rng.integers(5, 61))
    return a * 2.0 ** rng.integers(-30, 1, a.shape[1])


@family
def far(a, rng):
    return a * 2.0 ** int(rng.integers(-500, 1000))


def drawn(seed):
    """A matrix of at most 10 rows and columns."""
    rng = np.random.default_rng(seed)
    precision = PRECISIONS[rng.integers(len(PRECISIONS))]
    dtype, shape = (float, complex)[rng.integers(2)], rng.integers(1, 11, 2).tolist()
    a = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
    return list(FAMILIES.values())[rng.integers(len(FAMILIES))](a, rng), rng


def size(exact):
    """The Frobenius norm of an exact matrix, in 400 digits."""
    with mpmath.workdps(400):
        total = mpmath.mpf(sum(int(v) for v in exact.squares().ravel()))
        return mpmath.sqrt(total) * mpmath.mpf(2) ** -exact.exponent


def orthonormal(q, bound):
    exact = cases.Exact.of(q)
    return size(exact.H @ exact - cases.identity(q.shape[-1])) <= bound * q.precision.eps


def judge_factors(a):
    """Every bound that docstrings state, in units of eps."""
    (m, n), k, eps = a.shape, min(a.shape), a.precision.eps
    exact, whole = cases.Exact.of(a), float(norm(a))
    Q, R, P = qr(a, pivoting=True)
    assert cases.column_errors(a[:, P], Q, R).max() <= 20 * n
    cases.check_form(R)
    squares = cases.Exact.of(R).squares()
    for j in range(k):
        # Below the range, digits of lengths are missing.
        assert squares[j, j] * 513 >= squares[j:, j:].sum(axis=0).max() * 512 or (
            float(norm(R[j:, j:])) < 2.0**53 * a.precision.tiny
        )
    u, s, vh = svd(a, False)
    rest = size(exact - cases.Exact.of(u * s) @ cases.Exact.of(vh))
    assert rest <= (40 * k + 8) * k**0.5 * eps * whole + TINY
    for side in ("right", "left"):
        unit, p = polar(a, side)
        first, second = (cases.Exact.of(x) for x in ((unit, p) if side == "right" else (p, unit)))
        assert size(exact - first @ second) <= 100 * k * eps * whole + TINY
        assert orthonormal(unit if m >= n else adjoint(unit), 100 * k)
    for q in (Q, u, adjoint(vh)):
        assert orthonormal(q, 40 * k * k**0.5)
    return s


def judge_values(a, s, rng):
    k, eps = min(a.shape), a.precision.eps
    with mpmath.workdps(400):
        given = mpmath.matrix(a.to_mpmath().tolist())
        found = mpmath.svd(given if a.shape[0] >= a.shape[1] else given.H, compute_uv=False)
        exact = sorted((found[i] for i in range(k)), reverse=True)
        slack = eps * exact[0] + TINY
        assert max(abs(x - y) for x, y in zip(s.to_mpmath(), exact, strict=True)) <= 40 * k * slack
        assert abs(norm(a, 2).to_mpmath().item() - exact[0]) <= 40 * k * slack
        assert abs(norm(a, "nuc").to_mpmath().item() - sum(exact)) <= 50 * k * k * slack
        r = int(rng.integers(1, k + 1))
        u, t, vh = lowrank(a, r)
        pairs = zip(t.to_mpmath(), exact[:r], strict=True)
        assert max(abs(x - y) for x, y in pairs) <= 60 * k * slack
        left = mpmath.sqrt(sum(value * value for value in exact[r:]))
        rest = cases.Exact.of(a) - cases.Exact.of(u * t) @ cases.Exact.of(vh)
        assert size(rest) <= left * (1 + eps) + (60 * k + 8) * k**0.5 * slack
        assert orthonormal(u, 60 * k * k**0.5)
        assert orthonormal(adjoint(vh), 60 * k * k**0.5)


def judge_solutions(a, rng):
    """Products of integers of the shape of `a`, rows and columns scaled."""
    (m, n), rank = a.shape, int(rng.integers(1, min(a.shape) + 1))
    x, y = rank_cases.factors(m, n, rank, complex if a.is_complex else float, rng)
    units = [2 ** rng.integers(0, 21, count).astype(object) for count in (m, n)]
    x, y = [part * units[0][:, None] for part in x], [part * units[1] for part in y]
    b = mdqr.random.normal((m, 2), precision=a.precision, rng=rng)
    b = b * 1j if a.is_complex else b
    found = lstsq(rank_cases.product(x, y, mdqr.od), b, rtol=1e-60, precision=a.precision)
    if found.rank == rank:
        wanted = rank_cases.shortest(x, y, np.ones(m), b)
        assert (rank_cases.errors(found.x, wanted) <= found.info.error_bound).all()


def judge(seed):
    a, rng = drawn(seed)
    with warnings.catch_warnings():
        # Few digits are shown of small components in precision d.
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        s = judge_factors(a)
        if seed % 4 == 0:
            judge_values(a, s, rng)
        judge_solutions(a, rng)


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_bounds(first):
    for seed in range(first, first + 20):
        judge(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(80, 20000, 1000))
def test_bounds_of_many(first):
    for seed in range(first, first + 1000):
        judge(seed)
