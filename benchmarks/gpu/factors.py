"""Factorisations and substitution on a GPU: times, phases and errors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import Phases, cupy, milliseconds
from benchmarks.gpu import arrays
from benchmarks.gpu.arrays import FIELDS, MULTIPLE, draw
from mdqr._backend import for_block
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg import lstsq, qr, solve_triangular
from mdqr.linalg._factor import householder

QR_AIMS = {"dd": 18.0, "qd": 35.0, "od": 80.0}
SUBSTITUTION_AIMS = {"dd": 0.5, "qd": 1.0, "od": 2.5}
# The CUDA programs of PHCpack on one H100: QR with Q, sum of kernel times, in ms.
PHCPACK = {
    (1024, "real"): {"d": 127.9, "dd": 291.9, "qd": 1777.6, "od": 6146.9},
    (2048, "real"): {"dd": 1508.3, "qd": 9082.0},
    (1024, "complex"): {"d": 197.4, "dd": 738.7, "qd": 5102.7},
    (2048, "complex"): {"dd": 5595.3, "qd": 31296.0},
}
PHCPACK_SUBSTITUTION = {"d": 1.4, "dd": 3.5, "qd": 19.0, "od": 79.4}
STEPS = (
    (householder, "_factor_columns", "T"),
    (householder.Factors, "reflect", "updates"),
    (householder.Factors, "form_q", "Q"),
)
WITHIN = {"updates": ("T", "Q")}  # phases that are parts of others
SAMPLES = 16  # columns of a factorisation whose errors are measured


def sizes(options: Options) -> tuple[int, ...]:
    """Return the orders of the square matrices."""
    return (1024,) if options.quick else (1024, 2048)


def factorisations(options: Options) -> Iterator[Row]:
    """R, and R with the full Q, of square matrices."""
    row = partial(Row, "factorisations", unit="ms")
    for n in sizes(options):
        for field, dtype in FIELDS.items():
            for p in PRECISIONS:
                a = draw((n, n), p, dtype)
                r_only = milliseconds(partial(qr, a, "r", check=False), 5)
                both = milliseconds(partial(qr, a, check=False), 5)
                aim = QR_AIMS.get(p.name) if (n, field) == (1024, "real") else None
                yield row(f"R, {field}", "mdqr", p.name, f"{n}", r_only)
                yield row(f"Q and R, {field}", "mdqr", p.name, f"{n}", both, aim=aim)
                published = PHCPACK.get((n, field), {}).get(p.name)
                if published is not None:
                    yield row(f"Q and R, {field}", "PHCpack", p.name, f"{n}", published)
                    name = f"Q and R, {field}, PHCpack / mdqr"
                    ratio = published / both
                    yield Row("factorisations", name, "mdqr", p.name, f"{n}", ratio, "times")
        a = cupy().random.RandomState(7).random_sample((n, n))
        both = milliseconds(partial(cupy().linalg.qr, a), 5)
        yield row("Q and R, real", "cupy.linalg.qr", "float64", f"{n}", both)


def accuracy(options: Options) -> Iterator[Row]:
    """Errors of sampled columns, computed as if in twice the precision, in eps."""
    for n in sizes(options):
        for field, dtype in FIELDS.items():
            for p in PRECISIONS:
                a = draw((n, n), p, dtype)
                Q, R = qr(a, check=False)
                some = np.linspace(0, n - 1, SAMPLES).astype(int)
                backend, complexes = for_block(a.limbs), dtype is complex
                flags = {"kind": Kind(p.limbs, complexes)}
                one = mdqr.eye(n, precision=p, dtype=dtype, device=a.device)[:, some]
                q, columns = Q.limbs, a[:, some].limbs
                residual = backend.residual([(1, columns)], q, R[:, some].limbs, **flags)
                transposed = q.swapaxes(-1, -2)
                gram = backend.residual(
                    [(1, one.limbs)], transposed, Q[:, some].limbs, conj_a=True, **flags
                )
                errors = {
                    "columnwise, sampled": norms(residual, complexes) / norms(columns, complexes),
                    "orthogonality, sampled columns": norms(gram, complexes),
                }
                for what, found in errors.items():
                    name, worst = f"{what}, {field}", float(found.max()) / p.eps
                    yield Row("accuracy", name, "mdqr", p.name, f"{n}", worst, "eps", 20.0 * n)


def norms(block: object, is_complex: bool) -> object:
    """Return the float64 norms of the columns of first limbs, which are of moderate size."""
    xp = cupy()
    planes = block[:, 0] if is_complex else block[:1]
    scale = xp.abs(planes).max()
    safe = xp.where(scale > 0, scale, 1.0)
    return safe * xp.sqrt(((planes / safe) ** 2).sum(axis=(0, 1)))


def phases(options: Options) -> Iterator[Row]:
    """Where each millisecond of Q and R goes, and the kernels that mdqr launches a column."""
    for n in sizes(options):
        for field, dtype in FIELDS.items():
            for p in MULTIPLE:
                a = draw((n, n), p, dtype)
                backend, call = for_block(a.limbs), partial(qr, a, check=False)
                kernels = backend.kernels
                with mock.patch.object(kernels, "launch", wraps=kernels.launch) as launch:
                    call()
                targets = [(backend, "qr_panel", "panel"), *STEPS]
                found = [Phases(targets, WITHIN).milliseconds(call) for _ in range(3)]
                for name in found[0]:
                    value = median(one[name] for one in found)
                    yield Row("phases", f"{name}, {field}", "mdqr", p.name, f"{n}", value, "ms")
                launches = launch.call_count / n
                what = f"own launches a column, {field}"
                yield Row("phases", what, "mdqr", p.name, f"{n}", launches, "launches")


def substitution(options: Options) -> Iterator[Row]:
    """Back substitution with the R of a random matrix, and the errors of the solution.

    `b` is R times integers, rounded: the error of a row of `b` is below eps, and what it does to
    the solution is part of the forward error.
    """
    for n in (1024,) if options.quick else (1024, 4096):
        for field, dtype in FIELDS.items():
            for p in PRECISIONS:
                if n == 1024:
                    a = qr(draw((n, n), p, dtype), "r", check=False)
                else:
                    one = mdqr.eye(n, precision=p, dtype=dtype, device="cuda")
                    a = mdqr.triu(draw((n, n), p, dtype)) * 2.0**-7 + one
                x = mdqr.array(1.0 + np.arange(n) % 10, precision=p, dtype=dtype, device="cuda")
                b = a @ x
                time = milliseconds(partial(solve_triangular, a, b), 15)
                aim = SUBSTITUTION_AIMS.get(p.name) if (n, field) == (1024, "real") else None
                row = partial(Row, "back substitution", precision=p.name, size=f"{n}")
                yield row(f"one side, {field}", "mdqr", value=time, unit="ms", aim=aim)
                if (n, field) == (1024, "real"):
                    value = PHCPACK_SUBSTITUTION[p.name]
                    yield row(f"one side, {field}", "PHCpack", value=value, unit="ms")
                found = solve_triangular(a, b)
                error = largest((found - x).limbs, dtype is complex) / 10 / p.eps
                yield row(f"forward error, {field}", "mdqr", value=error, unit="eps")
                yield row(
                    f"backward error, {field}", "mdqr", value=backward(a, found, b), unit="eps"
                )


def backward(a: mdqr.MDArray, x: mdqr.MDArray, b: mdqr.MDArray) -> float:
    """Return the largest ``|b - a x| / (eps |a| |x|)`` of the rows."""
    flags = {"kind": Kind(a.precision.limbs, a.is_complex)}
    terms = [(1, b[:, None].limbs)]
    residual = for_block(a.limbs).residual(terms, a.limbs, x[:, None].limbs, **flags)
    parts = [abs(v.limbs[:, 0]).sum(axis=0) if a.is_complex else abs(v.limbs[0]) for v in (a, x)]
    size = parts[0] @ parts[1]
    return largest(residual[..., 0], a.is_complex, over=size) / a.precision.eps


def largest(block: Block, is_complex: bool, over: Any = None) -> float:
    """Return the largest modulus of first limbs, or of quotients by `over`."""
    xp = cupy()
    size = xp.hypot(block[0, 0], block[1, 0]) if is_complex else abs(block[0])
    return float((size if over is None else size / over).max())


def batched(options: Options) -> Iterator[Row]:
    """Ten thousand small problems at once, against one after the other and cuSOLVER's loop."""
    count = 1000 if options.quick else 10_000
    row = partial(Row, "batched")
    for shape in ((32, 16), (32, 32)):
        size = f"{count} x {shape[0]} x {shape[1]}"
        float64 = cupy().random.RandomState(7).random_sample((count, *shape))
        peer = milliseconds(partial(cupy().linalg.qr, float64), 3)
        yield row("QR", "cupy.linalg.qr", "float64", size, peer, "ms")
        for p in MULTIPLE:
            a, b = draw((count, *shape), p), draw((count, shape[0], 1), p, seed=8)
            aim = peer if p.name == "qd" and shape == (32, 16) else None
            for what, one, many, goal in (
                ("QR", partial(qr, a[0]), partial(qr, a), aim),
                (
                    "lstsq",
                    partial(lstsq, a[0], b[0], max_condition=np.inf),
                    partial(lstsq, a, b, max_condition=np.inf),
                    None,
                ),
            ):
                together = milliseconds(many, 3)
                alone = milliseconds(one, 20)
                yield row(what, "mdqr", p.name, size, together, "ms", goal)
                rate = count / together * 1e3
                yield row(f"{what} rate", "mdqr", p.name, size, rate, "problems/s")
                ratio = alone * count / together
                yield row(f"{what}, loop / batch", "mdqr", p.name, size, ratio, "times")
                if what == "QR":
                    ratio = peer / together
                    yield row("QR, cupy.linalg.qr / mdqr", "mdqr", p.name, size, ratio, "times")


BENCHMARKS = {
    "gpu": Benchmark(
        "gpu",
        "GPU benchmarks",
        {
            "ceilings": arrays.ceilings,
            "factorisations": factorisations,
            "accuracy": accuracy,
            "phases": phases,
            "substitution": substitution,
            "products": arrays.products,
            "batched": batched,
            "bandwidth": arrays.bandwidth,
            "elementary": arrays.elementary,
        },
        gpu=True,
    )
}
