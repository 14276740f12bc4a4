"""Powers of two for rows and columns: the CUDA kernels, emulated, against the host's NumPy code."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import EVERY, assert_same
from hypothesis import given, settings
from hypothesis import strategies as st

from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.host import backend as host
from mdqr._backend.host.balance import LEAST_DIAGONAL
from mdqr.testing import arrays

kinds = pytest.mark.parametrize(("precision", "dtype"), EVERY)


@pytest.fixture(scope="module")
def backend(kernels):
    return CudaBackend(kernels)


@st.composite
def matrices(draw, precision, dtype, square=True):
    """Full limbs over the whole range, zeros among them, in every memory layout."""
    batch = draw(st.sampled_from([(), (), (3,), (2, 1)]))
    m = draw(st.integers(1, 12))
    n = m if square else draw(st.integers(1, 12))
    values = arrays(precision, (*batch, m, n), dtype=dtype, allow_nan=False, allow_infinity=False)
    block = draw(values).limbs
    layout = draw(st.sampled_from(["plain", "transposed", "reversed", "sliced"]))
    if layout == "transposed":
        return block.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    if layout == "reversed":
        return block[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
    if layout == "sliced":
        memory = np.full((*block.shape[:-1], 2 * n), np.nan)
        memory[..., ::2] = block
        return memory[..., ::2]
    return block


def same(found, wanted):
    for x, y in zip(found, wanted, strict=True):
        assert_same(x, np.ascontiguousarray(y))


@kinds
@settings(max_examples=20)
@given(data=st.data())
def test_triangles(backend, precision, dtype, data):
    is_complex = dtype is complex
    block = data.draw(matrices(precision, dtype))
    options = {
        "is_complex": is_complex,
        "lower": data.draw(st.booleans()),
        "unit_diagonal": data.draw(st.booleans()),
    }
    block = block.copy() if data.draw(st.booleans()) else block
    wanted = host.backend().balance_triangle(block, **options)
    found = backend.balance_triangle(block, **options)
    assert_same(found.faults, wanted.faults)
    if not wanted.faults.any():
        same(found, wanted)


@kinds
@settings(max_examples=20)
@given(data=st.data())
def test_columns(backend, precision, dtype, data):
    is_complex = dtype is complex
    block = data.draw(matrices(precision, dtype, square=False))
    *batch, m, _ = block.shape[2 if is_complex else 1 :]
    # Powers of one matrix serve a batch.
    shape = (m,) if data.draw(st.booleans()) else (*batch, m)
    seed = data.draw(st.integers(0, 2**32))
    rows = np.random.default_rng(seed).integers(-1500, 1500, shape)
    wanted = host.backend().balance_columns(block, rows, is_complex=is_complex)
    found = backend.balance_columns(block, rows, is_complex=is_complex)
    same(found, wanted)
    plain = host.backend().balance_columns(block, rows * 0, is_complex=is_complex)
    for each in (host.backend(), backend):
        same(each.balance_columns(block, None, is_complex=is_complex), plain)
    same(
        backend.scale(found[0], rows, found[1], is_complex=is_complex),
        host.backend().scale(wanted[0], rows, wanted[1], is_complex=is_complex),
    )


def nearly(n, scale, dtype):
    """A triangle of ones but for one entry: the diagonal one below it is scaled down with it."""
    a = np.triu(np.ones((n, n), dtype=dtype))
    a[0, 1] = scale
    return np.stack([a.real, a.imag])[:, None] if dtype is complex else a[None]


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("lower", [False, True])
def test_a_diagonal_that_would_vanish_is_left_alone(backend, dtype, lower):
    is_complex = dtype is complex
    for exponent in (-LEAST_DIAGONAL - 1, -LEAST_DIAGONAL, -LEAST_DIAGONAL + 1):
        a = nearly(40, 2.0**exponent, dtype)
        pair = np.concatenate([a[..., None, :, :], nearly(40, 2.0, dtype)[..., None, :, :]], -3)
        block = pair[..., ::-1, ::-1] if lower else pair
        options = {"is_complex": is_complex, "lower": lower, "unit_diagonal": False}
        found = backend.balance_triangle(block, **options)
        same(found, host.backend().balance_triangle(block, **options))
        assert found.columns[0].any() == (exponent <= -LEAST_DIAGONAL)
        assert found.columns[1].any()


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0])
@pytest.mark.parametrize("place", [(3, 3), (2, 5), (39, 39)])
def test_faults(backend, dtype, bad, place):
    block = nearly(40, 1.0, dtype)
    block[(slice(None), 0, *place) if dtype is complex else (0, *place)] = bad
    for lower in (False, True):
        for unit in (False, True):
            options = {"is_complex": dtype is complex, "lower": lower, "unit_diagonal": unit}
            faults = backend.balance_triangle(block, **options).faults
            assert_same(faults, host.backend().balance_triangle(block, **options).faults)
            on_diagonal = place[0] == place[1]
            read = not unit if on_diagonal else not lower
            assert faults[0] == (read and bad != 0.0)
            assert faults[1] == (on_diagonal and not unit and bad == 0.0)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_told(backend, dtype, bad):
    block = nearly(5, 1.0, dtype)
    block[(1, 0, 2, 4) if dtype is complex else (0, 2, 4)] = bad
    zeros = np.zeros(5, dtype=np.int64)
    scaled, powers = backend.balance_columns(block, zeros, is_complex=dtype is complex)
    assert powers.tolist() == [-1, -1, -1, -1, 0]
    assert backend.scale(scaled, zeros, zeros, is_complex=dtype is complex)[1].tolist() == [1]
    assert backend.scale(block[..., :4], zeros, zeros[:4], is_complex=dtype is complex)[1] == 0
    # 2**1100 is not finite.
    assert backend.scale(block[..., :4], zeros + 1100, zeros[:4], is_complex=dtype is complex)[1]


@pytest.mark.parametrize("shape", [(0, 0), (4, 0), (2, 0, 0)], ids=str)
def test_empty(backend, shape):
    for each in (backend, host.backend()):
        block = np.zeros((2, *shape))
        if shape[-1] == shape[-2]:
            found = each.balance_triangle(block, is_complex=False, lower=True, unit_diagonal=False)
            assert found.rows.shape == found.columns.shape == shape[:-1]
            assert found.faults.tolist() == [0, 0]
        rows, columns = (np.zeros((*shape[:-2], n), dtype=np.int64) for n in shape[-2:])
        scaled, powers = each.balance_columns(block, rows, is_complex=False)
        assert (scaled.shape, powers.shape) == (block.shape, columns.shape)
        assert each.scale(block, rows, columns, is_complex=False)[1].tolist() == [0]


def test_long_and_wide_matrices(backend, rng):
    """Several lines a block, several blocks a matrix, more rows than threads."""
    for shape in ((1030, 1), (3, 700), (600, 9), (2, 33, 20)):
        block = np.ldexp(rng.standard_normal((1, *shape)), rng.integers(-99, 99, shape))
        rows = rng.integers(-9, 9, shape[:-1])
        for x in (block, np.asfortranarray(block)):
            same(
                backend.balance_columns(x, rows, is_complex=False),
                host.backend().balance_columns(x, rows, is_complex=False),
            )


@kinds
@settings(max_examples=20)
@given(data=st.data())
def test_powers_of_two_for_both_parts(backend, precision, dtype, data):
    """Exponents for all, rows, columns and one; many matrices, of which NumPy makes no copies."""
    block = data.draw(matrices(precision, dtype, square=False))
    rng, (m, n) = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))), block.shape[-2:]
    parts = block if dtype is complex else block[None]
    for shape in ((m, n), (m, 1), (n,), (), (2001, *(1,) * (block.ndim - 1), 1)):
        exponent = rng.integers(-2200, 2200, size=shape)
        found = host.backend().ldexp(block, exponent, is_complex=dtype is complex)
        wanted = np.stack([host.backend().ldexp(part, exponent) for part in parts])
        same([found], [wanted if dtype is complex else wanted[0]])
        if len(shape) < 3:
            same([backend.ldexp(block, exponent, is_complex=dtype is complex)], [found])
