"""Inverses of float64 triangles, and orders of rows: the CUDA kernels, emulated."""

from __future__ import annotations

import numpy as np
import pytest

from mdqr._backend.blocks import order_of
from mdqr._backend.cuda.factor import elimination
from mdqr._backend.cuda.factor.elimination import Eliminations
from mdqr._backend.cuda.floats.library import Library
from mdqr._backend.cuda.floats.triangles import invert, put_columns, row_order

FLOAT64 = 2.0**-53


def drawn(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [0, 1, 7, 32, 33, 70, 150])
def test_inverses(kernels, dtype, n, rng):
    """Of views, of unit triangles without their diagonals, whatever lies below them."""
    below = np.tril(np.full((n, n), np.nan), -1)
    first, second = (np.triu(drawn(rng, (n, n), dtype)) / 8 for _ in range(2))
    second += 2 * np.eye(n)
    given = first + below, np.asfortranarray(second + below)
    found = invert(kernels, given, units=1)
    np.fill_diagonal(first, 1.0)
    for x, r in zip(found, (first, second), strict=True):
        off = np.abs(x @ r - np.eye(n))
        assert (off <= 20 * (n + 4) * FLOAT64 * (np.abs(x) @ np.abs(r))).all()
        assert not np.tril(x, -1).any()
    assert not np.isfinite(invert(kernels, [np.zeros((3, 3), dtype)])).all()


def test_quotients_of_complex_numbers_stay_in_range(kernels):
    d = np.array([[1e200 - 3e199j, 0], [0, 2e-200j]])
    found = invert(kernels, [d])[0]
    assert np.abs(found @ d - np.eye(2)).max() <= 8 * FLOAT64


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_inverse_of_a_matrix(kernels, dtype, rng, monkeypatch):
    """By LU with interchanges, its columns in order."""
    from fake_cuda_libraries import libraries

    from mdqr._backend.cuda.vendor.cusolver import lu

    monkeypatch.setattr(type(kernels), "lu_floats", lambda _, a: lu(libraries()[1], a), False)
    a = drawn(rng, (50, 50), dtype)
    x = Eliminations(kernels).invert_floats(a)
    assert np.abs(x @ a - np.eye(50)).max() <= 2.0**10 * FLOAT64 * np.linalg.cond(a)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_cholesky_factor_of_floats(kernels, dtype, rng, monkeypatch):
    """Of the upper triangle alone, and NaN where there is none."""
    from fake_cuda_libraries import libraries

    monkeypatch.setattr(elimination, "library", lambda own, kind: Library(own, kind, *libraries()))
    c = np.triu(drawn(rng, (20, 20), dtype)) / 20
    np.fill_diagonal(c, 1.0)
    a = c.conj().T @ c
    found = Eliminations(kernels).cholesky_floats(np.triu(a) + np.tril(np.full(a.shape, 7.0), -1))
    assert np.abs(found - c).max() <= 2.0**8 * FLOAT64
    a[3, 3] = -1.0
    assert np.isnan(Eliminations(kernels).cholesky_floats(a)).all()


@pytest.mark.parametrize("rows", [0, 1, 5, 700])
def test_order_of_rows(kernels, rows, rng, monkeypatch):
    swaps = np.array([rng.integers(i, rows) for i in range(rows)], dtype=np.int64)
    found = row_order(kernels, swaps)
    np.testing.assert_array_equal(found, order_of(swaps, rows))
    if rows > 2:
        swaps[[0, 1]] = -1, rows
        assert sorted(row_order(kernels, swaps).tolist()) == list(range(rows))
    x = rng.standard_normal((3, rows))
    np.testing.assert_array_equal(put_columns(kernels, x, found)[:, found], x)
