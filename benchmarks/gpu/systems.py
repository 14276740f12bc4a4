"""Times of `solve` and `lstsq` on a GPU, beside cuSOLVER in float64: large ones and batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import mdqr
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import cupy, milliseconds
from benchmarks.gpu.arrays import MULTIPLE, draw
from mdqr.linalg import lstsq, solve

BATCH_AIMS = {"dd": 4.0, "qd": 8.0, "od": 25.0}
# Times float64 QR and solve, of od solutions at a condition: float64 data, data of all limbs.
OD_AIMS = {("float64", 1e4): 1.0, ("float64", 1e12): 1.5, ("od", 1e4): 2.5}
GAIN_AIM = 10.0  # over cupy.linalg.lstsq


def conditioned(m: int, n: int, cond: float) -> Any:
    """Return a float64 matrix with singular values in geometric progression."""
    xp = cupy()
    state = xp.random.RandomState(3)
    u, v = (xp.linalg.qr(state.standard_normal((rows, n)))[0] for rows in (m, n))
    return (u * xp.logspace(0, -float(xp.log10(xp.asarray(cond))), n)) @ v.T


def filled(a: Any, p: mdqr.Precision) -> mdqr.MDArray:
    """Return numbers near those of a matrix whose other limbs are not zero."""
    lower = draw(a.shape, p)
    return mdqr.array(a, precision=p) + lower * (2.0**-54 * float(abs(a).max()))


def by_qr(a: Any, b: Any) -> Any:
    """Solve in float64, by QR."""
    xp = cupy()
    q, r = xp.linalg.qr(a)
    return xp.linalg.solve(r, q.T @ b)


def large(options: Options) -> Iterator[Row]:
    """Least squares of one large matrix by its condition."""
    m, n = (1024, 512) if options.quick else (4096, 2048)
    xp, size = cupy(), f"{m}x{n}"
    b64 = xp.random.RandomState(4).standard_normal(m)
    for cond in (1e4, 1e8, 1e12):
        a64 = conditioned(m, n, cond)
        what = f"lstsq, condition {cond:.0e}"
        peer = milliseconds(partial(by_qr, a64, b64), 7)
        yield Row("large", what, "cupy qr and solve", "float64", size, peer, "ms")
        for p in MULTIPLE:
            data = {"float64": (a64, b64), p.name: (filled(a64, p), filled(b64, p))}
            for name, (a, b) in data.items():
                call = partial(lstsq, a, b, max_condition=math.inf, precision=p)
                factor = OD_AIMS.get((name, cond)) if p is MULTIPLE[-1] else None
                aim = None if factor is None else factor * peer
                time, way = milliseconds(call, 5), call().info.method
                row = partial(Row, "large", f"{what}, {name} data", f"mdqr, {way}")
                yield row(p.name, size, time, "ms", aim)


def square(options: Options) -> Iterator[Row]:
    """Systems of 1024 unknowns."""
    n = 512 if options.quick else 1024
    a64 = conditioned(n, n, 1e4)
    b64 = cupy().random.RandomState(4).standard_normal(n)
    peer = milliseconds(partial(cupy().linalg.lstsq, a64, b64, rcond=None), 5)
    yield Row("square", "lstsq", "cupy", "float64", f"{n}", peer, "ms")
    other = milliseconds(partial(cupy().linalg.solve, a64, b64), 5)
    yield Row("square", "solve", "cupy", "float64", f"{n}", other, "ms")
    for p in MULTIPLE:
        time = milliseconds(partial(lstsq, a64, b64, max_condition=math.inf, precision=p), 5)
        yield Row("square", "lstsq, float64 data", "mdqr", p.name, f"{n}", time, "ms")
        aim = GAIN_AIM if p is MULTIPLE[-1] else None
        gain = peer / time
        name = "lstsq, cupy.linalg.lstsq / mdqr"
        yield Row("square", name, "mdqr", p.name, f"{n}", gain, "times faster", aim)
        time = milliseconds(partial(solve, a64, b64, precision=p), 5)
        yield Row("square", "solve, float64 data", "mdqr", p.name, f"{n}", time, "ms")


def batches(options: Options) -> Iterator[Row]:
    """Many small systems at once."""
    for m, n, count in ((8, 8, 100_000), (32, 32, 10_000), (5, 3, 100_000), (32, 16, 10_000)):
        some = count // 10 if options.quick else count
        function = solve if m == n else lstsq
        what = "solve" if m == n else "lstsq"
        size = f"{some} x {m}x{n}"
        for p in MULTIPLE:
            a, b = draw((some, m, n), p), draw((some, m, 1), p, seed=8)
            options_of = {} if m == n else {"max_condition": math.inf}
            time = milliseconds(partial(function, a, b, **options_of), 3)
            aim = BATCH_AIMS[p.name] if count == 10_000 and not options.quick else None
            yield Row("batches", what, "mdqr", p.name, size, time, "ms", aim)
        if m == n:
            x, y = (block.limbs[0] for block in (a, b))
            peer = milliseconds(partial(cupy().linalg.solve, x, y), 3)
            yield Row("batches", what, "cupy", "float64", size, peer, "ms")


def single(options: Options) -> Iterator[Row]:
    """One small system a call: what launches and Python cost."""
    for m, n in ((8, 8), (5, 3), (32, 32), (100, 20)):
        function = solve if m == n else lstsq
        what = "solve" if m == n else "lstsq"
        for p in MULTIPLE:
            call = partial(function, draw((m, n), p), draw((m,), p, seed=8))
            time = milliseconds(call, 9)
            yield Row("single", what, "mdqr", p.name, f"{m}x{n}", time, "ms")


BENCHMARKS = {
    "gpu-systems": Benchmark(
        "gpu-systems",
        "Linear systems and least squares on a GPU",
        {"large": large, "square": square, "batches": batches, "single": single},
        gpu=True,
    )
}
