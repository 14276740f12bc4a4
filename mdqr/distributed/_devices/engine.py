"""The engine for several devices of one process: chunks stay where they are, one thread each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

from mdqr._array.array import MDArray
from mdqr._limbs.device import check_device, device_of
from mdqr.distributed._rows import Source, opened


class OnDevices:
    """Runs tasks of chunks on devices in turn, and all others where the call is made."""

    def __init__(self, devices: Sequence[str]) -> None:
        self._devices = list(devices)
        self._workers = [_worker(name, devices[:i].count(name)) for i, name in enumerate(devices)]

    def submit(
        self, name: str, function: Callable[..., Any], *arguments: Any, place: int | None = None
    ) -> Any:
        """Begin a task of a chunk; call any other function once its arguments are there."""
        if place is None:
            return function(*map(self.result, arguments))
        turn = place % len(self._devices)
        return self._workers[turn].submit(_run, self._devices[turn], function, *arguments)

    def shared(self, value: Any) -> Any:
        """Return the value."""
        return value

    def result(self, task: Any) -> Any:
        """Wait for a task, or for a list of tasks."""
        if isinstance(task, list):
            return [self.result(each) for each in task]
        return task.result() if isinstance(task, Future) else task

    def joined(self, task: Any, merge: Callable[[list[Any]], Any]) -> Any:
        """Return the task: no other process has a part in it."""
        return self.result(task)


def _run(device: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on a device, and wait for what it has begun: others read it elsewhere."""
    with first_of([device]):
        found = function(*arguments)
        wait()
    return found


def wait() -> None:
    """Wait for the current stream of CuPy, once it is imported."""
    cupy = sys.modules.get("cupy")
    if cupy is not None and hasattr(cupy.cuda, "get_current_stream"):
        cupy.cuda.get_current_stream().synchronize()


@cache
def _worker(device: str, number: int) -> ThreadPoolExecutor:
    """Return a thread for a device; it stays, as its plans and memory do."""
    return ThreadPoolExecutor(1, thread_name_prefix=f"mdqr-{device}-{number}")


def first_of(devices: Sequence[str]) -> AbstractContextManager[Any]:
    """Make the first device the current one."""
    number = check_device(devices[0])
    return nullcontext() if number is None else import_module("cupy").cuda.Device(number)


def spread(function: str, source: Source, devices: Sequence[str]) -> Source:
    """Return chunks on their devices: one array is cut in as many, others go there in turn."""
    items = [opened(item) for item in source.items]
    placed = [
        tuple(_moved(function, part, devices[i % len(devices)]) for part in item)
        for i, item in enumerate(items)
    ]
    wait()
    return Source(placed, len(placed), held=True)


def _moved(function: str, part: Any, device: str) -> Any:
    if isinstance(part, MDArray):
        return part if device_of(part._block) == device else part.to_device(device)
    if device == "cpu":
        return part
    if getattr(getattr(part, "dtype", None), "kind", "") not in tuple("biufc"):
        raise TypeError(
            f"{function}: devices= takes arrays of numbers: mdqr.array(x, precision=...) makes "
            "them of texts"
        )
    # As they are: floats and integers are known to different precisions.
    with first_of([device]):
        return import_module("cupy").asarray(part)
