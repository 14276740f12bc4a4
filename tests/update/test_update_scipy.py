"""Updates of float64 factors give what SciPy's give, in all modes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
from each_case import each_case

import mdqr
from mdqr.linalg import qr_delete, qr_insert, qr_update

SHAPES = [(8, 5), (5, 8), (6, 6), (7, 6), (30, 21), (1, 1)]
TYPES = ["float32", "float64", "complex64", "complex128"]


def draw(rng, shape, dtype):
    real = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        return (real + 1j * rng.standard_normal(shape)).astype(dtype)
    return real.astype(dtype)


def with_positive_diagonal(Q, R):
    """SciPy leaves the signs open."""
    count = min(R.shape)
    diagonal = np.diagonal(R).copy()
    phases = np.where(diagonal == 0, 1.0, diagonal / np.where(diagonal == 0, 1.0, abs(diagonal)))
    Q, R = Q.copy(), R.copy()
    Q[:, :count] *= phases
    R[:count] *= phases.conj()[:, None]
    return Q, R


def compare(found, wanted, a, dtype):
    """The same shapes and types; what is unique, Q's first columns and R, to rounding errors."""
    eps = np.finfo(dtype).eps
    Q, R = with_positive_diagonal(*wanted)
    m, n = a.shape
    assert (found[0].shape, found[1].shape) == (Q.shape, R.shape)
    assert found[0].dtype == Q.dtype == np.dtype(dtype)
    if min(m, n) == 0:
        return
    size = np.linalg.norm(a)
    # Rows of R move by eps times the condition of the leading columns.
    leading = np.linalg.cond(a[:, : min(m, n)])
    slack = 40 * n * eps * max(leading, 1.0)
    assert np.linalg.norm(found[1] - R) <= slack * size
    unique = min(m, n)
    assert np.linalg.norm(found[0][:, :unique] - Q[:, :unique]) <= slack
    assert np.linalg.norm(found[0] @ found[1] - a) <= 20 * n * eps * size * 4


@pytest.fixture(params=TYPES)
def kind(request):
    return request.param


@pytest.fixture(params=["full", "economic"])
def mode(request):
    return request.param


@pytest.fixture(params=["auto", "update", "fresh"])
def method(request):
    return request.param


@each_case("shape", SHAPES)
def test_inserted(kind, mode, method, shape, rng):
    m, n = shape
    a = draw(rng, shape, kind)
    Q, R = scipy.linalg.qr(a, mode=mode)
    for p, k in ((1, 0), (2, m), (3, m // 2), (1, -1)):
        u = draw(rng, (p, n), kind)
        place = k + m if k < 0 else k
        wanted = np.insert(a, [place] * p, u, 0)
        found = qr_insert(Q, R, u, k, method=method)
        compare(found, scipy.linalg.qr_insert(Q, R, u, k), wanted, kind)
    for p, k in ((1, 0), (2, n), (2, n // 2), (1, -1)):
        u = draw(rng, (m, p), kind)
        place = k + n if k < 0 else k
        wanted = np.insert(a, [place] * p, u, 1)
        found = qr_insert(Q, R, u, k, "col", method=method)
        compare(found, scipy.linalg.qr_insert(Q, R, u, k, "col"), wanted, kind)


@each_case("shape", SHAPES)
def test_deleted(kind, mode, method, shape, rng):
    m, n = shape
    a = draw(rng, shape, kind)
    Q, R = scipy.linalg.qr(a, mode=mode)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        for p, k in ((1, 0), (1, -1), (min(2, m), 0), (m, 0)):
            place = k + m if k < 0 else k
            wanted = np.delete(a, slice(place, place + p), 0)
            theirs = scipy.linalg.qr_delete(Q, R, k, p)
            compare(qr_delete(Q, R, k, p, method=method), theirs, wanted, kind)
    for p, k in ((1, 0), (1, -1), (min(2, n), 0), (n, 0)):
        place = k + n if k < 0 else k
        wanted = np.delete(a, slice(place, place + p), 1)
        theirs = scipy.linalg.qr_delete(Q, R, k, p, "col")
        compare(qr_delete(Q, R, k, p, "col", method=method), theirs, wanted, kind)


@each_case("shape", SHAPES)
def test_changed(kind, mode, method, shape, rng):
    m, n = shape
    a = draw(rng, shape, kind)
    Q, R = scipy.linalg.qr(a, mode=mode)
    for p in {1, min(2, n), min(n, 4)}:
        u, v = draw(rng, (m, p), kind), draw(rng, (n, p), kind)
        wanted = a + u @ v.conj().T
        # SciPy hands LAPACK a wrong argument where the columns below R are fewer than p.
        full = scipy.linalg.qr(wanted, mode=mode)
        theirs = scipy.linalg.qr_update(Q, R, u, v) if m >= n + p or m <= n else full
        compare(qr_update(Q, R, u, v, method=method), theirs, wanted, kind)
    u, v = draw(rng, (m,), kind), draw(rng, (n,), kind)
    theirs = scipy.linalg.qr_update(Q, R, u, v)
    compare(qr_update(Q, R, u, v, method=method), theirs, a + np.outer(u, v.conj()), kind)


@pytest.mark.parametrize("dtype", [float, complex])
def test_precision_d_is_float64(dtype, rng):
    """An MDArray of one limb goes the same way."""
    a = draw(rng, (9, 6), dtype)
    Q, R = scipy.linalg.qr(a)
    u = draw(rng, (2, 6), dtype)
    found = qr_insert(*(mdqr.array(x, precision=mdqr.d) for x in (Q, R)), u, 4)
    wanted = qr_insert(Q, R, u, 4)
    for x, y in zip(found, wanted, strict=True):
        assert x.precision is mdqr.d
        np.testing.assert_array_equal(x.to_numpy(), y)
