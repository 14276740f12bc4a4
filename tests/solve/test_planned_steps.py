"""Square systems by planned steps, by the host's kernels, and over arrays that nobody may read."""

from __future__ import annotations

from types import SimpleNamespace

import fake_device
import linalg_cases as cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_lstsq import check_bounds

import mdqr
from mdqr._array.array import MDArray
from mdqr._precision import PRECISIONS
from mdqr.linalg import solve
from mdqr.linalg._shared import tuning
from mdqr.linalg._solve import choose
from mdqr.linalg._solve.solvers import planned, small
from mdqr.testing import assert_close, assert_same_bits


@pytest.fixture(autouse=True, scope="module")
def steps():
    """Plan steps on the host; every answer, or None, of `planned.solve`."""
    answers, find = [], planned.solve

    def watched(problem):
        answers.append(find(problem))
        return answers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tuning._PLANS_STEPS, "cpu", True)
        patch.setattr(choose.planned, "solve", watched)
        patch.setattr(small, "solve", lambda *_: None)
        yield answers


@given(st.data())
def test_bounds_of_planned_steps(steps, data):
    """Each component is rounded nearly correctly, and no bound is violated."""
    precision = data.draw(st.sampled_from(PRECISIONS))
    n, k = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    a = cases.random(n, n, precision, float, rng, cond=10.0 ** data.draw(st.integers(0, 9)))
    grades = data.draw(st.integers(-8, 8)), data.draw(st.integers(-8, 8))
    a, b = cases.scaled(a, *grades), cases.random(n, k, precision, float, rng)
    x, info = solve(a, b, return_info=True)
    exact, *_ = cases.rational_solution(a, b)
    assert_close(x, exact, ulps=1 if steps[-1] is not None else 4)
    check_bounds(SimpleNamespace(x=x, info=info), exact)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_the_answers_of_the_ladder(steps, monkeypatch, precision, dtype, batch, rng):
    """And of its info: both round the same numbers."""
    a = cases.random(20, 20, precision, dtype, rng)
    a = mdqr.stack([a, a[::-1], a.T]) if batch else a
    b = cases.random(20, 2, precision, dtype, rng)
    x, info = solve(a, b, return_info=True)
    assert steps[-1] is not None
    monkeypatch.setitem(tuning._PLANS_STEPS, "cpu", False)
    other, wanted = solve(a, b, return_info=True)
    assert_close(x, other, ulps=1)
    np.testing.assert_array_equal(info.digits, wanted.digits)
    np.testing.assert_array_equal(info.condition, wanted.condition)
    assert (info.error_bound <= 2 * wanted.error_bound + 1e-300).all()


def test_what_is_too_near_to_singular_is_left_to_others(steps, multiple, rng):
    a = cases.random(16, 16, multiple, float, rng, cond=1e18)
    b = cases.random(16, 1, multiple, float, rng)
    x = solve(a, b)
    assert steps[-1] is None
    assert_close(x, cases.square_solution(a, b).reshape(-1, 1), ulps=4)


@pytest.mark.parametrize("place", [(0, 3), (1, 2)])
def test_faults_are_named_in_their_order(place, multiple, rng):
    which, column = place
    operands = [cases.random(6, 6, multiple, float, rng) for _ in range(2)]
    operands[which][4, column] = np.nan
    name = "ab"[which]
    with pytest.raises(np.linalg.LinAlgError, match=f"row 4, column {column} of {name} is NaN"):
        solve(*operands)
    operands[which][4, column] = 1.0
    operands[0][:, 1] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="column 1 is zero"):
        solve(*operands)


def test_a_device_is_waited_for_thrice(monkeypatch, multiple, rng):
    """For zero planes of the operands, for what a float64 inverse leaves, and for the end."""
    fake_device.install(monkeypatch)
    a, b = cases.random(20, 20, multiple, float, rng), cases.random(20, 1, multiple, float, rng)
    on_device = [
        MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, False) for x in (a, b)
    ]
    waits, get = [], fake_device.DeviceArray.get
    monkeypatch.setattr(fake_device.DeviceArray, "get", lambda x: waits.append(x) or get(x))
    found = solve(*on_device)
    assert len(waits) == 3
    wanted = solve(a, b)
    assert_same_bits(MDArray._wrap(found.limbs.values, multiple, False), wanted)
