"""Groups of measurements run from the command line, and the files that they leave."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.environment import environment
from benchmarks.common.rows import RESULTS, Job, Results, Row, joined, read
from benchmarks.common.tables import by_group, page
from benchmarks.common.timing import Timer, free

Options = argparse.Namespace
PAUSE = 5.0  # seconds between two files: a run that is cut off leaves its results
Parts = dict[str, Callable[[Options], Iterator[Job | Row]]]


def unknown(row: dict[str, Any]) -> Row:
    """Refuse a row without a group."""
    raise ValueError(f"a row has no group: {row}")


@dataclass(frozen=True)
class Benchmark:
    """Parts that are measured one after the other, and the page of their rows.

    `name` is that of its files, `further` the parts that are left out unless asked for, and
    `row_of` makes rows of recorded ones that have no group.
    """

    name: str
    title: str
    parts: Parts
    gpu: bool = False
    further: Sequence[str] = ()
    lines: Callable[[list[Row]], list[str]] = by_group
    row_of: Callable[[dict[str, Any]], Row] = unknown
    arguments: Callable[[argparse.ArgumentParser], None] | None = None

    def page(self, results: Results) -> str:
        """Return the Markdown page."""
        return page(self.title, results, self.lines(results.rows))

    def write(self, results: Results, path: Path) -> None:
        """Write the JSON file and the page in its folder."""
        results.write(path)
        path.with_suffix(".md").write_text(self.page(results))

    def main(self, group: str, arguments: list[str]) -> int:
        """Run from the command line."""
        options = self._options(group, arguments)
        if options.read:
            results = joined([read(path, self.row_of) for path in options.read])
        else:
            command = " ".join(["python -m benchmarks", group, *arguments])
            results = self.run(options, environment(command, options.commit, gpu=self.gpu))
        if options.output is not None:
            self.write(results, options.output)
        print(self.page(results))
        return 1 if results.failures else 0

    def _options(self, group: str, arguments: list[str]) -> Options:
        parser = argparse.ArgumentParser(
            prog=f"python -m benchmarks {group}", description=self.title
        )
        parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
        parser.add_argument("--only", nargs="+", choices=self.parts, help="these parts alone")
        parser.add_argument("--output", type=Path, help="a JSON file, and the folder of the page")
        parser.add_argument("--commit", help="what the tree is a copy of, where there is no git")
        parser.add_argument("--read", nargs="+", type=Path, help="join JSON files, measure nothing")
        if self.arguments is not None:
            self.arguments(parser)
        options = parser.parse_args(arguments)
        whole = {**vars(parser.parse_args([])), "output": None, "commit": options.commit}
        if vars(options) == whole:
            options.output = RESULTS / f"{self.name}.json"
        return options

    def run(self, options: Options, about: dict[str, Any]) -> Results:
        """Measure the parts; what fails is noted, and what is known is written all the time."""
        results, written = Results([], {}, about | {"seconds": {}}), time.monotonic()
        timer = Timer(3, 0.02) if options.quick else Timer(7, 0.2)
        for part in options.only or [name for name in self.parts if name not in self.further]:
            start = time.monotonic()
            try:
                for found in self.parts[part](options):
                    row = found.row(part, timer) if isinstance(found, Job) else found
                    results.rows.append(row)
                    line = f"{row.what} | {row.who} | {row.precision} | {row.size}"
                    print(f"{part}: {line} | {row.value:.4g} {row.unit}", file=sys.stderr)
                    if options.output is not None and time.monotonic() - written > PAUSE:
                        self.write(results, options.output)
                        written = time.monotonic()
            except Exception:
                results.failures[part] = traceback.format_exc()
                print(results.failures[part], file=sys.stderr)
            results.about["seconds"][part] = round(time.monotonic() - start, 1)
            if options.output is not None:
                self.write(results, options.output)
            if self.gpu:
                free()
        return results
