"""Least squares that change: solutions against exact ones, and what needs which data."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings

import linalg_cases
import numpy as np
import pytest
import update_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr import PrecisionWarning
from mdqr.linalg import UpdatableLstsq, lstsq, qr
from mdqr.linalg._update import fit as fits

KEPT = list(itertools.product([False, True], [False, True]))


def rows(a, k, p):
    return a[k : k + p]


class Stream:
    """Data, the object that follows them, and random changes of both."""

    def __init__(self, a, b, rng, **options):
        self.a, self.b, self.rng, self.options = a, b, rng, options
        self.fit = UpdatableLstsq(a, b, **options)

    def draw(self, *shape):
        dtype = complex if self.a.is_complex else float
        return cases.values(shape, self.a.precision, dtype, self.rng)

    def step(self):
        m, n = self.a.shape
        known = self.options["keep_data"]
        choices = ["insert_rows"] * (m < 14) + ["delete_rows"] * (m > n + 4)
        choices += ["delete_cols"] * (n > 2) + ["insert_cols"] * (known and n < 5)
        getattr(self, str(self.rng.choice(choices)))(m, n)

    def insert_rows(self, m, n):
        p, k = int(self.rng.integers(1, 4)), int(self.rng.integers(0, m + 1))
        u, c = self.draw(p, n), self.draw(p, *self.b.shape[1:])
        self.fit.insert_rows(u, c, k)
        self.a = cases.insert(self.a, u, k, 0)
        self.b = mdqr.concatenate([self.b[:k], c, self.b[k:]])

    def delete_rows(self, m, n):
        p = int(self.rng.integers(1, 3))
        k = int(self.rng.integers(0, m - p + 1))
        if self.options["keep_data"]:
            self.fit.delete_rows(k, p)
        elif self.options["keep_q"]:
            self.fit.delete_rows(k, p, b=rows(self.b, k, p))
        else:
            self.fit.delete_rows(u=rows(self.a, k, p), b=rows(self.b, k, p))
        self.a = cases.delete(self.a, k, p, 0)
        self.b = mdqr.concatenate([self.b[:k], self.b[k + p :]])

    def insert_cols(self, m, n):
        u, k = self.draw(m, 1), int(self.rng.integers(0, n + 1))
        self.fit.insert_cols(u, k)
        self.a = cases.insert(self.a, u, k, 1)

    def delete_cols(self, m, n):
        k = int(self.rng.integers(0, n))
        self.fit.delete_cols(k)
        self.a = cases.delete(self.a, k, 1, 1)

    def check(self, factor):
        """x to `factor` eps times the square of the condition, as without refinement."""
        exact = lstsq(self.a, self.b)
        x, norm = self.fit.solve(), self.fit.residual_norm()
        assert self.fit.shape == self.a.shape
        assert x.shape == exact.x.shape
        assert norm.shape == self.b.shape[1:]
        eps, size = self.a.precision.eps, float(abs(exact.x).max())
        allowed = factor * eps * exact.info.condition**2
        assert float(abs(x - exact.x).max()) <= allowed * max(size, 1.0)
        squares = norm * norm - exact.residuals.reshape(norm.shape)
        assert float(abs(squares).max()) <= allowed * 20.0


@pytest.mark.parametrize(("keep_q", "keep_data"), KEPT)
@pytest.mark.parametrize("fresh", [False, True], ids=["update", "fresh"])
@settings(max_examples=1)
@given(seed=st.integers(0, 2**32))
def test_solutions_follow_the_data(precision, dtype, keep_q, keep_data, fresh, seed):
    """The paper's section 5.6: the solution is as good as that of a fresh factorisation."""
    rng = np.random.default_rng(seed)
    a = cases.values((11, 4), precision, dtype, rng)
    b = cases.values((11,) if seed % 2 else (11, 2), precision, dtype, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fits, "prefers_refactor", lambda *_: fresh)
        stream = Stream(a, b, rng, keep_q=keep_q, keep_data=keep_data)
        stream.check(1e3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            for _ in range(6):
                stream.step()
        stream.check(1e5)


def test_solution_against_exact_rationals(multiple, rng):
    """After ten changes, against the exact solution of the data as they are held."""
    a, b = cases.values((12, 4), multiple, float, rng), cases.values((12,), multiple, float, rng)
    stream = Stream(a, b, rng, keep_q=False, keep_data=True)
    for _ in range(10):
        stream.step()
    exact, squares, _ = linalg_cases.rational_solution(stream.a, stream.b.reshape(-1, 1))
    found = linalg_cases.fractions(stream.fit.solve())
    error = max(abs(x - y) for x, y in zip(found, exact[:, 0], strict=True))
    assert error <= 1e6 * multiple.eps
    norm = linalg_cases.fractions(stream.fit.residual_norm())
    assert abs(norm.item() ** 2 - squares[0]) <= 1e6 * multiple.eps


@pytest.mark.parametrize("keep_q", [False, True])
def test_factors_are_those_of_the_data(precision, dtype, keep_q, rng):
    a, b = cases.values((9, 4), precision, dtype, rng), cases.values((9,), precision, dtype, rng)
    fit = UpdatableLstsq(a, b, keep_q=keep_q)
    if keep_q:
        cases.accept(a, fit.Q, fit.R)
    else:
        assert fit.Q is None
        cases.accept_r(a, fit.R)


def test_more_columns_than_rows_at_first(precision, rng):
    """Rows can be streamed from nothing: the solution exists as soon as there are enough."""
    a, b = cases.values((7, 4), precision, float, rng), cases.values((7,), precision, float, rng)
    for keep_q in (False, True):
        fit = UpdatableLstsq(a[:1], b[:1], keep_q=keep_q, keep_data=False)
        for i in range(1, 7):
            if i < 4:
                with pytest.raises(np.linalg.LinAlgError, match="fewer rows than columns"):
                    fit.solve()
            fit.insert_rows(a[i], b[i])
        expected = lstsq(a, b)
        bound = 1e3 * precision.eps * expected.info.condition**2
        assert float(abs(fit.solve() - expected.x).max()) <= bound * float(abs(expected.x).max())


@pytest.mark.parametrize("keep_q", [False, True])
@pytest.mark.parametrize("m", [0, 1, 3])
def test_residuals_of_rows_that_join_a_square_matrix(precision, dtype, keep_q, m, rng):
    """Several at once: what they leave of b counts in full."""
    a, b = cases.values((6, 3), precision, dtype, rng), cases.values((6, 2), precision, dtype, rng)
    fit = UpdatableLstsq(a[:m], b[:m], keep_q=keep_q, keep_data=False)
    fit.insert_rows(a[m:], b[m:])
    squares = fit.residual_norm() ** 2 - lstsq(a, b).residuals
    assert float(abs(squares).max()) <= 1e4 * precision.eps


def test_no_columns_to_insert(precision, rng):
    a, b = cases.values((6, 3), precision, float, rng), cases.values((6,), precision, float, rng)
    for keep_q in (False, True):
        for n in (0, 3):
            fit = UpdatableLstsq(a[:, :n], b, keep_q=keep_q)
            fit.insert_cols(a[:, :0], 0)
            assert fit.shape == (6, n)
            assert fit.solve().shape == (n,)


def test_repair(precision, rng):
    """The errors of a wrong R go; Q^H b and the squares are computed again."""
    a, b = cases.values((9, 4), precision, float, rng), cases.values((9, 2), precision, float, rng)
    for keep_q in (False, True):
        fit = UpdatableLstsq(a, b, keep_q=keep_q)
        fit._fit.r = fit._fit.r * (1.0 + precision.eps**0.6)
        fit.repair()
        cases.accept_r(a, fit.R)
        expected = lstsq(a, b)
        bound = 1e4 * precision.eps * expected.info.condition**2
        assert float(abs(fit.solve() - expected.x).max()) <= bound


@pytest.mark.parametrize("keep_q", [False, True])
def test_copies_and_pickles(precision, dtype, keep_q, rng):
    """A stream can be stored; data that are dropped are not in it."""
    a, b = cases.values((90, 3), precision, dtype, rng), cases.values((90,), precision, dtype, rng)
    fit = UpdatableLstsq(a, b, keep_q=keep_q, keep_data=False)
    stored = pickle.dumps(fit)
    assert keep_q or len(stored) < a.limbs.nbytes
    for other in (pickle.loads(stored), copy.deepcopy(fit)):
        other.insert_rows(a[0], b[0])
        assert (other.shape, fit.shape) == ((91, 3), (90, 3))
        cases.accept_r(mdqr.concatenate([a, a[:1]]), other.R)


def test_singular_problems(precision, rng):
    a = cases.values((6, 3), precision, float, rng)
    a[:, 1] = 0.0
    fit = UpdatableLstsq(a, a[:, 0])
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        fit.solve()
    # Singular to working precision: no digit would be right.
    a = mdqr.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], precision=precision)
    fit = UpdatableLstsq(a, np.ones(3))
    for answer in (fit.solve, fit.residual_norm):
        with pytest.raises(np.linalg.LinAlgError, match=r"singular.*"):
            answer()
    with pytest.raises(np.linalg.LinAlgError, match="below rcond"):
        UpdatableLstsq(a[:, :1], a[:, 0]).insert_cols(a[:, :1], rcond=precision.eps)


@pytest.mark.parametrize("keep_q", [False, True])
@pytest.mark.parametrize("fresh", [False, True])
def test_the_data_help_where_r_is_singular(precision, keep_q, fresh, monkeypatch, rng):
    """Whatever way is taken: rows leave, and independent columns come."""
    monkeypatch.setattr(fits, "prefers_refactor", lambda *_: fresh)
    a, b = cases.values((8, 4), precision, float, rng), cases.values((8,), precision, float, rng)
    a[:, 1] = 0.0
    fit = UpdatableLstsq(a[:, :3], b, keep_q=keep_q)
    fit.delete_rows(2)
    fit.insert_cols(cases.delete(a, 2, 1, 0)[:, 3])
    rest = cases.delete(a, 2, 1, 0)
    cases.accept_r(rest, fit.R, steps=2, largest=cases.norm(a))
    with pytest.raises(np.linalg.LinAlgError, match="below rcond"):
        fit.insert_cols(2.0 * rest[:, 0], 4)
    assert fit.shape == (7, 4)


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
def test_float_arrays_stay_float_arrays(kind, rng):
    a, b = rng.standard_normal((9, 4)).astype(kind), rng.standard_normal(9).astype(kind)
    fit = UpdatableLstsq(a, b)
    fit.insert_rows(2.0 * a[1], b[1], 3)
    fit.delete_cols(1)
    fit.insert_cols(a[:1].sum() + np.arange(10.0), 0)
    fit.delete_rows(5)
    x, norm = fit.solve(), fit.residual_norm()
    assert x.dtype == np.dtype(kind)
    assert norm.dtype == np.empty(0, kind).real.dtype
    data = np.delete(np.insert(a, 3, 2.0 * a[1], 0), 1, 1)
    data = np.insert(data, 0, a[:1].sum() + np.arange(10.0), 1)
    data, right = np.delete(data, 5, 0), np.delete(np.insert(b, 3, b[1]), 5)
    expected = np.linalg.lstsq(data, right, rcond=None)[0]
    eps = np.finfo(kind).eps
    assert np.linalg.norm(x - expected) <= 100 * eps * np.linalg.cond(data) ** 2


def test_gigantic_sizes_of_b(multiple, rng):
    """Squares of residuals stay in range."""
    a, b = cases.values((8, 3), multiple, float, rng), cases.values((8,), multiple, float, rng)
    for scale in (2.0**700, 2.0**-300):
        fit = UpdatableLstsq(a, b * scale, keep_data=False)
        fit.insert_rows(a[0] * 0.5, b[1] * scale)
        wanted = lstsq(mdqr.concatenate([a, a[:1] * 0.5]), mdqr.concatenate([b, b[1:2]]))
        ratio = float(fit.residual_norm() / scale) ** 2
        assert ratio == pytest.approx(float(wanted.residuals[0]), rel=1e-12)
    assert qr(a, "r").shape == (3, 3)
