"""Predictions of the cost model for measured updates: operations, times, and who wins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import mdqr
from benchmarks.update.paper import Cell
from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.host.backend import HostBackend
from mdqr._limbs.planes import Kind
from mdqr.linalg._update import cost
from mdqr.linalg._update.arithmetic.blocks import Planes
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.floats import Floats

# Removing these columns should be so much faster than a fresh factorisation.
REMOVAL_AIM = 3.0
# From here on an operation count says that an update breaks even.
EVEN = 1.0


class Panelled(Floats):
    """float32 on a GPU, where calls that check their results have fast panels."""

    has_panels = True


def engine_of(name: str, device: str) -> Engine:
    """Return an arithmetic that knows widths and rates, and computes nothing."""
    backend: Any = CudaBackend(SimpleNamespace(xp=np)) if device == "cuda" else HostBackend()
    if name == "float32" and device == "cuda":
        return Panelled(backend, np.dtype(name))
    if name.startswith("float"):
        return Floats(backend, np.dtype(name))
    return Planes(backend, Kind(getattr(mdqr, name).limbs, False))


def works(engine: Engine, cell: Cell, form: str) -> cost.Works:
    """Return the work of a cell; R has the right-hand side as its last column."""
    thin = form == "thin"
    size = cost.Size(cell.m, cell.n + (not thin), cell.n if thin else 0, cell.p, cell.k)
    if cell.kind in ("insert row", "delete col"):
        size = size._replace(m=size.n)
    return _works(engine, cell.kind, size, cell.shape[1] if thin else None, has_data=True)


def middle_works(engine: Engine, row: dict[str, Any]) -> cost.Works:
    """Return the work of a row of "fresh": an update in the middle of a matrix, both ways."""
    kind, mode = row["what"].split(", Q ")
    m, n = (int(length) for length in row["size"].split(" x "))
    p = row["p"]
    # Without Q nothing is known but R, and the matrix where columns come.
    high = n if mode == "none" and kind != "insert col" else m
    middle = {"insert row": m // 2, "insert col": n // 2, "delete row": (m - p) // 2, "rank p": 0}
    q = {"complete": m, "reduced": n, "none": 0}[mode]
    size = cost.Size(high, n, q, p, middle.get(kind, (n - p) // 2))
    step = {"insert": p, "delete": -p}.get(kind.split()[0], 0)
    rows, columns = (high, n + step) if kind.endswith("col") else (high + step, n)
    new = {"complete": rows, "reduced": min(rows, columns), "none": None}[mode]
    return _works(engine, kind, size, new, has_data=mode == "none")


def _works(
    engine: Engine, kind: str, size: cost.Size, q: int | None, *, has_data: bool
) -> cost.Works:
    if kind == "rank p":
        return cost.rank_update(engine, size)
    if kind == "insert col":
        return cost.column_insertion(engine, size, q, has_data=has_data)
    count = {
        "insert row": cost.row_insertion,
        "delete row": cost.row_deletion,
        "delete col": cost.column_deletion,
    }[kind]
    return count(engine, size, q)


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
    waited = cost.Work(columns=work.columns, reflectors=work.reflectors)
    columns = cost.seconds(engine, waited)
    count = expected(engine, cell, form)
    return (
        f"{count:.1f}x fewer operations; {columns / total:.0%} in {sum(waited):.0f} columns of "
        f"panels, {products / total:.0%} in products"
    )
