"""Columns of a file that are right-hand sides."""

from __future__ import annotations

from operator import index
from typing import Any


def column(x: Any) -> int:
    """Return the index of a column; a bool is none."""
    if isinstance(x, bool):
        raise TypeError(f"open_rows: b must name columns or give their indices; got {x}")
    return index(x)


def within(k: int, n: int, path: str) -> int:
    """Return the index of one of n columns, counted from the end if negative."""
    if not -n <= k < n:
        raise ValueError(f"open_rows: b is column {k}, and {path} has {n} columns")
    return k % n
