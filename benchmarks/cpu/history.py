"""Twenty small calls, measured at one commit after the other: ``python -m benchmarks history``.

Each run appends a record to benchmarks/results/history.json, and the page is made of all records.
Times are processor time of one thread, which other work on the machine disturbs less than seconds.
With ``--also COMMIT=PATH`` the package and the extension of an older commit, found on PATH, are
measured in the same run: processes of both take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mdqr
from benchmarks.common.environment import environment, machine
from benchmarks.common.rows import RESULTS
from benchmarks.common.tables import grid, number
from mdqr import linalg, optimize, series

ROOT = Path(__file__).resolve().parents[2]
FILE = RESULTS / "history.json"
ROUNDS = 5  # processes for each commit
LEAST = 0.05  # seconds of one timing
ALONE = {f"{name}_NUM_THREADS": "1" for name in ("MDQR", "OPENBLAS", "OMP", "MKL")}
Record = dict[str, Any]


def calls() -> dict[str, Callable[[], Any]]:
    """Return the calls by name, in quad-double unless the name says otherwise."""
    normal = partial(mdqr.random.normal, rng=1)
    a, b = normal((8, 8), precision="qd"), normal(8, precision="qd")
    tall, right = normal((40, 5), precision="qd"), normal(40, precision="qd")
    x, scalar = normal(1000, precision="qd"), mdqr.array("1.25", precision="qd")
    texts = x[:100].to_strings().tolist()
    symmetric = a + a.T
    poly = mdqr.arange(1, 12, precision="qd")
    q, r = linalg.qr(tall, mode="complete")
    circle = series.System.from_strings(["x^2 + y^2 - 5 - t", "x*y - 2 + t"], ["x", "y"])
    t = mdqr.linspace(0, 1, 20, precision="qd")
    decay = 2 * mdqr.exp(-3 * t)
    return {
        "array of a float": lambda: mdqr.array(1.5, precision="qd"),
        "sum of two scalars": lambda: scalar + scalar,
        "product of two vectors of 1000": lambda: x * x,
        "exp of 1000": lambda: mdqr.exp(x),
        "sum of 1000": lambda: mdqr.sum(x),
        "100 texts to numbers": lambda: mdqr.array(texts, precision="qd"),
        "100 numbers to texts": lambda: x[:100].to_strings(),
        "a slice": lambda: x[10:20],
        "matmul 8 x 8": lambda: a @ a,
        "solve 8 x 8": lambda: linalg.solve(a, b),
        "solve 8 x 8, od": partial(linalg.solve, a.astype("od"), b.astype("od")),
        "inv 8 x 8": lambda: linalg.inv(a),
        "lstsq 40 x 5": lambda: linalg.lstsq(tall, right),
        "qr 40 x 5": lambda: linalg.qr(tall),
        "qr_insert, a row into 40 x 5": lambda: linalg.qr_insert(q, r, tall[0], 2),
        "svd 8 x 8": lambda: linalg.svd(a),
        "eigh 8 x 8": lambda: linalg.eigh(symmetric),
        "roots of degree 10": lambda: linalg.roots(poly),
        "newton_series, 2 unknowns, degree 8": lambda: series.newton_series(
            circle, [2.0, 1.0], degree=8, precision="qd"
        ),
        "curve_fit, an exponential": lambda: optimize.curve_fit(
            lambda t, p, q: p * mdqr.exp(-q * t), t, decay, [1.0, 1.0]
        ),
    }


def microseconds(call: Callable[[], Any]) -> float:
    """Return the least processor time of a call in five timings, after one call."""
    call()
    count, found = 1, []
    while len(found) < 5:
        start = time.process_time()
        for _ in range(count):
            call()
        taken = time.process_time() - start
        if taken < LEAST:
            count = max(2 * count, int(1.2 * LEAST * count / max(taken, 1e-4)))
        else:
            found.append(taken / count * 1e6)
    return min(found)


def measured(path: str) -> dict[str, float]:
    """Return the microseconds of each call in a process of its own; `path` has the package."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name],
        cwd=ROOT / "benchmarks",  # `python -m` puts this folder in front, which has no package
        env=os.environ | ALONE | {"PYTHONPATH": os.pathsep.join([path, str(ROOT)])},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def shown(time: float | None) -> str:
    """Return microseconds to three digits, without an exponent."""
    return number(time) if time is None or time < 100 else f"{time:,.0f}"


def page(content: Record) -> str:
    """Return the page: a column for each record, and what changed from the first to the last."""
    records = content["records"]
    about = list(dict.fromkeys(record["machine"] for record in records))
    head = [
        f"{record['date'][:10]}, {record['commit'][:8]}"
        + (f" ({about.index(record['machine']) + 1})" if len(about) > 1 else "")
        for record in records
    ]
    # Times of different machines are not compared.
    of_last = [record for record in records if record["machine"] == records[-1]["machine"]]
    cells = []
    for name in content["calls"]:
        times = [record["microseconds"].get(name) for record in records]
        first, last = (record["microseconds"].get(name) for record in (of_last[0], of_last[-1]))
        ratio = f"{last / first:.2f}" if first and last and len(of_last) > 1 else ""
        cells.append([name, *map(shown, times), ratio])
    lines = ["# Twenty small calls by commit", "", "`python -m benchmarks history`", ""]
    lines += ["Microseconds of processor time. " + " ".join(f"{line}." for line in about), ""]
    return "\n".join([*lines, *grid(["call", *head, "last/first"], cells)]) + "\n"


class History:
    """The group of the command line whose runs append to one file."""

    def main(self, group: str, arguments: list[str]) -> int:
        """Measure, append and print."""
        parser = argparse.ArgumentParser(prog=f"python -m benchmarks {group}", description=__doc__)
        parser.add_argument("--also", action="append", default=[], metavar="COMMIT=PATH")
        parser.add_argument("--output", type=Path, default=FILE, help="the file to append to")
        parser.add_argument("--commit", help="what the tree is a copy of, where there is no git")
        options = parser.parse_args(arguments)
        mdqr.config.set_num_threads(1)
        about = environment(f"python -m benchmarks {group}", options.commit)
        content = {"calls": list(calls()), "records": []}
        if options.output.exists():
            content["records"] = json.loads(options.output.read_text())["records"]
        here = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        paths = dict(item.split("=", 1) for item in options.also) | {about["commit"]: here}
        rounds = [{commit: measured(path) for commit, path in paths.items()} for _ in range(ROUNDS)]
        for commit in paths:
            each = [found[commit] for found in rounds]
            times = {name: statistics.median(x[name] for x in each) for name in content["calls"]}
            kept = {name: float(number(value, 4)) for name, value in times.items()}
            record = {"commit": commit, "date": about["date"], "machine": machine(about)}
            content["records"].append(record | {"microseconds": kept})
        options.output.write_text(json.dumps(content, indent=1) + "\n")
        options.output.with_suffix(".md").write_text(page(content))
        print(page(content))
        return 0


BENCHMARKS = {"history": History()}

if __name__ == "__main__":
    mdqr.config.set_num_threads(1)
    print(json.dumps({name: microseconds(call) for name, call in calls().items()}))
