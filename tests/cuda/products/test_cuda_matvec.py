"""Sums along rows, which make products of few columns and all residuals, run on the CPU."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from product_cases import CASES, WIDE_RANGE, call, check, check_residual, draw

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.products import matvec
from mdqr._backend.cuda.runtime.kernels import matrix_view
from mdqr._limbs.planes import Kind
from mdqr.testing import arrays, assert_close


@pytest.fixture(scope="session", params=CASES)
def kind(request):
    """A precision and a field."""
    return request.param


def in_columns(a):
    """The same values with neighbours of a column side by side."""
    limbs = np.ascontiguousarray(a.limbs.swapaxes(-1, -2)).swapaxes(-1, -2)
    return mdqr.from_limbs(limbs, dtype=complex if a.is_complex else float, normalize=False)


def growing(kind, rng, m, k):
    """A matrix and a vector that start with zeros and grow by 2^14 along the terms."""
    a, b = draw(kind, rng, m, k), draw(kind, rng, k, 1)
    steps = np.arange(k)
    up = mdqr.array(np.where(steps < 40, 0.0, np.ldexp(1.0, 14 * steps // k)), precision=kind[0])
    return a * up, b * up[:, None]


@pytest.mark.parametrize("shape", [(2, 2100), (9, 300), (35, 300)], ids=str)
@pytest.mark.parametrize("limits", [(1, 1), (1, 64), (10**9, 1), (10**9, 64)], ids=str)
def test_ways_to_sum_along_rows(kernels, kind, shape, limits, rng, monkeypatch):
    """Lanes along rows and along columns, several rows a warp, and parts of the vector in turn."""
    for name, limit in zip(("_BUSY", "_MOST_SPLITS"), limits, strict=True):
        monkeypatch.setattr(matvec, name, limit)
    kernels.plans.clear()
    a, b = growing(kind, rng, *shape)
    check(call(kernels, a, b), a, b)
    check(call(kernels, in_columns(a), b), a, b)
    kernels.plans.clear()


@pytest.mark.parametrize("far", [0, -60, -300])
def test_one_limb(kernels, kind, far, rng):
    """Float64 data, of which two digits hold all values, not some, and none but the largest."""
    a = draw((mdqr.d, kind[1]), rng, 9, 300) * np.where(rng.random(300) < 0.5, 1.0, 2.0**far)
    b = draw(kind, rng, 300, 1)
    for x in (a, in_columns(a)):
        check(call(kernels, x, b), x, b)
        check_residual(kernels, kind, [(1, call(kernels, x, b))], x, b, False)


@pytest.mark.parametrize("columns", [False, True])
def test_residual_of_long_rows(kernels, kind, columns, rng):
    a, b = growing(kind, rng, 9, 300)
    product = call(kernels, a, b)
    check_residual(kernels, kind, [(1, product)], in_columns(a) if columns else a, b, False)


def test_sums_of_many_parts_carry(kernels, monkeypatch):
    """Rows of more parts than 2^63 can hold: the sums of one part, again and again."""
    terms, parts = 256, 40_000
    third = mdqr.full((8, terms), Fraction(1, 3), precision=mdqr.qd)
    tiles = matvec._Tiles(matvec._ROW_A_WARP, terms, 1, 1, 1, terms, 1)
    monkeypatch.setattr(matvec._Tiles, "of", lambda *_: tiles)
    # As in struct matvec_arguments: two views and six numbers, then these.
    start = 2 * len(matrix_view(kernels, third.limbs, False)) + 7
    splits, sums, exponent = start, start + 3, start + 4
    launch, kept = kernels.launch, []

    def repeated(module, name, arguments, **options):
        if name == "mdqr_matvec_finish":
            arguments = arguments.copy()
            for place, words in ((sums, 7 * 8), (exponent, 8)):
                memory = (ctypes.c_int64 * words).from_address(int(arguments[place]))
                one = np.ctypeslib.as_array(memory)
                kept.append(np.tile(one, parts))
                arguments[place] = kept[-1].ctypes.data
            assert arguments[splits] == 1
            arguments[splits] = parts
        launch(module, name, arguments, **options)

    monkeypatch.setattr(kernels, "launch", repeated)
    kernels.plans.clear()
    found = call(kernels, third, third[0, :, None])
    kernels.plans.clear()
    assert len(kept) == 2
    wanted = sum(map(Fraction, third.limbs[:, 0, 0].tolist())) ** 2 * terms * parts
    assert_close(found, [[wanted]] * 8, ulps=1)


@pytest.mark.parametrize("n", [1, 3])
def test_terms_that_are_left_where_the_largest_meet_zeros(kernels, kind, n):
    """What underflows next to the largest values is no zero."""
    precision, dtype = kind
    options = {"precision": precision, "dtype": dtype}
    for large, small in ((2.0**900, 2.0**-300), (2.0**540, 2.0**-540)):
        apart = mdqr.array([[large] * n, [small] * n], **options)
        last = mdqr.array([[0, 1]] * 3, **options)
        for a, b in ((last, apart), (apart.T, last.T)):
            assert (call(kernels, a, b) == small).all()
            left = CudaBackend(kernels).residual(
                [], a.limbs, b.limbs, kind=Kind(precision.limbs, dtype is complex)
            )
            assert (mdqr.from_limbs(left, dtype=dtype) == -small).all()


@pytest.mark.parametrize("shape", [(7, 20, 1), (3, 30, 4), (2, 5, 9)], ids=str)
def test_residual(kernels, kind, shape, rng):
    m, k, n = shape
    a, b = draw(kind, rng, m, k), draw(kind, rng, k, n)
    product = call(kernels, a, b)
    small = draw(kind, rng, m, n) * np.ldexp(1.0, -kind[0].bits // 2)
    check_residual(kernels, kind, [(1, product)], a, b, False)
    check_residual(kernels, kind, [(1, product), (-1, small)], a, b, False)
    check_residual(kernels, kind, [], a, b, True)
    wide = mdqr.from_limbs(a.limbs[..., :1, :, :].copy(), dtype=kind[1], normalize=False)
    check_residual(kernels, kind, [(-1, small), (1, product), (1, product)], wide, b, True)


@settings(max_examples=10)
@given(data=st.data())
def test_residual_of_entries_of_a_wide_range(kernels, kind, data):
    a = data.draw(arrays(kind[0], (3, 5), dtype=kind[1], **WIDE_RANGE))
    b = data.draw(arrays(kind[0], (5, 2), dtype=kind[1], **WIDE_RANGE))
    check_residual(kernels, kind, [(1, call(kernels, a, b))], a, b, False)


def test_residual_of_one_limb(kernels, rng):
    a, b = (mdqr.array(rng.standard_normal(s), precision=mdqr.d) for s in ((6, 9), (9, 2)))
    c = mdqr.array(a.to_numpy() @ b.to_numpy(), precision=mdqr.d)
    check_residual(kernels, (mdqr.d, float), [(1, c)], a, b, False)


def test_too_many_terms(cuda):
    x = np.zeros((2, 1, 1))
    with pytest.raises(ValueError, match="a residual takes at most 8 terms on the GPU; got 9"):
        cuda.residual([(1, x)] * 9, x, x, kind=Kind(2, False))
