"""An orthonormal Q from one that nearly is, by products.

With ``Q.T @ Q = I + U + U.T``, U upper triangular, ``Q (I - U)`` departs from orthonormality by the
square of U, and ``(I - U)^-1 R = R + U R + U U R + ...`` keeps the product: CholeskyQR (Y.
Yamamoto and others 2015) of first order, without a factorisation and without an inverse.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from mdqr._limbs.planes import Block
from mdqr.tensorcore._engine.formats import FORMATS, FP32, Format
from mdqr.tensorcore._engine.protocol import SUMMED, Engine, Operand, operand

# Departures up to this shrink to a tenth at least: U has about 0.7 of the 2-norm of U + U.T, and
# what is left is 2 U^2.
CLOSE = 2.0**-5
# Blocks of columns, so that little of what lies below the diagonal is computed.
_PARTS, _LEAST_WIDTH, _MULTIPLE = 8, 512, 128
_PROBES, _STEPS = 4, 6


class Departure(NamedTuple):
    """The loss of orthogonality of Q: ``Q.T @ Q = I + U + U.T``."""

    q: Operand
    u: Block
    size: float  # estimate of the 2-norm of U + U.T


def departure_of(engine: Engine, q: Block, form: Format) -> Departure:
    """Return the departure of `q`, computed in `form`; the machine is waited for."""
    n = q.shape[1]
    low = copied(engine, q, form)
    u = engine.matrix(n, n, zero=True)
    for first, last in column_blocks(n):
        part = low.columns(first, last)
        engine.inner(low.columns(0, last), part, u[:last, first:last], rows=SUMMED)
        u[first:last, first:last] = engine.xp.triu(u[first:last, first:last], 1)
    # On the diagonal the sums grow all the way, and truncation with them: float64.
    diagonal = u.reshape(-1, order="F")[:: n + 1]
    diagonal[...] = (engine.squares(q) - 1.0) / 2
    return Departure(low, u, _size(engine, u))


def copied(engine: Engine, x: Block, form: Format) -> Operand:
    """Return `x` as operand, a copy also if it stays as it is."""
    if form.kernel:
        return operand(engine, x, form)
    copy = engine.matrix(*x.shape)
    copy[...] = x
    return Operand((copy,), form)


def column_blocks(n: int) -> list[tuple[int, int]]:
    """Return where blocks of columns start and end."""
    width = max(-(-n // (_PARTS * _MULTIPLE)) * _MULTIPLE, _LEAST_WIDTH)
    return [(first, min(first + width, n)) for first in range(0, n, width)]


def _size(engine: Engine, u: Block) -> float:
    """Estimate the 2-norm of ``u + u.T`` by the power method."""
    xp = engine.xp
    both = xp.asfortranarray(u + u.T)
    x = np.random.default_rng(len(u)).standard_normal((len(u), _PROBES))
    new = old = xp.asarray(np.asfortranarray(x))
    for _ in range(_STEPS):
        new, old = xp.empty(old.shape, order="F"), new
        engine.doubles(new, both, old, transposed=True)
    _, (last, before) = engine.report((new * new).sum(axis=0), (old * old).sum(axis=0))
    ratio = last / np.where(before == 0, 1, before)
    # A maximum that is NaN where one of the two is.
    return float(np.sqrt(ratio.max()))


def correct(engine: Engine, found: Departure, q: Block, r: Block | None, plan: Format) -> None:
    """Set `q` to ``q (I - U)``, and `r` to ``(I - U)^-1 r``.

    `plan` is the format that the factors were made in: errors of its unit roundoff are in them.
    """
    u = operand(engine, found.u, _update_form(found, plan))
    low = _shortened(found.q, u.form)
    for first, last in column_blocks(q.shape[1]):
        engine.add(q[:, first:last], low.columns(0, last), u.part(0, last, first, last), -1)
    if r is not None:
        _correct_triangle(engine, u, found.size, r, plan)


def _update_form(found: Departure, plan: Format) -> Format:
    """Return the coarsest format whose errors do not show."""
    fine, coarse = found.q.form, FORMATS["fp16"]
    if fine.kernel != "split":
        return fine
    limit, error = rms_limit(len(found.u)), found.size * coarse.unit
    # Of R: what the format of the factors lost anyway. Of Q: what is allowed, or mended next.
    another = 2 * found.size**2 > 8 * limit
    return coarse if error <= plan.unit and (error <= limit or another) else fine


def _shortened(x: Operand, form: Format) -> Operand:
    """Return the first term of a split operand, which is `x` in binary16."""
    return Operand(x.terms[: form.terms], form)


def _correct_triangle(engine: Engine, u: Operand, size: float, r: Block, plan: Format) -> None:
    n, left = len(r), size
    term = copied(engine, r, u.form)
    while left > plan.unit / 8:
        product = engine.matrix(n, r.shape[1], zero=True)
        for first, last in column_blocks(n):
            rows = product[first:last, first:]
            engine.add(rows, u.part(first, last, first, n), term.part(first, n, first, None), 1)
        r += product
        left *= size
        term = copied(engine, product, u.form) if left > plan.unit / 8 else term


def rms_limit(n: int) -> float:
    """Return what the columns of ``Q.T @ Q - I`` may be, in root mean square.

    Each entry is a sum of products of entries of Q with errors of some 2^-24 (rounding Q, and sums
    of tensor cores) in n directions: at most 2 of these a column's entry, and 16 for small n.
    """
    return FP32.unit * (16 + 2 * sqrt(n))
