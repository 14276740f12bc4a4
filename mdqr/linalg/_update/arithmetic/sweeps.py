"""Sweeps of Householder windows that make a disturbed R triangular again.

All change their arguments in place. `r` may have more columns than the matrix it belongs to, such
as ``Q^H b``: they are transformed along. `q`, if it is given, is multiplied from the right, so that
the product ``q r`` stays. Windows with not many fewer subdiagonals than columns are formed as one
orthogonal matrix: one product instead of three, and fewer operations, since their reflections
overlap nearly everywhere.
"""

from __future__ import annotations

from mdqr._backend.blocks import FORMED
from mdqr._limbs.planes import Block
from mdqr.linalg._shared import tuning
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.matrices import (
    adjoint_multiply,
    apply_right,
    joined,
    make_triangular,
)


def reduce_subdiagonals(
    engine: Engine, r: Block, q: Block | None, *, start: int, stop: int, lower: int, rows: int
) -> None:
    """Make columns `start` to `stop` triangular, which have `lower` diagonals below the main one.

    The columns of `r` before `start` are triangular; `rows` are the rows that are not zero.
    """
    short = window_columns(engine, lower)
    step = short or engine.width("subdiagonals", lower)
    for first in range(start, stop, step):
        width = min(step, stop - first)
        last = min(first + width + lower, rows)
        window = r[..., first:last, first : first + width]
        rest = r[..., first:last, first + width :]
        right = None if q is None else q[..., first:last]
        if short:
            _reduce(engine, window, rest, right, lower)
            continue
        if lower < FORMED * width:
            _multiply_both(engine, engine.orthogonal(window), [rest], right)
            continue
        # What is left below the diagonal is read no more, and cleared at the end of the update.
        make_triangular(engine, window, rest, right, clear=False)


def spike(engine: Engine, w: Block, r: Block, q: Block | None, *, first: int, stop: int) -> bool:
    """Reduce the columns `w` in front of the columns `first` and later of `r`, from the bottom up.

    `w` ``(..., rows, p)`` is zero from row `stop` on, and triangular from row ``stop - p`` on where
    `r` ``(..., rows, n)``, triangular, has no rows. Afterwards the rows of `w` from ``first + p``
    on are zero, those from `first` to there are triangular, and `r` has p more diagonals below its
    main one, counted from column `first`: put between its columns ``first - 1`` and `first`, `w`
    completes a triangular matrix.

    Returns
    -------
    bool
        Whether the lowest diagonal of `r` may have become complex.
    """
    p = w.shape[-1]
    if not p or stop <= first:
        return False
    if reduces_columns(engine, p):
        _reduce_columns(engine, w, r, q, first, stop)
        return True
    step = engine.width("spike", p)
    start = max(first, stop - p - step)
    while True:
        rows = slice(start, stop)
        e = engine.orthogonal(w[..., rows, :])
        shift = min(p, stop - start)
        columns = slice(start, stop - p if stop - p > start else start)
        if columns.stop > start:
            block = adjoint_multiply(engine, e, r[..., rows, columns])
            second = engine.factor(block[..., shift:, :])
            r[..., rows, columns] = block
            apply_right(engine, second, e[..., shift:])
        right = None if q is None else q[..., rows]
        _multiply_both(engine, e, [r[..., rows, columns.stop :]], right)
        if start == first:
            return False
        stop = start + shift
        start = max(first, start - step)


def _reduce_columns(
    engine: Engine, w: Block, r: Block, q: Block | None, first: int, stop: int
) -> None:
    """Reduce few columns, each from its end up to the row below those of the columns before."""
    width = window_columns(engine, 1)
    for c in range(int(w.shape[-1])):
        end = stop
        while end - 1 > first + c:
            start = max(first + c, end - 1 - width)
            rows = slice(start, end)
            # Rows of R have one diagonal more after each column.
            lefts = [r[..., rows, max(first, start - c) :], w[..., rows, c + 1 :]]
            right = None if q is None else q[..., rows]
            _reduce_column(engine, w[..., rows, c : c + 1], lefts, right)
            end = start + 1


def reduce_rows_below(
    engine: Engine, r: Block, u: Block, q: Block | None, z: Block | None, *, columns: int
) -> None:
    """Reduce the first columns of rows `u` below the triangular matrix `r` to zero, as `tpqrt`.

    The vectors are ``[I; V]``: no window touches a row of `r` but its columns'. `q` and `z` belong
    to the rows of `r` and `u`; `columns` is at most the rows of `r`.
    """
    if not u.shape[-2]:
        return
    step = engine.width("rows", u.shape[-2])
    for first in range(0, columns, step):
        stop = min(first + step, columns)
        width = stop - first
        same = slice(first, stop)
        window = joined(engine, [r[..., same, same], u[..., same]], -2)
        factors = engine.factor(window, tile=width, clear=False)
        (v,), (t,) = factors.vs, factors.ts
        # The first rows are the identity where V is unit lower trapezoidal.
        head, v = None if factors.unit else v[..., :width, :], v[..., width:, :]
        r[..., same, same] = window[..., :width, :]
        if stop < r.shape[-1]:
            top, low = r[..., same, stop:], u[..., stop:]
            first = top if head is None else adjoint_multiply(engine, head, top)
            g = adjoint_multiply(engine, t, adjoint_multiply(engine, v, low, c=first))
            if head is None:
                engine.add(top, g, subtract=True, out=top)
            else:
                engine.accumulate(top, head, g, subtract=True)
            engine.accumulate(low, v, g, subtract=True)
        if q is not None and z is not None:
            part = q[..., same]
            first = part if head is None else engine.multiply(part, head)
            g = engine.multiply(engine.multiply(z, v, c=first), t)
            if head is None:
                engine.add(part, g, subtract=True, out=part)
            else:
                engine.accumulate(part, g, head.swapaxes(-1, -2), subtract=True, conj_b=True)
            engine.accumulate(z, g, v.swapaxes(-1, -2), subtract=True, conj_b=True)


def window_columns(engine: Engine, below: int) -> int:
    """Return the number of columns of such a window; 0 where panels are better."""
    return 0 if engine.has_panels else engine.backend.window_columns(below, kind=engine.kind)


def reduces_columns(engine: Engine, p: int) -> bool:
    """Return True if p columns in front of others are reduced one after the other."""
    most = tuning.single_columns(engine.backend, engine.kind.limbs)
    return p <= most and window_columns(engine, 1) > 0


def forms_windows(engine: Engine, below: int) -> bool:
    """Return True if reflectors are applied by their product, and not one by one."""
    return engine.backend.forms_windows(below, limbs=engine.kind.limbs)


def _reduce(engine: Engine, r: Block, left: Block, right: Block | None, below: int) -> None:
    """Replace `r` by R, `left` by ``E^H left`` and `right` by ``right E``, with ``r = E R``.

    `r` has `below` diagonals below the main one, as `mdqr._backend.protocol.Backend.window` wants.
    """
    if not r.size:
        return
    if engine.kind.limbs == 1 and forms_windows(engine, below):
        # Products of floats are those of the library, in their width.
        _multiply_both(engine, formed_window(engine, r, below), [left], right)
        return
    last = None if right is None else engine.planes(right)
    engine.backend.window(
        engine.planes(r), engine.planes(left), last, below=below, kind=engine.kind
    )


def _reduce_column(engine: Engine, z: Block, lefts: list[Block], right: Block | None) -> None:
    """Reduce a column bottom up: `z` becomes ``(zeta, 0)`` with ``z = E (zeta, 0)``.

    The matrices `lefts` become ``E^H left``, and `right` becomes ``right E``.
    """
    if not z.size:
        return
    if forms_windows(engine, 1):
        _multiply_both(engine, formed_window(engine, z, 0), lefts, right)
        return
    kind = engine.kind
    first, *others = map(engine.planes, lefts)
    for left in others:
        if left.shape[-1]:
            engine.backend.rise(engine.planes(z.copy()), left, None, kind=kind)
    last = None if right is None else engine.planes(right)
    engine.backend.rise(engine.planes(z), first, last, kind=kind)


def _multiply_both(engine: Engine, e: Block, lefts: list[Block], right: Block | None) -> None:
    """Replace matrices by ``e^H left`` and ``right e``."""
    for left in lefts:
        if left.size:
            left[...] = adjoint_multiply(engine, e, left)
    if right is not None:
        right[...] = engine.multiply(right, e)


def formed_window(engine: Engine, r: Block, below: int) -> Block:
    """Replace a window by R, or with `below` 0 a column by its first element, and return E."""
    e = engine.backend.xp.empty((*r.shape[:-1], int(r.shape[-2])), dtype=engine.dtype)
    engine.backend.form_window(engine.planes(r), engine.planes(e), below=below, kind=engine.kind)
    return e
