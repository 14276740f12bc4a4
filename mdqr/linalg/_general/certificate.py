"""What is proven of eigenvalues: disks of ``X^-1 A X``, with all rounding errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._general.correction import corrected
from mdqr.linalg._general.newton import Basis
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.disks import SLACK, Disks, Together, disks, over_blocks

# What underflow takes from sums.
_LEAST = 2.0**-1000
# What powers of two may take from entries of A, times vectors.
_SUBNORMAL = 2.0**-1040


class Remainder(NamedTuple):
    """What ``A X - X M`` is but for errors, and what Y is the inverse of.

    R ``(batch, n, n)``, upper bounds of its errors, X, and bounds of errors of that; of two
    matrices ``A X - B X M`` and ``B X``.
    """

    r: Block
    error: np.ndarray
    x: Block
    off: np.ndarray


class Certified(NamedTuple):
    """Eigenvalues ``(batch, n)`` and vectors, corrected to first order, and bounds.

    `moduli` bounds ``X^-1 A X - diag(values)`` but for the blocks of M, ``(batch, n, n)``.
    """

    values: Block
    disks: Disks
    apart: np.ndarray
    moduli: np.ndarray
    basis: Basis


@np.errstate(all="ignore")
def certified(
    backend: Backend, rest: Remainder, found: Basis, kind: Kind, rounding: float
) -> Certified:
    """Return the eigenvalues, and disks for them.

    Values are rounded to `rounding` of themselves afterwards.
    """
    z, moduli = _perturbation(backend, rest, found, kind)
    values, changed, basis = corrected(backend, found, z, kind)
    labels, own = found.labels, planes.diagonal(moduli)
    exact = abs(to_native(np, planes.diagonal(z), True))
    lost = (rounding + 4 * precision_for(kind.limbs).eps) * abs(to_native(np, values, True))
    own[...] = np.where(changed, np.maximum(own - exact, 0.0), own) + lost + _LEAST
    apart = distances(backend, values, values, kind)
    together = Together(labels, _coupling(found), _counts(labels))
    proven = disks(apart, moduli, together)
    return Certified(values, proven, apart, moduli, basis)


def remainder(backend: Backend, a: Block, found: Basis, kind: Kind) -> Remainder:
    """Return that of matrices `a`, ``(batch, n, n)``, whose entries are at most about 1."""
    x, m, n, eps = found.x, found.m, int(a.shape[-1]), precision_for(kind.limbs).eps
    of_a, of_x, of_m = (abs(to_native(np, each, True)) for each in (a, x, m))
    wide = np.concatenate([planes.widen(a, True, kind.limbs), x], axis=-1)
    tall = np.concatenate([planes.negate(x, True), m], axis=-2)
    r = backend.residual([], wide, tall, kind=kind)
    lost = (8 * n + 64) * eps * eps * (of_a @ of_x + of_x @ of_m)
    lost += eps * abs(to_native(np, r, True)) + _SUBNORMAL
    return Remainder(r, lost, x, np.zeros((n, n)))


def _perturbation(
    backend: Backend, rest: Remainder, found: Basis, kind: Kind
) -> tuple[Block, np.ndarray]:
    """Return ``Z = X^-1 R``, and upper bounds of the moduli of the exact one.

    With ``Y`` near the inverse of X, ``Z = Y R + G Z``, ``G = I - Y X``.
    """
    y, x, r, n = found.y, rest.x, rest.r, int(found.x.shape[-1])
    of_r, of_x, of_y = (abs(to_native(np, each, True)) for each in (r, x, y))
    conditions = of_y.sum(axis=-1).max(axis=-1) * of_x.sum(axis=-1).max(axis=-1)
    condition = float(conditions[np.isfinite(conditions)].max(initial=1.0))
    few = next(
        (p for p in PRECISIONS if p.eps * condition * n <= 2.0**-30 and p.limbs <= kind.limbs),
        precision_for(kind.limbs),
    )
    less = Kind(few.limbs, True)
    y, r, x = (planes.first_limbs(each, True, less.limbs) for each in (y, r, x))
    z = backend.matmul(y, r, kind=less)
    lost = rest.error + 4 * (n + 16) * few.eps * of_r
    bound = abs(to_native(np, z, True)) + of_y @ lost + _LEAST
    one = less.identity(np, found.x.shape[kind.lead :])
    g = backend.matmul(y, x, c=one, subtract=True, kind=less)
    of_g = abs(to_native(np, g, True)) + 4 * (n + 24) * few.eps * (of_y @ of_x) + of_y @ rest.off
    rows = of_g.sum(axis=-1)
    norm = rows.max(axis=-1)[:, None, None]
    columns = bound.max(axis=-2)[:, None, :] / np.where(norm < 0.5, 1 - norm, 0.0)
    moduli = (bound + rows[:, :, None] * columns) * SLACK * SLACK
    return z, np.nan_to_num(moduli, nan=np.inf, posinf=np.inf)


def distances(backend: Backend, x: Block, y: Block, kind: Kind) -> np.ndarray:
    """Return ``abs(x[i] - y[j])`` for values ``(batch, n)``, float64 ``(batch, n, n)``."""
    shape = (*x.shape, x.shape[-1])
    apart = backend.binary(
        "subtract",
        np.broadcast_to(x[..., :, None], shape),
        np.broadcast_to(y[..., None, :], shape),
        kind=kind,
    )
    return np.asarray(abs(to_native(np, apart, True)))


@np.errstate(all="ignore")
def vector_bounds(
    known: Certified, found: Basis, lengths: np.ndarray, rounding: float
) -> np.ndarray:
    """Return bounds of the distances of eigenvectors of length 1 from exact ones ``(batch, n)``.

    `lengths` are those of the columns that stand for X. Infinite unless a disk has one eigenvalue.
    For ``v_i = 1`` the other rows of ``(diag(w) + M) v = lambda v`` bound the rest of v.
    """
    labels, n = found.labels, found.labels.shape[-1]
    gaps = known.apart / SLACK - known.disks.radii[..., None]
    gaps = over_blocks(np.min, gaps, labels[:, None, :])
    coupling, counts = (each[:, None, :] for each in (_coupling(found), _counts(labels)))
    reach = sum(
        np.where(j < counts, coupling**j / gaps ** (j + 1), 0.0)
        for j in range(int(counts.max(initial=1)))
    )
    reach = np.where(np.eye(n, dtype=bool), 0.0, np.where(gaps > 0, reach, np.inf))
    sums = over_blocks(np.max, known.moduli.sum(axis=-1), labels)[:, None, :]
    column = over_blocks(np.max, known.moduli.swapaxes(-1, -2), labels[:, None, :])
    left = 1 - (reach * sums).max(axis=-1, initial=0.0)
    most = (reach * column).max(axis=-1, initial=0.0) / np.where(left > 0, left, 0.0)
    rest = reach * (sums * most[..., None] + column)
    total = (rest * lengths[:, None, :]).sum(axis=-1) / lengths
    bounds = np.where(known.disks.counts == 1, 4 * SLACK * total + rounding, np.inf)
    return np.nan_to_num(bounds, nan=np.inf, posinf=np.inf)


def _counts(labels: np.ndarray) -> np.ndarray:
    """Return the orders of the blocks ``(batch, n)``."""
    return np.asarray((labels[:, :, None] == labels[:, None, :]).sum(axis=-1))


def _coupling(found: Basis) -> np.ndarray:
    """Return the largest row sums of moduli above the diagonals of blocks, ``(batch, n)``."""
    sums = np.triu(abs(to_native(np, found.m, True)), 1).sum(axis=-1) * SLACK
    return over_blocks(np.max, sums, found.labels)
