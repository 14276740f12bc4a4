"""Recursive Householder QR (E. Elmroth, F. Gustavson 2000), and its Q.

The reflections of some columns are ``H = I - Y K Y^T``. A panel of 128 columns is factored with an
orthonormal Q, and H is found from it: ``(I - Y K Y^T) E = Q S`` with ``Y = Q - E S`` and
``K^-1 = I - Q1^T S``, where Q1 are the first rows of Q and S is diagonal, of signs that keep the
pivots of ``Q1 - S`` away from zero (Y. Yamamoto 2012; G. Ballard and others 2014, whose V and T are
``Y U^-1`` and ``U K U^T``). The halves of wider H are joined: K is their block triangle with
``-K1 (Y1^T Y2) K2``. Columns of the final Q are those of the panels, with the H before them applied
from the last to the first, so that Q is orthonormal whatever the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from mdqr._backend.float_panels import CUTOFF
from mdqr._limbs.planes import Block
from mdqr.tensorcore._algorithms.recursive import first_half, halves
from mdqr.tensorcore._engine.formats import Format
from mdqr.tensorcore._engine.protocol import SUMMED, Engine, Operand
from mdqr.tensorcore._plan import Plan

Panel = Callable[[Block, Block], None]
Result = TypeVar("Result")

# Of operands in binary16: K and its products may have entries above those of columns of norm 1;
# they are finite up to 255.
_EXPONENT = 8


class PanelBreakdown(Exception):
    """Columns of a panel depend on others, or nearly do, too much for it: see `with_fallbacks`."""


def with_fallbacks(call: Callable[[Plan], Result], plan: Plan) -> Result:
    """Return ``call(plan)``, or that of the first of its fallbacks whose panels do not break down.

    Panels of reflections by "geqrf" cannot. Infinities are looked for in results: NumPy need not
    warn of them.

    Raises
    ------
    numpy.linalg.LinAlgError
        If all plans break down, none of which is of reflections.
    """
    with np.errstate(all="ignore"):
        for choice in plan.fallbacks():
            with suppress(PanelBreakdown):
                return call(choice)
    raise np.linalg.LinAlgError(
        f'{plan.call}: columns of a depend on others too nearly for method="rgs"; method="auto" or '
        '"householder" takes reflections'
    )


class Work(NamedTuple):
    """A factorisation under way, and memory that all its levels share."""

    engine: Engine
    q: Block
    r: Block
    signs: Block
    low: Operand  # Y as operand, zero above each panel
    kernel: Operand  # K as operand, block by block
    right: Operand  # what is multiplied, rounded
    top: Operand  # the short products, rounded
    panel: Panel

    @property
    def rows(self) -> int:
        """The number of rows that are summed at once; 0: all, if the format has larger errors."""
        return SUMMED if self.low.form.terms > 1 else 0

    def reflection(self, first: int, middle: int, top: int) -> tuple[Operand, Operand]:
        """Return Y from row `top` on and K of the columns `first` to `middle`."""
        y = self.low.part(top, len(self.q), first, middle)
        return y, self.kernel.part(first, middle, first, middle)


def orthonormal_panel(engine: Engine, kind: str) -> Panel:
    """Return what factors 128 columns with a Q that is orthonormal to the accuracy of float32.

    That of a library need not be: equal columns leave each other numbers whose squares are
    subnormal.
    """
    if kind == "cholesky":
        return partial(engine.orthonormal, done=False)
    first = engine.caqr if kind == "caqr" else engine.geqrf

    def panel(a: Block, r: Block) -> None:
        first(a, r)
        engine.orthonormal(a, r, done=True)

    return panel


def householder(engine: Engine, q: Block, r: Block, form: Format, kind: str) -> None:
    """Replace `q` by its orthonormal factor and fill the upper triangle of `r`.

    Raises
    ------
    PanelBreakdown
        If columns of a panel other than "geqrf" depend on others, or nearly do.
    """
    form = form._replace(exponent=min(form.exponent, _EXPONENT))
    work = work_of(engine, q, r, form, orthonormal_panel(engine, kind))
    n = q.shape[1]
    factor(work, 0, n, joined=False)
    diagonal = q.reshape(-1, order="F")[:: len(q) + 1][:n]
    diagonal += work.signs
    form_q(work, 0, n)
    check(engine, kind)


def check(engine: Engine, kind: str) -> None:
    """Synchronize, and raise `PanelBreakdown` if Q of some panel may not be orthonormal."""
    if kind != "geqrf":
        report, _ = engine.report()
        if report.breakdown and not report.not_finite:
            raise PanelBreakdown


def work_of(engine: Engine, q: Block, r: Block, form: Format, panel: Panel) -> Work:
    """Return the work of a factorisation with its memory."""
    m, n = q.shape
    half, rest = halves(n)
    low, kernel = (_zeros(engine, rows, n if half else 0, form) for rows in (m, n))
    right, top = engine.memory(m, rest, form), engine.memory(half, rest, form)
    signs = engine.matrix(n, 1)[:, 0]
    return Work(engine, q, r, signs, low, kernel, right, top, panel)


def _zeros(engine: Engine, rows: int, columns: int, form: Format) -> Operand:
    """Return memory for an operand, also for float32, that holds zeros."""
    if not form.kernel:
        return Operand((engine.matrix(rows, columns, zero=True),), form)
    result = engine.memory(rows, columns, form)
    for term in result.terms:
        term[...] = 0
    return result


def _keep(engine: Engine, x: Block, out: Operand) -> None:
    """Round `x` into `out`."""
    if out.form.kernel:
        engine.round(x, out)
    else:
        out.terms[0][...] = x


def factor(work: Work, first: int, last: int, *, joined: bool) -> None:
    """Triangularise columns `first` to `last`: Y stays in `work.q`, R goes to `work.r`.

    With `joined` their K is wanted as a whole.
    """
    engine, q, r = work.engine, work.q, work.r
    width = last - first
    if width <= CUTOFF:
        y, k = q[first:, first:last], engine.matrix(width, width)
        work.panel(y, r[first:last, first:last])
        engine.reflector(y, k, work.signs[first:last])
        if last < q.shape[1]:
            low, kernel = work.reflection(first, last, first)
            _keep(engine, y, low)
            _keep(engine, k, kernel)
        return
    middle = first + first_half(width)
    factor(work, first, middle, joined=True)
    y, k = work.reflection(first, middle, first)
    right = q[first:, middle:last]
    short = engine.matrix(middle - first, last - middle)
    engine.inner(y, engine.round(right, work.right), short, work.rows)
    transposed = engine.matrix(*short.shape)
    engine.inner(k, engine.round(short, work.top), transposed)
    engine.add(right, y, engine.round(transposed, work.top), -1)
    rows = right[: middle - first]
    engine.xp.multiply(rows, work.signs[first:middle, None], out=r[first:middle, middle:last])
    rows[...] = 0.0
    factor(work, middle, last, joined=joined)
    if joined:
        _join(work, first, middle, last)


def _join(work: Work, first: int, middle: int, last: int) -> None:
    """Set the corner of K to ``-K1 (Y1^T Y2) K2``."""
    engine = work.engine
    y, k = work.reflection(first, middle, middle)
    other, other_k = work.reflection(middle, last, middle)
    short = engine.matrix(middle - first, last - middle)
    engine.inner(y, other, short, work.rows)
    product = engine.matrix(*short.shape)
    engine.add(product, k, engine.round(short, work.top), -1, overwrite=True)
    engine.add(short, engine.round(product, work.top), other_k, 1, overwrite=True)
    _keep(engine, short, work.kernel.part(first, middle, middle, last))


def form_q(work: Work, first: int, last: int) -> None:
    """Apply the reflections of columns `first` to `last` to the Q of their panels."""
    width = last - first
    if width <= CUTOFF:
        return
    engine, q = work.engine, work.q
    middle = first + first_half(width)
    form_q(work, first, middle)
    form_q(work, middle, last)
    below, _ = work.reflection(first, middle, middle)
    short = engine.matrix(middle - first, last - middle)
    engine.inner(below, engine.round(q[middle:, middle:last], work.right), short, work.rows)
    product = engine.matrix(*short.shape)
    y, k = work.reflection(first, middle, first)
    engine.add(product, k, engine.round(short, work.top), 1, overwrite=True)
    engine.add(q[first:, middle:last], y, engine.round(product, work.top), -1)
