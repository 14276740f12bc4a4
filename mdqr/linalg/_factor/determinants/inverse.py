"""Approximate inverses that prove how much errors of a matrix change its determinant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, one_by_one, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, limb_count, namespace, widen
from mdqr._precision import precision_of_limbs

# More than the rounding errors of sums of float64, and less than all that underflows.
_UP = 1.0 + 2.0**-30
_FLOOR = 2.0**-960


@dataclass(frozen=True)
class Inverse:
    """Moduli of an approximate inverse X of matrices A, float64 ``(batch, n, n)``.

    With ``norm(I - X A) <= g < 1`` in the maximum norm, ``A^-1 = (I + H) X`` with ``norm(H) <=
    g / (1 - g)``, which is `spread`, ``(batch,)``: infinity where nothing is proven. `condition`
    bounds ``trace(abs(A^-1) abs(A))``. The block has the limbs of X that were needed.
    """

    block: Block
    moduli: Block
    spread: Block
    condition: Block

    @np.errstate(all="ignore")
    def rows(self, lengths: Block) -> Block:
        """Bound the 1-norms of the rows of ``A^-1 E`` for E with rows of such 1-norms."""
        y = (self.moduli @ lengths[..., None])[..., 0]
        most = scaling.largest(y, -1, 0.0, keepdims=True)
        return (y + self.spread[..., None] * most) * _UP + _FLOOR

    def replaced(self, places: Block, other: Inverse, is_complex: bool) -> Inverse:
        """Return this with other inverses, of no fewer limbs, at some places of the batch."""
        block = widen(self.block, is_complex, limb_count(other.block, is_complex)).copy()
        block[..., places, :, :] = other.block
        found = [block]
        for mine, others in (
            (self.moduli, other.moduli),
            (self.spread, other.spread),
            (self.condition, other.condition),
        ):
            found.append(mine.copy())
            found[-1][places] = others
        return Inverse(*found)

    @np.errstate(all="ignore")
    def trace(self, errors: Block) -> Block:
        """Bound ``trace(abs(A^-1) E)`` for E of such moduli."""
        return _trace(self.moduli @ errors, self.spread)


def _trace(y: Block, spread: Block) -> Block:
    """Bound the trace of ``(I + H) Y``."""
    return (
        planes.diagonal(y).sum(axis=-1) + spread * scaling.largest(y, -2, 0.0).sum(axis=-1)
    ) * _UP + _FLOOR


def eps_of(kind: Kind) -> float:
    """Return the unit of the error bounds of a kind."""
    return precision_of_limbs(kind.limbs).eps


@np.errstate(all="ignore")
def of(backend: Backend, a: Block, x: Block, kind: Kind, eps: float) -> Inverse:
    """Return what `x` ``(batch, n, n)``, of one kind, proves as an inverse of `a`.

    `eps` is that of the kind; `a` may have more limbs, which count as errors of it. A product of n
    terms in float64 has an error of ``n eps / 2``, complex ones four times that; n + 16 of these
    cover the limbs left out too.
    """
    xp, field, n = backend.xp, kind.is_complex, int(a.shape[-1])
    first = planes.widen(
        planes.first_limbs(a, field, min(kind.limbs, a.shape[field])), field, kind.limbs
    )
    size, own = native_abs(x, field), native_abs(a, field)
    if kind.limbs == 1:
        left = abs(xp.eye(n) - to_native(xp, x, field) @ to_native(xp, first, field))
    else:
        one = kind.identity(xp, (n, n))
        one = xp.broadcast_to(one[..., None, :, :], x.shape)
        left = native_abs(backend.residual([(1, one)], x, first, kind=kind), field)
    grown = size @ own
    slack = (4.0 if field else 1.0) * (n + 16) * (eps / 2.0 if kind.limbs == 1 else 4.0 * eps)
    rows = left.sum(axis=-1) + slack * grown.sum(axis=-1)
    return of_rows(rows, size, x, grown)


@np.errstate(all="ignore")
def of_rows(rows: Block, size: Block, x: Block, grown: Block) -> Inverse:
    """Return what is known of X where ``I - X A`` has rows of 1-norms of at most `rows`.

    `size` are the moduli of X, `grown` these times those of A.
    """
    xp = namespace(rows)
    g = scaling.largest(rows, -1, 0.0) * _UP + _FLOOR
    spread = xp.where(g < 0.5, g / (1.0 - g), xp.inf)
    return Inverse(x, size, spread, _trace(grown, spread))


@np.errstate(all="ignore")
def in_float64(backend: Backend, a: Block, is_complex: bool) -> Inverse:
    """Return what inverses in float64 prove: enough for conditions to 1e13 or so."""
    xp = backend.xp
    first = to_native(xp, a, is_complex)
    try:
        x = one_by_one(xp.linalg.inv, first)
    except np.linalg.LinAlgError:
        x = xp.stack([_inverse(one) for one in first])
    block = from_native(xp, x, is_complex)
    return of(backend, a, block, Kind(1, is_complex), 2.0**-52)


def _inverse(a: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.full_like(a, np.nan)
