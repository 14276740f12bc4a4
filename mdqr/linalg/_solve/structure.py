"""Unknowns that the zeros of a and b make zero, whatever the other entries are.

A matching gives each column a row of its own in which it is not zero, or if there are fewer rows
each row a column. Lines that others can take the partner of are loose, and so are those partners:
they are the part with more equations than unknowns, or fewer; the rest is square (A. L. Dulmage and
N. S. Mendelsohn 1958). An unknown of the square part is found from the row that it is matched with,
one of the loose part from all loose rows that it has entries in. Of matrices of full rank unknowns
are zero that no entry of b reaches so: with U these unknowns, matched rows of U hold no others and
zeros of b, which leaves a regular system, or a problem of full rank, with zeros on the right.
"""

from __future__ import annotations

import numpy as np


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
