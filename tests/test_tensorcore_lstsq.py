"""Least squares and approximations of low rank on tensor cores, emulated."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorcore_cases import U16, emulated_engine, with_condition

import mdqr
from mdqr.tensorcore import lowrank, lstsq, qr
from mdqr.tensorcore._cgls import _EPS
from mdqr.tensorcore._formats import FORMATS
from mdqr.tensorcore._numpy_engine import NumpyEngine
from mdqr.tensorcore._plan import PANELS
from mdqr.tensorcore._preconditioner import Preconditioner


def reference(a, b):
    """Return x to some 100 bits: by one refinement in extended precision after another."""
    a, b = (x.astype(np.longdouble) for x in (a, b))
    r = np.linalg.qr(a.astype(np.float64)).R
    x = np.zeros((a.shape[1], *b.shape[1:]), dtype=np.longdouble)
    for _ in range(8):
        s = (a.T @ (b - a @ x)).astype(np.float64)
        x = x + np.linalg.solve(r, np.linalg.solve(r.T, s))
    return x


def error_bound(a, b, x):
    """Bound ``norm(a @ (x - x*))`` as of Householder QR: a small multiple of sqrt(n) eps.

    And one unit in the last place of x, which float64 numbers cannot do without.
    """
    cond = np.linalg.cond(a)
    rest = np.linalg.norm(b - a @ x, axis=0)
    last = _EPS * np.linalg.norm(np.abs(a) @ np.abs(x), axis=0)
    return 8 * np.sqrt(a.shape[1]) * _EPS * (np.linalg.norm(b, axis=0) + cond * rest) + last


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
    x, residuals, info = lstsq(a, b, compute=compute if cond < 100 else "fp16", panel=panel)
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
        x, _, info = lstsq(a, b, compute="bf16", max_iterations=5)
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
            x, _, info = lstsq(a, b, compute=compute)
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
    with (
        pytest.warns(mdqr.PrecisionWarning),
        pytest.raises(np.linalg.LinAlgError, match=r"column 7 of a depends .* float64 can tell"),
    ):
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
    with (
        pytest.warns(mdqr.PrecisionWarning),
        pytest.raises(np.linalg.LinAlgError, match="x does not fit float64; multiply a"),
    ):
        lstsq(a * 1e-320, b)


def test_lstsq_refuses(rng):
    a, b = rng.standard_normal((6, 4)), rng.standard_normal(6)
    with pytest.raises(ValueError, match=r"b must be \(6,\) or \(6, k\) .* got the shape \(5,\)"):
        lstsq(a, b[:5])
    with pytest.raises(ValueError, match=r"as many rows as columns.*numpy\.linalg\.lstsq and cupy"):
        lstsq(a.T, b[:4])
    with pytest.raises(ValueError, match="max_iterations must be a positive integer; got 0"):
        lstsq(a, b, max_iterations=0)
    with pytest.raises(TypeError, match=r"b is an MDArray .* mdqr\.linalg\.lstsq"):
        lstsq(a, mdqr.array(b, precision=mdqr.dd))
    for bad in (np.nan, np.inf):
        with pytest.raises(np.linalg.LinAlgError, match="b has entries that are not finite"):
            lstsq(a, np.where(np.arange(6) == 2, bad, b))
        with pytest.raises(np.linalg.LinAlgError, match="a has entries that are not finite"):
            lstsq(np.where(a == a[2, 2], bad, a), b)


@pytest.mark.parametrize("order", [1, 2, 7, 64, 150])
def test_the_preconditioner_solves(order, rng, kernels, monkeypatch):
    monkeypatch.setattr("mdqr.tensorcore._preconditioner._MOST_ORDER", 64)
    r = np.triu(rng.standard_normal((order, order))) / np.sqrt(order) + 2 * np.eye(order)
    exponents = rng.integers(-9, 9, order)
    y = rng.standard_normal((order, 2))
    engines = [NumpyEngine()] + [emulated_engine(kernels)] * (order < 10)
    for engine in engines:
        m = Preconditioner(engine, np.asfortranarray(r), exponents)
        x, z = m.solve(y), m.solve_turned(y)
        assert np.abs(r @ np.ldexp(x, exponents[:, None]) - y).max() <= 1e-13 * np.abs(y).max()
        right = np.ldexp(y, -exponents[:, None])
        assert np.abs(r.T @ z - right).max() <= 1e-13 * np.abs(right).max()
        norm, rank, weak = m.size()
        assert norm <= 1.01 * np.linalg.norm(np.linalg.inv(r), 2)
        assert norm >= 0.3 * np.linalg.norm(np.linalg.inv(r), 2)
        assert 1 <= rank <= 16 * order
        longest = np.linalg.norm(np.linalg.solve(r, weak))
        assert longest >= 0.3 * np.linalg.norm(np.linalg.inv(r), 2)
        assert np.linalg.norm(weak) == pytest.approx(1)


@pytest.mark.parametrize("order", [1, 9, 150])
def test_the_preconditioner_of_a_float32_triangle(order, rng, kernels, monkeypatch):
    """One matrix, the same in both directions to float64, and near the inverse to float32."""
    monkeypatch.setattr("mdqr.tensorcore._preconditioner._MOST_ORDER", 64)
    r = np.triu(rng.standard_normal((order, order))) / np.sqrt(order) + 2 * np.eye(order)
    r = np.asfortranarray(r, dtype=np.float32)
    exponents = rng.integers(-9, 9, order)
    y, z = rng.standard_normal((2, order, 6))
    for engine in (NumpyEngine(), emulated_engine(kernels)):
        m = Preconditioner(engine, r, exponents)
        x = np.ldexp(m.solve(np.asfortranarray(y)), exponents[:, None])
        assert np.abs(r @ x - y).max() <= 1e-5 * np.abs(y).max()
        left, right = z * m.solve(y), m.solve_turned(z) * y
        assert np.abs(left.sum(axis=0) - right.sum(axis=0)).max() <= 1e-13 * np.abs(left).sum()


def test_many_lost_directions_ask_for_a_finer_triangle(rng):
    """Condition 1e4 of geometric values: fp16 changes hundreds; of arithmetic ones, a few."""
    b = rng.standard_normal(900)
    for spectrum, compute in (("geometric", "fp16x2"), ("arithmetic", "fp16")):
        a = with_condition(rng, 900, 450, 1e4, spectrum)
        x, _, info = lstsq(a, b)
        assert (info.method, info.compute) == ("cgls", compute)
        assert info.iterations <= 30
        assert np.linalg.norm(a @ np.float64(x - reference(a, b))) <= error_bound(a, b, x)


def test_slow_progress_asks_for_a_finer_triangle(rng, monkeypatch):
    monkeypatch.setattr("mdqr.tensorcore._lstsq._MANY", np.inf)
    a, b = with_condition(rng, 900, 450, 1e5, "geometric"), rng.standard_normal((900, 2))
    x, _, info = lstsq(a, b, compute="bf16")
    assert (info.method, info.compute) == ("cgls", "fp16x2")
    assert 24 <= info.iterations <= 90
    assert (
        np.linalg.norm(a @ np.float64(x - reference(a, b)), axis=0) <= error_bound(a, b, x)
    ).all()


@pytest.mark.parametrize("shape", [(300, 150), (150, 300), (40, 40)], ids=str)
@pytest.mark.parametrize("panel", PANELS)
def test_lowrank_is_nearly_the_best(shape, panel, rng):
    m, n = shape
    a = with_condition(rng, max(shape), min(shape), 1e6)
    a = a if m > n else a.T
    s = np.linalg.svd(a, compute_uv=False)
    for r in (1, 20, min(shape)):
        u, values, vh = lowrank(a, r, panel=panel)
        assert (u.shape, values.shape, vh.shape) == ((m, r), (r,), (r, n))
        rest = np.linalg.norm(a - (u * values) @ vh, 2)
        best = s[r] if r < len(s) else 0.0
        assert rest <= best + 16 * U16
        assert np.abs(values - s[:r]).max() <= 16 * U16
        assert (np.diff(values) <= 0).all()
        side = vh if m >= n else u.T
        assert np.abs(side @ side.T - np.eye(r)).max() <= 1e-6


@pytest.mark.parametrize("compute", ["fp16", "fp16x2"])
def test_lowrank_of_what_has_a_low_rank(compute, rng):
    """Q of one pass is noise where columns depend on others: values came out 24 % too large."""
    u, x = FORMATS[compute].unit, np.linspace(0, 1, 400)
    matrices = {
        "cholesky": rng.standard_normal((500, 20)) @ rng.standard_normal((20, 300)),
        "caqr": 1 / (1 + x[:, None] + x[:150]),
    }
    for panel, a in matrices.items():
        s = np.linalg.svd(a, compute_uv=False)
        for r in (4, 20):
            q, values, vh = lowrank(a, r, compute=compute, panel=panel)
            # Products of fp16x2 and the panels err by some units of 2^-22.
            bound = (16 if compute == "fp16" else 128) * u * s[0]
            assert np.abs(values - s[:r]).max() <= bound
            assert np.linalg.norm(a - (q * values) @ vh, 2) <= s[r] + bound


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)], ids=str)
def test_lowrank_of_nothing(shape):
    with pytest.raises(ValueError, match="a must have rows and columns"):
        lowrank(np.zeros(shape), 1)


def test_lowrank_of_wild_scales_and_types(rng):
    a = with_condition(rng, 90, 30, 1e3)
    for factor in (1e-30, 1e30):
        u, s, vh = lowrank((a * factor).astype(np.float32), 5)
        assert u.dtype == s.dtype == vh.dtype == np.float32
        np.testing.assert_allclose(s / factor, np.linalg.svd(a)[1][:5], atol=16 * U16)
    assert not lowrank(np.zeros((9, 4)), 2).s.any()
    large = np.full((60, 20), 3e38)
    assert lowrank(large, 2).s[0] > 1e40
    with pytest.raises(np.linalg.LinAlgError, match="s does not fit float32; divide a by a power"):
        lowrank(large.astype(np.float32), 2)
    for r in (0, 31, 2.5, True):
        with pytest.raises(ValueError, match=f"r must be an integer from 1 to 30.*got {r}"):
            lowrank(a, r)


@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd, mdqr.od], ids=str)
def test_factors_start_a_refinement_in_more_digits(precision):
    """``x += R^-1 R^-H A^H (b - A x)`` with R of the factors gains digits in every step."""
    a, b = (mdqr.random.normal(shape, precision=precision, rng=1) for shape in ((60, 20), 60))
    factors = qr(a.to_numpy(), compute="fp16", panel="cholesky").info.factors
    r = np.ldexp(factors.R.astype(np.float64), factors.exponents)
    x = mdqr.zeros(20, precision=precision)
    for _ in range(precision.bits // 4):
        gradient = a.T @ (b - a @ x)
        x = x + mdqr.linalg.solve_triangular(r, mdqr.linalg.solve_triangular(r, gradient, "T"))
    # R errs by some 2^-11 times a condition of 10, squared: four bits a step at least, and the
    # end is that of the normal equations with a condition of 10.
    error = abs(x - mdqr.linalg.lstsq(a, b).x).to_numpy().max()
    assert error <= 1e4 * precision.eps


# -- an answer keeps what is promised, or says that it does not --------------------------------


@pytest.mark.parametrize("panel", PANELS)
def test_two_nearly_equal_columns(panel):
    """By "geqrf" x was -4.7e7 and 4.7e7, and said to have converged."""
    t = np.arange(1.0, 9.0)
    for apart in (1e-3, 1e-6, 1e-7, 1e-9):
        a = np.column_stack([t, t + apart * np.cos(t)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            x = lstsq(a, a @ [1.0, 2.0], panel=panel).x
        # eps times the condition, 20 / apart.
        assert np.abs(x - [1, 2]).max() <= 32 * _EPS * 20 / apart


@pytest.mark.parametrize("panel", PANELS)
def test_columns_that_depend_on_others_in_one_panel(panel, rng):
    for m, n in ((8, 2), (40, 30), (131, 128)):
        a = rng.integers(-9, 10, (m, n)).astype(np.float64)
        a[:, n - 1] = 2 * a[:, 0] - (a[:, 1] if n > 2 else 0)
        for b in (np.zeros(m), a.sum(axis=1), rng.standard_normal(m)):
            with (
                pytest.warns(mdqr.PrecisionWarning, match="depend on others"),
                pytest.raises(np.linalg.LinAlgError, match=f"column {n - 1} of a depends"),
            ):
                lstsq(a, b, panel=panel)


@pytest.mark.parametrize("compute", ["fp16", "fp16x2"])
@pytest.mark.parametrize("panel", PANELS)
def test_columns_that_depend_on_others_in_other_panels(panel, compute, rng):
    """31 of 40 such problems were answered, with a condition of 1e4."""
    for m, n in ((451, 260), (300, 140)):
        a, b = rng.standard_normal((m, n)), rng.standard_normal(m)
        a[:, -3] = a[:, 2] * 1.5 + a[:, 4]
        with (
            pytest.warns(mdqr.PrecisionWarning, match="solved by QR in float64"),
            pytest.raises(np.linalg.LinAlgError, match=f"column {n - 3} of a depends"),
        ):
            lstsq(a, b, panel=panel, compute=compute)


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("lost", [1, 11])
def test_small_singular_values_that_the_format_loses(panel, lost, rng):
    """x was wrong by 240 % at 11 values of 1e-8, where QR in float64 keeps eight digits."""
    for m, n, value in ((400, 260, 1e-8), (200, 130, 1e-8), (300, 200, 1e-6)):
        p, q = (np.linalg.qr(rng.standard_normal((k, n)))[0] for k in (m, n))
        values = np.ones(n)
        values[-lost:] = value
        a = (p * values) @ q.T
        b = np.column_stack([a.sum(axis=1), rng.standard_normal(m)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdqr.PrecisionWarning)
            x, _, info = lstsq(a, b, panel=panel)
        error = np.linalg.norm(a @ np.float64(x - reference(a, b)), axis=0)
        assert (error <= error_bound(a, b, x)).all()
        assert np.abs(x[:, 0] - 1).max() <= 64 * np.sqrt(n) * _EPS / value
        # Columns have lengths of about 1, within a factor of the estimate.
        assert 0.1 / value <= info.condition <= 10 / value


@settings(max_examples=40)
@given(
    n=st.integers(1, 150),
    extra=st.integers(0, 100),
    seed=st.integers(0, 2**32 - 1),
    digits=st.floats(0, 11),
    few=st.integers(1, 8),
    compute=st.sampled_from([*FORMATS]),
    panel=st.sampled_from(PANELS),
    exact=st.booleans(),
)
def test_what_is_promised_is_kept(n, extra, seed, digits, few, compute, panel, exact):
    """Some singular values far below the others: consistent systems and others."""
    rng = np.random.default_rng(seed)
    p, q = (np.linalg.qr(rng.standard_normal((k, n)))[0] for k in (n + extra, n))
    values = np.ones(n)
    values[-few:] = 10.0**-digits
    a = (p * values) @ q.T
    b = a @ rng.standard_normal(n) if exact else rng.standard_normal(n + extra)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        x = lstsq(a, b, compute=compute, panel=panel).x
    assert np.linalg.norm(a @ np.float64(x - reference(a, b))) <= 4 * error_bound(a, b, x)


@pytest.mark.parametrize("compute", FORMATS)
def test_lowrank_of_powers(compute):
    """Q R was 23 times the matrix, or overflowed in fp16."""
    for m, n in ((137, 129), (60, 60), (100, 64)):
        powers = np.vander(np.linspace(0, 1, m), n)
        rising = np.vander(np.linspace(0, 1, n), m, increasing=True).T
        for a in (powers, rising):
            s = np.linalg.svd(a, compute_uv=False)
            u, values, vh = lowrank(a, 5, compute=compute)
            bound = (16 * FORMATS[compute].unit + 64 * 2.0**-24) * s[0]
            assert np.linalg.norm(a - (u * values) @ vh, 2) <= s[5] + bound
            assert np.abs(values - s[:5]).max() <= bound


@pytest.mark.parametrize("panel", PANELS)
def test_lowrank_of_a_repeated_column(panel):
    """U had columns that were not numbers, of values that are roots of noise."""
    for seed in range(4):
        a = np.repeat(np.random.default_rng(seed).standard_normal((161, 1)), 10, axis=1)
        u, s, vh = lowrank(a, 10, panel=panel)
        assert np.isfinite(u).all()
        assert np.linalg.norm((u * s) @ vh - a, 2) <= 16 * U16 * s[0]
