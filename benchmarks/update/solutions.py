"""Solutions from updated factors, as tables 12 to 15 of R. Andrew and N. J. Dingle (2012).

Their problems at a tenth of the size (qd: a twentieth), columns and rows at k = 0. Solutions are
held against those of twice as many digits, factors against the matrix they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import mdqr
from benchmarks.common.rows import Row
from benchmarks.common.runner import Options
from benchmarks.common.tables import grid
from benchmarks.update.cells import Numbers
from benchmarks.update.paper import row_of
from mdqr.linalg import certify, lstsq, qr_delete, qr_insert

SHAPE = (400, 200)
COUNTS = (10, 30, 50, 70, 90)
SMALLER = {"qd": 2}
HIGHER = {"float32": mdqr.dd, "float64": mdqr.dd, "dd": mdqr.qd, "qd": mdqr.od}


def solutions(options: Options) -> Iterator[Row]:
    """Errors of every kind of update in every precision."""
    for name in HIGHER:
        numbers = Numbers(name, "cpu")
        part = SMALLER.get(name, 1) * (5 if options.quick else 1)
        m, n = (length // part for length in SHAPE)
        ab = numbers.draw(m, n + 1, 1)
        for p in (count // part for count in COUNTS):
            for kind, *case in _cases(numbers, ab, p):
                yield row_of(_found(numbers, kind, p, *case))


def _cases(numbers: Numbers, ab: Any, p: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield updates at k = 0: what, the new [A b], its R by an update, and Q and R of A or None."""
    m, n = ab.shape[0], ab.shape[1] - 1
    r = numbers.factor(ab, "r")
    u, v = numbers.draw(p, n + 1, 2), numbers.draw(m, p, 3)
    forced: dict[str, Any] = {"method": "update"}
    yield "insert row", numbers.join([u, ab], 0), qr_insert(None, r, u, 0, **forced).R, None
    yield "delete col", ab[:, p:], qr_delete(None, r, 0, p, "col", **forced).R, None
    factors = numbers.factor(ab[:, :n], "reduced")
    for kind, new, found in (
        ("delete row", ab[p:], qr_delete(*factors, 0, p, **forced)),
        ("insert col", numbers.join([v, ab], 1), qr_insert(*factors, v, 0, "col", **forced)),
    ):
        projected = found.Q.T @ new[:, -1:]
        yield kind, new, numbers.join([found.R, projected], 1), found


def _found(numbers: Numbers, kind: str, p: int, new: Any, r: Any, factors: Any) -> dict[str, Any]:
    n = new.shape[1] - 1
    higher = HIGHER[numbers.name]
    exact = [mdqr.asarray(x, precision=higher) for x in (new[:, :n], new[:, n])]
    truth = lstsq(*exact).x
    fresh = numbers.factor(new, "r")
    row = {
        "what": kind,
        "precision": numbers.name,
        "size": f"{new.shape[0]} x {n}",
        "p": p,
        "updated": _distance(numbers.solve(r, n)[:, 0], truth),
        "fresh": _distance(numbers.solve(fresh, n)[:, 0], truth),
    }
    if factors is not None:
        wide = [mdqr.asarray(x, precision=higher) for x in factors]
        found = certify(exact[0], *wide)
        row["orthogonality"] = float(found.orthogonality) * higher.eps
        row["backward"] = float(found.normwise) * higher.eps
    return row


def _distance(x: Any, truth: mdqr.MDArray) -> float:
    """Return ``norm(x - truth) / norm(truth)``."""
    difference = (mdqr.asarray(x, precision=truth.precision) - truth).to_numpy()
    return float(np.linalg.norm(difference) / np.linalg.norm(truth.to_numpy()))


def table(rows: list[Row]) -> list[str]:
    """Return the lines of a Markdown table."""
    keys = ("updated", "fresh", "orthogonality", "backward")
    cells = []
    for found in (row.details for row in rows):
        names = [found[key] for key in ("what", "precision", "size")]
        values = (f"{found[key]:.1e}" if key in found else "" for key in keys)
        cells.append([*names, str(found["p"]), *values])
    head = ["update at k = 0", "precision", "new size", "p", "error of x, updated"]
    norms = ["norm(I - Q^H Q)", "norm(A - Q R) / norm(A)"]
    return grid([*head, "error of x, fresh", *norms], cells)
