"""Factors stay accurate through any sequence of updates; errors are measured exactly."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import update_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st
from ranges import in_range

import mdqr
from mdqr.linalg import qr, qr_delete, qr_insert, qr_update
from mdqr.linalg._update import orthogonalize
from mdqr.linalg._update.arithmetic import sweeps
from mdqr.testing import matrix

STEPS = 50
MODES = ("reduced", "complete")


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32))
def test_any_sequence_of_updates(precision, dtype, mode, seed):
    """Within ``20 n k eps max norm(A_j)`` after k updates, and as orthogonal."""
    rng = np.random.default_rng(seed)
    changing = cases.Changing(cases.values((6, 4), precision, dtype, rng), mode, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Square and wide matrices lose nothing, and tall ones of random numbers little.
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        for _ in range(STEPS):
            changing.step()
    cases.accept(changing.a, changing.Q, changing.R, steps=STEPS, largest=changing.largest)


@pytest.fixture(params=["a call each", "panels"])
def windows(request, monkeypatch):
    """Windows of few rows and columns by a kernel call each, and as those of many, by panels."""
    if request.param == "panels":
        monkeypatch.setattr(sweeps, "window_columns", lambda *_: 0)


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("mode", MODES)
def test_windows_of_several_widths(multiple, dtype, mode, rng):
    """Sizes beyond one window: 41 x 37 has several of each kind."""
    m, n = (41, 37) if multiple.limbs < 8 else (27, 22)
    a = cases.values((m, n), multiple, dtype, rng)
    Q, R = qr(a, mode)
    for p in (1, 5):
        u = cases.values((p, n), multiple, dtype, rng)
        cases.accept(cases.insert(a, u, 3, 0), *qr_insert(Q, R, u, 3, method="update"))
        found = qr_delete(Q, R, 2, p, "col", method="update")
        cases.accept(cases.delete(a, 2, p, 1), *found)
    v = cases.values((m, 3), multiple, dtype, rng)
    cases.accept(cases.insert(a, v, 1, 1), *qr_insert(Q, R, v, 1, "col", method="update"))
    found = qr_delete(Q, R, 4, 3, method="update")
    cases.accept(cases.delete(a, 4, 3, 0), *found, largest=cases.norm(a))
    w = cases.values((n, 3), multiple, dtype, rng)
    cases.accept(a + v @ w.H, *qr_update(Q, R, v, w, method="update"))


@pytest.mark.parametrize("method", ["update", "fresh"])
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5), (6, 5), (1, 3), (3, 1)], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_every_shape_and_place(shape, mode, method, rng):
    """All k and p of small matrices, both ends included."""
    m, n = shape
    a = cases.values(shape, mdqr.dd, float, rng)
    Q, R = qr(a, mode)
    options = {"method": method}
    for p in (1, 2, m, n):
        u, v = cases.values((p, n), mdqr.dd, float, rng), cases.values((m, p), mdqr.dd, float, rng)
        w = cases.values((n, p), mdqr.dd, float, rng)
        cases.accept(a + v @ w.T, *qr_update(Q, R, v, w, **options))
        for k in range(m + 1):
            cases.accept(cases.insert(a, u, k, 0), *qr_insert(Q, R, u, k, **options))
            if k + p <= m:
                found = qr_delete(Q, R, k, p, **options)
                cases.accept(cases.delete(a, k, p, 0), *found, largest=cases.norm(a))
        for k in range(n + 1):
            cases.accept(cases.insert(a, v, k, 1), *qr_insert(Q, R, v, k, "col", **options))
            if k + p <= n:
                found = qr_delete(Q, R, k, p, "col", **options)
                cases.accept(cases.delete(a, k, p, 1), *found)


@pytest.mark.parametrize("mode", MODES)
def test_graded_columns(multiple, mode, rng):
    """Columns over 600 binary orders: no value over- or underflows, the bound holds by columns."""
    a = matrix("random", 9, 6, precision=multiple, rng=rng)
    exponent = -100 * np.arange(6) + 250
    a = mdqr.from_limbs(np.ldexp(a.limbs, in_range(exponent, multiple)))
    Q, R = qr(a, mode)
    u = a[:2] * 3.0
    for found, wanted in (
        (qr_delete(Q, R, 1, 2, "col", method="update"), cases.delete(a, 1, 2, 1)),
        (qr_insert(Q, R, u, 4, method="update"), cases.insert(a, u, 4, 0)),
        (
            qr_insert(Q, R, a[:, :1] * a[:, :1], 3, "col", method="update"),
            cases.insert(a, a[:, :1] * a[:, :1], 3, 1),
        ),
    ):
        columns = found.R.shape[-1]
        for j in range(columns):
            cases.accept_column(wanted[:, j : j + 1], found.Q, found.R[:, j : j + 1], columns)


def test_rows_keep_their_bits_where_nothing_happens(multiple, rng):
    """Columns before k are those of the old R."""
    a = cases.values((8, 6), multiple, float, rng)
    Q, R = qr(a)
    for found in (
        qr_delete(Q, R, 4, 1, "col", method="update"),
        qr_insert(Q, R, a[:, :1] * a[:, 1:2], 4, "col", method="update"),
    ):
        mdqr.testing.assert_same_bits(found.R[:4, :4], R[:4, :4])


def test_dependent_columns_are_no_obstacle(precision, rng):
    a = matrix("rank_deficient", 8, 6, precision=precision, rng=rng)
    for mode in MODES:
        Q, R = qr(a, mode)
        cases.accept(cases.delete(a, 1, 2, 1), *qr_delete(Q, R, 1, 2, "col", method="update"))
        cases.accept(
            cases.delete(a, 1, 2, 0), *qr_delete(Q, R, 1, 2, method="update"),
            largest=cases.norm(a),
        )  # fmt: skip
        u = a[:, :1]
        options = {"rcond": 0.0} if mode == "reduced" else {}
        found = qr_insert(Q, R, u, 0, "col", method="update", **options)
        cases.accept(cases.insert(a, u, 0, 1), *found)


def test_zero_matrix(precision):
    a = mdqr.zeros((5, 3), precision=precision)
    Q, R = qr(a)
    u = mdqr.eye(5, 2, precision=precision)
    cases.accept(cases.insert(a, u, 1, 1), *qr_insert(Q, R, u, 1, "col", rcond=0.0))
    cases.accept(cases.insert(a, a[:2], 1, 0), *qr_insert(Q, R, a[:2], 1))
    cases.accept(cases.delete(a, 1, 1, 1), *qr_delete(Q, R, 1, 1, "col"))
    cases.accept(cases.delete(a, 1, 1, 0), *qr_delete(Q, R, 1, 1))
    cases.accept(a + u @ u[:3].T, *qr_update(Q, R, u, u[:3]))


@pytest.mark.parametrize("exponent", [0, -1, -2, -3, -20, -60, -100])
def test_columns_near_the_span(precision, dtype, exponent, rng):
    """What is left of them may be little, or nothing but rounding errors."""
    a = cases.values((11, 4), precision, dtype, rng)
    u = a @ cases.values((4, 3), precision, dtype, rng)
    u = u + cases.values((11, 3), precision, dtype, rng) * 2.0**exponent
    found = qr_insert(*qr(a), u, 1, "col", rcond=0.0, method="update")
    cases.accept(cases.insert(a, u, 1, 1), *found)


def test_columns_near_each_other(precision, rng):
    """Each keeps most of its length outside of Q, their differences do not."""
    a, u = (cases.values((30, n), precision, float, rng) for n in (4, 1))
    steps = [cases.values((30, 1), precision, float, rng) * 2.0 ** (-5 * i) for i in range(6)]
    u = mdqr.concatenate([u + step for step in steps], axis=1)
    found = qr_insert(*qr(a), u, 2, "col", rcond=0.0, method="update")
    cases.accept(cases.insert(a, u, 2, 1), *found)


@pytest.mark.parametrize(
    ("distance", "wanted"), [(1.0, 1), (0.5, 1), (0.2, 2), (1e-3, 2), (0.0, 3)]
)
def test_passes_of_orthogonalisation(distance, wanted, rng, monkeypatch):
    """Another one follows where a column keeps less than a quarter of its length."""
    a = mdqr.eye(8, 3, precision=mdqr.dd)
    u = np.zeros((8, 1))
    u[3], u[0] = distance, (1.0 - distance**2) ** 0.5
    passes, one = [], orthogonalize._projected_out
    monkeypatch.setattr(orthogonalize, "_projected_out", lambda *x: passes.append(1) or one(*x))
    options = {"rcond": 0.0, "method": "update"}
    wider = cases.insert(a, mdqr.asarray(u, precision=mdqr.dd), 0, 1)
    cases.accept(wider, *qr_insert(*qr(a), u, 0, "col", **options))
    assert len(passes) == wanted
    passes.clear()
    cases.accept(wider, *qr_insert(*qr(a), u, 0, "col", check=False, **options))
    assert len(passes) == 3


def test_new_columns_are_as_orthogonal_as_old_ones(dtype, rng):
    """In d what a pass leaves along Q shows at once: a few eps, as after a factorisation."""
    worst = 0.0
    for _ in range(40):
        a, u = (rng.random(shape).astype(dtype) for shape in ((12, 7), (12, 3)))
        if dtype is complex:
            a, u = a + 1j * rng.random(a.shape), u + 1j * rng.random(u.shape)
        q, r = np.linalg.qr(a)
        for k in range(8):
            found = np.asarray(qr_insert(q, r, u, k, which="col", method="update").Q)
            worst = max(worst, abs(found.conj().T @ found - np.eye(10)).max())
    assert worst <= 9 * mdqr.d.eps
