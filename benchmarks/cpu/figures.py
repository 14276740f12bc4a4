"""Figures of how systems are solved and series grow, from recorded rows; nothing is measured here.

python -m benchmarks.cpu.figures [RESULTS [FOLDER]]

RESULTS is the folder of systems.json, series.json and gpu-series.json.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from benchmarks.common.rows import RESULTS, Row, read
from benchmarks.common.runner import unknown
from mdqr._precision import PRECISIONS

DOCS = Path(__file__).resolve().parents[2] / "docs" / "performance"
STYLES = {"mdqr": "o-", "python-flint": "s--", "python-flint, approx": "^:", "mpmath": "x-."}
MULTIPLE = PRECISIONS[1:]


def of(rows: Sequence[Row], group: str, **wanted: str) -> list[Row]:
    """Return the rows of a group whose fields are as given."""
    return [
        row
        for row in rows
        if row.group == group and all(getattr(row, name) == v for name, v in wanted.items())
    ]


def convergence(rows: Sequence[Row]) -> Any:
    """Digits against steps, a line for each condition."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for what in dict.fromkeys(row.what for row in of(rows, "steps")):
        points = of(rows, "steps", what=what)
        axes.plot([int(r.size) for r in points], [r.value for r in points], "o-", label=what)
    axes.axhline(MULTIPLE[-1].digits, color="0.6", lw=1)
    axes.set(xlabel="refinement step", ylabel="decimal digits before the step")
    axes.set_title("lstsq 300 x 80, octo-double, from a float64 factorisation")
    axes.legend(fontsize="small")
    return figure


def digits_and_times(rows: Sequence[Row]) -> Any:
    """Milliseconds against digits, refinement and Householder QR."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    digits = [p.digits for p in MULTIPLE]
    for one, what in zip(axes, ("lstsq, float64 data", "solve, float64 data"), strict=True):
        for who, style in (("mdqr", "o-"), ("mdqr, householder", "s--"), ("numpy", "k:")):
            found = of(rows, "large", what=what, who=who)
            one.semilogy(digits, [row.value for row in found], style, label=who)
        one.set(title=f"{what}, {found[0].size}", xlabel="decimal digits")
        one.set_xticks(digits)
    axes[0].set_ylabel("milliseconds, CPU")
    axes[0].legend(fontsize="small")
    return figure


def orders(rows: Sequence[Row]) -> Any:
    """Milliseconds against the order, a panel for each precision."""
    figure, axes = plt.subplots(
        1, len(MULTIPLE), figsize=(11, 4), layout="constrained", sharey=True
    )
    for one, p in zip(axes, MULTIPLE, strict=True):
        for who, style in STYLES.items():
            found = of(rows, "orders", who=who, precision=p.name)
            one.loglog([int(r.size) for r in found], [r.value for r in found], style, label=who)
        found = of(rows, "orders", who="numpy")
        sizes = [int(r.size) for r in found]
        one.loglog(sizes, [r.value for r in found], "k:", label="numpy, float64")
        one.set(title=f"solve, {p.name} ({p.digits} digits)", xlabel="unknowns")
        one.set_xticks(sizes, [str(size) for size in sizes])
        one.minorticks_off()
    axes[0].set_ylabel("milliseconds, CPU")
    axes[0].legend(fontsize="small")
    return figure


def growth(rows: Sequence[Row], device: str) -> Any:
    """Milliseconds of series against the degree, and against the number of unknowns."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    by_degree = "degrees" if of(rows, "degrees") else "growth"
    for one, group, label in ((axes[0], by_degree, "degree"), (axes[1], "sizes", "unknowns")):
        for p in MULTIPLE:
            found = of(rows, group, precision=p.name)
            sizes = [int(row.size) for row in found]
            one.loglog(sizes, [row.value for row in found], "o-", label=p.name)
            one.set_xticks(sizes, [str(size) for size in sizes])
        one.minorticks_off()
        one.set(title=of(rows, group)[0].what, xlabel=label)
    axes[1].set_title(f"{of(rows, 'sizes')[0].what}, degree 31")
    axes[0].set_ylabel(f"milliseconds, {device}")
    axes[0].legend(fontsize="small")
    return figure


def main() -> None:
    """Write one SVG file a figure."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else DOCS
    systems, series, gpu = (
        read(source / f"{name}.json", unknown).rows for name in ("systems", "series", "gpu-series")
    )
    # The same file for the same rows.
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "mdqr"
    figures = {
        "refinement-steps": convergence(systems),
        "refinement-digits": digits_and_times(systems),
        "refinement-orders": orders(systems),
        "series-cpu": growth(series, "CPU"),
        "series-gpu": growth(gpu, "GPU"),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
