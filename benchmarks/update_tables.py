"""The tables of updates as Markdown, and results of several runs joined.

    python benchmarks/update_tables.py FILE ... [--output FOLDER]

Joins files that `update.py` wrote for one device, later rows in the place of earlier ones, and
writes update-cpu or update-cuda (.json, .md) to `FOLDER`, by default benchmarks/results.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import update_cpu
import update_solutions
from measure import RESULTS
from update_paper import Cell

Row = dict[str, Any]

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


def is_cell(row: Row) -> bool:
    """Return whether a row is a cell of the paper."""
    return "table" in row


def cells_table(rows: list[Row]) -> list[str]:
    """Return the lines of one table of the paper in one precision."""
    times = {k: v for k, v in (_FRESH | _TIMES).items() if any(k in row for row in rows)}
    gains = {k: v for k, v in _GAINS.items() if k != "over panels" or any(k in r for r in rows)}
    decided = {k: v for k, v in _DECIDED.items() if any(k in row for row in rows)}
    heads = ["m x n", "k", "p", *(f"{name}, ms" for name in times.values()), *gains.values()]
    heads += ["aim", *decided.values(), ""]
    lines = [f"| {' | '.join(heads)} |", f"|{'--:|' * (len(heads) - 1)}---|"]
    for row in rows:
        shown = [f"{row['m']} x {row['n']}", str(row["k"]), str(row["p"])]
        shown += [f"{row[k] * 1e3:.3g}" if k in row else "" for k in times]
        shown += [f"{row[k]:.2f}" if row.get(k) is not None else "" for k in gains]
        aim = row.get("aim")
        shown.append("" if aim is None else f"{aim:.2f}{'' if row['met'] else ', missed'}")
        shown += [f"{row[k]:.2f}" if k in row else "" for k in decided]
        shown.append(row.get("failed", row.get("reason", "left out" if "skipped" in row else "")))
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def summary(rows: list[Row]) -> list[str]:
    """Return a line for each precision: aims met, and the worst of what decides by itself."""
    lines = []
    for name in dict.fromkeys(row["precision"] for row in rows):
        own = [row for row in rows if row["precision"] == name]
        aims = [row["met"] for row in own if "met" in row]
        gains = [row["speedup"] for row in own if "speedup" in row]
        said = [f"{sum(aims)} of {len(aims)} aims met"]
        over = [r["over panels"] >= r["aim"] for r in own if "met" in r and "over panels" in r]
        if over:
            said.append(f"{sum(over)} of {len(over)} against the panels of updates")
        if gains:
            said.append(f"gains from {min(gains):.2f} to {max(gains):.2f}")
        for key, what in (("auto R", "for R beside the data"), ("auto thin", "with a thin Q")):
            decided = [row[key] for row in own if key in row]
            if decided:
                said.append(f"`auto` at least {min(decided):.2f} {what}")
        said.append(f"{sum('failed' in row for row in own)} failed")
        said.append(f"{sum('skipped' in row for row in own)} left out")
        lines.append(f"- {name}: {'; '.join(said)}.")
    return lines


def lines_of(rows: list[Row]) -> list[str]:
    """Return the Markdown of all rows, a heading for each table."""
    lines = []
    others = [row for row in rows if not is_cell(row)]
    for title, own, table in (
        ("Against SciPy, float64", [r for r in others if r.get("peer") == "scipy"], update_cpu),
        ("Against fresh ones", [r for r in others if r.get("peer") == "fresh QR"], update_cpu),
        ("Solutions", [r for r in others if "updated" in r], update_solutions),
    ):
        if own:
            lines += ["", f"## {title}", "", *table.table(own)]
    found = sorted((r for r in rows if is_cell(r)), key=_order)
    if found:
        lines += ["", *summary(found)]
    for name in dict.fromkeys(row["precision"] for row in found):
        lines += ["", f"## {name}"]
        own = [row for row in found if row["precision"] == name]
        for number in dict.fromkeys(row["table"] for row in own):
            part = [row for row in own if row["table"] == number]
            title = f"### Table {number} of the paper: {TITLES[part[0]['kind']]}, {name}"
            lines += ["", title, "", *cells_table(part)]
    return lines


def _order(row: Row) -> tuple[Any, ...]:
    """Return the place of a cell: by precision as it came, then as in the paper."""
    names = ("float32", "float64", "dd", "qd", "od")
    place = names.index(row["precision"]) if row["precision"] in names else len(names)
    return place, row["table"], row["n"], row["m"], row["k"], row["p"]


def keep(folder: Path, device: str, about: Row, rows: list[Row]) -> None:
    """Write what is known."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"environment": about, "results": rows}
    (folder / f"update-{device}.json").write_text(json.dumps(content, indent=1) + "\n")
    commands = about["command"].split("; ")
    head = ["# Updates", "", *(f"`{command}`" for command in commands)]
    head += ["", f"Medians. {about['date']}, commit {about['commit']}. {_machine(about)}."]
    (folder / f"update-{device}.md").write_text("\n".join([*head, *lines_of(rows)]) + "\n")


def _machine(about: Row) -> str:
    if "device" in about:
        names = ("driver", "CUDA", "CuPy", "Python", "mdqr")
        return ", ".join([about["device"], *(f"{name} {about[name]}" for name in names)])
    versions = (f"{name} {version}" for name, version in about["versions"].items())
    return ", ".join([about["cpu"], f"{about['cpus']} CPUs", about["mdqr"]["cpu"], *versions])


def joined(contents: list[dict[str, Any]]) -> tuple[Row, list[Row]]:
    """Return the environment and the rows of several runs; what was left out counts for nothing."""
    rows: dict[Any, Row] = {}
    for content in contents:
        for i, row in enumerate(content["results"]):
            if is_cell(row):
                key: Any = (row["precision"], *(row[name] for name in Cell._fields))
                if "skipped" in row and key in rows:
                    continue
            else:
                key = (i, row["what"], row["precision"], row["size"], row["p"])
            rows[key] = row
    about = dict(contents[-1]["environment"])
    for name in ("command", "commit"):
        about[name] = "; ".join(dict.fromkeys(c["environment"][name] for c in contents))
    return about, list(rows.values())


def main() -> None:
    """Join results from the command line."""
    parser = argparse.ArgumentParser(description="Tables of updates.")
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    devices = {path.stem.removeprefix("update-") for path in options.results}
    if len(devices) > 1:
        parser.error(f"results of one device are joined; got {', '.join(sorted(devices))}")
    about, rows = joined([json.loads(path.read_text()) for path in options.results])
    keep(options.output, devices.pop(), about, rows)


if __name__ == "__main__":
    main()
