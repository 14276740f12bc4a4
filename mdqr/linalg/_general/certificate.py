"""Verification of eigenvalues: disks of ``X^-1 A X``, with all rounding errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._general.correction import corrected
from mdqr.linalg._general.subspaces.newton import Basis
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.disks import SLACK, Disks, Together, disks, over_blocks

# What underflow takes from sums.
_LEAST = 2.0**-1000


class Remainder(NamedTuple):
    """The residual ``A X - X M`` except for errors, and the matrix of which Y is the inverse.

    R ``(batch, n, n)``, upper bounds of its errors, X, and bounds of errors of that, None if it
    has none; of two matrices ``A X - B X M`` and ``B X``.
    """

    r: Block
    error: np.ndarray
    x: Block
    off: np.ndarray | None


class Perturbation(NamedTuple):
    """``Z = X^-1 R``, a block of few limbs, and upper bounds ``(batch, n, n)``.

    `moduli` are bounds of the exact Z, `error` of its distance from `z`; `off` of ``I - Y X``.
    """

    z: Block
    moduli: np.ndarray
    error: np.ndarray
    off: np.ndarray


class Certified(NamedTuple):
    """Eigenvalues ``(batch, n)`` and vectors, corrected to first order, and bounds.

    Values are rounded to the limbs of the answer, unless these follow from them. `moduli` bounds
    ``X^-1 A X - diag(values)`` but for the blocks of M, ``(batch, n, n)``, X that of `start`, and
    `off` ``I - Y X``; the basis has columns ``X (I + E)``, and `moved` bounds E.
    """

    values: Block
    disks: Disks
    apart: np.ndarray
    moduli: np.ndarray
    off: np.ndarray
    start: Basis
    basis: Basis
    moved: np.ndarray


@np.errstate(all="ignore")
def certified(backend: Backend, rest: Remainder, found: Basis, kind: Kind, limbs: int) -> Certified:
    """Return the eigenvalues to so many limbs, and disks for them.

    The last rounding is charged by what it cut off: ``z - (value - m)`` is small, so that few
    limbs of it are enough.
    """
    z, moduli, error, off = perturbation(backend, rest, found, kind)
    values, changed, basis, moved = corrected(backend, found, z, kind)
    values = planes.widen(planes.narrow(values, True, limbs), True, kind.limbs)
    step = backend.binary("subtract", values, planes.diagonal(found.m), kind=kind)
    first_order = np.where(changed, planes.diagonal(z), 0.0)
    cut = backend.binary("subtract", first_order, step, kind=kind)
    of_step, of_cut = native_abs(step, True), native_abs(cut, True)
    own = planes.diagonal(moduli)
    # Of Z, what it is known to is left.
    own[...] = np.where(changed, planes.diagonal(error), own) + SLACK * of_cut + _LEAST
    own += 8 * precision_for(kind.limbs).eps * of_step
    apart = distances(backend, values, values, kind)
    proven = disks(apart, moduli, together(found))
    return Certified(values, proven, apart, moduli, off, found, basis, moved)


@np.errstate(all="ignore")
def perturbation(
    backend: Backend, rest: Remainder, found: Basis, kind: Kind, *, closely: bool = False
) -> Perturbation:
    """Return Z and bounds; with ``Y`` near the inverse of X, ``Z = Y R + G Z``, ``G = I - Y X``.

    Few limbs are enough for Z, the more the larger R and the smaller an eigenvalue is; all are
    taken for G if that is bounded `closely`.
    """
    y, x, r, n = found.y, rest.x, rest.r, int(found.x.shape[-1])
    of_r, of_x, of_y = native_abs(r, True), native_abs(x, True), native_abs(y, True)
    conditions = of_y.sum(axis=-1).max(axis=-1) * of_x.sum(axis=-1).max(axis=-1)
    few = precision_for(kind.limbs)
    sizes = native_abs(planes.diagonal(found.m), True)
    conditions = conditions * np.fmin(sizes.max(axis=-1) / sizes.min(axis=-1), 2.0**400)
    conditions = conditions * np.maximum(of_r.max(axis=(-2, -1)) / few.eps, 1.0)
    condition = float(conditions[np.isfinite(conditions)].max(initial=1.0))
    if not closely:
        few = next((p for p in PRECISIONS if p.eps * condition * n <= 2.0**-30 and p < few), few)
    less = Kind(few.limbs, True)
    y, r, x = (planes.first_limbs(each, True, less.limbs) for each in (y, r, x))
    z = backend.matmul(y, r, kind=less)
    lost = rest.error + 4 * (n + 16) * few.eps * of_r
    of_z, lost = native_abs(z, True), of_y @ lost + _LEAST
    one = less.identity(np, found.x.shape[kind.lead :])
    g = backend.matmul(y, x, c=one, subtract=True, kind=less)
    of_g = native_abs(g, True) + 4 * (n + 24) * few.eps * (of_y @ of_x)
    of_g = of_g if rest.off is None else of_g + of_y @ rest.off
    rows = of_g.sum(axis=-1)
    norm = rows.max(axis=-1)[:, None, None]
    columns = (of_z + lost).max(axis=-2)[:, None, :] / np.where(norm < 0.5, 1 - norm, 0.0)
    error = (lost + rows[:, :, None] * columns) * SLACK * SLACK
    moduli = of_z * SLACK + error
    error[np.isnan(error)] = moduli[np.isnan(moduli)] = np.inf
    return Perturbation(z, moduli, error, of_g * SLACK)


def distances(backend: Backend, x: Block, y: Block, kind: Kind) -> np.ndarray:
    """Return ``abs(x[i] - y[j])`` for values ``(batch, n)``, float64 ``(batch, n, n)``."""
    apart = backend.binary("subtract", x[..., :, None], y[..., None, :], kind=kind)
    return np.asarray(native_abs(apart, True))


def together(found: Basis, axis: int = -1) -> Together | None:
    """Return the blocks of M, or with axis -2 of its transpose; None if there are none."""
    labels = found.labels
    counts = (labels[:, :, None] == labels[:, None, :]).sum(axis=-1)
    if (counts <= 1).all():
        return None
    above = np.triu(native_abs(found.m, True), 1).sum(axis=axis) * SLACK
    return Together(labels, over_blocks(np.max, above, labels), counts)
