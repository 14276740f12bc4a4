"""Least squares of rows in chunks: in this process and on Dask's workers, beside Dask's float64."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import mdqr
from benchmarks.common.rows import Job, Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.cpu.memory import STATUS, status
from mdqr import distributed as md
from mdqr._precision import as_precision

CHUNK, COLUMNS = 100_000, 20
LIMIT = "1GiB"
OVERHEAD = 1.1  # of Dask over the iterator
AGAINST_FLOATS = {("dd", 100): 8.0, ("qd", 100): 20.0}


class Chunk:
    """Chunks of floats with noise in all limbs, the same whenever they are asked for."""

    def __init__(self, rows: int, columns: int, precision: str) -> None:
        self.rows, self.columns, self.precision = rows, columns, precision

    def __call__(self, index: int) -> tuple[Any, Any]:
        """Return a chunk."""
        rng = np.random.default_rng(index)
        limbs = as_precision(self.precision).limbs
        block = rng.random((limbs, self.rows, self.columns)) + 1.0
        for i in range(limbs):
            block[i] *= 2.0 ** (-54 * i)
        a = mdqr.from_limbs(block, normalize=False)
        return a, mdqr.array(rng.random(self.rows), precision=self.precision)


def rows_of(m: int, columns: int, precision: str, chunk: int) -> md.Rows:
    """Return the chunks of m rows."""
    return md.Rows(Chunk(chunk, columns, precision), -(-m // chunk))


def growth(options: Options) -> Iterator[Row]:
    """Seconds in this process, against rows; of each pass in the details."""
    chunk = CHUNK // 20 if options.quick else CHUNK
    for p in ("dd", "qd", "od"):
        for count in (1, 2, 4, 8) if options.quick else (1, 3, 10):
            start = time.perf_counter()
            fit = md.lstsq(rows_of(count * chunk, COLUMNS, p, chunk), scheduler="synchronous")
            seconds = time.perf_counter() - start
            details = {"passes": [round(s, 3) for s in fit.info.seconds]}
            size = f"{count * chunk}x{COLUMNS}"
            yield Row("rows", "lstsq in one process", "mdqr", p, size, seconds, "s", None, details)


def overhead(options: Options) -> Iterator[Row]:
    """Dask's tasks over a plain loop, the less of three alternating runs of each."""
    chunk = CHUNK // 20 if options.quick else CHUNK
    rows, least = rows_of(10 * chunk, COLUMNS, "dd", chunk), {"loop": np.inf, "dask": np.inf}
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with LocalCluster(**settings, dashboard_address=":0") as cluster, Client(cluster):
        for _ in range(3):
            for name, scheduler in (("loop", "synchronous"), ("dask", None)):
                start = time.perf_counter()
                md.lstsq(rows, scheduler=scheduler)
                least[name] = min(least[name], time.perf_counter() - start)
    size, ratio = f"{10 * chunk}x{COLUMNS}", least["dask"] / least["loop"]
    aim = None if options.quick else OVERHEAD
    yield Row("overhead", "Dask over the loop", "mdqr", "dd", size, ratio, "x", aim, least)


def workers(options: Options) -> Iterator[Row]:
    """Seconds and peak memory of one and of two workers of 1 GiB."""
    chunk = CHUNK // 20 if options.quick else CHUNK
    sizes = [("dd", options.rows or 10 * chunk), ("od", (options.rows or 10 * chunk) // 5)]
    for p, m in sizes:
        held = 4 * chunk // (5 * as_precision(p).limbs)  # rows of 13 MB
        for count in (1, 2):
            settings = {"n_workers": count, "threads_per_worker": 1, "memory_limit": LIMIT}
            with LocalCluster(**settings, dashboard_address=":0") as cluster, Client(cluster) as to:
                to.run(lambda: __import__("mdqr.distributed"))
                start = time.perf_counter()
                md.lstsq(rows_of(m, COLUMNS, p, min(held, m)), scheduler=to)
                seconds = time.perf_counter() - start
                peaks = to.run(status, "VmHWM") if STATUS.exists() else {}
            size = f"{m}x{COLUMNS}"
            details = {"MiB": [round(x / 2**20) for x in peaks.values()]}
            what = f"lstsq, {count} workers"
            yield Row("workers", what, "mdqr", p, size, seconds, "s", None, details)
            if peaks:
                peak = max(peaks.values()) / 2**20
                yield Row(
                    "workers", f"peak of a worker, {count}", "mdqr", p, size, peak, "MiB", 512
                )


def floats(options: Options) -> Iterator[Job | Row]:
    """The same numbers by `dask.array.linalg.lstsq` in float64, in one process."""
    chunk = CHUNK // 20 if options.quick else CHUNK // 5
    for n in (20, 100):
        rng = np.random.default_rng(1)
        a, b = rng.random((5 * chunk, n)), rng.random(5 * chunk)
        parts = da.from_array(a, chunks=(chunk, n)), da.from_array(b, chunks=chunk)
        size = f"{5 * chunk}x{n}"
        call = partial(_by_dask, *parts)
        call()
        start = time.perf_counter()
        call()
        known = time.perf_counter() - start
        yield Row("floats", "lstsq", "dask.array", "d", size, known, "s")
        for p in ("dd", "qd"):
            start = time.perf_counter()
            md.lstsq(*parts, precision=p, scheduler="synchronous")
            seconds = time.perf_counter() - start
            aim = None if options.quick else AGAINST_FLOATS.get((p, n))
            yield Row("floats", "lstsq", "mdqr", p, size, seconds, "s")
            yield Row("floats", "lstsq over float64", "mdqr", p, size, seconds / known, "x", aim)


def _by_dask(a: Any, b: Any) -> Any:
    return da.linalg.lstsq(a, b)[0].compute(scheduler="synchronous")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, help="of the part workers")


BENCHMARKS = {
    "distributed": Benchmark(
        "distributed",
        "Least squares of rows in chunks",
        {"rows": growth, "overhead": overhead, "workers": workers, "floats": floats},
        arguments=_arguments,
    )
}
