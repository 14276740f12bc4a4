"""The diagonals of triangular matrices in another order, by unitary similarities."""

from __future__ import annotations

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._general.subspaces.reflections import Reflection


def reorder(backend: Backend, t: Block, q: Block, keys: np.ndarray, kind: Kind) -> None:
    """Sort the diagonal of an upper triangular matrix by keys, in place; ``Q T Q^H`` stays.

    Neighbours are exchanged by reflectors (G. W. Stewart, Algorithm 506, 1976), no more than the
    order needs.
    """
    keys = keys.copy()
    for last in range(1, len(keys)):
        for k in range(last - 1, -1, -1):
            if keys[k] <= keys[k + 1]:
                break
            _exchange(backend, t, q, k, kind)
            keys[[k, k + 1]] = keys[[k + 1, k]]


def _exchange(backend: Backend, t: Block, q: Block, k: int, kind: Kind) -> None:
    """Exchange the entries k and k + 1 of the diagonal."""
    pair, first = slice(k, k + 2), t[..., k, k : k + 1].copy()
    vector = t[..., pair, k + 1 : k + 2].copy()
    last = vector[..., 1, :].copy()
    vector[..., 1, :] = backend.binary("subtract", last, first, kind=kind)
    found = Reflection.of(backend, vector, kind)
    found.left(t[..., pair, k:])
    found.right(t[..., : k + 2, pair], q[..., pair])
    t[..., k + 1, k] = 0.0
