"""What ``method="auto"`` would take in measured cells, and rates that fit them.

    python benchmarks/update_replay.py update-cuda.json [--fit]

For each precision the worst gain of the form that decides by itself, by the rates of
`mdqr.linalg._update_cost` against the measured times; with --fit, the rates that explain the times
best: seconds a multiply-add, a column, a window and a call, none of them negative.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import update_model as model
from scipy.optimize import nnls
from update_paper import Cell

from mdqr.linalg import _update_cost as cost
from mdqr.linalg._update_engine import Engine

FORMS = ("R", "thin")


def cell_of(row: dict[str, Any]) -> Cell:
    """Return the cell that was measured."""
    return Cell(**{name: row[name] for name in Cell._fields})


def replayed(engine: Engine, row: dict[str, Any]) -> Iterator[tuple[str, str, float, float]]:
    """Yield for each form what is taken, its gain, and the model's time over the measured one."""
    cell = cell_of(row)
    fresh = model.fresh_work(cell)
    for form in FORMS:
        measured = row.get(f"update {form}")
        if measured is None:
            continue
        found = model.works(engine, cell, form)
        taken = model.chosen(engine, cell, form)
        # A fresh factorisation of another kind was not measured: its part by the model.
        again = row["fresh"] * cost.seconds(engine, found.anew) / cost.seconds(engine, fresh)
        gain = row["fresh"] / (measured if taken == "update" else again)
        yield form, taken, gain, cost.seconds(engine, found.update) / measured


def fitted(engine: Engine, rows: list[dict[str, Any]]) -> list[float]:
    """Return seconds a multiply-add, a column, a window and a call."""
    lines, times = [], []
    for row in rows:
        cell = cell_of(row)
        known = [(model.fresh_work(cell), row.get("fresh QR", row["fresh"]))]
        for form in FORMS:
            if f"update {form}" in row:
                work = model.works(engine, cell, form).update
                known.append((work, row[f"update {form}"]))
        for work, seconds in known:
            products = model.operations(engine, work)
            lines.append([products, work.columns, work.windows, 1.0])
            times.append(seconds)
    matrix = np.array(lines) / np.array(times)[:, None]
    size = np.linalg.norm(matrix, axis=0)
    return list(nnls(matrix / size, np.ones(len(times)))[0] / size)


def report(name: str, device: str, rows: list[dict[str, Any]], *, fit: bool) -> None:
    """Print what is found for one precision."""
    engine, gains = model.engine_of(name, device), []
    for row in rows:
        for form, taken, gain, ratio in replayed(engine, row):
            gains.append((gain, f"{form} by {taken}, model / measured {ratio:.2f}", cell_of(row)))
    gains.sort(key=lambda found: found[0])
    print(f"{name}: {len(gains)} decisions, {sum(g < 0.9 for g, _, _ in gains)} below 0.9")
    for gain, what, cell in gains[:5]:
        print(f"  {gain:.2f} {what}: {cell.kind} {cell.m} x {cell.n}, k = {cell.k}, p = {cell.p}")
    if fit:
        product, column, window, call = fitted(engine, rows)
        rate = 1.0 / product if product else float("inf")
        print(f"  {rate:.3g} products/s, {column:.3g} a column, {window:.3g} a window, {call:.3g}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Decisions of updates over measured cells.")
    parser.add_argument("results", type=Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--fit", action="store_true", help="fit rates to the times")
    options = parser.parse_args()
    rows = [row for row in json.loads(options.results.read_text())["results"] if "speedup" in row]
    for name in dict.fromkeys(row["precision"] for row in rows):
        own = [row for row in rows if row["precision"] == name]
        report(name, options.device, own, fit=options.fit)


if __name__ == "__main__":
    main()
