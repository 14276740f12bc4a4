"""Eigenvectors from those of few limbs, by products: ``X (I + E)`` with E from ``X^-1 A X``.

Batches of complex matrices, in host memory. With `Y` for the inverse of X, ``Z = Y (A X - X M)``
and ``E_ij = Z_ij / (m_jj - m_ii)``, errors are squared in each step, as in T. Ogita and K. Aishima,
Iterative refinement for symmetric eigenvalue decomposition, 2018. Eigenvalues too close for that
stay together: M is a block of its own for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Steps
from mdqr.linalg._shared.operands import half_of, precision_for
from mdqr.linalg._spectral.disks import components

_MOST_STEPS = 8
# Pairs with larger corrections stay together, after the first step with somewhat smaller ones;
# steps have to make the sum of all others less.
_LINKED = 2.0**-6
_SMALL = 0.25
# The power of eps that errors of simple eigenvalues reach by steps, and the part of what leaves
# the least one its digits.
_ENOUGH = 0.75
_MARGIN = 2.0**-8


class Basis(NamedTuple):
    """``A X = X M`` and ``Y X = I`` up to errors; M is zero between rows of different labels.

    Blocks ``(batch, n, n)``; `labels` int64 ``(batch, n)``; `sound`, bool ``(batch,)``, where that
    has all limbs.
    """

    x: Block
    y: Block
    m: Block
    labels: np.ndarray
    sound: np.ndarray

    def item(self, i: int) -> Basis:
        """Return one of the batch, as a batch."""
        one = slice(i, i + 1)
        x, y, m = (each[..., one, :, :] for each in self[:3])
        return Basis(x, y, m, self.labels[one], self.sound[one])


def from_lapack(a: np.ndarray) -> Basis:
    """Return eigenvectors of float64 or complex128 matrices ``(batch, n, n)`` by LAPACK."""
    batch, n = a.shape[:2]
    values, x = np.zeros((batch, n), complex), np.zeros(a.shape, complex)
    y, sound = np.zeros(a.shape, complex), np.zeros(batch, bool)
    try:
        values[...], x[...] = np.linalg.eig(a)
        y[...], sound[...] = np.linalg.inv(x), True
    except np.linalg.LinAlgError:
        # One that fails stops the batch.
        for i in range(batch if batch > 1 else 0):
            one = from_lapack(a[i : i + 1])
            sound[i] = one.sound[0]
            values[i] = np.diagonal(to_native(np, one.m, True)[0])
            x[i], y[i] = (to_native(np, each, True)[0] for each in (one.x, one.y))
    labels, m = np.tile(np.arange(n), (batch, 1)), values[:, :, None] * np.eye(n)
    x, y, m = (from_native(np, each, True) for each in (x, y, m))
    return Basis(x, y, m, labels, sound)


def refined(
    backend: Backend, a: Block, start: Basis, kind: Kind, steps: Steps | None = None
) -> Basis:
    """Return a basis to the limbs of `kind`; not sound where steps do not converge."""
    found, limbs = start, planes.limb_count(start.x, True)
    found = found._replace(sound=found.sound & _is_regular(start, precision_for(limbs).eps))
    while limbs < kind.limbs:
        limbs = precision_for(min(2 * limbs, kind.limbs)).limbs
        few = Kind(limbs, True)
        found = converged(backend, planes.first_limbs(a, True, limbs), found, few, steps)
        if not found.sound.any():
            break
    return found


@np.errstate(all="ignore")
def _is_regular(start: Basis, eps: float) -> np.ndarray:
    """Return where conditions of eigenvalues leave a quarter of the bits."""
    columns = np.linalg.norm(to_native(np, start.x, True), axis=-2)
    rows = np.linalg.norm(to_native(np, start.y, True), axis=-1)
    return np.asarray((columns * rows).max(axis=-1) <= eps**-0.75)


def converged(
    backend: Backend, a: Block, found: Basis, kind: Kind, steps: Steps | None = None
) -> Basis:
    """Take steps in so many limbs until errors are of their order.

    Where no eigenvalues are together, less is enough: what follows, a step in more limbs or the
    last correction, squares errors again.
    """
    eps, before = precision_for(kind.limbs).eps, np.full(len(found.labels), np.inf)
    own = np.arange(found.labels.shape[-1])
    for _ in range(_MOST_STEPS):
        limit = np.clip(before / found.labels.shape[-1], _LINKED * _SMALL**3, _LINKED)
        found, size, factor = _step(backend, a, found, limit, kind)
        if steps is not None:
            steps.step()
        alone = (found.labels == own).all(axis=-1)
        done = size * factor <= np.where(alone, _enough(found, eps), eps)
        found = found._replace(sound=found.sound & (size <= np.minimum(_SMALL, before)))
        if done[found.sound].all():
            return found
        before = np.where(done, before, size / 2)
    return found._replace(sound=found.sound & done)


@np.errstate(all="ignore")
def _enough(found: Basis, eps: float) -> np.ndarray:
    """Return errors whose squares, times the largest eigenvalue, are below eps of the least one.

    Less where entries of Y say that conditions are large.
    """
    sizes = native_abs(planes.diagonal(found.m), True)
    limit = _MARGIN * np.sqrt(eps * sizes.min(axis=-1) / sizes.max(axis=-1))
    limit = np.fmin(limit, eps**_ENOUGH) / native_abs(found.y, True).max(axis=(-2, -1))
    return np.asarray(np.fmax(limit, eps))


@np.errstate(all="ignore")
def _step(
    backend: Backend, a: Block, found: Basis, limit: np.ndarray, kind: Kind
) -> tuple[Basis, np.ndarray, np.ndarray]:
    """Return the basis after one step, the norm of E, and about what the next one is less by."""
    x, y, m, labels, sound = found
    y = inverse_step(backend, x, y, kind)
    r = backend.matmul(a, x, kind=kind)
    r = backend.matmul(x, m, c=r, subtract=True, kind=kind)
    z, one = _small_product(backend, y, r, kind), planes.diagonal(m)
    gaps = backend.binary("subtract", one[..., None, :], one[..., :, None], kind=kind)
    half = Kind(half_of(kind.limbs), True)
    near = native_abs(gaps, True)
    ratios = native_abs(z, True) / near
    ratios[np.isnan(ratios)] = np.inf
    labels = _joined(labels, ratios > limit[:, None, None])
    same = labels[:, :, None] == labels[:, None, :]
    gaps = np.where(same, np.nan, planes.first_limbs(gaps, True, half.limbs))
    e = backend.binary("divide", planes.first_limbs(z, True, half.limbs), gaps, kind=half)
    # An infinite correction is none.
    usable = sound[:, None, None] & ~same
    e = np.where(usable & np.isfinite(e).all(axis=(0, 1)), e, 0.0)
    size = np.where(same, 0.0, ratios).sum(axis=-1).max(axis=-1)
    m = np.where(same, backend.binary("add", m, z, kind=kind), 0.0)
    factor = size
    if same.sum() > labels.size:
        # E takes M for diagonal.
        sizes = native_abs(m, True)
        coupled = sizes.sum(axis=-1) - planes.diagonal(sizes)
        factor = size + (coupled / np.where(same, np.inf, near).min(axis=-1)).max(axis=-1)
    x = backend.binary("add", x, _small_product(backend, x, e, kind), kind=kind)
    y = backend.binary("subtract", y, _small_product(backend, e, y, kind), kind=kind)
    return Basis(x, y, m, labels, sound), size, factor


def _small_product(backend: Backend, x: Block, y: Block, kind: Kind) -> Block:
    """Return a product, small relative to its other summand: half the limbs are enough."""
    half = Kind(half_of(kind.limbs), True)
    x, y = planes.first_limbs(x, True, half.limbs), planes.first_limbs(y, True, half.limbs)
    return backend.matmul(x, y, kind=half)


def inverse_step(backend: Backend, x: Block, y: Block, kind: Kind) -> Block:
    """Return ``Y + (I - Y X) Y``, an inverse to twice as many bits."""
    one = kind.identity(np, x.shape[kind.lead :])
    off = backend.matmul(y, x, c=one, subtract=True, kind=kind)
    return backend.binary("add", y, _small_product(backend, off, y, kind), kind=kind)


def _joined(labels: np.ndarray, linked: np.ndarray) -> np.ndarray:
    """Return labels for which linked pairs of each matrix are together."""
    linked = linked | (labels[:, :, None] == labels[:, None, :])
    if linked.sum() == labels.size:
        return labels
    linked, found = linked | linked.swapaxes(-1, -2), labels.copy()
    for i in np.flatnonzero(linked.sum(axis=(-2, -1)) > labels.shape[-1]):
        found[i] = components(linked[i])
    return found
