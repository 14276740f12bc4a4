"""A call: its rows, their form, and what runs it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from mdqr._errors import shown
from mdqr._progress import Reporter
from mdqr._typing import PrecisionLike
from mdqr.distributed._engines import Engine, engine_for, folded
from mdqr.distributed._refinement import Problem
from mdqr.distributed._rows import Form, Source, form_of, opened, source
from mdqr.distributed._sums import AddSums, ChunkSums, Errors, Sums
from mdqr.distributed._tree import raised, tasks
from mdqr.linalg._shared.pairs import Pair


class Job(NamedTuple):
    """The rows of a call, what runs it, and how."""

    function: str
    engine: Engine
    source: Source
    form: Form
    fan_in: int
    report: Reporter | None

    def pass_of(self, problem: Problem, x: Pair, errors: Errors, number: int) -> Sums:
        """Return the sums over all rows at x."""
        name, at = f"pass {number}", self.engine.shared(problem.point(x, errors))
        call = ChunkSums(self.function, self.form)
        made = tasks(self.engine, f"sums-{number}", call, self.source, at)
        found = folded(
            self.engine, name, made, AddSums(self.form.kind), self.fan_in,
            report=self.report, count=self.source.length,
        )  # fmt: skip
        sums: Sums = raised(self.engine.result(found))
        return sums


def job_of(
    function: str,
    parts: tuple[Any, Any, Any],
    precision: PrecisionLike | None,
    scheduler: Any,
    fan_in: int,
    report: Reporter | None,
    *,
    sides: bool = True,
) -> Job:
    """Return what a call is to do."""
    if isinstance(fan_in, bool) or not isinstance(fan_in, int) or fan_in < 2:
        raise ValueError(f"{function}: fan_in must be an integer from 2 on; got {shown(fan_in)}")
    rows = source(function, *parts)
    engine = engine_for(function, scheduler, rows)
    items: Iterator[Any] = iter(rows.items)
    first = next(items, None)
    if first is None:
        raise np.linalg.LinAlgError(f"{function}: there are no rows")
    handle = list(first) if rows.delayed and isinstance(first, (list, tuple)) else first
    seen = engine.result(engine.submit("mdqr-first", opened, handle)) if rows.delayed else None
    if seen is None:
        seen = opened(first)
    form = form_of(function, tuple(seen), precision, sides=sides)
    if rows.once:
        rows = rows._replace(items=chain([first], items))
    return Job(function, engine, rows, form, fan_in, report)
