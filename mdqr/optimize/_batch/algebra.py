"""Small systems, one a problem of a batch: the problems have an axis of their own.

No array is read value by value, so that all of it runs where the arrays are.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._limbs.scaling import powers_of_two

# Arrays of float64 in the memory of the host, or of a GPU.
Floats = Any

EPS = 2.0**-52
_RANK, _NORMAL = 1e-13, 2.0**-48  # what is left of columns that depend on others, and of squares
_MODEST = 2.0**40  # entries of inverses that float64 finds
FEWEST = 64  # problems that are not worth to be divided
# Arrays with residuals on the last axis, and problems on the one before it.
_ON_RESIDUALS = ("r", "jacobian", "absolute", "second", "turned")


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


def normal_steps(
    xp: ModuleType, columns: Floats, r: Floats, damping: Floats, weights: Floats
) -> Floats:
    """Return the steps of `damped_steps`, by the normal equations.

    These are a quarter of the calls, and lose the square of the condition: no more than what
    differences in float64 lose.
    """
    n = columns.shape[0]
    rows = xp.moveaxis(xp.concatenate([columns, r[None]]), 0, 1)
    system = xp.moveaxis(rows[:, :n] @ xp.swapaxes(rows, 1, 2), 0, -1).copy()
    least = (_NORMAL * system[np.arange(n), np.arange(n)])[:, None]
    system[np.arange(n), np.arange(n)] += damping * (weights * weights)[:, None]
    for k in range(n):
        pivot = system[k, k]
        row = system[k] * xp.where(pivot > least[k], 1.0 / pivot, 0.0)
        system = system - system[:, k][:, None] * row
        system[k] = row
    return -system[:, n]


def along(rows: MDArray, r: MDArray) -> MDArray:
    """Return the products of rows ``(k, B, m)`` and residuals ``(B, m)``, ``(k, B)``."""
    return mdqr.moveaxis((mdqr.moveaxis(rows, 0, 1) @ r[..., None])[..., 0], 0, 1)


def inverses(xp: ModuleType, h: MDArray) -> tuple[MDArray, Floats]:
    """Return the inverses of symmetric matrices ``(n, n, B)``, and which are positive definite.

    Of matrices that are not too ill-conditioned for it the inverses in float64, with errors that
    each step of Newton's (G. Schulz 1933) squares.
    """
    near, definite = swept(xp, h.limbs[0])
    if not bool((definite & (xp.abs(near).max(axis=(0, 1)) < _MODEST)).all()):
        return swept(xp, h)
    found = mdqr.array(near, precision=h.precision)
    for _ in range(1 if h.precision is mdqr.dd else 2):
        found = found * 2.0 - _product(found, _product(h, found))
    return found, definite


def _product(a: MDArray, b: MDArray) -> MDArray:
    return mdqr.moveaxis(mdqr.moveaxis(a, -1, 0) @ mdqr.moveaxis(b, -1, 0), 0, -1)


def times(a: MDArray, x: MDArray) -> MDArray:
    """Return matrices ``(n, n, B)`` times vectors ``(n, B)``."""
    return (mdqr.moveaxis(a, -1, 0) @ x.T[..., None])[..., 0].T


def swept(xp: ModuleType, h: Any) -> tuple[Any, Floats]:
    """Return the inverses by sweeps over the diagonal (A. E. Beaton 1964).

    All pivots are positive where a matrix is positive definite.
    """
    definite = xp.ones(h.shape[-1], dtype=bool)
    for k in range(h.shape[0]):
        pivot = h[k, k]
        definite = definite & (leading(pivot) > 0)
        row = h[k] / pivot
        swept = h - h[:, k][:, None] * row[None]
        swept[k], swept[:, k], swept[k, k] = row, row, -1.0 / pivot
        h = swept
    return -h, definite & xp.isfinite(leading(h)).all(axis=(0, 1))


def chosen(xp: ModuleType, mask: Floats, new: Any, old: Any) -> Any:
    """Return `new` where the mask of the last axis, or of the first of ``(B, m)``, is true."""
    return mdqr.where(mask, new, old) if isinstance(new, MDArray) else xp.where(mask, new, old)


def taken(name: str, value: Any, rows: Floats) -> Any:
    """Return the part of an array, or of a tuple of them, that some of the problems have."""
    fields = getattr(value, "_fields", ())
    if fields:
        return value._make(taken(each, getattr(value, each), rows) for each in fields)
    return value[..., rows, :] if name in _ON_RESIDUALS else value[..., rows]


def put(name: str, whole: Any, rows: Floats, part: Any) -> Any:
    """Put a part back where it was taken from."""
    fields = getattr(whole, "_fields", ())
    for each in fields:
        put(each, getattr(whole, each), rows, getattr(part, each))
    if fields:
        return whole
    if name in _ON_RESIDUALS:
        whole[..., rows, :] = part
    else:
        whole[..., rows] = part
    return whole


def to_host(x: Any) -> np.ndarray:
    """Return an array in the memory of the host."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.get())


def leading(x: Any) -> Floats:
    """Return the values in float64."""
    return x.limbs[0] if isinstance(x, MDArray) else x


def norms_of(xp: ModuleType, columns: Floats) -> Floats:
    """Return the norms of columns ``(n, B, m)``, 1 for zeros and infinities."""
    norms = xp.sqrt((columns * columns).sum(axis=-1))
    return xp.where(xp.isfinite(norms) & (norms > 0), norms, 1.0)


def sizes_of(xp: ModuleType, x: Any, before: Floats | None = None) -> Floats:
    """Return by how much parameters may be changed, as for one problem."""
    near = xp.abs(leading(x))
    if before is None:
        near = xp.where(near > 0, near, 1.0)
    else:
        near = xp.maximum(near, before * 0.25)
    return powers_of_two(xp.floor(xp.log2(near)))
