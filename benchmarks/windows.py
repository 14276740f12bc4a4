"""Windows of few rows or columns on a GPU: a launch each, and panels; alone and in whole calls.

    python benchmarks/windows.py FOLDER [--commit HASH]

Writes windows.json to a folder: the milliseconds of one window of R and of its orthogonal matrix,
and those of whole calls that insert rows and delete columns and rows, with Q and without: with
windows of some widths, a launch each, and with panels alone. "columns" is the width that the
package takes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import gpu_measure
from update_cells import Numbers

from mdqr._backend.cuda.factor import window
from mdqr._precision import PRECISIONS
from mdqr.linalg import qr_delete, qr_insert
from mdqr.linalg._update import operands, sweeps
from mdqr.linalg._update.arithmetic.engine import Engine

COUNTS = (1, 4, 16, 32)
# The columns of the matrices, and how many rows or columns come or go.
SIZES = {1000: (1, 4, 16), 3000: (1, 16)}
WIDTHS = (16, 32, 64)
MORE = 64  # rows than columns
NAMES = ("float32", "dd", "qd")
UNTIL = 45.0  # seconds after which no more cells are started


def all_ways(call: Callable[[], Any], widths: tuple[int, ...]) -> dict[str, float]:
    """Return the milliseconds with windows of some widths, and with panels."""
    found = {}
    for columns in (*widths, 0):
        with mock.patch.object(sweeps, "window_columns", return_value=columns):
            # With the two calls that are not counted, windows that are recorded have come thrice.
            call()
            found[str(columns) if columns else "panels"] = gpu_measure.milliseconds(call, 2)
    return found


def engine_of(numbers: Numbers) -> Engine:
    """Return the arithmetic of updates."""
    return operands.convert("windows", None, R=numbers.draw(2, 2, 1)).engine


def widths_of(engine: Engine, p: int) -> tuple[int, ...]:
    """Return the widths that fit a block of threads, and whose reflectors overlap."""
    shapes = [(w + p, w, p, engine.limbs, engine.is_complex) for w in WIDTHS if p < 1.41 * w]
    return tuple(shape[1] for shape in shapes if window.plan(*shape))


def one_window(name: str, p: int, columns: int) -> dict[str, Any]:
    """Return the times of a window and its orthogonal matrix."""
    numbers = Numbers(name, "cuda")
    engine = engine_of(numbers)
    a = numbers.draw(columns + p, columns, 1)
    start = numbers.xp.triu(a if numbers.native else a.limbs, -p)

    def launch() -> None:
        sweeps.formed_window(engine, start.copy(), p)

    def panels() -> None:
        engine.orthogonal(start.copy())

    times = {"launch": gpu_measure.milliseconds(launch, 20)}
    times["panels"] = gpu_measure.milliseconds(panels, 20)
    return {"what": "window", "precision": name, "p": p, "width": columns, **times}


def calls(name: str, n: int) -> Iterator[dict[str, Any]]:
    """Yield the times of updates of an order."""
    numbers = Numbers(name, "cuda")
    engine = engine_of(numbers)
    q, r = numbers.factor(numbers.draw(n + MORE, n, 1), "reduced")
    for p in SIZES[n]:
        own, widths = sweeps.window_columns(engine, p), widths_of(engine, p)
        u = numbers.draw(p, n, 2)
        for q_kept in (False, True):
            factors = (q if q_kept else None, r)
            ways = [
                ("delete columns", partial(qr_delete, *factors, 0, p, "col", method="update")),
                ("insert rows", partial(qr_insert, *factors, u, 0, method="update")),
            ]
            if q_kept:
                ways.append(("delete rows", partial(qr_delete, *factors, 0, p, method="update")))
            for what, call in ways:
                about = {"what": what, "precision": name, "n": n, "p": p, "Q": q_kept}
                yield {**about, "columns": own, **all_ways(call, widths)}


def rows() -> Iterator[dict[str, Any]]:
    """Yield everything until the time is over, small sizes first."""
    end = time.monotonic() + UNTIL
    for name in ("float32", "float64", *(p.name for p in PRECISIONS[1:])):
        for p in COUNTS:
            for columns in widths_of(engine_of(Numbers(name, "cuda")), p):
                yield one_window(name, p, columns)
    for n in SIZES:
        for name in NAMES:
            if time.monotonic() > end:
                yield {"what": "left out", "precision": name, "n": n}
                continue
            yield from calls(name, n)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description="Windows of few rows or columns on a GPU.")
    parser.add_argument("output", type=Path, help="folder for the results")
    parser.add_argument("--commit", help="what the tree is a copy of, where there is no git")
    options = parser.parse_args()
    command = " ".join(["python", "benchmarks/windows.py", *sys.argv[1:]])
    about, found = gpu_measure.environment(command, options.commit), []
    for row in rows():
        found.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"environment": about, "results": found}, indent=1)
    (options.output / "windows.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
