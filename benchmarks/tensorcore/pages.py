"""The page of the tensor-core path, made of its rows: the figures of Zhang et al. 2020.

Rows that no section shows come at the end by group, a column a size, so that none is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark
from benchmarks.common.tables import Found, grid, number, section
from benchmarks.tensorcore import accuracy, figures, householder, parts, speed

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
    ("Where the time goes", figures.PARTS, partial(figures.by_what, group="parts")),
    ("Panels alone", figures.PANELS, partial(figures.by_what, group="panels")),
)


def lines(rows: list[Row]) -> list[str]:
    """Return the sections of the page."""
    found, shown = Found(rows), []
    for title, text, body in (("Against the aims", figures.AIMS, aims), *SECTIONS):
        tables = body(found)
        shown += section(title, [text] if tables else [], tables)
    rest = found.unused()
    for group in dict.fromkeys(row.group for row in rest):
        shown += section(f"Further: {group}", by_size([row for row in rest if row.group == group]))
    return shown


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


BENCHMARKS = {
    "tensorcore": Benchmark(
        "tensorcore",
        "Tensor cores: the figures of Zhang, Baharlouei and Wu",
        {**speed.PARTS, **accuracy.PARTS, **householder.PARTS, **parts.PARTS},
        gpu=True,
        lines=lines,
    )
}
