"""Householder QR on tensor cores, and the test of Kerr, Campbell and Richards 2009.

Recursive reflections against recursive Gram-Schmidt and cuSOLVER: speed, where it goes, errors
against the condition; and blocked reflections in float32 with a full Q, twice as many rows as
columns, by the three criteria of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common.rows import FASTER, Row
from benchmarks.common.runner import Options, Parts
from benchmarks.common.timing import cupy, free, milliseconds
from benchmarks.tensorcore.parts import parts_of
from benchmarks.tensorcore.problems import (
    Cusolver,
    backward_error,
    blocked_householder,
    conditioned,
    orthogonality,
    qr,
    random,
)
from mdqr._limbs.planes import Block
from mdqr.tensorcore import _input
from mdqr.tensorcore._engine.cuda import CudaEngine
from mdqr.tensorcore._plan import PANELS

SIZES = [(32768, 1024), (32768, 4096), (8192, 4096), (4096, 2048), (32768, 16384)]
QUICK = [(32768, 1024), (8192, 4096)]
KERR = [256, 512, 1024, 2048, 3328, 4096]
KERR_QUICK = [256, 1024, 4096]
# What the paper measured on a GTX 280 for 8192 x 4096, in milliseconds (its table 2).
PAPER = {4096: 7629.0, 3328: 4430.0}
METHODS = ("load", "round", "inner", "add", "caqr", "geqrf", "orthonormal", "reflector", "report")
TARGETS = [(CudaEngine, name, name) for name in METHODS]


def speed(options: Options) -> Iterator[Row]:
    """Q and R in one pass, against Gram-Schmidt and against geqrf with orgqr."""
    group = "householder speed"
    for m, n in QUICK if options.quick else SIZES:
        size, a, large = f"{m}x{n}", random(m, n), n >= 16384
        peer = Cusolver(a)
        geqrf, orgqr = peer.times(peer.geqrf, peer.orgqr, repeats=1 if large else 3)
        del peer
        free()
        yield Row(group, "geqrf and orgqr", "cuSOLVER", "float32", size, geqrf + orgqr, "ms")
        calls: list[tuple[str, str, dict[str, Any]]] = [
            (f"{method}, {panel}", "fp16", {"method": method, "panel": panel})
            for method in ("rgs", "householder")
            for panel in PANELS
            if (method, panel) != ("rgs", "geqrf")
        ]
        stable = {"method": "householder", "panel": "cholesky"}
        calls += [("householder, cholesky", form, stable) for form in ("bf16", "tf32", "fp16x2")]
        again = {**stable, "reorthogonalize": True}
        calls.append(("householder, cholesky, orthonormal", "fp16", again))
        for what, compute, arguments in calls:
            ms = milliseconds(partial(qr, a, compute=compute, **arguments), 3)
            yield Row(group, what, "mdqr", compute, size, ms, "ms")
            gain = f"geqrf and orgqr / {what}"
            yield Row(group, gain, "mdqr", compute, size, (geqrf + orgqr) / ms, FASTER)
        del a
        free()


def parts(options: Options) -> Iterator[Row]:
    """Where the time goes, with events between the calls of the engine."""
    for m, n in QUICK if options.quick else [(32768, 1024), (8192, 4096), (32768, 16384)]:
        a = random(m, n)
        for panel in PANELS:
            call = partial(qr, a, method="householder", panel=panel)
            for name, ms in parts_of(call, TARGETS).items():
                what, size = f"{panel}: {name}", f"{m}x{n}"
                yield Row("householder parts", what, "mdqr", "fp16", size, ms, "ms")
        del a, call
        free()
    xp = cupy()
    for m in (4096, 32768):
        q, _ = xp.linalg.qr(random(m, 128))
        q = xp.asfortranarray(q)
        engine = _input.engine_for(q)
        r, signs = engine.matrix(128, 128, zero=True), engine.matrix(128, 1)[:, 0]
        for name, call in (
            ("cholesky", partial(engine.cholesky, q, r)),
            ("orthonormal", partial(engine.orthonormal, q, r, done=False)),
            ("reflector", partial(engine.reflector, q, r, signs)),
        ):
            us = 1e3 * milliseconds(call, 30)
            yield Row("householder parts", name, "mdqr", "float32", f"{m}x128", us, "us")


def conditions(options: Options) -> Iterator[Row]:
    """Errors against the condition: Gram-Schmidt loses orthogonality, reflections do not."""
    group = "householder conditions"
    m, n = (2048, 1024) if options.quick else (8192, 4096)
    ways = [("rgs", "fp16", "cholesky")]
    ways += [("householder", "fp16", panel) for panel in PANELS]
    ways += [("householder", compute, "cholesky") for compute in ("bf16", "fp16x2", "fp32")]
    spectra = ("arithmetic",) if options.quick else ("arithmetic", "geometric")
    for spectrum in spectra:
        for exponent in range(0, 8, 3 if options.quick else 1):
            a = conditioned(m, n, 10.0**exponent, spectrum).astype(np.float32, order="F")
            size = f"{m}x{n}, {spectrum} 1e{exponent}"
            for method, compute, panel in ways:
                found = qr(a, method=method, compute=compute, panel=panel)
                by = f"{method}, {compute}, {panel}"
                error = backward_error(a, *found)
                yield Row(group, "backward error", "mdqr", by, size, error, "")
                yield Row(group, "orthogonality", "mdqr", by, size, orthogonality(found.Q), "")
            del a, found
    free()


def kerr_matrix(m: int, n: int) -> Block:
    """Return a matrix as the paper made its own: ones on the diagonal, hidden by rotations."""
    xp = cupy()
    state = xp.random.RandomState(3)
    a = xp.tril(2 * state.random_sample((m, n)) - 1, -1) + xp.eye(m, n)
    for _ in range(8):
        order, angles = xp.argsort(state.random_sample(m)), state.random_sample((m // 2, 1))
        first, second = a[order[: m // 2]], a[order[m // 2 : 2 * (m // 2)]]
        c, s = xp.cos(2 * np.pi * angles), xp.sin(2 * np.pi * angles)
        a = xp.concatenate([c * first - s * second, s * first + c * second])
    return xp.asfortranarray(a.astype(np.float32))


def criteria(a: Block, q: Block, r: Block) -> dict[str, float]:
    """Return the three errors of the paper's section 5 over what it accepts, in float64."""
    xp = cupy()
    a, q, r = (x.astype(np.float64) for x in (a, q, r))
    accepted = len(a) * 2.0**-23
    gram = q.T @ q
    gram -= xp.eye(len(gram))
    norm = xp.linalg.norm
    return {
        "norm(Q R - A) / (m 2^-23 norm(A))": float(norm(q @ r - a) / norm(a)) / accepted,
        "norm(Q^T Q - I) / (m 2^-23)": float(norm(gram)) / accepted,
        "norm(L) / (m 2^-23)": float(norm(xp.tril(r, -1))) / accepted,
    }


class FullQ(Cusolver):
    """geqrf, then orgqr with as many columns as rows."""

    def __init__(self, a: Block) -> None:
        super().__init__(a)
        (m, n), xp = a.shape, self._xp
        self._n, self._q = n, xp.zeros((m, m), dtype=a.dtype, order="F")

    def full(self) -> None:
        """Form the full Q."""
        self._xp.copyto(self._q[:, : self._n], self._a)
        self._form(self._q)


def kerr(options: Options) -> Iterator[Row]:
    """Twice as many rows as columns, full Q in float32, accepted by the criteria of the paper."""
    group, xp = "kerr", cupy()
    for n in KERR_QUICK if options.quick else KERR:
        m, repeats = 2 * n, 3
        a, size = kerr_matrix(m, n), f"{m}x{n}"
        peer = FullQ(a)
        direct = sum(peer.times(peer.geqrf, peer.full, repeats=repeats))
        del peer
        library = milliseconds(partial(xp.linalg.qr, a, mode="complete"), repeats)
        yield Row(group, "geqrf and orgqr", "cuSOLVER", "float32", size, direct, "ms")
        yield Row(group, "linalg.qr, complete", "CuPy", "float32", size, library, "ms")
        if n in PAPER:
            yield Row(group, "the paper", "GTX 280", "float32", size, PAPER[n], "ms")
        for panel in PANELS:
            call = partial(blocked_householder, a, "complete", panel=panel)
            ms = milliseconds(call, repeats)
            yield Row(group, f"blocked, {panel}", "mdqr", "fp32", size, ms, "ms")
            gain = f"linalg.qr / blocked, {panel}"
            yield Row(group, gain, "mdqr", "fp32", size, library / ms, FASTER)
            for what, value in criteria(a, *call()).items():
                yield Row(group, f"{what}, {panel}", "mdqr", "fp32", size, value, "", 1.0)
        del a, call
        free()


PARTS: Parts = {
    "householder speed": speed,
    "householder parts": parts,
    "householder conditions": conditions,
    "kerr": kerr,
}
