"""Choices of ``method="auto"`` in measured cells, and rates that fit their times."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common.rows import read
from benchmarks.update import model
from benchmarks.update.paper import Cell, row_of
from mdqr.linalg._shared.tuning import update_rates
from mdqr.linalg._update import cost
from mdqr.linalg._update.arithmetic.engine import Engine

FORMS = ("R", "thin")
Row = dict[str, Any]


def measured(path: Path) -> list[Row]:
    """Return what was found in the rows of a file that have both ways."""
    found = (row.details for row in read(path, row_of).rows)
    return [row for row in found if "ways" in row or ("table" in row and "speedup" in row)]


def cell_of(row: Row) -> Cell:
    """Return the cell that was measured."""
    return Cell(**{name: row[name] for name in Cell._fields})


def fresh_time(row: Row) -> float:
    """Return the time of the fresh factorisation that updates would take."""
    return row.get("fresh panels", row.get("fresh QR", row["fresh"]))


class Decision(NamedTuple):
    """One choice between an update and a fresh factorisation from what its form is given."""

    name: str
    row: Row
    update: float  # seconds, as those that follow
    fresh: float  # infinite where there is no such way
    peer: float  # a fresh R of the updated [A b], and the faster way on a CPU
    by_model: bool  # whether the model takes the update
    ratio: float  # the model's time of the update over the measured one

    def loss(self, by_update: bool) -> float:
        """Return the time of one way over that of the faster one."""
        return (self.update if by_update else self.fresh) / min(self.update, self.fresh)

    @property
    def gain(self) -> float:
        """The time of the peer over that of what the model takes."""
        return self.peer / (self.update if self.by_model else self.fresh)

    def __str__(self) -> str:
        way, size = "update" if self.by_model else "fresh", row_of(self.row).size
        what = f"{self.row.get('kind', '')} {self.name}".strip()
        return f"{self.gain:.2f} {what} by {way}, model / measured {self.ratio:.2f}: {size}"


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
        update, again, plain = (
            cost.seconds(engine, work) for work in (*found, model.fresh_work(cell))
        )
        # A fresh factorisation of another kind was not measured: its part by the model.
        fresh = fresh_time(row) * again / plain
        ratio = update / measured
        yield Decision(form, row, measured, fresh, row["fresh"], update <= again, ratio)


def timed(engine: Engine, row: Row) -> Iterator[tuple[cost.Work, float]]:
    """Yield works and the times that they took."""
    if "ways" in row:
        found = model.middle_works(engine, row)
        for way, work in zip(("update", "fresh"), found, strict=True):
            if way in row["ways"]:
                yield work, row["ways"][way]
        return
    cell = cell_of(row)
    yield model.fresh_work(cell), fresh_time(row)
    for form in FORMS:
        if f"update {form}" in row:
            yield model.works(engine, cell, form).update, row[f"update {form}"]


def latencies(engine: Engine, work: cost.Work) -> tuple[float, float, float]:
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
            rates = update_rates(engine.backend, engine.kind.limbs, has_panels=engine.has_panels)
            products = work.products + rates.residual * work.residuals
            lines.append([products, *latencies(engine, work), 1.0])
            times.append(seconds)
    matrix = np.array(lines) / np.array(times)[:, None]
    size = np.linalg.norm(matrix, axis=0)
    return list(nnls(matrix / size, np.ones(len(times)))[0] / size)
