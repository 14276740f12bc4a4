"""Values further apart than the exponents of doubles reach: triangles, factors, updates."""

from __future__ import annotations

import warnings
from fractions import Fraction

import linalg_cases as cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr import PrecisionWarning
from mdqr.linalg import UpdatableLstsq, qr_factor, solve_triangular
from mdqr.testing import assert_close, assert_same_bits

_LEAST = Fraction(2) ** -1074
# The last one beyond what even factors far above 1 could hold.
ENDS = [("1e280", "1e-30"), ("1e120", "1e-120"), ("1e-300", "1e10"), ("1e300", "1e-296")]


def quiet(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*arguments)


def parts(a):
    """Real and imaginary parts as exact fractions."""
    if not a.is_complex:
        return cases.fractions(a), np.zeros(a.shape, dtype=object)
    return cases.fractions(a.real), cases.fractions(a.imag)


def check_backward_error(t, x, b):
    """The bound of the docstring, in exact fractions, and what results below the range lose.

    Moduli of complex values are between the larger part and the sum of both.
    """
    (tr, ti), (xr, xi), (br, bi) = parts(t), parts(x), parts(b)
    wrong = np.maximum(abs(br - tr.dot(xr) + ti.dot(xi)), abs(bi - tr.dot(xi) - ti.dot(xr)))
    size, n = abs(tr) + abs(ti), t.shape[0]
    allowed = (n + 16) * Fraction(x.precision.eps) * size.dot(abs(xr) + abs(xi))
    flushed = 2 * x.precision.limbs**2 * _LEAST * (1 + size.sum(axis=1, keepdims=True))
    assert (wrong <= allowed + (n + 1) * flushed).all()


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("ends", ENDS)
def test_a_small_component_beside_a_large_one(precision, ends, trans):
    for b in (mdqr.array(ends, precision=precision), mdqr.array(ends, precision=precision) / 3):
        found = quiet(solve_triangular, mdqr.eye(2, precision=precision), b, trans)
        assert_same_bits(found, b)


def test_a_component_that_comes_back_from_below_the_range(precision):
    """The second component is below all doubles beside b, the third is as large as the first."""
    a = mdqr.array([[1, 0, 0], [2.0**-1000, 1, 0], [0, 2.0**1000, 1]], precision=precision)
    b = mdqr.array([2.0**-500, 0, 0], precision=precision) / 3
    x = solve_triangular(a, b, lower=True)
    assert x[1].to_numpy() == 0.0  # 2**-1500 is below the smallest double
    assert_same_bits(x[2], b[0])


def test_zeros_are_no_reason_for_the_slow_way(precision, monkeypatch, rng):
    """Zeros of b, of the matrix, and exact cancellation."""

    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr("mdqr.linalg._factor.wide_range.substitute", refuse)
    one = mdqr.eye(6, precision=precision)
    assert_same_bits(solve_triangular(one, one), one)
    ones = mdqr.array(np.triu(np.ones((6, 6))), precision=precision)
    assert solve_triangular(ones, np.ones(6)).to_numpy().tolist() == [0, 0, 0, 0, 0, 1]
    assert (solve_triangular(ones, np.zeros((6, 2))) == 0).all()


def test_other_columns_keep_their_bits(precision, dtype, rng):
    a = mdqr.triu(cases.random(9, 9, precision, dtype, rng)) + 2.0 * mdqr.eye(
        9, precision=precision
    )
    b = cases.random(9, 3, precision, dtype, rng)
    wide = b.copy()
    wide[:, 1] = wide[:, 1] * mdqr.array(2.0 ** np.linspace(-1000, 1000, 9), precision=precision)
    x = solve_triangular(a, wide)
    assert_same_bits(x[:, ::2], solve_triangular(a, b)[:, ::2])
    check_backward_error(a, x, wide)
    batch = solve_triangular(a, mdqr.stack([b, wide]))
    assert_same_bits(batch, mdqr.stack([solve_triangular(a, b), x]))


def test_a_solution_beyond_the_range_is_refused_on_the_slow_way(precision):
    a = mdqr.array([[1.0, 0.0], [0.0, 2.0**-600]], precision=precision)
    with pytest.raises(np.linalg.LinAlgError, match="row 1, column 0 of the solution is beyond"):
        solve_triangular(a, [2.0**-1000, 2.0**600])
    with pytest.raises(np.linalg.LinAlgError, match="row 1, column 0 of b is NaN or infinite"):
        solve_triangular(a, [2.0**-1000, np.inf])


def test_progress_of_the_slow_way(precision):
    calls = []
    b = mdqr.array(["1e300", "1e-30"], precision=precision)
    solve_triangular(mdqr.eye(2, precision=precision), b, progress=lambda *call: calls.append(call))
    assert calls[-2:] == [("substitute", 1, 2), ("substitute", 2, 2)]


@given(
    n=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    reach=st.sampled_from([0, 300, 900]),
    trans=st.sampled_from("NTC"),
    lower=st.booleans(),
    unit=st.booleans(),
    is_complex=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_backward_error_of_graded_triangles(
    precision, n, seed, reach, trans, lower, unit, is_complex
):
    rng = np.random.default_rng(seed)
    dtype = complex if is_complex else float

    def graded(*shape):
        """Values of full limbs with exponents of their own, some of them zero."""
        found = mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng)
        powers = 2.0 ** rng.integers(-reach, reach + 1, shape)
        return found * np.where(rng.random(shape) < 0.2, 0.0, powers)

    a, b = graded(n, n), graded(n, 2)
    on_diagonal = np.arange(n)
    a[on_diagonal, on_diagonal] = 2.0 ** rng.integers(-reach, reach + 1, n)
    t = mdqr.tril(a) if lower else mdqr.triu(a)
    if unit:
        t[on_diagonal, on_diagonal] = 1.0
    t = t if trans == "N" else t.T if trans == "T" else t.conj().T
    try:
        x = solve_triangular(a, b, trans, lower, unit)
    except np.linalg.LinAlgError:
        # What is finite can only overflow; the test above has what is said then.
        assert reach
    else:
        check_backward_error(t, x, b)


@pytest.mark.parametrize("ends", ENDS)
def test_factors_solve_with_wide_sides(precision, ends):
    """Every entry of b is a component, whatever stands beside it, in each column alone."""
    one = mdqr.eye(2, precision=precision)
    for b in (mdqr.array(ends, precision=precision), mdqr.array(ends, precision=precision) / 3):
        assert_same_bits(quiet(qr_factor(one).solve, b), b)
        sides = mdqr.stack([b, b[::-1], mdqr.zeros(2, precision=precision)], axis=1)
        assert_same_bits(quiet(qr_factor(one).solve, sides), sides)
        assert (quiet(qr_factor(one * 1j).solve, sides * 1j) == sides).all()


def test_wide_sides_of_dense_factors(precision, rng):
    """What is added from pieces has the error of the whole."""
    a = cases.random(7, 4, precision, float, rng, cond=10)
    b = mdqr.array(["1e300", "-3e150", "7e-20", "1", "1e-200", "2e299", "0"], precision=precision)
    exact, _, _ = cases.rational_solution(a, b.reshape(-1, 1))
    found = quiet(qr_factor(a).solve, b).to_fractions()
    wrong, size = abs(found - exact[:, 0]).max(), abs(exact).max()
    # A condition of 10, squared, and the growth of the factorisation.
    assert wrong <= 7 * 20 * 100 * Fraction(precision.eps) * size


@pytest.mark.parametrize("keep_data", [False, True])
@pytest.mark.parametrize("keep_q", [False, True])
class TestUpdatable:
    """Sides of problems that change."""

    @pytest.mark.parametrize("ends", ENDS[:3])
    def test_small_components_beside_large_ones(self, precision, ends, keep_q, keep_data):
        options = {"keep_q": keep_q, "keep_data": keep_data}
        one = mdqr.eye(3, 2, precision=precision)
        for b in (mdqr.array(ends, precision=precision), mdqr.array(ends, precision=precision) / 3):
            for sides in (b, b[::-1]):
                data = mdqr.concatenate([sides, mdqr.zeros(1, precision=precision)])
                assert_same_bits(quiet(UpdatableLstsq(one, data, **options).solve), sides)

    def test_residuals_beside_large_components(self, precision, keep_q, keep_data):
        a, b = [[1, 0], [0, 1], [0, 1]], ["1e300", "1", "2"]
        fit = UpdatableLstsq(
            mdqr.array(a, precision=precision),
            mdqr.array(b, precision=precision),
            keep_q=keep_q,
            keep_data=keep_data,
        )
        half = mdqr.sqrt(mdqr.array("0.5", precision=precision))
        assert_close(quiet(fit.residual_norm), half, ulps=8)

    @pytest.mark.parametrize("fresh", [False, True])
    def test_changes_that_bring_other_sizes(self, precision, keep_q, keep_data, fresh, monkeypatch):
        monkeypatch.setattr("mdqr.linalg._update.fit.prefers_refactor", lambda *_: fresh)

        def value(text):
            return mdqr.array(text, precision=precision)

        def check(*expected):
            expected = mdqr.stack([value(x) for x in expected])
            assert_close(quiet(fit.solve), expected, ulps=32)

        one = mdqr.eye(2, precision=precision)
        fit = UpdatableLstsq(one, value(["7", "1e-30"]), keep_q=keep_q, keep_data=keep_data)
        fit.insert_rows([[2, 0], [0, 3]], value(["1", "6e-30"]))
        check("1.8", "1.9e-30")
        fit.insert_rows([[2, 0], [0, 1]], value(["1e280", "9e-31"]))
        large, mean = (value("2e280") + 9) / 9, value("19.9e-30") / 11
        check(large, mean)
        if keep_data:
            fit.repair()
            check(large, mean)
            b = value(["1e280", "1e-30", "3e-31", "0"])
            fit = UpdatableLstsq(mdqr.eye(4, 2, precision=precision), b, keep_q=keep_q)
            fit.insert_cols([0, 1, 1, 0])
            check("1e280", "7e-31", "3e-31")

    def test_what_cannot_be_held_is_warned_of(self, precision, keep_q, keep_data):
        b = mdqr.array(["1e300", "1e-300"], precision=precision)
        one = mdqr.eye(2, precision=precision)
        fit = UpdatableLstsq(one, b, keep_q=keep_q, keep_data=keep_data)
        if precision == mdqr.d:
            assert_same_bits(quiet(fit.solve), b)
            return
        for call in (fit.solve, fit.residual_norm):
            with pytest.warns(PrecisionWarning, match="entries of b are so far apart") as caught:
                call()
            assert caught[0].filename == __file__
        if keep_data:
            fit.insert_rows([0, 1], b[1])
            fit.delete_rows(0)
            fit.insert_rows([1, 0], b[1])
            fit.repair()
            assert_close(quiet(fit.solve), b[[1, 1]], ulps=16)


@pytest.mark.parametrize("exponent", [-1000, 1000])
def test_factors_solve_at_the_ends_of_the_range(precision, exponent, rng):
    """Small sides keep their digits in products with Q, and no scale in between overflows."""
    exponent = max(exponent, 2 * (22 - cases.room(precision)))  # entries down to 2^-22 of it
    a = cases.random(8, 4, precision, float, rng, cond=10)
    x = cases.random(4, 1, precision, float, rng)
    f, scale = qr_factor(a * 2.0 ** (exponent // 2)), 2.0 ** (exponent // 2)
    assert_same_bits(f.solve(a @ x * scale), qr_factor(a).solve(a @ x))
    b = mdqr.array([2.0**exponent] * 8, precision="d")
    found = qr_factor(a.astype(precision="d") * 2.0**exponent).solve(b)
    assert_same_bits(found, qr_factor(a.astype(precision="d")).solve(np.ones(8)))


@pytest.mark.parametrize("make", [qr_factor, lambda a: UpdatableLstsq(a, [2.0**600, 0.0, 0.0])])
def test_solutions_beyond_the_range_are_refused(precision, make):
    f = make(mdqr.array([[2.0**-600], [0.0], [0.0]], precision=precision))
    sides = [[2.0**600, 0.0, 0.0]] if isinstance(f, mdqr.linalg.QRFactor) else []
    with pytest.raises(np.linalg.LinAlgError, match="the solution is beyond the largest double"):
        f.solve(*sides)
