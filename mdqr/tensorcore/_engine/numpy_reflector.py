"""Orthonormal panels as products of reflections, in NumPy: what the CUDA kernels compute."""

from __future__ import annotations

import numpy as np

from mdqr._backend.float_panels import NO_FLOOR
from mdqr.tensorcore._engine.numpy_panels import SOUND, Doubles, Floats, cholesky_passes

# Squares of the lengths of columns of the inverse triangle, of columns scaled to 1, from which on Q
# is not orthonormal after this pass: as in kernels/cuda/tensorcore/cholesky.hpp.
FINE = 2.0**20


def orthonormal(a: Floats, r: Floats, done: bool) -> bool:
    """Factor up to 128 columns in place by CholeskyQR; say whether Q is orthonormal."""
    verified = True
    for found, gram, is_last in cholesky_passes(a, r, NO_FLOOR, done=done):
        squares = _squares(gram, found.inverse)[~found.late]
        verified &= bool((squares <= (FINE if is_last else SOUND)).all() and not found.dead.any())
        found.again |= not bool((squares <= FINE).all())
    return verified


def _squares(gram: Doubles, inverse: Doubles) -> Doubles:
    """Return those of the lengths of columns of the inverse, if columns had the lengths 1."""
    lengths = np.sqrt(np.diagonal(gram))
    return np.square(inverse * lengths[:, None]).sum(axis=0)


def reflector(q: Floats, k: Floats, signs: Floats) -> None:
    """Turn orthonormal columns Q into Y, K and signs with ``(I - Y K Y^T) E = Q S``."""
    n = q.shape[1]
    x = q[:n].astype(np.float64)
    for j in range(n):
        signs[j] = -1 if x[j, j] >= 0 else 1
        x[j, j] -= signs[j]
        column, row = x[:, j].copy(), x[j] / x[j, j]
        x[:, j] = 0.0
        x[j] = 0.0
        row[j] = 1 / column[j]
        column[j] = -1.0
        x -= column[:, None] * row
    k[:] = -signs[:, None] * x.T
    places = np.arange(n)
    q[places, places] -= signs
