"""Q times a few columns by one launch: the CUDA kernel, emulated, against the host's products."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.factor import reflect
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr.linalg._factor import householder


@pytest.fixture(scope="module")
def backend(kernels):
    return CudaBackend(kernels)


def factored(m, n, precision, dtype, rng, tile, batch=()):
    """Factors of random matrices on the host."""
    parts = [cases.random(m, n, precision, dtype, rng) for _ in range(max(1, *batch, 1))]
    a = mdqr.stack(parts) if batch else parts[0]
    options = {"kind": Kind(precision.limbs, a.is_complex), "tile": tile}
    return householder.factor(host.backend(), a.limbs.copy(), **options)


def wrapped(block, precision, dtype):
    return mdqr.MDArray._wrap(block, precision, dtype is complex)


def check(backend, factors, x, precision, dtype, adjoint):
    """Both results are within the error of the reflections from each other, column by column."""
    options = {"kind": Kind(precision.limbs, dtype is complex), "adjoint": adjoint}
    assert reflect.serves(factors.vs, x, dtype is complex)
    backend.kernels.launched.clear()
    found, wanted = x.copy(), x.copy()
    backend.reflect_all(factors.vs, factors.ts, found, **options)
    assert set(backend.kernels.launched) == {"mdqr_reflect"}
    host.backend().reflect_all(factors.vs, factors.ts, wanted, **options)
    error = abs(wrapped(found, precision, dtype) - wrapped(wanted, precision, dtype))
    size = mdqr.sqrt((abs(wrapped(x, precision, dtype)) ** 2).sum(axis=-2, keepdims=True))
    m, reflections = factors.rows, factors.count
    # Both err by (m + 8) eps a product of three, once for each tile at most.
    allowed = 6 * (m + 16) * max(1, reflections) * precision.eps * size
    assert (error <= allowed).all()
    return found


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize(
    ("m", "n", "tile", "columns", "batch"),
    [
        (1, 1, 1, 1, ()),
        (7, 5, 2, 1, ()),
        (21, 10, 4, 3, ()),
        (40, 12, 5, 2, ()),
        (9, 12, 4, 2, (2,)),
        (30, 3, 3, 1, (3,)),
    ],
    ids=str,
)
def test_few_columns(backend, multiple, dtype, adjoint, m, n, tile, columns, batch, rng):
    if multiple.limbs * (2 if dtype is complex else 1) > 8 and m > 21:
        m = 25  # several blocks; the emulation takes seconds
    factors = factored(m, n, multiple, dtype, rng, tile, batch)
    parts = [cases.random(m, columns, multiple, dtype, rng) for _ in range(max(1, *batch, 1))]
    x = (mdqr.stack(parts) if batch else parts[0]).limbs
    check(backend, factors, x, multiple, dtype, adjoint)


@pytest.mark.parametrize("adjoint", [False, True])
def test_wide_tiles_and_many(backend, dtype, adjoint, rng):
    """Tiles wider than a warp, and more tiles than one launch takes."""
    for m, n, tile in ((90, 80, 40), (70, 70, 1)):
        factors = factored(m, n, mdqr.dd, dtype, rng, tile)
        x = cases.random(m, 1, mdqr.dd, dtype, rng).limbs
        check(backend, factors, x, mdqr.dd, dtype, adjoint)


@pytest.mark.parametrize("exponent", [-1000, -300, 500, 1000])
def test_columns_of_any_size(backend, multiple, exponent, rng):
    """The column is scaled inside: powers of two change no bit that stays above 2**-1074."""
    factors = factored(20, 6, multiple, float, rng, 3)
    x = cases.random(20, 2, multiple, float, rng)
    x = x * 2.0 ** -int(np.ceil(np.log2(abs(x.to_numpy()).max())))
    options = {"kind": Kind(multiple.limbs, False), "adjoint": True}
    plain, moved = x.limbs.copy(), (x * 2.0**exponent).limbs
    backend.reflect_all(factors.vs, factors.ts, plain, **options)
    backend.reflect_all(factors.vs, factors.ts, moved, **options)
    scaled = (wrapped(plain, multiple, float) * 2.0**exponent).limbs
    np.testing.assert_array_equal(moved[0], scaled[0])
    if exponent > 0:
        np.testing.assert_array_equal(moved, scaled)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_zeros_and_what_is_not_finite(backend, dtype, bad, rng):
    factors = factored(20, 6, mdqr.dd, dtype, rng, 3)
    x = cases.random(20, 2, mdqr.dd, dtype, rng).limbs
    wanted = x.copy()
    options = {"kind": Kind(2, dtype is complex), "adjoint": True}
    backend.reflect_all(factors.vs, factors.ts, wanted, **options)
    if bad == 0.0:
        x[..., 1] = 0.0
    else:
        x[(0, 0, 11, 1) if dtype is complex else (0, 11, 1)] = bad
    backend.reflect_all(factors.vs, factors.ts, x, **options)
    np.testing.assert_array_equal(x[..., 0], wanted[..., 0])
    found = wrapped(x, mdqr.dd, dtype).to_numpy()[:, 1]
    if bad == 0.0:
        assert not found.any()
    else:
        assert not np.isfinite(found[:6]).any()


def test_where_products_are_faster(backend, rng):
    factors = factored(12, 6, mdqr.dd, float, rng, 3)
    for columns in (0, 1, 8, 9):
        x = (
            cases.random(12, columns, mdqr.dd, float, rng).limbs
            if columns
            else np.zeros((2, 12, 0))
        )
        assert reflect.serves(factors.vs, x, False) == (0 < columns <= 8)
    assert not reflect.serves([], np.zeros((2, 12, 1)), False)
    wide = cases.random(12, 9, mdqr.dd, float, rng).limbs
    found = wide.copy()
    options = {"kind": Kind(2, False), "adjoint": True}
    backend.reflect_all(factors.vs, factors.ts, found, **options)
    host.backend().reflect_all(factors.vs, factors.ts, wide, **options)
    np.testing.assert_allclose(found[0], wide[0], rtol=0, atol=1e-10)
