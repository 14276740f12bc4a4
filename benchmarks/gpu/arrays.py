"""Ceilings of a GPU, and products and elementwise operations against them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Options
from benchmarks.common.timing import cupy, milliseconds
from mdqr._backend import for_block
from mdqr._limbs.planes import Kind

MULTIPLE = PRECISIONS[1:]
FIELDS = {"real": float, "complex": complex}
MATMUL_AIMS = {"dd": 500e9, "qd": 200e9, "od": 75e9}
FMA_STEPS, FMA_CHAINS, FMA_THREADS = 4096, 8, 512
FMA = r"""
extern "C" __global__ void fma_chains(double* out, double a, double b) {
    double x[8];
    for (int i = 0; i < 8; ++i)
        x[i] = threadIdx.x + i;
    for (int step = 0; step < 4096; ++step)
        for (int i = 0; i < 8; ++i)
            x[i] = fma(x[i], a, b);
    double sum = 0.0;
    for (int i = 0; i < 8; ++i)
        sum += x[i];
    if (sum == 0.125)  // never: the chains must not be dropped
        out[threadIdx.x] = sum;
}
"""


def draw(
    shape: tuple[int, ...], precision: mdqr.Precision, dtype: type = float, seed: int = 7
) -> mdqr.MDArray:
    """Return numbers with 1 <= abs(x) < 2 in each part and every limb filled, made on the GPU."""
    xp = cupy()
    state = xp.random.RandomState(seed)
    leading = (2, precision.limbs) if dtype is complex else (precision.limbs,)
    block = 1.0 + state.random_sample((*leading, *shape))
    block *= xp.where(state.random_sample(block.shape) < 0.5, -1.0, 1.0)
    for i in range(precision.limbs):
        # A limb of exponent E - 54 is below half an ulp of one of exponent E.
        part = block[:, i] if dtype is complex else block[i]
        part *= 2.0 ** (-54 * i)
    return mdqr.MDArray._wrap(block, precision, dtype is complex)


@cache
def copy_ceiling() -> float:
    """Return the bytes read and written a second by a copy that no cache holds."""
    source = cupy().zeros(2**27)
    target = cupy().empty_like(source)
    time = milliseconds(partial(cupy().copyto, target, source), 15)
    return 2 * source.nbytes / time * 1e3


@cache
def fma_ceiling() -> float:
    """Return the fused multiply-adds a second of independent chains."""
    kernel = cupy().RawKernel(FMA, "fma_chains")
    blocks = 16 * cupy().cuda.Device().attributes["MultiProcessorCount"]
    arguments = (cupy().zeros(FMA_THREADS), np.float64(0.999), np.float64(1e-3))
    time = milliseconds(partial(kernel, (blocks,), (FMA_THREADS,), arguments), 9)
    return blocks * FMA_THREADS * FMA_CHAINS * FMA_STEPS / time * 1e3


@cache
def gemm_ceiling(n: int) -> float:
    """Return the multiply-adds a second of a float64 product of order n."""
    a = cupy().random.RandomState(7).random_sample((n, n))
    return n**3 / milliseconds(partial(cupy().matmul, a, a), 7) * 1e3


def ceilings(options: Options) -> Iterator[Row]:
    """What the device can do."""
    row = partial(Row, "ceilings", who="device", precision="float64")
    yield row("copy, read and written", size="1 GiB", value=copy_ceiling(), unit="bytes/s")
    yield row("FMA", size="", value=fma_ceiling(), unit="multiply-adds/s")
    for n in (4096,) if options.quick else (1024, 4096, 8192):
        yield row("GEMM", size=f"{n}", value=gemm_ceiling(n), unit="multiply-adds/s")


def products(options: Options) -> Iterator[Row]:
    """Direct products, and the float64 work that the GEMM ceiling would have done meanwhile."""
    row = partial(Row, "products", who="mdqr")
    for n in (1024, 2048) if options.quick else (1024, 2048, 4096):
        for field, dtype in FIELDS.items():
            if dtype is complex and n == 4096:
                continue
            for p in MULTIPLE:
                a, b = draw((n, n), p, dtype), draw((n, n), p, dtype, seed=8)
                time = milliseconds(partial(mdqr.linalg.matmul, a, b, method="direct"), 5)
                rate = (1 if dtype is float else 4) * n**3 / time * 1e3
                aim = MATMUL_AIMS.get(p.name) if dtype is float and n > 1024 else None
                unit = "multiply-adds/s"
                yield row(f"matmul, {field}", precision=p.name, size=f"{n}", value=rate, unit=unit,
                          aim=aim)  # fmt: skip
                what, each = f"float64 GEMM work an element, {field}", gemm_ceiling(4096) / rate
                yield row(what, precision=p.name, size=f"{n}", value=each, unit="multiply-adds")


def bandwidth(options: Options) -> Iterator[Row]:
    """Elementwise operations and matrix-vector products as fractions of the copy ceiling."""
    values = 2**22 if options.quick else 2**24
    calls = {
        "add": (3, lambda x, y: x + y),
        "multiply": (3, lambda x, y: x * y),
        "divide": (3, lambda x, y: x / y),
        "sqrt": (2, lambda x, y: mdqr.sqrt(x)),
    }
    for field, dtype in FIELDS.items():
        for p in PRECISIONS:
            x, y = draw((values,), p, dtype), draw((values,), p, dtype, seed=8)
            for what, (blocks, call) in calls.items():
                time = milliseconds(partial(call, x, y), 9)
                yield from moved(f"{what}, {field}", p, f"{values}", blocks * x.limbs.nbytes, time)
    n = 2048 if options.quick else 4096
    for field, dtype in FIELDS.items():
        for p in PRECISIONS:
            a, x = draw((n, n), p, dtype), draw((n,), p, dtype, seed=8)
            time = milliseconds(partial(mdqr.linalg.matmul, a, x), 9)
            yield from moved(f"matvec, {field}", p, f"{n}", a.limbs.nbytes, time)
    yield from vectors(2048 if options.quick else 8192)


def elementary(options: Options) -> Iterator[Row]:
    """Elementary functions, and the multiply-adds that the ceiling would have done meanwhile."""
    values = 2**20 if options.quick else 2**22
    for p in PRECISIONS:
        x = mdqr.abs(draw((values,), p))
        for function in (mdqr.exp, mdqr.log, mdqr.sin):
            name = function.__name__
            rate = values / milliseconds(partial(function, x), 9) * 1e3
            yield Row("elementary", name, "mdqr", p.name, f"{values}", rate, "values/s")
            each = fma_ceiling() / rate
            yield Row("elementary", f"FMA work a value, {name}", "mdqr", p.name, f"{values}", each,
                      "multiply-adds")  # fmt: skip


def vectors(n: int) -> Iterator[Row]:
    """Products and residuals of float64 data and of data of the precision with one vector."""
    for p in MULTIPLE:
        x, kind = draw((n, 1), p, seed=8).limbs, Kind(p.limbs, False)
        backend = for_block(x)
        for data in (PRECISIONS[0], p):
            a = draw((n, n), data).limbs
            for name, side in (("A x", a), ("A^H r", a.swapaxes(-1, -2))):
                product = partial(backend.matmul, side, x, kind=kind)
                residual = partial(backend.residual, [(1, x)], side, x, kind=kind)
                for what, call in ((name, product), (f"residual, {name}", residual)):
                    yield Row("bandwidth", what, "mdqr", f"{data.name} times {p.name}", f"{n}",
                              n * n / milliseconds(call, 9) * 1e3, "multiply-adds/s")  # fmt: skip


def moved(what: str, p: mdqr.Precision, size: str, nbytes: int, time: float) -> Iterator[Row]:
    """Yield the bytes a second and their fraction of the copy ceiling."""
    rate = nbytes / time * 1e3
    yield Row("bandwidth", what, "mdqr", p.name, size, rate, "bytes/s")
    fraction = rate / copy_ceiling()
    yield Row("bandwidth", f"{what}, of the ceiling", "mdqr", p.name, size, fraction, "parts")
