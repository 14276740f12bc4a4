"""A call: its rows, their form, and what runs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from mdqr import __version__
from mdqr._errors import shown
from mdqr._progress import Reporter
from mdqr._typing import PrecisionLike
from mdqr.distributed._checkpoint import opened as opened_folder
from mdqr.distributed._devices.comm import Ranks
from mdqr.distributed._devices.engine import OnDevices, first_of, spread
from mdqr.distributed._engines import Engine, engine_for, folded
from mdqr.distributed._refinement import Problem
from mdqr.distributed._rows import (
    ChunkError,
    Form,
    Source,
    form_of,
    integer_from,
    named,
    numbered,
    opened,
    source,
)
from mdqr.distributed._sums import AddSums, ChunkSums, Errors, Sums
from mdqr.distributed._tree import finished, tasks
from mdqr.linalg._shared.devices import checked
from mdqr.linalg._shared.operands import on_host
from mdqr.linalg._shared.pairs import Pair

METHODS = ("auto", "householder", "products")


class Where(NamedTuple):
    """The place of tasks, at most one of the three."""

    scheduler: Any = None
    devices: Any = None
    comm: Any = None


class Job(NamedTuple):
    """The rows of a call, what runs it, and how; `here` makes its device the current one."""

    function: str
    engine: Engine
    source: Source
    form: Form
    fan_in: int
    report: Reporter | None
    here: AbstractContextManager[Any] = nullcontext()
    method: str = "householder"
    checkpoint: str | None = None

    def pass_of(self, problem: Problem, x: Pair, errors: Errors, number: int) -> Sums:
        """Return the sums over all rows at x."""
        name, at = f"pass {number}", self.engine.shared(problem.point(x, errors))
        call = ChunkSums(self.function, self.form)
        made = tasks(
            self.engine, self.function, f"sums-{number}", call, self.source, at,
            checkpoint=self.checkpoint,
        )  # fmt: skip
        found = folded(
            self.engine, name, made, AddSums(self.form.kind), self.fan_in,
            report=self.report, count=self.source.length,
        )  # fmt: skip
        sums: Sums = finished(self.engine, self.function, self.source, found)
        return sums


def job_of(
    function: str,
    parts: tuple[Any, Any, Any],
    precision: PrecisionLike | None,
    where: Where,
    fan_in: int,
    report: Reporter | None,
    *,
    sides: bool = True,
    method: str = "auto",
) -> Job:
    """Return the job of a call."""
    fan_in = integer_from(2, fan_in, f"{function}: fan_in")
    if method not in METHODS:
        raise ValueError(f"{function}: method must be one of {METHODS}; got {shown(method)}")
    if sum(x is not None for x in where) > 1:
        raise ValueError(f"{function}: give one of scheduler, devices and comm")
    if where.comm is not None:
        return _job_of_rank(function, parts, precision, where.comm, fan_in, report, sides, method)
    here: AbstractContextManager[Any] = nullcontext()
    engine: Engine
    if where.devices is None:
        rows = source(function, *parts)
        engine = engine_for(function, where.scheduler, rows)
    else:
        names = checked(function, where.devices)
        rows = source(function, *parts, cuts=len(names))
        if rows.delayed or rows.once:
            raise TypeError(f"{function}: devices= takes arrays and lists of chunks")
        rows, engine, here = spread(function, rows, names), OnDevices(names), first_of(names)
    rows, seen = _first(function, engine, rows)
    form = form_of(function, seen, precision, sides=sides)._replace(changes=not rows.held)
    chosen = _method(method, seen, rows)
    return Job(function, engine, rows, form, fan_in, report, here, chosen)


def with_checkpoint(job: Job, folder: Any) -> Job:
    """Return a job whose chunks leave their results in a folder, if one is given.

    Raises
    ------
    ValueError
        If the folder belongs to another call, or rows come once or lie apart.
    """
    if folder is None:
        return job
    if job.source.once or isinstance(job.engine, (Ranks, OnDevices)):
        raise ValueError(
            f"{job.function}: checkpoint= is for chunks that can be read again, on hosts: give a "
            "list or mdqr.distributed.Rows, without devices= and comm="
        )
    form = job.form
    call = {
        "working precision": form.work.name, "complex": form.is_complex, "columns": form.n,
        "right-hand sides": form.right, "chunks": job.source.length, "mdqr": __version__,
    }  # fmt: skip
    return job._replace(checkpoint=opened_folder(job.function, folder, call), method="householder")


def _first(function: str, engine: Engine, rows: Source) -> tuple[Source, tuple[Any, ...]]:
    """Return the chunks, and the parts of the first one."""
    items: Iterator[Any] = iter(rows.items)
    try:
        _, first = next(numbered(function, items))
    except StopIteration:
        raise np.linalg.LinAlgError(f"{function}: there are no rows: no chunk is given") from None
    except ChunkError as error:
        raise error.made from error.__cause__
    handle = list(first) if rows.delayed and isinstance(first, (list, tuple)) else first
    if rows.once:
        rows = rows._replace(items=chain([first], items))
    try:
        seen = engine.result(engine.submit("mdqr-first", opened, handle)) if rows.delayed else None
        return rows, tuple(opened(first) if seen is None else seen)
    except Exception as error:  # a source may raise anything
        raise named(function, 0, error) from error


def _method(method: str, parts: tuple[Any, ...], rows: Source) -> str:
    """Return "products" where these are asked for, or for chunks on a GPU."""
    if rows.once and method == "products":
        raise ValueError('method="products" reads rows twice: give mdqr.distributed.Rows or a list')
    if method != "auto":
        return method
    return "householder" if on_host(*parts) or rows.once else "products"


def _job_of_rank(
    function: str,
    parts: tuple[Any, Any, Any],
    precision: PrecisionLike | None,
    comm: Any,
    fan_in: int,
    report: Reporter | None,
    sides: bool,
    method: str,
) -> Job:
    """Return the job of a rank; all raise what one of them raises."""
    engine = Ranks(comm)
    name = f"{function}: rank {engine.comm.rank}"
    job: Job | Exception
    try:
        rows, seen = _first(name, engine, source(name, *parts))
        form = form_of(name, seen, precision, sides=sides)
        job = Job(name, engine, rows, form, fan_in, report, method=_method(method, seen, rows))
    except Exception as error:  # or the other ranks would wait for this one
        job = error
    found = engine.gathered(job if isinstance(job, Exception) else (job.form, job.method))
    for rank, other in enumerate(found):
        if isinstance(other, Exception):
            raise other
        if other != found[0]:
            raise ValueError(
                f"{function}: the rows of rank {rank} have another form than those of rank 0: "
                f"{_differences(other, found[0])}"
            )
    assert isinstance(job, Job)
    return job


def _differences(own: tuple[Form, str], first: tuple[Form, str]) -> str:
    """Return the options that two forms do not share."""
    names = {
        "precision": "precision", "most": "precision of the data", "is_complex": "complex",
        "n": "columns", "right": "right-hand sides", "is_vector": "b is a vector",
        "units": "errors of entries",
    }  # fmt: skip
    pairs = {what: (getattr(own[0], name), getattr(first[0], name)) for name, what in names.items()}
    pairs["method"] = (own[1], first[1])
    return ", ".join(f"{what} {x} and {y}" for what, (x, y) in pairs.items() if x != y)
