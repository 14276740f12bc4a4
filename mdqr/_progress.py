"""Progress of long calls: a callable, or a bar on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

# Called as progress(stage, done, total); total is None where it is not known.
Report = Callable[[str, int, int | None], object]
# Seconds before a bar is shown.
_PATIENCE = 1.0


class Bar:
    """A tqdm bar for each stage of what takes longer than a second; nothing but on a terminal.

    Parameters
    ----------
    label : str, optional
        What stands before the name of a stage.
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
            wait = max(0.0, self._start + _PATIENCE - time.monotonic())
            self._bar = tqdm(
                desc=self._label + stage,
                total=total,
                delay=wait,
                leave=False,
                disable=None,
                file=sys.stderr,
            )
        self._bar.total = total
        self._bar.update(done - self._bar.n)
        if done == total:
            self.close()

    def close(self) -> None:
        """Clear the bar."""
        if self._bar is not None:
            self._bar.close()
        self._bar = self._stage = None


def reporter(function: str, progress: Any) -> Report | None:
    """Return what to call for the option `progress` of a function.

    Parameters
    ----------
    function : str
        The name for messages and bars.
    progress : callable, bool or None
        Called as ``progress(stage, done, total)``; True for a bar, None or False for nothing.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar(f"{function}: ")
    if not callable(progress):
        raise TypeError(
            f"{function}: progress must be True for a bar, None, or callable as "
            f"progress(stage, done, total); got {type(progress).__name__}"
        )
    return progress  # type: ignore[no-any-return]
