"""A factorisation that is being updated, and what the update has lost so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from mdqr._limbs.planes import Block
from mdqr.linalg._update.arithmetic.engine import Engine, joined


@dataclass
class Loss:
    """What an extension tells of the information that is left; float64 of the batch shape.

    `share` is the smallest part, between 0 and 1, of a new direction outside of the old ones, and
    `noise` what rounding errors may make of nothing.
    """

    share: Block
    noise: Block | None


@dataclass
class State:
    """Q and R as arrays of an engine that may be overwritten.

    `r` is ``(..., rows, n + extra)``; the extra columns, such as ``Q^H b``, are transformed along.
    With q ``(..., m, m)`` r has m rows, with q ``(..., m, n)`` n, without q at most n. Where
    `turned` is true the diagonal of a complex r need not be real.
    """

    engine: Engine
    q: Block | None
    r: Block
    n: int
    dropped: list[Block] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    turned: bool = False

    @property
    def m(self) -> int:
        """Number of rows of the matrix; without Q only of those that R has."""
        return int(self.r.shape[-2] if self.q is None else self.q.shape[-2])

    @property
    def count(self) -> int:
        """Number of rows of R that are not zero."""
        return min(int(self.r.shape[-2]), self.n)

    @property
    def full(self) -> bool:
        """Whether Q is square."""
        return self.q is not None and self.q.shape[-1] == self.q.shape[-2]

    def drop(self, rows: int) -> None:
        """Keep the first rows of R and columns of Q; note what extra columns lose."""
        if self.r.shape[-1] > self.n and self.r.shape[-2] > rows:
            self.dropped.append(self.r[..., rows:, self.n :])
        self.r = self.r[..., :rows, :]
        if self.q is not None:
            self.q = self.q[..., :rows]

    def extend(self, q: Block | None, rows: Block) -> None:
        """Append columns to Q and rows to R."""
        if self.q is not None and q is not None:
            self.q = joined(self.engine, [self.q, q], -1)
        self.r = joined(self.engine, [self.r, rows], -2)
