"""Float arrays of updates on a GPU: its libraries, by LAPACK on host memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from fake_cuda_libraries import HostLibrary

from mdqr._backend import for_block
from mdqr._backend.blocks import to_native
from mdqr._backend.cuda.floats.library import row_stride
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import columns as columns
from mdqr.linalg._update import rows
from mdqr.linalg._update.arithmetic import cuda_floats
from mdqr.linalg._update.arithmetic.cuda_floats import CudaFloats
from mdqr.linalg._update.arithmetic.floats import Floats
from mdqr.linalg._update.arithmetic.matrices import adjoint, apply_left, apply_right
from mdqr.linalg._update.loss import least_distance, smallest_singular_value, spectral_bound
from mdqr.linalg._update.state import State

KINDS = ["float32", "float64", "complex64", "complex128"]
BACKEND = for_block(np.zeros(1))


class Narrow(CudaFloats):
    """Windows of few columns, so that small matrices have several."""

    tile = 3

    def width(self, sweep, p):
        return 4


@pytest.fixture(params=KINDS)
def engine(request):
    return Narrow(BACKEND, request.param, HostLibrary(request.param))


def values(shape, engine, rng):
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if engine.kind.is_complex else a).astype(
        engine.dtype
    )


def near(x, y, engine, size=1.0):
    """Rounding errors of some dozens of operations."""
    assert x.shape == y.shape
    assert x.dtype == y.dtype == engine.dtype
    assert np.abs(x - y).max(initial=0.0) <= 200 * engine.eps * size


def layouts(a):
    """The same matrix in memory of several kinds."""
    m, n = a.shape
    wide, high = np.zeros((m, 2 * n + 1), a.dtype), np.zeros((2 * n + 1, m), a.dtype)
    wide[:, 1 : n + 1], high[1 : n + 1] = a, a.T
    both = np.zeros((2 * m, 2 * n), a.dtype)
    both[::2, ::2] = a
    return [
        a,
        np.asfortranarray(a),
        wide[:, 1 : n + 1],
        high[1 : n + 1].T,
        both[::2, ::2],
        a[::-1][::-1],
    ]


@pytest.mark.parametrize(("m", "k", "n"), [(3, 4, 2), (1, 4, 3), (3, 1, 1), (1, 1, 1), (4, 5, 1)])
def test_products_of_every_layout(engine, m, k, n, rng):
    a, b, c = (values(shape, engine, rng) for shape in ((m, k), (k, n), (m, n)))
    for x, y in itertools.product(layouts(a), layouts(b)):
        for conj_a, conj_b in itertools.product((False, True), repeat=2):
            wanted = (x.conj() if conj_a else x) @ (y.conj() if conj_b else y)
            options = {"conj_a": conj_a, "conj_b": conj_b}
            near(engine.multiply(x, y, **options), wanted, engine, k)
            near(engine.multiply(x, y, subtract=True, **options), -wanted, engine, k)
            for z in layouts(c):
                near(engine.multiply(x, y, c=z, **options), c + wanted, engine, k)
                near(engine.multiply(x, y, c=z, subtract=True, **options), c - wanted, engine, k)
                assert np.array_equal(z, c)


@pytest.mark.parametrize("shapes", [((0, 3), (3, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0))], ids=str)
def test_empty_products(engine, shapes):
    a, b = (np.zeros(shape, engine.dtype) for shape in shapes)
    near(engine.multiply(a, b), a @ b, engine)


def test_rows_of_a_matrix():
    a = np.zeros((4, 6), np.float32)
    assert [row_stride(x) for x in (a, a[1:3, 2:5], a[::2], a[:1], a[:, :1])] == [6, 6, 12, 6, 6]
    assert [row_stride(x) for x in (a.T, a[:, ::2], a[::-1], a[:, 1:3].T)] == [0, 0, 0, 0]
    assert row_stride(np.broadcast_to(a[:1], (3, 6))) == 0


@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (7, 7), (1, 3), (3, 1), (4, 0), (0, 4)], ids=str)
def test_reflections(engine, shape, rng):
    m, n = shape
    a = values(shape, engine, rng)
    a[:, n // 2 : n // 2 + 1] = 0
    r = np.zeros((m, n + 2), engine.dtype)[:, 1 : n + 1]
    r[...] = a
    factors = engine.factor(r)
    assert not np.tril(r, -1).any()
    q = factors.form_q(m)
    near(q @ r, a, engine, 10)
    near(q.conj().T @ q, np.eye(m, dtype=engine.dtype), engine)
    near(
        factors.form_q(max(min(m, n), 1 if m else 0)), q[:, : max(min(m, n), 1 if m else 0)], engine
    )
    x, y = values((m, 4), engine, rng), values((4, m), engine, rng)
    left, right = x.copy(), y.copy()
    apply_left(engine, factors, left)
    apply_right(engine, factors, right)
    near(left, q.conj().T @ x, engine, 10)
    near(right, y @ q, engine, 10)
    across = np.asfortranarray(x)
    apply_left(engine, factors, across)
    near(across, left, engine, 10)


@pytest.mark.parametrize("most", [0, 1024])
@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (6, 6), (1, 1), (3, 0)], ids=str)
def test_orthogonal_matrices(engine, most, shape, rng, monkeypatch):
    """By V and T, or by the library."""
    monkeypatch.setattr(cuda_floats, "_MOST_FORMED", most)
    m, n = shape
    a = values(shape, engine, rng)
    for count in (None, min(m, n), m):
        r = a.copy()
        q = engine.orthogonal(r, count)
        k = m if count is None else count
        near(q @ r[:k], a, engine, 10)
        near(adjoint(engine, q) @ q, np.eye(k, dtype=engine.dtype), engine)
        assert not np.tril(r, -1).any()


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_sweeps(engine, mode, rng):
    """Every update by several windows."""
    m, n = 17, 10
    a = values((m, n), engine, rng)
    u, v, w = (values(shape, engine, rng) for shape in ((3, n), (m, 2), (n, 2)))
    for change, wanted in (
        (lambda s: rows.insert_rows(s, u.copy(), 5), np.insert(a, 5, u, axis=0)),
        (lambda s: rows.delete_rows(s, 3, 2), np.delete(a, [3, 4], axis=0)),
        (lambda s: columns.insert_columns(s, v, 2), np.insert(a, [2, 2], v, axis=1)),
        (lambda s: columns.delete_columns(s, 1, 2), np.delete(a, [1, 2], axis=1)),
        (lambda s: columns.change(s, v, w), a + v @ w.conj().T),
    ):
        q, r = np.linalg.qr(a, mode)
        state = State(engine, q.copy(), r.copy(), n, untouched=n)
        change(state)
        state.normalise()
        near(state.q @ state.r, wanted, engine, 20)
        near(
            adjoint(engine, state.q) @ state.q, np.eye(state.q.shape[1], dtype=engine.dtype), engine
        )
        assert (np.diagonal(state.r).real >= 0).all()


def test_rows_that_leave_without_q(engine, rng):
    """What tells that they are lost sees them as NumPy's arrays do."""
    m, n, p = 60, 40, 6
    a = values((m, n), engine, rng)
    found = []
    for other in (engine, Floats(BACKEND, engine.dtype)):
        state = State(other, None, np.linalg.qr(a, "r"), n, untouched=n)
        rows.delete_known_rows(state, a[:p].copy(), Checks())
        state.normalise()
        (loss,) = state.losses
        found.append((state.r, float(loss.distance), float(loss.level)))
    (r, distance, level), (other, distance_2, level_2) = found
    near(r, other, engine, 20 * n)
    assert abs(distance - distance_2) <= 0.01 * distance
    assert abs(level - level_2) <= 0.01 * level
    q = np.linalg.qr(a)[0][:p].astype(complex)
    exact = np.linalg.eigvalsh(np.eye(p) - q @ q.conj().T).min()
    assert p ** (-1 / 16) * exact <= 1.001 * distance <= 1.002 * exact
    assert level < 0.01 * distance


@pytest.mark.parametrize("shape", [(7, 5), (3, 1), (2, 6, 4), (40, 30)], ids=str)
def test_largest_singular_values(engine, shape, rng):
    a = values(shape, engine, rng) * engine.dtype.type(1e-3)
    native = to_native(np, engine.to_block(a), engine.kind.is_complex)
    exact = np.linalg.norm(native, 2, axis=(-2, -1))
    found = spectral_bound(engine, native) / exact
    assert (found >= 1 - 1e-12).all()
    assert (found <= shape[-1] ** (1 / 32) + 1e-12).all()
    assert (spectral_bound(engine, 0 * native) == 0).all()


def test_batches(engine, rng):
    """They go the way of NumPy's arrays."""
    a = values((2, 6, 4), engine, rng)
    other = Floats(BACKEND, engine.dtype)
    found, wanted = a.copy(), a.copy()
    near(engine.orthogonal(found), other.orthogonal(wanted), engine, 10)
    near(found, wanted, engine, 10)
    factors = engine.factor(a.copy())
    near(factors.form_q(4), np.linalg.qr(a)[0], engine, 10)
    near(engine.multiply(a, a.swapaxes(-1, -2)), a @ a.swapaxes(-1, -2), engine, 10)


@pytest.mark.parametrize("order", [0, 1, 7])
def test_cholesky(engine, order, rng):
    a = values((order + 3, order), engine, rng)
    gram = a.conj().T @ a
    c = engine.cholesky(gram)
    assert not np.tril(c, -1).any()
    near(c.conj().T @ c, gram, engine, 20)
    if order:
        gram[-1, -1] = -1
        assert np.isnan(engine.cholesky(gram)).all()


@pytest.mark.parametrize("n", [0, 1, 6])
def test_triangles(engine, n, rng):
    """Solutions in 64 bits, whatever lies below the diagonal."""
    r = values((n, n), engine, rng) + 3 * np.eye(n, dtype=engine.dtype)
    b = engine.to_block(values((n, 2), engine, rng))
    system = engine.triangle(r, "test", Checks())
    upper = np.triu(to_native(np, engine.to_block(r), engine.kind.is_complex))
    for trans, a in (("N", upper), ("T", upper.T), ("C", upper.conj().T)):
        found = to_native(np, system.solve(b, trans), engine.kind.is_complex)
        error = a @ found - to_native(np, b, engine.kind.is_complex)
        assert abs(error).max(initial=0.0) <= 1e-13 * max(abs(found).max(initial=0.0), 1.0)


def test_triangles_of_batches(engine, rng):
    r = values((2, 4, 4), engine, rng) + 3 * np.eye(4, dtype=engine.dtype)
    b = engine.to_block(values((2, 4, 1), engine, rng))
    found = engine.triangle(r, "test", Checks()).solve(b)
    wanted = np.linalg.solve(np.triu(r).astype(complex), to_native(np, b, engine.kind.is_complex))
    assert abs(to_native(np, found, engine.kind.is_complex) - wanted).max() <= 1e-12


def test_columns_that_come_without_q(engine, rng):
    a, v = values((17, 10), engine, rng), values((17, 2), engine, rng)
    state = State(engine, None, np.linalg.qr(a, "r"), 10, untouched=10)
    columns.insert_unknown_columns(state, a, v, 2, "test", Checks())
    state.normalise()
    wanted = np.insert(a, [2, 2], v, axis=1)
    near(adjoint(engine, state.r) @ state.r, adjoint(engine, wanted) @ wanted, engine, 100)


def test_residual_of_twice_the_precision(engine, rng):
    """What a factorisation left of a matrix, right in its first digits."""
    a, b = values((12, 5), engine, rng), values((5, 3), engine, rng)
    product = engine.multiply(a, b)
    for conj in (False, True):
        left = a.conj() if conj else a
        found = engine.residual(*(engine.to_block(x) for x in (product, left, b)), conj_a=conj)
        wide = [
            x.astype(np.clongdouble if engine.kind.is_complex else np.longdouble)
            for x in (product, a, b)
        ]
        wanted = wide[0] - wide[1] @ wide[2]
        error = np.abs(engine.from_block(found) - wanted).max()
        assert error <= 1e-2 * np.abs(wanted).max()


def test_distances_of_nothing(engine, rng):
    """Inverses beyond the largest double, diagonals of zeros and what is not finite: nothing."""
    plain, tiny = Floats(BACKEND, engine.dtype), np.finfo(engine.dtype).tiny
    for p in (1, 2, 5):
        r = np.triu(values((p, p), engine, rng)) + 2 * np.eye(p, dtype=engine.dtype)
        exact = np.linalg.svd(r.astype(complex), compute_uv=False).min()
        assert 0.5 * exact <= smallest_singular_value(plain, r) <= 1.001 * exact
        assert p**-0.5 * 0.999 * exact <= least_distance(plain, r, np.ones(p)) <= 1.001 * exact
        for entry in (0.0, np.nan, np.inf):
            bad = r.copy()
            bad[-1, -1] = entry
            assert (
                smallest_singular_value(plain, bad) == least_distance(plain, bad, np.ones(p)) == 0
            )
        r[np.arange(p), np.arange(p)] = tiny
        assert 0 <= smallest_singular_value(plain, r) <= 2 * tiny
        assert 0 <= least_distance(plain, r, np.ones(p)) <= 2 * tiny


def test_norms_of_columns_of_any_size(engine, rng):
    plain, limits = Floats(BACKEND, engine.dtype), np.finfo(engine.dtype)
    a = values((6, 4), engine, rng)
    for factor in (1.0, limits.max / 16, limits.tiny * 16, 0.0):
        x = a * engine.dtype.type(factor)
        exact = np.linalg.norm(a.astype(complex), axis=0) * float(factor)
        assert np.allclose(plain.column_norms(x), exact, rtol=8 * engine.eps, atol=0)


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (0, 3), (1, 1)], ids=str)
def test_finite_numbers(engine, shape, rng):
    """In memory of any kind; squares may leave the range."""
    plain, tiny = Floats(BACKEND, engine.dtype), np.finfo(engine.dtype)
    a = values(shape, engine, rng)
    for x in (a, np.asfortranarray(a), a[..., ::-1], np.swapaxes(a, -1, -2)):
        for factor in (1.0, tiny.max / 8, tiny.tiny):
            assert plain.finite(x * engine.dtype.type(factor))
        for bad in (np.nan, np.inf, -np.inf) if a.size else ():
            y = x.copy(order="K")
            y[..., -1, 0] = bad
            assert not plain.finite(y)
            assert not plain.finite(y[..., ::-1])
