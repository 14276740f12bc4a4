"""QR with low-precision products: errors against the formats, scaling, ranks, input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorcore_cases import (
    DEFICIENT,
    SPECTRA,
    U16,
    U32,
    backward_errors,
    lowrank,
    orthogonality,
    orthogonalize,
    qr,
    with_condition,
)

import mdqr
from mdqr.tensorcore._algorithms import passes
from mdqr.tensorcore._algorithms.correction import rms_limit
from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._plan import PANELS

PLAIN_SHAPES = [(1, 1), (5, 3), (50, 50), (300, 128), (290, 129), (200, 200), (700, 290)]


def column_bound(form, n):
    """Return what columns of ``a - Q R`` may be, relative to their norms.

    R12 and Q1 R12 err by two operands of relative error u each, at every one of log2(n / 128)
    levels and in random directions; panels by some n roundings of float32 at most.
    """
    levels = max(int(np.ceil(np.log2(max(n, 1) / 128))), 0)
    return 4 * levels * form.unit + 4 * np.sqrt(n) * U32 + 16 * U32


def orthonormal(n):
    """Return the Frobenius norm that is accepted; the estimate it is compared with errs by 2."""
    return rms_limit(n) * np.sqrt(n)


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("compute", FORMATS)
def test_factors(compute, panel, rng):
    form = FORMATS[compute]
    for m, n in PLAIN_SHAPES:
        a = rng.standard_normal((m, n)).astype(np.float32)
        kept = a.copy()
        q, r = result = qr(a, compute=compute, panel=panel)
        np.testing.assert_array_equal(a, kept)
        assert (q.shape, r.shape) == ((m, n), (n, n))
        assert q.dtype == r.dtype == np.float32
        assert backward_errors(a, q, r).max() <= column_bound(form, n)
        assert not np.tril(r, -1).any()
        assert (r.diagonal() >= 0).all()
        assert result.info.passes == 1
        if n < m:
            # Condition below 6; square matrices of random numbers may have any.
            assert orthogonality(q) <= 16 * column_bound(form, n)


@settings(max_examples=25)
@given(
    m=st.integers(1, 320),
    n=st.integers(1, 320),
    seed=st.integers(0, 2**32 - 1),
    compute=st.sampled_from([*FORMATS]),
    panel=st.sampled_from(PANELS),
    again=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from("CF"),
)
def test_any_shape(m, n, seed, compute, panel, again, dtype, order):
    rng = np.random.default_rng(seed)
    a = np.array(rng.standard_normal((m, n)), dtype=dtype, order=order)
    q, r = qr(a, compute=compute, panel=panel, reorthogonalize=again)
    k = min(m, n)
    assert (q.shape, r.shape) == ((m, k), (k, n))
    assert q.dtype == r.dtype == dtype
    form = FORMATS[compute]
    # If m < n the columns behind are Q^T a to u alone, and Q is as orthonormal as cond(a) lets it.
    if m >= n or again:
        extra = 4 * form.unit if m < n else 0
        assert backward_errors(a, q, r).max() <= column_bound(form, k) + extra
    else:
        assert backward_errors(a[:, :k], q, r[:, :k]).max() <= column_bound(form, k)
    if again:
        assert orthogonality(q) <= 2 * orthonormal(k)


# -- condition -------------------------------------------------------------------------------


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("panel", ["caqr", "cholesky"])
def test_orthogonality_and_backward_error_against_condition(panel, spectrum, rng):
    """Figures 3 and 4 of Zhang, Baharlouei and Wu: one stays, the other grows up to cond^2 u."""
    for cond in (1e0, 1e2, 1e4, 1e7):
        a = with_condition(rng, 400, 200, cond, spectrum)
        q, r = qr(a, panel=panel)
        assert backward_errors(a, q, r).max() <= column_bound(FORMATS["fp16"], 200)
        assert orthogonality(q) <= 8 * U16 * cond**2
        q, r, *_ = result = qr(a, panel=panel, reorthogonalize=True)
        assert backward_errors(a, q, r).max() <= column_bound(FORMATS["fp16"], 200)
        assert orthogonality(q) <= 2 * orthonormal(200)
        assert result.info.passes <= 3


def test_the_fine_format_is_as_good_as_float32(rng):
    for cond in (1e0, 1e3, 1e6):
        a = with_condition(rng, 400, 200, cond)
        errors = [orthogonality(qr(a, compute=name).Q) for name in ("fp16x2", "fp32")]
        # 2^-22 and sums of three products against 2^-24.
        assert errors[0] <= 8 * errors[1]


def test_orthogonalize_says_what_it_reached(rng):
    a = with_condition(rng, 400, 200, 1e6, "geometric")
    basis = orthogonalize(a)
    truth = np.linalg.norm(basis.Q.T @ basis.Q - np.eye(200))
    assert basis.reached
    # Eight random vectors: within a factor of 2 almost always; the seed is fixed.
    assert truth / 2 <= basis.orthogonality <= 2 * truth
    assert truth <= 2 * orthonormal(200)
    # What it spans: the singular vectors of the large values lie in it, to float32 and their size.
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    large = u[:, s > 1e-1]
    assert np.abs(large - basis.Q @ (basis.Q.T @ large)).max() <= 64 * U16


def test_orthogonalize_warns(rng, monkeypatch):
    monkeypatch.setattr("mdqr.tensorcore._algorithms.passes.rms_limit", lambda n: 1e-12)
    with pytest.warns(
        mdqr.PrecisionWarning, match="after 5 passes, where float32 can hold"
    ) as first:
        basis = orthogonalize(rng.standard_normal((30, 20)))
    assert not basis.reached
    with pytest.warns(mdqr.PrecisionWarning, match=r"^qr: ") as second:
        qr(rng.standard_normal((30, 20)), reorthogonalize=True)
    monkeypatch.setattr("mdqr.tensorcore._lowrank._TOLERANCE", -1.0)
    with pytest.warns(mdqr.PrecisionWarning, match=r"^lowrank: ") as third:
        lowrank(rng.standard_normal((30, 20)), 2)
    # They point at the line that called.
    for caught in (first, second, third):
        assert caught[0].filename == __file__


# -- scale -----------------------------------------------------------------------------------


@pytest.mark.parametrize("panel", PANELS)
def test_entries_from_1e_minus_30_to_1e30(panel, rng):
    a = rng.standard_normal((300, 200)) * 10.0 ** rng.integers(-30, 31, 200)
    for dtype in (np.float32, np.float64):
        x = a.astype(dtype)
        q, r = qr(x, panel=panel)
        assert backward_errors(x, q, r).max() <= column_bound(FORMATS["fp16"], 200)
        assert orthogonality(q) <= 16 * column_bound(FORMATS["fp16"], 200)


@given(exponents=st.lists(st.integers(-40, 40), min_size=150, max_size=150))
@settings(max_examples=10)
def test_powers_of_two_of_columns_change_nothing_else(exponents):
    a = np.random.default_rng(5).standard_normal((200, 150)).astype(np.float32)
    b = np.ldexp(a, exponents).astype(np.float32)
    first, second = qr(a, keep_factors=True), qr(b, keep_factors=True)
    np.testing.assert_array_equal(first.Q, second.Q)
    np.testing.assert_array_equal(np.ldexp(first.R, exponents), second.R)
    np.testing.assert_array_equal(first.info.factors.R, second.info.factors.R)


def test_float64_beyond_float32(rng):
    a = rng.standard_normal((300, 150)) * 10.0 ** rng.integers(-290, 290, 150)
    q, r = qr(a)
    scale = np.abs(a).max(axis=0)
    assert backward_errors(a / scale, q, r / scale).max() <= column_bound(FORMATS["fp16"], 150)


def test_without_scale(rng):
    a = rng.standard_normal((300, 150)).astype(np.float32)
    q, r = qr(a, scale=False)
    assert backward_errors(a, q, r).max() <= 8 * U16
    with pytest.raises(np.linalg.LinAlgError, match='overflowed in compute="fp16"; use scale=True'):
        qr(a * np.float32(1e6), scale=False)
    # The range of float32.
    q, r = qr(a * np.float32(1e6), compute="bf16", scale=False)
    assert np.isfinite(r).all()


def test_r_beyond_the_range(rng):
    a = np.full((300, 2), 3e38, dtype=np.float32)
    with pytest.raises(np.linalg.LinAlgError, match="R does not fit float32; divide a by a power"):
        qr(a)
    q, r = qr(a.astype(np.float64))
    assert backward_errors(a / 3e38, q, r / 3e38).max() <= 16 * U32


# -- ranks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DEFICIENT)
@pytest.mark.parametrize("panel", PANELS)
def test_rank_deficient(panel, kind, rng):
    a = DEFICIENT[kind](rng)
    bound = column_bound(FORMATS["fp16"], a.shape[1])
    q, r = qr(a, panel=panel)
    assert backward_errors(a, q, r).max() <= bound
    q, r = qr(a, panel=panel, reorthogonalize=True)
    assert backward_errors(a, q, r).max() <= bound
    assert orthogonality(q) <= 2 * orthonormal(a.shape[1])


def smooth(kind, m, n):
    """Return functions on a grid: columns that nearly depend on a few others."""
    x, y = np.linspace(0, 1, m)[:, None], np.linspace(0, 1, n)
    return {
        "Vandermonde": np.vander(x[:, 0], n),
        "Gauss": np.exp(-4 * (x - y) ** 2),
        "Cauchy": 1 / (1 + x + y),
        "Hilbert": 1 / (1.0 + np.arange(m)[:, None] + np.arange(n)),
    }[kind]


@pytest.mark.parametrize("kind", ["Vandermonde", "Gauss", "Cauchy", "Hilbert"])
@pytest.mark.parametrize("shape", [(400, 100), (1000, 128), (600, 200)], ids=str)
def test_columns_that_nearly_depend_on_others(kind, shape):
    """No pivot is small enough to tell, and Q R was 15 times the matrix in "cholesky" panels."""
    a = smooth(kind, *shape)
    for again in (False, True):
        q, r = qr(a, compute="fp16x2", panel="cholesky", reorthogonalize=again)
        # Columns below 2^-21.5 are left out.
        assert backward_errors(a, q, r).max() <= 128 * U32
        assert not again or orthogonality(q) <= 2 * orthonormal(shape[1])


def test_zero_columns_are_counted(rng):
    a = rng.standard_normal((60, 20))
    a[:, [4, 11]] = 0
    for panel in ("caqr", "cholesky"):
        q, r = result = qr(a, panel=panel)
        assert result.info.zero_columns == 2
        assert not q[:, [4, 11]].any()
        assert not r[[4, 11]].any()
    for panel in PANELS:
        assert orthogonalize(a, panel=panel).replaced == 2
        result = qr(a, panel=panel, reorthogonalize=True)
        assert result.info.zero_columns == 2


# -- input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (0, 5)], ids=str)
def test_empty(shape):
    for again in (False, True):
        q, r = qr(np.empty(shape), reorthogonalize=again)
        k = min(shape)
        assert (q.shape, r.shape) == ((shape[0], k), (k, shape[1]))
    assert orthogonalize(np.empty(shape)).Q.shape == (shape[0], min(shape))


@pytest.mark.parametrize("call", [qr, orthogonalize])
def test_refusals(call, rng):
    a = rng.standard_normal((6, 4))
    name = call.__name__
    with pytest.raises(TypeError, match=rf"{name}: a is an MDArray of precision qd.*mdqr\.linalg"):
        call(mdqr.array(a, precision=mdqr.qd))
    with pytest.raises(TypeError, match="float32 or float64; got complex128"):
        call(a + 1j)
    with pytest.raises(ValueError, match=r"two axes; got the shape \(2, 3, 4\)"):
        call(np.ones((2, 3, 4)))
    with pytest.raises(ValueError, match=r"compute must be one of .*; got 'fp8'"):
        call(a, compute="fp8")
    with pytest.raises(ValueError, match='panel must be one of "caqr", "cholesky", "geqrf"'):
        call(a, panel="lapack")
    for bad in (np.nan, np.inf, -np.inf):
        a[2, 3] = bad
        with pytest.raises(np.linalg.LinAlgError, match=f"{name}: a has entries that are not fin"):
            call(a)


def test_integers_and_lists_are_float64():
    q, r = qr([[1, 2], [3, 4], [5, 6]])
    assert q.dtype == np.float64
    assert np.abs(q @ r - [[1, 2], [3, 4], [5, 6]]).max() <= 64 * U32


def test_a_result_is_copied_and_pickled(rng):
    result = qr(rng.standard_normal((6, 4)), keep_factors=True)
    for other in (pickle.loads(pickle.dumps(result)), copy.copy(result)):
        np.testing.assert_array_equal(other.Q, result.Q)
        assert other.info.compute == "fp16"
    factors = result.info.factors
    scaled = factors.R * 2.0**factors.exponents
    np.testing.assert_array_equal(scaled, result.R)
    assert factors.Q.dtype == factors.R.dtype == np.float32


@pytest.mark.parametrize("name", DEFICIENT)
def test_later_passes_by_reflections(name, rng, monkeypatch):
    """What a Q that stays far from orthonormal ends with, here from the second pass on."""
    monkeypatch.setattr(passes, "_DIRECT_PASSES", 1)
    a = DEFICIENT[name](rng).astype(np.float32)
    Q, R = qr(a, panel="cholesky", reorthogonalize=True)
    assert orthogonality(Q) <= rms_limit(len(R)) * np.sqrt(len(R))
    assert backward_errors(a, Q, R).max() <= 16 * U16


@pytest.mark.parametrize("compute", ["fp16", "fp32"])
@pytest.mark.parametrize("kind", ["Vandermonde", "rising powers", "Chebyshev", "Legendre", "Kahan"])
def test_an_inverse_that_grows_without_a_small_pivot(kind, compute):
    """Q R was up to 40 times the matrix in "cholesky" panels, and 4e-4 of it was lost of others."""
    t = np.linspace(0, 1, 120)
    a = {
        "Vandermonde": np.vander(np.linspace(0, 1, 105), 105),
        "rising powers": np.vander(np.linspace(0, 1, 60), 200, increasing=True).T,
        "Chebyshev": np.cos(np.arange(110) * np.arccos(2 * np.linspace(0, 1, 300) - 1)[:, None]),
        "Legendre": np.polynomial.legendre.legvander(2 * t - 1, 119),
        "Kahan": DEFICIENT["Kahan"](None)[:128, :128],
    }[kind]
    bound = column_bound(FORMATS[compute], a.shape[1])
    for again in (False, True):
        q, r = result = qr(a, compute=compute, panel="cholesky", reorthogonalize=again)
        assert backward_errors(a, q, r).max() <= 2 * bound
        assert result.info.panel != "cholesky"
    basis = orthogonalize(a, compute=compute, panel="cholesky").Q.astype(np.float64)
    assert backward_errors(a, basis, basis.T @ a).max() <= 2 * bound
