"""Eigenvectors or Schur vectors in float64, and bounds of the rest of a matrix.

For approximate V and W = V^-1, ``W M V = T + G`` with T upper triangular, and ``W V = I + J``. Only
upper bounds of the moduli of G and J are known; they hold for all rounding errors of float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Kind
from mdqr.linalg._general.subspaces.qr_algorithm import triangular
from mdqr.linalg._spectral.disks import SLACK

# What underflows in products of matrices of entries near 1.
LEAST = 2.0**-900

# Entries of the inverse of eigenvectors of length 1.
_MOST = 2.0**24


class Vectors(NamedTuple):
    """Matrices V and W ``(batch, n, n)``, complex128; of eigenvectors if T is to be diagonal."""

    v: np.ndarray
    w: np.ndarray
    diagonal: bool

    @np.errstate(all="ignore")
    def of(self, m: np.ndarray, rest: np.ndarray) -> Basis:
        """Return the basis for matrices within `rest`, entry by entry, of `m`."""
        v, w = self.v, self.w
        of_v, of_w = abs(v), abs(w)
        found = w @ m @ v
        t = np.eye(m.shape[-1]) * found if self.diagonal else np.triu(found)
        rounding = 2 * unit(m.shape[-1])
        g = abs(found - t) + of_w @ (rounding * abs(m) + rest) @ of_v + LEAST
        j = abs(w @ v - np.eye(m.shape[-1])) + rounding * (of_w @ of_v) + LEAST
        return Basis(self, t, SLACK * g, SLACK * j)


class Basis(NamedTuple):
    """``W M V = T + G`` and ``W V = I + J``: T, and bounds of the moduli of G and J."""

    vectors: Vectors
    t: np.ndarray
    g: np.ndarray
    j: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """The diagonal of T."""
        return np.diagonal(self.t, axis1=-2, axis2=-1)

    def above(self) -> np.ndarray:
        """Return T without its diagonal."""
        return np.triu(self.t, 1)


def unit(n: int) -> float:
    """Return a bound of the relative error of sums of n complex products, of their moduli."""
    return (n + 8) * 2.0**-51


@np.errstate(all="ignore")
def eigenvectors(a: np.ndarray) -> tuple[Vectors, np.ndarray]:
    """Return eigenvectors of matrices ``(batch, n, n)`` by LAPACK, and eigenvalues ``(batch, n)``.

    Vectors that are nearly dependent are NaN.
    """
    try:
        values, v = np.linalg.eig(a)
    except np.linalg.LinAlgError:
        values, v = np.full(a.shape[:-1], np.nan), np.full(a.shape, np.nan)
    v = v.astype(complex)
    try:
        w = np.linalg.inv(v)
    except np.linalg.LinAlgError:
        w = np.stack([_inverse(x) for x in v])
    size = abs(w).max(axis=(-2, -1), initial=0.0)
    w[~(size < _MOST)] = np.nan
    return Vectors(v, w, True), values.astype(complex)


def _inverse(x: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return np.full(x.shape, np.nan + 0j)


def schur_vectors(backend: Backend, a: np.ndarray) -> tuple[Vectors, np.ndarray]:
    """Return Schur vectors of matrices ``(batch, n, n)``, and triangular matrices.

    By the QR algorithm in two limbs; NaN where matrices are not finite.
    """
    kind = Kind(2, True)
    t, z = np.full((2, *a.shape), np.nan + 0j)
    for i, x in enumerate(a):
        if np.isfinite(x).all():
            found = triangular(backend, _block(x, kind), kind)
            t[i], z[i] = (to_native(np, part, True) for part in found)
    return Vectors(z, z.conj().swapaxes(-1, -2), False), t


def adjoint_vectors(vectors: Vectors) -> Vectors:
    """Return the vectors of adjoint matrices: in reverse order, T stays upper triangular."""
    v, w = (x.conj().swapaxes(-1, -2) for x in (vectors.w, vectors.v))
    return Vectors(v[..., ::-1], w[..., ::-1, :], vectors.diagonal)


def _block(x: np.ndarray, kind: Kind) -> np.ndarray:
    block = kind.zeros(np, x.shape)
    block[:, :1] = from_native(np, x.astype(complex), True)
    return block
