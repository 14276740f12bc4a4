"""Bounds of the errors of singular values and vectors, by residuals in twice the limbs.

Singular values of A are eigenvalues of ``[[0, A], [A^H, 0]]``, each with both signs, with vectors
``(u, v)`` and ``(u, -v)`` over the root of 2: the disks of `residual_bounds` for these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.disks import SLACK
from mdqr.linalg._spectral.residual_bounds import (
    Bounds,
    Known,
    Remainders,
    bounds,
    departure,
    diagonal_matrix,
    distances,
    known,
    product,
    residual,
)


class Triples(NamedTuple):
    """Blocks in host memory: A ``(batch, m, n)``, m >= n, U ``(batch, m, n)``, S and V."""

    a: Block
    u: Block
    s: Block
    v: Block


class Sides(NamedTuple):
    """Upper bounds in float64 by two residuals.

    The remainders of both signs, ``(batch, 2 n, 2 n)``; norms of the columns of both residuals
    ``(batch, n)``; and of what is not in the span of U, ``(batch,)``.
    """

    both: Remainders
    columns: np.ndarray
    outside: np.ndarray


@np.errstate(all="ignore")
def sides(backend: Backend, given: Triples, kind: Kind) -> Sides:
    """Return what ``A V - U S`` and ``A^H U - V S`` leave; entries of A are near 1."""
    field, limbs = kind.is_complex, kind.limbs
    a, u, v = (known(planes.widen(x, field, limbs), kind) for x in (given.a, given.u, given.v))
    w = known(diagonal_matrix(np, given.s, kind), kind)
    a_h = Known(planes.adjoint(a.block, kind.is_complex), a.sizes.swapaxes(-1, -2))
    left, lost_left = residual(backend, a, v, u, w, kind)
    right, lost_right = residual(backend, a_h, u, v, w, kind)
    one = product(backend, u, left, lost_left, kind)
    two = product(backend, v, right, lost_right, kind)
    # First terms of both may cancel; what the moduli have more is their errors.
    more = sum(x.sizes - known(x.block, kind).sizes for x in (one, two))
    more = more + 16 * precision_for(limbs).eps * (one.sizes + two.sizes)
    same, other = (
        known(backend.binary(op, one.block, two.block, kind=kind), kind).sizes + more
        for op in ("add", "subtract")
    )
    of_u, of_v = (departure(backend, x, kind) for x in (u, v))
    z = np.block([[same, other], [other, same]]) * (SLACK / 2)
    g = np.tile(of_u + of_v, (1, 2, 2)) * (SLACK / 2)
    lengths = [
        np.hypot.reduce(x.sizes + y, axis=-2) for x, y in ((left, lost_left), (right, lost_right))
    ]
    norm = of_v.sum(axis=-1).max(axis=-1, initial=0.0)
    outside = np.hypot.reduce(lengths[0], axis=-1) * SLACK
    outside = np.where(norm < 0.5, outside / (1 - norm), np.inf)
    if a.block.shape[-2] == a.block.shape[-1]:
        outside = np.zeros_like(outside)
    return Sides(Remainders(z, g), np.hypot(*lengths) * SLACK, outside)


@np.errstate(all="ignore")
def of_values(backend: Backend, s: Block, found: Sides, kind: Kind) -> Bounds:
    """Return what is proven of singular values and of both their vectors."""
    n = s.shape[-1]
    apart = distances(backend, np.concatenate([s, planes.negate(s, False)], axis=-1), kind)
    proven = bounds(apart, found.both, np.tile(s[0], 2))
    radii, sizes, outside = proven.values[:, :n], s[0], found.outside[:, None]
    # Of A times the projection on the span of U; the rest adds its square.
    least = 2 * (sizes / SLACK - radii)
    radii = radii + np.where(least > outside, outside / least, 1.0) * outside * SLACK
    sines = proven.sines[:, :n]
    if outside.any():
        # Zeros are eigenvalues, too, and what is outside moves all.
        apart = apart[:, :n, :n] / SLACK - radii[:, None, :]
        apart[:, np.arange(n), np.arange(n)] = np.inf
        gap = np.minimum(apart.min(axis=-1, initial=np.inf), sizes / SLACK)
        sines = np.where((gap > 0) & np.isfinite(sines), found.columns / gap, np.inf)
    lengths = np.diagonal(found.both.g, axis1=-2, axis2=-1)[:, :n] * 2
    return Bounds(radii, sines, lengths)
