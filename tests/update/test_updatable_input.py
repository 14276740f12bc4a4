"""Least squares that change: what is refused, what is missing, what is given out."""

from __future__ import annotations

import numpy as np
import pytest
import update_cases as cases

import mdqr
from mdqr.linalg import UpdatableLstsq


def test_what_is_missing_is_said(rng):
    a, b = cases.values((6, 3), mdqr.dd, float, rng), cases.values((6,), mdqr.dd, float, rng)
    bare = UpdatableLstsq(a, b, keep_data=False)
    with pytest.raises(ValueError, match="keep_data=True"):
        bare.insert_cols(a[:, 0])
    with pytest.raises(ValueError, match="keep_data=True"):
        bare.repair()
    with pytest.raises(ValueError, match="u= and b="):
        bare.delete_rows(0)
    with pytest.raises(ValueError, match="keep_data=True"):
        bare.delete_rows(u=a[:4], b=b[:4])
    known = UpdatableLstsq(a, b, keep_q=True, keep_data=False)
    with pytest.raises(ValueError, match="give k"):
        known.delete_rows(b=b[0])
    with pytest.raises(ValueError, match="by their place"):
        known.delete_rows(2, u=a[2], b=b[2])
    with pytest.raises(TypeError, match="a must be an array; got None"):
        UpdatableLstsq(None, b)
    kept = UpdatableLstsq(a, b)
    with pytest.raises(ValueError, match="the data are kept"):
        kept.delete_rows(0, u=a[0], b=b[0])
    with pytest.raises(ValueError, match="k must be an integer"):
        kept.delete_rows(6)
    with pytest.raises(ValueError, match="p must be an integer"):
        kept.delete_cols(0, 4)
    with pytest.raises(ValueError, match="b must have shape"):
        kept.insert_rows(a[:2], b[:1])
    with pytest.raises(ValueError, match="complex"):
        kept.insert_rows(1j * a[0], b[0])
    with pytest.raises(ValueError, match="a must be"):
        UpdatableLstsq(a[None], b)
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        kept.insert_rows(a[0] * np.nan, b[0])
    assert kept.shape == (6, 3)


def test_what_is_wrong_is_said(rng):
    a, b = rng.standard_normal((6, 3)), rng.standard_normal(6)
    fit, bare = UpdatableLstsq(a, b), UpdatableLstsq(a, b, keep_data=False)
    for rcond in (-1.0, np.nan, "x", 1j):
        with pytest.raises(ValueError, match="rcond must be None or at least 0"):
            fit.insert_cols(a[:, 0] ** 2, rcond=rcond)
    with pytest.raises(ValueError, match="u has 1 rows, and p is 3: leave p out"):
        bare.delete_rows(0, 3, u=a[0], b=b[0])
    for name, call in (
        ("u", lambda: fit.insert_rows(None, 1.0)),
        ("b", lambda: fit.insert_rows(a[0], None)),
        ("u", lambda: fit.insert_cols(None)),
    ):
        with pytest.raises(TypeError, match=f"{name} must be an array; got None"):
            call()
    with pytest.raises(TypeError, match="u must be numbers; got list"):
        fit.insert_rows(["1", "2", "3"], 1.0)
    with pytest.raises(ValueError, match=r"b must have shape \(1,\) or \(\) for 1 rows"):
        fit.insert_rows(a[0], [1.0, 2.0])
    single = UpdatableLstsq(a.astype(np.float32), b.astype(np.float32))
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        single.insert_rows([1e300, 0.0, 0.0], 1.0)
    assert fit.shape == bare.shape == single.shape == (6, 3)


@pytest.mark.parametrize("kind", [np.float64, mdqr.dd])
def test_what_is_given_out_is_no_window_into_the_factors(kind, rng):
    a, b = rng.standard_normal((6, 3)), rng.standard_normal(6)
    options = {} if kind is np.float64 else {"precision": kind}
    fit = UpdatableLstsq(a, b, keep_q=True, **options)
    x = fit.solve()
    for part in (fit.R, fit.Q, fit.solve()):
        part[...] = 0.0
    assert (fit.solve() == x).all()
    assert bool((abs(fit.Q @ fit.R - a) < 1e-12).all())


def test_a_singular_r_names_the_call(rng):
    a, b = cases.values((8, 3), mdqr.qd, float, rng), cases.values((8,), mdqr.qd, float, rng)
    a[:, 1] = 0.0
    fit = UpdatableLstsq(a, b, keep_data=False)
    with pytest.raises(np.linalg.LinAlgError, match=r"UpdatableLstsq\.delete_rows: the matrix is"):
        fit.delete_rows(u=a[0], b=b[0])


@pytest.mark.parametrize("keep_data", [False, True])
def test_residuals_belong_to_a_solution(precision, keep_data, rng):
    """Where there is none, or more than one, R does not know them."""
    a, b = cases.values((6, 3), precision, float, rng), cases.values((6,), precision, float, rng)
    with pytest.raises(np.linalg.LinAlgError, match="fewer rows than columns"):
        UpdatableLstsq(a[:2], b[:2], keep_data=keep_data).residual_norm()
    a[:, 1] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        UpdatableLstsq(a, b, keep_data=keep_data).residual_norm()


def test_repr_and_shape():
    fit = UpdatableLstsq(mdqr.eye(3, 2, precision=mdqr.qd), [1.0, 2.0, 3.0])
    assert repr(fit) == "<UpdatableLstsq of shape (3, 2)>"
    assert fit.R.shape == (2, 2)
