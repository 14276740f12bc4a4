"""Where the time of the tensor-core path goes: parts of a call, and panels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.common.rows import Row
from benchmarks.common.runner import Options, Parts
from benchmarks.common.timing import Call, Phases, Target, cupy, free, milliseconds
from benchmarks.tensorcore.problems import qr, random
from mdqr.tensorcore import _input, lstsq
from mdqr.tensorcore._algorithms import correction, passes
from mdqr.tensorcore._algorithms.recursive import panel_of
from mdqr.tensorcore._engine.cuda import CudaEngine

FAST = ("caqr", "cholesky")
QUICK = [(32768, 1024), (8192, 4096)]
METHODS = ("load", "round", "inner", "add", "caqr", "cholesky", "squares", "report", "doubles")
TARGETS = [
    *((CudaEngine, name, name) for name in METHODS),
    *((passes, name, name) for name in ("departure", "departure_of", "correct")),
    (correction, "_size", "_size"),
]


def parts_of(call: Call, targets: list[Target]) -> dict[str, float]:
    """Return the milliseconds of each part of a call, after one that does not count."""
    call()
    return Phases(targets).milliseconds(call)


def parts(options: Options) -> Iterator[Row]:
    """Where the time goes, with events between the parts."""
    for m, n in QUICK if options.quick else [(8192, 4096), (32768, 1024), (32768, 16384)]:
        a = random(m, n)
        for panel in FAST:
            for again in (False, True):
                call = partial(qr, a, panel=panel, reorthogonalize=again)
                what = f"{panel}, {'orthonormal' if again else 'once'}: "
                for name, ms in parts_of(call, TARGETS).items():
                    yield Row("parts", what + name, "mdqr", "fp16", f"{m}x{n}", ms, "ms")
        double = random(m, n, dtype=np.float64)
        call = partial(lstsq, double, double[:, 0])
        for name, ms in parts_of(call, TARGETS).items():
            yield Row("parts", f"least squares: {name}", "mdqr", "fp16", f"{m}x{n}", ms, "ms")
        del a, double, call
        free()


def panels(options: Options) -> Iterator[Row]:
    """The panels alone, a launch each."""
    for m in (8192, 32768) if options.quick else (8192, 32768, 524288):
        base = cupy().asfortranarray(random(m, 128))
        engine = _input.engine_for(base)
        for name, width in itertools.product(FAST, (32, 128)):
            a, r = base.copy(order="F"), engine.matrix(width, width, zero=True)
            ms = milliseconds(partial(panel_of(engine, name), a[:, :width], r), 50)
            what = f"{name}, {width} columns"
            yield Row("panels", what, "mdqr", "float32", f"{m} rows", 1e3 * ms, "us")


PARTS: Parts = {"panels": panels, "parts": parts}
