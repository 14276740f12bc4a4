"""Approximate inverses that prove how much errors of a matrix change its determinant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind

# More than the rounding errors of sums of float64, and less than all that underflows.
_UP = 1.0 + 2.0**-30
_FLOOR = 2.0**-960


@dataclass(frozen=True)
class Inverse:
    """Moduli of an approximate inverse X of matrices A, float64 ``(batch, n, n)``.

    With ``norm(I - X A) <= g < 1`` in the maximum norm, ``A^-1 = (I + H) X`` with ``norm(H) <=
    g / (1 - g)``, which is `spread`, ``(batch,)``: infinity where nothing is proven. `condition`
    bounds ``trace(abs(A^-1) abs(A))``.
    """

    moduli: Block
    spread: Block
    condition: Block

    @np.errstate(all="ignore")
    def rows(self, lengths: Block) -> Block:
        """Bound the 1-norms of the rows of ``A^-1 E`` for E with rows of such 1-norms."""
        y = (self.moduli @ lengths[..., None])[..., 0]
        most = scaling.largest(y, -1, 0.0, keepdims=True)
        return (y + self.spread[..., None] * most) * _UP + _FLOOR

    @np.errstate(all="ignore")
    def trace(self, errors: Block) -> Block:
        """Bound ``trace(abs(A^-1) E)`` for E of such moduli."""
        return _trace(self.moduli @ errors, self.spread)


def _trace(y: Block, spread: Block) -> Block:
    """Bound the trace of ``(I + H) Y``."""
    return (
        planes.diagonal(y).sum(axis=-1) + spread * scaling.largest(y, -2, 0.0).sum(axis=-1)
    ) * _UP + _FLOOR


def moduli(xp: Any, block: Block, is_complex: bool) -> Block:
    """Return the moduli of leading limbs."""
    return abs(to_native(xp, block, is_complex))


@np.errstate(all="ignore")
def of(backend: Backend, a: Block, x: Block, kind: Kind, eps: float) -> Inverse:
    """Return what `x` ``(batch, n, n)``, of one kind, proves as an inverse of `a`.

    `eps` is that of the kind; `a` may have more limbs, which count as errors of it. A product of n
    terms in float64 errs by ``n eps``, complex ones by four times that; n + 16 of these cover the
    limbs left out too.
    """
    xp, field, n = backend.xp, kind.is_complex, int(a.shape[-1])
    first = planes.widen(
        planes.first_limbs(a, field, min(kind.limbs, a.shape[field])), field, kind.limbs
    )
    size, own = moduli(xp, x, field), moduli(xp, a, field)
    if kind.limbs == 1:
        left = abs(xp.eye(n) - to_native(xp, x, field) @ to_native(xp, first, field))
    else:
        one = kind.identity(xp, (n, n))
        one = xp.broadcast_to(one[..., None, :, :], x.shape)
        left = moduli(xp, backend.residual([(1, one)], x, first, kind=kind), field)
    grown = size @ own
    slack = 4.0 * (n + 16) * eps
    rows = left.sum(axis=-1) + slack * grown.sum(axis=-1)
    g = scaling.largest(rows, -1, 0.0) * _UP + _FLOOR
    spread = xp.where(g < 0.5, g / (1.0 - g), xp.inf)
    return Inverse(size, spread, _trace(grown, spread))


@np.errstate(all="ignore")
def in_float64(backend: Backend, a: Block, is_complex: bool) -> Inverse:
    """Return what inverses in float64 prove: enough for conditions to 1e13 or so."""
    xp = backend.xp
    first = to_native(xp, a, is_complex)
    try:
        x = xp.linalg.inv(first)
    except np.linalg.LinAlgError:
        x = xp.stack([_inverse(one) for one in first])
    block = xp.stack([x.real, x.imag])[:, None] if is_complex else x[None]
    return of(backend, a, block, Kind(1, is_complex), 2.0**-52)


def _inverse(a: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.full_like(a, np.nan)
