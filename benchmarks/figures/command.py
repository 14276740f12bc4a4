"""The table of figures, and the command that draws them: ``python -m benchmarks figures``."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.rows import RESULTS, Results, read
from benchmarks.common.runner import unknown
from benchmarks.figures import data

DOCS = Path(__file__).resolve().parents[2] / "docs" / "performance"
DISPLAYED = {"numpy": "NumPy"}


class Figure(NamedTuple):
    """What a figure shows, the results that it is made of, and the packages in it."""

    title: str
    sources: tuple[str, ...]
    data: Callable[[data.Recorded], dict[str, Any]]
    peers: tuple[str, ...] = ()


FIGURES: dict[str, Figure] = {
    "solve-times": Figure(
        "Time of one linear system by its number of unknowns",
        ("systems",),
        data.solve_times,
        ("numpy", "mpmath", "python-flint"),
    ),
    "price-of-digits": Figure(
        "Time of a least-squares solution by its digits",
        ("systems", "gpu-systems"),
        data.price_of_digits,
    ),
    "decompositions": Figure(
        "Time of eigenvalues, singular values, inverses and factors of one matrix",
        ("dense",),
        data.decompositions,
        ("numpy", "python-flint"),
    ),
    "elementary-rates": Figure(
        "Values of elementary functions a second",
        ("elementary",),
        data.elementary_rates,
        ("numpy", "mpmath", "python-flint"),
    ),
    "gpu-factors": Figure(
        "Time of QR factorisations on a GPU",
        ("gpu", "tensorcore"),
        data.gpu_factors,
    ),
    "series-times": Figure(
        "Time of power series solutions on a CPU and on a GPU",
        ("series", "gpu-series"),
        data.series_times,
        ("mpmath",),
    ),
    "rows-in-chunks": Figure(
        "Time of least squares of rows in chunks by rows and by workers",
        ("distributed",),
        data.rows_in_chunks,
    ),
    "product-rates": Figure(
        "Multiply-adds a second of products through residues and of limbs",
        ("products",),
        data.product_rates,
    ),
    "path-precisions": Figure(
        "Digits that paths of polynomial systems took, by the condition of their ends",
        ("paths",),
        data.path_precisions,
    ),
    "path-times": Figure(
        "Time of all solutions of a polynomial system by the number of paths",
        ("paths", "gpu-paths"),
        data.path_times,
    ),
    "refinement-steps": Figure(
        "Digits of a least-squares solution against steps of refinement",
        ("systems",),
        data.refinement_steps,
    ),
}


def caption(figure: Figure, results: Mapping[str, Results]) -> str:
    """Return the machines, commits, dates and versions that results were recorded with."""
    lines: dict[str, None] = {}
    for about in (results[name].about for name in figure.sources):
        machine = about.get("device") or f"{about['cpu'].replace('(R)', '')}, {about['cpus']} cores"
        lines[f"{machine}, commit {about['commit'][:7]}, {about['date'][:10]}"] = None
        versions = about.get("versions", {})
        found = [f"{DISPLAYED.get(x, x)} {versions[x]}" for x in figure.peers if versions]
        if found:
            lines[", ".join(found)] = None
    return "\n".join(lines)


def digest(figure: Figure, results: Mapping[str, Results]) -> str:
    """Return a hash of all that a figure shows, which its file keeps."""
    rows = {name: results[name].rows for name in figure.sources}
    shown = [figure.title, caption(figure, results), figure.data(rows)]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def recorded() -> dict[str, Results]:
    """Return the results that figures are made of."""
    names = dict.fromkeys(name for figure in FIGURES.values() for name in figure.sources)
    return {name: read(RESULTS / f"{name}.json", unknown) for name in names}


def draw(name: str, results: Mapping[str, Results], folder: Path) -> None:
    """Write the SVG file of a figure."""
    from benchmarks.figures import charts, style

    figure = FIGURES[name]
    shown = figure.data({source: results[source].rows for source in figure.sources})
    text = caption(figure, results)
    metadata = {"Title": figure.title, "Description": text, "Identifier": digest(figure, results)}
    with style.settings():
        drawn = getattr(charts, name.replace("-", "_"))(shown)
        style.captioned(drawn, text)
        path = folder / f"{name}.svg"
        drawn.savefig(path, transparent=True, metadata=metadata | {"Date": None, "Creator": None})


class Drawing:
    """The group of the command line that measures nothing."""

    def main(self, group: str, arguments: list[str]) -> int:
        """Draw all figures."""
        parser = argparse.ArgumentParser(prog=f"python -m benchmarks {group}", description=__doc__)
        parser.add_argument("--output", type=Path, default=DOCS, help="the folder of the files")
        folder = parser.parse_args(arguments).output
        results = recorded()
        for name in FIGURES:
            draw(name, results, folder)
        return 0


BENCHMARKS = {"figures": Drawing()}
