"""How far a call walks: Python calls in files of mdqr, and files met, for small operands.

``python -m benchmarks.cpu.walks [NUMBER]`` names as many of the functions that are called most.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mdqr
from mdqr import linalg, series

PACKAGE = str(Path(mdqr.__file__).parent)


def walk(call: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """Return how often each function, by file and name, is called once all is warm."""
    call()
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            found[code.co_filename[len(PACKAGE) + 1 :], code.co_name] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def calls() -> dict[str, Callable[[], Any]]:
    """Return the calls by name."""
    a = mdqr.random.normal((8, 4), precision="qd", rng=1)
    b, u = (mdqr.random.normal(n, precision="qd", rng=2) for n in (8, 4))
    q, r = linalg.qr(a, mode="complete")
    stream = linalg.UpdatableLstsq(a, b)
    wide, right = a.T.copy(), b[:4].copy()
    circle = series.System.from_strings(["x^2 + y^2 - 5 - t", "x*y - 2 + t"], ["x", "y"])
    return {
        "qr 8x4": lambda: linalg.qr(a),
        "lstsq 8x4": lambda: linalg.lstsq(a, b),
        "lstsq 4x8": lambda: linalg.lstsq(wide, right),
        "solve 4x4": lambda: linalg.solve(a[:4], b[:4]),
        "svd 4x4": lambda: linalg.svd(a[:4]),
        "eigh 4x4": lambda: linalg.eigh(a[:4]),
        "eig 4x4": lambda: linalg.eig(a[:4]),
        "pinv 4x4": lambda: linalg.pinv(a[:4]),
        "qr_insert, a row into 8x4": lambda: linalg.qr_insert(q, r, u, 2),
        "UpdatableLstsq.insert_rows, a row": lambda: stream.insert_rows(u, 1.0),
        "UpdatableLstsq, a row and R": lambda: (stream.insert_rows(u, 1.0), stream.R),
        "newton_series, 2 unknowns, degree 8": lambda: series.newton_series(
            circle, [2.0, 1.0], degree=8, precision="qd"
        ),
    }


def main() -> None:
    """Print the counts of all calls."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    for name, call in calls().items():
        found = walk(call)
        files = len({file for file, _ in found})
        print(f"{name}: {found.total()} calls in {files} files")
        for (file, function), count in found.most_common(most):
            print(f"    {count:5d} {file} {function}")


if __name__ == "__main__":
    main()
