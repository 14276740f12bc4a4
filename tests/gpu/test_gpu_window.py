"""Windows of few rows and columns on the device: the triangle of the host, to the last bit."""

from __future__ import annotations

import gpu_cases as cases
import numpy as np
import pytest

import mdqr
from mdqr._backend.cuda import backend
from mdqr._backend.cuda.factor import window
from mdqr._backend.host import backend as host
from mdqr._limbs.planes import Kind
from mdqr.linalg import certify

pytestmark = pytest.mark.gpu

DIAGONALS = (0, 1, 2, 4, 9, 16, 32)
FLOATS = ["float32", "float64", "complex64", "complex128"]


def band(block, below):
    """The block with zeros below some diagonals."""
    i, j = np.indices(block.shape[-2:])
    return np.where(i <= j + below, block, 0.0)


def drawn(rng, precision, dtype, shape):
    return cases.array(rng, precision, shape, dtype).limbs


def windows(limbs, field):
    """Shapes with their diagonals: as wide as the kernel takes them, and cut off at both ends."""
    for below in DIAGONALS:
        columns = window.columns_of(below, Kind(limbs, field))
        for w in {columns, min(columns, 5)} - {0}:
            for m in {w, w + below // 2, w + below}:
                yield m, w, below


@pytest.mark.usefixtures("host")
def test_triangles_of_the_host(precision, dtype, rng, cupy):
    field, limbs = dtype is complex, precision.limbs
    options = {"kind": Kind(limbs, field)}
    kernels = backend.backend().kernels
    for m, w, below in windows(limbs, field):
        block = band(drawn(rng, precision, dtype, (m, w)), below)
        r = cupy.asarray(block)
        e = cupy.empty((*block.shape[:-1], m))
        window.factor(kernels, r, e, below, **options)
        arrays = [mdqr.from_limbs(x, dtype=dtype, normalize=False) for x in (e, r)]
        found = certify(mdqr.from_limbs(cupy.asarray(block), dtype=dtype), *arrays)
        assert max(found.normwise, found.orthogonality) <= 20 * w
        wanted = block.copy()
        host.backend().window(wanted, wanted[..., :0], None, below=below, **options)
        steps = window.plan(m, w, min(below, m - 1), Kind(limbs, field))
        # Sums have as many parts as on the host where the threads suffice.
        if steps.lanes == window.window_lanes(min(below, m - 1)) and not (field and limbs > 4):
            np.testing.assert_array_equal(r.get(), wanted)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("kind", FLOATS)
def test_floats(kind, rng, cupy):
    """Computed in float64, and rounded where they are float32; also numbers near the ends."""
    field = kind[0] == "c"
    front = (2, 1) if field else (1,)
    kernels = backend.backend().kernels
    for below in (1, 4, 8):
        block = band(rng.standard_normal((*front, 40 + below, 40)), below).astype(
            np.float32 if kind in ("float32", "complex64") else np.float64
        )
        block[..., 7] *= block.dtype.type(2.0**-130)
        r = cupy.asarray(block)
        e = cupy.empty((*front, 40 + below, 40 + below), dtype=r.dtype)
        window.factor(kernels, r, e, below, Kind(1, field))
        wide = block.astype(np.float64)
        one = np.zeros((*front, 40 + below, 40 + below))
        one[(0,) * len(front)] = np.eye(40 + below)
        host.backend().window(wide, wide[..., :0], one, below=below, kind=Kind(1, field))
        np.testing.assert_array_equal(r.get(), wide.astype(block.dtype))
        # float64: both err by some roundings a reflector.
        error = np.abs(e.get().astype(np.float64) - one).max()
        assert error <= (2.0**-24 if block.dtype == np.float32 else 20 * 40 * 2.0**-52)


@pytest.mark.usefixtures("host")
def test_columns_that_rise(precision, dtype, rng, cupy):
    field, limbs = dtype is complex, precision.limbs
    options = {"kind": Kind(limbs, field)}
    for m in (2, 7, window.columns_of(1, Kind(limbs, field)) + 1):
        block = drawn(rng, precision, dtype, (m, 1))
        z, e = cupy.asarray(block), cupy.empty((*block.shape[:-1], m))
        window.rise(backend.backend().kernels, z, e, **options)
        arrays = [mdqr.from_limbs(x, dtype=dtype, normalize=False) for x in (e, z)]
        found = certify(mdqr.from_limbs(cupy.asarray(block), dtype=dtype), *arrays)
        assert max(found.normwise, found.orthogonality) <= 20 * m
        wanted = block.copy()
        host.backend().rise(wanted, wanted[..., :0], None, **options)
        np.testing.assert_array_equal(z.get(), wanted)


@pytest.mark.usefixtures("host")
def test_batches_in_one_launch(multiple, dtype, rng, cupy):
    """Not the vectors of the host: rounding errors turn those of columns of different lengths."""
    field = dtype is complex
    options = {"kind": Kind(multiple.limbs, field)}
    block = band(drawn(rng, multiple, dtype, (300, 9, 8)), 1)
    one = mdqr.eye(9, precision=multiple, dtype=dtype)
    left = np.broadcast_to(one.limbs[..., None, :, :], (*block.shape[:-2], 9, 9)).copy()
    device, r, x = backend.backend(), cupy.asarray(block), cupy.asarray(left)
    device.window(r, x, None, below=1, **options)
    Q, R = (mdqr.from_limbs(y, dtype=dtype, normalize=False) for y in (x, r))
    found = certify(mdqr.from_limbs(cupy.asarray(block), dtype=dtype), Q.H, R)
    for error in (found.normwise, found.orthogonality):
        assert np.max(cases.to_host(error)) <= 20 * 8
    wanted = block.copy()
    host.backend().window(wanted, left[..., :0], None, below=1, **options)
    if not (field and multiple.limbs > 4):
        np.testing.assert_array_equal(r.get(), wanted)
