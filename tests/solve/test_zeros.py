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


@given(st.data())
def test_zeros_by_structure_are_exact(data):
    """Once 0 digits: errors of other components were bounds of components that are zero."""
    precision = data.draw(st.sampled_from(PRECISIONS[1:]))
    n = data.draw(st.integers(2, 8))
    m = n + data.draw(st.sampled_from([0, 0, 3]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    a = np.where(rng.random((m, n)) < 0.3, rng.standard_normal((m, n)), 0.0)
    a[np.arange(n), np.arange(n)] = rng.choice([-1, 1], n) * rng.uniform(4, 8, n)
    b = np.where(rng.random((m, 2)) < 0.3, rng.standard_normal((m, 2)), 0.0)
    with warnings.catch_warnings():
        if m > n:
            # Where rows of zeros leave a square part, its zeros are not all seen.
            warnings.simplefilter("ignore", PrecisionWarning)
        fit = lstsq(a, b, precision=precision, callback=lambda *_: None)
    exact, *_ = cases.rational_solution(*(mdqr.array(x, precision=precision) for x in (a, b)))
    check_bounds(fit, exact)
    if m == n:
        reach = np.linalg.matrix_power((a != 0) + np.eye(n), n) @ (b != 0) > 0
        assert (fit.x.to_numpy()[~reach] == 0).all()
        assert (fit.info.digits[~reach] == precision.digits).all()


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
