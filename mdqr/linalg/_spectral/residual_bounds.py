"""Bounds of the errors of eigenvalues of Hermitian matrices, by residuals in twice the limbs.

With vectors X and values w as they are returned, A X - B X W = R and X^H B X = I - G, eigenvalues
of the pair are those of ``diag(w) + Z``, ``Z = (I - G)^-1 X^H R``: the disks of that, in which the
diagonal of Z is what the values are off, and what is beside it counts squared, over a gap. All
rounding errors are in the moduli, in float64: `SLACK` is more than these computations lose.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._spectral.disks import SLACK, Disks, disks

# Entries are near 1: more than what underflow takes from any sum.
_LEAST = 2.0**-1000
# More than powers of two take from an entry, and more than what underflows in a sum of doubles.
LOST = 2.0**-1072
_UNDERFLOW = 2.0**-1060
# Larger norms of G leave no bound of ``(I - G)^-1``.
_MOST = 0.99
# Row sums of G count as no smaller, relative to the largest one: products do not underflow.
_FURTHEST = 2.0**-500


class Remainders(NamedTuple):
    """Upper bounds of moduli, float64 ``(batch, n, n)``: of ``X^H R``, and of G."""

    z: np.ndarray
    g: np.ndarray


class Bounds(NamedTuple):
    """Proven bounds, float64 ``(batch, n)``.

    Of the values; of the sines of the angles between vectors and exact ones, in the product of B,
    infinite where more than one is near; and of the lengths of vectors, how far they are from 1.
    """

    values: np.ndarray
    sines: np.ndarray
    lengths: np.ndarray


class Known(NamedTuple):
    """A block and the moduli of its entries in float64, upper bounds."""

    block: Block
    sizes: np.ndarray


def known(block: Block, kind: Kind) -> Known:
    """Return a block with the moduli of its entries."""
    return Known(block, native_abs(block, kind.is_complex) * SLACK)


@np.errstate(all="ignore")
def lost_by_scaling(
    backend: Backend, given: Block, scaled: Block, powers: np.ndarray, is_complex: bool
) -> np.ndarray:
    """Return upper bounds of the errors of entries of ``2**powers given`` that were rounded.

    The first limb that is rounded loses half of the smallest double at most, those after it are
    no larger than that, and both parts lose ``2**0.5`` times as much as one.
    """
    back = backend.ldexp(scaled, -powers, is_complex=is_complex)
    inexact = (back != given).any(axis=(0, 1) if is_complex else 0)
    return np.where(inexact, LOST, 0.0)


def changed(x: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return ``X^H E X`` for moduli, and no less where its first product underflows."""
    return np.asarray((x.swapaxes(-1, -2) @ e + _UNDERFLOW) @ x)


def diagonal_matrix(xp: Any, values: Block, kind: Kind) -> Block:
    """Return real values ``(batch, n)`` as diagonal matrices."""
    found = kind.zeros(xp, (*values.shape[1:], values.shape[-1]))
    diagonal = planes.diagonal(found[0] if kind.is_complex else found)
    diagonal[: len(values)] = values
    return found


@np.errstate(all="ignore")
def residual(
    backend: Backend, a: Known, x: Known, image: Known, w: Known, kind: Kind
) -> tuple[Known, np.ndarray]:
    """Return ``A X - image W`` rounded once, and bounds of what it is off."""
    eps, n = precision_for(kind.limbs).eps, a.block.shape[-1] + w.block.shape[-1]
    wide = np.concatenate(
        [planes.widen(a.block, kind.is_complex, kind.limbs), image.block], axis=-1
    )
    tall = np.concatenate([planes.negate(x.block, kind.is_complex), w.block], axis=-2)
    found = known(backend.residual([], wide, tall, kind=kind), kind)
    # The sign is that of `residual`, terms less a product.
    lost = (8 * n + 64) * square_of(eps) * (a.sizes @ x.sizes + image.sizes @ w.sizes)
    return found, lost + eps * found.sizes + _LEAST


@np.errstate(all="ignore")
def product(backend: Backend, x: Known, r: Known, lost: np.ndarray, kind: Kind) -> Known:
    """Return ``X^H R``, and upper bounds of the moduli of the exact one; R is off by `lost`."""
    eps, m = precision_for(kind.limbs).eps, r.block.shape[-2]
    turned = x.sizes.swapaxes(-1, -2)
    found = backend.matmul(x.block.swapaxes(-1, -2), r.block, conj_a=kind.is_complex, kind=kind)
    more = turned @ (lost + (8 * m + 64) * eps * r.sizes)
    return Known(found, (known(found, kind).sizes + more) * SLACK + _LEAST)


@np.errstate(all="ignore")
def departure(backend: Backend, x: Known, kind: Kind) -> np.ndarray:
    """Return upper bounds of the moduli of ``I - X^H X``."""
    eps, (m, n) = precision_for(kind.limbs).eps, x.block.shape[-2:]
    one = kind.identity(np, (*x.block.shape[kind.lead : -2], n, n))
    found = backend.residual(
        [(1, one)], planes.adjoint(x.block, kind.is_complex), x.block, kind=kind
    )
    more = (8 * m + 64) * square_of(eps) * (x.sizes.swapaxes(-1, -2) @ x.sizes + 1.0)
    return np.asarray((known(found, kind).sizes * (1 + eps) + more) * SLACK + _LEAST)


def remainders(
    backend: Backend, a: Block, b: Block | None, x: Block, w: Block, kind: Kind
) -> Remainders:
    """Return those of Hermitian matrices `a` and `b` ``(batch, n, n)``, None for I."""
    field, limbs = kind.is_complex, kind.limbs
    of_x = known(planes.widen(x, field, limbs), kind)
    of_a, of_w = known(a, kind), known(diagonal_matrix(np, w, kind), kind)
    if b is None:
        r, lost = residual(backend, of_a, of_x, of_x, of_w, kind)
        z = product(backend, of_x, r, lost, kind)
        return Remainders(z.sizes, departure(backend, of_x, kind))
    return _of_pair(backend, of_a, known(b, kind), of_x, of_w, kind)


@np.errstate(all="ignore")
def _of_pair(backend: Backend, a: Known, b: Known, x: Known, w: Known, kind: Kind) -> Remainders:
    """Return the remainders of two matrices; B X is held as ``W - D``, rounded and residual."""
    eps, n = precision_for(kind.limbs).eps, a.block.shape[-1]
    few, turned = 8 * n + 64, x.sizes.swapaxes(-1, -2)
    image = known(backend.matmul(b.block, x.block, kind=kind), kind)
    rest = known(backend.residual([(1, image.block)], b.block, x.block, kind=kind), kind)
    off = eps * rest.sizes + few * square_of(eps) * (b.sizes @ x.sizes + image.sizes) + _LEAST
    r, lost = residual(backend, a, x, image, w, kind)
    more = known(backend.matmul(rest.block, w.block, kind=kind), kind)
    total = known(backend.binary("add", r.block, more.block, kind=kind), kind)
    lost = lost + 8 * eps * (total.sizes + r.sizes + more.sizes)
    lost = lost + (few * eps * rest.sizes + off) @ w.sizes
    z = product(backend, x, total, lost, kind)
    # I - X^H W + X^H D.
    one = kind.identity(np, x.block.shape[kind.lead :])
    left = planes.adjoint(x.block, kind.is_complex)
    of_rest = backend.matmul(left, rest.block, kind=kind)
    g = known(backend.residual([(1, one), (1, of_rest)], left, image.block, kind=kind), kind)
    more_g = few * square_of(eps) * (turned @ image.sizes + 1.0 + known(of_rest, kind).sizes)
    more_g = more_g + turned @ (few * eps * rest.sizes + off)
    return Remainders(z.sizes, (g.sizes * (1 + eps) + more_g) * SLACK + _LEAST)


def distances(backend: Backend, x: Block, kind: Kind) -> np.ndarray:
    """Return ``abs(x[i] - x[j])`` for real values ``(batch, n)``."""
    shape = (*x.shape, x.shape[-1])
    rows, columns = (np.broadcast_to(y, shape) for y in (x[..., :, None], x[..., None, :]))
    return np.asarray(abs(backend.binary("subtract", rows, columns, kind=kind.real)[0]))


@np.errstate(all="ignore")
def amplified(found: Remainders) -> np.ndarray:
    """Return upper bounds of the moduli of ``Z = X^H R + G Z``; infinite unless norm(G) < 1.

    It is the norm of ``D^-1 G D``, D = I or the row sums of G: where B is ill-conditioned they
    are as different as the values.
    """
    rows = found.g.sum(axis=-1, keepdims=True)
    rows = np.maximum(rows / rows.max(axis=-2, keepdims=True, initial=0.0), _FURTHEST)
    moduli = np.full(found.z.shape, np.inf)
    for d in (np.ones_like(rows), rows):
        image = (found.g @ d) * SLACK + _UNDERFLOW
        norm = (image / d).max(axis=-2, keepdims=True, initial=0.0) * SLACK
        columns = (found.z / d).max(axis=-2, keepdims=True, initial=0.0) / (1 - norm)
        moduli = np.fmin(moduli, np.where(norm < _MOST, found.z + image * columns, np.inf))
    return moduli * SLACK


@np.errstate(all="ignore")
def bounds(apart: np.ndarray, found: Remainders, sizes: np.ndarray) -> Bounds:
    """Return what the remainders prove of values of these sizes, these distances apart.

    The sine is at most the length of a column of Z, as a residual, over the gap (C. Davis and
    W. M. Kahan, The rotation of eigenvectors by a perturbation III, 1970).
    """
    moduli, n = amplified(found), found.z.shape[-1]
    proven = disks(apart, moduli)
    # The similarity by the roots of the sizes: small values are not moved by what large ones err.
    least = sizes.max(axis=-1, keepdims=True, initial=0.0) * _LEAST
    roots = np.sqrt(np.maximum(sizes, least))
    graded = disks(apart, moduli * (SLACK * roots[:, :, None] / roots[:, None, :]))
    proven = Disks(*map(np.minimum, proven, graded))
    gaps = apart / SLACK - proven.radii[..., None, :]
    gaps[..., np.arange(n), np.arange(n)] = np.inf
    gap = gaps.min(axis=-1, initial=np.inf)
    norm = found.g.sum(axis=-1).max(axis=-1, initial=0.0)[:, None]
    # Lengths of columns in the product of B are at most those of their coordinates times that.
    columns = np.hypot.reduce(moduli, axis=-2) * (1 + norm) * SLACK
    own = np.diagonal(found.g, axis1=-2, axis2=-1)
    sines = np.where((gap > 0) & (own < 0.5), columns / gap / (1 - own), np.inf)
    sines = np.where(proven.counts == 1, sines, np.inf)
    return Bounds(proven.radii, np.nan_to_num(sines, nan=np.inf, posinf=np.inf), own * SLACK)
