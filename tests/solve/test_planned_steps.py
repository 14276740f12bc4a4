"""Systems by planned steps, by the host's kernels, and over arrays that nobody may read."""

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
from mdqr.linalg import lstsq, solve
from mdqr.linalg._shared import tuning
from mdqr.linalg._solve import choose
from mdqr.linalg._solve.solvers import normal, planned, small
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
        for other in (small, normal):
            patch.setattr(other, "solve", lambda *_: None)
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


@given(st.data())
def test_bounds_of_planned_least_squares(steps, data):
    precision = data.draw(st.sampled_from(PRECISIONS[1:]))
    n, k, more = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3)), st.integers(1, 20)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    m, cond = n + data.draw(more), 10.0 ** data.draw(st.integers(0, 7))
    a = cases.random(m, n, precision, float, rng, cond=cond if n > 1 else 1)
    a = cases.scaled(a, 0, data.draw(st.integers(-8, 8)))
    b = cases.random(m, k, precision, float, rng)
    if data.draw(st.booleans()):
        # Little is left of b.
        small = b * 2.0 ** -data.draw(st.integers(0, 90))
        b = a @ cases.random(n, k, precision, float, rng) + small
    fit = lstsq(a, b)
    x, squares, _ = cases.rational_solution(a, b)
    assert_close(fit.x, x, ulps=4)
    check_bounds(fit, x)
    assert_close(fit.residuals, squares, ulps=64 * m)


@pytest.mark.parametrize("shape", [(30, 12), (13, 12), (40, 1)])
def test_answers_for_least_squares(steps, monkeypatch, multiple, dtype, shape, rng):
    """Those of the ladder."""
    a = cases.random(*shape, multiple, dtype, rng, cond=10 if shape[1] > 1 else 1)
    b = cases.random(shape[0], 2, multiple, dtype, rng)
    fit = lstsq(a, b)
    assert steps[-1] is not None
    monkeypatch.setitem(tuning._PLANS_STEPS, "cpu", False)
    wanted = lstsq(a, b)
    assert_close(fit.x, wanted.x, ulps=1)
    np.testing.assert_array_equal(fit.info.digits, wanted.info.digits)
    assert_close(fit.residuals, wanted.residuals, ulps=4)
    assert (fit.info.error_bound <= 2 * wanted.info.error_bound + 1e-300).all()


def test_columns_that_depend_on_others_are_left_to_others(steps, multiple, rng):
    a = cases.random(16, 4, multiple, float, rng)
    a[:, 2] = a[:, 1]
    with pytest.raises(np.linalg.LinAlgError, match="column"):
        lstsq(a, a[:, 0])
    assert steps[-1] is None


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


def test_least_squares_wait_for_a_device_a_few_times(monkeypatch, multiple, rng):
    """As `solve`, for a constant column, and for the part of residuals in the range of A."""
    fake_device.install(monkeypatch)
    a, b = cases.random(30, 20, multiple, float, rng), cases.random(30, 1, multiple, float, rng)
    on_device = [
        MDArray._wrap(fake_device.DeviceArray(x.limbs), x.precision, False) for x in (a, b)
    ]
    waits, get = [], fake_device.DeviceArray.get
    monkeypatch.setattr(fake_device.DeviceArray, "get", lambda x: waits.append(x) or get(x))
    found = lstsq(*on_device)
    assert len(waits) <= 6
    assert_same_bits(MDArray._wrap(found.x._block.values, multiple, False), lstsq(a, b).x)


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
