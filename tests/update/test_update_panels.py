"""Updates of float32 arrays by fast panels, and their repetition after a breakdown."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from fake_cuda_libraries import HostLibrary, HostPanels

from mdqr._backend import for_block
from mdqr._backend.cuda.floats.panels import CudaPanels
from mdqr.linalg import UpdatableLstsq, qr_delete, qr_insert, qr_update
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import columns as columns
from mdqr.linalg._update import operands, rows
from mdqr.linalg._update.arithmetic import sweeps
from mdqr.linalg._update.arithmetic.cuda_floats import CudaFloats
from mdqr.linalg._update.arithmetic.matrices import apply_left, apply_right
from mdqr.linalg._update.state import State, factored

EPS = float(np.finfo(np.float32).eps)
BACKEND = for_block(np.zeros(1))


class Panelled(CudaFloats):
    """Windows that have several panels, and the panels that were made."""

    tile = 300
    made: ClassVar[list[HostPanels]] = []

    def width(self, sweep, p):
        return 150


def engine_for(dtype="float32"):
    def make():
        Panelled.made.append(HostPanels())
        return Panelled.made[-1]

    return Panelled(BACKEND, dtype, HostLibrary(dtype), make if dtype == "float32" else None)


@pytest.fixture
def engine():
    Panelled.made = []
    found = engine_for()
    found.fast = True
    return found


@pytest.fixture
def public(monkeypatch):
    """The public functions take float arrays of NumPy for those of a GPU."""
    Panelled.made = []
    monkeypatch.setattr(operands, "float_engine", lambda _, dtype: engine_for(str(dtype)))


def draw(shape, rng):
    return rng.standard_normal(shape).astype(np.float32)


def near(x, y, size=1.0):
    """Rounding errors of some dozens of operations."""
    assert x.shape == y.shape
    assert x.dtype == np.float32
    assert np.abs(x - y).max(initial=0.0) <= 200 * EPS * size


def orthonormal(q):
    near(q.T @ q, np.eye(q.shape[1]))


SHAPES = [
    (300, 200), (700, 512), (260, 129), (128, 128), (50, 3), (400, 400), (650, 640), (9, 1), (1, 1),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("tile", [None, 128, 700])
def test_reflections(engine, shape, tile, rng):
    m, n = shape
    a = draw((m, n), rng)
    r = np.zeros((m, n + 2), np.float32)[:, 1 : n + 1]
    r[...] = a
    factors = engine.factor(r, tile)
    assert Panelled.made[0].called
    assert not engine.breakdown.any()
    assert not np.tril(r, -1).any()
    q = factors.form_q(m)
    near(q @ r, a, 10)
    orthonormal(q)
    near(factors.form_q(n), q[:, :n])
    x, y = draw((m, 4), rng), draw((4, m), rng)
    left, right = x.copy(), y.copy()
    apply_left(engine, factors, left)
    apply_right(engine, factors, right)
    near(left, q.T @ x, 10)
    near(right, y @ q, 10)


def test_columns_after_columns(engine, rng):
    """What cuBLAS cannot write as rows; a last tile of one column; what lies below is left."""
    a = draw((320, 301), rng)
    r = np.asfortranarray(a)
    factors = engine.factor(r, clear=False)
    assert Panelled.made[0].called
    near(factors.form_q(320) @ np.triu(r), a, 10)
    assert [t.shape for t in factors.ts] == [(300, 300), (1, 1)]


def test_kernels_of_cuda(kernels, rng):
    """The panels by the text of the kernels."""
    engine = CudaFloats(BACKEND, "float32", HostLibrary("float32"), lambda: CudaPanels(kernels))
    engine.fast = True
    m, n = 210, 170
    a = draw((m, n), rng)
    r = a.copy()
    q = engine.orthogonal(r, n)
    near(q @ r[:n], a, 10)
    orthonormal(q)
    assert not engine.breakdown.any()
    a[:, 150] = a[:, 140]
    engine.factor(a)
    assert engine.breakdown.any()


def test_what_is_too_wide_or_a_batch_goes_to_the_library(engine, rng):
    for shape in ((40, 50), (2, 60, 40), (60, 0)):
        engine.factor(draw(shape, rng))
    assert not Panelled.made
    assert engine.breakdown is None
    engine.fast = False
    engine.factor(draw((90, 60), rng))
    assert not Panelled.made


def test_orthogonal_matrices(engine, rng):
    for m, n, count in ((260, 200, None), (260, 200, 200), (130, 90, 100)):
        a = draw((m, n), rng)
        r = a.copy()
        q = engine.orthogonal(r, count)
        near(q @ r[: q.shape[1]], a, 10)
        orthonormal(q)
    assert Panelled.made[0].called == 5


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_sweeps(engine, mode, rng):
    """Every update by several windows of several panels."""
    m, n = 460, 330
    a = draw((m, n), rng)
    u, v, w = (draw(shape, rng) for shape in ((60, n), (m, 50), (n, 50)))
    for change, wanted in (
        (lambda s: rows.insert_rows(s, u.copy(), 5), np.insert(a, [5] * 60, u, axis=0)),
        (lambda s: rows.delete_rows(s, 3, 40), np.delete(a, range(3, 43), axis=0)),
        (lambda s: columns.insert_columns(s, v, 2), np.insert(a, [2] * 50, v, axis=1)),
        (lambda s: columns.delete_columns(s, 1, 40), np.delete(a, range(1, 41), axis=1)),
        (lambda s: columns.change(s, v, w), a + v @ w.T),
    ):
        q, r = np.linalg.qr(a, mode)
        state = State(engine, q.copy(), r.copy(), n, untouched=n)
        change(state)
        state.normalise()
        near(state.q @ state.r, wanted, 50)
        orthonormal(state.q)
        assert not np.tril(state.r, -1).any()
    assert Panelled.made[0].called > 20
    assert not engine.breakdown.any()


def test_r_alone_and_fresh_factors(engine, rng):
    m, n = 460, 330
    a = draw((m, n), rng)
    for change, wanted in (
        (lambda s: rows.insert_rows(s, a[:40].copy(), 0), np.vstack([a, a[:40]])),
        (lambda s: rows.delete_known_rows(s, a[:40].copy(), Checks()), a[40:]),
        (lambda s: columns.delete_columns(s, 0, 50), a[:, 50:]),
    ):
        state = State(engine, None, np.linalg.qr(a, "r"), n, untouched=n)
        change(state)
        state.normalise()
        r = state.r[: state.n]
        near(r.T @ r, wanted.T @ wanted, 20 * m)
    for q in (None, n, m):
        state = factored(engine, a.copy(), n, q)
        near(state.r[:n].T @ state.r[:n], a.T @ a, 20 * m)
        if q is not None:
            near(state.q @ state.r, a, 10)


def test_public_functions_ask_panels_only_if_they_look(public, rng):
    a = draw((200, 120), rng)
    q, r = np.linalg.qr(a)
    for check in (False, True):
        found = qr_delete(q, r, 0, 50, "col", method="update", check=check)
        near(found.Q @ found.R, a[:, 50:], 10)
        orthonormal(found.Q)
        assert bool(Panelled.made) == check
    assert len(Panelled.made) == 1


def test_complex_and_wide_numbers_have_none(public, rng):
    a = rng.standard_normal((200, 120))
    for kind in ("float64", "complex64"):
        qr_insert(None, np.linalg.qr(a.astype(kind), "r"), a[:40].astype(kind), 0, method="update")
    assert not Panelled.made


@pytest.mark.parametrize("method", ["update", "fresh"])
def test_panels_that_break_down_are_repeated_by_the_library(public, method, rng):
    """Columns that depend on others to the last digit."""
    a = draw((260, 140), rng)
    a[:, 90] = 0
    a[:, 70] = a[:, 60]
    q, r = np.linalg.qr(a)
    u, v, w = a[:50] * 2, draw((260, 40), rng), draw((140, 40), rng)
    for call, wanted in (
        (lambda: qr_insert(q, r, u, 0, method=method), np.vstack([u, a])),
        (lambda: qr_delete(q, r, 0, 60, "col", method=method), a[:, 60:]),
        (lambda: qr_update(q, r, v * 0, w, method=method), a),
    ):
        Panelled.made = []
        found = call()
        assert len(Panelled.made) == 1
        assert Panelled.made[0].breakdown.any()
        near(found.Q @ found.R, wanted, 10)
        orthonormal(found.Q)


@pytest.mark.parametrize("keep_q", [False, True])
@pytest.mark.parametrize("deficient", [False, True])
def test_least_squares(public, keep_q, deficient, rng):
    """Rows and columns by panels, and by the library after a breakdown."""
    a, b = draw((400, 140), rng), draw((400, 2), rng)
    if deficient:
        a[:, 70] = a[:, 60]
    fit = UpdatableLstsq(a, b, keep_q=keep_q)
    assert [bool(panels.breakdown.any()) for panels in Panelled.made] == [deficient]
    u, c, v = draw((50, 140), rng), draw((50, 2), rng), draw((450, 40), rng)
    if deficient:
        u[:, 70] = u[:, 60]
    engine, found = fit._fit.engine, []
    changes = [
        lambda: (fit.insert_rows(u, c), fit.R),
        lambda: fit.delete_rows(0, 40),
        lambda: fit.delete_cols(0, 40),
        lambda: fit.insert_cols(v[:410], 2),
    ]
    # No column can join those of a matrix that is deficient.
    for change in changes[: 3 if deficient else 4]:
        made = len(Panelled.made)
        change()
        assert not engine.fast
        found.append([bool(panels.breakdown.any()) for panels in Panelled.made[made:]])
    assert all(found)
    assert any(map(any, found)) == deficient
    data = np.vstack([a, u])[40:, 40:]
    if not deficient:
        data = np.hstack([data[:, :2], v[:410], data[:, 2:]])
    near(fit.R.T @ fit.R, data.T @ data, 20 * len(data))
    if not deficient:
        wanted = np.linalg.lstsq(data, np.vstack([b, c])[40:])[0]
        near(fit.solve(), wanted, 10)


def test_entries_that_are_not_finite_are_told(public, rng):
    a = draw((260, 140), rng)
    u = draw((50, 140), rng)
    u[3, 4] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="u is NaN or infinite"):
        qr_insert(None, np.linalg.qr(a, "r"), u, 0, method="update")


@pytest.mark.usefixtures("public")
def test_both_ways_are_counted_by_the_panels_that_they_have(monkeypatch, rng):
    """Windows of a call each have no price among the rates of panels, and are not made with them.

    Counted before it was known that panels are tried, they made updates cost next to nothing.
    """
    a, checked = draw((30, 20), rng), []

    def columns_of(engine, below):
        checked.append(engine.has_panels)
        return found(engine, below)

    found = sweeps.window_columns
    monkeypatch.setattr(sweeps, "window_columns", columns_of)
    Q, R = np.linalg.qr(a)
    for call in (
        lambda **options: qr_insert(Q, R, a[:2], 0, **options),
        lambda **options: qr_insert(Q, R, draw(30, rng), 3, "col", **options),
        lambda **options: qr_delete(Q, R, 0, **options),
        lambda **options: qr_delete(Q, R, 0, 2, "col", **options),
        lambda **options: qr_update(Q, R, draw(30, rng), a[0], **options),
    ):
        for check in (True, False):
            checked.clear()
            call(check=check)
            assert checked
            assert set(checked) == {check}
