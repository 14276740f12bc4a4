"""The last step of first order: eigenvalues that have no others in their block, and vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.triangular import substitute
from mdqr.linalg._general.subspaces.newton import Basis
from mdqr.linalg._shared.operands import precision_for

# Larger sums of corrections of a vector are of no use.
_SMALL = 2.0**-10


class Corrected(NamedTuple):
    """Eigenvalues ``(batch, n)``, which of them are new, and the basis with new vectors.

    These are ``X (I + E)``; `moved` are the moduli of E.
    """

    values: Block
    changed: np.ndarray
    basis: Basis
    moved: np.ndarray


@np.errstate(all="ignore")
def corrected(backend: Backend, found: Basis, z: Block, kind: Kind) -> Corrected:
    """Return eigenvalues and vectors corrected by ``Z = X^-1 (A X - X M)``.

    As T. Ogita and K. Aishima: ``E_ij = Z_ij / (m_jj - m_ii)``, for blocks solutions of triangular
    systems. Where errors of second order are not rounding errors, nothing is changed.
    """
    one, labels, few = planes.diagonal(found.m), found.labels, planes.limb_count(z, True)
    less = Kind(few, True)
    same = labels[:, :, None] == labels[:, None, :]
    single = same.sum(axis=-1) == 1
    gaps = backend.binary("subtract", one[..., None, :], one[..., :, None], kind=kind)
    gaps = planes.first_limbs(gaps, True, few)
    e = backend.binary("divide", z, np.where(same, np.nan, gaps), kind=less)
    e = np.where(same, 0.0, e)
    blocks = np.flatnonzero(~single.all(axis=-1))
    e = planes.widen(e, True, kind.limbs) if blocks.size else e
    for item in blocks:
        _solve_blocks(backend, found, z, e, int(item), kind)
    of_x, of_z, of_e, of_m = (native_abs(each, True) for each in (found.x, z, e, found.m))
    # What the product of Z and E leaves of A X - X M is no more than rounding errors.
    rest = (of_x @ (of_z @ of_e)).max(axis=-2)
    size = precision_for(kind.limbs).eps * of_m.max(axis=(-2, -1))
    changed = single & (of_e.sum(axis=-2) <= _SMALL) & (rest <= size[:, None])
    e, moved = (np.where(changed[:, None, :], each, 0.0) for each in (e, of_e))
    values = backend.binary("add", one, planes.diagonal(z), kind=kind)
    x = backend.matmul(found.x, e, c=found.x, kind=kind)
    y = backend.matmul(e, found.y, c=found.y, subtract=True, kind=kind)
    values = np.where(changed, values, one)
    return Corrected(values, changed, found._replace(x=x, y=y), moved)


def _solve_blocks(
    backend: Backend, found: Basis, z: Block, e: Block, item: int, kind: Kind
) -> None:
    """Write rows of E that belong to blocks: ``(m_jj - M) e = z`` for every other column j."""
    m, labels = found.m[..., item, :, :], found.labels[item]
    for label in np.unique(labels):
        members, others = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        if members.size == 1 or not others.size:
            continue
        block = planes.negate(m[..., members[:, None], members], True)
        block = np.repeat(block[..., None, :, :], others.size, axis=-3)
        one = planes.diagonal(block)
        values = np.broadcast_to(planes.diagonal(m)[..., others, None], one.shape)
        one[...] = backend.binary("add", one, values, kind=kind)
        right = z[..., item, members[:, None], others].swapaxes(-1, -2)[..., None]
        rows = substitute(backend, block, right, kind=kind, lower=False)
        e[..., item, members[:, None], others] = rows[..., 0].swapaxes(-1, -2)
