"""Speed and accuracy of the tensor-core path, beside cuSOLVER: the figures of Zhang et al. 2020.

    python benchmarks/tensorcore.py [--quick] [--only GROUP ...] [--output FOLDER] [--commit HASH]

A full run writes tensorcore.json and tensorcore.md to benchmarks/results. A quick or partial one
prints its tables, and writes only where --output says. A group that fails is reported; the exit
code tells.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from gpu_measure import cupy, milliseconds
from gpu_run import Groups, main
from measure import FASTER, Row
from tensorcore_measure import (
    Cusolver,
    Parts,
    backward_error,
    conditioned,
    orthogonality,
    random,
)

from mdqr._backend.protocol import Block
from mdqr._errors import PrecisionWarning
from mdqr.tensorcore import _input, lowrank, lstsq, orthogonalize, qr

FAST = ("caqr", "cholesky")
LARGEST = (32768, 16384)
SIZES = [(32768, n) for n in (128, 512, 1024, 4096)] + [(8192, 4096), (4096, 2048), LARGEST]
QUICK = [(32768, 1024), (8192, 4096)]
# Times geqrf in float32, by panel; the orthonormal Q: times geqrf and orgqr.
AIMS = {
    (LARGEST, "caqr"): 5.0,
    ((8192, 4096), "caqr"): 3.0,
    ((8192, 4096), "cholesky"): 5.0,
    ((32768, 1024), "caqr"): 5.0,
}
Q_AIM, LSTSQ_AIM, LOWRANK_AIM = 4.0, 5.0, 6.4
LARGE = {LARGEST, (32768, 4096)}


def rate(m: int, n: int, ms: float) -> float:
    """Return TFLOP/s, counted as Householder QR without Q."""
    return 2e-9 * n * n * (m - n / 3) / ms


def free() -> None:
    """Give the memory of the pool back."""
    cupy().get_default_memory_pool().free_all_blocks()


def faster(
    group: str, what: str, by: str, size: str, values: tuple[float, float], aim: float | None
) -> Row:
    """Return a row that says how many times faster, with the aim as a rate."""
    return Row(group, what, "mdqr", by, size, values[0] / values[1], FASTER, aim)


def factorisations(quick: bool) -> Iterator[Row]:
    """R and Q in low precision, beside geqrf alone."""
    group = "factorisations"
    for m, n in QUICK if quick else SIZES:
        size, large = f"{m}x{n}", n >= 16384
        geqrf: dict[str, float] = {}
        for dtype in (np.float32, np.float64):
            peer = Cusolver(random(m, n, dtype=dtype))
            name, repeats = np.dtype(dtype).name, 1 if large else 3
            geqrf[name], orgqr = peer.times(peer.geqrf, peer.orgqr, repeats=repeats)
            yield Row(group, "geqrf", "cuSOLVER", name, size, geqrf[name], "ms")
            yield Row(group, "orgqr", "cuSOLVER", name, size, orgqr, "ms")
            if dtype is np.float32:
                both = geqrf[name] + orgqr
            del peer
            free()
        a = random(m, n)
        for compute in ("fp16", "fp16x2") if quick or large else ("fp16", "bf16", "tf32", "fp16x2"):
            for panel in FAST:
                ms = milliseconds(partial(qr, a, compute=compute, panel=panel), 5)
                yield Row(group, f"Q and R, {panel}", "mdqr", compute, size, ms, "ms")
                speed = rate(m, n, ms)
                yield Row(group, f"Q and R, {panel}", "mdqr", compute, size, speed, "TFLOP/s")
                aim = AIMS.get(((m, n), panel)) if compute == "fp16" else None
                what = f"geqrf / {panel}"
                yield faster(group, what, compute, size, (geqrf["float32"], ms), aim)
        for panel in FAST:
            again = partial(qr, a, panel=panel, reorthogonalize=True)
            ms = milliseconds(again, 3)
            yield Row(group, f"orthonormal Q and R, {panel}", "mdqr", "fp16", size, ms, "ms")
            aim = Q_AIM if (m, n) in LARGE else None
            what = f"geqrf and orgqr / orthonormal, {panel}"
            yield faster(group, what, "fp16", size, (both, ms), aim)
        del a, again
        free()


def parts(quick: bool) -> Iterator[Row]:
    """Where the time goes, with events between the parts."""
    for m, n in QUICK if quick else [(8192, 4096), (32768, 1024), LARGEST]:
        a = random(m, n)
        for panel in FAST:
            for again in (False, True):
                call = partial(qr, a, panel=panel, reorthogonalize=again)
                what = f"{panel}, {'orthonormal' if again else 'once'}: "
                for name, ms in Parts().of(call).items():
                    yield Row("parts", what + name, "mdqr", "fp16", f"{m}x{n}", ms, "ms")
        double = random(m, n, dtype=np.float64)
        for name, ms in Parts().of(partial(lstsq, double, double[:, 0])).items():
            yield Row("parts", f"least squares: {name}", "mdqr", "fp16", f"{m}x{n}", ms, "ms")
        del a, double, call
        free()


def panels(quick: bool) -> Iterator[Row]:
    """The panels alone, one launch each."""
    xp = cupy()
    for m in (8192, 32768) if quick else (8192, 32768, 524288):
        base = xp.asfortranarray(random(m, 128))
        engine = _input.engine_for(base)
        for name in FAST:
            for width in (32, 128):
                a, r = base.copy(order="F"), engine.matrix(width, width, zero=True)
                ms = milliseconds(partial(getattr(engine, name), a[:, :width], r), 50)
                yield Row("panels", name, "mdqr", "float32", f"{m}x{width}", 1e3 * ms, "us")


def conditions(quick: bool) -> Iterator[Row]:
    """Figures 3 and 4: errors against the condition, arithmetic singular values."""
    xp, group = cupy(), "conditions"
    m, n = (2048, 1024) if quick else (8192, 4096)
    for exponent in range(0, 8, 3 if quick else 1):
        a = conditioned(m, n, 10.0**exponent, "arithmetic").astype(np.float32, order="F")
        size = f"{m}x{n}, 1e{exponent}"
        peer = Cusolver(a)
        peer.geqrf()
        r = xp.triu(peer._a[:n])
        peer.orgqr()
        q = peer._a
        yield Row(group, "backward error", "cuSOLVER", "float32", size, backward_error(a, q, r), "")
        yield Row(group, "orthogonality", "cuSOLVER", "float32", size, orthogonality(q), "")
        del peer, q, r
        for compute in ("fp16", "fp16x2"):
            for again in (False, True):
                found = qr(a, compute=compute, reorthogonalize=again)
                by = f"{compute}{f', {found.info.passes} passes' if again else ''}"
                error = backward_error(a, *found)
                yield Row(group, "backward error", "mdqr", by, size, error, "")
                yield Row(group, "orthogonality", "mdqr", by, size, orthogonality(found.Q), "")


def switches(quick: bool) -> Iterator[Row]:
    """Figures 6 and 7: the panel, and tensor cores on and off."""
    for m, n in QUICK if quick else [(32768, 1024), (32768, 4096), (8192, 4096)]:
        a = random(m, n)
        for panel in ("caqr", "cholesky", "geqrf"):
            for compute in ("fp16", "fp32"):
                ms = milliseconds(partial(qr, a, compute=compute, panel=panel), 3)
                yield Row("switches", f"panel {panel}", "mdqr", compute, f"{m}x{n}", ms, "ms")
        del a
        free()


TYPES = [
    ("uniform (0, 1)", 0.0),
    ("uniform (-1, 1)", 0.0),
    ("normal", 0.0),
    ("geometric", 1e2),
    ("geometric", 1e4),
    ("arithmetic", 1e4),
    ("arithmetic", 1e6),
    ("cluster", 1e6),
]


def least_squares(quick: bool) -> Iterator[Row]:
    """Figures 8 and 9: eight types of matrices; time, iterations and accuracy."""
    group = "least squares"
    small = (2048, 1024) if quick else (8192, 4096)
    jobs = [(small, *job) for job in TYPES]
    if not quick:
        jobs += [(LARGEST, "normal", 0.0), (LARGEST, "arithmetic", 1e4)]
    for (m, n), kind, cond in jobs:
        a = conditioned(m, n, cond, kind) if cond else random(m, n, kind, np.float64)
        b = cupy().random.RandomState(2).standard_normal((len(a), 1))
        size = f"{m}x{n}, {kind}{f' {cond:.0e}' if cond else ''}"
        times = {}
        for dtype in (np.float64, np.float32):
            peer = Cusolver(a.astype(dtype, copy=False))
            right = b.astype(dtype)
            name = np.dtype(dtype).name
            found = peer.times(
                peer.geqrf, partial(peer.solve, right), repeats=1 if n >= 16384 else 3
            )
            times[name] = sum(found)
            yield Row(group, "direct", "cuSOLVER", name, size, times[name], "ms")
            x = peer.solve(right).astype(np.float64)
            yield Row(group, "A^T r, relative", "cuSOLVER", name, size, gradient(a, b, x), "")
            del peer, x
            free()
        for compute in ("fp16", "fp16x2"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrecisionWarning)
                ms = milliseconds(partial(lstsq, a, b, compute=compute), 3)
                x, _, info = lstsq(a, b, compute=compute)
            what = f"{info.method}, {info.iterations} iterations"
            yield Row(group, what, "mdqr", compute, size, ms, "ms")
            error = gradient(a, b, x)
            yield Row(group, "A^T r, relative", "mdqr", compute, size, error, "")
            aim = LSTSQ_AIM if ((m, n), kind, compute) == (LARGEST, "normal", "fp16") else None
            what = "float64 direct / mdqr"
            yield faster(group, what, compute, size, (times["float64"], ms), aim)
        del a, b, x
        free()


def gradient(a: Block, b: Block, x: Block) -> float:
    """Return the norm of ``a.T @ (b - a @ x)`` relative to those of a and b."""
    xp = cupy()
    size = xp.linalg.norm(a) * xp.linalg.norm(b)
    return float(xp.linalg.norm(a.T @ (b - a @ x)) / size)


def low_rank(quick: bool) -> Iterator[Row]:
    """Table 4: QR-SVD of 524288 x 1024, arithmetic singular values, condition 1e6."""
    xp, group = cupy(), "low rank"
    m, n = (65536, 256) if quick else (524288, 1024)
    a = conditioned(m, n, 1e6, "arithmetic").astype(np.float32, order="F")
    size, s = f"{m}x{n}", np.linspace(1, 1e-6, a.shape[1])
    free()

    def peer_svd(peer: Cusolver, r: int) -> Block:
        triangle = xp.triu(peer._a[: a.shape[1]])
        peer.orgqr()
        u, values, vh = xp.linalg.svd(triangle)
        return peer._a @ u[:, :r], values[:r], vh[:r]

    peer = Cusolver(a)
    for r in (16, 64, 128, 256, 512)[: 3 if quick else 5]:
        first, second = peer.times(peer.geqrf, partial(peer_svd, peer, r), repeats=1)
        yield Row(group, f"rank {r}", "cuSOLVER", "float32", size, first + second, "ms")
        ms = milliseconds(partial(lowrank, a, r), 3)
        yield Row(group, f"rank {r}", "mdqr", "fp16", size, ms, "ms")
        what = f"cuSOLVER / mdqr, rank {r}"
        yield faster(group, what, "fp16", size, (first + second, ms), LOWRANK_AIM)
        u, values, vh = lowrank(a, r)
        rest = a - (u * values) @ vh
        error = float(xp.linalg.norm(rest) / xp.linalg.norm(a))
        best = float(np.linalg.norm(s[r:]) / np.linalg.norm(s))
        yield Row(group, f"error of rank {r} / best", "mdqr", "fp16", size, error / best, "times")
        del u, values, vh, rest
        free()


def orthonormal(quick: bool) -> Iterator[Row]:
    """Bases of random matrices: the departure, measured in float64 products."""
    for m, n in QUICK if quick else [(32768, 1024), (8192, 4096), (32768, 4096), LARGEST]:
        a = random(m, n)
        basis = orthogonalize(a)
        by = f"fp16, {basis.passes} passes"
        size = f"{m}x{n}"
        found = orthogonality(basis.Q)
        limit = 20 * np.sqrt(n) * 2.0**-24
        yield Row("orthonormal", "root mean square of columns", "mdqr", by, size, found, "", limit)
        estimate = basis.orthogonality / np.sqrt(n)
        yield Row("orthonormal", "its estimate", "mdqr", by, size, estimate, "")
        del a, basis
        free()


GROUPS: Groups = {
    "panels": panels,
    "factorisations": factorisations,
    "orthonormal": orthonormal,
    "least squares": least_squares,
    "low rank": low_rank,
    "parts": parts,
    "conditions": conditions,
    "switches": switches,
}

if __name__ == "__main__":
    main(GROUPS, "tensorcore", "Benchmarks of the tensor-core path.")
