"""Times of systems, factors and spectra of middle orders on a GPU, beside CuPy's float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.common.rows import FASTER, Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import cupy, free, milliseconds
from benchmarks.gpu.arrays import MULTIPLE
from mdqr.linalg import cholesky, eigh, inv, lstsq, lu_factor, qr, solve, svd

# Milliseconds in dd, qd and od.
_SOLVE_AIMS = {
    96: (1.5, 1.5, 1.6),
    128: (2.0, 2.0, 2.5),
    256: (2.0, 2.0, 2.5),
    512: (2.5, 3.0, 4.0),
    1024: (4.5, 5.0, 6.0),
}
_BATCHES = {(1000, 96): (3.5, 5.0, 8.0), (200, 128): (2.5, 3.5, 5.0)}
_INVERSES = {1024: (5.5, 7.0, 11.0), 2048: (12.0, 15.0, 23.0)}
_LU = {1024: (6.0, 10.0, 19.0), 4096: (55.0, 110.0, 240.0)}
_CHOLESKY = {1024: (3.2, 5.5, 11.0), 4096: (25.0, 50.0, 110.0)}
_SVD = {256: (45.0, 50.0, 60.0), 1024: (190.0, 270.0, 400.0)}
_EIGH = {1024: (32.0, 60.0, 120.0)}
_TALL_R = (14.0, 28.0, 120.0)


def normal(*shape: int, seed: int = 3) -> Any:
    """Return a float64 matrix."""
    return cupy().random.RandomState(seed).standard_normal(shape)


def rows(
    group: str,
    what: str,
    size: str,
    call: Callable[..., Any],
    peer: Callable[[], Any] | None,
    aims: tuple[float, float, float] | None = None,
    repeats: int = 3,
) -> Iterator[Row]:
    """Time a call in every precision, and CuPy's."""
    if peer is not None:
        time = milliseconds(peer, repeats)
        yield Row(group, what, "cupy", "float64", size, time, "ms")
    for place, p in enumerate(MULTIPLE):
        time = milliseconds(partial(call, precision=p), repeats)
        yield Row(group, what, "mdqr", p.name, size, time, "ms", aims and aims[place])


def systems(options: Options) -> Iterator[Row]:
    """Single systems, batches and least squares, of float64 data."""
    xp = cupy()
    for n, aims in _SOLVE_AIMS.items():
        if options.quick and n > 128:
            continue
        a, b = normal(n, n), normal(n)
        peer = partial(xp.linalg.solve, a, b)
        yield from rows("solve", "solve", f"{n}", partial(solve, a, b), peer, aims, 5)
    for (count, n), aims in _BATCHES.items():
        a, b = normal(count, n, n), normal(count, n, 1)
        peer = partial(xp.linalg.solve, a, b)
        yield from rows("solve", "solve", f"{count} x {n}", partial(solve, a, b), peer, aims)
    if not options.quick:
        a, b = normal(2048, 1024), normal(2048)
        peer = partial(xp.linalg.qr, a)
        yield from rows("solve", "lstsq; QR", "2048x1024", partial(lstsq, a, b), peer)


def inverses(options: Options) -> Iterator[Row]:
    """Inverses of float64 data."""
    for n, aims in _INVERSES.items():
        if options.quick and n > 1024:
            continue
        a = normal(n, n)
        peer = partial(cupy().linalg.inv, a)
        yield from rows("inv", "inv", f"{n}", partial(inv, a), peer, aims)


def factors(options: Options) -> Iterator[Row]:
    """LU and Cholesky factors of float64 data."""
    for n in (1024,) if options.quick else (1024, 4096):
        a, repeats = normal(n, n), 3 if n < 4096 else 1
        yield from rows(
            "factors", "lu_factor", f"{n}", partial(lu_factor, a), None, _LU[n], repeats
        )
        g = a @ a.T / n + cupy().eye(n)
        peer = partial(cupy().linalg.cholesky, g)
        call = partial(cholesky, g)
        yield from rows("factors", "cholesky", f"{n}", call, peer, _CHOLESKY[n], repeats)


def triangles(options: Options) -> Iterator[Row]:
    """R alone and with Q, of float64 data."""
    sizes = [(4096, 256), (65536, 1024)] + [(16384, 8192)] * (not options.quick)
    for m, n in sizes:
        a, size, repeats = normal(m, n), f"{m}x{n}", 3 if n < 8192 else 1
        aims = _TALL_R if m == 65536 else None
        peer = partial(cupy().linalg.qr, a, mode="r")
        yield from rows("qr", 'qr, "r"', size, partial(qr, a, "r"), peer, aims, repeats)
        yield from rows("qr", "qr", size, partial(qr, a), None, None, repeats)


def several(options: Options) -> Iterator[Row]:
    """Systems and Cholesky factors of float64 data on one GPU and on all of the machine."""
    count, n = cupy().cuda.runtime.getDeviceCount(), 2048 if options.quick else 16384
    names = [f"cuda:{i}" for i in range(count)]
    a, b = normal(n, n), normal(n, seed=4)
    g = a @ a.T / n + cupy().eye(n)
    for p in MULTIPLE:
        for what, call in (
            ("solve", partial(solve, a, b, precision=p)),
            ("cholesky", partial(cholesky, g, precision=p)),
        ):
            times = []
            for devices in (None, names[:1], names):
                who = "mdqr" if devices is None else f"mdqr, devices={len(devices)}"
                times.append(milliseconds(partial(call, devices=devices), 2))
                yield Row("several", what, who, p.name, f"{n}", times[-1], "ms")
                free()
            aim, gain = {2: 1.8, 4: 3.4}.get(count), times[0] / times[-1]
            yield Row("several", what, f"one / {count}", p.name, f"{n}", gain, FASTER, aim)


def spectra(options: Options) -> Iterator[Row]:
    """Singular values and eigenvalues with vectors, of float64 data."""
    xp = cupy()
    for n, aims in _SVD.items():
        if options.quick and n > 256:
            continue
        a = normal(n, n)
        peer = partial(xp.linalg.svd, a)
        yield from rows("spectra", "svd", f"{n}", partial(svd, a), peer, aims, 1)
    for n in (256,) if options.quick else (256, 1024):
        a = normal(n, n)
        peer = partial(xp.linalg.eigh, a + a.T)
        call = partial(eigh, a + a.T)
        yield from rows("spectra", "eigh", f"{n}", call, peer, _EIGH.get(n), 1)
    n = 256
    graded = normal(n, n) * xp.ldexp(1.0, -xp.arange(n) % 256)
    yield from rows("spectra", "svd, graded columns", f"{n}", partial(svd, graded), None, None, 1)


BENCHMARKS = {
    "gpu-middle": Benchmark(
        "gpu-middle",
        "Systems, factors and spectra of middle orders on a GPU",
        {
            "solve": systems,
            "inv": inverses,
            "triangles": triangles,
            "factors": factors,
            "spectra": spectra,
            "several": several,
        },
        gpu=True,
        further=("several",),
    )
}
