"""Eigenvalues and invariant subspaces: products from LAPACK on, or the QR algorithm."""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import native_abs, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter, Steps
from mdqr.linalg._general.subspaces.newton import (
    Basis,
    converged,
    from_lapack,
    inverse_step,
    refined,
)
from mdqr.linalg._general.subspaces.qr_algorithm import triangular
from mdqr.linalg._general.subspaces.splitting import split
from mdqr.linalg._shared.operands import precision_for

# Matrices of at least so many rows go through the QR algorithm in two limbs first.
_LARGE = 16


def decomposed(
    backend: Backend, a: Block, kind: Kind, *, is_real: bool, report: Reporter | None
) -> Basis:
    """Return bases of invariant subspaces of complex matrices ``(batch, n, n)``, M triangular.

    Entries are at most about 1; with `is_real` they have no imaginary parts.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the QR algorithm does not converge.
    """
    native = to_native(np, a, True)
    steps = None if report is None else Steps(report, "refine")
    start = from_lapack(native.real if is_real else native)
    found = refined(backend, a, start, kind, steps)
    if steps is not None:
        steps.end()
    if found.sound.all() and not _together(found.labels).any():
        return _scaled(backend, found)
    rows = []
    for i in range(len(found.sound)):
        one, given = found.item(i), a[..., i : i + 1, :, :]
        if one.sound[0] and _together(one.labels)[0]:
            one = _resolved(backend, given, one, kind)
        rows.append(one if one.sound[0] else _by_qr(backend, given, kind, report))
    joined = [np.concatenate(part, axis=-3) for part in zip(*(r[:3] for r in rows), strict=True)]
    x, y, m = joined
    labels = np.concatenate([row.labels for row in rows])
    # Vectors that are nearly parallel have cost their inverse digits.
    y = inverse_step(backend, x, y, kind)
    return _scaled(backend, Basis(x, y, m, labels, np.ones(len(rows), bool)))


def _together(labels: np.ndarray) -> np.ndarray:
    """Return in which matrices of a batch eigenvalues have not been split."""
    ordered = np.sort(labels, axis=-1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=-1))


def _by_qr(backend: Backend, a: Block, kind: Kind, report: Reporter | None) -> Basis:
    """Return the basis of one matrix from its triangular form; in two limbs first, if so."""
    if kind.limbs > 2 and a.shape[-1] >= _LARGE:
        few = Kind(2, True)
        form = triangular(backend, _narrow(a, few)[..., 0, :, :], few, report)
        start = _of_triangle(backend, *form, few)
        found = refined(backend, a, _scaled(backend, start), kind)
        if found.sound.all() and _together(found.labels)[0]:
            found = _resolved(backend, a, found, kind)
        if found.sound.all():
            return found
    return _of_triangle(backend, *triangular(backend, a[..., 0, :, :], kind, report), kind)


def _narrow(a: Block, kind: Kind) -> Block:
    return planes.first_limbs(a, True, kind.limbs)


def _of_triangle(backend: Backend, t: Block, q: Block, kind: Kind, noise: float = 0.0) -> Basis:
    """Return the basis ``Q V`` of ``A = Q T Q^H`` with ``T V = V M``."""
    found = split(backend, t, kind, noise)
    x = backend.matmul(q, found.v, kind=kind)
    y = backend.matmul(found.inverse, planes.adjoint(q, kind.is_complex), kind=kind)
    x, y, m = (each[..., None, :, :] for each in (x, y, found.m))
    return Basis(x, y, m, found.labels[None], np.ones(1, bool))


def _resolved(backend: Backend, a: Block, found: Basis, kind: Kind) -> Basis:
    """Split what one basis has together, as far as that goes."""
    found = converged(backend, a, _split_blocks(backend, found, kind), kind)
    if found.sound[0] and _together(found.labels)[0]:
        # Steps change what is left of blocks, and below their diagonals.
        found = _split_blocks(backend, found, kind)
    return found


def _split_blocks(backend: Backend, found: Basis, kind: Kind) -> Basis:
    """Return one basis whose blocks are triangular, and those with more labels that can have."""
    blocks = Basis(*(each.copy() for each in found))
    x, y, m = (each[..., 0, :, :] for each in blocks[:3])
    labels = found.labels[0].copy()
    # What is left when values are shifted has errors of all that M has.
    noise = precision_for(kind.limbs).eps * float(native_abs(m, True).max())
    for label in np.unique(labels):
        members = np.flatnonzero(found.labels[0] == label)
        if members.size == 1:
            continue
        inner = (..., members[:, None], members)
        block = m[inner]
        # What the values have in common hides what they differ in.
        one = planes.diagonal(block)
        centre = one[..., :1].copy()
        one[...] = backend.binary("subtract", one, centre, kind=kind)
        part = _of_triangle(backend, *triangular(backend, block, kind), kind, noise)
        of_x, of_y, turned = (each[..., 0, :, :].copy() for each in part[:3])
        one = planes.diagonal(turned)
        one[...] = backend.binary("add", one, centre, kind=kind)
        m[inner] = turned
        x[..., members] = backend.matmul(x[..., members], of_x, kind=kind)
        y[..., members, :] = backend.matmul(of_y, y[..., members, :], kind=kind)
        labels[members] = members[part.labels[0]]
    return blocks._replace(labels=labels[None])


def _scaled(backend: Backend, found: Basis) -> Basis:
    """Return the basis with columns of X near 1, by powers of two."""
    # Below the diagonal are rounding errors.
    found = found._replace(m=np.triu(found.m))
    powers = scaling.column_exponents(found.x, True)
    if not powers.any():
        return found
    rows, columns = powers[..., :, None], powers[..., None, :]
    return found._replace(
        x=backend.ldexp(found.x, -columns, is_complex=True),
        y=backend.ldexp(found.y, rows, is_complex=True),
        m=backend.ldexp(found.m, rows - columns, is_complex=True),
    )
