"""Fits of different rows become one.

Let a fit of rows A_i belong to ``A_i + E_i`` with ``norm(E_i e_j) <= c_i eps norm(A_i e_j)`` for
each column j, c_i its `changes` times the constant of a factorisation. Squares of norms of rows
add: ``norm(E e_j) <= max(c_i) eps norm(A e_j)``. The factorisation of all R adds its own
error, one change. A removal has magnified errors of its fit beyond that: changes add then. Errors
by underflow do not depend on the column, and always add: `steps`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import cost
from mdqr.linalg._update.arithmetic.matrices import joined
from mdqr.linalg._update.fit import (
    Fit,
    add_squares,
    insert_rows,
    note_constants,
    prefers_refactor,
    refactor,
    refactored,
    settled,
    size,
    with_rows,
)


def merged(fit: Fit, other: Fit) -> Fit:
    """Return a fit of the rows of both, those of `other` last.

    It has what `fit` has: the data of both are known if `fit` has them, and so is Q.
    """
    data = fit.data if other.data is None else other.data
    if fit.keep_q and other.q is None:
        return with_rows(fit, data, fit.m)
    before, fit, k, p = fit, replace(fit), fit.m, int(other.r.shape[-2])
    data = None if fit.data is None else fit.memory.extended(fit.engine, fit.data, data)
    work, m = cost.rows_work(fit.engine, size(fit, p, k)), k + other.m
    if data is not None and prefers_refactor(fit, work, m, fit.n):
        return refactored(fit, data)
    insert_rows(fit, other.r, k, other.q)
    add_squares(fit, (other.squares, other.beta))
    fit.m, fit.data, fit.cut = m, data, fit.cut | other.cut
    _note_errors(fit, [before, other])
    if data is None:
        note_constants(fit, other.constants)
    settled(fit, Checks())
    return fit


def stacked(fits: Sequence[Fit]) -> Fit:
    """Return a fit of the rows of all, by one factorisation of all R, without data and Q."""
    first, rows = fits[0], [fit.r for fit in fits if fit.m]
    fit = replace(first, q=None, data=None, keep_q=False, constants=None)
    if len(rows) == 1:
        (only,) = (other for other in fits if other.m)
        return replace(only, q=None, data=None, keep_q=False)
    refactor(fit, joined(fit.engine, rows, -2) if rows else first.r)
    fit.m = sum(other.m for other in fits)
    for other in fits:
        add_squares(fit, (other.squares, other.beta))
        fit.cut = fit.cut | other.cut
        if other.m:
            note_constants(fit, other.constants)
    _note_errors(fit, [other for other in fits if other.m])
    settled(fit, Checks())
    return fit


def _note_errors(fit: Fit, parts: Sequence[Fit]) -> None:
    """Note how far a fit, made of `parts` by one change, is from their rows."""
    if not parts:
        return
    removals = any(part.lost > 0 for part in parts)
    changes = [part.changes for part in parts]
    fit.changes = (sum(changes) if removals else max(changes)) + 1
    fit.steps = sum(part.steps for part in parts) + 1
    # Errors of all, each relative to columns that are no longer than those of all together.
    fit.lost = math.log10(sum(10.0**part.lost for part in parts) - (len(parts) - 1.0))
    peak: Block = fit.peak
    for part in parts:
        if part.peak is not None:
            peak = part.peak if peak is None else fit.engine.backend.xp.maximum(peak, part.peak)
    fit.peak = peak
