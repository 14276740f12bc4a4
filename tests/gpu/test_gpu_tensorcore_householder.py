"""Householder QR on tensor cores, and the blocked one with a full Q, on the device."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_tensorcore_cases import FAST, columns, errors
from tensorcore_cases import (
    DEFICIENT,
    SPECTRA,
    U32,
    blocked_householder,
    by_blocks,
    kerr,
    kerr_criteria,
    qr,
    with_condition,
)

from mdqr.tensorcore._algorithms.correction import rms_limit
from mdqr.tensorcore._engine.formats import FORMATS
from mdqr.tensorcore._engine.numpy import NumpyEngine
from mdqr.tensorcore._input import engine_for
from mdqr.tensorcore._plan import PANELS

pytestmark = pytest.mark.gpu


def bound(form, n):
    """As of test_tensorcore_householder.py, with the truncated sums of tensor cores."""
    levels = max(int(np.ceil(np.log2(max(n, 1) / 128))), 0)
    return 8 * levels * form.unit + 16 * np.sqrt(n) * U32 + 32 * U32


@pytest.mark.parametrize("shape", [(1, 1), (40, 37), (128, 128), (5000, 128)], ids=str)
def test_reflections_of_an_orthonormal_panel(cupy, shape, rng):
    q, _ = np.linalg.qr(rng.standard_normal(shape))
    n, found = shape[1], []
    device = engine_for(cupy.zeros((1, 1)))
    for engine, y in (
        (device, columns(cupy, q)),
        (NumpyEngine(), np.asarray(q, np.float32, order="F")),
    ):
        k, signs = engine.matrix(n, n), engine.matrix(n, 1)[:, 0]
        engine.reflector(y, k, signs)
        found.append((y, k, signs))
    for x, y in zip(*found, strict=True):
        # Float64 inside, with fused multiplications on one side.
        assert np.abs(cupy.asnumpy(x) - y).max() <= U32


@pytest.mark.parametrize("shape", [(12, 12), (150, 128), (3000, 40), (50000, 128)], ids=str)
def test_orthonormal_panels(cupy, shape, rng):
    n = shape[1]
    for cond, spectrum in ((1, "cluster"), (3e4, "cluster"), (1e6, "geometric")):
        a = columns(cupy, with_condition(rng, *shape, cond, spectrum))
        engine = engine_for(a)
        q, r = a.copy(order="F"), engine.matrix(n, n, zero=True)
        engine.orthonormal(q, r, done=False)
        back, departure = errors(cupy, a, q, r)
        assert back <= 8 * U32
        assert departure <= 4 * U32
        assert not engine.report()[0].breakdown
        a[:, n // 2] = a[:, 0]
        engine.orthonormal(a, r, done=False)
        assert engine.report()[0].breakdown


@pytest.mark.parametrize("panel", FAST)
@pytest.mark.parametrize("compute", FORMATS)
def test_the_device_does_what_the_host_does(cupy, compute, panel, rng):
    a = rng.standard_normal((900, 300))
    device, host = (
        qr(x, method="householder", compute=compute, panel=panel) for x in (cupy.asarray(a), a)
    )
    for x, y in zip(device, host, strict=True):
        # Rounded operands may go the other way where sums differ.
        accepted = 8 * FORMATS[compute].unit * np.abs(y).max() + 64 * U32
        assert np.abs(cupy.asnumpy(x) - y).max() <= accepted


SHAPES = [(1, 1), (5, 3), (50, 50), (300, 128), (1000, 129), (777, 777), (5000, 513), (40, 90)]
SHAPES += [(300, 1000), (20000, 40), (60000, 300)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("panel", PANELS)
def test_factors(cupy, panel, shape, rng):
    (m, n), k = shape, min(shape)
    for order, dtype in (("C", np.float32), ("F", np.float64)):
        a = rng.standard_normal((m, n)) * 10.0 ** rng.integers(-25, 25, n)
        a = cupy.asarray(a, dtype=dtype, order=order)
        for compute in FORMATS:
            form = FORMATS[compute]
            q, r = result = qr(a, method="householder", compute=compute, panel=panel)
            assert q.dtype == r.dtype == dtype
            back, departure = errors(cupy, a, q, r)
            assert back <= bound(form, k) + (4 * form.unit if m < n else 0)
            assert departure <= bound(form, k)
            assert not cupy.tril(r, -1).any()
            assert float(cupy.diagonal(r).min()) >= 0
            assert result.info.panel == panel


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("panel", PANELS)
def test_orthogonality_does_not_depend_on_the_condition(cupy, panel, spectrum, rng):
    for cond in (1e0, 1e2, 1e4, 1e7, 1e12):
        a = cupy.asarray(with_condition(rng, 900, 700, cond, spectrum))
        for compute in ("fp16", "bf16", "fp16x2"):
            back, departure = errors(
                cupy, a, *qr(a, method="householder", compute=compute, panel=panel)
            )
            assert back <= bound(FORMATS[compute], 700)
            assert departure <= bound(FORMATS[compute], 700)
            found = qr(a, method="householder", compute=compute, panel=panel, reorthogonalize=True)
            back, departure = errors(cupy, a, *found)
            assert back <= 1.5 * bound(FORMATS[compute], 700)
            assert departure <= 2 * np.sqrt(700) * rms_limit(700)


@pytest.mark.parametrize("kind", DEFICIENT)
@pytest.mark.parametrize("panel", PANELS)
def test_rank_deficient(cupy, panel, kind, rng):
    a = cupy.asarray(DEFICIENT[kind](rng))
    n = a.shape[1]
    for compute in ("fp16", "fp16x2"):
        for again in (False, True):
            back, departure = errors(
                cupy,
                a,
                *qr(a, method="householder", compute=compute, panel=panel, reorthogonalize=again),
            )
            assert back <= bound(FORMATS[compute], n)
            accepted = 2 * np.sqrt(n) * rms_limit(n) if again else bound(FORMATS[compute], n)
            assert departure <= accepted
    for mode in ("reduced", "complete"):
        back, departure = errors(cupy, a, *blocked_householder(a, mode, panel=panel))
        assert back <= bound(FORMATS["fp32"], n)
        assert departure <= bound(FORMATS["fp32"], n)


@pytest.mark.parametrize("shape", [(8192, 4096), (60000, 1000), (4000, 4000)], ids=str)
def test_large(cupy, shape):
    a = cupy.random.RandomState(1).standard_normal(shape, dtype=np.float32)
    for panel in FAST:
        for compute in ("fp16", "fp16x2"):
            back, departure = errors(
                cupy, a, *qr(a, method="householder", compute=compute, panel=panel)
            )
            assert back <= bound(FORMATS[compute], shape[1])
            assert departure <= bound(FORMATS[compute], shape[1])


def test_the_same_bits_again(cupy, rng):
    a = cupy.asarray(rng.standard_normal((3000, 700)))
    for call in (lambda: qr(a, method="householder"), lambda: blocked_householder(a, "complete")):
        for x, y in zip(call(), call(), strict=True):
            assert bool((x == y).all())


def test_what_is_not_finite(cupy, rng):
    a = cupy.asarray(rng.standard_normal((300, 200)))
    a[77, 150] = np.nan
    for panel in PANELS:
        with pytest.raises(np.linalg.LinAlgError, match="qr: a has entries that are not finite"):
            qr(a, method="householder", panel=panel)
        with pytest.raises(np.linalg.LinAlgError, match="blocked_householder: a has entries"):
            blocked_householder(a, panel=panel)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (130, 300), (300, 130), (3000, 400)], ids=str)
def test_blocked(cupy, shape, mode, rng):
    (m, n), k = shape, min(shape)
    for block, panel in ((1 if k < 10 else 17, "cholesky"), (128, "caqr"), (64, "geqrf")):
        for order, dtype in (("C", np.float32), ("F", np.float64)):
            a = cupy.asarray(rng.standard_normal(shape), dtype=dtype, order=order)
            q, r = by_blocks(block, a, mode, panel=panel)
            wide = m if mode == "complete" else k
            assert (q.shape, r.shape) == ((m, wide), (wide, n))
            assert q.dtype == r.dtype == dtype
            back, departure = errors(cupy, a, q, r)
            accepted = (64 + 4 * -(-k // block) + 2 * np.sqrt(m)) * U32
            assert back <= accepted
            assert departure <= 2 * accepted
            assert not cupy.tril(r, -1).any()
            assert float(cupy.diagonal(r).min()) >= 0


@pytest.mark.parametrize("n", [1, 33, 128, 256, 512])
def test_kerr_campbell_and_richards(cupy, n, rng):
    """Twice as many rows as columns, full Q, the three criteria of the paper."""
    a = kerr(rng, 2 * n, n).astype(np.float32)
    for panel in PANELS:
        found = blocked_householder(cupy.asarray(a), "complete", panel=panel)
        assert found.Q.shape == (2 * n, 2 * n)
        assert max(kerr_criteria(a, *(cupy.asnumpy(x) for x in found))) <= 1
