"""Power series on a GPU: one large system, and many start points of a small one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from statistics import median
from unittest import mock

import numpy as np

import mdqr
from benchmarks.common.rows import FASTER, Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import Phases, milliseconds
from benchmarks.cpu.series import DEGREE, cyclic, exponential
from benchmarks.gpu.arrays import MULTIPLE
from mdqr._backend import for_block
from mdqr._backend.host import backend
from mdqr.series import System, newton_series
from mdqr.series._solver import online
from mdqr.series._solver.equations import Equations
from mdqr.series._solver.inverse import Inverse

LARGE_AIMS = {"qd": 1000.0, "od": 4000.0}  # milliseconds
BATCH_AIM, GAIN_AIM = 50.0, 50.0
# Double operations of a multiplication and an addition, as PHCpack counts them.
OPERATIONS = {"dd": 43, "qd": 425, "od": 2012}


def large(options: Options) -> Iterator[Row]:
    """Products of exponentials in many unknowns."""
    n = 128 if options.quick else 1024
    system, x0 = exponential(n, DEGREE)
    for p in MULTIPLE:
        start = mdqr.array(x0, precision=p, device="cuda")
        call = partial(newton_series, system, start, degree=DEGREE, precision=p)
        aim = None if options.quick else LARGE_AIMS.get(p.name)
        value = milliseconds(call, 3)
        yield Row("large", "exponential", "mdqr", p.name, f"{n}", value, "ms", aim)


def stages(options: Options) -> Iterator[Row]:
    """Where the time of the large system goes, the rate of its products, and launches an order."""
    n = 128 if options.quick else 1024
    system, x0 = exponential(n, DEGREE)
    for p in MULTIPLE:
        start = mdqr.array(x0, precision=p, device="cuda")
        own = for_block(start.limbs)
        targets = [
            (own, "series_order", "products"),
            (own, "series_equations", "equations"),
            (Equations, "jacobian", "Jacobian"),
            (online, "left_inverse", "QR and inverse"),
            (Inverse, "solve", "solutions"),
        ]
        call = partial(newton_series, system, start, degree=DEGREE, precision=p)
        call()
        found = [Phases(targets).milliseconds(call) for _ in range(3)]
        times = {name: median(one[name] for one in found) for name in found[0]}
        for name, value in times.items():
            yield Row("stages", name, "mdqr", p.name, f"{n}", value, "ms")
        # Inner terms, and both ends twice: before and behind the solution of an order.
        terms = (n - 1) * (DEGREE * (DEGREE - 1) // 2 + 4 * DEGREE)
        rate = terms * OPERATIONS[p.name] / times["products"] / 1e6
        yield Row("stages", "products, double operations", "mdqr", p.name, f"{n}", rate, "G/s")
        yield Row("stages", "launches an order", "mdqr", p.name, f"{n}",
                  launches(system, start, p), "launches")  # fmt: skip


def launches(system: System, start: mdqr.MDArray, precision: mdqr.Precision) -> float:
    """Return how many kernels of mdqr one more order launches."""
    kernels = for_block(start.limbs).kernels
    counts = []
    for degree in (DEGREE // 2, DEGREE):
        with mock.patch.object(kernels, "repeat", wraps=kernels.repeat) as repeat:
            newton_series(system, start, degree=degree, precision=precision)
            counts.append(sum(len(call.args[0]) for call in repeat.call_args_list))
    return (counts[1] - counts[0]) / (DEGREE - DEGREE // 2)


def sizes(options: Options) -> Iterator[Row]:
    """Times by the number of unknowns."""
    for n in (64, 128) if options.quick else (16, 32, 64, 128, 256, 512, 1024, 2048):
        system, x0 = exponential(n, DEGREE)
        for p in MULTIPLE:
            start = mdqr.array(x0, precision=p, device="cuda")
            call = partial(newton_series, system, start, degree=DEGREE, precision=p)
            yield Row("sizes", "exponential", "mdqr", p.name, f"{n}", milliseconds(call, 3), "ms")


def degrees(options: Options) -> Iterator[Row]:
    """Times by the degree, of one system of 128 unknowns."""
    for degree in (15, 31) if options.quick else (15, 31, 63, 127):
        system, x0 = exponential(128, degree)
        for p in MULTIPLE:
            start = mdqr.array(x0, precision=p, device="cuda")
            call = partial(newton_series, system, start, degree=degree, precision=p)
            yield Row("degrees", "exponential 128", "mdqr", p.name, f"{degree}",
                      milliseconds(call, 3), "ms")  # fmt: skip


def batches(options: Options) -> Iterator[Row]:
    """Start points of cyclic 7-roots, and one after the other on one core."""
    system, x0 = cyclic(7)
    count = 100 if options.quick else 1000
    for p in MULTIPLE:
        starts = mdqr.array(np.broadcast_to(x0, (count, 7)), precision=p, device="cuda")
        call = partial(newton_series, system, starts, degree=DEGREE, precision=p)
        value = milliseconds(call, 5)
        aims = (BATCH_AIM, GAIN_AIM) if p.name == "qd" and not options.quick else (None, None)
        yield Row("batches", "cyclic 7", "mdqr", p.name, f"{count}", value, "ms", aims[0])
        alone = one_core(partial(newton_series, system, x0, degree=DEGREE, precision=p))
        gain = alone * count * 1e3 / value
        details = {"one solution on one core, ms": alone * 1e3}
        yield Row("batches", "cyclic 7, one core in sequence / GPU", "mdqr", p.name, f"{count}",
                  gain, FASTER, aims[1], details)  # fmt: skip


def one_core(call: partial) -> float:
    """Return the median seconds of a call on one core of the host."""
    threads = backend.extension().num_threads()
    mdqr.config.set_num_threads(1)
    try:
        call()
        found = []
        for _ in range(7):
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
        return float(np.median(found))
    finally:
        mdqr.config.set_num_threads(threads)


BENCHMARKS = {
    "gpu-series": Benchmark(
        "gpu-series",
        "Power series on a GPU",
        {"batches": batches, "large": large, "stages": stages, "degrees": degrees, "sizes": sizes},
        gpu=True,
    )
}
