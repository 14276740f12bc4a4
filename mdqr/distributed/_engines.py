"""Engines for the tasks of a call: this process, or Dask."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Protocol

from mdqr._errors import shown
from mdqr._progress import Reporter
from mdqr.distributed._rows import Source

_LOCAL = ("synchronous", "threads", "processes")


class Engine(Protocol):
    """Runs functions of tasks that have run before, each in the order in which it is submitted."""

    def submit(
        self, name: str, function: Callable[..., Any], *arguments: Any, place: int | None = None
    ) -> Any:
        """Return the result of a function, or a handle of it; `place` is the index of a chunk."""

    def shared(self, value: Any) -> Any:
        """Return a handle of an argument of many tasks."""

    def result(self, task: Any) -> Any:
        """Return the result of a task."""

    def joined(self, task: Any, merge: Callable[[list[Any]], Any]) -> Any:
        """Return the merged results of all processes that make this call."""


class Here:
    """The calling process: a task runs when it is submitted."""

    def submit(
        self, name: str, function: Callable[..., Any], *arguments: Any, place: int | None = None
    ) -> Any:
        """Call the function."""
        return function(*arguments)

    def shared(self, value: Any) -> Any:
        """Return the value."""
        return value

    def result(self, task: Any) -> Any:
        """Return the task, which is its result."""
        return task

    def joined(self, task: Any, merge: Callable[[list[Any]], Any]) -> Any:
        """Return the task: no other process has a part in it."""
        return task


class OnDask:
    """A Dask scheduler or a `distributed.Client`: a task is a delayed object."""

    def __init__(self, scheduler: Any) -> None:
        self._scheduler, self._call = scheduler, uuid.uuid4().hex[:12]

    def submit(
        self, name: str, function: Callable[..., Any], *arguments: Any, place: int | None = None
    ) -> Any:
        """Return the delayed call."""
        dask = imported("dask")
        key = f"{name}-{self._call}-{uuid.uuid4().hex[:12]}"
        return dask.delayed(function, pure=False)(*arguments, dask_key_name=key)

    def shared(self, value: Any) -> Any:
        """Return the value as a task of its own, so that a graph holds it once."""
        dask = imported("dask")
        return dask.delayed(value, name=f"mdqr-shared-{uuid.uuid4().hex[:12]}", traverse=False)

    def result(self, task: Any) -> Any:
        """Compute a task; an interruption cancels the rest."""
        if not hasattr(self._scheduler, "compute"):
            return imported("dask").compute(task, scheduler=self._scheduler)[0]
        future = self._scheduler.compute(task)
        try:
            return future.result()
        except BaseException as error:
            future.cancel()
            if type(error).__name__ == "KilledWorker":
                raise _lost(error) from error
            raise

    def joined(self, task: Any, merge: Callable[[list[Any]], Any]) -> Any:
        """Return the task: the graph has all."""
        return task


def _lost(error: BaseException) -> RuntimeError:
    """Return an exception for workers that were lost more often than Dask allows."""
    found = re.match(r"mdqr-([a-z]+(?:-\d+)?)-(\d+)-", str(error.args[0]))
    where = "a task" if found is None else f"chunk {found[2]} in the stage {found[1]}"
    return RuntimeError(
        f"mdqr.distributed: the worker was lost at each try of {where}: if it ran out of memory, "
        "smaller chunks help"
    )


def engine_for(function: str, scheduler: Any, source: Source) -> Engine:
    """Return the engine for a source.

    Raises
    ------
    ValueError
        If the scheduler is unknown, or an iterator should go to other processes.
    ImportError
        If Dask is needed and missing.
    """
    if isinstance(scheduler, str):
        if scheduler not in _LOCAL:
            raise ValueError(
                f"{function}: scheduler must be one of {', '.join(_LOCAL)}, a distributed.Client "
                f"or None; got {shown(scheduler)}"
            )
        if scheduler == "synchronous" and not source.delayed:
            return Here()
    elif scheduler is not None and not hasattr(scheduler, "compute"):
        raise ValueError(f"{function}: scheduler is no distributed.Client; got {shown(scheduler)}")
    if scheduler is None:
        scheduler = _current()
        if not source.delayed and scheduler is None:
            return Here()
    if source.once:
        if scheduler is None or isinstance(scheduler, str):
            return Here()
        raise ValueError(
            f"{function}: an iterator stays in this process: give a list, mdqr.distributed.Rows, "
            'or scheduler="synchronous"'
        )
    imported("dask")
    return OnDask("synchronous" if scheduler is None else scheduler)


def _current() -> Any:
    """Return the current client, or the scheduler of Dask's configuration; None for neither."""
    distributed, dask = sys.modules.get("distributed"), sys.modules.get("dask")
    if distributed is not None:
        try:
            return distributed.get_client()
        except ValueError:
            pass
    return None if dask is None else dask.config.get("scheduler", None)


def imported(name: str) -> Any:
    """Return a module of an optional package.

    Raises
    ------
    ImportError
        If it is missing.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f'{name} is missing: pip install "mdqr[distributed]"') from error


def folded(
    engine: Engine,
    name: str,
    items: Iterable[Any],
    merge: Callable[[list[Any]], Any],
    fan_in: int,
    *,
    report: Reporter | None = None,
    count: int | None = None,
) -> Any:
    """Merge items by a tree that depends on their number and `fan_in` alone.

    At most `fan_in` items of each level wait at any time, so that a stream needs little memory.

    Returns
    -------
    object
        The engine's handle of the whole; `merge` of the empty list without items.
    """
    return engine.joined(_tree(engine, name, items, merge, fan_in, report, count), merge)


def _tree(
    engine: Engine,
    name: str,
    items: Iterable[Any],
    merge: Callable[[list[Any]], Any],
    fan_in: int,
    report: Reporter | None,
    count: int | None,
) -> Any:
    """Return the result of `folded` in this process."""
    levels: list[list[Any]] = [[]]
    for done, item in enumerate(items, 1):
        _add(engine, name, levels, 0, item, merge, fan_in)
        if report is not None:
            report(name, done, count)
    carried: list[Any] = []
    for level, waiting in enumerate(levels):
        waiting += carried
        if len(waiting) == 1 and not any(levels[level + 1 :]):
            return waiting[0]
        carried = waiting
        if len(waiting) > 1:
            carried = [engine.submit(f"mdqr-{name}-merge", merge, waiting)]
    return carried[0] if carried else engine.submit(f"mdqr-{name}-merge", merge, [])


def _add(
    engine: Engine,
    name: str,
    levels: list[list[Any]],
    level: int,
    item: Any,
    merge: Callable[[list[Any]], Any],
    fan_in: int,
) -> None:
    """Add an item to a level, and go up where that is full."""
    while True:
        if level == len(levels):
            levels.append([])
        levels[level].append(item)
        if len(levels[level]) < fan_in:
            return
        item = engine.submit(f"mdqr-{name}-merge", merge, levels[level])
        levels[level] = []
        level += 1
