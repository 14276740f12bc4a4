"""What one more observation costs an `UpdatableLstsq`: ``python -m benchmarks.update.streams``.

Microseconds for a row, in the mean over many inserts, by the rows that are held: rows alone, blocks
of rows, and rows each of which is followed by a solution.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import mdqr
from mdqr.linalg import UpdatableLstsq

REPEATS = 3


def microseconds(fit: UpdatableLstsq, step: Callable[[], Any], count: int, rows: int) -> float:
    """Return the least mean time of a row over `count` steps of `rows` rows."""
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(count):
            step()
        # Rows that wait are worked in.
        _ = fit.R
        found.append((time.perf_counter() - start) / (count * rows))
    return 1e6 * min(found)


def measure(precision: str, n: int, held: int, keep_data: bool) -> list[float]:
    """Return the times of a row alone, in blocks of 10 and 100, and with a solution."""
    options: dict[str, Any] = {"precision": precision}
    a, b = (mdqr.random.normal(s, rng=1, **options) for s in ((held, n), (held,)))
    fit = UpdatableLstsq(a, b, keep_data=keep_data)
    times = []
    for rows, count in ((1, 1280), (10, 256), (100, 64)):
        u, c = (mdqr.random.normal(s, rng=2, **options) for s in ((rows, n), (rows,)))
        fit.insert_rows(u, c)
        times.append(microseconds(fit, partial(fit.insert_rows, u, c), count, rows))

    def step() -> None:
        fit.insert_rows(a[0], b[0])
        fit.solve()

    return [*times, microseconds(fit, step, 64, 1)]


def main() -> None:
    """Print a table."""
    print("| n | rows held | | alone | in tens | in hundreds | and a solution |")
    print("|--:|--:|---|--:|--:|--:|--:|")
    for n in (10, 50):
        for precision in ("dd", "qd", "od"):
            for held in (100, 1_000, 30_000, 100_000) if n == 10 else (100, 1_000, 30_000):
                cells = " | ".join(f"{x:.0f}" for x in measure(precision, n, held, True))
                print(f"| {n} | {held} | {precision} | {cells} |", flush=True)
            cells = " | ".join(f"{x:.0f}" for x in measure(precision, n, 1_000, False))
            print(f"| {n} | none | {precision} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
