"""Progress of long calls: a callable, or a bar on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

# Called as report(stage, done, total); total is None where it is not known.
Reporter = Callable[[str, int, int | None], object]
# What users give: True is a bar, False is None.
Progress = Reporter | bool | None

_T = TypeVar("_T")
# Seconds before a bar is shown.
_PATIENCE = 1.0


class _StoppedError(BaseException):
    """Carries an error of a callable of users past all that handles errors of algorithms."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class Report:
    """A callable of users, whose errors end the call: nothing takes them for its own."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        try:
            self._reporter(stage, done, total)
        except BaseException as error:
            raise _StoppedError(error) from None


class Bar:
    """A tqdm bar for each stage of what takes longer than a second; nothing but on a terminal.

    Parameters
    ----------
    label : str, optional
        The text in front of the name of a stage.
    """

    def __init__(self, label: str = "") -> None:
        self._label, self._start = label, time.monotonic()
        self._bar: Any = None
        self._stage: str | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        from tqdm import tqdm

        if stage != self._stage:
            self.close()
            self._stage = stage
            self._bar = tqdm(
                desc=self._label + stage,
                total=total,
                delay=max(0.0, self._start + _PATIENCE - time.monotonic()),
                leave=False,
                disable=None,
                file=sys.stderr,
            )
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Clear the bar."""
        if self._bar is not None:
            self._bar.close()
        self._bar = self._stage = None


class Steps:
    """A stage whose number of steps is not known before the last one."""

    def __init__(self, report: Reporter, stage: str) -> None:
        self._report, self._stage, self._done = report, stage, 0

    def step(self) -> None:
        """Report one step more."""
        self._done += 1
        self._report(self._stage, self._done, None)

    def end(self) -> None:
        """Report the last step as the last."""
        self._report(self._stage, self._done, self._done)


def with_report(function: Callable[..., _T], arguments: dict[str, Any]) -> _T:
    """Call a function again, with a `Report` or None as its `progress`.

    For the first line of a function, where ``locals()`` are its arguments, so that those who want
    no progress pay a comparison::

        if not (progress is None or isinstance(progress, Report)):
            return with_report(solve, locals())

    Parameters
    ----------
    function : callable
        The function; its name is part of messages and of the bar.
    arguments : dict
        All its arguments by name, `progress` among them: a callable, True for a bar, which is
        closed when the call ends or raises, or False for nothing.

    Raises
    ------
    TypeError
        If `progress` is anything else.
    """
    progress, name = arguments["progress"], function.__name__
    if not isinstance(progress, bool) and not callable(progress):
        raise TypeError(
            f"{name}: progress must be None, True for a bar, or callable as "
            f"progress(stage, done, total); got {type(progress).__name__}"
        )
    kinds = signature(function).parameters.values()
    data = [arguments[each.name] for each in kinds if each.kind is each.POSITIONAL_ONLY]
    options = {
        each.name: arguments[each.name]
        for each in kinds
        if each.kind not in (each.POSITIONAL_ONLY, each.VAR_KEYWORD)
    }
    options |= next((arguments[each.name] for each in kinds if each.kind is each.VAR_KEYWORD), {})
    if progress is False:
        return function(*data, **{**options, "progress": None})
    reporter: Any = Bar(f"{name}: ") if progress is True else progress
    try:
        return function(*data, **{**options, "progress": Report(reporter)})
    except _StoppedError as stopped:
        error = stopped.error
    finally:
        if progress is True:
            reporter.close()
    raise error
