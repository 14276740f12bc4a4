"""The page of updates: against SciPy's, against fresh ones, and the cells of the paper.

Columns of the tables of the paper: a fresh R of the updated [A b], in float32 by cuSOLVER, by the
tensor cores with the accuracy of float32, and by the fast panels that updates have themselves; the
update of R alone and of the thin Q, all with the solution; the gain of the better update over the
better one of the first two, and over the panels; what the operation counts alone say; the paper's
gain; the aim and whether it is met; and the gain with ``method="auto"``, for R beside the data and
for the thin Q.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark
from benchmarks.common.tables import grid, number, section
from benchmarks.update import cpu, solutions
from benchmarks.update.measure import arguments, paper
from benchmarks.update.paper import row_of

Found = dict[str, Any]

TITLES = {
    "insert col": "columns that come",
    "delete col": "columns that go",
    "insert row": "rows that come",
    "delete row": "rows that go",
}
_FRESH = {
    "fresh QR": "fresh",
    "fresh tensor cores": "tensor cores",
    "fresh panels": "panels",
}
_TIMES = {"update R": "R", "update thin": "thin Q"}
_GAINS = {"speedup": "gain", "over panels": "over panels", "counted": "counted", "paper": "paper"}
_DECIDED = {"auto R": "auto R", "auto thin": "auto thin"}


def cells_table(rows: list[Found]) -> list[str]:
    """Return the lines of one table of the paper in one precision."""
    times = _FRESH | _TIMES
    cells = []
    for row in rows:
        shown = [f"{row['m']} x {row['n']}", str(row["k"]), str(row["p"])]
        shown += [number(row[key] * 1e3) if key in row else "" for key in times]
        shown += [_gain(row, key) for key in _GAINS]
        missed = "" if row.get("met", True) else ", missed"
        shown.append(_gain(row, "aim") + missed)
        shown += [_gain(row, key) for key in _DECIDED]
        shown.append(row.get("failed", row.get("reason", "left out" if "skipped" in row else "")))
        cells.append(shown)
    heads = [*(f"{name}, ms" for name in times.values()), *_GAINS.values(), "aim"]
    return grid(["m x n", "k", "p", *heads, *_DECIDED.values(), ""], cells)


def _gain(row: Found, key: str) -> str:
    return "" if row.get(key) is None else f"{row[key]:.2f}"


def summary(rows: list[Found]) -> list[str]:
    """Return a line for each precision: aims met, and the worst of what decides by itself."""
    lines = []
    for name in dict.fromkeys(row["precision"] for row in rows):
        some = [row for row in rows if row["precision"] == name]
        aims = [row["met"] for row in some if "met" in row]
        gains = [row["speedup"] for row in some if "speedup" in row]
        said = [f"{sum(aims)} of {len(aims)} aims met"]
        over = [r["over panels"] >= r["aim"] for r in some if "met" in r and "over panels" in r]
        if over:
            said.append(f"{sum(over)} of {len(over)} against the panels of updates")
        if gains:
            said.append(f"gains from {min(gains):.2f} to {max(gains):.2f}")
        for key, what in (("auto R", "for R beside the data"), ("auto thin", "with a thin Q")):
            decided = [row[key] for row in some if key in row]
            if decided:
                said.append(f"`auto` at least {min(decided):.2f} {what}")
        said.append(f"{sum('failed' in row for row in some)} failed")
        said.append(f"{sum('skipped' in row for row in some)} left out")
        lines.append(f"- {name}: {'; '.join(said)}.")
    return lines


def lines(rows: list[Row]) -> list[str]:
    """Return the Markdown of all rows, a heading for each table."""
    shown = []
    for title, group, table in (
        ("Against SciPy, float64", "scipy", cpu.table),
        ("Against fresh ones", "fresh", cpu.table),
        ("Solutions", "solutions", solutions.table),
    ):
        shown += section(title, table([row for row in rows if row.group == group]))
    found = sorted((row.details for row in rows if "table" in row.details), key=_order)
    if found:
        shown += ["", *summary(found)]
    for name in dict.fromkeys(row["precision"] for row in found):
        shown += ["", f"## {name}"]
        some = [row for row in found if row["precision"] == name]
        for table_number in dict.fromkeys(row["table"] for row in some):
            part = [row for row in some if row["table"] == table_number]
            title = f"Table {table_number} of the paper: {TITLES[part[0]['kind']]}, {name}"
            shown += ["", f"### {title}", "", *cells_table(part)]
    return shown


def _order(row: Found) -> tuple[Any, ...]:
    """Return the place of a cell: by precision as it came, then as in the paper."""
    names = ("float32", "float64", "dd", "qd", "od")
    place = names.index(row["precision"]) if row["precision"] in names else len(names)
    return place, row["table"], row["n"], row["m"], row["k"], row["p"]


def _benchmark(device: str) -> Benchmark:
    parts = {
        "scipy": cpu.against_scipy,
        "fresh": cpu.against_fresh,
        "solutions": solutions.solutions,
        "paper": partial(paper, device),
    }
    further = ("paper",) if device == "cpu" else ("scipy", "fresh", "solutions")
    return Benchmark(
        f"update-{device}", "Updates", parts, device == "cuda", further, lines, row_of, arguments
    )


BENCHMARKS = {f"update-{device}": _benchmark(device) for device in ("cpu", "cuda")}
