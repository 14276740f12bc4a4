"""Repair of factors that drifted."""

from __future__ import annotations

import linalg_cases
import numpy as np
import pytest
import update_cases as cases
from hypothesis import given
from hypothesis import strategies as st
from ranges import in_range

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import qr, repair
from mdqr.testing import matrix


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_errors_are_squared(precision, dtype, mode, rng):
    """From far away the error falls to its square; from near, to the rounding of one sum."""
    a = matrix("random", 11, 6, cond=10, precision=precision, dtype=dtype, rng=rng)
    Q, R = qr(a, mode)
    change = [mdqr.array(rng.standard_normal(x.shape), precision=precision) for x in (Q, R)]
    for size in (precision.eps**0.25, precision.eps**0.4, precision.eps**0.75):
        found = repair(a, Q + change[0] * size, R + mdqr.triu(change[1]) * size)
        linalg_cases.check_form(found.R)
        # Changes of size 1 in every entry are at most 12 in norm, and 10 times that divided by R.
        allowed = max((120.0 * size) ** 2 * 4, 20 * 6 * precision.eps)
        assert cases.product_error(a, *found) <= allowed * cases.norm(a)
        assert cases.orthogonality(found.Q) <= allowed


def test_r_alone(precision, dtype, rng):
    a = matrix("random", 11, 6, cond=10, precision=precision, dtype=dtype, rng=rng)
    R = qr(a, "r")
    wrong = R * (1.0 + precision.eps**0.6)
    Q, found = repair(a, None, wrong)
    assert Q is None
    cases.accept_r(a, found)


def test_good_factors_stay_good(precision, dtype, rng):
    a = matrix("random", 9, 9, precision=precision, dtype=dtype, rng=rng)
    cases.accept(a, *repair(a, *qr(a)))


@pytest.mark.parametrize("keep_q", [False, True], ids=["repair", "UpdatableLstsq"])
def test_ill_conditioned_factors_are_not_made_worse(precision, keep_q):
    """One sweep leaves the square of what it adds, which was far above eps here."""
    a = mdqr.array([[1, 2], [1, 2], [1, 2], [3, 6]], precision=precision)
    power = -round(0.72 * precision.bits)
    a[:, 1] = a[:, 1] + mdqr.array([1, -1, 2, 5], precision=precision) * 2.0**power
    if keep_q:
        fit = mdqr.linalg.UpdatableLstsq(a, mdqr.ones(4, precision=precision), keep_q=True)
        fit.repair()
        assert cases.orthogonality(fit.Q) <= 20 * precision.eps
        return
    Q, R = qr(a)
    before = cases.orthogonality(Q)
    found = repair(a, Q, R)
    assert cases.orthogonality(found.Q) <= max(before, 4 * precision.eps)
    assert cases.product_error(a, *found) <= 20 * precision.eps * cases.norm(a)


@given(
    st.sampled_from(PRECISIONS),
    st.integers(1, 5),
    st.floats(0.0, 0.95),
    st.floats(0.1, 1.0),
    st.integers(0, 2**32 - 1),
)
def test_factors_are_never_worse(precision, n, share, drift, seed):
    """Whatever the condition, and however far the factors are."""
    rng = np.random.default_rng(seed)
    cond = 1.0 + 0.005 * precision.eps**-share
    a = matrix("random", n + 3, n, cond=cond, precision=precision, rng=rng)
    Q, R = qr(a)
    Q = Q + mdqr.array(rng.standard_normal(Q.shape), precision=precision) * precision.eps**drift
    before = mdqr.linalg.certify(a, Q, R)
    try:
        found = repair(a, Q, R)
    except mdqr.linalg.LinAlgError:
        return
    after = mdqr.linalg.certify(a, *found)
    worst = [max(float(x.normwise), float(x.orthogonality)) for x in (before, after)]
    assert worst[1] <= max(40 * n, worst[0] * (1 + 1e-10))


def test_graded_columns(multiple, rng):
    a = matrix("random", 9, 5, precision=multiple, rng=rng)
    a = mdqr.from_limbs(np.ldexp(a.limbs, in_range(-100 * np.arange(5) + 150, multiple)))
    Q, R = qr(a)
    found = repair(a, Q * (1 + multiple.eps**0.6), R)
    for j in range(5):
        cases.accept_column(a[:, j : j + 1], found.Q, found.R[:, j : j + 1], 5)


def test_batches(multiple, rng):
    a = mdqr.random.normal((3, 7, 4), precision=multiple, rng=rng)
    Q, R = qr(a)
    found = repair(a, Q * (1 + multiple.eps**0.6), R)
    for i in range(3):
        cases.accept(a[i], found.Q[i], found.R[i])


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
def test_float_arrays(kind, rng):
    a = rng.standard_normal((9, 4)).astype(kind)
    Q, R = np.linalg.qr(a)
    eps = np.finfo(kind).eps
    found = repair(a, Q * (1 + 4 * eps**0.75), R)
    assert found.Q.dtype == found.R.dtype == np.dtype(kind)
    assert np.linalg.norm(found.Q @ found.R - a) <= 80 * eps * np.linalg.norm(a)
    assert np.linalg.norm(found.Q.conj().T @ found.Q - np.eye(4)) <= 80 * eps


def test_what_cannot_be_repaired(precision, rng):
    a = cases.values((6, 3), precision, float, rng)
    Q, R = qr(a)
    with pytest.raises(np.linalg.LinAlgError, match="factor A anew"):
        repair(a, Q, R * 1.5)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        repair(a, Q, R * 0.0)
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        repair(a, Q * np.inf, R)
    with pytest.raises(ValueError, match="at least as many rows"):
        repair(a.T, *qr(a.T))
    with pytest.raises(ValueError, match="a must have shape"):
        repair(a[:, :2], Q, R)
    with pytest.raises(ValueError, match="belong to it"):
        repair(a[:5], Q, R)
