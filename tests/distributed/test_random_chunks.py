"""Random problems of any condition, cut in any way, against rational solutions."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr import linalg

TRIALS = 10


def rational(x):
    return flint.fmpq_mat(
        [[flint.fmpq(v.numerator, v.denominator) for v in row] for row in x.tolist()]
    )


def embedded(x):
    """Return a real matrix that stands for a complex one, or columns of both parts."""
    re, im = x.real.to_fractions(), x.imag.to_fractions()
    return np.block([[re, -im], [im, re]])


def exact(a, b, w):
    """Return the solution, real parts above imaginary ones."""
    if a.is_complex:
        a, b, w = embedded(a), embedded(b)[:, : b.shape[1]], np.concatenate([w, w])
    else:
        a, b = a.to_fractions(), b.to_fractions()
    left = rational((a * np.array([Fraction(float(v)) for v in w])[:, None]).T)
    found = (left * rational(a)).solve(left * rational(b))
    values = [Fraction(int(v.p), int(v.q)) for v in found.entries()]
    return np.array(values, dtype=object).reshape(a.shape[1], -1)


def problem(precision, rng):
    """Return a, b, weights and cuts: columns that nearly depend, far sizes, rows far apart."""
    n, k = int(rng.integers(1, 7)), int(rng.integers(1, 3))
    m = int(rng.integers(n, 66))
    dtype = complex if rng.integers(4) == 0 else float
    a, b = (mdqr.random.normal((m, j), precision=precision, dtype=dtype, rng=rng) for j in (n, k))
    kind = rng.integers(5)
    if kind == 0 and n > 1:
        a[:, -1] = a[:, 0] + a[:, -1] * mdqr.array(10.0 ** -rng.uniform(1, 30), precision=precision)
    elif kind == 1:
        a, b = a * np.ldexp(1.0, rng.integers(-300, 300, n)), b * np.ldexp(1.0, 200)
    elif kind == 2:
        a = a * np.ldexp(1.0, rng.integers(-40, 40, m))[:, None]
    elif kind == 3:
        b = a @ mdqr.random.normal((n, k), precision=precision, dtype=dtype, rng=rng)
    w = 10.0 ** rng.uniform(-8, 8, m) if rng.integers(3) == 0 else np.ones(m)
    count = int(rng.choice([1, 2, 7, 64]))
    even = np.linspace(0, m, count + 1).astype(int)
    ragged = np.sort(np.concatenate([[0, m], rng.integers(0, m + 1, count)]))
    return a, b, w, [even, ragged][rng.integers(2)]


def distances(x, found):
    """Return squares of the distances of numbers from rational ones."""
    n = len(found)
    parts = [(found.real, x[:n]), (found.imag, x[n:])] if found.is_complex else [(found, x)]
    return sum((part.to_fractions() - known) ** 2 for part, known in parts)


@pytest.mark.parametrize("method", ["householder", "products"])
def test_bounds_and_limbs(precision, method, rng):
    """No bound is below the error, also of merged factors, and what is unique is the nearest."""
    for _ in range(TRIALS):
        a, b, w, cuts = problem(precision, rng)
        parts = [(a[i:j], b[i:j], w[i:j]) for i, j in pairwise(cuts)]
        passes = ["auto", 1, 2][rng.integers(3)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            try:
                fit = md.lstsq(parts, method=method, passes=passes, fan_in=int(rng.integers(2, 9)))
            except np.linalg.LinAlgError:
                assert linalg.cond(a) > 1e13
                continue
        x = exact(a, b, w)
        known = [(fit.x, fit.info.error_bound)]
        if (w == 1).all():
            half = len(parts) // 2
            merged = md.factor([(a[:0], b[:0]), *(part[:2] for part in parts[:half])])
            merged.merge(md.factor([part[:2] for part in parts[half:]]))
            try:
                known.append((merged.solve(), merged.info.error_bound))
            except np.linalg.LinAlgError:
                assert linalg.cond(a) > 1e13
        for found, bound in known:
            squares = distances(x, found)
            for square, most in zip(squares.ravel(), bound.ravel(), strict=True):
                assert np.isinf(most) or square <= Fraction(float(most)) ** 2
        if precision is not mdqr.od:  # eight limbs may hold more than their bits
            n, sure = a.shape[1], fit.info.unique_rounding
            rounded = mdqr.array(x[:n], precision=precision)
            if fit.x.is_complex:
                rounded = rounded + 1j * mdqr.array(x[n:], precision=precision)
            assert mdqr.array_equal(fit.x[sure], rounded[sure])
