"""Positions of zeros: unknowns that they make zero, and blocks that are separate problems.

A matching gives each column a row of its own in which it is not zero, or if there are fewer rows
each row a column. Lines that others can take the partner of are loose, and so are those partners:
they are the part with more equations than unknowns, or fewer; the rest is square (A. L. Dulmage and
N. S. Mendelsohn 1958). An unknown of the square part is found from the row that it is matched with,
one of the loose part from all loose rows that it has entries in. Of matrices of full rank unknowns
are zero that no entry of b reaches so: with U these unknowns, matched rows of U hold no others and
zeros of b, which leaves a regular system, or a problem of full rank, with zeros on the right.

Blocks have no row or column in common. Householder vectors whose pivots lie in other blocks carry
rounding errors from block to block, which ruin unknowns that are small relative to those of others.
Where each column has a row of its own block for its pivot, all that joins blocks is exactly zero in
Q and in R.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._limbs import scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._solve.system import System


def reached(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return which unknowns may differ from zero; None where the rank of a is not full.

    Parameters
    ----------
    a, b : numpy.ndarray
        Where a matrix ``(m, n)`` and its right-hand sides ``(m, k)`` are not zero, bool.

    Returns
    -------
    numpy.ndarray or None
        Bool, ``(n, k)``.
    """
    found = _rows_of_unknowns(a)
    if found is None:
        return None
    # Products of float64 are faster than those of bool.
    a, found = a * 1.0, found * 1.0
    held, rows = np.zeros((a.shape[1], b.shape[1]), dtype=bool), b
    while True:
        further = found @ rows > 0
        if (further == held).all():
            return held
        held, rows = further, b | (a @ further > 0)


def _rows_of_unknowns(a: np.ndarray) -> np.ndarray | None:
    """Return the rows from which each unknown is found, bool ``(n, m)``."""
    m, n = a.shape
    lines = a if m <= n else a.T
    partners = matching(lines)
    if (partners < 0).any():
        return None
    loose = np.ones(lines.shape[1], dtype=bool)
    loose[partners] = False
    grows = True
    while grows:
        loose_lines = np.asarray(lines[:, loose].any(axis=1))
        grows = not loose[partners[loose_lines]].all()
        loose[partners[loose_lines]] = True
    found: np.ndarray = lines & loose_lines[:, None] & loose
    found[np.arange(len(lines)), partners] = True
    return found.T if m <= n else found


def matching(lines: np.ndarray) -> np.ndarray:
    """Return a partner for each line, another for every one, -1 for none; as many as possible.

    Parameters
    ----------
    lines : numpy.ndarray
        Which partners suit, bool ``(lines, partners)``.

    Returns
    -------
    numpy.ndarray
        Integers, one for each line.
    """
    taken = np.full(lines.shape[1], -1)
    # Those that few suit come first, and mostly find one that is free.
    late = []
    for line in np.argsort(lines.sum(axis=1), kind="stable"):
        suited = np.flatnonzero(lines[line] & (taken < 0))
        if suited.size:
            taken[suited[0]] = line
        else:
            late.append(line)
    for line in late:
        _augment(lines, taken, line)
    found = np.full(lines.shape[0], -1)
    partners = np.flatnonzero(taken >= 0)
    found[taken[partners]] = partners
    return found


def _augment(lines: np.ndarray, taken: np.ndarray, line: int) -> None:
    """Match a line, with new partners for others if an augmenting path exists; breadth first."""
    before, queue = np.full(taken.size, -1), [line]
    seen = np.zeros(taken.size, dtype=bool)
    for here in queue:
        new = np.flatnonzero(lines[here] & ~seen)
        seen[new], before[new] = True, here
        free = new[taken[new] < 0]
        if free.size:
            partner = free[0]
            while partner >= 0:
                here = before[partner]
                # The line gives the partner that it had to the one before.
                had = np.flatnonzero(taken == here)
                taken[partner] = here
                partner = had[0] if had.size and here != line else -1
            return
        queue += taken[new].tolist()


class Joined(NamedTuple):
    """Masks of unknowns, ``(..., n, n)``, and of rows, ``(..., n, m)``, that are of one block."""

    unknowns: Block
    rows: Block

    @classmethod
    def of(cls, system: System) -> Joined:
        """Return the masks for the nonzero entries of a system; the caller waits."""
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
