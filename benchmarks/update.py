"""Updates of QR factorisations against fresh ones, and against SciPy's.

    python benchmarks/update.py [--device cpu|cuda] [--only GROUP ...] [--precision NAME ...]
                                [--every N] [--seconds S] [--output FOLDER] [--commit HASH]

Groups: "scipy" and "fresh" (CPU), "2" "3" "5" ... "11" (the tables of the paper, on a GPU). With
--every N, every N-th cell of a table is measured; with --seconds S, cells that come after so many
seconds are left out and counted. Rows come as they are measured; a full run of the CPU's or of the
GPU's groups writes update-cpu or update-cuda (.json, .md) to benchmarks/results.
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

import update_cpu
from measure import RESULTS, commit
from update_cells import Numbers, Problem
from update_paper import Cell, cells

CPU = ("scipy", "fresh")
TABLES = tuple(str(table) for table in dict.fromkeys(cell.table for cell in cells()))


def measured(
    names: list[str], device: str, tables: list[str], every: int, until: float
) -> Iterator[dict[str, Any]]:
    """Measure cells of the paper, those of one shape together."""
    wanted = [cell for t in tables for cell in [c for c in cells() if str(c.table) == t][::every]]
    for name in names:
        numbers = Numbers(name, device)
        for shape, group in itertools.groupby(
            sorted(wanted, key=lambda c: (c.m, c.n)), key=lambda c: (c.m, c.n)
        ):
            problem = None
            for cell in group:
                if time.monotonic() > until:
                    yield {"skipped": 1, "precision": name, **cell._asdict()}
                    continue
                problem = problem or Problem(numbers, *shape)
                yield one(problem, cell)
            del problem
            if device == "cuda":
                numbers.xp.get_default_memory_pool().free_all_blocks()


def one(problem: Problem, cell: Cell) -> dict[str, Any]:
    """Return the times of one cell and what they mean."""
    row: dict[str, Any] = {"precision": problem.numbers.name, **cell._asdict()}
    row["paper"] = cell.speedup
    try:
        row["fresh"] = problem.fresh(cell)
        for form, call in problem.updates(cell):
            row[f"update {form}"] = problem.numbers.seconds(call)
        best = min(value for key, value in row.items() if key.startswith("update "))
        row["speedup"] = row["fresh"] / best
    except Exception as error:
        row["failed"] = f"{type(error).__name__}: {error}"[:300]
    return row


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table of cells."""
    lines = [
        "| table | update | m x n | k | p | precision | fresh ms | R ms | thin Q ms | speed-up "
        "| paper |",
        "|--:|---|---|--:|--:|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        times = [row.get(key) for key in ("fresh", "update R", "update thin")]
        shown = " | ".join("" if t is None else f"{t * 1e3:.4g}" for t in times)
        speedup = f"{row['speedup']:.2f}" if "speedup" in row else row.get("failed", "left out")
        lines.append(
            f"| {row['table']} | {row['kind']} | {row['m']} x {row['n']} | {row['k']} | {row['p']} "
            f"| {row['precision']} | {shown} | {speedup} | {row.get('paper', 0):.2f} |"
        )
    return lines


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description="Benchmarks of QR updating.")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", nargs="+", choices=(*CPU, *TABLES), help="these groups alone")
    parser.add_argument("--precision", nargs="+", help="of the tables, as float32 dd qd")
    parser.add_argument("--every", type=int, default=1, help="measure every N-th cell")
    parser.add_argument("--seconds", type=float, default=1e9, help="time for all cells")
    parser.add_argument("--output", type=Path, help="folder for the results")
    parser.add_argument("--commit", help="what the tree is a copy of, where there is no git")
    options = parser.parse_args()
    groups = options.only or list(CPU if options.device == "cpu" else TABLES)
    full = options.only is None and options.every == 1
    output = options.output or (RESULTS if full else None)
    about = {
        "command": " ".join(["python", "benchmarks/update.py", *sys.argv[1:]]),
        "commit": options.commit or commit(),
    }
    if options.device == "cuda":
        from gpu_measure import environment

        about = environment(about["command"], options.commit)
    rows: list[dict[str, Any]] = []
    text: list[str] = []
    tables = [name for name in groups if name in TABLES]
    names = options.precision or ["float32", "dd", "qd"]
    until = time.monotonic() + options.seconds
    for name in groups:
        if name in CPU:
            found = update_cpu.GROUPS[name]()
            rows += found
            text += ["", f"## {name}", "", *update_cpu.table(found)]
            print("\n".join(text[-len(found) - 4 :]), flush=True)
    cells_found: list[dict[str, Any]] = []
    for row in measured(names, options.device, tables, options.every, until):
        cells_found.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if output is not None:
            keep(output, options.device, about, rows + cells_found, text + table(cells_found))
    text += table(cells_found) if cells_found else []
    print("\n".join(text))
    if output is not None:
        keep(output, options.device, about, rows + cells_found, text)


def keep(
    folder: Path, device: str, about: dict[str, Any], rows: list[dict[str, Any]], text: list[str]
) -> None:
    """Write what is known."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"environment": about, "results": rows}
    (folder / f"update-{device}.json").write_text(json.dumps(content, indent=1) + "\n")
    head = ["# Updates", "", f"`{about['command']}`, medians. Commit {about['commit']}."]
    (folder / f"update-{device}.md").write_text("\n".join([*head, "", *text]) + "\n")


if __name__ == "__main__":
    main()
