"""Residuals of many columns, each entry a sum that is rounded once, by one exact product."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from mdqr._backend.blocks import matrix_shape
from mdqr._backend.exact import ExactProducts
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._products.exact.product import multiply
from mdqr.linalg._shared import tuning

# Integers of both operands have so many bits, or those of all limbs and these beside them.
_MOST_BITS, _ROOM = 480, 56


def residual(backend: Backend, c: Block, a: Block, b: Block, *, kind: Kind) -> Block:
    """Return ``c - a @ b``, as `Backend.residual` does.

    Where that takes less time it is ``-[a, -c] [b; 1]``, if no bit of the operands is cut off: then
    nothing but the rounding of each entry is lost, ``abs(error) <= eps abs(result)``.
    """
    (m, k), n = map(int, a.shape[-2:]), int(b.shape[-1])
    if tuning.exact_residuals_are_faster(backend, m, k, n, kind=kind):
        found = whole_residual(backend, c, a, b, kind=kind)
        if found is not None:
            return found
    limbs = max(kind.limbs, *(planes.limb_count(x, kind.is_complex) for x in (a, b, c)))
    found = backend.residual([(1, c)], a, b, kind=kind._replace(limbs=limbs))
    return planes.first_limbs(found, kind.is_complex, kind.limbs)


def whole_residual(backend: Backend, c: Block, a: Block, b: Block, *, kind: Kind) -> Block | None:
    """Return ``c - a @ b`` with a rounding of each entry; None where bits would be cut off."""
    field, xp = kind.is_complex, backend.xp
    batch, m, n = matrix_shape([a, b, c], field)
    a, b, c = (planes.broadcast(x, field, (*batch, *x.shape[-2:])) for x in (a, b, c))
    held = max(planes.limb_count(x, field) for x in (a, b, c))
    bits = max(_MOST_BITS, 53 * held + _ROOM)
    out, one = kind.empty(xp, (*batch, m, n)), Kind(1, field).identity(xp, (n, n))
    for item in np.ndindex(*batch):
        at = (..., *item, slice(None), slice(None))
        left = _joined(xp, [a[at], planes.negate(c[at], field)], field, -1)
        right = _joined(xp, [b[at], one], field, -2)
        options: dict[str, Any] = {"bits": bits, "whole": True, "subtract": True}
        options |= {"kind": kind, "out": out[at]}
        if not multiply(cast(ExactProducts, backend), left, right, **options):
            return None
    return out


def _joined(xp: Block, blocks: list[Block], is_complex: bool, axis: int) -> Block:
    """Return blocks side by side, with the limbs of the longest."""
    limbs = max(planes.limb_count(x, is_complex) for x in blocks)
    return xp.concatenate([planes.widen(x, is_complex, limbs) for x in blocks], axis=axis)
