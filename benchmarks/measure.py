"""Timing, the description of the machine, and the files that a benchmark writes."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mdqr

FASTER = "times faster"
RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("mdqr", "numpy", "scipy", "mpmath", "gmpy2", "python-flint", "xprec")


@dataclass(frozen=True)
class Row:
    """One measurement: `value` in `unit`, and the aim that it is held against, if there is one."""

    group: str
    what: str
    who: str
    precision: str
    size: str
    value: float
    unit: str
    aim: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; a rate or a gain should be above it, anything else below."""
        if self.aim is None:
            return None
        above = self.unit.endswith("/s") or self.unit == FASTER
        return bool(self.value >= self.aim if above else self.value <= self.aim)


@dataclass(frozen=True)
class Job:
    """A call to time. With `work`, the value is ``work / seconds`` in `unit`, else the seconds."""

    what: str
    who: str
    precision: str
    size: str
    call: Callable[[], Any]
    work: float | None = None
    unit: str = "s"
    aim: float | None = None

    def row(self, group: str, timer: Timer) -> Row:
        """Time the call."""
        seconds = timer.seconds(self.call)
        value = seconds if self.work is None else self.work / seconds
        return Row(
            group, self.what, self.who, self.precision, self.size, value, self.unit, self.aim
        )


@dataclass(frozen=True)
class Timer:
    """Medians of `repeats` timings, each of at least `at_least` seconds."""

    repeats: int
    at_least: float

    def seconds(self, call: Callable[[], Any]) -> float:
        """Return the median time of one call, after one call that is not counted."""
        once = self._one(call, 1)
        number = max(1, round(self.at_least / max(once, 1e-9)))
        return statistics.median(self._one(call, number) for _ in range(self.repeats))

    @staticmethod
    def _one(call: Callable[[], Any], number: int) -> float:
        start = time.perf_counter()
        for _ in range(number):
            call()
        return (time.perf_counter() - start) / number


def environment(command: str) -> dict[str, Any]:
    """Return what a reader needs to compare two runs."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command,
        "commit": commit(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cpu": cpu_model(),
        "cpus": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := version_of(name))},
        "mdqr": mdqr.config._describe(),
    }


def available_cpus() -> int:
    """Return the number of CPUs that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def commit() -> str:
    """Return the commit of the tree, with "+changes" where it was not clean."""
    where = Path(__file__).parent
    try:
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=where, text=True).strip()
        dirty = subprocess.check_output(["git", "status", "--porcelain"], cwd=where, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+changes" if dirty else "")


def cpu_model() -> str:
    """Return the name that the CPU gives itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")


def version_of(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return mdqr.__version__ if package == "mdqr" else None


def markdown(rows: Sequence[Row], about: dict[str, Any]) -> str:
    """Return the rows as one table a group."""
    settings = f"{about['mdqr']['cpu']}, {about['mdqr']['compiler']}"
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [
        "# CPU benchmarks",
        "",
        f"`{about['command']}`, medians. {about['date']}, commit {about['commit']}.",
        "",
        f"{about['cpu']}, {about['cpus']} CPUs, Python {about['python']}; {settings}; {versions}.",
    ]
    for group in dict.fromkeys(row.group for row in rows):
        lines += ["", f"## {group.capitalize()}", ""]
        lines += table(row for row in rows if row.group == group)
    return "\n".join(lines) + "\n"


def table(rows: Iterable[Row]) -> list[str]:
    """Return the lines of one table."""
    lines = ["| what | by | precision | size | value | aim |", "|---|---|---|---|--:|---|"]
    for row in rows:
        aim = "" if row.aim is None else f"{row.aim:.3g} {'met' if row.met else 'missed'}"
        lines.append(
            f"| {row.what} | {row.who} | {row.precision} | {row.size} "
            f"| {row.value:.3g} {row.unit} | {aim} |"
        )
    return lines


def write(
    rows: Sequence[Row],
    about: dict[str, Any],
    folder: Path,
    name: str,
    roof: dict[str, Any] | None = None,
    roof_table: str = "",
) -> None:
    """Write `name`.json and `name`.md into `folder`, with a roofline where there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"environment": about, "results": [asdict(row) | {"met": row.met} for row in rows]}
    if roof is not None:
        content["roofline"] = roof
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / f"{name}.md").write_text(markdown(rows, about) + roof_table)
