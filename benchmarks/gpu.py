"""Speed and accuracy of the CUDA kernels, against the ceilings of the device and other programs.

    python benchmarks/gpu.py [--quick] [--only GROUP ...] [--output FOLDER] [--commit HASH]

A full run writes gpu.json and gpu.md to benchmarks/results. A quick or partial one prints its
tables, and writes only where --output says. A group that fails is reported; the exit code tells.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gpu_arrays
import gpu_factors
from gpu_measure import cupy, environment, markdown
from measure import RESULTS, Row

GROUPS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "ceilings": gpu_arrays.ceilings,
    "factorisations": gpu_factors.factorisations,
    "accuracy": gpu_factors.accuracy,
    "phases": gpu_factors.phases,
    "substitution": gpu_factors.substitution,
    "products": gpu_arrays.products,
    "batched": gpu_factors.batched,
    "bandwidth": gpu_arrays.bandwidth,
}


def run(
    groups: Sequence[str], quick: bool, keep: Callable[[list[Row], dict[str, str]], None]
) -> tuple[list[Row], dict[str, str], dict[str, float]]:
    """Measure the groups; return the rows, what failed, and the seconds that each group took.

    After each group `keep` gets what is known, so that a run that is cut off leaves its results.
    """
    rows: list[Row] = []
    failures: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for group in groups:
        start = time.monotonic()
        try:
            for row in GROUPS[group](quick):
                rows.append(row)
                line = f"{row.what} | {row.who} | {row.precision} | {row.size} | {row.value:.4g}"
                print(f"{group}: {line} {row.unit}", file=sys.stderr, flush=True)
        except Exception:
            failures[group] = traceback.format_exc()
            print(failures[group], file=sys.stderr, flush=True)
        seconds[group] = round(time.monotonic() - start, 1)
        keep(rows, failures)
        cupy().get_default_memory_pool().free_all_blocks()
    return rows, failures, seconds


def write(rows: list[Row], failures: dict[str, str], about: dict[str, Any], folder: Path) -> None:
    """Write gpu.json and gpu.md."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "environment": about,
        "results": [asdict(row) | {"met": row.met} for row in rows],
        "failures": failures,
    }
    (folder / "gpu.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / "gpu.md").write_text(markdown(rows, failures, about))


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description="Benchmarks of the CUDA kernels.")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", nargs="+", choices=GROUPS, help="these groups alone")
    parser.add_argument("--output", type=Path, help="folder for gpu.json and gpu.md")
    parser.add_argument("--commit", help="what the tree is a copy of, where there is no git")
    options = parser.parse_args()
    command = " ".join(["python", "benchmarks/gpu.py", *sys.argv[1:]])
    about = environment(command, options.commit)
    full = not (options.quick or options.only)
    output = options.output or (RESULTS if full else None)

    def keep(rows: list[Row], failures: dict[str, str]) -> None:
        if output is not None:
            write(rows, failures, about, output)

    rows, failures, about["seconds"] = run(options.only or list(GROUPS), options.quick, keep)
    keep(rows, failures)
    print(markdown(rows, failures, about))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
