"""The calls of cuBLAS and cuSOLVER, by LAPACK on host memory: operands, shapes and flags."""

from __future__ import annotations

import numpy as np
import pytest
from fake_cuda_libraries import ADDRESSES, libraries

from mdqr._backend.cuda.runtime import kernels as runtime
from mdqr._backend.cuda.vendor import cublas as vendor
from mdqr._backend.cuda.vendor.cusolver import Reflectors, lu
from mdqr.tensorcore._engine.cublas import CublasProducts

FLOAT64, FLOAT32 = 2.0**-52, 2.0**-23


@pytest.fixture
def products():
    return CublasProducts(ADDRESSES, *libraries())


def columns(x, dtype):
    """A part of a matrix in memory, column by column."""
    whole = np.zeros((x.shape[0] + 3, x.shape[1]), dtype, order="F")
    whole[2:-1] = x
    return whole[2:-1]


def drawn(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products_of_batches(dtype, rng, monkeypatch):
    """Those of one limb, with batches that broadcast."""
    monkeypatch.setattr(runtime, "cublas", lambda _: libraries()[0])
    kernels = runtime.CupyKernels.__new__(runtime.CupyKernels)
    kernels.xp, kernels.address = np, ADDRESSES.address
    for batch, other in (((), ()), ((3,), (2, 1))):
        a, b = drawn(rng, (*batch, 4, 5), dtype), drawn(rng, (*other, 5, 2), dtype)
        assert np.abs(kernels.multiply(a, b) - a @ b).max() <= 50 * FLOAT64
    assert not kernels.multiply(a[..., :0], b[..., :0, :]).any()


@pytest.mark.parametrize("large", [1, 2**30])
def test_products_of_bytes(large, rng, monkeypatch):
    """In one call, and in one each, with planes apart."""
    monkeypatch.setattr(vendor, "_LARGE", large)
    a, b = (rng.integers(-128, 128, (3, lines, 48), dtype=np.int8) for lines in (16, 32))
    c = np.zeros((3, 20, 32), dtype=np.int32)
    places = ((x.ctypes.data, x.shape[2], x[0].size) for x in (b, a, c))
    options = {"flags": (vendor.T, vendor.N)}
    libraries()[0].gemm_batched(vendor.BYTES, (32, 16, 48), 3, *places, **options)
    wanted = a.astype(np.int32) @ b.astype(np.int32).swapaxes(-1, -2)
    np.testing.assert_array_equal(c[:, :16], wanted)
    assert not c[:, 16:].any()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lu(dtype, rng):
    """In LAPACK's storage, of matrices of any strides; interchanges are counted from 0."""
    a = drawn(rng, (7, 7), dtype)
    for each in (a, a.T, np.tile(a, 2)[:, ::2]):
        packed, swaps = lu(libraries()[1], each)
        lower, upper = np.tril(packed, -1) + np.eye(7), np.triu(packed)
        rows = each.copy()
        for i, place in enumerate(swaps):
            rows[[i, place]] = rows[[place, i]]
        assert np.abs(lower @ upper - rows).max() <= 50 * FLOAT64
        assert swaps.dtype == np.int64


@pytest.mark.parametrize("transposed", [False, True])
def test_products_in_float32(products, transposed, rng):
    """Sums are float64's: those of equal terms have no rounding error but the last one."""
    shapes = ((7, 5000), (5000, 3), (7, 3))
    a, b, c = (columns(drawn(rng, shape, "f"), "f") for shape in shapes)
    a[3], b[:, 1] = 0.1, 0.3
    left = columns(a.T, "f") if transposed else a
    for beta in (-1.0, 0.0):
        wanted = 2 * a.astype(float) @ b.astype(float) + beta * c.astype(float)
        if not beta:
            c[...] = np.nan
        products.multiply(c, left, b, "", transposed=transposed, alpha=2.0, beta=beta)
        assert (np.abs(c - wanted) <= FLOAT32 * np.abs(wanted)).all()


@pytest.mark.parametrize("small", [0, 2**27])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_products_in_float64(products, count, small, rng, monkeypatch):
    """One or two columns each for itself, more together; matrices in either order."""
    monkeypatch.setattr("mdqr.tensorcore._engine.cublas._SMALL", small)
    whole = rng.standard_normal((9, 7))
    for a in (whole, columns(whole, "d"), whole[1:6, 2:5]):
        for transposed in (False, True):
            rows, inner = a.shape[::-1] if transposed else a.shape
            x, c = (columns(rng.standard_normal((k, count)), "d") for k in (inner, rows))
            wanted = c - 2 * (a.T if transposed else a) @ x
            products.doubles(c, a, x, transposed=transposed, alpha=-2.0, beta=1.0)
            assert np.abs(c - wanted).max() <= 100 * FLOAT64


def test_products_of_a_batch_of_squares(products, rng):
    a, b, c = (rng.standard_normal((3, 4, 4)).swapaxes(-1, -2) for _ in range(3))
    wanted = -a @ b
    products.batch(c, a, b, -1.0)
    assert np.abs(c - wanted).max() <= 50 * FLOAT64


def test_q_and_r_in_float32(products, rng):
    a = columns(drawn(rng, (9, 4), "f"), "f")
    q, r = a.copy(order="F"), np.zeros((4, 4), "f", order="F")
    products.geqrf(q, r)
    assert np.abs(q @ r - a).max() <= 100 * FLOAT32
    assert np.abs(q.T @ q - np.eye(4)).max() <= 100 * FLOAT32
    assert (np.diagonal(r) >= 0).all()
    assert not np.tril(r, -1).any()


@pytest.mark.parametrize("batch", [(), (2, 3)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_q_of_reflectors(dtype, batch, rng):
    a, x = drawn(rng, (*batch, 7, 4), dtype), drawn(rng, (*batch, 7, 2), dtype)
    raw, tau = np.linalg.qr(a, mode="raw")
    found = Reflectors(libraries()[1], np.ascontiguousarray(raw), tau)
    q = found.form(7)
    identity = q.conj().swapaxes(-1, -2) @ q
    assert np.abs(identity - np.eye(7)).max() <= 50 * FLOAT64
    assert np.abs(q[..., :4] @ np.triu(raw.swapaxes(-1, -2)[..., :4, :]) - a).max() <= 50 * FLOAT64
    assert np.abs(found.apply(x, adjoint=False) - q @ x).max() <= 50 * FLOAT64
    adjoint = q.conj().swapaxes(-1, -2) @ x
    assert np.abs(found.apply(x, adjoint=True) - adjoint).max() <= 50 * FLOAT64
