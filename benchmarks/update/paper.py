"""Tables 2, 3, 5 to 11 of R. Andrew and N. J. Dingle (2012): seconds, Tesla M2050, float32."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.common.rows import FASTER, Row


class Cell(NamedTuple):
    """One measurement of the paper; `m` rows and `n` columns before the update."""

    table: int
    kind: str  # "insert col", "delete col", "insert row", "delete row"
    m: int
    n: int
    k: int
    p: int
    full: float
    update: float

    @property
    def speedup(self) -> float:
        """The paper's quotient of a fresh factorisation and the update."""
        return self.full / self.update

    @property
    def shape(self) -> tuple[int, int]:
        """Shape after the update."""
        step = self.p if self.kind.startswith("insert") else -self.p
        return (self.m + step, self.n) if self.kind.endswith("row") else (self.m, self.n + step)


def _by_k(table: int, n: int, p: int, full: dict[int, float], rows: str) -> Iterator[Cell]:
    """Tables 2 and 3: a row for each k, a column for each m."""
    for line in rows.strip().splitlines():
        k, *seconds = line.split()
        for (m, time), update in zip(full.items(), seconds, strict=True):
            yield Cell(table, "insert col", m, n, int(k), p, time, float(update))


TABLE_2 = """
0 2.357 3.867 5.670
500 1.887 3.219 4.825
1000 1.464 2.636 4.048
1500 1.075 2.046 3.360
2000 0.725 1.499 2.667
2500 0.404 1.021 1.941
3000 0.155 0.613 1.445
"""
TABLE_3 = """
0 8.585 11.385 14.458
500 7.670 10.280 13.184
1000 6.730 9.162 11.930
1500 5.951 8.152 10.642
2000 5.112 7.249 9.639
2500 4.393 6.307 8.551
3000 3.720 5.423 7.512
3500 3.068 4.562 6.534
4000 2.458 3.865 5.425
4500 1.876 3.055 4.660
5000 1.388 2.414 3.717
5500 0.911 1.675 2.953
6000 0.503 1.177 2.187
"""
TABLE_5 = """
100 0.500 0.180 0.870 0.386
300 0.528 0.323 0.919 0.732
500 0.555 0.428 0.973 0.967
700 0.564 0.526 1.028 1.198
900 0.603 0.643 1.085 1.392
1100 0.620 0.731 1.149 1.606
1300 0.648 0.848 1.221 1.885
1500 0.683 0.954 1.230 2.027
"""
TABLE_6 = """
6000 0.562 0.591
7000 0.672 0.600
8000 0.753 0.592
9000 0.871 0.596
10000 0.959 0.597
11000 1.101 0.616
12000 1.193 0.620
"""
TABLE_7 = """
0 0.601 0.605 0.609
500 0.526 0.482 0.479
1000 0.417 0.387 0.353
1500 0.312 0.287 0.239
2000 0.212 0.189 0.136
2500 0.111 0.101 0.042
2800 - 0.047 -
2900 0.050 - -
"""
TABLE_7_FULL = {100: 0.669, 200: 0.631, 500: 0.565}
TABLE_8 = """
8000 1.174 1.006
9000 1.300 0.991
10000 1.440 1.021
11000 1.583 1.015
12000 1.717 1.019
13000 1.845 0.999
14000 2.002 1.040
"""
TABLE_9 = """
1000 0.321 0.192 0.373 0.253
2000 0.611 0.398 0.730 0.589
3000 0.981 0.627 1.137 0.986
4000 1.383 0.908 1.654 1.482
5000 1.802 1.200 2.219 2.075
6000 2.265 1.551 2.807 2.754
7000 2.746 1.931 3.414 3.485
"""
TABLE_10 = """
20 2.999 3.068 4.240 3.325 5.680 3.592
40 2.895 4.646 4.185 5.189 5.563 5.631
60 2.963 6.417 4.202 6.989 5.631 7.674
80 2.921 8.111 4.088 8.851 5.435 9.679
100 2.954 9.752 4.144 10.706 5.575 11.742
"""
TABLE_11 = """
20 1.745 1.736 2.999 3.068 4.197 4.587
40 1.775 2.635 2.895 4.646 4.176 7.266
60 1.773 3.501 2.963 6.417 4.205 10.064
80 1.757 4.371 2.921 8.111 4.116 12.773
100 1.713 5.181 2.954 9.752 4.116 15.335
"""


def _lines(text: str) -> Iterator[tuple[int, list[float]]]:
    for line in text.strip().splitlines():
        first, *rest = line.split()
        yield int(first), [float(x) if x != "-" else 0.0 for x in rest]


def _pairs(numbers: list[float]) -> Iterator[tuple[float, float]]:
    yield from zip(numbers[::2], numbers[1::2], strict=True)


def cells() -> list[Cell]:
    """Return all measurements, in the order of the paper."""
    found = [*_by_k(2, 3000, 200, {4000: 0.380, 8000: 1.000, 12000: 1.594}, TABLE_2)]
    found += _by_k(3, 6000, 200, {8000: 1.797, 12000: 3.003, 16000: 4.241}, TABLE_3)
    for p, numbers in _lines(TABLE_5):
        for m, times in zip((5000, 8000), _pairs(numbers), strict=True):
            found.append(Cell(5, "insert col", m, 3000, 2980, p, *times))
    for m, times in _lines(TABLE_6):
        found.append(Cell(6, "delete col", m, 3000, 0, 500, *times))
    for k, numbers in _lines(TABLE_7):
        for (p, full), update in zip(TABLE_7_FULL.items(), numbers, strict=True):
            if update:
                found.append(Cell(7, "delete col", 6000, 3000, k, p, full, update))
    for m, times in _lines(TABLE_8):
        found.append(Cell(8, "insert row", m, 3000, 0, 500, *times))
    for n, numbers in _lines(TABLE_9):
        for p, times in zip((200, 1500), _pairs(numbers), strict=True):
            found.append(Cell(9, "insert row", 8000, n, 0, p, *times))
    for p, numbers in _lines(TABLE_10):
        for n, times in zip((6000, 8000, 10000), _pairs(numbers), strict=True):
            found.append(Cell(10, "delete row", 12000, n, 0, p, *times))
    for p, numbers in _lines(TABLE_11):
        for m, times in zip((8000, 12000, 16000), _pairs(numbers), strict=True):
            found.append(Cell(11, "delete row", m, 6000, 0, p, *times))
    return found


def row_of(found: dict[str, Any]) -> Row:
    """Return the row of a cell, of a peer's time or of a solution, with all that was found."""
    precision = found["precision"]
    if "table" in found:
        size = "{m} x {n}, k = {k}, p = {p}".format(**found)
        group, gain = f"table {found['table']}", found.get("speedup", math.nan)
        aim = found.get("aim")
        return Row(group, found["kind"], "mdqr", precision, size, gain, FASTER, aim, found)
    group = {"scipy": "scipy", "fresh QR": "fresh"}.get(found.get("peer", ""), "solutions")
    value, unit = (found["updated"], "") if group == "solutions" else (found["update"], "s")
    size = "{size}, p = {p}".format(**found)
    return Row(group, found["what"], "mdqr", precision, size, value, unit, details=found)
