"""Blocked Householder QR in float32, with a full Q."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorcore_cases import (
    DEFICIENT,
    SPECTRA,
    U32,
    backward_errors,
    blocked_householder,
    by_blocks,
    equal_blocks,
    kerr,
    kerr_criteria,
    orthogonality,
    qr,
    with_condition,
)

import mdqr
from mdqr.tensorcore._plan import PANELS

# Backward errors are those of panels in float32, at most 11 u seen; Q is rounded to float32 once,
# at most 2 u seen. `u sqrt(n)`, for entries of one rounding error, is the most.
BACKWARD, ROUNDED = 32, 8


@settings(max_examples=30)
@given(
    m=st.integers(1, 300),
    n=st.integers(1, 300),
    cond=st.sampled_from([1.0, 1e4, 1e9]),
    spectrum=st.sampled_from(SPECTRA),
    seed=st.integers(0, 2**32 - 1),
    block=st.integers(1, 128),
    panel=st.sampled_from(PANELS),
    mode=st.sampled_from(["reduced", "complete"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_blocked(m, n, cond, spectrum, seed, block, panel, mode, dtype):
    rng, k = np.random.default_rng(seed), min(m, n)
    a = rng.standard_normal((m, n))
    a[:, :k] = with_condition(rng, m, k, cond, spectrum)
    a = a.astype(dtype)
    kept = a.copy()
    q, r = result = by_blocks(block, a, mode, panel=panel, keep_factors=True)
    np.testing.assert_array_equal(a, kept)
    wide = m if mode == "complete" else k
    assert (q.shape, r.shape) == ((m, wide), (wide, n))
    assert q.dtype == r.dtype == dtype
    assert q.flags.f_contiguous
    assert r.flags.f_contiguous
    # Of panels in float32, one for each block that goes over a column.
    assert backward_errors(a, q, r).max() <= (BACKWARD + 4 * -(-k // block)) * U32
    assert orthogonality(q) <= ROUNDED * U32
    assert not np.tril(r, -1).any()
    assert (r.diagonal() >= 0).all()
    factors = result.info.factors
    np.testing.assert_array_equal(np.ldexp(factors.R, factors.exponents).astype(dtype), r)
    np.testing.assert_array_equal(factors.Q.astype(dtype), q)


@settings(max_examples=15)
@given(
    n=st.integers(1, 160),
    scale=st.integers(-30, 30),
    seed=st.integers(0, 2**32 - 1),
    panel=st.sampled_from(PANELS),
)
def test_kerr_campbell_and_richards_of_any_size(n, scale, seed, panel):
    """Twice as many rows as columns, full Q, the three criteria of the paper."""
    a = np.ldexp(kerr(np.random.default_rng(seed), 2 * n, n), scale).astype(np.float32)
    q, r = blocked_householder(a, mode="complete", panel=panel)
    assert q.shape == (2 * n, 2 * n)
    assert max(kerr_criteria(a, q, r)) <= 1


@pytest.mark.parametrize("n", [256, 512])
def test_kerr_campbell_and_richards(n, rng):
    a = kerr(rng, 2 * n, n).astype(np.float32)
    for mode in ("complete", "reduced"):
        assert max(kerr_criteria(a, *blocked_householder(a, mode))) <= 1
    # The recursive one in float32 and in two numbers of binary16, with a reduced Q.
    for compute in ("fp32", "fp16x2"):
        assert max(kerr_criteria(a, *qr(a, method="householder", compute=compute))) <= 1


def test_full_q_extends_the_reduced_one(rng):
    a = rng.standard_normal((200, 60))
    small, full = (blocked_householder(a, mode) for mode in ("reduced", "complete"))
    np.testing.assert_allclose(full.Q[:, :60], small.Q, atol=64 * U32)
    np.testing.assert_array_equal(full.R[:60], small.R)
    assert not full.R[60:].any()


def test_blocked_rank_deficient(rng):
    for kind in DEFICIENT.values():
        a = kind(rng)
        for mode in ("reduced", "complete"):
            q, r = blocked_householder(a, mode)
            assert backward_errors(a, q, r).max() <= BACKWARD * U32
            assert orthogonality(q) <= ROUNDED * U32


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    panel=st.sampled_from(PANELS),
    mode=st.sampled_from(["reduced", "complete"]),
)
def test_blocks_of_equal_entries(seed, panel, mode):
    """Rounding errors of sums of equal terms have one sign: no sum may be float32's."""
    a = equal_blocks(np.random.default_rng(seed))
    q, r = blocked_householder(a, mode, panel=panel)
    assert backward_errors(a, q, r).max() <= BACKWARD * U32
    assert orthogonality(q) <= ROUNDED * U32


@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (0, 5)], ids=str)
def test_empty(shape):
    k = min(shape)
    q, r = blocked_householder(np.empty(shape))
    assert (q.shape, r.shape) == ((shape[0], k), (k, shape[1]))
    q, r = blocked_householder(np.empty(shape), mode="complete")
    np.testing.assert_array_equal(q, np.eye(shape[0]))
    assert r.shape == shape


def test_refusals(rng):
    a = rng.standard_normal((6, 4))
    with pytest.raises(ValueError, match='mode must be one of "reduced", "complete", "r"; got'):
        blocked_householder(a, mode="full")
    with pytest.raises(ValueError, match='panel must be one of "caqr", "cholesky", "geqrf"; got'):
        blocked_householder(a, panel="lapack")
    with pytest.raises(TypeError, match=r"blocked_householder: a is an MDArray.*mdqr\.linalg\.qr"):
        blocked_householder(mdqr.array(a, precision=mdqr.qd))
    with pytest.raises(ValueError, match="two axes"):
        blocked_householder(a[0])
    for bad in (np.nan, np.inf):
        a[5, 3] = bad
        with pytest.raises(np.linalg.LinAlgError, match="blocked_householder: a has entries"):
            blocked_householder(a)
