"""What least squares that change say of themselves: never too much, and what lstsq says."""

from __future__ import annotations

import itertools
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

SINGLE = np.finfo(np.float32).nmant + 1


def matrix(rng, m, n, precision, dtype, bits):
    """Entries near 1, graded rows or columns, columns that nearly depend, few giant rows."""
    a, kind = cases.values((m, n), precision, dtype, rng), rng.integers(6)
    if kind == 1:
        a = a * 2.0 ** rng.integers(-bits // 2, bits // 2, (m, 1))
    if kind == 2:
        high = 30 if bits == SINGLE else 200
        a = a * 2.0 ** rng.integers(-high, high, (1, n))
    if kind == 3 and n > 1:
        a[:, -1] = a[:, 0] + a[:, -1] * 2.0 ** -int(rng.integers(2, bits // 2))
    if kind == 4:
        a[:, 0] = 1.0
    if kind == 5:
        giant = 2.0 ** int(rng.integers(5, bits // 3))
        a = a * np.where(rng.random((m, 1)) < 0.15, giant, 1.0)
    return a


def sides(rng, a, k, dtype):
    """Entries near 1, those of a solution, with and without noise, and few giant ones."""
    (m, n), kind = a.shape, rng.integers(4)
    b, x = (cases.values((size, *k), a.precision, dtype, rng) for size in (m, n))
    if kind == 1:
        return a @ x
    if kind == 2:
        return a @ x + b * 2.0 ** -int(rng.integers(1, 100))
    giant = np.where(rng.random((m, *k)) < 0.2, 2.0 ** int(rng.integers(1, 90)), 1.0)
    return b * giant if kind else b


class Sequence:
    """A problem, its rows, and random changes of both: `MDArray`, or floats of either width."""

    def __init__(self, rng):
        self.rng, self.precision = rng, rng.choice(PRECISIONS)
        self.dtype, self.floats = rng.choice([float, complex]), rng.choice(["", "single", "double"])
        self.sides = [(), (1,), (3,)][rng.integers(3)]
        if self.floats:
            self.precision = mdqr.d
        n = int(rng.integers(1, 5))
        self.kept = dict(zip(("keep_q", "keep_data"), rng.integers(0, 2, 2) > 0, strict=True))
        self.fit, self.a, self.b = self.problem(n + int(rng.integers(0, 8)), n)

    def problem(self, m, n):
        bits = SINGLE if self.floats == "single" else self.precision.bits
        a = matrix(self.rng, m, n, self.precision, self.dtype, bits)
        a = self.held(a)
        b = self.held(sides(self.rng, a, self.sides, self.dtype))
        return UpdatableLstsq(self.given(a), self.given(b), **self.kept), a, b

    def given(self, x):
        """What a user gives."""
        return x.to_numpy().astype(self.type) if self.floats else x

    def held(self, x):
        """What is held of it, for exact results."""
        return mdqr.array(self.given(x), precision="d") if self.floats else x

    @property
    def type(self):
        single = np.float32 if self.dtype is float else np.complex64
        return single if self.floats == "single" else self.dtype

    def insert(self):
        (m, n), rng = self.a.shape, self.rng
        _, u, c = self.problem(int(rng.integers(1, 4)), n)
        k = int(rng.choice([m, rng.integers(m + 1)]))
        self.fit.insert_rows(self.given(u), self.given(c), k)
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
        known = {} if self.kept["keep_data"] else {"b": self.given(self.b[k])}
        known |= {"u": self.given(self.a[k])} if known and not self.kept["keep_q"] else {}
        self.fit.delete_rows(k, **known)
        rest = np.delete(np.arange(m), k)
        self.a, self.b = self.a[rest], self.b[rest]

    def ask(self):
        assert self.fit.R.shape[1] == self.a.shape[1]


def exact_solution(a, b):
    """Pairs of the real and imaginary parts, exactly: by real equations of twice the size."""
    if not a.is_complex:
        return [[(x, 0) for x in row] for row in linalg_cases.rational_solution(a, b)[0]]
    rows = [[a.real, -a.imag], [a.imag, a.real]]
    a = mdqr.concatenate([mdqr.concatenate(row, axis=1) for row in rows])
    x, _, _ = linalg_cases.rational_solution(a, mdqr.concatenate([b.real, b.imag]))
    return [list(zip(*pair, strict=True)) for pair in zip(*np.split(x, 2), strict=True)]


def parts(x):
    """Pairs of the real and imaginary parts of an array, exactly."""
    x = x if isinstance(x, mdqr.MDArray) else mdqr.array(x, precision="d")
    real = linalg_cases.fractions(x.real)
    imag = linalg_cases.fractions(x.imag) if x.is_complex else 0 * real
    return [list(zip(*pair, strict=True)) for pair in zip(real, imag, strict=True)]


@settings(max_examples=80)
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
            info, x = stream.fit.info, stream.fit.solve()
        except np.linalg.LinAlgError:
            return
    m, n = stream.a.shape
    exact = exact_solution(stream.a, stream.b.reshape(m, -1))
    assert info.error_bound.shape == info.digits.shape == x.shape
    for known in zip(
        itertools.chain(*parts(x.reshape(n, -1))),
        itertools.chain(*exact),
        info.error_bound.ravel(),
        info.digits.ravel(),
        strict=True,
    ):
        found, true, bound, digits = known
        error = sum((p - q) ** 2 for p, q in zip(found, true, strict=True))
        size = sum(p**2 for p in true)
        assert not np.isfinite(bound) or error <= Fraction(bound) ** 2
        assert digits <= 0.0 or error <= size * Fraction(10.0 ** (1e-9 - digits)) ** 2


@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_the_rounding_of_x_to_single_precision_counts(kind):
    """One third is no float32, and 1e-45 loses half of the smallest one."""
    for a, b in (([[1.0], [0.0]], [1.0 / 3.0, 0.0]), ([[3.0], [0.0]], [1.0, 0.0])):
        fit = UpdatableLstsq(np.array(a, kind), np.array(b, kind))
        error = abs(
            Fraction(float(fit.solve()[0].real)) - Fraction(float(np.float32(b[0]))) / int(a[0][0])
        )
        assert error <= Fraction(fit.info.error_bound[0]) <= Fraction(2.0**-20)
    tiny = UpdatableLstsq(np.array([[2.0**75], [0.0]], kind), np.array([2.0**-74 * 1.5, 0.0], kind))
    error = abs(float(tiny.solve()[0].real) - 1.5 * 2.0**-149)
    assert 2.0**-150 <= error <= tiny.info.error_bound[0]
    assert tiny.info.digits[0] < 0.5


@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_solutions_beyond_the_largest_float32_are_refused(kind):
    fit = UpdatableLstsq(np.full((2, 1), 1e-20, kind), np.full(2, 1e20, kind))
    for ask in (fit.solve, lambda: fit.info):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(np.linalg.LinAlgError, match="beyond the largest float32"):
                ask()


@pytest.mark.parametrize("keep_q", [False, True])
def test_statistics_after_a_giant_b_has_left(multiple, keep_q, rng):
    """R alone cannot know them then, and says so; with smaller b it does."""
    a, b = cases.values((20, 3), multiple, float, rng), cases.values((20,), multiple, float, rng)
    for digits, known in ((multiple.digits // 4, True), (multiple.digits // 2 + 2, False)):
        fit = UpdatableLstsq(a, b, keep_q=keep_q, keep_data=False)
        row = np.ones(3)
        fit.insert_rows(row, 10.0**digits)
        place = {"k": 20} if keep_q else {"u": row}
        fit.delete_rows(**place, b=10.0**digits)
        info = fit.info
        values = [info.residual_std, info.r_squared, info.standard_errors(), info.covariance()]
        assert [bool(np.isfinite(x.to_numpy()).all()) for x in values] == [known] * 4
        if known:
            wanted = lstsq(a, b).info.residual_std
            assert abs(float(values[0] / wanted) - 1) < 1e-3
    fit = UpdatableLstsq(a, b)
    fit.insert_rows(row, 10.0**digits)
    fit.delete_rows(20)
    assert abs(float(fit.info.residual_std / wanted) - 1) < 1e-3


def test_what_a_giant_b_has_lost_is_factored_anew(rng):
    """So large that a change of rows is less work than that."""
    a, b = rng.standard_normal((2000, 10)), rng.standard_normal(2000)
    fit = UpdatableLstsq(a, b, precision="dd")
    fit.insert_rows(a[0], 1e25)
    fit.delete_rows(2000)
    assert fit._fit.changes == 1
    assert fit.info.digits.min() > 28
    fit.insert_rows(a[0], 1e3)
    fit.delete_rows(2000)
    assert fit._fit.changes == 3


def test_arrays_that_are_kept_are_read_only(rng):
    for b in (rng.standard_normal(5), rng.standard_normal((5, 2))):
        info = UpdatableLstsq(rng.standard_normal((5, 2)), b).info
        for x in (info.error_bound, info.digits):
            with pytest.raises(ValueError, match="read-only"):
                x[...] = 0.0


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
