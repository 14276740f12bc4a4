"""Linear systems: componentwise errors, batches."""

from __future__ import annotations

from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr.linalg import lstsq, solve
from mdqr.linalg._factor.householder import Factors
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


def test_square_systems_have_no_residual_to_refine(multiple, dtype, monkeypatch, rng):
    """r stays zero: neither Q nor the transposed triangle is applied, and no bit depends on it."""
    a = cases.random(12, 12, multiple, dtype, rng, cond=1e3)
    b = cases.random(12, 2, multiple, dtype, rng)
    wanted = lstsq(a, b, method="householder").x

    def refuse(*_, **__):
        raise AssertionError("a square system needs no residual")

    monkeypatch.setattr(Factors, "apply_q", refuse)
    assert_same_bits(solve(a, b, method="householder"), wanted)
    for method in ("refine", "householder"):
        fit = lstsq(a, b, weights=np.linspace(1.0, 2.0, 12), method=method)
        assert not fit.residuals.limbs.any()
    with pytest.raises(AssertionError):
        lstsq(a[:, :7], b, method="householder")


@pytest.mark.parametrize("method", ["refine", "householder"])
def test_progress(precision, method):
    stages, one = [], mdqr.eye(5, precision=precision)
    x = solve(one, np.ones(5), method=method, progress=lambda *c: stages.append(c))
    assert x.to_numpy().tolist() == [1.0] * 5
    assert stages[:2] == [("factor", 5, 5), ("condition", 1, 1)]
    assert [stage for stage, _, _ in stages[2:]] == ["refine"] * len(stages[2:])
    *steps, last = stages[2:]
    assert [step[1:] for step in steps] == [(k, None) for k in range(1, len(steps) + 1)]
    assert last[1:] == (len(steps), len(steps))
    with pytest.raises(TypeError, match=r"^solve: progress must be .*callable.*got str"):
        solve(np.eye(2), np.ones(2), progress="bar")
