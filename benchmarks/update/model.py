"""What the cost model of mdqr says of measured updates: operations, times, and who wins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import mdqr
from benchmarks.update.paper import Cell
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.host.backend import HostBackend
from mdqr._limbs.planes import Kind
from mdqr.linalg._update import cost
from mdqr.linalg._update.arithmetic.engine import Engine, Planes
from mdqr.linalg._update.arithmetic.floats import Floats

# Removing these columns should be so much faster than a fresh factorisation.
REMOVAL_AIM = 3.0
# From here on an operation count says that an update breaks even.
EVEN = 1.0


class Panelled(Floats):
    """float32 on a GPU, where calls that check their results have quick panels."""

    has_panels = True


def engine_of(name: str, device: str) -> Engine:
    """Return an arithmetic that knows widths and rates, and computes nothing."""
    kind: Any = HostBackend if device == "cpu" else CudaBackend
    backend = kind(SimpleNamespace(xp=np))
    if name == "float32" and device == "cuda":
        return Panelled(backend, np.dtype(name))
    if name.startswith("float"):
        return Floats(backend, np.dtype(name))
    return Planes(backend, Kind(getattr(mdqr, name).limbs, False))


class Works(NamedTuple):
    """The work of a cell in one form: by an update, and afresh by ``method="auto"``."""

    update: cost.Work
    anew: cost.Work


def works(engine: Engine, cell: Cell, form: str) -> Works:
    """Return the work of a cell; R has the right-hand side as its last column."""
    m, n, p, k = cell.m, cell.n, cell.p, cell.k
    thin = form == "thin"
    columns = n if thin else n + 1
    size = cost.Size(m, columns, n if thin else 0, p, k)
    rows, wide = cell.shape
    wide += 0 if thin else 1
    q = wide if thin else None
    if cell.kind == "insert row":
        square = size._replace(m=columns)
        anew = cost.factor_work(columns + p, columns, None)
        return Works(cost.rows_work(engine, square), anew)
    if cell.kind == "delete col":
        square = size._replace(m=columns)
        anew = cost.factor_work(columns, wide, None)
        return Works(cost.deletion_work(engine, square), anew)
    if cell.kind == "insert col":
        anew = cost.factor_work(rows, wide, q)
        if thin:
            anew = anew.plus(cost.independence_work(size))
        return Works(cost.insertion_work(engine, size), anew)
    anew = cost.factor_work(rows, wide, q, n if thin else 0)
    if thin:
        anew = anew.plus(cost.shares_work(engine, n))
    return Works(cost.removal_work(engine, size), anew)


def middle_works(engine: Engine, row: dict[str, Any]) -> Works:
    """Return the work of a row of "fresh": an update in the middle of a matrix, both ways."""
    kind, mode = row["what"].split(", Q ")
    m, n = (int(length) for length in row["size"].split(" x "))
    p = row["p"]
    # Without Q nothing is known but R, and the matrix where columns come.
    high = n if mode == "none" and kind != "insert col" else m
    q = {"complete": m, "reduced": n, "none": 0}[mode]
    inner = n if q else 0
    middle = {"insert row": m // 2, "insert col": n // 2, "delete row": (m - p) // 2}
    size = cost.Size(high, n, q, p, middle.get(kind, (n - p) // 2))

    def fresh(rows: int, columns: int) -> cost.Work:
        new = {"complete": rows, "reduced": min(rows, columns), "none": None}[mode]
        return cost.factor_work(rows, columns, new, inner)

    compared = cost.shares_work(engine, n)
    if kind == "insert row":
        return Works(cost.rows_work(engine, size), fresh(high + p, n))
    if kind == "delete row":
        return Works(cost.removal_work(engine, size), fresh(high - p, n).plus(compared))
    if kind == "delete col":
        return Works(cost.deletion_work(engine, size), fresh(high, n - p))
    if kind == "rank p":
        added = cost.Work(float(m) * n * p)
        return Works(cost.change_work(engine, size), fresh(high, n).plus(added))
    again = fresh(high, n + p)
    if mode == "reduced":
        again = again.plus(cost.independence_work(size))
    return Works(cost.insertion_work(engine, size), again)


def fresh_work(cell: Cell) -> cost.Work:
    """Return the work of R of the updated [A b]."""
    rows, columns = cell.shape
    return cost.factor_work(rows, columns + 1, None)


def operations(engine: Engine, work: cost.Work) -> float:
    """Return multiply-adds; one in twice the precision counts as four."""
    return work.products + (4.0 if engine.kind.limbs > 1 else 1.0) * work.residuals


def expected(engine: Engine, cell: Cell, form: str) -> float:
    """Return the multiply-adds of a fresh R over those of the update."""
    return operations(engine, fresh_work(cell)) / operations(
        engine, works(engine, cell, form).update
    )


def aim(name: str, cell: Cell, counted: float) -> float | None:
    """Return the speed-up that a cell should have, if any."""
    if (cell.kind, cell.m, cell.n, cell.k, cell.p) == ("delete col", 6000, 3000, 0, 500):
        return max(cell.speedup, REMOVAL_AIM) if name in ("dd", "qd") else cell.speedup
    if cell.speedup >= 1.0:
        return cell.speedup
    return EVEN if counted >= EVEN else None


def reason(engine: Engine, cell: Cell, form: str) -> str:
    """Return what keeps an update from being faster, by the model."""
    work = works(engine, cell, form).update
    total = cost.seconds(engine, work)
    products = cost.seconds(engine, cost.Work(work.products, residuals=work.residuals))
    waits = cost.Work(columns=work.columns, reflectors=work.reflectors)
    columns = cost.seconds(engine, waits)
    count = expected(engine, cell, form)
    return (
        f"{count:.1f}x fewer operations; {columns / total:.0%} in {sum(waits):.0f} columns of "
        f"panels, {products / total:.0%} in products"
    )
