"""Least squares on tensor cores, emulated."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorcore_cases import emulated_engine, error_bound, lstsq, qr, reference, with_condition

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.tensorcore._algorithms.preconditioner import Preconditioner
from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._engine.numpy import NumpyEngine
from mdqr.tensorcore._plan import PANELS


@settings(max_examples=20)
@given(
    m=st.integers(1, 150),
    n=st.integers(1, 150),
    k=st.integers(0, 4),
    seed=st.integers(0, 2**32 - 1),
    compute=st.sampled_from([*FORMATS]),
    panel=st.sampled_from(PANELS),
    cond=st.sampled_from([1.0, 10.0, 100.0]),
    order=st.sampled_from("CF"),
)
def test_as_accurate_as_float64(m, n, k, seed, compute, panel, cond, order):
    m, n = max(m, n), min(m, n)
    rng = np.random.default_rng(seed)
    a = np.array(with_condition(rng, m, n, cond), order=order)
    b = rng.standard_normal((m, k) if k else m)
    # bf16: u cond^2 is above 1 at 100.
    x, residuals, _, info = lstsq(a, b, compute=compute if cond < 100 else "fp16", panel=panel)
    assert info.method == "cgls"
    wanted = reference(a, b)
    assert x.shape == wanted.shape
    assert (np.linalg.norm(a @ np.float64(x - wanted), axis=0) <= error_bound(a, b, x)).all()
    exact = np.atleast_1d((np.float64(b - a @ wanted) ** 2).sum(axis=0))
    np.testing.assert_allclose(residuals, exact, rtol=1e-10, atol=1e-25 * (b**2).sum())


def test_float32_strides_and_scales(rng):
    a = rng.standard_normal((120, 40)) * 2.0 ** rng.integers(-60, 60, 40)
    b = rng.standard_normal((120, 2)) * 2.0**200
    x = lstsq(a[:, ::-1], b).x
    np.testing.assert_array_equal(x, lstsq(np.asfortranarray(a[:, ::-1]), b).x)
    small = a.astype(np.float32)
    x = lstsq(small, b * 2.0**-900).x
    assert x.dtype == np.float64
    wanted = reference(np.float64(small), b) * np.longdouble(2.0) ** -900
    scale = np.linalg.norm(small.astype(np.float64), axis=0)[:, None]
    assert np.abs(scale * np.float64(x - wanted)).max() <= 1e-13 * np.abs(scale * x).max()


def test_columns_of_b_that_are_zero_or_in_the_range(rng):
    a = rng.standard_normal((60, 20))
    x = rng.standard_normal((20, 3))
    x[:, 1] = 0
    found = lstsq(a, a @ x)
    assert np.abs(found.x - x).max() <= 1e-13
    assert not found.x[:, 1].any()
    assert lstsq(a, np.zeros((60, 0))).x.shape == (20, 0)


def test_fallback_to_float64(rng):
    """Geometric values of condition 1e5 in bfloat16: no preconditioner for CGLS."""
    a, b = with_condition(rng, 300, 200, 1e5, "geometric"), rng.standard_normal(300)
    with pytest.warns(
        mdqr.PrecisionWarning, match="lstsq: gradients stayed at .* for 5 iterations"
    ) as caught:
        x, _, _, info = lstsq(a, b, compute="bf16", max_iterations=5)
    assert caught[0].filename == __file__
    assert info.method == "direct"
    assert info.iterations == 5
    wanted = reference(a, b)
    assert np.linalg.norm(a @ np.float64(x - wanted)) <= error_bound(a, b, x)


@pytest.mark.parametrize("compute", ["fp16", "fp16x2", "fp32"])
def test_iterations_past_the_best_one_do_no_harm(compute):
    """The last steps are rounding, and may grow without end: found as x of 1e159, with no word."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        for m, n, cond in ((220, 200, 1e5), (300, 200, 1e6), (600, 256, 1e6)):
            a, b = with_condition(rng, m, n, cond), rng.standard_normal(m)
            q, r = np.linalg.qr(a)
            direct = np.linalg.norm(a.T @ (b - a @ np.linalg.solve(r, q.T @ b)))
            x, _, _, info = lstsq(a, b, compute=compute)
            assert info.method == "cgls"
            # Errors of rounding of one size: a factor of a few.
            assert np.linalg.norm(a.T @ (b - a @ x)) <= 4 * direct


def test_the_float64_way_is_as_good_as_substitution(rng):
    """Inverses of the blocks of R lost two digits here, and seven at condition 1e14."""
    x = np.linspace(0, 1, 400)[:, None]
    a, b = np.exp(-4 * (x - np.linspace(0, 1, 10)) ** 2), rng.standard_normal(400)
    q, r = np.linalg.qr(a)
    direct = np.linalg.norm(a.T @ (b - a @ np.linalg.solve(r, q.T @ b)))
    with pytest.warns(mdqr.PrecisionWarning, match="solved by QR in float64"):
        found = lstsq(a, b, max_iterations=1)
    assert found.info.method == "direct"
    assert np.linalg.norm(a.T @ (b - a @ found.x)) <= 4 * direct


def test_dependent_columns(rng):
    a = rng.standard_normal((60, 20))
    a[:, 7] = a[:, 3] + 1e-9 * rng.standard_normal(60)
    b = rng.standard_normal(60)
    with pytest.warns(mdqr.PrecisionWarning, match="columns depend on others"):
        assert lstsq(a, b).info.method == "direct"
    a[:, 7] = a[:, 3]
    with pytest.raises(np.linalg.LinAlgError, match=r"column 7 of a depends .* float64 can tell"):
        lstsq(a, b)


def test_the_float64_way_of_wild_scales(rng):
    """Squares of lengths overflowed, and columns of 1e160 were said to depend on others."""
    a, b = rng.standard_normal((60, 20)), rng.standard_normal(60)
    exponents = rng.integers(-900, 900, 20)
    with pytest.warns(mdqr.PrecisionWarning, match="solved by QR in float64"):
        found = lstsq(np.ldexp(a, exponents), b, compute="bf16", max_iterations=1)
    assert found.info.method == "direct"
    x = np.ldexp(found.x, exponents)
    assert np.linalg.norm(a @ np.float64(x - reference(a, b))) <= error_bound(a, b, x)


def test_what_does_not_fit_float64(rng):
    a, b = rng.standard_normal((60, 20)), rng.standard_normal(60)
    assert np.isinf(lstsq(a, b * 1e200).residuals).all()
    with pytest.raises(np.linalg.LinAlgError, match="x does not fit float64; multiply a"):
        lstsq(a * 1e-200, b * 1e200)
    with pytest.raises(np.linalg.LinAlgError, match="x does not fit float64; multiply a"):
        lstsq(a * 1e-320, b)
    # No word of a solution where there is none.
    with pytest.raises(np.linalg.LinAlgError, match="x does not fit float64; multiply a"):
        lstsq(a * 1e-200, b * 1e200, compute="bf16", max_iterations=1)


@pytest.mark.parametrize("panel", PANELS)
def test_columns_of_zeros_are_named(panel, rng):
    """NumPy's bare "Singular matrix" came through, and CuPy would have gone on with infinities."""
    a, b = rng.standard_normal((20, 5)), rng.standard_normal(20)
    for j in (0, 3, 4):
        zero = np.where(np.arange(5) == j, 0.0, a)
        with pytest.raises(np.linalg.LinAlgError, match=f"column {j} of a depends on those"):
            lstsq(zero, b, panel=panel)


def test_no_warning_of_a_solution_that_there_is_not(rng):
    """Dependent columns were "solved by QR in float64 instead", and then refused."""
    a, b = rng.standard_normal((20, 5)), rng.standard_normal(20)
    a[:, 4] = a[:, 1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(np.linalg.LinAlgError, match="column 4 of a depends"):
            lstsq(a, b)
    assert not caught


def test_x_of_subnormal_columns():
    """x of ones did not fit float64, it said: the exponents of a and b were applied in turn."""
    for value in (1e-309, 5e-324):
        x, _, _, info = lstsq(np.eye(3) * value, np.ones(3) * value)
        assert info.method == "cgls"
        assert np.abs(x - 1).max() <= 8 * 2.0**-52
    a = np.array([[9.0, 1, 2], [1, 8, 3], [2, 1, 7]]) * 2.0**-1070
    with pytest.warns(mdqr.PrecisionWarning, match="solved by QR in float64"):
        x = lstsq(a, a.sum(axis=1), max_iterations=1).x
    # The condition is below 2.
    assert np.abs(x - 1).max() <= 16 * 2.0**-52


@settings(max_examples=40)
@given(
    m=st.integers(1, 60),
    n=st.integers(1, 60),
    seed=st.integers(0, 2**32 - 1),
    low=st.integers(-1000, 1000),
    spread=st.integers(0, 2000),
    iterations=st.sampled_from([1, 100]),
    compute=st.sampled_from([*FORMATS]),
    panel=st.sampled_from(PANELS),
)
def test_powers_of_two_of_columns_change_nothing(
    m, n, seed, low, spread, iterations, compute, panel
):
    """Columns of 1e307 or 1e-309 overflowed: "gradients stayed at nan", and QR in float64."""
    m, n = max(m, n), min(m, n)
    rng = np.random.default_rng(seed)
    a, x = rng.integers(-9, 10, (m, n)) + 40.0 * np.eye(m, n), rng.integers(-9, 10, n) + 0.0
    powers = rng.integers(low, min(low + spread, 1000) + 1, n)
    options = {"compute": compute, "panel": panel, "max_iterations": iterations}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", mdqr.PrecisionWarning)
        plain = lstsq(a, a @ x, **options)
        scaled = lstsq(np.ldexp(a, powers), a @ x, **options)
    with np.errstate(under="ignore"):
        assert scaled.info.method == plain.info.method
        assert scaled.info.iterations == plain.info.iterations
        np.testing.assert_array_equal(scaled.x, np.ldexp(plain.x, -powers))
    assert not any("nan" in str(warning.message) for warning in caught)


def test_lstsq_refuses(rng):
    a, b = rng.standard_normal((6, 4)), rng.standard_normal(6)
    with pytest.raises(ValueError, match=r"b must be \(6,\) or \(6, k\) .* got the shape \(5,\)"):
        lstsq(a, b[:5])
    with pytest.raises(ValueError, match=r"as many rows as columns.*numpy\.linalg\.lstsq and cupy"):
        lstsq(a.T, b[:4])
    for most in (0, True, np.True_, 3.0, None):
        with pytest.raises(ValueError, match="max_iterations must be a positive integer; got "):
            lstsq(a, b, max_iterations=most)
    with pytest.raises(TypeError, match=r"b is an MDArray .* mdqr\.linalg\.lstsq"):
        lstsq(a, mdqr.array(b, precision=mdqr.dd))
    masked = np.ma.array(b, mask=np.arange(6) == 2)
    with pytest.raises(TypeError, match="a masked array has places without a value"):
        lstsq(a, masked)
    with pytest.raises(TypeError, match="a masked array has places without a value"):
        qr(np.ma.masked_greater(a, 0))
    np.testing.assert_array_equal(lstsq(np.ma.array(a), b).x, lstsq(a, b).x)
    for bad in (np.nan, np.inf):
        with pytest.raises(np.linalg.LinAlgError, match="b has entries that are not finite"):
            lstsq(a, np.where(np.arange(6) == 2, bad, b))
        with pytest.raises(np.linalg.LinAlgError, match="a has entries that are not finite"):
            lstsq(np.where(a == a[2, 2], bad, a), b)


@pytest.mark.parametrize("order", [1, 2, 7, 64, 150])
def test_the_preconditioner_solves(order, rng, kernels, monkeypatch):
    monkeypatch.setattr("mdqr.tensorcore._algorithms.preconditioner._MOST_ORDER", 64)
    r = np.triu(rng.standard_normal((order, order))) / np.sqrt(order) + 2 * np.eye(order)
    exponents = rng.integers(-9, 9, order)
    y = rng.standard_normal((order, 2))
    engines = [NumpyEngine()] + [emulated_engine(kernels)] * (order < 10)
    for engine in engines:
        m = Preconditioner(engine, np.asfortranarray(r), exponents)
        x, z = m.solve(y), m.solve_transposed(y)
        assert np.abs(r @ np.ldexp(x, exponents[:, None]) - y).max() <= 1e-13 * np.abs(y).max()
        right = np.ldexp(y, -exponents[:, None])
        assert np.abs(r.T @ z - right).max() <= 1e-13 * np.abs(right).max()
        norm, rank, longest, weak = m.size()
        assert norm <= 1.01 * np.linalg.norm(np.linalg.inv(r), 2)
        assert norm >= 0.3 * np.linalg.norm(np.linalg.inv(r), 2)
        assert 1 <= rank <= 16 * order
        assert longest == pytest.approx(np.linalg.norm(r, axis=0).max())
        assert np.linalg.norm(np.linalg.solve(r, weak)) >= 0.3 * np.linalg.norm(np.linalg.inv(r), 2)
        assert np.linalg.norm(weak) == pytest.approx(1)


@pytest.mark.parametrize("order", [1, 9, 150])
def test_the_preconditioner_of_a_float32_triangle(order, rng, kernels, monkeypatch):
    """One matrix, the same in both directions to float64, and near the inverse to float32."""
    monkeypatch.setattr("mdqr.tensorcore._algorithms.preconditioner._MOST_ORDER", 64)
    r = np.triu(rng.standard_normal((order, order))) / np.sqrt(order) + 2 * np.eye(order)
    r = np.asfortranarray(r, dtype=np.float32)
    exponents = rng.integers(-9, 9, order)
    y, z = rng.standard_normal((2, order, 6))
    for engine in (NumpyEngine(), emulated_engine(kernels)):
        m = Preconditioner(engine, r, exponents)
        x = np.ldexp(m.solve(np.asfortranarray(y)), exponents[:, None])
        assert np.abs(r @ x - y).max() <= 1e-5 * np.abs(y).max()
        left, right = z * m.solve(y), m.solve_transposed(z) * y
        assert np.abs(left.sum(axis=0) - right.sum(axis=0)).max() <= 1e-13 * np.abs(left).sum()


def test_many_lost_directions_ask_for_a_finer_triangle(rng):
    """Condition 1e4 of geometric values: fp16 changes hundreds; of arithmetic ones, a few."""
    b = rng.standard_normal(900)
    for spectrum, compute in (("geometric", "fp16x2"), ("arithmetic", "fp16")):
        a = with_condition(rng, 900, 450, 1e4, spectrum)
        x, _, _, info = lstsq(a, b)
        assert (info.method, info.compute) == ("cgls", compute)
        assert info.iterations <= 30
        assert np.linalg.norm(a @ np.float64(x - reference(a, b))) <= error_bound(a, b, x)


def test_slow_progress_asks_for_a_finer_triangle(rng, monkeypatch):
    monkeypatch.setattr("mdqr.tensorcore._lstsq._MANY", np.inf)
    a, b = with_condition(rng, 900, 450, 1e5, "geometric"), rng.standard_normal((900, 2))
    x, _, _, info = lstsq(a, b, compute="bf16")
    assert (info.method, info.compute) == ("cgls", "fp16x2")
    assert 24 <= info.iterations <= 90
    assert (
        np.linalg.norm(a @ np.float64(x - reference(a, b)), axis=0) <= error_bound(a, b, x)
    ).all()


@pytest.mark.parametrize("precision", PRECISIONS[1:], ids=str)
def test_factors_start_a_refinement_in_more_digits(precision):
    """``x += R^-1 R^-H A^H (b - A x)`` with R of the factors gains digits in every step."""
    a, b = (mdqr.random.normal(shape, precision=precision, rng=1) for shape in ((60, 20), 60))
    factors = qr(a.to_numpy(), compute="fp16", keep_factors=True).info.factors
    r = np.ldexp(factors.R.astype(np.float64), factors.exponents)
    x = mdqr.zeros(20, precision=precision)
    for _ in range(precision.bits // 4):
        gradient = a.T @ (b - a @ x)
        x = x + mdqr.linalg.solve_triangular(r, mdqr.linalg.solve_triangular(r, gradient, "T"))
    # R errs by some 2^-11 times a condition of 10, squared: four bits a step at least, and the
    # end is that of the normal equations with a condition of 10.
    error = abs(x - mdqr.linalg.lstsq(a, b).x).to_numpy().max()
    assert error <= 1e4 * precision.eps


@pytest.mark.parametrize("compute", ["fp16", "fp32"])
def test_an_inverse_triangle_beyond_float32(compute):
    """Its entries grow like powers of two: infinite in float32, and no warning of NumPy's."""
    a = np.triu(-np.ones((600, 600)), 1) + np.eye(600)
    with pytest.raises(np.linalg.LinAlgError, match="depends on those before it"):
        lstsq(a, a.sum(axis=1), compute=compute)
