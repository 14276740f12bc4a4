"""What ``method="auto"`` would take in measured cells, and rates that fit them.

    python benchmarks/update_replay.py update-cuda.json [--fit]
    python benchmarks/update_replay.py update-cpu.json [--fit]

For each precision the worst gain of the form that decides by itself, by the rates of
`mdqr.linalg._update.cost` against the measured times, and the worst one over the fresh way that it
could have taken from what it is given; with --fit, the rates that explain the times
best: seconds a multiply-add, a column of a panel and an entry of it, a window and a call, none of
them negative. A gain is over a fresh factorisation of the updated [A b] in the cells of the paper,
and over the faster way on a CPU.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import update_cpu_model as cpu
import update_model as model
from scipy.optimize import nnls
from update_paper import Cell

from mdqr.linalg._update import cost as cost
from mdqr.linalg._update.arithmetic.engine import Engine

FORMS = ("R", "thin")
Row = dict[str, Any]


def cell_of(row: Row) -> Cell:
    """Return the cell that was measured."""
    return Cell(**{name: row[name] for name in Cell._fields})


def own_fresh(row: Row) -> float:
    """Return the time of the fresh factorisation that updates would take."""
    return row.get("fresh panels", row.get("fresh QR", row["fresh"]))


def replayed(engine: Engine, row: Row) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield for each form what is taken, two gains, and the model's time over the measured one.

    The second gain is over the fresh way from what the form is given.
    """
    if "ways" in row:
        found, ways = cpu.works(engine, row), row["ways"]
        times = [cost.seconds(engine, work) for work in found]
        taken = "update" if "fresh" not in ways or times[0] <= times[1] else "fresh"
        gain, own = min(ways.values()) / ways[taken], ways.get("fresh", ways[taken]) / ways[taken]
        yield row["what"], taken, gain, own, times[0] / ways["update"]
        return
    cell = cell_of(row)
    fresh = model.fresh_work(cell)
    for form in FORMS:
        measured = row.get(f"update {form}")
        if measured is None:
            continue
        found = model.works(engine, cell, form)
        taken = model.chosen(engine, cell, form)
        # A fresh factorisation of another kind was not measured: its part by the model.
        again = own_fresh(row) * cost.seconds(engine, found.anew) / cost.seconds(engine, fresh)
        took = measured if taken == "update" else again
        ratio = cost.seconds(engine, found.update) / measured
        yield form, taken, row["fresh"] / took, again / took, ratio


def timed(engine: Engine, row: Row) -> Iterator[tuple[cost.Work, float]]:
    """Yield works and the times that they took."""
    if "ways" in row:
        found = cpu.works(engine, row)
        for way, work in zip(("update", "fresh"), found, strict=True):
            if way in row["ways"]:
                yield work, row["ways"][way]
        return
    cell = cell_of(row)
    yield model.fresh_work(cell), own_fresh(row)
    for form in FORMS:
        if f"update {form}" in row:
            yield model.works(engine, cell, form).update, row[f"update {form}"]


def waits(engine: Engine, work: cost.Work) -> tuple[float, float, float]:
    """Return columns and entries of panels, and windows; those of short ones by the table."""
    column, window = (
        cost.seconds(engine, one) for one in (cost.Work(columns=1), cost.Work(windows=1))
    )
    short = cost.seconds(engine, cost.Work(reflectors=work.reflectors)) / column
    calls = cost.seconds(engine, cost.Work(calls=work.calls)) / window
    return work.columns + short, work.entries, work.windows + calls


def fitted(engine: Engine, rows: list[Row]) -> list[float]:
    """Return seconds a multiply-add, a column, an entry of a panel, a window and a call."""
    lines, times = [], []
    for row in rows:
        for work, seconds in timed(engine, row):
            products = work.products + cost.rates_of(engine).residual * work.residuals
            lines.append([products, *waits(engine, work), 1.0])
            times.append(seconds)
    matrix = np.array(lines) / np.array(times)[:, None]
    size = np.linalg.norm(matrix, axis=0)
    return list(nnls(matrix / size, np.ones(len(times)))[0] / size)


def named(row: Row) -> str:
    """Return what a row is about."""
    if "ways" in row:
        return f"{row['size']}, p = {row['p']}"
    return f"{row['kind']} {row['m']} x {row['n']}, k = {row['k']}, p = {row['p']}"


def report(name: str, device: str, rows: list[Row], *, fit: bool) -> None:
    """Print what is found for one precision."""
    engine, gains, owns = model.engine_of(name, device), [], []
    for row in rows:
        for form, taken, gain, own, ratio in replayed(engine, row):
            gains.append((gain, f"{form} by {taken}, model / measured {ratio:.2f}", named(row)))
            owns.append(own)
    gains.sort()
    few, own_few = (sum(x < 0.9 for x in xs) for xs in ([g for g, _, _ in gains], owns))
    print(f"{name}: {len(gains)} decisions, {few} below 0.9;", end=" ")
    print(f"over the fresh way of each {own_few}, the worst {min(owns, default=1.0):.2f}")
    for gain, what, where in gains[:5]:
        print(f"  {gain:.2f} {what}: {where}")
    if fit:
        product, *others = fitted(engine, rows)
        rate = 1.0 / product if product else float("inf")
        column, entry, window, call = (f"{seconds:.3g}" for seconds in others)
        print(f"  {rate:.3g} products/s; seconds a column {column}, an entry {entry},", end=" ")
        print(f"a window {window}, a call {call}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Decisions of updates over measured cells.")
    parser.add_argument("results", type=Path)
    parser.add_argument("--fit", action="store_true", help="fit rates to the times")
    options = parser.parse_args()
    rows = json.loads(options.results.read_text())["results"]
    rows = [row for row in rows if "ways" in row or ("table" in row and "speedup" in row)]
    device = options.results.stem.rpartition("-")[2]
    if device not in ("cpu", "cuda"):
        parser.error(f"the name must end in -cpu.json or -cuda.json; got {options.results.name}")
    for name in dict.fromkeys(row["precision"] for row in rows):
        own = [row for row in rows if row["precision"] == name]
        report(name, device, own, fit=options.fit)


if __name__ == "__main__":
    main()
