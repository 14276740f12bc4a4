"""L and U by correction of float64 factors, in sweeps of products.

Float64 factors of ``P A``, with approximate inverses X of L and Y of U, are corrected by ``F = X E
Y``, ``E = P A - L U``: L gains L times ``stril(F)``, and U gains ``triu(F)`` times U. Each sweep
adds 53 bits less the bits of the condition. P belongs to the float64 factors.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.pace import Digits, Pace
from mdqr.linalg._factor.refine.products import (
    Difference,
    bits_of_entries,
    block_of,
    eps_of,
    is_within,
    square_of_norm,
    times,
    unseen,
)
from mdqr.linalg._products.exact.plan import MOST_TERMS

_MOST_SWEEPS = 24
# Of F, in eps: below, errors may be within the bounds of entries.
_NEAR = 2.0**20


class Factored(NamedTuple):
    """L, whose unit diagonal is not held, and U in one block ``(n, n)``, and interchanges."""

    lu: Block
    swaps: Block


def factor(backend: Backend, a: Block, kind: Kind, bound: float) -> Factored | None:
    """Factor one matrix ``(n, n)`` whose columns are near 1.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    a : Block
        The matrix, of finite entries.
    kind : Kind
        The kind of the factors.
    bound : float
        The largest ``abs(P A - L U)``, in units of ``abs(L) abs(U)``.

    Returns
    -------
    Factored or None
        Factors within the bound in every entry; None where that cannot be shown, as for matrices
        that are nearly singular to float64, and many with zeros.
    """
    n, field, xp = int(a.shape[-1]), kind.is_complex, backend.xp
    if n > MOST_TERMS:
        return None
    with np.errstate(all="ignore"):
        packed, swaps, order = backend.lu_floats(to_native(xp, a, field))
        run = _Sweeps(backend, a[..., order, :], kind, packed)
        lower, upper = run.start()
        pace, bits = Pace(kind), bits_of_entries(kind)
        for _ in range(_MOST_SWEEPS):
            is_last, is_asked_first = pace.is_last, pace.expected <= n * eps_of(kind)
            rest = run.difference(lower, upper, pace.digits)
            served = partial(is_within, backend, rest, bound, kind=kind, bits=bits, shape="factors")
            if is_last and is_asked_first and served():
                return Factored(_joined(xp, lower, upper), swaps)
            found = run.changes(rest)
            is_seen = pace.take(found.square, rest.words)
            if is_seen is None:
                return None
            is_small = pace.size <= _NEAR * eps_of(kind) or not pace.gains
            if is_last and is_small and not is_asked_first and served():
                return Factored(_joined(xp, lower, upper), swaps)
            if is_seen and not pace.gains:
                return None
            lower, upper = run.corrected(lower, upper, found)
    return None


def _joined(xp: Block, lower: Block, upper: Block) -> Block:
    """Return L below the diagonal and U."""
    return xp.where(xp.tri(lower.shape[-1], k=-1, dtype=bool), lower, upper)


class _Changes(NamedTuple):
    """The changes of L and U in float64, and the square of the norm of F."""

    lower: Block
    upper: Block
    square: Block


class _Sweeps:
    """Sweeps for one matrix with its rows in order, from float64 factors in one array."""

    def __init__(self, backend: Backend, a: Block, kind: Kind, packed: Block) -> None:
        self.backend, self.a, self.kind = backend, a, kind
        self.low, xp = Kind(1, kind.is_complex), backend.xp
        # Products take finite numbers; factors that are not have inverses that show it.
        finite = xp.where(xp.isfinite(packed), packed, 0.0)
        self.lower = xp.tril(finite, -1) + xp.eye(len(packed), dtype=packed.dtype)
        self.upper = xp.triu(finite)
        self.x, self.y = backend.invert_factors(packed)

    def start(self) -> tuple[Block, Block]:
        """Return the factors of float64."""
        limbs, field = self.kind.limbs, self.kind.is_complex
        lower, upper = (
            planes.widen(block_of(part, self.low), field, limbs)
            for part in (self.lower, self.upper)
        )
        return lower, upper

    def difference(self, lower: Block, upper: Block, digits: Digits) -> Difference:
        """Return E, of so many digits."""
        backend, (bits, kind), field = self.backend, digits, self.kind.is_complex
        a, left, right = (planes.first_limbs(x, field, kind.limbs) for x in (self.a, lower, upper))
        options: dict[str, Any] = {"kind": kind, "bits": bits, "shape": "factors"}
        found, words = unseen(backend, left, right, c=a, **options)
        # Of the factors as they are: they may have entries where floats have zeros.
        e, *factors = (to_native(backend.xp, x, field) for x in (found, left, right))
        return Difference(e, tuple(factors), words)

    def changes(self, rest: Difference) -> _Changes:
        """Return corrections of L and U."""
        parts = rest.e, self.x, self.y, self.lower, self.upper
        key = "sweep of LU", self.kind.is_complex
        return _Changes(*self.backend.recorded(key, parts, _corrections))

    def corrected(self, lower: Block, upper: Block, found: _Changes) -> tuple[Block, Block]:
        """Return factors corrected to first order."""
        left, right = (
            self.backend.binary("add", whole, block_of(change, self.low), kind=self.kind)
            for whole, change in ((lower, found.lower), (upper, found.upper))
        )
        return left, right


def _corrections(
    backend: Backend, e: Block, x: Block, y: Block, lower: Block, upper: Block
) -> list[Block]:
    """Return the changes of L and U, and the square of the norm of F."""
    low, xp = Kind(1, e.dtype.kind == "c"), backend.xp
    # Lower triangles are the left operands of products with upper ones, transposed.
    turned = times(backend, e.T, x.T, kind=low, shape="triangular")
    f = times(backend, turned.T, y, kind=low, shape="triangular")
    square = xp.zeros(1)
    square_of_norm(backend, f, low, square[0, ...])
    below = times(backend, xp.tril(f, -1).T, lower.T, kind=low, shape="triangles")
    above = times(backend, xp.triu(f), upper, kind=low, shape="triangles")
    return [xp.ascontiguousarray(below.T), above, square]
