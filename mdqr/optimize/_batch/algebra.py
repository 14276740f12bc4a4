"""Small systems, one a problem of a batch: the problems have an axis of their own.

No array is read value by value, so that all of it runs where the arrays are.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import mdqr
from mdqr._array.array import MDArray

# Arrays of float64 in the memory of the host, or of a GPU.
Floats = Any

_RANK = 1e-13


def damped_steps(
    xp: ModuleType, columns: Floats, r: Floats, damping: Floats, weights: Floats
) -> Floats:
    """Return the minima of ``|J s + r|**2 + damping * |weights * s|**2``, ``(n, B)``.

    By modified Gram and Schmidt's method, which is backward stable for least squares (A. Bjorck
    1967). Columns that depend on others to rounding errors are omitted.

    Parameters
    ----------
    columns : array
        The columns of each J, ``(n, B, m)``.
    r, damping, weights : arrays
        ``(B, m)``, ``(B,)``, ``(n,)``.
    """
    n, batch, m = columns.shape
    v = xp.zeros((n + 1, batch, m + n))
    v[:n, :, :m] = columns
    v[n, :, :m] = r
    root = xp.sqrt(damping)
    for j in range(n):
        v[j, :, m + j] = root * weights[j]
    before = xp.sqrt((v * v).sum(axis=-1))
    triangle = xp.zeros((n, n + 1, batch))
    for j in range(n):
        norm = xp.sqrt((v[j] * v[j]).sum(axis=-1))
        kept = norm > _RANK * before[j]
        inverse = xp.where(kept, 1.0 / xp.where(kept, norm, 1.0), 0.0)
        q = v[j] * inverse[:, None]
        along = (v[j + 1 :] * q).sum(axis=-1)
        v[j + 1 :] -= along[..., None] * q
        # The inverse of the diagonal stands in its place.
        triangle[j, j], triangle[j, j + 1 :] = inverse, along
    step = xp.zeros((n, batch))
    for j in range(n - 1, -1, -1):
        above = (triangle[j, j + 1 : n] * step[j + 1 :]).sum(axis=0)
        step[j] = -(triangle[j, n] + above) * triangle[j, j]
    return step


def inverses(xp: ModuleType, h: MDArray) -> tuple[MDArray, Floats]:
    """Return the inverses of symmetric matrices ``(n, n, B)``, and which are positive definite.

    By sweeps over the diagonal (A. E. Beaton 1964): all pivots are positive where a matrix is
    positive definite.
    """
    definite = xp.ones(h.shape[-1], dtype=bool)
    for k in range(h.shape[0]):
        pivot = h[k, k]
        definite &= pivot.limbs[0] > 0
        row = h[k] / pivot
        swept = h - h[:, k][:, None] * row[None]
        swept[k], swept[:, k], swept[k, k] = row, row, -1 / pivot
        h = swept
    return -h, definite & xp.isfinite(h.limbs[0]).all(axis=(0, 1))


def chosen(xp: ModuleType, mask: Floats, new: Any, old: Any) -> Any:
    """Return `new` where the mask of the last axis, or of the first of ``(B, m)``, is true."""
    return mdqr.where(mask, new, old) if isinstance(new, MDArray) else xp.where(mask, new, old)


def norms_of(xp: ModuleType, columns: Floats) -> Floats:
    """Return the norms of columns ``(n, B, m)``, 1 for zeros and infinities."""
    norms = xp.sqrt((columns * columns).sum(axis=-1))
    return xp.where(xp.isfinite(norms) & (norms > 0), norms, 1.0)


def sizes_of(xp: ModuleType, x: MDArray, before: Floats | None = None) -> Floats:
    """Return by how much parameters may be changed, as for one problem."""
    near = xp.abs(x.limbs[0])
    if before is None:
        near = xp.where(near > 0, near, 1.0)
    else:
        near = xp.maximum(near, before * 0.25)
    return xp.exp2(xp.floor(xp.log2(near)))
