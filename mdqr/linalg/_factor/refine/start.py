"""Factors to start from: those of float64, of the matrix or of what is left of it, and R^-1."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.products import adjoint, cut, limbs_for
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.parts import slices
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import precision_for

_U = 2.0**-53  # the unit roundoff of float64
_FARTHEST = 2.0**-12  # how far from a factorisation a start may be
# Of a condition times eps of the work: beyond, there is no room for corrections.
_ROOM = 2.0**-12
_MOST_ROUNDS = 12  # each takes some 45 bits of a condition
# Steps of power iteration, from an irregular vector.
_POWER_STEPS, _GOLDEN = 12, 0.6180339887498949
_BLOCK = 256  # the order of triangles that are inverted by substitution


class Start(NamedTuple):
    """Q of float64, R of as many limbs as it takes and its inverse, and what they are worth."""

    q: Block
    r: Block
    inverse: Block
    condition: float
    distance: float


def start_of(backend: Backend, a: Block, kind: Kind) -> Start | None:
    """Return factors that a sweep can correct; None where the work has no room for them."""
    xp, field = backend.xp, kind.is_complex
    eps = precision_for(kind.limbs).eps
    b = to_native(xp, planes.first_limbs(a, field, 1), field)
    r: Block | None = None
    grown = 1.0
    for _ in range(_MOST_ROUNDS):
        q, found = _by_library(xp, b)
        last = from_native(xp, found, field)
        inverse = _inverse(backend, last, Kind(1, field))
        norms = (_spectral_norm(xp, x) for x in (found, to_native(xp, inverse, field)))
        worst = float(np.prod(fetch(*norms)))
        if not np.isfinite(worst):
            return None
        grown *= max(worst, 1.0)
        limbs = min(limbs_for(grown / _U), kind.limbs)
        wide = Kind(precision_for(limbs).limbs, field)
        r = last if r is None else cut(backend.matmul(last, r, kind=wide), field, limbs)
        distance = worst * _U * found.shape[-1] ** 0.5
        if distance <= _FARTHEST:
            if r is not last:
                inverse = _inverse(backend, planes.first_limbs(r, field, wide.limbs), wide)
            return Start(from_native(xp, q, field), r, inverse, grown, distance)
        if not grown * eps <= _ROOM:
            return None
        wide = Kind(precision_for(limbs_for(grown / _FARTHEST)).limbs, field)
        less = _over(backend, r, planes.first_limbs(a, field, wide.limbs), wide)
        b = to_native(xp, less, field)
    return None


def _by_library(xp: ModuleType, b: Block) -> tuple[Block, Block]:
    """Return Q and R of float64, with a positive diagonal that is not lost beside its column."""
    q, r = xp.linalg.qr(b)
    r = xp.triu(r)
    diagonal, sizes = planes.diagonal(r), xp.abs(r).max(axis=-2)
    size = xp.abs(diagonal)
    turn = xp.where(size > 0, diagonal, 1.0) / xp.where(size > 0, size, 1.0)
    r = turn.conj()[:, None] * r
    planes.diagonal(r)[...] = xp.maximum(size, _U * xp.maximum(sizes, _U))
    return q * turn, r


def _spectral_norm(xp: ModuleType, x: Block) -> Block:
    """Return the 2-norm by some steps of power iteration, 0-d."""
    rows = xp.arange(1.0, x.shape[-1] + 1.0)
    v, size = (rows * rows * _GOLDEN) % 1.0 - 0.5, xp.asarray(1.0)
    for _ in range(_POWER_STEPS):
        y = x @ (v / ((abs(v) ** 2).sum() ** 0.5))
        size = (abs(y) ** 2).sum() ** 0.5
        v = x.conj().T @ (y / size)
    return size


def _inverse(backend: Backend, r: Block, kind: Kind) -> Block:
    """Return the inverse of an upper triangle: of blocks by substitution, then by halves."""
    order, xp = int(r.shape[-1]), backend.xp
    most = min(order, _BLOCK)
    parts = slices(order, most)
    blocks = kind.identity(xp, (len(parts), most, most))
    for block, part in enumerate(parts):
        width = part.stop - part.start
        blocks[..., block, :width, :width] = r[..., part, part]
    solved = _triangle(backend, blocks, kind).solve(kind.identity(xp, blocks.shape[kind.lead :]))
    x = kind.zeros(xp, (order, order))
    for block, part in enumerate(parts):
        width = part.stop - part.start
        x[..., part, part] = solved[..., block, :width, :width]
    _join_inverses(backend, r, x, parts, kind)
    return x


def _join_inverses(
    backend: Backend, r: Block, x: Block, parts: Sequence[slice], kind: Kind
) -> None:
    """Set what lies between the inverses of blocks on the diagonal."""
    half = len(parts) // 2
    if half == 0:
        return
    for some in (parts[:half], parts[half:]):
        _join_inverses(backend, r, x, some, kind)
    middle = parts[half].start
    first, second = slice(parts[0].start, middle), slice(middle, parts[-1].stop)
    between = exact.matmul(backend, r[..., first, second], x[..., second, second], kind=kind)
    x[..., first, second] = exact.matmul(
        backend, x[..., first, first], between, c=x[..., first, second], subtract=True, kind=kind
    )


def _over(backend: Backend, r: Block, x: Block, kind: Kind) -> Block:
    """Return ``x R^-1``."""
    field = kind.is_complex
    return adjoint(_triangle(backend, r, kind).solve(adjoint(x, field), "C"), field)


def _triangle(backend: Backend, r: Block, kind: Kind) -> Triangle:
    held = planes.first_limbs(r, kind.is_complex, kind.limbs)
    return Triangle(backend, held, kind=kind, function="qr", checks=Checks(ignore=True))
