"""Condition estimates of triangular matrices by inverse iteration in multiple doubles.

A float64 estimate means nothing beyond 1e16; the solves here run in the precision of the matrix,
and only the vectors between them are rounded to one limb, which changes the estimate by 1e-15.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple, NoReturn

import numpy as np

from mdqr._backend.blocks import from_native, to_native, turned
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks, fetch

_STEPS = 3
_STARTS = 4
_POWER_STEPS = 12
_STEPS_IN_RANGE = 4
# Its multiples, modulo 1, are far apart.
GOLDEN = 0.6180339887498949


class Condition(NamedTuple):
    """The 2-norm condition number, and the direction that the matrix shrinks most.

    `value` has the batch shape; `vector` ``(..., n)`` holds the magnitudes of the right singular
    vector of the smallest singular value, the largest 1; `largest` is the largest singular value.
    """

    value: Block
    vector: Block
    largest: Block


def condition(triangle: Triangle, steps: int = _STEPS) -> Condition:
    """Estimate the condition number of a triangular matrix with columns near norm 1.

    Inverse iteration on ``R^H R`` from a few fixed irregular vectors. The estimate is a lower
    bound, and near the truth unless all starts are nearly orthogonal to the wanted direction.

    Parameters
    ----------
    triangle : Triangle
        The matrix.
    steps : int, optional
        Pairs of solutions. Two give the order of magnitude.

    Returns
    -------
    Condition
        The estimate; infinity where a solution overflows.
    """
    xp, field = triangle.backend.xp, triangle.kind.is_complex
    batch = planes.value_shape(triangle.block, field)[:-2]
    x = _starts(triangle, batch)
    largest = _largest_singular_value(triangle, x[..., :1])
    if triangle.block.size == 0:
        return Condition(xp.ones(batch), xp.zeros((*batch, triangle.order)), largest)
    for step in range(steps):
        if step + 1 == steps:
            size = scaling.norms(x, -2)
        z, down = _rescaled(triangle, triangle.solve(from_native(xp, x, field), "C"))
        x, further = _rescaled(triangle, triangle.solve(from_native(xp, z, field), "N"))
    with np.errstate(all="ignore"):
        growth = xp.log2(scaling.norms(x, -2) / size) - (down + further)
    growth = xp.where(xp.isnan(growth), xp.inf, growth)
    best = growth.argmax(axis=-1)[..., None]
    shrunk = xp.exp2(-0.5 * xp.take_along_axis(growth, best, axis=-1)[..., 0])
    vector = abs(xp.take_along_axis(x, best[..., None, :], axis=-1)[..., 0])
    vector = xp.where(xp.isfinite(vector), vector, 1.0)
    vector = vector / vector.max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        value = xp.maximum(largest / shrunk, 1.0)
    return Condition(xp.asarray(value), vector, largest)


def require_digits(checks: Checks, function: str, worst: Block, columns: int, eps: float) -> None:
    """Demand that the 0-d condition number `worst` leaves digits to an unrefined solution."""

    def raise_error() -> NoReturn:
        raise np.linalg.LinAlgError(
            f"{function}: the matrix is singular to working precision (condition about "
            f"{float(fetch(worst)[0]):.1e}), and no digit would be right; lstsq refines, and a "
            "higher precision helps where the entries are exact"
        )

    checks.require(worst * max(columns, 1) * eps < 1.0, raise_error)


def irregular(xp: ModuleType, rows: int, columns: int) -> Block:
    """Return columns from which power iteration starts, within 0.5 of zero."""
    row = xp.arange(1.0, rows + 1.0)[:, None]
    return (row * (row + xp.arange(1.0, columns + 1.0)) * GOLDEN) % 1.0 - 0.5


def _starts(triangle: Triangle, batch: tuple[int, ...]) -> Block:
    xp = triangle.backend.xp
    start = irregular(xp, triangle.order, _STARTS)
    start = start.astype(xp.complex128) if triangle.kind.is_complex else start
    return xp.broadcast_to(start, (*batch, *start.shape))


def _rescaled(triangle: Triangle, block: Block) -> tuple[Block, Block]:
    """Return the leading limbs with columns scaled near 1, and the powers that did it."""
    field = triangle.kind.is_complex
    first = planes.first_limbs(block, field, 1)
    with np.errstate(all="ignore"):
        small, powers = triangle.backend.balance_columns(first, None, is_complex=field)
    return to_native(triangle.backend.xp, small, field), powers


def _largest_singular_value(triangle: Triangle, x: Block) -> Block:
    """Return the 2-norm of the matrix by power iteration on its leading limbs, in float64."""
    xp, field = triangle.backend.xp, triangle.kind.is_complex
    first = planes.first_limbs(triangle.block, field, 1)
    shift = triangle.rows[..., :, None] + triangle.columns[..., None, :]
    r = to_native(xp, xp.ldexp(first, -shift), field)
    adjoint = turned(r)
    for step in range(_POWER_STEPS):
        # Columns near norm 1: four steps multiply by less than (m n)**4.
        if step % _STEPS_IN_RANGE == 0:
            x = x / xp.maximum(scaling.norms(x, -2), 1e-300)[..., None, :]
        before, y = x, r @ x
        x = adjoint @ y
    return (scaling.norms(y, -2) / xp.maximum(scaling.norms(before, -2), 1e-300))[..., 0]
