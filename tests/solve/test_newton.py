"""Inverses by Newton's steps of exact products, by the host's kernels, against exact inverses."""

from __future__ import annotations

from types import SimpleNamespace

import fake_device
import linalg_cases as cases
import numpy as np
import pytest
from test_lstsq import check_bounds

import mdqr
from mdqr._array.array import MDArray
from mdqr.linalg import inv
from mdqr.linalg._shared import tuning
from mdqr.linalg._solve import choose, system
from mdqr.linalg._solve.solvers import newton, small
from mdqr.testing import assert_close, assert_same_bits


@pytest.fixture(autouse=True)
def steps(monkeypatch):
    """Take exact products of any order on the host; whether `newton.solve` served, each time."""
    answers, find = [], newton.solve

    def watched(problem):
        found = find(problem)
        answers.append(found is not None)
        return found

    monkeypatch.setitem(tuning._PLANS_STEPS, "cpu", True)
    monkeypatch.setitem(tuning._EXACT_RESIDUALS, "cpu", True)
    monkeypatch.setattr(tuning, "residues_are_faster", lambda *_, kind, **__: kind.limbs > 1)
    monkeypatch.setattr(choose.newton, "solve", watched)
    monkeypatch.setattr(small, "solve", lambda *_: None)
    return answers


@pytest.mark.parametrize("cond", [1e1, 1e8])
@pytest.mark.parametrize("n", [1, 12])
def test_bounds_of_entries(steps, multiple, cond, n, rng):
    """Each is rounded nearly correctly; rows and columns are graded."""
    a = cases.random(n, n, multiple, float, rng, cond=cond)
    a = cases.scaled(a, *rng.integers(-6, 7, 2))
    x, info = inv(a, return_info=True)
    exact = cases.rational_inverse(cases.fractions(a))
    assert_close(x, exact, ulps=1)
    check_bounds(SimpleNamespace(x=x, info=info), exact)
    # Residuals of twice the limbs of hd may end below the range.
    assert len(steps) == 1
    assert steps[0] or multiple.limbs > 8
    assert info.bound_kind == "proven"


@pytest.mark.parametrize("bits", [32, 40])
def test_float64_inverses_of_few_bits(steps, multiple, bits, rng, monkeypatch):
    """Entries of any size are rounded nearly correctly, from steps that gain no more than these."""
    find, noise = system.float_inverse, rng.standard_normal((20, 20))
    monkeypatch.setattr(system, "float_inverse", lambda *a: find(*a) * (1 + 2.0**-bits * noise))
    a = cases.random(20, 20, multiple, float, rng, cond=1e2)
    x, info = inv(a, return_info=True)
    exact = cases.rational_inverse(cases.fractions(a))
    assert_close(x, exact, ulps=1)
    check_bounds(SimpleNamespace(x=x, info=info), exact)
    # Residuals of twice the limbs of hd may end below the range.
    assert len(steps) == 1
    assert steps[0] or multiple.limbs > 8


def test_complex_inverses(steps, multiple, rng):
    """As those of real matrices of twice the order."""
    a = cases.random(5, 5, multiple, complex, rng)
    x = inv(a)
    assert steps == [True]
    real = mdqr.block([[a.real, -a.imag], [a.imag, a.real]])
    exact = cases.rational_inverse(cases.fractions(real))
    assert_close(x.real, exact[:5, :5], ulps=4)
    assert_close(x.imag, exact[5:, :5], ulps=4)


@pytest.mark.parametrize("cond", [1e13, 1e20])
def test_what_is_too_near_to_singular_is_left_to_others(steps, multiple, cond, rng):
    a = cases.random(8, 8, multiple, float, rng, cond=cond)
    assert_close(inv(a), cases.rational_inverse(cases.fractions(a)), ulps=4)
    assert steps[0] is False


def test_zeros_of_an_inverse_are_left_to_others(steps, multiple, rng):
    """Of a triangle: no bound is below a zero, so that others look for them."""
    a = mdqr.triu(cases.random(6, 6, multiple, float, rng)) + 8.0 * mdqr.eye(6, precision=multiple)
    x = inv(a)
    assert steps == [False]
    np.testing.assert_array_equal(np.tril(x.to_numpy(), -1), 0.0)


def test_a_batch_and_right_hand_sides_are_left_to_others(steps, multiple, rng):
    a = cases.random(4, 4, multiple, float, rng)
    inv(mdqr.stack([a, a.T]))
    mdqr.linalg.solve(a, mdqr.eye(4, precision=multiple))
    assert steps == [False] * 2


def test_over_arrays_of_a_device(steps, monkeypatch, multiple, rng):
    fake_device.install(monkeypatch)
    a = cases.random(9, 9, multiple, float, rng)
    found = inv(MDArray._wrap(fake_device.DeviceArray(a.limbs), multiple, False))
    assert steps == [True]
    assert_same_bits(MDArray._wrap(found.limbs.values, multiple, False), inv(a))
