"""L and U by correction of float64 factors, in sweeps of products.

Float64 factors of ``P A``, with approximate inverses X of L and Y of U, are corrected by ``F = X E
Y``, ``E = P A - L U``: L gains L times ``stril(F)``, and U gains ``triu(F)`` times U. Each sweep
adds 53 bits less the bits of the condition. P belongs to the float64 factors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine import lu_blocks
from mdqr.linalg._factor.refine.course import Change, Factors, factors_of
from mdqr.linalg._factor.refine.pace import Digits
from mdqr.linalg._factor.refine.products import (
    Difference,
    block_of,
    eps_of,
    square_of_norm,
    times,
    unseen,
)
from mdqr.linalg._products.exact.parts import Shape
from mdqr.linalg._products.exact.plan import MOST_TERMS
from mdqr.linalg._shared import tuning


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
        ordered = a[..., order, :]
        width = tuning.lu_block(backend, n, kind=kind)
        if width < n:
            by_blocks = _by_blocks(backend, ordered, kind, packed, width)
            if by_blocks is not None:
                return Factored(by_blocks, swaps)
        run = _Sweeps.of(backend, ordered, kind, packed)
        found = factors_of(backend, run, bound, bound)
    return None if found is None else Factored(_joined(xp, *found), swaps)


def error_of(n: int) -> float:
    """Return the bound of ``abs(P A - L U)``, in eps ``abs(L) abs(U)``."""
    return n + 8 * math.log2(max(n, 2)) + 56


def _by_blocks(backend: Backend, a: Block, kind: Kind, packed: Block, width: int) -> Block | None:
    """Return the factors of a matrix with its rows in order, in one block; see `factor`."""

    def bound(n: int) -> float:
        return error_of(n) * eps_of(kind)

    def find(block: Block, rows: slice) -> Factors | None:
        run = _Sweeps.of(backend, block, kind, packed[rows, rows].copy())
        most = bound(int(block.shape[-1]))
        return factors_of(backend, run, most, most)

    a = planes.first_limbs(a, kind.is_complex, kind.limbs)
    return lu_blocks.factor(backend, a, lu_blocks.Task(kind, width, find, bound))


def _joined(xp: Block, lower: Block, upper: Block) -> Block:
    """Return L below the diagonal and U."""
    return xp.where(xp.tri(lower.shape[-1], k=-1, dtype=bool), lower, upper)


class _Sweeps:
    """Sweeps for one matrix with its rows in order, from float64 factors and their inverses."""

    def __init__(self, backend: Backend, kind: Kind, *operands: Block) -> None:
        self.backend, self.kind, self.low = backend, kind, Kind(1, kind.is_complex)
        self.operands = [*operands]
        self.shape: Shape = "factors"
        self.a, self.lower, self.upper, self.x, self.y = operands

    @classmethod
    def of(cls, backend: Backend, a: Block, kind: Kind, packed: Block) -> _Sweeps:
        """Return sweeps from float64 factors in one array."""
        xp = backend.xp
        # Products take finite numbers; factors that are not have inverses that show it.
        finite = xp.where(xp.isfinite(packed), packed, 0.0)
        lower = xp.tril(finite, -1) + xp.eye(len(packed), dtype=packed.dtype)
        return cls(backend, kind, a, lower, xp.triu(finite), *backend.invert_factors(packed))

    def again(self, backend: Backend, *operands: Block) -> _Sweeps:
        """Return the same for other operands."""
        return _Sweeps(backend, self.kind, *operands)

    def start(self) -> Factors:
        """Return the factors of float64."""
        limbs, field = self.kind.limbs, self.kind.is_complex
        return tuple(
            planes.widen(block_of(part, self.low), field, limbs)
            for part in (self.lower, self.upper)
        )

    def difference(self, factors: Factors, digits: Digits) -> Difference:
        """Return E, of so many digits."""
        backend, (bits, kind), field = self.backend, digits, self.kind.is_complex
        a, *pair = (planes.first_limbs(x, field, kind.limbs) for x in (self.a, *factors))
        options: dict[str, Any] = {"kind": kind, "bits": bits, "shape": self.shape}
        found, words = unseen(backend, *pair, c=a, **options)
        # Of the factors as they are: they may have entries where floats have zeros.
        e, *floats = (to_native(backend.xp, x, field) for x in (found, *pair))
        return Difference(e, tuple(floats), words)

    def change(self, rest: Difference) -> Change:
        """Return the changes of L and U."""
        parts = rest.e, self.x, self.y, self.lower, self.upper
        key = "sweep of LU", self.kind.is_complex
        *changes, square = self.backend.recorded(key, parts, _corrections)
        return Change(tuple(changes), square)

    def corrected(self, factors: Factors, changes: Factors) -> Factors:
        """Return factors corrected to first order."""
        return tuple(
            self.backend.binary("add", whole, block_of(change, self.low), kind=self.kind)
            for whole, change in zip(factors, changes, strict=True)
        )


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
