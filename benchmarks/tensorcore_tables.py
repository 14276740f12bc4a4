"""The tables of tensorcore.md, made of the rows of tensorcore.json: the figures of the paper.

    python benchmarks/tensorcore_tables.py [FILE.json]

writes the page beside the JSON anew. Rows that no section shows come at the end by group, a
column a size, so that none is lost.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import tensorcore_figures as figures
from measure import RESULTS, Row
from tensorcore_grid import Found, grid, number

Section = tuple[str, str, Callable[[Found], list[str]]]
SECTIONS: tuple[Section, ...] = (
    ("Times at every size", figures.TIMES, figures.times),
    ("Table 3: products and geqrf", figures.PRODUCTS, figures.products),
    ("Figures 1 and 2: what the rates of table 3 lead to", figures.ESTIMATES, figures.estimates),
    ("Figures 3 and 4: errors against the condition", figures.CONDITIONS, figures.conditions),
    ("Figure 5: Q and R, orthogonalised again", figures.AGAIN, figures.again),
    ("Figure 6: the panel", figures.PANEL, figures.panel),
    ("Formats of the products", figures.FORMATS, figures.formats),
    ("Figure 7: tensor cores on and off", figures.SWITCHES, figures.switches),
    ("Figure 8: least squares on types of matrices", figures.LSTSQ, figures.least_squares),
    ("Figure 9: accuracy of least squares", figures.SOLUTIONS, figures.solutions),
    ("Table 4: approximations of low rank", figures.LOW_RANK, figures.low_rank),
    ("Orthonormal bases", figures.ORTHONORMAL, figures.orthonormal),
    ("Where the time goes", figures.PARTS, figures.parts),
    ("Panels alone", figures.PANELS, figures.panels),
)


def page(rows: list[Row], failures: dict[str, str], about: dict[str, Any]) -> str:
    """Return the Markdown page."""
    found = Found(rows)
    names = ("driver", "CUDA", "CuPy", "Python", "mdqr")
    versions = ", ".join(f"{name} {about[name]}" for name in names)
    lines = [
        "# Tensor cores: the figures of Zhang, Baharlouei and Wu",
        "",
        f"`{about['command']}`, medians between events. {about['date']}, commit {about['commit']}.",
        "",
        f"{about['device']}, {versions}.",
    ]
    for title, text, body in (("Against the aims", figures.AIMS, aims), *SECTIONS):
        tables = body(found)
        if tables:
            lines += ["", f"## {title}", "", text, "", *tables]
    rest = found.unused()
    for group in dict.fromkeys(row.group for row in rest):
        rows_of_group = [row for row in rest if row.group == group]
        lines += ["", f"## Further: {group}", "", *by_size(rows_of_group)]
    for group, error in failures.items():
        lines += ["", f"## {group.capitalize()} failed", "", "```", error.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def aims(found: Found) -> list[str]:
    """Return what was aimed at and reached; the rows are shown elsewhere too."""
    cells = [
        [
            row.what,
            row.size,
            row.precision,
            f"{number(row.value)} {row.unit}".rstrip(),
            number(row.aim),
            "met" if row.met else "missed",
        ]
        for row in found.rows
        if row.aim is not None
    ]
    return grid(["what", "size", "by", "found", "aim", ""], cells)


def by_size(rows: list[Row]) -> list[str]:
    """Return a line a measurement and a column a size."""
    sizes = list(dict.fromkeys(row.size for row in rows))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        values = lines.setdefault((row.what, row.who, row.precision, row.unit), {})
        values[row.size] = number(row.value)
    cells = [[*name, *(values.get(size, "") for size in sizes)] for name, values in lines.items()]
    return grid(["what", "by", "precision", "unit", *sizes], cells)


def read(path: Path) -> tuple[list[Row], dict[str, str], dict[str, Any]]:
    """Return the rows of a JSON file, what failed, and the environment."""
    content = json.loads(path.read_text())
    names = {field.name for field in fields(Row)}
    rows = [
        Row(**{key: value for key, value in row.items() if key in names})
        for row in content["results"]
    ]
    return rows, content["failures"], content["environment"]


if __name__ == "__main__":
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / "tensorcore.json"
    source.with_suffix(".md").write_text(page(*read(source)))
