"""Speed of the tensor-core path against cuSOLVER: table 3, 4 and figures 5 to 7 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common.rows import Row
from benchmarks.common.runner import Options, Parts
from benchmarks.common.timing import cupy, free, milliseconds, timed
from benchmarks.tensorcore.problems import (
    Cusolver,
    conditioned,
    faster,
    qr,
    random,
    rate,
)
from mdqr._backend.float_panels import CUTOFF, SMALL
from mdqr._limbs.planes import Block
from mdqr.tensorcore import _input, lowrank
from mdqr.tensorcore._algorithms.recursive import gram_schmidt, panel_of
from mdqr.tensorcore._engine.formats import FORMATS, Format
from mdqr.tensorcore._engine.protocol import Engine, Operand, operand
from mdqr.tensorcore._plan import PANELS

FAST = ("caqr", "cholesky")
TALL, LARGEST, SQUARE = 32768, (32768, 16384), (32768, 32768)
WIDTHS = [128 * 2**i for i in range(8)]
SIZES = [*((TALL, n) for n in WIDTHS), (8192, 4096), (4096, 2048)]
QUICK = [(32768, 1024), (8192, 4096)]
# Times geqrf in float32, by panel; the orthonormal Q: times geqrf and orgqr.
AIMS = {
    (LARGEST, "caqr"): 5.0,
    ((8192, 4096), "caqr"): 3.0,
    ((8192, 4096), "cholesky"): 5.0,
    ((32768, 1024), "caqr"): 5.0,
}
RATE_AIM, Q_AIM, LOWRANK_AIM = 110.0, 4.0, 6.4
LARGE = {LARGEST, (32768, 4096)}
RANKS = (16, 64, 128, 256, 512)


def products(options: Options) -> Iterator[Row]:
    """Table 3: products of the shapes of a factorisation, called as it calls them."""
    for k in (1024, 4096) if options.quick else WIDTHS:
        base, square = random(TALL, k), random(k, k)
        engine = _input.engine_for(base)
        for compute in ("fp16", "fp32"):
            form = FORMATS[compute]
            left, right = (operand(engine, base, form) for _ in range(2))
            factor = operand(engine, square, form)
            small, tall = engine.matrix(k, k), engine.matrix(TALL, k, zero=True)
            for what, size, call in (
                ("A^T B", f"{k}x{TALL}x{k}", partial(engine.inner, left, right, small)),
                ("A B", f"{TALL}x{k}x{k}", partial(engine.add, tall, left, factor, 1)),
            ):
                (ms,), _ = timed(call)
                speed = 2e-9 * TALL * k * k / ms
                yield Row("products", what, "cuBLAS", compute, size, speed, "TFLOP/s")
            del left, right, factor, small, tall, call
        del base, square
        free()


class Peers(NamedTuple):
    """Milliseconds of cuSOLVER in float32."""

    geqrf: float
    orgqr: float


def peers(m: int, n: int, found: list[Peers]) -> Iterator[Row]:
    """Time cuSOLVER in place and `cupy.linalg.qr`, in both precisions; float32 goes to `found`."""
    size, large = f"{m}x{n}", n >= 8192
    for dtype in (np.float32, np.float64):
        a, name, repeats = random(m, n, dtype=dtype), np.dtype(dtype).name, 1 if large else 3
        peer = Cusolver(a)
        geqrf, orgqr = peer.times(peer.geqrf, peer.orgqr, repeats=repeats)
        del peer
        free()
        if dtype is np.float32:
            found.append(Peers(geqrf, orgqr))
        yield Row("factorisations", "geqrf", "cuSOLVER", name, size, geqrf, "ms")
        yield Row("factorisations", "orgqr", "cuSOLVER", name, size, orgqr, "ms")
        for what, mode in (("R", "r"), ("Q and R", "reduced")):
            call = partial(cupy().linalg.qr, a, mode=mode)
            (ms,), _ = timed(call, repeats=repeats, skip=not large)
            yield Row("factorisations", what, "cupy.linalg.qr", name, size, ms, "ms")
            free()


def factorisations(options: Options) -> Iterator[Row]:
    """Figures 5 and 6: Q and R by every format and panel, and again until Q is orthonormal."""
    group = "factorisations"
    for m, n in QUICK if options.quick else SIZES:
        size, against = f"{m}x{n}", list[Peers]()
        yield from peers(m, n, against)
        (peer,) = against
        a = random(m, n)
        for compute in FORMATS:
            for panel in PANELS if compute == "fp16" else FAST:
                ms = milliseconds(partial(qr, a, compute=compute, panel=panel), 5)
                yield from once((m, n), compute, panel, ms, peer.geqrf)
        for panel in FAST:
            ms = milliseconds(partial(qr, a, panel=panel, reorthogonalize=True), 3)
            yield Row(group, f"orthonormal Q and R, {panel}", "mdqr", "fp16", size, ms, "ms")
            aim = Q_AIM if (m, n) in LARGE else None
            what = f"geqrf and orgqr / orthonormal, {panel}"
            yield faster(group, what, "fp16", size, (peer.geqrf + peer.orgqr, ms), aim)
        del a
        free()


def once(
    shape: tuple[int, int], compute: str, panel: str, ms: float, geqrf: float
) -> Iterator[Row]:
    """Return the rows of one factorisation: time, rate and gain."""
    group, size, what = "factorisations", f"{shape[0]}x{shape[1]}", f"Q and R, {panel}"
    speed, is_first = rate(*shape, ms), compute == "fp16"
    yield Row(group, what, "mdqr", compute, size, ms, "ms")
    aim = RATE_AIM if is_first and panel == "caqr" and shape == LARGEST else None
    yield Row(group, what, "mdqr", compute, size, speed, "TFLOP/s", aim)
    aim = AIMS.get((shape, panel)) if is_first else None
    yield faster(group, f"geqrf / {panel}", compute, size, (geqrf, ms), aim)


def square(options: Options) -> Iterator[Row]:
    """The size at which the paper reaches its highest rate."""
    m, n = (4096, 4096) if options.quick else SQUARE
    size, a = f"{m}x{n}", random(m, n)
    peer = Cusolver(a)
    (geqrf,) = peer.times(peer.geqrf, repeats=1, skip=0)
    yield Row("factorisations", "geqrf", "cuSOLVER", "float32", size, geqrf, "ms")
    del peer
    free()
    for panel in FAST:
        (ms,), _ = timed(partial(qr, a, panel=panel))
        yield from once((m, n), "fp16", panel, ms, geqrf)


def switches(options: Options) -> Iterator[Row]:
    """Figure 7: tensor cores on and off in the products of panels and in those between them."""
    for m, n in QUICK if options.quick else [(32768, 1024), (8192, 4096), (32768, 4096), LARGEST]:
        a = random(m, n)
        for inside in ("fp16", "fp32", "as qr"):
            for outside in ("fp16", "fp32"):
                (ms,), _ = timed(partial(recursive, a, inside, outside))
                by = f"panel {inside}, update {outside}"
                yield Row("switches", "Q and R, caqr", "mdqr", by, f"{m}x{n}", ms, "ms")
        del a
        free()


def recursive(a: Block, inside: str, outside: str) -> tuple[Block, Block]:
    """Factor by recursive Gram-Schmidt with formats that `qr` does not offer for its panels."""
    engine = _input.engine_for(a)
    q = engine.load(a, scaled=True).work
    r = engine.matrix(*2 * a.shape[1:], zero=True)
    panel: Any = panel_of(engine, "caqr")
    if inside in FORMATS:
        panel = PanelOfParts(engine, len(a), FORMATS[inside])
    gram_schmidt(engine, q, r, FORMATS[outside], panel)
    return q, r


class PanelOfParts:
    """A "caqr" panel of parts of 32 columns, whose products are formed by the library."""

    def __init__(self, engine: Engine, rows: int, form: Format) -> None:
        self._engine, self._form, half = engine, form, CUTOFF // 2
        self._low = engine.memory(rows, CUTOFF, form)
        self._right, self._top = engine.memory(rows, half, form), engine.memory(half, half, form)

    def __call__(self, a: Block, r: Block, low: Operand | None = None) -> None:
        """Factor up to 128 columns; `low` becomes the rounded Q."""
        mine = self._low.corner(*a.shape) if self._form.kernel else Operand((a,), self._form)
        self._factor(a, r, mine, 0, a.shape[1])
        if low is not None:
            self._engine.round(a, low)

    def _factor(self, a: Block, r: Block, low: Operand, first: int, last: int) -> None:
        engine = self._engine
        if last - first <= SMALL:
            part = a[:, first:last]
            engine.caqr(part, r[first:last, first:last])
            engine.round(part, low.columns(first, last))
            return
        middle = first + (SMALL if last - first <= 2 * SMALL else 2 * SMALL)
        self._factor(a, r, low, first, middle)
        right, corner = a[:, middle:last], r[first:middle, middle:last]
        left = low.columns(first, middle)
        engine.inner(left, engine.round(right, self._right), corner)
        engine.add(right, left, engine.round(corner, self._top), -1)
        self._factor(a, r, low, middle, last)


def low_rank(options: Options) -> Iterator[Row]:
    """Table 4: QR-SVD, arithmetic singular values, condition 1e6."""
    xp, group = cupy(), "low rank"
    a, size, best = table_4(options)
    n = a.shape[1]

    peer, kept = Cusolver(a), list[tuple[Block, Block, Block]]()

    def peer_svd(r: int) -> None:
        triangle = xp.triu(peer._a[:n])
        peer.orgqr()
        u, values, vh = xp.linalg.svd(triangle)
        kept[:] = [(peer._a @ u[:, :r], values[:r], vh[:r])]

    for r in RANKS[: 3 if options.quick else 5]:
        first, second = peer.times(peer.geqrf, partial(peer_svd, r), repeats=1, skip=r <= 16)
        yield Row(group, f"rank {r}", "cuSOLVER", "float32", size, first + second, "ms")
        error = rest_of(a, *kept.pop())
        yield Row(group, f"error of rank {r}", "cuSOLVER", "float32", size, error, "")
        (ms,), factors = timed(partial(lowrank, a, r))
        yield Row(group, f"rank {r}", "mdqr", "fp16", size, ms, "ms")
        what = f"cuSOLVER / mdqr, rank {r}"
        yield faster(group, what, "fp16", size, (first + second, ms), LOWRANK_AIM)
        error = rest_of(a, *factors)
        yield Row(group, f"error of rank {r}", "mdqr", "fp16", size, error, "")
        yield Row(
            group, f"error of rank {r} / best", "mdqr", "fp16", size, error / best[r], "times"
        )
        del factors
        free()


def table_4(options: Options) -> tuple[Block, str, dict[int, float]]:
    """Return the matrix of table 4, its size, and the least errors of its approximations."""
    m, n = (65536, 256) if options.quick else (524288, 1024)
    a = conditioned(m, n, 1e6, "arithmetic").astype(np.float32, order="F")
    free()
    s = np.linspace(1, 1e-6, n)
    best = {r: float(np.linalg.norm(s[r:]) / np.linalg.norm(s)) for r in RANKS if r < n}
    return a, f"{m}x{n}", best


def rest_of(a: Block, u: Block, values: Block, vh: Block) -> float:
    """Return the Frobenius norm of ``a - (u * values) @ vh`` relative to that of a."""
    xp, total = cupy(), 0.0
    double = np.float64
    right = values.astype(double)[:, None] * vh.astype(double)
    for first in range(0, len(a), 65536):
        rows = slice(first, first + 65536)
        rest = a[rows].astype(double) - u[rows].astype(double) @ right
        total += float((rest * rest).sum())
    return float(np.sqrt(total) / xp.linalg.norm(a.astype(double)))


def whole_svd(options: Options) -> Iterator[Row]:
    """The SVD of the matrix of table 4 without a QR factorisation before it."""
    a, size, _ = table_4(options)
    call = partial(cupy().linalg.svd, a, full_matrices=False)
    (ms,), _ = timed(call, repeats=1, skip=0)
    yield Row("low rank", "cupy.linalg.svd", "cuSOLVER", "float32", size, ms, "ms")


PARTS: Parts = {
    "products": products,
    "factorisations": factorisations,
    "square": square,
    "switches": switches,
    "low rank": low_rank,
    "svd": whole_svd,
}
