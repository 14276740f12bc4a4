"""Updates on a CPU: against scipy.linalg in float64, against a fresh factorisation above it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import scipy.linalg
from update_cells import Numbers

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.linalg import qr, qr_delete, qr_insert, qr_update
from mdqr.linalg._update import updates as _updates

SIZES = {"dd": (400, 250), "qd": (240, 150), "od": (180, 100)}


def calls(
    Q: Any, R: Any, a: Any, draw: Callable[[int, int], Any], p: int, functions: Any, **options: Any
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every update in the middle of a matrix, with ``(insert, delete, update)`` functions."""
    insert, delete, update = functions
    m, n = a.shape
    yield "insert row", partial(insert, Q, R, draw(p, n), m // 2, "row", **options)
    yield "insert col", partial(insert, Q, R, draw(m, p), n // 2, "col", **options)
    yield "delete row", partial(delete, Q, R, (m - p) // 2, p, "row", **options)
    yield "delete col", partial(delete, Q, R, (n - p) // 2, p, "col", **options)
    yield "rank p", partial(update, Q, R, draw(m, p), draw(n, p), **options)


def against_scipy() -> list[dict[str, Any]]:
    """Time of SciPy over ours, float64: above 1 ours is faster."""
    rows = []
    numbers = Numbers("float64", "cpu")
    draw = partial(numbers.draw, seed=2)
    theirs = (scipy.linalg.qr_insert, scipy.linalg.qr_delete, scipy.linalg.qr_update)
    for m, n in ((200, 100), (1000, 500)):
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
                    mine, peer = numbers.seconds(ours), numbers.seconds(other)
                    what = f"{name}, {mode} Q"
                    rows.append(_row(what, "float64", (m, n), p, mine, "scipy", peer))
    return rows


def against_fresh() -> list[dict[str, Any]]:
    """Time of a fresh factorisation of the changed matrix over that of a deciding call.

    Above 1 the call is faster. Both ways of the call stand beside it: a fresh one from factors
    has to form their product first, and rows leave without Q by an update alone.
    """
    rows = []
    for precision in PRECISIONS[1:]:
        m, n = SIZES.get(precision.name, (100, 60))
        numbers = Numbers(precision.name, "cpu")
        a = numbers.draw(m, n, 1)
        for mode in ("complete", "reduced", "r"):
            Q, R = (None, qr(a, "r")) if mode == "r" else qr(a, mode)
            fresh = _Fresh(numbers, mode)
            for p in (1, 16, 64):
                for name, ours in _forms(numbers, Q, R, a, p):
                    ways = _ways(numbers, ours, both=name != "delete row" or Q is not None)
                    taken = _taken(ours)
                    what = f"{name}, Q {'none' if mode == 'r' else mode}"
                    peer = fresh(_changed(name, (m, n), p))
                    row = _row(what, precision.name, (m, n), p, ways[taken], "fresh QR", peer)
                    row["way"], row["ways"] = taken, ways
                    row["choice"] = min(ways.values()) / ways[taken]
                    rows.append(row)
    return rows


def _ways(numbers: Numbers, call: Callable[..., Any], *, both: bool) -> dict[str, float]:
    """Return the times of a call by an update and, if there are both ways, afresh."""
    methods = ("update", "fresh") if both else ("update",)
    return {method: numbers.seconds(partial(call, method=method)) for method in methods}


def _taken(call: Callable[[], Any]) -> str:
    """Return the way that a call takes by itself."""
    with mock.patch.object(_updates, "factored", wraps=_updates.factored) as factored:
        call()
    return "fresh" if factored.called else "update"


def _changed(name: str, shape: tuple[int, int], p: int) -> tuple[int, int]:
    """Return the shape after an update."""
    m, n = shape
    step = {"insert": p, "delete": -p}.get(name.split()[0], 0)
    return (m, n + step) if name.endswith("col") else (m + step, n)


class _Fresh:
    """Times of factorisations, each measured once."""

    def __init__(self, numbers: Numbers, mode: str) -> None:
        self._numbers, self._mode = numbers, mode
        self._known: dict[tuple[int, int], float] = {}

    def __call__(self, shape: tuple[int, int]) -> float:
        if shape not in self._known:
            call = partial(qr, self._numbers.draw(*shape, seed=3), self._mode)
            self._known[shape] = self._numbers.seconds(call)
        return self._known[shape]


def _forms(
    numbers: Numbers, Q: Any, R: Any, a: mdqr.MDArray, p: int
) -> Iterator[tuple[str, Callable[[], Any]]]:
    def draw(m: int, n: int) -> Any:
        return numbers.draw(m, n, 2)

    m, n = a.shape
    if Q is not None:
        functions = (qr_insert, qr_delete, qr_update)
        yield from calls(Q, R, a, draw, p, functions)
        return
    yield "insert row", partial(qr_insert, None, R, draw(p, n), 0)
    yield "insert col", partial(qr_insert, None, R, draw(m, p), n // 2, "col", A=a)
    yield "delete row", partial(qr_delete, None, R, 0, p, u=a[:p])
    yield "delete col", partial(qr_delete, None, R, (n - p) // 2, p, "col")


def _row(
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


GROUPS = {"scipy": against_scipy, "fresh": against_fresh}


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [
        "| update | precision | size | p | ms | peer | peer ms | peer / ours | way | best / way |",
        "|---|---|---|--:|--:|---|--:|--:|---|--:|",
    ]
    lines += [
        f"| {row['what']} | {row['precision']} | {row['size']} | {row['p']} "
        f"| {row['update'] * 1e3:.3g} | {row['peer']} | {row['peer time'] * 1e3:.3g} "
        f"| {row['speedup']:.2f} | {row.get('way', '')} "
        f"| {format(row['choice'], '.2f') if 'choice' in row else ''} |"
        for row in rows
    ]
    return lines
