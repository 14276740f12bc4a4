"""Cells of the paper measured: an update with its solution beside fresh factorisations.

With --rows M, only matrices of M rows are measured; with --every N, every N-th cell of a table;
with --forms N, updates of R alone only in every N-th of those that have a thin Q too; with
--seconds S, cells that come after so many seconds are left out and counted.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.common.rows import Row
from benchmarks.common.runner import Options
from benchmarks.common.timing import free
from benchmarks.update import model
from benchmarks.update.cells import PANELS, Form, Numbers, Problem, taken
from benchmarks.update.paper import Cell, cells, row_of

TABLES = list(dict.fromkeys(cell.table for cell in cells()))


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the cells."""
    names = ["float32", "dd", "qd"]
    parser.add_argument("--tables", nargs="+", type=int, choices=TABLES, default=TABLES)
    parser.add_argument("--precision", nargs="+", default=names, help="default: float32 dd qd")
    parser.add_argument("--rows", type=int, help="matrices of so many rows alone")
    parser.add_argument("--every", type=int, default=1, help="measure every N-th cell")
    parser.add_argument("--forms", type=int, default=1, help="R beside a thin Q every N-th time")
    parser.add_argument("--seconds", type=float, default=1e9, help="time for all cells")


def paper(device: str, options: Options) -> Iterator[Row]:
    """Cells of the paper, those of one shape together."""
    until = time.monotonic() + options.seconds
    every = 16 * options.every if options.quick else options.every
    found = [[c for c in cells() if c.table == table][::every] for table in options.tables]
    wanted = [c for table in found for c in table if options.rows in (None, c.m)]
    for name in options.precision:
        numbers = Numbers(name, device)
        ordered = sorted(wanted, key=lambda c: (c.m, c.n))
        for shape, group in itertools.groupby(ordered, key=lambda c: (c.m, c.n)):
            problem = None
            for i, cell in enumerate(group):
                if time.monotonic() > until:
                    yield row_of({"skipped": 1, "precision": name, **cell._asdict()})
                    continue
                problem = problem or Problem(numbers, *shape)
                yield row_of(one(problem, cell, alone=i % options.forms == 0))
            del problem
            if device == "cuda":
                free()


def one(problem: Problem, cell: Cell, *, alone: bool) -> dict[str, Any]:
    """Return the times of one cell and what they mean; `alone` asks for R beside a thin Q."""
    numbers = problem.numbers
    row: dict[str, Any] = {"precision": numbers.name, **cell._asdict(), "paper": cell.speedup}
    try:
        ways = problem.fresh(cell)
        row.update(ways)
        fresh = row["fresh"] = min(ways[key] for key in ways if key != PANELS)
        updates = dict(problem.updates(cell, "update"))
        for form, call in updates.items():
            if form == "thin" or alone or "thin" not in updates:
                row[f"update {form}"] = numbers.timer.seconds(call)
        for form, call in problem.updates(cell, "auto"):
            row[f"auto {form}"] = fresh / automatic(numbers, call, row.get(f"update {form}"))
        row.update(judged(numbers, cell, row))
    except Exception as error:
        row["failed"] = f"{type(error).__name__}: {error}"[:300]
    return row


def automatic(numbers: Numbers, call: Form, update: float | None) -> float:
    """Return the time of a call that decides by itself; `update`, if that is what it takes."""
    if taken(call.change) == "update" and update is not None:
        return update
    return numbers.timer.once(call)


def judged(numbers: Numbers, cell: Cell, row: dict[str, Any]) -> dict[str, Any]:
    """Return the gain of the best form, what was to be expected, and what is missing."""
    engine = model.engine_of(numbers.name, numbers.device)
    forms = {key.split()[1]: row[key] for key in row if key.startswith("update ")}
    best = min(forms, key=lambda form: forms[form])
    speedup = row["fresh"] / forms[best]
    counted = max(model.expected(engine, cell, form) for form in forms)
    aim = model.aim(numbers.name, cell, counted)
    found = {"form": best, "speedup": speedup, "counted": counted, "aim": aim}
    if aim is not None:
        found["met"] = speedup >= aim
        found["reason"] = "" if found["met"] else model.reason(engine, cell, best)
    if PANELS in row:
        found["over panels"] = row[PANELS] / forms[best]
    return found
