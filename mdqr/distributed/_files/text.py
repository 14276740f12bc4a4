"""Rows as decimal numbers in delimited text."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

from mdqr._io.loadtxt import loadtxt
from mdqr._precision import Precision
from mdqr.distributed._files.columns import column, within


class Text:
    """Reads chunks of lines."""

    def __init__(
        self, path: Path, precision: Precision, b: Any, rows: int, options: dict[str, Any]
    ) -> None:
        self._path, self._precision, self._options = str(path), precision, dict(options)
        self._header = bool(self._options.pop("header", False))
        skipped = int(self._header)
        self._places: list[tuple[int, int, int]] = []
        start = line = count = 0
        with open(self._path, "rb") as file:
            names = file.readline() if self._header else b""
            position = start = len(names)
            line = first = skipped + 1
            for text in file:
                position, line, count = position + len(text), line + 1, count + 1
                if count == rows:
                    self._places.append((start, position, first))
                    start, first, count = position, line, 0
            if count:
                self._places.append((start, position, first))
        self._b = self._columns(b, names)

    def _columns(self, b: Any, header: bytes) -> Any:
        """Return the indices of the right-hand sides."""
        names = header.decode(self._options.get("encoding", "utf-8")).strip()
        delimiter = self._options.get("delimiter", ",")
        known = next(csv.reader([names], delimiter=delimiter, skipinitialspace=True), [])
        known = [x.strip() for x in known]

        def place(x: Any) -> int:
            if isinstance(x, str):
                if x not in known:
                    raise ValueError(f"open_rows: {self._path} has no column {x!r}: {known}")
                return known.index(x)
            return column(x)

        if b is None or isinstance(b, (int, str)):
            return None if b is None else place(b)
        return [place(x) for x in b]

    @property
    def count(self) -> int:
        """The number of chunks."""
        return len(self._places)

    def __call__(self, index: int) -> Any:
        """Return a chunk."""
        start, stop, first = self._places[index]
        with open(self._path, "rb") as file:
            file.seek(start)
            content = file.read(stop - start)
        if len(content) < stop - start:
            raise OSError(
                f"{self._path} has been cut off since it was opened: it ends before line "
                f"{first + content.count(10)}"
            )
        text = io.BytesIO(content)
        try:
            x = loadtxt(text, precision=self._precision, **self._options)
        except ValueError as error:
            raise ValueError(_placed(str(error), self._path, first)) from None
        if self._b is None:
            return x
        n, is_vector = x.shape[1], isinstance(self._b, int)
        sides = [within(k, n, self._path) for k in ([self._b] if is_vector else self._b)]
        others = [j for j in range(n) if j not in sides]
        return x[:, others], x[:, sides[0]] if is_vector else x[:, sides]


def _placed(message: str, path: str, first: int) -> str:
    """Return a message about lines of a chunk as one about lines of its file."""
    found = re.sub(r"line (\d+)", lambda m: f"line {int(m[1]) + first - 1}", message)
    return found.replace("<text>", path, 1)
