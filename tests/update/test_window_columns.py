"""Columns that are reduced from their ends upwards: both backends against exact arithmetic."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest
from cuda_cases import EVERY, FIELDS, assert_same
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_cases import exact
from window_cases import check_form, errors, identity, leave_out_long

from mdqr._backend.cuda.factor import window
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays

every = pytest.mark.parametrize(("precision", "dtype"), EVERY)


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.kernels)])
def backend(request):
    return host.backend() if request.param == "cpu" else request.getfixturevalue("cuda")


def reduced(backend, block, dtype):
    """Zeta above zeros, and E."""
    z, field = block.copy(), dtype is complex
    e = identity(block, block.shape[-2], field=field)
    limbs = block.shape[1 if field else 0]
    leave_out_long(backend, limbs)
    backend.rise(z, e[..., :0], e, kind=Kind(limbs, field))
    return z, e


def accept(backend, block, precision, dtype):
    """Each reflector of two entries errs by some roundings; E has one diagonal above the main."""
    z, e = reduced(backend, block, dtype)
    check_form(z, dtype is complex)
    assert not np.triu(e, 2).any()
    assert max(errors(block, z, e, dtype is complex)) <= 20 * block.shape[-2] * precision.eps
    return z, e


@every
@pytest.mark.parametrize("m", [2, 3, 9, 33])
def test_acceptance(backend, precision, dtype, m, rng):
    accept(backend, cases.random(m, 1, precision, dtype, rng).limbs, precision, dtype)


@settings(max_examples=10)
@given(data=st.data())
@every
def test_acceptance_of_entries_of_all_sizes(backend, precision, dtype, data):
    """Entries over 400 binary orders, with gaps, runs of ones and zeros."""
    options = {"allow_nan": False, "allow_infinity": False}
    options |= {"min_exponent": -200, "max_exponent": 200}
    m = data.draw(st.integers(2, 7))
    a = data.draw(arrays(precision, (m, 1), dtype=dtype, **options))
    accept(backend, a.limbs, precision, dtype)


@every
def test_zeros(backend, precision, dtype, rng):
    """At the end, in the middle, everywhere; and a last entry that is all there is."""
    whole = cases.random(8, 1, precision, dtype, rng).limbs
    for zeros in (slice(5, 8), slice(2, 4), slice(0, 7), slice(0, 8)):
        block = whole.copy()
        block[..., zeros, :] = 0.0
        z, e = accept(backend, block, precision, dtype)
        if zeros == slice(0, 8):
            assert not z.any()
            assert_same(e, identity(block, 8, field=dtype is complex))


@every
@pytest.mark.parametrize("exponent", [-900, 900])
def test_powers_of_two_leave_the_orthogonal_matrix(backend, precision, dtype, exponent, rng):
    block = cases.random(7, 1, precision, dtype, rng).limbs
    far = np.ldexp(block, exponent)
    (z, e), (far_z, far_e) = (reduced(backend, x, dtype) for x in (block, far))
    if not np.array_equal(np.ldexp(far, -exponent), block):
        accept(backend, far, precision, dtype)  # the last limbs have left the range
        return
    assert_same(far_e, e)
    assert np.array_equal(far_z, np.ldexp(z, exponent))


@every
def test_both_backends_give_the_same_column(cuda, precision, dtype, rng):
    block = cases.random(12, 1, precision, dtype, rng).limbs
    found = [reduced(b, block, dtype)[0] for b in (host.backend(), cuda)]
    assert_same(*found)


@every
def test_triangles_get_one_diagonal(backend, precision, dtype, rng):
    """What is below it is exactly zero; products are those with E."""
    field, m = dtype is complex, 6
    z = cases.random(m, 1, precision, dtype, rng).limbs.copy()
    left = np.triu(cases.random(m, 9, precision, dtype, rng).limbs)
    right = cases.random(5, m, precision, dtype, rng).limbs.copy()
    before = left.copy(), right.copy()
    _, e = reduced(backend, z, dtype)
    backend.rise(z, left, right, kind=Kind(precision.limbs, field))
    assert not np.tril(left, -2).any()
    orthogonal = exact(e, field)
    wanted = orthogonal.H @ exact(before[0], field), orthogonal.H @ exact(before[1], field).H
    for found, product in zip((exact(left, field), exact(right, field).H), wanted, strict=True):
        gap = found - product
        squares = [part.squares().sum(axis=0) for part in (gap, product)]
        sizes = cases.quotients(squares[0], gap.exponent, squares[1], product.exponent)
        assert sizes.max() <= 40 * m * precision.eps


@pytest.mark.parametrize("precision", PRECISIONS[:2], ids=str)
@pytest.mark.parametrize("dtype", FIELDS)
def test_batches_give_the_bits_of_their_items(backend, precision, dtype, rng):
    front = 2 if dtype is complex else 1
    block = cases.random(42, 1, precision, dtype, rng).limbs
    block = block.reshape(*block.shape[:front], 2, 3, 7, 1).copy()
    found = reduced(backend, block, dtype)
    for index in np.ndindex(2, 3):
        at = (slice(None),) * front + index
        one = reduced(backend, np.ascontiguousarray(block[at]), dtype)
        for x, y in zip(found, one, strict=True):
            assert_same(np.ascontiguousarray(x[at]), y)


@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_float32_is_rounded_once(cuda, kind, rng):
    field = kind == "complex64"
    front = (2, 1) if field else (1,)
    z = rng.standard_normal((*front, 9, 1)).astype(np.float32)
    e = np.empty((*front, 9, 9), np.float32)
    wanted, one = reduced(host.backend(), z.astype(np.float64), complex if field else float)
    cuda.form_window(z, e, below=0, kind=Kind(1, field))
    assert_same(z, wanted.astype(np.float32))
    assert np.abs(e - one).max() <= 2.0**-24


def test_what_fits_a_block_of_threads(cuda, precision, dtype):
    """Columns as high as the windows of one diagonal."""
    kind = Kind(precision.limbs, dtype is complex)
    for m in range(2, cuda.window_columns(1, kind=kind) + 2):
        assert window.rise_plan(m, kind) is not None


def test_refused_columns(cuda):
    for m, n in ((600, 1), (5, 2)):
        r, e = np.zeros((2, m, n)), np.zeros((2, m, m))
        with pytest.raises(ValueError, match="with 0 diagonals below"):
            cuda.form_window(r, e, below=0, kind=Kind(2, False))
