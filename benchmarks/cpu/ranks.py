"""Pivots, approximations of low rank and solutions by rank, with a kernel of physics."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Job
from benchmarks.common.runner import Options
from benchmarks.cpu.systems import draw
from mdqr import linalg

SIZE, RANK = 100, 60
SCALE, POINTS, SEGMENTS = 1e5, 16, (38, 50)
AIM = 20.0  # seconds for the kernel


def fermionic_kernel(
    scale: float, points: int, segments: tuple[int, int], p: mdqr.Precision
) -> mdqr.MDArray:
    """Return ``exp(-scale y (x + 1) / 2) / (1 + exp(-scale y))`` on [-1, 1]^2 at Gauss points.

    Its singular functions are a basis for imaginary times and frequencies (H. Shinaoka and others
    2017). Segments of x cluster at both ends, those of y at 0; rows and columns are multiplied by
    the roots of weights.
    """
    nodes, weights = np.polynomial.legendre.leggauss(points)

    def half(count: int) -> tuple[mdqr.MDArray, mdqr.MDArray]:
        edges = np.concatenate([[0.0], (10 * scale) ** np.linspace(-1, 0, count)])
        width, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        places = (middle[:, None] + width[:, None] * nodes).ravel()
        roots = np.sqrt(width[:, None] * weights).ravel()
        return mdqr.array(places, precision=p), mdqr.array(roots, precision=p)

    (t, of_x), (y, of_y) = (half(count) for count in segments)  # t is 1 - abs(x)
    outer = of_x[:, None] * of_y / (1 + mdqr.exp(-scale * y))
    same = outer * mdqr.exp(-(scale / 2) * (t[:, None] * y))
    other = outer * mdqr.exp(-scale * ((1 - t / 2)[:, None] * y))
    top, bottom = (mdqr.concatenate(pair, axis=1) for pair in ((same, other), (other, same)))
    return mdqr.concatenate([top, bottom], axis=0)


def ranks(options: Options) -> Iterator[Job]:
    """Column pivoting beside none; the numerical rank of a kernel; deficient least squares."""
    n, rank = (SIZE // 5, RANK // 5) if options.quick else (SIZE, RANK)
    for p in PRECISIONS[1:]:
        a = draw((n, n), p)
        yield Job("qr", "mdqr", p.name, str(n), partial(linalg.qr, a))
        yield Job("qr, pivoting", "mdqr", p.name, str(n), partial(linalg.qr, a, pivoting=True))
        i = mdqr.arange(1, n + 1, precision=p)
        hilbert = 1 / (i[:, None] + i - 1)
        yield Job("svd of Hilbert's", "mdqr", p.name, str(n), partial(linalg.svd, hilbert))
        b, low = draw((n,), p), draw((n, rank), p) @ draw((rank, n), p)
        case = f"{n}, rank {rank}"
        yield Job("lowrank", "mdqr", p.name, case, partial(linalg.lowrank, low))
        shortest = partial(linalg.lstsq, low, b, rtol=2.0**-40)
        yield Job("lstsq, shortest", "mdqr", p.name, case, shortest)
        yield Job("lstsq, basic", "mdqr", p.name, case, partial(shortest, basic=True))


def kernel(options: Options) -> Iterator[Job]:
    """The sparse representation of correlations: singular values above 1e-28 of the largest."""
    scale, segments = (1e3, (4, 5)) if options.quick else (SCALE, SEGMENTS)
    a = fermionic_kernel(scale, POINTS, segments, mdqr.dd)
    case = " x ".join(map(str, a.shape))
    aim = None if options.quick else AIM
    yield Job("lowrank, kernel", "mdqr", "dd", case, partial(linalg.lowrank, a), aim=aim)
    plain = partial(np.linalg.svd, a.to_numpy(), full_matrices=False)
    yield Job("svd, kernel", "numpy", "d", case, plain)
