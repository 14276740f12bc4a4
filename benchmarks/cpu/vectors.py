"""Products and residuals with few columns, in multiply-adds per second."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Job
from benchmarks.common.runner import Options
from benchmarks.cpu import peers
from mdqr._backend.host.backend import backend
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision

SHAPES = ((200, 50), (1000, 200), (4000, 1000))
COLUMNS = (1, 2, 4)


def full(kind: Kind, *shape: int) -> Block:
    """Return random numbers with every limb filled."""
    rng = np.random.default_rng(7)
    block = rng.standard_normal(kind.planes(shape))
    limbs = np.moveaxis(block, kind.lead - 1, 0)
    for i in range(1, kind.limbs):
        limbs[i] = limbs[i - 1] * rng.uniform(-0.9, 0.9, limbs[i].shape) * 2.0**-54
    return block


def vectors(options: Options) -> Iterator[Job]:
    """``A x`` and ``A^H r`` of data with as many limbs as the vector or fewer, and residuals."""
    for p in PRECISIONS[1:]:
        for of_data in PRECISIONS[: PRECISIONS.index(p) + 1]:
            for is_complex in (False, True):
                for m, n in SHAPES[1:2] if options.quick else SHAPES:
                    yield from jobs(
                        p, of_data, is_complex, m, n, COLUMNS[: 1 if options.quick else 3]
                    )


def jobs(
    p: Precision, of_data: Precision, is_complex: bool, m: int, n: int, columns: tuple[int, ...]
) -> Iterator[Job]:
    """Yield the calls for a matrix of so many rows and columns."""
    kind = Kind(p.limbs, is_complex)
    a = full(Kind(of_data.limbs, is_complex), m, n)
    field = ", complex" if is_complex else ""
    for name, x, conj_a in (("A x", a, False), ("A^H r", a.swapaxes(-1, -2), True)):
        rows, terms = x.shape[-2:]
        for k in columns:
            b, c = full(kind, terms, k), full(kind, rows, k)
            products = partial(backend().matmul, x, b, kind=kind, conj_a=conj_a)
            residual = partial(backend().residual, [(1, c)], x, b, kind=kind, conj_a=conj_a)
            for what, call in ((name, products), (f"residual, {name}", residual)):
                yield Job(
                    f"{what}{field}", "mdqr", f"{of_data.name} times {p.name}", f"{m}x{n}, {k}",
                    call, m * n * k, peers.MULTIPLY_ADDS,
                )  # fmt: skip
