"""The rows that benchmarks measure, and the files that keep them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.timing import Timer

FASTER = "times faster"
CEILINGS = {"GEMM": "multiply-adds/s", "memory": "bytes/s"}  # of a CPU, once kept apart
RESULTS = Path(__file__).resolve().parent.parent / "results"


@dataclass(frozen=True)
class Row:
    """One measurement: `value` in `unit`, and the aim that it is held against, if there is one.

    `details` has by name what was measured with it.
    """

    group: str
    what: str
    who: str
    precision: str
    size: str
    value: float
    unit: str
    aim: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

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


class Results(NamedTuple):
    """The rows of a run, what failed, and where it ran."""

    rows: list[Row]
    failures: dict[str, str]
    about: dict[str, Any]

    def write(self, path: Path) -> None:
        """Write a JSON file; NaN stands as null."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"environment": self.about, "results": [], "failures": self.failures}
        for row in self.rows:
            found = asdict(row) | {"met": row.met}
            found["value"] = None if math.isnan(row.value) else row.value
            if not row.details:
                del found["details"]
            content["results"].append(found)
        path.write_text(json.dumps(content, indent=1) + "\n")


def read(path: Path, row_of: Callable[[dict[str, Any]], Row]) -> Results:
    """Return the results of a JSON file; `row_of` makes rows of what has no group."""
    content = json.loads(path.read_text())
    names = {field.name for field in fields(Row)}
    rows = []
    for found in content["results"]:
        kept = {name: value for name, value in found.items() if name in names}
        value = math.nan if found.get("value") is None else found["value"]
        rows.append(Row(**kept | {"value": value}) if "group" in found else row_of(found))
    ceilings = content.get("roofline", {}).get("ceilings", {})
    for (what, unit), value in zip(CEILINGS.items(), ceilings.values(), strict=False):
        rows.append(Row("ceilings", what, "numpy", "float64", "", value, unit))
    return Results(rows, content.get("failures", {}), content["environment"])


def joined(results: list[Results]) -> Results:
    """Return several runs as one: later rows replace those of the same subject.

    A row without a value, of what was left out, replaces none.
    """
    rows: dict[tuple[str, ...], Row] = {}
    failures: dict[str, str] = {}
    for result in results:
        for row in result.rows:
            key = (row.group, row.what, row.who, row.precision, row.size, row.unit)
            if key not in rows or not math.isnan(row.value):
                rows[key] = row
        failures |= result.failures
    about = dict(results[-1].about)
    for name in ("command", "commit"):
        about[name] = "; ".join(dict.fromkeys(result.about[name] for result in results))
    return Results(list(rows.values()), failures, about)
