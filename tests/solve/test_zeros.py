"""Unknowns that are zero by what entries are: shown to be exactly zero."""

from __future__ import annotations

import warnings

import linalg_cases as cases
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_lstsq import check_bounds

import mdqr
from mdqr import PrecisionWarning
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq, solve
from mdqr.linalg._solve.structure import reached
from mdqr.testing import assert_close


def sparse(data, m, n, columns=2):
    """Where a matrix of full rank and right-hand sides are not zero, rows and columns in any order.

    Block triangles are what leaves unknowns zero.
    """
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    a = rng.random((m, n)) < data.draw(st.sampled_from([0.1, 0.25, 0.5]))
    block = data.draw(st.sampled_from([0, 1, 2]))
    if block:
        a &= np.arange(m)[:, None] // block <= np.arange(n) // block
    few = np.arange(min(m, n))
    a[few, few] = True
    a = a[rng.permutation(m)][:, rng.permutation(n)]
    return a, rng.random((m, columns)) < 0.2, rng


def solved_exactly(a, b):
    """The exact solution of integers, as object array."""
    if a.shape[0] < a.shape[1]:
        return cases.shortest_solution(a, b)
    return cases.rational_solution(a, b)[0]


@given(st.data())
def test_what_is_reached_is_what_is_not_zero_for_nearly_all_entries(data):
    m, n = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    a, b, rng = sparse(data, m, n)
    entries = [np.where(x, rng.integers(2**20, 2**30, x.shape), 0) for x in (a, b)]
    exact = solved_exactly(*(mdqr.array(x, precision=mdqr.qd) for x in entries))
    assert (reached(a, b) == (exact != 0)).all()


@given(st.data())
def test_patterns_without_full_rank_tell_nothing(data):
    m, n = data.draw(st.integers(2, 6)), data.draw(st.integers(2, 6))
    a = np.ones((m, n), dtype=bool)
    # Two lines of the side with fewer have one partner.
    lines = a if m <= n else a.T
    lines[:2], lines[:2, 0] = False, True
    assert reached(a, np.zeros((m, 1), dtype=bool)) is None


@given(st.data())
def test_zeros_by_structure_are_exact_in_any_order(data):
    """Once 0 digits, and 1e-99 for 0, but for some orders of rows and columns."""
    precision = data.draw(st.sampled_from(PRECISIONS))
    n = data.draw(st.integers(1, 7))
    m = max(1, n + data.draw(st.sampled_from([0, 0, 3, -2])))
    a, b, rng = sparse(data, m, n)
    # No condition takes digits from others.
    a, b = (
        mdqr.array(np.where(x, rng.integers(2**28, 2**30, x.shape), 0), precision=precision) / 3
        for x in (a, b)
    )
    exact = solved_exactly(a, b)
    method = data.draw(st.sampled_from(["auto", "householder"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        fit = lstsq(a, b, max_condition=np.inf, method=method)
    check_bounds(fit, exact)
    zero = exact == 0
    assert (fit.x.to_numpy()[zero] == 0).all()
    assert (fit.info.digits[zero] == precision.digits).all()
    if m == n:
        assert (solve(a, b, method=method).to_numpy()[zero] == 0).all()


def test_the_order_of_rows_does_not_matter(precision):
    a = mdqr.array([["0.1", "0.7"], ["0.3", "0"]], precision=precision)
    b = mdqr.array(["0.2", "0"], precision=precision)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for order in ([0, 1], [1, 0]):
            for x in (solve(a[order], b[order]), solve(a[order], b[order], method="householder")):
                assert_close(x[1:], mdqr.array(["2"], precision=precision) / 7, ulps=4)
                assert x.to_numpy()[0] == 0
        batch = mdqr.stack([a, a[:, ::-1], mdqr.eye(2, precision=precision)])
        x = solve(batch, mdqr.stack([b, b, b])[..., None]).to_numpy()[..., 0]
        assert (x == 0).tolist() == [[True, False], [False, True], [False, True]]
        fit = lstsq(a * 1j, b, weights=[2.0, 0.1])
        assert fit.x.to_numpy()[0] == 0
        assert (fit.info.digits == precision.digits).all()


def test_triangles_and_identities_are_proven():
    a = 20 * np.eye(3)
    a[2, 1] = 1
    b = np.zeros((3, 3))
    b[2, 1] = 1
    for order in (3, 70):
        wide = np.eye(order)
        wide[:3, :3] = a
        right = np.zeros((order, 3))
        right[:3] = b
        x = solve(wide, right, precision="qd", verified=True)
        assert np.count_nonzero(x.to_numpy()) == 1
