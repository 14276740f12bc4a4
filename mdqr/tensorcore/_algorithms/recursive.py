"""Recursive Gram-Schmidt (S. Zhang, E. Baharlouei, P. Wu 2020, Algorithm 1).

The columns are halved: with the first half orthonormal, R12 = Q1^T A2 and A2 -= Q1 R12 are large
low-precision products. Every operand is rounded once: Q when its panel is done, A2 and R12 at each
level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mdqr._backend.float_panels import CUTOFF
from mdqr._limbs.planes import Block
from mdqr.tensorcore._engine.formats import Format
from mdqr.tensorcore._engine.protocol import Engine, Operand

Panel = Callable[[Block, Block, Operand | None], None]


def first_half(columns: int, cutoff: int = CUTOFF) -> int:
    """Return how many columns are factored first: the cut-off times a power of two."""
    half = cutoff
    while 2 * half < columns:
        half *= 2
    return half


class Work(NamedTuple):
    """A factorisation under way, and memory that all its levels share."""

    engine: Engine
    q: Block
    r: Block
    low: Operand  # Q as operand, column by column as it is made
    right: Operand  # A2, rounded
    top: Operand  # R12, rounded
    panel: Panel


def halves(columns: int) -> tuple[int, int]:
    """Return the most columns that are multiplied with, and that are multiplied, at any level."""
    half = first_half(columns) if columns > CUTOFF else 0
    # Of A2 at the first level, or in the first half at the second.
    return half, max(columns - half, half // 2) if half else 0


def work_of(engine: Engine, q: Block, r: Block, form: Format, panel: Panel) -> Work:
    """Return the work of a factorisation with its memory."""
    m, n = q.shape
    half, rest = halves(n)
    low = engine.memory(m, n if half else 0, form) if form.kernel else Operand((q,), form)
    right, top = engine.memory(m, rest, form), engine.memory(half, rest, form)
    return Work(engine, q, r, low, right, top, panel)


def factor(work: Work, first: int = 0, last: int | None = None) -> None:
    """Orthonormalise columns `first` to `last` of `work.q`, and fill those of `work.r`."""
    engine, q, r = work.engine, work.q, work.r
    last = q.shape[1] if last is None else last
    width = last - first
    if width <= CUTOFF:
        # Nothing is multiplied by the last panel.
        low = work.low.columns(first, last) if last < q.shape[1] else None
        work.panel(q[:, first:last], r[first:last, first:last], low)
        return
    middle = first + first_half(width)
    factor(work, first, middle)
    right, low = q[:, middle:last], work.low.columns(first, middle)
    corner = r[first:middle, middle:last]
    engine.inner(low, engine.round(right, work.right), corner)
    engine.add(right, low, engine.round(corner, work.top), -1)
    factor(work, middle, last)


def panel_of(engine: Engine, kind: str) -> Panel:
    """Return what factors 128 columns."""
    panels = {"caqr": engine.caqr, "cholesky": engine.cholesky, "geqrf": engine.geqrf}
    return panels[kind]


def gram_schmidt(engine: Engine, q: Block, r: Block, form: Format, panel: Panel) -> None:
    """Replace `q` by its orthonormal factor and fill the upper triangle of `r`."""
    factor(work_of(engine, q, r, form, panel))
