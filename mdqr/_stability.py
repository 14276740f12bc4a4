"""Experimental parts, and names that will go: decorators for the promises of the page Stability."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from mdqr._errors import warn_caller

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T", bound=Callable[..., Any])

NOTE = "Experimental: it may change in any minor release, without a warning before."


def experimental(marked: _T) -> _T:
    """Mark a function or class as experimental, in its docstring; nothing warns."""
    marked.__doc__ = _with_note(marked.__doc__, NOTE)
    return marked


def _with_note(text: str | None, note: str) -> str | None:
    """Return a docstring with a paragraph after its first."""
    if text is None:  # of python -OO
        return None
    head, blank, rest = inspect.cleandoc(text).partition("\n\n")
    return f"{head}\n\n{note}{blank}{rest}\n"


class Deprecation(NamedTuple):
    """A name that goes, or a meaning that changes.

    Attributes
    ----------
    what : str
        The name, as users write it.
    since, removed_in : str
        Versions: of the first warning, and of the end.
    use : str
        The advice.
    results_change : bool
        Whether the same call will give another result; else it will fail.
    """

    what: str
    since: str
    removed_in: str
    use: str
    results_change: bool = False

    def check(self) -> None:
        """Raise ValueError unless it stays as long as promised: a minor release, two from 1.0 on.

        A year besides is for whoever removes it.
        """
        first, last = (_parts(version) for version in (self.since, self.removed_in))
        least = 2 if first >= (1, 0) else 1
        if last < (first[0], first[1] + least) and last[0] == first[0]:
            raise ValueError(
                f"{self.what}: deprecated in {self.since}, it stays for {least} minor releases"
            )

    @property
    def message(self) -> str:
        """The text of the warning."""
        end = "changes its result" if self.results_change else "is removed"
        time = f"is deprecated since {self.since} and {end} in {self.removed_in}"
        return f"{self.what} {time}; {self.use}"

    def warn(self) -> None:
        """Warn at the line outside of the package that called it."""
        category = FutureWarning if self.results_change else DeprecationWarning
        warn_caller(category(self.message))


def _parts(version: str) -> tuple[int, int]:
    major, minor, *_ = map(int, version.split("."))
    return major, minor


# All that are made, for the test that looks at their versions.
DEPRECATIONS: list[Deprecation] = []


def _noted(deprecation: Deprecation) -> Deprecation:
    deprecation.check()
    DEPRECATIONS.append(deprecation)
    return deprecation


def deprecated(
    what: str, *, since: str, removed_in: str, use: str, results_change: bool = False
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function warn, and note it in its docstring."""
    noted = _noted(Deprecation(what, since, removed_in, use, results_change))

    def mark(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
            noted.warn()
            return function(*arguments, **options)

        call.__doc__ = _with_note(call.__doc__, f"Deprecated since {since}: {use}.")
        return call

    return mark


def renamed_keyword(
    old: str, new: str, *, since: str, removed_in: str
) -> Callable[[Callable[..., _R]], Callable[..., _R]]:
    """Let a function take a keyword by its old name, with a warning."""

    def mark(function: Callable[..., _R]) -> Callable[..., _R]:
        what = f"{old}= of {function.__name__}"
        noted = _noted(Deprecation(what, since, removed_in, f"use {new}="))

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> _R:
            if old in options:
                if new in options:
                    raise TypeError(
                        f"{function.__name__}: {old}= is the old name of {new}=; give {new}= alone"
                    )
                noted.warn()
                options[new] = options.pop(old)
            return function(*arguments, **options)

        return call

    return mark
