"""Updates of QR factorisations against fresh ones, and against SciPy's.

    python benchmarks/update.py [--device cpu|cuda] [--only GROUP ...] [--precision NAME ...]
                                [--rows M] [--every N] [--forms N] [--seconds S]
                                [--output FOLDER] [--commit HASH]

Groups: "scipy", "fresh" and "solutions" (CPU), "2" "3" "5" ... "11" (the tables of the paper, on a
GPU). With --rows M, only matrices of M rows are measured; with --every N, every N-th cell of a
table; with --forms N, updates of R alone only in every N-th of those that have a thin Q too; with
--seconds S, cells that come after so many seconds are left out and counted. Rows come as they are
measured; a full run of the CPU's or of the GPU's groups writes update-cpu or update-cuda (.json,
.md) to benchmarks/results.

Columns of the tables of the paper: a fresh R of the updated [A b], in float32 by cuSOLVER, by the
tensor cores with the accuracy of float32, and by the quick panels that updates have themselves; the
update of R alone and of the thin Q, all with the solution; the gain of the better update over the
better one of the first two, and over the panels; what the operation counts alone say; the paper's
gain; the aim and whether it is met; and the gain with ``method="auto"``, for R beside the data and
for the thin Q. `update_tables.py` joins the results of several runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import gpu_measure
import measure
import update_cpu
import update_model as model
import update_solutions
from measure import RESULTS
from update_cells import OWN, Call, Numbers, Problem
from update_paper import Cell, cells
from update_tables import keep, lines_of

from mdqr.linalg._update import updates as _updates

GROUPS = {**update_cpu.GROUPS, "solutions": update_solutions.rows}
CPU = tuple(GROUPS)
TABLES = tuple(str(table) for table in dict.fromkeys(cell.table for cell in cells()))


def measured(
    names: list[str], device: str, wanted: list[Cell], forms: int, until: float
) -> Iterator[dict[str, Any]]:
    """Measure cells of the paper, those of one shape together."""
    for name in names:
        numbers = Numbers(name, device)
        ordered = sorted(wanted, key=lambda c: (c.m, c.n))
        for shape, group in itertools.groupby(ordered, key=lambda c: (c.m, c.n)):
            problem = None
            for i, cell in enumerate(group):
                if time.monotonic() > until:
                    yield {"skipped": 1, "precision": name, **cell._asdict()}
                    continue
                problem = problem or Problem(numbers, *shape)
                yield one(problem, cell, alone=i % forms == 0)
            del problem
            if device == "cuda":
                numbers.xp.get_default_memory_pool().free_all_blocks()


def chosen(tables: list[str], options: argparse.Namespace) -> list[Cell]:
    """Return the cells to measure."""
    found = [[c for c in cells() if str(c.table) == table][:: options.every] for table in tables]
    return [c for table in found for c in table if options.rows in (None, c.m)]


def one(problem: Problem, cell: Cell, *, alone: bool) -> dict[str, Any]:
    """Return the times of one cell and what they mean; `alone` asks for R beside a thin Q."""
    numbers = problem.numbers
    row: dict[str, Any] = {"precision": numbers.name, **cell._asdict(), "paper": cell.speedup}
    try:
        row.update(problem.fresh(cell))
        ways = problem.fresh(cell)
        fresh = row["fresh"] = min(ways[key] for key in ways if key != OWN)
        updates = dict(problem.updates(cell, "update"))
        for form, call in updates.items():
            if form == "thin" or alone or "thin" not in updates:
                row[f"update {form}"] = numbers.seconds(call)
        for form, call in problem.updates(cell, "auto"):
            row[f"auto {form}"] = fresh / automatic(numbers, call, row.get(f"update {form}"))
        row.update(judged(numbers, cell, row))
    except Exception as error:
        row["failed"] = f"{type(error).__name__}: {error}"[:300]
    return row


def automatic(numbers: Numbers, call: Call, update: float | None) -> float:
    """Return the time of a call that decides by itself; `update`, if that is what it takes."""
    taken = []
    factored = _updates.factored

    def noted(*arguments: Any) -> Any:
        taken.append("fresh")
        return factored(*arguments)

    with mock.patch.object(_updates, "factored", noted):
        first = numbers.once(call)
    if not taken and update is not None:
        return update
    # The first call may compile kernels.
    return min(first, numbers.once(call))


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
    if OWN in row:
        found["over panels"] = row[OWN] / forms[best]
    return found


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description="Benchmarks of QR updating.")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", nargs="+", choices=(*CPU, *TABLES), help="these groups alone")
    parser.add_argument("--precision", nargs="+", help="of the tables, as float32 dd qd")
    parser.add_argument("--rows", type=int, help="matrices of so many rows alone")
    parser.add_argument("--every", type=int, default=1, help="measure every N-th cell")
    parser.add_argument("--forms", type=int, default=1, help="R beside a thin Q every N-th time")
    parser.add_argument("--seconds", type=float, default=1e9, help="time for all cells")
    parser.add_argument("--output", type=Path, help="folder for the results")
    parser.add_argument("--commit", help="what the tree is a copy of, where there is no git")
    options = parser.parse_args()
    groups = options.only or list(CPU if options.device == "cpu" else TABLES)
    full = options.only is None and options.every == 1 and options.rows is None
    output = options.output or (RESULTS if full else None)
    command = " ".join(["python", "benchmarks/update.py", *sys.argv[1:]])
    if options.device == "cuda":
        about = gpu_measure.environment(command, options.commit)
    else:
        about = measure.environment(command)
    rows: list[dict[str, Any]] = []

    def note(found: dict[str, Any]) -> None:
        rows.append(found)
        print(json.dumps(found), file=sys.stderr, flush=True)

    until = time.monotonic() + options.seconds
    for name in groups:
        if name in CPU:
            for row in GROUPS[name]():
                note(row)
    names = options.precision or ["float32", "dd", "qd"]
    tables = [name for name in groups if name in TABLES]
    for row in measured(names, options.device, chosen(tables, options), options.forms, until):
        note(row)
        if output is not None:
            keep(output, options.device, about, rows)
    print("\n".join(lines_of(rows)))
    if output is not None:
        keep(output, options.device, about, rows)


if __name__ == "__main__":
    main()
