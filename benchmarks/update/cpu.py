"""Updates on a CPU: against scipy.linalg in float64, against a fresh factorisation above it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Options
from benchmarks.common.tables import grid, number
from benchmarks.update.cells import Numbers, taken
from benchmarks.update.paper import row_of
from mdqr.linalg import qr, qr_delete, qr_insert, qr_update

SIZES = {"dd": (400, 250), "qd": (240, 150), "od": (180, 100)}


def calls(
    Q: Any, R: Any, a: Any, draw: Callable[[int, int], Any], p: int, functions: Any, **options: Any
) -> Iterator[tuple[str, partial[Any]]]:
    """Yield every update in the middle of a matrix, with ``(insert, delete, update)`` functions."""
    insert, delete, update = functions
    m, n = a.shape
    yield "insert row", partial(insert, Q, R, draw(p, n), m // 2, "row", **options)
    yield "insert col", partial(insert, Q, R, draw(m, p), n // 2, "col", **options)
    yield "delete row", partial(delete, Q, R, (m - p) // 2, p, "row", **options)
    yield "delete col", partial(delete, Q, R, (n - p) // 2, p, "col", **options)
    yield "rank p", partial(update, Q, R, draw(m, p), draw(n, p), **options)


def against_scipy(options: Options) -> Iterator[Row]:
    """Time of SciPy over ours, float64: above 1 ours is faster."""
    import scipy.linalg

    numbers = Numbers("float64", "cpu")
    draw = partial(numbers.draw, seed=2)
    theirs = (scipy.linalg.qr_insert, scipy.linalg.qr_delete, scipy.linalg.qr_update)
    for m, n in ((200, 100),) if options.quick else ((200, 100), (1000, 500)):
        a = numbers.draw(m, n, seed=7)
        for mode in ("full", "economic"):
            Q, R = scipy.linalg.qr(a, mode=mode)
            for p in (1, 16, 64):
                pairs = zip(
                    calls(Q, R, a, draw, p, (qr_insert, qr_delete, qr_update)),
                    calls(Q, R, a, draw, p, theirs),
                    strict=True,
                )
                for (name, ours), (_, other) in pairs:
                    mine, peer = numbers.timer.seconds(ours), numbers.timer.seconds(other)
                    what = f"{name}, {mode} Q"
                    found = _found(what, "float64", (m, n), p, mine, "scipy", peer)
                    yield row_of(found)


def against_fresh(options: Options) -> Iterator[Row]:
    """Time of a fresh factorisation of the changed matrix over that of a deciding call.

    Above 1 the call is faster. Both ways of the call are timed too: a fresh one from factors
    has to form their product first, and rows leave without Q by an update alone.
    """
    for precision in PRECISIONS[1:]:
        m, n = (160, 90) if options.quick else SIZES.get(precision.name, (100, 60))
        numbers = Numbers(precision.name, "cpu")
        a = numbers.draw(m, n, 1)
        for mode in ("complete", "reduced", "r"):
            Q, R = (None, qr(a, "r")) if mode == "r" else qr(a, mode)
            fresh = _fresh(numbers, mode)
            for p in (1, 16, 64):
                for name, ours in _forms(numbers, Q, R, a, p):
                    ways = _ways(numbers, ours, both=name != "delete row" or Q is not None)
                    way = taken(ours)
                    what = f"{name}, Q {'none' if mode == 'r' else mode}"
                    peer = fresh(*_changed(name, (m, n), p))
                    found = _found(what, precision.name, (m, n), p, ways[way], "fresh QR", peer)
                    choice = min(ways.values()) / ways[way]
                    yield row_of(found | {"way": way, "ways": ways, "choice": choice})


def _ways(numbers: Numbers, call: Callable[..., Any], *, both: bool) -> dict[str, float]:
    """Return the times of a call by an update and, if there is that way, by a refactorisation."""
    methods = ("update", "fresh") if both else ("update",)
    return {method: numbers.timer.seconds(partial(call, method=method)) for method in methods}


def _changed(name: str, shape: tuple[int, int], p: int) -> tuple[int, int]:
    """Return the shape after an update."""
    m, n = shape
    step = {"insert": p, "delete": -p}.get(name.split()[0], 0)
    return (m, n + step) if name.endswith("col") else (m + step, n)


def _fresh(numbers: Numbers, mode: str) -> Callable[[int, int], float]:
    """Return the times of factorisations by shape, each measured once."""
    return cache(lambda m, n: numbers.timer.seconds(partial(qr, numbers.draw(m, n, seed=3), mode)))


def _forms(
    numbers: Numbers, Q: Any, R: Any, a: mdqr.MDArray, p: int
) -> Iterator[tuple[str, partial[Any]]]:
    draw = partial(numbers.draw, seed=2)
    m, n = a.shape
    if Q is not None:
        functions = (qr_insert, qr_delete, qr_update)
        yield from calls(Q, R, a, draw, p, functions)
        return
    yield "insert row", partial(qr_insert, None, R, draw(p, n), 0)
    yield "insert col", partial(qr_insert, None, R, draw(m, p), n // 2, "col", a=a)
    yield "delete row", partial(qr_delete, None, R, 0, p, u=a[:p])
    yield "delete col", partial(qr_delete, None, R, (n - p) // 2, p, "col")


def _found(
    what: str, kind: str, shape: tuple[int, int], p: int, ours: float, who: str, peer: float
) -> dict[str, Any]:
    return {
        "what": what,
        "precision": kind,
        "size": f"{shape[0]} x {shape[1]}",
        "p": p,
        "update": ours,
        "peer": who,
        "peer time": peer,
        "speedup": peer / ours,
    }


def table(rows: list[Row]) -> list[str]:
    """Return the lines of a Markdown table."""
    cells = [
        [
            *(found[key] for key in ("what", "precision", "size")),
            *(str(found["p"]), number(found["update"] * 1e3), found["peer"]),
            *(number(found["peer time"] * 1e3), f"{found['speedup']:.2f}", found.get("way", "")),
            format(found["choice"], ".2f") if "choice" in found else "",
        ]
        for found in (row.details for row in rows)
    ]
    head = ["update", "precision", "size", "p", "ms", "peer", "peer ms", "peer / ours"]
    return grid([*head, "way", "best / way"], cells)
