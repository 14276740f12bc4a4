"""Functions that SciPy takes from a namespace, named as in `scipy.special`; not of the standard."""

from __future__ import annotations

from typing import Any

from mdqr.array_api._elementwise import SPECIAL

__all__ = [*sorted(SPECIAL)]

globals().update(SPECIAL)


def __getattr__(name: str) -> Any:
    """Tell type checkers that functions are made while this is loaded."""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
