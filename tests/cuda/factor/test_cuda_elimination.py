"""Panels of LU and Cholesky factorisations by emulated threads: the limbs of the host."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import EVERY, assert_same
from emulation.kernels import EmulatedKernels

import mdqr
from mdqr._backend.cuda.factor.elimination import Eliminations
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS

CASES = [
    pytest.param(*case.values, id=case.id, marks=[] if plain else [pytest.mark.long])
    for case in EVERY
    for plain in [case.values[0] in PRECISIONS[1:3] and case.values[1] is not complex]
]
# Rows, columns, and those to eliminate: one warp and several, tall, wide, later columns.
PANELS = [(1, 1, 0, 1), (8, 8, 0, 8), (90, 21, 0, 13), (13, 40, 3, 12)]


@pytest.fixture
def cuda(kernel_folder):
    return Eliminations(EmulatedKernels(kernel_folder))


def drawn(rng, precision, dtype, *shape):
    return mdqr.random.normal(shape, precision=precision, dtype=dtype, rng=rng).limbs


@pytest.mark.parametrize(("precision", "dtype"), CASES)
def test_columns(cuda, precision, dtype, rng):
    kind = Kind(precision.limbs, dtype is complex)
    for m, n, first, last in PANELS:
        a = drawn(rng, precision, dtype, 3, m, n)
        # A zero pivot, and ties, of which the first is taken.
        a[..., 0, :, first] = 0.0
        a[..., 1, m // 2 :, first] = a[..., 1, : m - m // 2, first]
        found = []
        for backend in (cuda, host.backend()):
            lu, places = a.copy(), np.zeros((3, min(m, n)), dtype=np.int64)
            backend.lu_panel(lu, places, first, last, kind=kind)
            found.append((lu, places))
        for here, there in zip(*found, strict=True):
            assert_same(here, there)
        assert (found[0][1][:, first:last] >= np.arange(first, last)).all()


@pytest.mark.parametrize(("precision", "dtype"), CASES)
def test_rows(cuda, precision, dtype, rng):
    kind = Kind(precision.limbs, dtype is complex)
    for w, n in ((1, 1), (8, 8), (7, 150)):
        a, diagonal = drawn(rng, precision, dtype, 2, w, n), np.arange(w)
        a[..., diagonal, diagonal] = 0.0
        leading = a[0, 0] if kind.is_complex else a[0]
        leading[..., diagonal, diagonal] = 9.0
        leading[1, w - 1, w - 1] = -1.0
        wanted = host.backend().cholesky_panel(a, kind=kind)
        assert_same(cuda.cholesky_panel(a, kind=kind), wanted)
        leading = wanted[0, 0] if kind.is_complex else wanted[0]
        assert (leading[..., diagonal, diagonal][0] > 0).all()
        assert not leading[1, w - 1, w - 1] > 0


@pytest.mark.parametrize("layout", ["transposed", "sliced", "reversed"])
def test_views(cuda, layout, rng):
    """Matrices lie in memory as callers have them; what lies between stays as it is."""
    kind, memory = Kind(2, False), drawn(rng, mdqr.dd, float, 2, 30, 40)
    view = {
        "transposed": lambda x: x.swapaxes(-1, -2)[..., :9, :12],
        "sliced": lambda x: x[..., 1:28:3, ::3],
        "reversed": lambda x: x[..., ::-1, ::-1][..., :9, :12],
    }[layout]
    found = []
    for backend in (cuda, host.backend()):
        a, places = memory.copy(), np.zeros((2, 9), dtype=np.int64)
        backend.lu_panel(view(a), places, 0, 9, kind=kind)
        view(a)[...] = backend.cholesky_panel(view(a)[..., :9, :], kind=kind)
        found.append((a, places))
    for here, there in zip(*found, strict=True):
        assert_same(here, there)
