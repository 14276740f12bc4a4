"""What `UpdatableLstsq` is given: rows with their right-hand sides, ranges of indices."""

from __future__ import annotations

from typing import Any

from mdqr._backend.protocol import Block
from mdqr.linalg._update.engine import joined
from mdqr.linalg._update.fit import Fit
from mdqr.linalg._update.operands import (
    Given,
    like,
    matrix_operand,
    range_of,
    require_count,
    require_given,
    shape_of,
)


def rows_of(
    given: Given, function: str, u: Any, b: Any, n: int, right: int, *, vector: bool
) -> Block:
    """Return rows ``(p, n + right)`` of the data.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    require_given(function, u=u, b=b)
    found = like(given, function, "u", u)
    new = matrix_operand(function, given.engine, "u", found, (), columns=n)
    return joined(given.engine, [new, sides_of(given, function, b, new, right, vector=vector)], -1)


def sides_of(
    given: Given, function: str, b: Any, rows: Block, right: int, *, vector: bool
) -> Block:
    """Return right-hand sides ``(p, right)`` for `rows` ``(..., p, n)``.

    Raises
    ------
    ValueError
        If the shape does not fit.
    """
    engine, p = given.engine, int(rows.shape[-2])
    found = like(given, function, "b", b)
    shape = shape_of(engine, found)
    wanted = (p,) if vector else (p, right)
    single = () if vector else (right,)
    if shape != wanted and not (p == 1 and shape == single):
        also = f" or {single}" if p == 1 else ""
        raise ValueError(f"{function}: b must have shape {wanted}{also} for {p} rows; got {shape}")
    if shape == single:
        found = found[..., None] if vector else found[..., None, :]
    return found[..., None] if vector else found


def leaving_rows(
    given: Given, fit: Fit, function: str, rows: tuple[Any, Any, Any, Any], *, vector: bool
) -> tuple[Block, int]:
    """Return rows of the data that leave, and the place of the first, where no data are kept.

    Parameters
    ----------
    given : Given
        The kind of numbers.
    fit : Fit
        The factors.
    function : str
        For messages.
    rows : tuple
        The arguments k, p, u and b.
    vector : bool
        Whether b is a vector.

    Raises
    ------
    ValueError
        If the rows are not known, or fewer than n would stay.
    """
    k, p, u, b = rows
    if b is None or (u is None and not fit.keep_q):
        raise ValueError(f"{function}: the data are not kept: give the rows that leave, u= and b=")
    if fit.keep_q and (k is None or u is not None):
        raise ValueError(f"{function}: Q is kept and knows the rows by their place: give k, p, b=")
    if u is None:
        place, count = range_of(function, k, p, fit.m)
        blank = fit.engine.zeros(fit.r, count, fit.n)
        right = sides_of(given, function, b, blank, fit.right, vector=vector)
        old = joined(fit.engine, [blank, right], -1)
    else:
        old = rows_of(given, function, u, b, fit.n, fit.right, vector=vector)
        count = int(old.shape[-2])
        require_count(function, p, count)
        place = 0 if k is None else range_of(function, k, count, fit.m)[0]
    left = fit.m - count
    if left < fit.n:
        raise ValueError(
            f"{function}: {left} rows would stay, fewer than the {fit.n} columns; that needs the "
            "data: keep_data=True"
        )
    return old, place
