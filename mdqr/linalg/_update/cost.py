"""Operation counts of updates and of refactorisations, and their times in seconds.

Counts are multiply-adds of the products, columns and entries of panels, and windows; windows with
few diagonals below the main one, a kernel call each, are counted apart. A static table turns them
into seconds, so that ``method="auto"`` decides the same on every machine of a kind; only the ratio
of two estimates matters. A refactorisation is counted from the data where the call has them; from
factors alone with the product Q R before it, since nothing else could be factored.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mdqr._backend.blocks import FORMED
from mdqr.linalg._shared.tuning import update_rates
from mdqr.linalg._update.arithmetic import sweeps
from mdqr.linalg._update.arithmetic.engine import Engine


class Work(NamedTuple):
    """Multiply-adds, columns and entries of panels, windows, multiply-adds in twice the precision.

    Panels are counted apart since they wait: once for each column, and longer for a higher one.
    `reflectors` and `calls` are columns and number of the windows of a kernel call each.
    """

    products: float = 0.0
    columns: float = 0.0
    entries: float = 0.0
    windows: float = 0.0
    residuals: float = 0.0
    reflectors: float = 0.0
    calls: float = 0.0

    def plus(self, *others: Work) -> Work:
        """Return the sum."""
        return Work(*map(sum, zip(self, *others, strict=True)))


class Works(NamedTuple):
    """The work of a change by an update, and by a refactorisation."""

    update: Work
    refactor: Work


# What cannot be done.
IMPOSSIBLE = Work(products=math.inf)


# A window takes twice as long a column with so many diagonals, and in a bottom-up reduction, which
# does not wait for R, this part of the time.
_DIAGONALS = 16.0
_BOTTOM_UP = 0.7
# A multiply-add where reflectors are applied one by one, in those of products.
_DIRECT, _DIRECT_FLOATS = 1.2, 2.0


def seconds(engine: Engine, work: Work) -> float:
    """Return about how long `work` takes."""
    limbs = engine.kind.limbs
    rates = update_rates(engine.backend, limbs, has_panels=engine.has_panels)
    complexity = 4.0 if engine.kind.is_complex else 1.0
    rate = rates.products * limbs**rates.products_power / complexity
    column = rates.column * limbs**rates.column_power * complexity**0.5
    entry = rates.entry * complexity / limbs**rates.products_power
    products = work.products + rates.residual * work.residuals
    panels = work.columns * column + work.entries * entry
    reflector = rates.reflector * limbs**rates.reflector_power * complexity**0.5
    calls = work.calls * rates.call + work.reflectors * reflector
    return products / rate + panels + work.windows * rates.window + calls


class Size(NamedTuple):
    """The factors before an update: ``(m, n)``, the columns of Q (0 without), p and k."""

    m: int
    n: int
    q: int
    p: int
    k: int

    @property
    def rank(self) -> int:
        """Rows of R that are not zero."""
        return min(self.m, self.n)


def _along(reflectors: int, columns: int, q_rows: int, each: float) -> float:
    """Products of reflectors that meet a triangle of so many columns, and all rows of Q."""
    return each * reflectors * (max(columns - reflectors / 2, 0) + q_rows)


def subdiagonals_work(
    engine: Engine, reflectors: int, columns: int, q_rows: int, lower: int
) -> Work:
    """Work of `sweeps.reduce_subdiagonals`."""
    short = sweeps.window_columns(engine, lower)
    if short:
        return _short_work(engine, (reflectors, columns, q_rows), lower, short)
    width = min(engine.width("subdiagonals", lower), max(reflectors, 1))
    formed = lower < FORMED * width
    each = (width + lower) ** 2 / width if formed else 2 * (lower + width) + width
    windows = -(-reflectors // width)
    inner = 2.0 * windows * (width + lower) ** 2 * width
    products = _along(reflectors, columns, q_rows, each) + inner
    return Work(products, reflectors, float(reflectors) * (width + lower), windows)


def _short_work(engine: Engine, along: tuple[int, int, int], lower: int, most: int) -> Work:
    """Work of the windows of a kernel call each."""
    reflectors = along[0]
    width = min(most, max(reflectors, 1))
    direct = not sweeps.forms_windows(engine, lower)
    # Two products with the vector and two numbers, not as fast as those of a matrix.
    one = _DIRECT_FLOATS if engine.kind.limbs == 1 else _DIRECT
    each = one * (2 * lower + 3) if direct else (width + lower) ** 2 / width
    weighted = reflectors * (1.0 + lower / _DIAGONALS)
    calls = float(-(-reflectors // width))
    return Work(_along(*along, each), reflectors=weighted, calls=calls)


def spike_work(engine: Engine, rows: int, columns: int, q_rows: int, p: int) -> Work:
    """Work of `sweeps.spike`."""
    if sweeps.reduces_columns(engine, p):
        along = (max(rows - 1, 1), columns, q_rows)
        one = _short_work(engine, along, 1, sweeps.window_columns(engine, 1))
        return Work(*(p * count for count in one._replace(reflectors=_BOTTOM_UP * one.reflectors)))
    count = max(rows - p, 1)
    step = min(engine.width("spike", p), count)
    whole, last = divmod(count, step)
    steps = whole * [step] + ([last] if last else [])
    area = float(sum((width + p) ** 2 for width in steps))
    # Each window is formed: two factorisations, and the product of their reflections.
    products = _along(count, columns, q_rows, area / count) + 3.0 * area * p
    entries = float(sum((width + p) * p + width * width for width in steps))
    return Work(products, sum(steps) + len(steps) * p, entries, 2 * len(steps))


def orthogonalization_work(size: Size) -> Work:
    """Work of orthogonalising against a thin Q: one pass, which usually is enough."""
    m, n, p = size.m, size.n, size.p
    return Work(float(m) * n * p + 4.0 * m * p * p, p, float(m) * p, 3)


def independence_work(size: Size) -> Work:
    """Work of finding how far columns are from those of a thin Q."""
    m, n, p = size.m, size.n, min(size.p, size.m - size.n)
    return Work(2.0 * m * n * p + 2.0 * m * p * p, p, float(m) * p, 3)


def tail_work(size: Size) -> Work:
    """Work of new directions below R, in the columns of a square Q."""
    tail = max(size.m - size.n, 0)
    count = min(size.p, tail)
    products = 2.0 * count * tail * (size.m + size.p / 2)
    return Work(products, count, float(count) * tail, 2 if count else 0)


def rows_work(engine: Engine, size: Size) -> Work:
    """Work of inserting rows."""
    if sweeps.window_columns(engine, size.p):
        return _rows_above_work(engine, size)
    width = min(engine.width("rows", size.p), max(size.rank, 1))
    each = width + 2 * size.p
    rest = max(size.n - size.m, 0)
    q_rows = size.m + size.p if size.q else 0
    products = _along(size.rank, size.n, q_rows, each) + 2.0 * rest * size.p * (rest + q_rows)
    products += float(size.rank) * width * (width + size.p)
    columns = size.rank + min(rest, size.p)
    return Work(products, columns, float(columns) * (width + size.p), size.rank / width)


def _rows_above_work(engine: Engine, size: Size) -> Work:
    """Work of inserting rows above R."""
    rest, q_rows = max(size.n - size.m, 0), size.m + size.p if size.q else 0
    work = subdiagonals_work(engine, size.rank, size.n, q_rows, size.p)
    wide = min(rest, size.p)
    products = 2.0 * rest * size.p * (rest + q_rows)
    return work.plus(Work(products, wide, float(wide) * size.p))


def factor_work(m: int, n: int, q: int | None, inner: int = 0) -> Work:
    """Work of a factorisation, with `q` columns of Q; with `inner` columns of a product before."""
    count = min(m, n)
    products = 2.0 * count * (m - count / 2) * (n - count / 2) + float(m) * inner * n
    if q:
        products += 2.0 * count * (m - count / 2) * (q - count / 2)
    return Work(products, count, count * (m - count / 2))


def comparison_work(engine: Engine, n: int) -> Work:
    """Work of comparing a new R with the old one: two inverses of triangles, in one limb."""
    limbs = engine.kind.limbs
    rates = update_rates(engine.backend, limbs, has_panels=engine.has_panels)
    return Work(2.0 * n**3 * limbs**rates.products_power)


def _split(size: Size) -> tuple[Size, Size]:
    """Return what is done with a thin Q, and what once Q is square."""
    thin = min(size.p, size.m - size.n) if size.q < size.m else 0
    return size._replace(p=thin), size._replace(p=size.p - thin)


def removal_work(engine: Engine, size: Size) -> Work:
    """Work of removing rows."""
    if not size.q:
        return _known_removal_work(engine, size)
    thin, full = _split(size)
    work = Work()
    if thin.p:
        rows = size.n + thin.p
        work = orthogonalization_work(thin).plus(spike_work(engine, rows, size.n, size.m, thin.p))
    if full.p:
        square = full._replace(m=size.m - thin.p)
        rows = min(square.rank + full.p, square.m)
        swept = spike_work(engine, rows, size.n, square.m, full.p)
        work = work.plus(tail_work(square), swept)
    return work


def _known_removal_work(engine: Engine, size: Size) -> Work:
    """Work of removing rows without Q."""
    n, p = size.n, size.p
    products = float(p) * n * n + 2.0 * n * p * p + float(p) ** 3 / 3
    # Multiple doubles are factored by Cholesky row by row.
    columns = _solving(engine, 2 * n) + (12.0 * p if engine.kind.limbs > 1 else 0.0)
    solved = Work(products, columns, windows=4)
    return solved.plus(spike_work(engine, n + p, n, 0, p))


def _solving(engine: Engine, rows: int) -> float:
    """Return the columns of panels that so many rows of triangles wait for; floats do not."""
    return rows / 5 if engine.kind.limbs > 1 else 0.0


def insertion_work(engine: Engine, size: Size) -> Work:
    """Work of inserting columns."""
    if not size.q:
        return _unknown_insertion_work(engine, size)
    thin, full = _split(size)
    work = Work()
    if thin.p:
        work = Work(float(size.m) * size.n * thin.p).plus(orthogonalization_work(thin))
        work = work.plus(_closing_work(engine, thin, size.n + thin.p))
    if full.p:
        wide = full._replace(n=size.n + thin.p, k=size.k + thin.p)
        work = work.plus(Work(float(size.m) ** 2 * full.p), tail_work(wide))
        work = work.plus(_closing_work(engine, wide, min(wide.rank + full.p, size.m)))
    return work


def _unknown_insertion_work(engine: Engine, size: Size) -> Work:
    """Work of inserting columns without Q."""
    m, n, p = size.m, size.n, size.p
    products = 2.0 * n * n * p + 2.0 * m * p * p
    columns = p + _solving(engine, 4 * n)
    sums = Work(products, columns, float(m) * p, 8, residuals=4.0 * m * n * p)
    return sums.plus(_closing_work(engine, size, n + p))


def _closing_work(engine: Engine, size: Size, stop: int) -> Work:
    """Work of the sweep that puts new columns before column k."""
    if size.k >= size.rank:
        return Work()
    q_rows = size.m if size.q else 0
    return spike_work(engine, stop - size.k, size.n - size.k, q_rows, size.p)


def deletion_work(engine: Engine, size: Size) -> Work:
    """Work of removing columns."""
    left = size.n - size.p
    reflectors = max(min(left, size.rank) - size.k, 0)
    return subdiagonals_work(engine, reflectors, left - size.k, size.m if size.q else 0, size.p)


def change_work(engine: Engine, size: Size) -> Work:
    """Work of a change of rank p."""
    if size.q < size.m and size.p > size.m - size.n:
        completed = factor_work(size.m, size.n, size.m)
        return completed.plus(change_work(engine, size._replace(q=size.m)))
    rows = min(size.rank + size.p, size.m)
    return Work(float(size.m) * size.q * size.p).plus(
        tail_work(size) if size.q == size.m else orthogonalization_work(size),
        spike_work(engine, rows, size.n, size.m, size.p),
        subdiagonals_work(engine, min(size.n, rows), size.n, size.m, size.p),
    )


def row_insertion(engine: Engine, size: Size, q: int | None) -> Works:
    """Return the works of inserting rows; `q` is the number of new columns of Q, None without Q."""
    again = factor_work(size.m + size.p, size.n, q, 0 if q is None else size.rank)
    return Works(rows_work(engine, size), again)


def row_deletion(engine: Engine, size: Size, q: int | None) -> Works:
    """Return the works of removing rows; without Q the refactorisation has the data."""
    again = factor_work(size.m - size.p, size.n, q, 0 if q is None else size.rank)
    if q is not None:
        again = again.plus(comparison_work(engine, size.n))
    return Works(removal_work(engine, size), again)


def column_insertion(engine: Engine, size: Size, q: int | None, *, has_data: bool) -> Works:
    """Return the works of inserting columns; a refactorisation may have the data."""
    again = factor_work(size.m, size.n + size.p, q, 0 if has_data else size.rank)
    if q is not None and size.q < size.m:
        again = again.plus(independence_work(size))
    return Works(insertion_work(engine, size), again)


def column_deletion(engine: Engine, size: Size, q: int | None) -> Works:
    """Return the works of removing columns."""
    again = factor_work(size.m, size.n - size.p, q, 0 if q is None else size.rank)
    return Works(deletion_work(engine, size), again)


def rank_update(engine: Engine, size: Size) -> Works:
    """Return the works of a change of rank p."""
    again = factor_work(size.m, size.n, size.q, size.rank + size.p)
    return Works(change_work(engine, size), again)
