"""A timer on the host, one by events on a GPU, and where the time of a call goes there."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar
from unittest import mock

Call = Callable[[], Any]
Target = tuple[Any, str, str]
Result = TypeVar("Result")

LONGEST = 1.0  # seconds that the repeats of one timing by events may take


@dataclass(frozen=True)
class Timer:
    """Medians of `repeats` timings on the host, each of at least `at_least` seconds.

    No repeat begins that would bring them above `at_most` seconds; `wait` waits for the device.
    """

    repeats: int
    at_least: float = 0.0
    at_most: float = float("inf")
    wait: Call | None = None

    def seconds(self, call: Call) -> float:
        """Return the median time of one call, after one call that is not counted."""
        number = max(1, round(self.at_least / max(self.once(call), 1e-9)))
        found = [self.once(call, number)]
        while len(found) < self.repeats and number * (sum(found) + found[-1]) <= self.at_most:
            found.append(self.once(call, number))
        return statistics.median(found)

    def once(self, call: Call, number: int = 1) -> float:
        """Return the time of a call, the mean of so many."""
        start = time.perf_counter()
        for _ in range(number):
            call()
        if self.wait is not None:
            self.wait()
        return (time.perf_counter() - start) / number


def with_times(call: Callable[[], Result]) -> tuple[Result, float, float]:
    """Return what a call returns, its seconds, and those of processor time."""
    start, clock = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - start, time.process_time() - clock


@cache
def cupy() -> ModuleType:
    """Return CuPy; the module can be imported where there is none."""
    import cupy

    return cupy


def free() -> None:
    """Give the memory of the pool back."""
    cupy().get_default_memory_pool().free_all_blocks()


def recorded() -> Any:
    """Return an event at this place of the stream."""
    event = cupy().cuda.Event()
    event.record()
    return event


def timed(
    *steps: Call, repeats: int = 3, skip: int = 1, before: Call | None = None
) -> tuple[list[float], Any]:
    """Return the medians of the milliseconds of steps between events, and the last result.

    The first `skip` runs do not count; `before` comes before each run, outside of the time.
    """
    found: list[list[float]] = []
    start, result = time.monotonic(), None
    while len(found) < skip + repeats:
        if len(found) > skip and time.monotonic() - start >= LONGEST:
            break
        if len(found) == skip:
            start = time.monotonic()
        if before is not None:
            before()
        events, result = [recorded()], None
        for step in steps:
            result = step()
            events.append(recorded())
        events[-1].synchronize()
        found.append([cupy().cuda.get_elapsed_time(*pair) for pair in pairwise(events)])
    return [statistics.median(times) for times in zip(*found[skip:], strict=True)], result


def milliseconds(call: Call, repeats: int) -> float:
    """Return the median time of a call between events, after two calls that do not count."""
    return timed(call, repeats=repeats, skip=2)[0][0]


class Phases:
    """Where the time of a call goes; the innermost phase owns the time.

    Phases are functions of owners, ``(owner, name of the function, name of the phase)``; those in
    `within` do not begin inside of others. An event stands at every boundary, so that nothing
    waits: they cost a few microseconds each.
    """

    def __init__(
        self,
        targets: Iterable[Target],
        within: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self._targets, self._within = list(targets), within
        self._stack = ["rest"]
        self._events: list[tuple[str, Any]] = []

    def milliseconds(self, call: Call) -> dict[str, float]:
        """Return the time of each phase in a call."""
        with ExitStack() as stack:
            for owner, function, phase in self._targets:
                watched = self._watched(phase, getattr(owner, function))
                stack.enter_context(mock.patch.object(owner, function, watched))
            self._events = [("rest", recorded())]
            call()
            self._boundary()
        self._events[-1][1].synchronize()
        found: dict[str, float] = {}
        for (name, first), (_, second) in pairwise(self._events):
            found[name] = found.get(name, 0.0) + cupy().cuda.get_elapsed_time(first, second)
        return found

    def _boundary(self) -> None:
        self._events.append((self._stack[-1], recorded()))

    def _watched(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            if self._stack[-1] in (phase, *self._within.get(phase, ())):
                return function(*arguments, **options)
            self._stack.append(phase)
            self._boundary()
            try:
                return function(*arguments, **options)
            finally:
                self._stack.pop()
                self._boundary()

        return run
