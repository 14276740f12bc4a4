"""Observations that come and go: operands, the places of rows, and memory for those held."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mdqr._limbs import planes, scaling
from mdqr._limbs.device import check_together
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.operands import as_integer
from mdqr.linalg._update.arithmetic.matrices import constants, joined
from mdqr.linalg._update.fit import Fit, start
from mdqr.linalg._update.operands import (
    Numbers,
    like,
    matrix_operand,
    range_of,
    require_count,
    require_given,
)

# The biased exponent of rows and of R that stay within the range together.
_SURE = 2000


def rows_of(
    numbers: Numbers, function: str, u: Any, b: Any, n: int, right: int, *, vector: bool
) -> Block:
    """Return rows ``(p, n + right)`` of the data.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    require_given(function, u=u, b=b)
    found = like(numbers, function, "u", u)
    new = matrix_operand(function, numbers.engine, "u", found, (), columns=n)
    return joined(
        numbers.engine, [new, sides_of(numbers, function, b, new, right, vector=vector)], -1
    )


def sides_of(
    numbers: Numbers, function: str, b: Any, rows: Block, right: int, *, vector: bool
) -> Block:
    """Return right-hand sides ``(p, right)`` for `rows` ``(..., p, n)``.

    Raises
    ------
    ValueError
        If the shape does not fit.
    """
    engine, p = numbers.engine, int(rows.shape[-2])
    found = like(numbers, function, "b", b)
    shape = engine.shape(found)
    wanted = (p,) if vector else (p, right)
    single = () if vector else (right,)
    if shape != wanted and not (p == 1 and shape == single):
        also = f" or {single}" if p == 1 else ""
        raise ValueError(f"{function}: b must have shape {wanted}{also} for {p} rows; got {shape}")
    if shape == single:
        found = found[..., None] if vector else found[..., None, :]
    return found[..., None] if vector else found


def may_wait(fit: Fit, new: Block, *, first: bool) -> Block:
    """Return whether rows `new` can wait with others and not leave the range, a 0-d bool.

    R is asked for the `first` of them.
    """
    bits = scaling.magnitude_bits(fit.engine.to_block(new), fit.engine.kind.is_complex)
    small = scaling.largest(bits, None, 0) <= _SURE << 52
    return small & (scaling.largest(fit.peak, None, 0) <= _SURE - 1023) if first else small


class Leaving(NamedTuple):
    """Rows that leave: all arguments that name them."""

    k: Any
    p: Any
    u: Any
    b: Any


def places_of(function: str, k: Any, p: Any, m: int) -> np.ndarray:
    """Return the indices of rows that leave, of m, in the order in which they are named.

    Raises
    ------
    TypeError, ValueError, IndexError
        If `k` is not an index of rows, or names some that are not there, or one twice.
    """
    if k is None or as_integer(k) is not None:
        first, count = range_of(function, k, p, m)
        return np.arange(first, first + count)
    if as_integer(p) != 1:
        raise ValueError(f"{function}: p goes with one index k; got p = {p!r} and several of them")
    if isinstance(k, slice):
        return np.arange(m)[k]
    found = np.asarray(k)
    if found.ndim != 1:
        raise ValueError(
            f"{function}: k must be an integer, a slice, or one-dimensional; got shape "
            f"{found.shape}"
        )
    if found.dtype.kind == "b":
        if found.size != m:
            raise ValueError(f"{function}: a mask k must have {m} entries; got {found.size}")
        return np.flatnonzero(found)
    if found.size == 0:
        return np.arange(0)
    if found.dtype.kind not in "iu":
        raise IndexError(
            f"{function}: k must be integers or bools; got an array of {found.dtype.name}"
        )
    wrong = found[(found < -m) | (found >= m)]
    if wrong.size:
        raise IndexError(f"{function}: there is no row {wrong[0]} of {m}")
    found = np.where(found < 0, found + m, found).astype(np.int64)
    values, counts = np.unique(found, return_counts=True)
    if counts.max() > 1:
        raise ValueError(f"{function}: row {values[counts.argmax()]} is named more than once")
    return found


def are_neighbours(places: np.ndarray) -> bool:
    """Return whether rows follow each other in the order in which they are named."""
    return bool((np.diff(places) == 1).all())


def mergeable(numbers: Numbers, fit: Fit, other: tuple[Numbers, Fit]) -> Fit:
    """Return another fit in the arithmetic of `numbers`, to be merged into `fit`.

    Raises
    ------
    ValueError
        If the numbers of unknowns or right-hand sides, the devices or precisions do not fit, or it
        does not keep what `fit` does.
    """
    name, (more, found), engine = "UpdatableLstsq.merge", other, numbers.engine
    if (found.n, found.right) != (fit.n, fit.right):
        raise ValueError(
            f"{name}: both must have as many unknowns and right-hand sides; got "
            f"{(fit.n, fit.right)} and {(found.n, found.right)}"
        )
    check_together([numbers.sample, more.sample])
    if found.engine.kind.is_complex and not engine.kind.is_complex:
        raise ValueError(f"{name}: other is complex, and the factors are real")
    if found.engine.eps < engine.eps:
        raise ValueError(f"{name}: other has a higher precision: merge into that one")
    known = found.data is not None
    if (fit.data is not None and not known) or (fit.keep_q and not (known or found.keep_q)):
        raise ValueError(f"{name}: other does not keep its data: keep_data=True")
    if found.engine.eps > engine.eps:
        if not known:
            raise ValueError(
                f"{name}: other has a lower precision, and no data to factor: keep_data=True, or "
                "precision= for both"
            )
        data, keep = _converted(numbers, more, found.data), fit.data is not None or fit.keep_q
        return start(engine, data, found.n, keep_q=False, keep_data=keep)
    q, data = (None if x is None else _converted(numbers, more, x) for x in (found.q, found.data))
    held = found.constants if data is None else constants(engine, data[..., : found.n])
    if held is not None and data is None:
        held = replace(held, first=_converted(numbers, more, held.first))
    r = _converted(numbers, more, found.r)
    return replace(found, engine=engine, r=r, q=q, data=data, constants=held)


def _converted(numbers: Numbers, other: Numbers, x: Block) -> Block:
    """Return numbers of another arithmetic, of no higher precision, in that of `numbers`."""
    block = other.engine.to_block(x)
    if numbers.engine.kind.is_complex and not other.engine.kind.is_complex:
        block = planes.complexify(block)
    return numbers.engine.from_block(block)


def leaving_rows(
    numbers: Numbers, fit: Fit, function: str, leaving: Leaving, *, vector: bool
) -> tuple[Block, np.ndarray]:
    """Return rows of the data that leave, and their places, where no data are kept.

    Raises
    ------
    ValueError
        If the rows are not known, or fewer than n would stay.
    """
    k, p, u, b = leaving
    if b is None or (u is None and not fit.keep_q):
        raise ValueError(f"{function}: the data are not kept: give the rows that leave, u= and b=")
    if fit.keep_q and (k is None or u is not None):
        raise ValueError(f"{function}: Q is kept and knows the rows by their place: give k, p, b=")
    if u is None:
        places = places_of(function, k, p, fit.m)
        blank = fit.engine.zeros(fit.r, places.size, fit.n)
        right = sides_of(numbers, function, b, blank, fit.right, vector=vector)
        old = joined(fit.engine, [blank, right], -1)
    else:
        old = rows_of(numbers, function, u, b, fit.n, fit.right, vector=vector)
        count = int(old.shape[-2])
        if k is None or as_integer(k) is not None:
            require_count(function, p, count)
            p = count
        places = np.arange(count) if k is None else places_of(function, k, p, fit.m)
        if places.size != count:
            raise ValueError(f"{function}: k names {places.size} rows, and u has {count}")
    left = fit.m - places.size
    if left < fit.n:
        raise ValueError(
            f"{function}: {left} rows would stay, fewer than the {fit.n} columns; that needs the "
            "data: keep_data=True"
        )
    return old, places
