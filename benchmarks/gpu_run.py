"""Groups of GPU measurements run from the command line, and the files that they leave."""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpu_measure import cupy, environment, markdown
from measure import RESULTS, Row

Groups = dict[str, Callable[[bool], Iterator[Row]]]
Page = Callable[[list[Row], dict[str, str], dict[str, Any]], str]


def run(
    groups: Groups, quick: bool, keep: Callable[[list[Row], dict[str, str]], None]
) -> tuple[list[Row], dict[str, str], dict[str, float]]:
    """Measure the groups; return the rows, what failed, and the seconds that each group took.

    After each group `keep` gets what is known, so that a run that is cut off leaves its results.
    """
    rows: list[Row] = []
    failures: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for group, rows_of in groups.items():
        start = time.monotonic()
        try:
            for row in rows_of(quick):
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


def write(
    rows: list[Row], failures: dict[str, str], about: dict[str, Any], stem: Path, page: Page
) -> None:
    """Write a JSON and a Markdown file of the name `stem`."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "environment": about,
        "results": [asdict(row) | {"met": row.met} for row in rows],
        "failures": failures,
    }
    stem.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    stem.with_suffix(".md").write_text(page(rows, failures, about))


def main(groups: Groups, name: str, description: str, page: Page = markdown) -> None:
    """Run a benchmark from the command line; `page` makes the Markdown file."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", nargs="+", choices=groups, help="these groups alone")
    parser.add_argument("--output", type=Path, help=f"folder for {name}.json and {name}.md")
    parser.add_argument("--commit", help="what the tree is a copy of, where there is no git")
    options = parser.parse_args()
    command = " ".join(["python", f"benchmarks/{name}.py", *sys.argv[1:]])
    about = environment(command, options.commit)
    full = not (options.quick or options.only)
    output = options.output or (RESULTS if full else None)

    def keep(rows: list[Row], failures: dict[str, str]) -> None:
        if output is not None:
            write(rows, failures, about, output / name, page)

    chosen = {group: groups[group] for group in options.only or groups}
    rows, failures, about["seconds"] = run(chosen, options.quick, keep)
    keep(rows, failures)
    print(page(rows, failures, about))
    sys.exit(1 if failures else 0)
