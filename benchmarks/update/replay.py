"""What ``method="auto"`` would take in measured cells, and rates that fit them.

    python -m benchmarks.update.replay FILE-cuda.json [--fit]

For each precision the worst gain of the form that decides by itself, by the rates of
`mdqr.linalg._update.cost` against the measured times, and the worst one over the fresh way that it
could have taken from what it is given; with --fit, the rates that explain the times
best: seconds a multiply-add, a column of a panel and an entry of it, a window and a call, none of
them negative. A gain is over a fresh factorisation of the updated [A b] in the cells of the paper,
and over the faster way on a CPU.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common.rows import read
from benchmarks.update import model
from benchmarks.update.paper import Cell, row_of
from mdqr.linalg._update import cost
from mdqr.linalg._update.engine import Engine

FORMS = ("R", "thin")
Row = dict[str, Any]


def measured(path: Path) -> list[Row]:
    """Return what was found in the rows of a file that have both ways."""
    rows = (row.details for row in read(path, row_of).rows)
    return [row for row in rows if "ways" in row or ("table" in row and "speedup" in row)]


def cell_of(row: Row) -> Cell:
    """Return the cell that was measured."""
    return Cell(**{name: row[name] for name in Cell._fields})


def own_fresh(row: Row) -> float:
    """Return the time of the fresh factorisation that updates would take."""
    return row.get("fresh panels", row.get("fresh QR", row["fresh"]))


class Decision(NamedTuple):
    """One choice between an update and a fresh factorisation from what its form is given."""

    name: str
    row: Row
    update: float  # seconds, as those that follow
    fresh: float  # infinite where there is no such way
    peer: float  # of what gains are over
    by_model: bool  # whether the model takes the update
    ratio: float  # the model's time of the update over the measured one

    def loss(self, by_update: bool) -> float:
        """Return the time of one way over that of the faster one."""
        return (self.update if by_update else self.fresh) / min(self.update, self.fresh)

    @property
    def took(self) -> float:
        """The time of what the model takes."""
        return self.update if self.by_model else self.fresh


def replayed(engine: Engine, row: Row) -> Iterator[Decision]:
    """Yield what the model decides for each form of a measured row."""
    if "ways" in row:
        ways, found = row["ways"], model.middle_works(engine, row)
        fresh, times = ways.get("fresh", math.inf), [cost.seconds(engine, work) for work in found]
        by_model, ratio = fresh == math.inf or times[0] <= times[1], times[0] / ways["update"]
        yield Decision(row["what"], row, ways["update"], fresh, min(ways.values()), by_model, ratio)
        return
    cell = cell_of(row)
    for form in FORMS:
        measured = row.get(f"update {form}")
        if measured is None:
            continue
        found = model.works(engine, cell, form)
        update, anew, plain = (
            cost.seconds(engine, work) for work in (*found, model.fresh_work(cell))
        )
        # A fresh factorisation of another kind was not measured: its part by the model.
        fresh = own_fresh(row) * anew / plain
        ratio = update / measured
        yield Decision(form, row, measured, fresh, row["fresh"], update <= anew, ratio)


def timed(engine: Engine, row: Row) -> Iterator[tuple[cost.Work, float]]:
    """Yield works and the times that they took."""
    if "ways" in row:
        found = model.middle_works(engine, row)
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
    from scipy.optimize import nnls

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
    for made in (made for row in rows for made in replayed(engine, row)):
        way = "update" if made.by_model else "fresh"
        what = f"{made.name} by {way}, model / measured {made.ratio:.2f}"
        gains.append((made.peer / made.took, what, named(made.row)))
        # Without another way there was none to lose against.
        owns.append(made.fresh / made.took if made.fresh < math.inf else 1.0)
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
    rows = measured(options.results)
    device = options.results.stem.rpartition("-")[2]
    if device not in ("cpu", "cuda"):
        parser.error(f"the name must end in -cpu.json or -cuda.json; got {options.results.name}")
    for name in dict.fromkeys(row["precision"] for row in rows):
        own = [row for row in rows if row["precision"] == name]
        report(name, device, own, fit=options.fit)


if __name__ == "__main__":
    main()
