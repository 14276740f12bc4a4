"""Truncated Cauchy products of series, as products with Toeplitz views; shifts."""

from __future__ import annotations

import math

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind


def toeplitz(backend: Backend, a: Block) -> Block:
    """Return the lower triangular Toeplitz matrices ``(..., d, d)`` of series ``(..., d)``.

    They are views of a copy of the series behind as many zeros.
    """
    xp, orders = backend.xp, a.shape[-1]
    padded = xp.zeros((*a.shape[:-1], 2 * orders - 1))
    padded[..., orders - 1 :] = a
    step = padded.strides[-1]
    return xp.lib.stride_tricks.as_strided(
        padded[..., orders - 1 :],
        (*a.shape, orders),
        (*padded.strides[:-1], step, -step),
    )


def convolve(a: Block, b: Block, kind: Kind) -> Block:
    """Return the first coefficients of the products of series ``(..., d)``, which broadcast.

    Coefficient k has an error of at most ``(d + 8) eps`` of the sum of the moduli of its terms.
    """
    backend = for_block(a)
    if a.ndim < b.ndim:  # the one that is not repeated
        a, b = b, a
    return backend.matmul(toeplitz(backend, a), b[..., None], kind=kind)[..., 0]


def coefficient(a: Block, b: Block, kind: Kind) -> Block:
    """Return ``sum_j a_j b_(k-j)`` of series ``(..., k + 1)`` of one shape."""
    backend = for_block(a)
    return backend.matmul(a[..., None, :], b[..., ::-1, None], kind=kind)[..., 0, 0]


def multiply(a: MDArray, b: MDArray) -> MDArray:
    """Return the products of series of one degree, precision and field."""
    kind = Kind(a.precision.limbs, a.is_complex)
    return MDArray._wrap(convolve(a._block, b._block, kind), a.precision, a.is_complex)


def shift_matrix(t0: MDArray, orders: int) -> MDArray:
    """Return S ``(..., d, d)`` with ``q @ S`` the coefficients of ``q(t0 + s)``, for each t0."""
    powers = [t0 * 0 + 1]
    for _ in range(orders - 1):
        powers.append(powers[-1] * t0)
    kind = Kind(t0.precision.limbs, t0.is_complex)
    xp = planes.namespace(t0._block)
    found = MDArray._wrap(kind.zeros(xp, (*t0.shape, orders, orders)), t0.precision, t0.is_complex)
    for i in range(orders):
        for j in range(i + 1):
            found[..., i, j] = powers[i - j] * math.comb(i, j)
    return found


def binomials(t0: np.ndarray, orders: int) -> np.ndarray:
    """Return the matrices of `shift_matrix` in float64, for t0 ``(sets,)``, none negative."""
    k = np.arange(orders)
    factors = np.array([[float(math.comb(i, j)) for j in k] for i in k])
    return factors * t0[:, None, None] ** np.maximum(k[:, None] - k, 0)
