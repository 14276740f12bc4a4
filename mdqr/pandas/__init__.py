"""Columns of multiple doubles in pandas (experimental).

Importing this module registers the types ``mdqr[d]``, ``mdqr[dd]``, ``mdqr[qd]`` and ``mdqr[od]``.
A column of one keeps its digits in arithmetic, statistics, groups and files; statistics that pandas
has for float64 alone raise TypeError.
"""

from __future__ import annotations

from mdqr.pandas._array import MDExtensionArray
from mdqr.pandas._dtype import MDDtype

__all__ = ["MDDtype", "MDExtensionArray"]


def __dir__() -> list[str]:
    return list(__all__)
