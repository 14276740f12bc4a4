"""Short tests of many cases as one test: an item of pytest costs more than such a case."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest


def each_case(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test with each of `cases`, as ``pytest.mark.parametrize`` does; all failures are shown.

    For tests that skip nothing; the cases share their fixtures.
    """
    keys, listed = [name.strip() for name in names.split(",")], list(cases)
    assert listed

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            errors = []
            for case in listed:
                given = dict(zip(keys, case if len(keys) > 1 else (case,), strict=True))
                try:
                    test(**given, **fixtures)
                except pytest.skip.Exception:
                    errors.append(AssertionError(f"a case skips, with {given!r}"))
                except Exception as error:
                    error.add_note(f"with {given!r}")
                    errors.append(error)
            if errors:
                raise errors[0] if len(errors) == 1 else ExceptionGroup(names, errors)

        signature = inspect.signature(test)
        others = [p for p in signature.parameters.values() if p.name not in keys]
        run.__signature__ = signature.replace(parameters=others)
        return run

    return decorate
