"""Rows of every night are added to a saved factor; the rows themselves are not kept."""

import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path

import mdqr
from mdqr import distributed as md


def rows_of(night: int) -> Iterator[tuple[mdqr.MDArray, mdqr.MDArray]]:
    """The measurements of a night, in chunks: a line with small waves."""
    for hour in range(4):
        first = 1000 * (4 * night + hour)
        t = mdqr.arange(first, first + 1000, precision=mdqr.qd) / 10_000
        yield mdqr.vander(t, 3), 2 * t + 1 + mdqr.sin(t * 1000) / 10_000


def main() -> None:
    """Add three nights."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "factor.pickle"
        for night in range(3):
            known = md.factor(rows_of(night))
            if saved.exists():
                known.merge(pickle.loads(saved.read_bytes()))
            saved.write_bytes(pickle.dumps(known))
            print(f"night {night}: {known.shape[0]} rows, {saved.stat().st_size} bytes,", end=" ")
            print("digits of each coefficient:", known.info.digits.round(1))
    print("coefficients:", *known.solve())


if __name__ == "__main__":
    main()
