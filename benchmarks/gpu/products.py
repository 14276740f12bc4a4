"""Products of matrices on a GPU, through residues and of limbs: rates, stages, memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import mdqr
from benchmarks.common.rows import FASTER, Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import Phases, cupy, free, milliseconds, timed
from benchmarks.gpu.arrays import FIELDS, MULTIPLE, draw
from mdqr._backend import for_block
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.runtime.kernels import BatchedProduct
from mdqr._backend.exact import ExactProducts
from mdqr._limbs.planes import Kind
from mdqr.linalg._factor.refine import factor, sweep
from mdqr.linalg._products.exact import product
from mdqr.linalg._shared import tuning

# FLOP/s of "auto" for real numbers, 2 n^3 in a product, by precision and order.
AIMS = {("dd", 1024): 8e12, ("dd", 4096): 25e12, ("qd", 4096): 10e12, ("od", 4096): 4.4e12}
# Four real products over one complex product.
GAINS = {"dd": 1.35, "qd": 1.45, "od": 1.5}
STAGES = [
    (CudaBackend, "exact_scan", "exponents"),
    (CudaBackend, "exact_balance", "exponents"),
    (CudaBackend, "exact_magnitudes", "exponents"),
    (CudaBackend, "exact_least", "exponents"),
    (CudaBackend, "exact_residues", "residues"),
    (CudaBackend, "exact_product", "reduction and reconstruction"),
    (BatchedProduct, "start", "products of bytes"),
]


class Peaks(NamedTuple):
    """Bytes of memory, and operations on bytes by tensor cores, a second."""

    memory: float
    bytes: float


# By NVIDIA's data sheets, dense.
PEAKS = {"H100": Peaks(3.35e12, 1.979e15), "H200": Peaks(4.8e12, 1.979e15)}
# Milliseconds of Q and R of real matrices, by precision and order.
QR_AIMS = {
    "dd": {1024: 9.0, 2048: 22.0, 4096: 80.0},
    "qd": {1024: 15.0, 2048: 42.0, 4096: 150.0},
    "od": {1024: 30.0, 2048: 80.0, 4096: 300.0},
}
QR_METHODS = ("householder", "refine")
QR_STAGES = [
    (factor, "start_of", "start in float64"),
    (sweep, "product", "E and F"),
    (sweep, "times", "other products"),
    (sweep.Sweeps, "_newton", "inverse of R"),
    (sweep.Sweeps, "_sum", "sums"),
]
QR_WITHIN = {
    "E and F": ("other products", "inverse of R"),
    "other products": ("inverse of R",),
    "sums": ("inverse of R",),
}
UNIT = "FLOP/s"


def _rate(
    n: int, p: mdqr.Precision, field: str, method: str, repeats: int = 5
) -> tuple[float, float]:
    """Return the rate of a product in real operations, and its milliseconds."""
    dtype = FIELDS[field]
    a, b = draw((n, n), p, dtype), draw((n, n), p, dtype, seed=8)
    call = partial(mdqr.linalg.matmul, a, b, method=method)
    times, _ = timed(call, repeats=repeats, skip=1)
    return (2 if dtype is float else 8) * n**3 / times[0] * 1e3, times[0]


def rates(options: Options) -> Iterator[Row]:
    """Square matrices by "auto", and the direct way."""
    for n in (256,) if options.quick else (512, 1024, 2048, 4096, 8192):
        for p in MULTIPLE if n < 8192 else MULTIPLE[:1]:
            real = 0.0
            for field in FIELDS:
                what = f"matmul, {field}"
                rate, time = _rate(n, p, field, "auto")
                aim = AIMS.get((p.name, n)) if field == "real" else None
                row = partial(Row, "rates", precision=p.name, size=f"{n}")
                yield row(what, "mdqr, auto", value=rate, unit=UNIT, aim=aim)
                if field == "real":
                    real = time
                else:
                    gain, aim = 4 * real / time, GAINS[p.name] if n == 4096 else None
                    name = "four real products / complex"
                    yield row(name, "mdqr, auto", value=gain, unit=FASTER, aim=aim)
                if n < 4096 or (p is MULTIPLE[0] and field == "real"):
                    rate, _ = _rate(n, p, field, "direct", repeats=1)
                    yield row(what, "mdqr, direct", value=rate, unit=UNIT)


def _by_way(a: mdqr.MDArray, b: mdqr.MDArray, repeats: int) -> dict[str, float]:
    """Return the milliseconds of both ways that "auto" may take."""
    always = dict.fromkeys(tuning.RESIDUES["cuda"], tuning.Crossover(0, 0))
    with patch.dict(tuning.RESIDUES, {"cuda": always}):
        through = milliseconds(partial(mdqr.linalg.matmul, a, b, method="auto"), repeats)
    direct = milliseconds(partial(mdqr.linalg.matmul, a, b, method="direct"), repeats)
    return {"through residues": through, "direct": direct}


def crossover(options: Options) -> Iterator[Row]:
    """Square matrices of orders where the ways meet."""
    for n in (64,) if options.quick else (64, 128, 192, 256, 320, 384, 512, 768, 1024):
        for p in MULTIPLE:
            for field, dtype in FIELDS.items():
                a, b = draw((n, n), p, dtype), draw((n, n), p, dtype, seed=8)
                work = (2 if dtype is float else 8) * n**3
                for way, time in _by_way(a, b, 15).items():
                    rate = work / time * 1e3
                    row = partial(Row, "crossover", f"matmul, {field}", f"mdqr, {way}")
                    yield row(p.name, f"{n}", rate, UNIT)


def few_terms(options: Options) -> Iterator[Row]:
    """Updates of factorisations: sums of few terms."""
    n = 256 if options.quick else 4096
    for k in (64, 128, 256, 512):
        for p in MULTIPLE:
            a, b = draw((n, k), p), draw((k, n), p, seed=8)
            for way, time in _by_way(a, b, 3).items():
                rate = 2 * n * n * k / time * 1e3
                row = partial(Row, "few terms", "matmul, real", f"mdqr, {way}")
                yield row(p.name, f"{n} x {k} x {n}", rate, UNIT)


def _limits(a: mdqr.MDArray, b: mdqr.MDArray) -> dict[str, float]:
    """Return the milliseconds that each stage takes at the rates of the device, if they are known.

    Every byte is read or written once.
    """
    name = cupy().cuda.runtime.getDeviceProperties(a._block.device.id)["name"].decode()
    peaks = next((peaks for model, peaks in PEAKS.items() if model in name), None)
    kind, n = Kind(a.precision.limbs, a.is_complex), a.shape[0]
    backend = cast(ExactProducts, for_block(a._block))
    found = product._integers(backend, a._block, b._block, kind, None, scaled=True)
    if peaks is None or found is None:
        return {}
    parts, planes = 1 + kind.is_complex, found[1].moduli.planes
    entry, leading, size = 8 * kind.limbs * parts, 8 * parts, n * n
    # By stage: bytes of memory, and operations on bytes.
    costs = {
        "exponents": (2 * size * (entry + 2 * leading + 1) + 4 * size, 2 * n**3),
        "products of bytes": (4 * planes * size, 2 * planes * n**3),
        "residues": (2 * size * (entry + planes), 0),
        "reduction and reconstruction": (size * (4 * planes + entry), 0),
    }
    return {
        stage: 1e3 * max(moved / peaks.memory, operations / peaks.bytes)
        for stage, (moved, operations) in costs.items()
    }


def _call(
    backend: CudaBackend, flags: object, operands: Sequence[Any], call: Callable[..., None]
) -> None:
    call(backend, *operands)


def stages(options: Options) -> Iterator[Row]:
    """Where the time of a product through residues goes, and what the device allows."""
    for n in (256,) if options.quick else (1024, 4096):
        for p in MULTIPLE:
            for field, dtype in FIELDS.items():
                a, b = draw((n, n), p, dtype), draw((n, n), p, dtype, seed=8)
                call = partial(mdqr.linalg.matmul, a, b, method="auto")
                # Stages are launches of their own here, where products repeat all of them at once.
                with patch.object(CudaBackend, "repeated", _call):
                    call()
                    found = Phases(STAGES).milliseconds(call)
                for who, times in (("mdqr", found), ("computed limit", _limits(a, b))):
                    for stage, time in times.items():
                        yield Row("stages", f"{stage}, {field}", who, p.name, f"{n}", time, "ms")


def factors(options: Options) -> Iterator[Row]:
    """Q and R by Householder reflections and by products alone, and stages of the latter."""
    orders = (256,) if options.quick else (384, 512, 640, 768, 1024, 1536, 2048, 4096)
    for m, n in [*((n, n) for n in orders), *(() if options.quick else ((8192, 4096),))]:
        size = f"{n}" if m == n else f"{m} x {n}"
        for field, dtype in FIELDS.items() if m == n else [("real", float)]:
            for p in MULTIPLE:
                a = draw((m, n), p, dtype)
                row = partial(Row, "factors", precision=p.name, size=size, unit="ms")
                for method in QR_METHODS:
                    call = partial(mdqr.linalg.qr, a, method=method)
                    aim = QR_AIMS[p.name].get(n) if field == "real" and m == n else None
                    time = milliseconds(call, 3)
                    yield row(f"Q and R, {field}", f"mdqr, {method}", value=time, aim=aim)
                for stage, time in Phases(QR_STAGES, QR_WITHIN).milliseconds(call).items():
                    yield row(f"{stage}, {field}", "mdqr, refine", value=time)
                free()
        a = cupy().random.RandomState(7).random_sample((m, n))
        time = milliseconds(partial(cupy().linalg.qr, a), 3)
        yield Row("factors", "Q and R, real", "cupy.linalg.qr", "float64", size, time, "ms")


def memory(options: Options) -> Iterator[Row]:
    """What the pool takes beyond operands and result."""
    for n, p in ((256, mdqr.dd),) if options.quick else (
        *((4096, p) for p in MULTIPLE), (16384, mdqr.dd),
    ):  # fmt: skip
        a, b = draw((n, n), p), draw((n, n), p, seed=8)
        free()
        pool = cupy().get_default_memory_pool()
        before = pool.total_bytes()
        call = partial(mdqr.linalg.matmul, a, b, method="auto")
        times, found = timed(call, repeats=1, skip=0)
        row = partial(Row, "memory", who="mdqr, auto", precision=p.name, size=f"{n}")
        yield row("pool", value=float(pool.total_bytes()), unit="bytes")
        yield row("more than operands and result", unit="bytes",
                  value=float(pool.total_bytes() - before - found.limbs.nbytes))  # fmt: skip
        yield row("first call", value=times[0], unit="ms")
        del a, b, found, call
        free()


def devices(options: Options) -> Iterator[Row]:
    """Square matrices shared by all GPUs of the machine, and how fast one copies from another."""
    others = [f"cuda:{i}" for i in range(1, cupy().cuda.runtime.getDeviceCount())]
    if not others:
        return
    what = f"matmul on {1 + len(others)} devices, real"
    sizes = ((2048, mdqr.od),) if options.quick else (
        *((n, p) for n in (4096, 8192) for p in MULTIPLE), (16384, mdqr.dd), (16384, mdqr.qd),
    )  # fmt: skip
    a = draw((8192, 8192), mdqr.dd)
    time = milliseconds(partial(a.to_device, others[0]), 5)
    yield Row("devices", "copy", "mdqr", "dd", "8192", a.limbs.nbytes / time * 1e3, "bytes/s")
    for n, p in sizes:
        del a
        free()
        a, b = draw((n, n), p), draw((n, n), p, seed=8)
        row = partial(Row, "devices", what, precision=p.name, size=f"{n}")
        times = []
        for names in ((), others):
            call = partial(mdqr.linalg.matmul, a, b, method="auto", devices=names)
            found, _ = timed(call, repeats=3, skip=2)
            times.append(found[0])
            yield row(who=f"mdqr, {1 + len(names)}", value=found[0], unit="ms")
        yield row(who="mdqr", value=times[0] / times[1], unit=FASTER, aim=1.8)


BENCHMARKS = {
    "gpu-products": Benchmark(
        "gpu-products",
        "Products of matrices on a GPU",
        {
            "rates": rates,
            "stages": stages,
            "crossover": crossover,
            "few terms": few_terms,
            "factors": factors,
            "memory": memory,
            "devices": devices,
        },
        gpu=True,
    )
}
