"""Eigenvectors of length 1, and values that are real or conjugate because the matrix is real."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.lu import permuted
from mdqr.linalg._factor.triangular import substitute
from mdqr.linalg._general.certificate import Certified, distances
from mdqr.linalg._general.subspaces.newton import Basis
from mdqr.linalg._general.subspaces.splitting import eigenvectors
from mdqr.linalg._spectral.disks import conjugates
from mdqr.linalg._spectral.onesided.jacobi import row_sums


class Vectors(NamedTuple):
    """Right vectors as columns, left ones as rows of the inverse: ``(batch, n, n)``."""

    right: Block
    left: Block


def vectors_of(backend: Backend, found: Basis, kind: Kind) -> Vectors:
    """Return eigenvectors of the whole matrix: of its blocks times their bases."""
    x, y = found.x, found.y
    labels = np.sort(found.labels, axis=-1)
    for i in np.flatnonzero((labels[:, 1:] == labels[:, :-1]).any(axis=-1)):
        if x is found.x:
            x, y = x.copy(), y.copy()
        v = eigenvectors(backend, found.m[..., i, :, :], found.labels[i], kind)
        x[..., i, :, :] = backend.matmul(x[..., i, :, :], v, kind=kind)
        y[..., i, :, :] = substitute(backend, v, y[..., i, :, :], kind=kind, lower=False)
    return Vectors(x, y)


def normalised(backend: Backend, x: Block, kind: Kind, is_real: np.ndarray) -> Block:
    """Return columns of length 1 whose entry of the largest modulus is positive.

    Imaginary parts of those that `is_real` ``(batch, n)`` names become zero.
    """
    real, top = kind.real, scaling.column_exponents(x, True)
    x = backend.ldexp(x, -top[..., None, :], is_complex=True)
    rows = x.swapaxes(-1, -2)
    place = native_abs(rows, True).argmax(axis=-1)[..., None]
    pivot = np.take_along_axis(rows, place[None, None], axis=-1)
    size = planes.complexify(backend.unary("abs", pivot, kind=kind))
    phase = backend.binary("divide", planes.conjugate(pivot), size, kind=kind)
    rows = backend.binary("multiply", rows, phase, kind=kind)
    np.put_along_axis(rows[1], place[None], 0.0, axis=-1)
    rows[1] = np.where(is_real[..., None], 0.0, rows[1])
    # The length of a complex vector is that of its parts.
    parts = np.concatenate([rows[0], rows[1]], axis=-1)
    total = row_sums(backend, backend.unary("square", parts, kind=real), real)
    length = planes.complexify(backend.unary("sqrt", total, kind=real))[..., None]
    rows = backend.binary("divide", rows, length, kind=kind)
    return rows.swapaxes(-1, -2)


class Mirrored(NamedTuple):
    """Values and radii of real problems, and which are conjugates: ``values[item, j]`` of i."""

    values: Block
    radii: np.ndarray
    item: np.ndarray
    i: np.ndarray
    j: np.ndarray

    def copy(self, rows: Block, lead: int = 0) -> None:
        """Write what belongs to values i to the places of their conjugates, in place."""
        front = (slice(None),) * lead
        rows[(*front, self.item, self.j)] = rows[(*front, self.item, self.i)]


def mirrored(backend: Backend, known: Certified, kind: Kind) -> Mirrored:
    """Make values of real problems real or conjugate where disks prove that."""
    values = known.values.copy()
    apart = distances(backend, planes.conjugate(values), values, kind)
    partner = conjugates(apart, known.disks)
    own = np.arange(partner.shape[-1])
    values[1] = np.where(partner == own, 0.0, values[1])
    item, i = np.nonzero((partner >= 0) & (partner != own) & (values[1, 0] > 0))
    found = Mirrored(values, known.disks.radii.copy(), item, i, partner[item, i])
    if item.size:
        found.copy(found.radii)
        values[..., item, found.j] = planes.conjugate(values[..., item, i])
    return found


def mirror_rows(found: Mirrored, rows: Block) -> None:
    """Make vectors ``(batch, n, n)``, in rows, conjugates where values are, in place."""
    if found.item.size:
        rows[..., found.item, found.j, :] = planes.conjugate(rows[..., found.item, found.i, :])


def order_of(values: Block) -> np.ndarray:
    """Return the order by real parts; of equal ones those with the larger imaginary part first."""
    keys = [*(-values[1])[::-1], *values[0][::-1]]
    return np.lexsort(keys, axis=-1)


def ordered(values: Block, order: np.ndarray) -> Block:
    """Return values ``(batch, n)`` in an order."""
    return permuted(values[..., None], order)[..., 0]
