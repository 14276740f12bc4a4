"""Linear systems: componentwise errors, batches."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import pytest

import mdqr
from mdqr.linalg import solve
from mdqr.testing import assert_same_bits


@pytest.mark.parametrize("n", [1, 5, 40])
def test_solve(precision, dtype, n, rng):
    a = cases.random(n, n, precision, dtype, rng, cond=1e3)
    b = cases.random(n, 2, precision, dtype, rng)
    x = solve(a, b)
    residual = (cases.Exact.of(b) - cases.Exact.of(a) @ cases.Exact.of(x)).moduli()
    size = cases.Exact.of(a).moduli() @ cases.Exact.of(x).moduli()
    # Every component right to 4 eps gives 4 eps |a| |x|; complex ones are right in modulus only.
    factor = 4 if dtype is float else 40
    assert residual.within(factor * Fraction(precision.eps), size)
    if precision > mdqr.d:
        assert_same_bits(solve(a, b[:, 0]), x[:, 0])


def test_solve_of_batches(multiple, rng):
    a = mdqr.stack([cases.random(6, 6, multiple, float, rng) for _ in range(3)])
    b = cases.random(6, 2, multiple, float, rng)
    x = solve(a, b)
    assert x.shape == (3, 6, 2)
    for i in range(3):
        assert_same_bits(x[i], solve(a[i], b))
    assert solve(a, b[:, 0]).shape == (3, 6)
