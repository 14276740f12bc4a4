"""Separate problems within one matrix: blocks without a common row or column.

Householder vectors whose pivots lie in other blocks carry rounding errors from block to block,
which ruin unknowns that are small relative to those of others. Where each column has a row of its
own block for its pivot, all that joins blocks is exactly zero in Q and in R.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._limbs import scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._solve.system import System


class Joined(NamedTuple):
    """Masks of unknowns, ``(..., n, n)``, and of rows, ``(..., n, m)``, that are of one block."""

    unknowns: Block
    rows: Block

    @classmethod
    def of(cls, system: System) -> Joined:
        """Return what the entries of a system join; who asks waits."""
        field, settle = system.kind.is_complex, system.checks.settle
        # Rows or columns of zeros have no exponent.
        held = (scaling.magnitude_bits(system.given, field) != 0) * 1.0
        transposed = held.swapaxes(-1, -2)
        unknowns = transposed @ held > 0
        while not bool(settle(unknowns.all())[0]):
            further = (unknowns * 1.0) @ (unknowns * 1.0) > 0
            if bool(settle((further == unknowns).all())[0]):
                break
            unknowns = further
        return cls(unknowns, (unknowns * 1.0) @ transposed > 0)


def separated(system: System, joined: Joined) -> System | None:
    """Return the system factored with pivots within blocks; None if they are already."""
    if bool(system.checks.settle(joined.unknowns.all())[0]):
        return None
    unknowns, rows = joined.unknowns.argmax(axis=-1), joined.rows.argmax(axis=-2)
    rows = system.backend.xp.where(joined.rows.any(axis=-2), rows, system.columns)
    before, xp = system.order, system.backend.xp
    if before is None:
        before = xp.broadcast_to(xp.arange(rows.shape[-1]), rows.shape)
    found = system.checks.settle(unknowns, rows, before)
    order = np.empty(rows.shape, dtype=np.int64)
    for index in np.ndindex(order.shape[:-1]):
        order[index] = _pivots_first(*(labels[index] for labels in found))
    if (order == found[2]).all():
        return None
    return system.sorted_by(system.backend.xp.asarray(order))


def _pivots_first(columns: np.ndarray, rows: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the order in which row j is of the block of column j, others kept as in `before`."""
    rows, order = rows[before], np.full(before.size, -1)
    taken = np.zeros(before.size, dtype=bool)
    for label in np.unique(columns):
        here, held = np.flatnonzero(columns == label), np.flatnonzero(rows == label)
        count = min(here.size, held.size)
        order[here[:count]], taken[held[:count]] = before[held[:count]], True
    order[order < 0] = before[~taken]
    return order
