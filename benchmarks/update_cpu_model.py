"""What the cost model of mdqr says of the updates that are measured on a CPU."""

from __future__ import annotations

from typing import Any

from update_model import Works

from mdqr.linalg._update import cost as cost
from mdqr.linalg._update.arithmetic.engine import Engine


def works(engine: Engine, row: dict[str, Any]) -> Works:
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
