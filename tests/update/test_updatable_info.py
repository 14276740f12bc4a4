"""What least squares that change say of themselves: never too much, and what lstsq says."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from fractions import Fraction

import linalg_cases
import numpy as np
import pytest
import update_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr import PrecisionWarning
from mdqr._precision import PRECISIONS
from mdqr.linalg import UpdatableLstsq, lstsq


def matrix(rng, m, n, precision):
    """Entries near 1, graded rows or columns, columns that nearly depend, few giant rows."""
    a, kind = cases.values((m, n), precision, float, rng), rng.integers(6)
    if kind == 1:
        a = a * 2.0 ** rng.integers(-40, 40, (m, 1))
    if kind == 2:
        a = a * 2.0 ** rng.integers(-200, 200, (1, n))
    if kind == 3 and n > 1:
        a[:, -1] = a[:, 0] + a[:, -1] * 2.0 ** -int(rng.integers(2, precision.bits // 2))
    if kind == 4:
        a[:, 0] = 1.0
    if kind == 5:
        giant = 2.0 ** int(rng.integers(5, precision.bits // 3))
        a = a * np.where(rng.random((m, 1)) < 0.15, giant, 1.0)
    return a


def sides(rng, a):
    """Entries near 1, those of a solution, with and without noise, and few giant ones."""
    (m, n), kind = a.shape, rng.integers(4)
    b, x = (cases.values((size,), a.precision, float, rng) for size in (m, n))
    if kind == 1:
        return a @ x
    if kind == 2:
        return a @ x + b * 2.0 ** -int(rng.integers(1, 100))
    return b * np.where(rng.random(m) < 0.2, 2.0 ** int(rng.integers(1, 90)), 1.0) if kind else b


class Sequence:
    """A problem, its rows, and random changes of both."""

    def __init__(self, rng):
        self.rng, self.precision = rng, rng.choice(PRECISIONS)
        n = int(rng.integers(1, 5))
        self.kept = dict(zip(("keep_q", "keep_data"), rng.integers(0, 2, 2) > 0, strict=True))
        self.fit, self.a, self.b = self.problem(n + int(rng.integers(0, 8)), n)

    def problem(self, m, n):
        a = matrix(self.rng, m, n, self.precision)
        b = sides(self.rng, a)
        return UpdatableLstsq(a, b, **self.kept), a, b

    def insert(self):
        (m, n), rng = self.a.shape, self.rng
        _, u, c = self.problem(int(rng.integers(1, 4)), n)
        k = int(rng.choice([m, rng.integers(m + 1)]))
        self.fit.insert_rows(u, c, k)
        self.a, self.b = (
            mdqr.concatenate(x) for x in ([self.a[:k], u, self.a[k:]], [self.b[:k], c, self.b[k:]])
        )

    def merge(self):
        other, u, c = self.problem(int(self.rng.integers(1, 7)), self.a.shape[1])
        self.fit.merge(other)
        self.a, self.b = mdqr.concatenate([self.a, u]), mdqr.concatenate([self.b, c])

    def delete(self):
        m, n = self.a.shape
        if m <= n + 1:
            return
        k = self.rng.permutation(m)[: int(self.rng.integers(1, m - n + 1))]
        known = {} if self.kept["keep_data"] else {"b": self.b[k]}
        known |= {"u": self.a[k]} if known and not self.kept["keep_q"] else {}
        self.fit.delete_rows(k, **known)
        rest = np.delete(np.arange(m), k)
        self.a, self.b = self.a[rest], self.b[rest]

    def ask(self):
        assert self.fit.R.shape[1] == self.a.shape[1]


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(st.sampled_from(["insert", "delete", "merge", "ask"]), max_size=7),
)
def test_digits_never_claim_too_much(seed, steps):
    """After any changes, against exact rationals; that removals lose all digits is said, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        try:
            stream = Sequence(np.random.default_rng(seed))
            for step in steps:
                getattr(stream, step)()
            info, x = stream.fit.info, linalg_cases.fractions(stream.fit.solve())
        except np.linalg.LinAlgError:
            return
    exact, _, _ = linalg_cases.rational_solution(stream.a, stream.b.reshape(-1, 1))
    assert info.error_bound.shape == info.digits.shape == x.shape
    for found, true, bound, digits in zip(
        x, exact[:, 0], info.error_bound, info.digits, strict=True
    ):
        error = abs(found - true)
        assert not np.isfinite(bound) or error <= Fraction(bound)
        assert digits <= 0.0 or error <= abs(true) * Fraction(10.0 ** (1e-9 - digits))


def changed(a, b, **options):
    """The same problem by few steps: rows that come alone and in blocks, leave, and are merged."""
    m = a.shape[0]
    fit = UpdatableLstsq(a[: m // 2], b[: m // 2], **options)
    fit.insert_rows(a[m // 2 : m - 3], b[m // 2 : m - 3])
    fit.merge(UpdatableLstsq(a[m - 3 :], b[m - 3 :], **options))
    fit.insert_rows(a[:2], b[:2])
    known = {} if options.get("keep_data", True) else {"b": b[:2]}
    fit.delete_rows([m, m + 1], **known, **({"u": a[:2]} if known and fit.Q is None else {}))
    return fit


@pytest.mark.parametrize("keep_data", [False, True])
@pytest.mark.parametrize("keep_q", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_statistics_are_those_of_lstsq(precision, dtype, keep_q, keep_data, constant, rng):
    a, b = (
        cases.values((20, 3), precision, dtype, rng),
        cases.values((20, 2), precision, dtype, rng),
    )
    b = b + 50.0
    if constant:
        a[:, 1] = 0.25
    fit, wanted = changed(a, b, keep_q=keep_q, keep_data=keep_data), lstsq(a, b)
    info, other = fit.info, wanted.info
    assert info is fit.info
    tolerance = 1e5 * precision.eps
    for name in ("residual_std", "r_squared"):
        found, known = getattr(info, name), getattr(other, name)
        assert found.shape == (2,)
        assert not found.is_complex
        assert float(abs(found - known).max()) <= tolerance * float(abs(known).max())
    for name in ("standard_errors", "covariance"):
        found, known = getattr(info, name)(), getattr(other, name)()
        assert found.shape == known.shape
        assert found.precision == precision
        assert float(abs(found - known).max()) <= tolerance * float(abs(known).max())
    # Of columns scaled by powers of two, which may differ by one.
    assert 0.2 < info.condition / other.condition < 5
    assert info.bound_kind == "estimated"
    assert repr(info).startswith("<UpdatableLstsqInfo condition=")
    least = precision.digits - (8 if keep_data else 12)
    assert info.digits.shape == (3, 2)
    assert (info.digits >= least).all()


def test_constant_columns_are_followed(rng):
    """By rows and columns that come and go, where no data tell: the total is about the mean."""
    a, b = cases.values((12, 3), mdqr.dd, float, rng), cases.values((12,), mdqr.dd, float, rng)
    a[:, 1] = 3.0
    fit = UpdatableLstsq(a[:0], b[:0], keep_q=True, keep_data=False)
    fit.insert_rows(a, b)
    about_the_mean = fit.info.r_squared
    fit.insert_rows([1.0, 2.0, 3.0], 1.0)
    about_zero = fit.info.r_squared
    for data, right, found in (
        (a, b, about_the_mean),
        (mdqr.concatenate([a, mdqr.array([[1, 2, 3]], precision="dd")]), [*b, 1.0], about_zero),
    ):
        known = lstsq(data, mdqr.array(right, precision="dd")).info.r_squared
        assert abs(float(found - known)) <= 1e-28
    fit = UpdatableLstsq(a, b, keep_data=False)
    fit.delete_cols(0)
    assert abs(float(fit.info.r_squared - lstsq(a[:, 1:], b).info.r_squared)) <= 1e-28


def test_bounds_show_factors_that_drifted(multiple, rng):
    """With data they are measured: of x, and of R, whatever has happened to them."""
    a, b = cases.values((20, 4), multiple, float, rng), cases.values((20,), multiple, float, rng)
    fit = UpdatableLstsq(a, b)
    drift = 1.0 + 1e-9 * rng.standard_normal(fit._fit.r.shape[-2:])
    fit._fit = replace(fit._fit, r=fit._fit.r * drift)
    exact, _, _ = linalg_cases.rational_solution(a, b.reshape(-1, 1))
    info, x = fit.info, linalg_cases.fractions(fit.solve())
    errors = [abs(p - q) for p, q in zip(x, exact[:, 0], strict=True)]
    assert all(
        e <= Fraction(bound) <= 100 * e for e, bound in zip(errors, info.error_bound, strict=True)
    )
    fit._fit = replace(fit._fit, r=fit._fit.r * 3.0)
    assert not fit.info.digits.any()


def test_zeros_and_few_rows(precision, rng):
    a, b = cases.values((6, 3), precision, float, rng), cases.values((6,), precision, float, rng)
    for keep_data in (False, True):
        info = UpdatableLstsq(a, 0.0 * b, keep_data=keep_data).info
        assert not info.error_bound.any()
        assert (info.digits == precision.digits).all()
        assert np.isnan(float(info.r_squared))
        info = UpdatableLstsq(a[:3], b[:3], keep_data=keep_data).info
        assert np.isnan(float(info.residual_std))
        for fit in (UpdatableLstsq(a[:2], b[:2], keep_data=keep_data), UpdatableLstsq(0.0 * a, b)):
            with pytest.raises(np.linalg.LinAlgError, match=r"UpdatableLstsq\.info"):
                _ = fit.info


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("keep_data", [False, True])
def test_float_arrays_have_float_statistics(kind, keep_data, rng):
    a = (rng.standard_normal((9, 3)) + 1j * rng.standard_normal((9, 3))).real.astype(kind)
    info = UpdatableLstsq(a, a[:, 0] + a[:, 1] ** 2, keep_data=keep_data).info
    known = lstsq(a, a[:, 0] + a[:, 1] ** 2, precision="dd").info
    assert info.standard_errors().dtype == np.empty(0, kind).real.dtype
    assert info.covariance().dtype == np.dtype(kind)
    error = abs(info.standard_errors() - known.standard_errors().to_numpy()).max()
    assert error <= 1e4 * np.finfo(kind).eps
    assert 3 < info.digits.min() <= -np.log10(np.finfo(kind).eps)


def test_what_is_known_stays_when_rows_come(rng):
    """The info belongs to the problem as it was; pickles leave it out."""
    a, b = cases.values((9, 3), mdqr.qd, float, rng), cases.values((9,), mdqr.qd, float, rng)
    fit = UpdatableLstsq(a[:8], b[:8])
    info = fit.info
    known = info.r_squared
    fit.insert_rows(a[8], b[8])
    assert fit.info is not info
    assert mdqr.array_equal(info.covariance(), UpdatableLstsq(a[:8], b[:8]).info.covariance())
    assert mdqr.array_equal(info.r_squared, known)
    assert (pickle.loads(pickle.dumps(fit)).info.digits == fit.info.digits).all()


def test_an_answer_of_fewer_digits_than_the_work(rng):
    """Its rounding counts."""
    a, b = cases.values((9, 3), mdqr.qd, float, rng), cases.values((9,), mdqr.qd, float, rng)
    fit = UpdatableLstsq(a, b, precision="dd")
    info, x = fit.info, linalg_cases.fractions(fit.solve())
    exact, _, _ = linalg_cases.rational_solution(a, b.reshape(-1, 1))
    for found, true, bound in zip(x, exact[:, 0], info.error_bound, strict=True):
        assert abs(found - true) <= Fraction(bound) <= 2 * Fraction(mdqr.dd.eps)
    assert (info.digits <= mdqr.dd.digits).all()
