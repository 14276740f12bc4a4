"""The scripts of the gallery: digits asked for and found, processor time and memory of each.

Each runs in a process of its own with one thread: ``python -m benchmarks.cpu.gallery SCRIPT``.
"""

from __future__ import annotations

import json
import math
import os
import resource
import runpy
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.rows import RESULTS, Row, read
from benchmarks.common.runner import Benchmark, Options, unknown
from benchmarks.common.tables import Found, grid, number

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "gallery"
REPEATS = 3
ALONE = {
    **{f"{name}_NUM_THREADS": "1" for name in ("MDQR", "OPENBLAS", "OMP", "MKL")},
    "MPLBACKEND": "agg",
}
Names = Mapping[str, Any]


class Item(NamedTuple):
    """A script: its question, the digits asked for and by whom, and how those found are read.

    `error` takes the names that the script leaves and returns the relative error of its answer,
    the largest one if there are several numbers.
    """

    question: str
    asked: int
    reference: str
    error: Callable[[Names], float]


ITEMS: dict[str, Item] = {
    "nist_linear": Item(
        "coefficients of eleven regressions",
        15,
        "NIST StRD, certified values",
        lambda names: max(10.0 ** -names["right"][name, "od"] for name in names["problems"]),
    ),
    "prony": Item(
        "three exponentials out of their sum",
        110,
        "NIST Lanczos1, the function",
        lambda names: names["errors"]["od"][-1],
    ),
    "post_newtonian": Item(
        "nine coefficients of a series out of numbers",
        63,
        "Kavanagh, Ottewill, Wardell 2015, exact",
        lambda names: 10.0 ** -min(names["digits"]["od"].values()),
    ),
    "spectral_density": Item(
        "a smeared density out of 32 times",
        6,
        "a test of lsdensities, closed form",
        lambda names: names["misses"][2] / names["gaussian"](0.5),
    ),
    "gauss_rules": Item(
        "a Gauss rule of 72 points out of moments",
        110,
        "DLMF 25.2.3, exact",
        lambda names: names["errors"]["od"][-1] / float(names["exact"]),
    ),
    "sparse_ir": Item(
        "singular values of a kernel, relative to the largest",
        23,
        "irbasis 2019, tables",
        lambda names: max(
            error * float(names["REFERENCE"][k]) / float(names["REFERENCE"][0])
            for k, error in zip(names["REFERENCE"], names["agreement"], strict=True)
        ),
    ),
    "one_ninth": Item(
        "the 1/9 constant",
        45,
        "OEIS A072558, 105 digits",
        lambda names: relative(names["found"]["od"][-1], names["exact"]),
    ),
    "infinite_norm": Item(
        "the norm of an infinite matrix",
        10,
        "OEIS A117233, 105 digits",
        lambda names: relative(names["found"], names["exact"]),
    ),
    "drum": Item(
        "the lowest tone of an L-shaped drum",
        60,
        "OEIS A262701, 104 digits",
        lambda names: names["errors"]["qd"][176] / float(names["exact"]),
    ),
    "bernstein": Item(
        "Bernstein's constant",
        50,
        "Varga, Carpenter 1985, 50 digits",
        lambda names: max(1e-50, relative(names["limit"], names["exact"])),
    ),
    "self_avoiding_walks": Item(
        "the growth constant of self-avoiding walks",
        15,
        "Jacobsen, Scullard, Guttmann 2016, 15 digits",
        lambda names: abs(names["line"][1]) / float(names["MU"]),
    ),
    "nist_nonlinear": Item(
        "five curves, each from two starts",
        10,
        "NIST StRD, certified values",
        lambda names: 10.0 ** -min(v for (who, *_), v in names["digits"].items() if who == "mdqr"),
    ),
    "short_arc": Item(
        "an orbit out of an hour of directions",
        30,
        "the orbit that made the directions",
        lambda names: float((names["error"] / abs(names["TRUE"])).max()),
    ),
    "correlator": Item(
        "six parameters of three exponentials, all data correlated",
        50,
        "the fit in octo-double",
        lambda names: names["errors"]["qd"],
    ),
    "aaa": Item(
        "the pole of gamma at -5 out of values near 0",
        20,
        "the pole, exact",
        lambda names: 10.0 ** -names["right"]["od"][5],
    ),
    "gauss_jacobi": Item(
        "a Gauss-Jacobi rule of 400 points",
        60,
        "its last moment, gamma functions",
        lambda names: names["defect"],
    ),
    "lyapunov": Item(
        "a Lyapunov function of a chain of twelve stages",
        60,
        "a recurrence, exact",
        lambda names: max(names["errors"]),
    ),
    "out_of_core": Item(
        "a polynomial of degree 16, rows in chunks",
        31,
        "the fit in octo-double",
        lambda names: 10.0 ** -names["right"]["dd"][-1],
    ),
    "four_bar": Item(
        "1440 positions of a four-bar linkage",
        30,
        "intersections of circles",
        lambda names: names["worst"],
    ),
    "cyclic_roots": Item(
        "64 coefficients of series of cyclic 7-roots",
        120,
        "the binomial series, exact",
        lambda names: max(names["errors"]["od"]),
    ),
}


def relative(found: Any, exact: Any) -> float:
    """Return the relative error of a number."""
    return abs(float(found / exact - 1))


def place(filename: str) -> int:
    """Return the place of a script in the gallery, for which the docs sort by it."""
    return list(ITEMS).index(Path(filename).stem.removeprefix("plot_"))


def run(name: str) -> dict[str, float]:
    """Run a script in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, name],
        cwd=ROOT,
        env=os.environ | ALONE,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def items(options: Options) -> Iterator[Row]:
    """Each script, imports and pictures included, in seconds of processor time."""
    for name, item in ITEMS.items():
        runs = [run(name) for _ in range(1 if options.quick else REPEATS)]
        seconds = statistics.median(each["seconds"] for each in runs)
        details = {
            "digits asked": item.asked,
            "digits found": runs[0]["digits"],
            "peak memory, MB": max(each["memory"] for each in runs),
        }
        yield Row("items", name, "mdqr", "", "", seconds, "s", details=details)


def lines(rows: list[Row]) -> list[str]:
    """Return the table, what all take together, and what a GPU does of it."""
    cells = [
        [
            f"{{ref}}`{item.question} <sphx_glr_gallery_plot_{row.what}.py>`",
            f"{item.asked}",
            f"{math.floor(row.details['digits found'])}",
            number(row.value),
            f"{row.details['peak memory, MB']:.0f}",
            item.reference,
        ]
        for row in rows
        for item in [ITEMS[row.what]]
    ]
    head = ["question", "digits asked", "found", "seconds", "peak MB", "reference"]
    total = sum(row.value for row in rows)
    text = f"All {len(rows)} together take {total:.0f} seconds of processor time."
    return ["", *grid(head, cells), "", text, "", on_a_gpu()]


def on_a_gpu() -> str:
    """Return what recorded runs say of problems of the gallery on a GPU."""
    systems, series = (
        read(RESULTS / f"gpu-{name}.json", unknown) for name in ("systems", "series")
    )
    batch = Found(systems.rows).text("batches", "10000 x 32x32", what="solve", precision="od")
    found = Found(series.rows)
    starts = found.text("batches", what="cyclic 7", precision="qd")
    gain = found.text("batches", what="cyclic 7, one core in sequence / GPU", precision="qd")
    return (
        f"Many problems at once are work for a GPU. On one {systems.about['device']}, 10,000 "
        "octo-double systems of 32 unknowns, the order of those of the spectral density, take "
        f"{batch} ms (commit {systems.about['commit']}). On one {series.about['device']}, 1,000 "
        f"start points of cyclic 7-roots to order 31 in quad-double take {starts} ms, {gain} times "
        "less than one after the other on one core of its host "
        f"(commit {series.about['commit']})."
    )


def main(name: str) -> None:
    """Run a script and print its digits, the process's time and its memory at its peak in MB."""
    error = ITEMS[name].error(runpy.run_path(str(FOLDER / f"plot_{name}.py")))
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = {"seconds": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss / 1024}
    print(json.dumps(found | {"digits": -math.log10(error)}))


BENCHMARKS = {
    "gallery": Benchmark("gallery", "The gallery, one thread", {"items": items}, lines=lines)
}

if __name__ == "__main__":
    main(sys.argv[1])
