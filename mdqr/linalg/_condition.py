"""Condition estimates of triangular matrices by inverse iteration in multiple doubles.

A float64 estimate means nothing beyond 1e16; the solves here run in the precision of the matrix,
and only the vectors between them are rounded to one limb, which changes the estimate by 1e-15.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr import _limbs
from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Block
from mdqr.linalg import _scaling
from mdqr.linalg._triangular import Triangle

_STEPS = 3
_STARTS = 4
_POWER_STEPS = 12
_GOLDEN = 0.6180339887498949


class Condition(NamedTuple):
    """The 2-norm condition number, and the direction that the matrix shrinks most.

    `value` has the batch shape; `vector` ``(..., n)`` holds the magnitudes of the right singular
    vector of the smallest singular value, the largest 1; `largest` is the largest singular value.
    """

    value: Block
    vector: Block
    largest: Block


def condition(triangle: Triangle) -> Condition:
    """Estimate the condition number of a triangular matrix with columns near norm 1.

    Inverse iteration on ``R^H R`` from a few fixed irregular vectors. The estimate is a lower
    bound, and near the truth unless all starts are nearly orthogonal to the wanted direction.

    Parameters
    ----------
    triangle : Triangle
        The matrix.

    Returns
    -------
    Condition
        The estimate; infinity where a solution overflows.
    """
    xp, field = triangle.backend.xp, triangle.is_complex
    batch = _limbs.value_shape(triangle.block, field)[:-2]
    largest = _largest_singular_value(triangle)
    if triangle.block.size == 0:
        return Condition(xp.ones(batch), xp.zeros((*batch, triangle.order)), largest)
    x = _starts(triangle, batch)
    for _ in range(_STEPS):
        size = _norms(x)
        z, up = _rescaled(triangle.solve(from_native(xp, x, field), "C"), field)
        x, further = _rescaled(triangle.solve(from_native(xp, z, field), "N"), field)
    with np.errstate(all="ignore"):
        growth = xp.log2(_norms(x) / size) + up + further
    growth = xp.where(xp.isnan(growth), xp.inf, growth)
    best = growth.argmax(axis=-1)[..., None]
    shrunk = xp.exp2(-0.5 * xp.take_along_axis(growth, best, axis=-1)[..., 0])
    vector = abs(xp.take_along_axis(x, best[..., None, :], axis=-1)[..., 0])
    vector = xp.where(xp.isfinite(vector), vector, 1.0)
    vector = vector / vector.max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        value = xp.maximum(largest / shrunk, 1.0)
    return Condition(xp.asarray(value), vector, largest)


def _starts(triangle: Triangle, batch: tuple[int, ...]) -> Block:
    xp = triangle.backend.xp
    row = xp.arange(1.0, triangle.order + 1.0)[:, None]
    column = xp.arange(1.0, _STARTS + 1.0)
    start = (row * (row + column) * _GOLDEN) % 1.0 - 0.5
    start = start.astype(xp.complex128) if triangle.is_complex else start
    return xp.broadcast_to(start, (*batch, *start.shape))


def _norms(x: Block) -> Block:
    return ((x.real**2 + x.imag**2).sum(axis=-2)) ** 0.5


def _rescaled(block: Block, is_complex: bool) -> tuple[Block, Block]:
    """Return the leading limbs with columns scaled near 1, and the exponents taken out."""
    xp = _limbs.namespace(block)
    first = block[:, :1] if is_complex else block[:1]
    exponent = _scaling.column_exponents(first, is_complex)
    with np.errstate(all="ignore"):
        small = xp.ldexp(first, -exponent[..., None, :])
    return to_native(xp, small, is_complex), exponent


def _largest_singular_value(triangle: Triangle) -> Block:
    """Return the 2-norm of the matrix by power iteration on its leading limbs, in float64."""
    backend, xp, field = triangle.backend, triangle.backend.xp, triangle.is_complex
    first = triangle.block[:, :1] if field else triangle.block[:1]
    shift = triangle.rows[..., :, None] + triangle.columns[..., None, :]
    r = xp.ldexp(first, -shift)

    def multiply(a: Block, x: Block, adjoint: bool = False) -> Block:
        # The backend's product is in float64 whatever the environment asks of a device's library.
        found = backend.matmul(
            a, from_native(xp, x, field), limbs=1, is_complex=field, conj_a=adjoint
        )
        return to_native(xp, found, field)

    x = _starts(triangle, triangle.rows.shape[:-1])[..., :1]
    size = xp.ones(x.shape[:-2])
    for _ in range(_POWER_STEPS):
        x = x / xp.maximum(_norms(x), 1e-300)[..., None, :]
        y = multiply(r, x)
        size = _norms(y)[..., 0]
        x = multiply(r.swapaxes(-1, -2), y, adjoint=True)
    return size
